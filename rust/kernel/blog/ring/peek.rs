// SPDX-License-Identifier: GPL-2.0

//! Loads of fields that only the calling context stores.

#[cfg(not(CONFIG_BLOG_HOOKS))]
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{
    AtomicPtr,
    AtomicU32,
    AtomicU64, //
};

/// Atomics to which only one context stores.
pub(super) trait Peek {
    type Value;

    /// A relaxed load.
    ///
    /// A volatile one, which compilers fold into a comparison. As nobody else stores, there is no
    /// race that an atomic load would have to allow; but on the host, models and sanitizers have to
    /// see it.
    ///
    /// # Safety
    ///
    /// The caller runs in the context that stores to it.
    unsafe fn peek(&self) -> Self::Value;
}

macro_rules! impl_peek {
    ($(($($generic:tt)*) $atomic:ty, $value:ty;)*) => {$(
        impl $($generic)* Peek for $atomic {
            type Value = $value;

            #[inline(always)]
            unsafe fn peek(&self) -> $value {
                #[cfg(CONFIG_BLOG_HOOKS)]
                // SAFETY: A reference is valid. Others may load meanwhile, but not store.
                return unsafe { self.as_ptr().read_volatile() };
                #[cfg(not(CONFIG_BLOG_HOOKS))]
                self.load(Relaxed)
            }
        }
    )*};
}

impl_peek! {
    () AtomicU32, u32;
    () AtomicU64, u64;
    (<T>) AtomicPtr<T>, *mut T;
}
