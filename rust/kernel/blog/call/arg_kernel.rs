// SPDX-License-Identifier: GPL-2.0

//! [`BlogArg`] for types of the kernel crate.
//!
//! As `arg.rs` and `fmt.rs`, for what does not compile on the host. It never allocates.

use super::super::wire::types::{
    self,
    TypeCode, //
};
use super::{
    arg::{
        BlogArg,
        BlogFixed,
        Errno, //
    },
    fmt,
    wrap::{
        Hex,
        Mac, //
    }, //
};
use crate::{
    alloc::{
        Allocator,
        Box,
        Vec, //
    },
    error::Error,
    prelude::*,
    str::CString,
    sync::{
        Arc,
        ArcBorrow,
        UniqueArc, //
    },
    task::Task,
    time::{
        ClockSource,
        Delta,
        Instant, //
    }, //
};

impl Errno for Error {
    #[inline(always)]
    fn errno(&self) -> i32 {
        self.to_errno()
    }
}

/// Types that are stored as another type: `|value| expression of that type`.
macro_rules! impl_as {
    ($(($($generics:tt)*) $ty:ty => $kind:ident $stored:ty, |$v:ident| $value:expr;)*) => {$(
        // SAFETY: Stores what `$stored` does, which is what the kind demands.
        unsafe impl<$($generics)*> BlogArg for $ty {
            type This = Self;

            const CODE: TypeCode = TypeCode::plain(types::$kind);
            const FIXED: usize = <$stored>::FIXED;

            #[inline(always)]
            unsafe fn store(&self, dst: *mut u8) {
                let $v = self;
                let stored: $stored = $value;
                // SAFETY: As our caller's promise.
                unsafe { stored.store(dst) }
            }
        }

        // SAFETY: Has no tail.
        unsafe impl<$($generics)*> BlogFixed for $ty {}
    )*};
}

impl_as! {
    () Error => ERROR i32, |v| v.to_errno();
    () Task => PID i32, |v| v.pid();
    (C: ClockSource) Instant<C> => INSTANT i64, |v| v.as_nanos();
    () Delta => DELTA i64, |v| v.as_nanos();
}

impl fmt::Debug for Error {}
impl fmt::Display for Task {}
impl<C: ClockSource> fmt::Display for Instant<C> {}
impl fmt::Display for Delta {}

/// Pointers that print as what they point to.
macro_rules! impl_deref {
    ($(($($generics:tt)*) $ty:ty => $target:ty;)*) => {$(
        // SAFETY: Defers to the target in everything.
        unsafe impl<$($generics)*> BlogArg for $ty {
            type This = Self;

            const CODE: TypeCode = <$target>::CODE;
            const FIXED: usize = <$target>::FIXED;
            const ADDRESS: bool = <$target>::ADDRESS;

            #[inline(always)]
            fn tail(&self) -> &[u8] {
                (**self).tail()
            }

            #[inline(always)]
            unsafe fn store(&self, dst: *mut u8) {
                // SAFETY: As our caller's promise.
                unsafe { (**self).store(dst) }
            }

            #[inline(always)]
            fn describe() {
                <$target>::describe()
            }
        }
    )*};
}

impl_deref! {
    (T: BlogArg + ?Sized) Arc<T> => T;
    (T: BlogArg + ?Sized) UniqueArc<T> => T;
    (T: BlogArg + ?Sized) ArcBorrow<'_, T> => T;
    (T: BlogArg + ?Sized, A: Allocator) Box<T, A> => T;
    (A: Allocator) Vec<u8, A> => [u8];
    () CString => CStr;
}

impl<T: fmt::Display + ?Sized> fmt::Display for Arc<T> {}
impl<T: fmt::Debug + ?Sized> fmt::Debug for Arc<T> {}
impl<T: fmt::Display + ?Sized> fmt::Display for UniqueArc<T> {}
impl<T: fmt::Debug + ?Sized> fmt::Debug for UniqueArc<T> {}
impl<T: fmt::Display + ?Sized, A: Allocator> fmt::Display for Box<T, A> {}
impl<T: fmt::Debug + ?Sized, A: Allocator> fmt::Debug for Box<T, A> {}
impl<A: Allocator> fmt::Debug for Vec<u8, A> {}
impl fmt::Debug for CString {}

/// `fmt!` prints BLog's own wrappers as BLog does.
macro_rules! impl_fmt {
    ($($ty:ty),*) => {$(
        impl crate::fmt::Display for $ty {
            fn fmt(&self, f: &mut crate::fmt::Formatter<'_>) -> crate::fmt::Result {
                core::fmt::Display::fmt(self, f)
            }
        }
    )*};
}

impl_fmt!(Hex<'_>, Mac);
