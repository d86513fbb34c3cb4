/* SPDX-License-Identifier: GPL-2.0 */
/* In older kernels, these are elsewhere. */
#include <asm/unaligned.h>
