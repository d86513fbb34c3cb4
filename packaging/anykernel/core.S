/* SPDX-License-Identifier: GPL-2.0 */
/* BLog's Rust, as scripts/core-asm has compiled it, with this kernel's names. */
#include <linux/linkage.h>

#include "cpu.h"
#ifdef CONFIG_ARM64
#include "core-arm64.inc"
#else
#include "core-x86_64.inc"
#endif
