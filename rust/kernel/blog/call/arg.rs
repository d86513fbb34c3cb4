// SPDX-License-Identifier: GPL-2.0

//! What can be logged: [`BlogArg`], and its implementations for types of `core`.
//!
//! The macros' expansions call this to store an argument into a record, and to put its type code
//! into the call site's descriptor. [`types`] defines the bytes. It needs no kernel
//! and compiles on the host unchanged, so that tests encode with the real code; types of the
//! kernel are in `arg_kernel.rs`. It never allocates, and never writes more than it said.

use core::{
    ffi::CStr,
    net::{
        Ipv4Addr,
        Ipv6Addr, //
    },
    num::NonZero,
    ptr, //
};

use super::super::wire::types::{
    self,
    TypeCode, //
};

/// A type whose values can be logged by `blog_log!` and its kin.
///
/// Implement it for your own structs and enums by `#[derive(BlogArg)]`.
///
/// # Examples
///
/// ```
/// # use kernel::prelude::*;
/// use kernel::blog::{
///     blog_log,
///     BlogArg, //
/// };
///
/// # use kernel::blog::blog_component;
/// # blog_component! { DISK, name: "arg_derive", enabled: false }
/// #[derive(Clone, Copy, BlogArg)]
/// struct Request {
///     sector: u64,
///     is_write: bool,
/// }
///
/// fn submit(request: Request) {
///     blog_log!(DISK, "{request:?}");
/// }
/// # submit(Request { sector: 8, is_write: true });
/// ```
///
/// # Safety
///
/// [`BlogArg::store`] must write all of its [`BlogArg::FIXED`] bytes and nothing else, and they
/// must be what [`types`] says about [`BlogArg::CODE`]. [`BlogArg::tail`] must be as long each time
/// that it is asked of the same value: the size of the record is that of the first time.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be logged by BLog",
    label = "not a type that BLog knows",
    note = "structs and enums with fields of fixed size can be logged with `#[derive(BlogArg)]`"
)]
pub unsafe trait BlogArg {
    /// `Self`. The macros' expansions name the type so, to have one compile error where there is no
    /// implementation.
    #[doc(hidden)]
    type This: BlogArg + ?Sized;

    /// What is stored.
    const CODE: TypeCode;

    /// How many bytes are always stored.
    const FIXED: usize;

    /// Whether a kernel address is in what is stored: that is not for every reader.
    const ADDRESS: bool = Self::CODE.kind() == types::POINTER;

    /// The bytes that follow the fixed ones, whole; where they don't fit, the record gets the
    /// first of them. Empty unless `CODE` has a tail.
    #[inline(always)]
    fn tail(&self) -> &[u8] {
        &[]
    }

    /// Stores the fixed bytes.
    ///
    /// # Safety
    ///
    /// `dst` must be valid for writes of [`BlogArg::FIXED`] bytes.
    unsafe fn store(&self, dst: *mut u8);

    /// Emits the descriptors of the derived types in this type into `.debug.blog`. No code.
    #[doc(hidden)]
    #[inline(always)]
    fn describe() {}
}

/// A [`BlogArg`] that has no tail, so that it can be a field of a derived type: see [`BlogArg`].
///
/// # Safety
///
/// The type's [`BlogArg::tail`] must always be empty.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a field of a type with `#[derive(BlogArg)]`",
    label = "not a type of fixed size that BLog knows",
    note = "strings and slices can be logged only as arguments of their own"
)]
pub unsafe trait BlogFixed: BlogArg {}

/// Makes `code` of `outer` around `inner`, at compile time.
const fn wrap(inner: TypeCode, outer: u8) -> TypeCode {
    match inner.wrapped(outer) {
        Some(code) => code,
        None => panic!("BLog: `Option` and `Result` are nested too deep in this argument"),
    }
}

macro_rules! impl_scalar {
    ($($ty:ty => $kind:ident, |$v:ident| $stored:expr;)*) => {$(
        // SAFETY: `store` writes one value of the size of `FIXED`, as the kind demands.
        unsafe impl BlogArg for $ty {
            type This = Self;

            const CODE: TypeCode = TypeCode::plain(types::$kind);
            const FIXED: usize = match Self::CODE.fixed_size() {
                Some(n) => n,
                None => unreachable!(),
            };

            #[inline(always)]
            unsafe fn store(&self, dst: *mut u8) {
                let $v = *self;
                let stored = $stored;
                const { assert!(size_of::<$ty>() <= 16) };
                // SAFETY: The caller gives us `FIXED` bytes, and `put` checks the size.
                unsafe { put::<{ Self::FIXED }, _>(dst, stored) }
            }
        }

        // SAFETY: The type has no tail.
        unsafe impl BlogFixed for $ty {}
    )*};
}

/// Stores `value`, whose size must be `N`.
///
/// # Safety
///
/// `dst` must be valid for writes of `N` bytes.
#[inline(always)]
unsafe fn put<const N: usize, T>(dst: *mut u8, value: T) {
    const { assert!(size_of::<T>() == N) };
    // SAFETY: `dst` is valid for `N` bytes, and that is the size of `T`.
    unsafe { dst.cast::<T>().write_unaligned(value) }
}

impl_scalar! {
    u8 => U8, |v| v;
    u16 => U16, |v| v;
    u32 => U32, |v| v;
    u64 => U64, |v| v;
    u128 => U128, |v| v;
    usize => USIZE, |v| v as u64;
    i8 => I8, |v| v;
    i16 => I16, |v| v;
    i32 => I32, |v| v;
    i64 => I64, |v| v;
    i128 => I128, |v| v;
    isize => ISIZE, |v| v as i64;
    bool => BOOL, |v| v;
    char => CHAR, |v| v;
    () => UNIT, |v| v;
    NonZero<u8> => U8, |v| v;
    NonZero<u16> => U16, |v| v;
    NonZero<u32> => U32, |v| v;
    NonZero<u64> => U64, |v| v;
    NonZero<u128> => U128, |v| v;
    NonZero<usize> => USIZE, |v| v.get() as u64;
    NonZero<i8> => I8, |v| v;
    NonZero<i16> => I16, |v| v;
    NonZero<i32> => I32, |v| v;
    NonZero<i64> => I64, |v| v;
    NonZero<i128> => I128, |v| v;
    NonZero<isize> => ISIZE, |v| v.get() as i64;
    Ipv4Addr => IPV4, |v| v.octets();
    Ipv6Addr => IPV6, |v| v.octets();
}

// SAFETY: `store` writes the address as 8 bytes.
unsafe impl<T> BlogArg for *const T {
    type This = Self;

    const CODE: TypeCode = TypeCode::plain(types::POINTER);
    const FIXED: usize = 8;

    #[inline(always)]
    unsafe fn store(&self, dst: *mut u8) {
        // SAFETY: The caller gives us 8 bytes.
        unsafe { put::<8, _>(dst, self.addr() as u64) }
    }
}

// SAFETY: Has no tail.
unsafe impl<T> BlogFixed for *const T {}

// SAFETY: As `*const T`.
unsafe impl<T> BlogArg for *mut T {
    type This = Self;

    const CODE: TypeCode = <*const T>::CODE;
    const FIXED: usize = <*const T>::FIXED;

    #[inline(always)]
    unsafe fn store(&self, dst: *mut u8) {
        // SAFETY: As our caller's promise.
        unsafe { self.cast_const().store(dst) }
    }
}

// SAFETY: Has no tail.
unsafe impl<T> BlogFixed for *mut T {}

/// Stores the `u16` in front of a tail of `len` bytes.
///
/// # Safety
///
/// `dst` must be valid for writes of 2 bytes.
#[inline(always)]
pub(super) unsafe fn put_len(dst: *mut u8, len: usize) {
    // SAFETY: As our caller's promise.
    unsafe { put::<2, _>(dst, len.min(types::MAX_TAIL) as u16) }
}

macro_rules! impl_tail {
    ($($ty:ty => $kind:ident, |$v:ident| $bytes:expr;)*) => {$(
        // SAFETY: `store` writes the `u16` length.
        unsafe impl BlogArg for $ty {
            type This = Self;

            const CODE: TypeCode = TypeCode::plain(types::$kind);
            const FIXED: usize = 2;

            #[inline(always)]
            fn tail(&self) -> &[u8] {
                let $v = self;
                $bytes
            }

            #[inline(always)]
            unsafe fn store(&self, dst: *mut u8) {
                // SAFETY: The caller gives us 2 bytes.
                unsafe { super::arg::put_len(dst, self.tail().len()) }
            }
        }
    )*};
}
pub(super) use impl_tail;

impl_tail! {
    str => STR, |s| s.as_bytes();
    CStr => CSTR, |s| s.to_bytes();
    [u8] => BYTES, |s| s;
}

// SAFETY: `store` writes N bytes.
unsafe impl<const N: usize> BlogArg for [u8; N] {
    type This = Self;

    const CODE: TypeCode = match TypeCode::byte_array(N) {
        Some(code) => code,
        None => panic!("BLog: this array is larger than a record"),
    };
    const FIXED: usize = N;

    #[inline(always)]
    unsafe fn store(&self, dst: *mut u8) {
        // SAFETY: The caller gives us N bytes, which cannot overlap with `self`.
        unsafe { ptr::copy_nonoverlapping(self.as_ptr(), dst, N) }
    }
}

// SAFETY: Has no tail.
unsafe impl<const N: usize> BlogFixed for [u8; N] {}

macro_rules! impl_ref {
    ($($ty:ty),*) => {$(
        // SAFETY: Defers to `T` in everything.
        unsafe impl<T: BlogArg + ?Sized> BlogArg for $ty {
            type This = Self;

            const CODE: TypeCode = T::CODE;
            const FIXED: usize = T::FIXED;
            const ADDRESS: bool = T::ADDRESS;

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
                T::describe()
            }
        }

        // SAFETY: `T` has no tail.
        unsafe impl<T: BlogFixed + ?Sized> BlogFixed for $ty {}
    )*};
}

impl_ref!(&T, &mut T);

// SAFETY: `store` writes the tag and then either `T`'s fixed bytes or as many zeros.
unsafe impl<T: BlogArg> BlogArg for Option<T> {
    type This = Self;

    const CODE: TypeCode = wrap(T::CODE, types::OPTION);
    const FIXED: usize = 1 + T::FIXED;
    const ADDRESS: bool = T::ADDRESS;

    #[inline(always)]
    fn tail(&self) -> &[u8] {
        match self {
            Some(v) => v.tail(),
            None => &[],
        }
    }

    #[inline(always)]
    unsafe fn store(&self, dst: *mut u8) {
        // SAFETY: The caller gives us one byte and `T::FIXED` more.
        unsafe {
            dst.write(self.is_some().into());
            match self {
                Some(v) => v.store(dst.add(1)),
                None => ptr::write_bytes(dst.add(1), 0, T::FIXED),
            }
        }
    }

    #[inline(always)]
    fn describe() {
        T::describe()
    }
}

// SAFETY: `T` has no tail.
unsafe impl<T: BlogFixed> BlogFixed for Option<T> {}

/// An error that is a negative errno: the kernel's `Error`.
pub trait Errno {
    /// The negative number.
    fn errno(&self) -> i32;
}

// SAFETY: `store` writes the tag and max(`T::FIXED`, 4) bytes, padded with zeros.
unsafe impl<T: BlogArg, E: Errno> BlogArg for Result<T, E> {
    type This = Self;

    const CODE: TypeCode = wrap(T::CODE, types::RESULT);
    const FIXED: usize = 1 + if T::FIXED > 4 { T::FIXED } else { 4 };
    const ADDRESS: bool = T::ADDRESS;

    #[inline(always)]
    fn tail(&self) -> &[u8] {
        match self {
            Ok(v) => v.tail(),
            Err(_) => &[],
        }
    }

    #[inline(always)]
    unsafe fn store(&self, dst: *mut u8) {
        // SAFETY: The caller gives us one byte and room for the larger of both more.
        unsafe {
            ptr::write_bytes(dst, 0, Self::FIXED);
            match self {
                Ok(v) => v.store(dst.add(1)),
                Err(e) => {
                    dst.write(1);
                    put::<4, _>(dst.add(1), e.errno());
                }
            }
        }
    }

    #[inline(always)]
    fn describe() {
        T::describe()
    }
}

// SAFETY: `T` has no tail.
unsafe impl<T: BlogFixed, E: Errno> BlogFixed for Result<T, E> {}
