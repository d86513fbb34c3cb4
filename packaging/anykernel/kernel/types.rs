// SPDX-License-Identifier: GPL-2.0

//! Kinds of types: `kernel::types`.

use core::{cell::UnsafeCell, marker::PhantomData, mem::MaybeUninit};

#[allow(non_upper_case_globals)]
pub const NotThreadSafe: NotThreadSafe = PhantomData;
pub type NotThreadSafe = PhantomData<*mut ()>;

/// Memory that C changes.
#[repr(transparent)]
pub struct Opaque<T>(UnsafeCell<MaybeUninit<T>>);

impl<T> Opaque<T> {
    pub const fn new(value: T) -> Self {
        Self(UnsafeCell::new(MaybeUninit::new(value)))
    }

    pub const fn zeroed() -> Self {
        Self(UnsafeCell::new(MaybeUninit::zeroed()))
    }

    pub const fn get(&self) -> *mut T {
        self.0.get().cast()
    }
}
