// SPDX-License-Identifier: GPL-2.0

//! Stores where nothing is aligned.

use core::ptr;
#[cfg(all(CONFIG_BLOG_HOOKS, target_arch = "aarch64"))]
use core::{
    arch::asm,
    mem::transmute_copy, //
};

/// Stores a value, which has no padding.
///
/// # Safety
///
/// `to` must be valid for writes of `T`, and normal memory.
#[cfg(not(all(CONFIG_BLOG_HOOKS, target_arch = "aarch64")))]
#[inline(always)]
pub unsafe fn store_unaligned<T: Copy>(to: *mut u8, value: T) {
    // SAFETY: By this function's requirement.
    unsafe { ptr::write_unaligned(to.cast::<T>(), value) }
}

/// Stores a value, which has no padding.
///
/// Rust's target for arm64 takes it that the processor can't do so at any address, and stores byte
/// by byte. The kernel's C code takes it that it can (`SCTLR_EL1.A` is 0), so this does, too.
///
/// # Safety
///
/// `to` must be valid for writes of `T`, and normal memory.
#[cfg(all(CONFIG_BLOG_HOOKS, target_arch = "aarch64"))]
#[inline(always)]
pub unsafe fn store_unaligned<T: Copy>(to: *mut u8, value: T) {
    // SAFETY: `to` is valid for this many bytes, by this function's requirement, and all bytes of
    // `value` are initialised.
    unsafe {
        match size_of::<T>() {
            8 => asm!(
                "str {value}, [{to}]",
                value = in(reg) transmute_copy::<T, u64>(&value),
                to = in(reg) to,
                options(nostack, preserves_flags),
            ),
            4 => asm!(
                "str {value:w}, [{to}]",
                value = in(reg) transmute_copy::<T, u32>(&value),
                to = in(reg) to,
                options(nostack, preserves_flags),
            ),
            2 => asm!(
                "strh {value:w}, [{to}]",
                value = in(reg) transmute_copy::<T, u16>(&value),
                to = in(reg) to,
                options(nostack, preserves_flags),
            ),
            _ => ptr::write_unaligned(to.cast::<T>(), value),
        }
    }
}
