/* SPDX-License-Identifier: GPL-2.0 */
/* Older kernels don't know what a task waits for. */
