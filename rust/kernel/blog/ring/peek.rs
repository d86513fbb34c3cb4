// SPDX-License-Identifier: GPL-2.0

//! Loads that compilers fold into a comparison.

use core::sync::atomic;
#[cfg(not(CONFIG_BLOG_HOOKS))]
use core::sync::atomic::Ordering::Relaxed;

/// Atomics that are loaded so.
pub(super) trait Peek {
    type Value;

    /// A relaxed load.
    ///
    /// A volatile one, as the kernel's `READ_ONCE()`, which compilers fold into a comparison. On
    /// the host, models and sanitizers have to see an atomic one.
    fn peek(&self) -> Self::Value;
}

macro_rules! impl_peek {
    ($(($($generic:tt)*) $atomic:ty, $value:ty;)*) => {$(
        impl $($generic)* Peek for $atomic {
            type Value = $value;

            #[inline(always)]
            fn peek(&self) -> $value {
                #[cfg(CONFIG_BLOG_HOOKS)]
                // SAFETY: A reference is valid. In the kernel's memory model, a volatile load of a
                // word is one that others may store to meanwhile.
                return unsafe { self.as_ptr().read_volatile() };
                #[cfg(not(CONFIG_BLOG_HOOKS))]
                self.load(Relaxed)
            }
        }
    )*};
}

impl_peek! {
    () atomic::AtomicU32, u32;
    () atomic::AtomicU64, u64;
    (<T>) atomic::AtomicPtr<T>, *mut T;
}
