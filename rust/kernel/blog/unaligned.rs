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
#[inline(always)]
pub unsafe fn store_unaligned<T: Copy>(to: *mut u8, value: T) {
    // Rust's arm64 target assumes strict alignment, and stores byte by byte. The kernel's C code
    // doesn't (`SCTLR_EL1.A` is 0), nor does this.
    #[cfg(all(CONFIG_BLOG_HOOKS, target_arch = "aarch64"))]
    {
        macro_rules! store {
            ($code:literal, $ty:ty) => {
                // SAFETY: `to` is valid for this many bytes, by this function's requirement, and
                // all bytes of `value` are initialised.
                return unsafe {
                    asm!(
                        $code,
                        value = in(reg) transmute_copy::<T, $ty>(&value),
                        to = in(reg) to,
                        options(nostack, preserves_flags),
                    )
                }
            };
        }
        match size_of::<T>() {
            8 => store!("str {value}, [{to}]", u64),
            4 => store!("str {value:w}, [{to}]", u32),
            2 => store!("strh {value:w}, [{to}]", u16),
            _ => (),
        }
    }
    // SAFETY: By this function's requirement.
    unsafe { ptr::write_unaligned(to.cast::<T>(), value) }
}
