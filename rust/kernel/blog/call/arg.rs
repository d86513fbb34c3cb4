// SPDX-License-Identifier: GPL-2.0

//! [`BlogArg`], the trait of types that can be logged, and its implementations for types of `core`.
//!
//! The macros' expansions call this to store an argument into a record, and to put its type code
//! into the call site's descriptor. [`types`] defines the bytes. Types of the kernel are in
//! `arg_kernel.rs`.

use core::{
    ffi::CStr,
    fmt,
    marker::PhantomData,
    net,
    num::NonZero,
    ptr, //
};

use super::super::{
    unaligned::store_unaligned,
    wire::types::{
        self,
        Privacy,
        TypeCode, //
    }, //
};

/// A type whose values can be logged by `blog_log!` and its kin.
///
/// With `CONFIG_BLOG_ARGS`, implement it for your own structs and enums by `#[derive(BlogArg)]`.
///
/// # Safety
///
/// [`BlogArg::store`] must write all of its [`BlogArg::FIXED`] bytes and nothing else, and they
/// must be what [`types`] says about [`BlogArg::CODE`]. [`BlogArg::tail`] must be as long each time
/// that it is asked of the same value: the size of the record is that of the first time. What
/// [`BlogArg::pass`] returns must have the same fixed bytes and the same tail as the value.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be logged by BLog",
    label = "not a type that BLog knows",
    note = "structs and enums with fields of fixed size can be logged with `#[derive(BlogArg)]`"
)]
pub unsafe trait BlogArg {
    /// What prints by the same traits of [`core::fmt`] as this type does.
    type Shown: ?Sized;

    /// What goes in place of a reference to the function that writes the record: in registers,
    /// where it can; and the same for all types of which the same bytes are stored, as one function
    /// serves them all.
    type Passed<'a>: BlogArg + Copy
    where
        Self: 'a;

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

    /// The value, as it is passed.
    fn pass(&self) -> Self::Passed<'_>;

    /// The same; only of a private one, what the component wants of it.
    #[doc(hidden)]
    #[inline(always)]
    fn pass_by(&self, _privacy: impl FnOnce() -> Privacy) -> Self::Passed<'_> {
        self.pass()
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

/// Carries the type of an argument from the place where it is evaluated to the call site's
/// descriptor, which the expansion needs before.
///
/// Type inference fills it in: see the macros' expansion. It has the traits of [`core::fmt`] by
/// which `fmt!` would print the argument, so that the compiler's own `format_args!` refuses a
/// placeholder that doesn't fit, at the argument. It never prints.
pub struct Logged<T: ?Sized>(PhantomData<*const T>);

impl<T: ?Sized> Logged<T> {
    /// For a type that is not known yet.
    #[inline(always)]
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Self(PhantomData)
    }

    /// The same, if the type can be logged. If not, the compiler says so here, and no more of it.
    #[inline(always)]
    pub const fn known(&self) -> Logged<<T::Shown as If<T>>::Then>
    where
        T: BlogArg,
    {
        Logged::new()
    }

    /// Ties it to the type of `_arg`.
    #[inline(always)]
    pub const fn bind(&self, _arg: &T) {}
}

/// `T`, if `S` is a type.
#[doc(hidden)]
pub trait If<T: ?Sized> {
    type Then: ?Sized;
}

impl<S: ?Sized, T: ?Sized> If<T> for S {
    type Then = T;
}

/// An argument, likewise.
#[inline(always)]
pub fn checked<T: BlogArg + ?Sized>(arg: &T) -> &<T::Shown as If<T>>::Then {
    arg
}

/// What stands for an argument that is a width or a precision.
pub const fn count(_: &Logged<usize>) -> usize {
    0
}

/// Prints with `{}` only.
#[cfg_attr(BLOG_ANYKERNEL, allow(dead_code))]
pub struct OnlyDisplay<T: ?Sized>(PhantomData<*const T>);

/// Prints with `{:?}` only.
pub struct OnlyDebug<T: ?Sized>(PhantomData<*const T>);

macro_rules! impl_fmt {
    ($($trait:ident for $ty:ident $(where $shown:ident)?;)*) => {$(
        impl<T: ?Sized $(+ $shown)?> fmt::$trait for $ty<T>
        $(where
            <T as $shown>::Shown: fmt::$trait,)?
        {
            fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
                Ok(())
            }
        }
    )*};
}

impl_fmt! {
    Display for OnlyDisplay;
    Debug for OnlyDebug;
    Display for Logged where BlogArg;
    Debug for Logged where BlogArg;
    LowerHex for Logged where BlogArg;
    UpperHex for Logged where BlogArg;
    Octal for Logged where BlogArg;
    Binary for Logged where BlogArg;
    LowerExp for Logged where BlogArg;
    UpperExp for Logged where BlogArg;
    Pointer for Logged where BlogArg;
}

/// The last type of a list.
macro_rules! last {
    ($($before:ty)? => $last:ty) => {
        $last
    };
    ($last:ty =>) => {
        $last
    };
}
pub(super) use last;

/// Types that are passed and stored as an integer: `|value| expression of that type`. With `as`,
/// they print as another type does.
macro_rules! impl_scalar {
    ($(
        ($($generics:tt)*) $ty:ty $(as $shown:ty)? => $kind:ident $passed:ty,
            |$v:ident| $value:expr;
    )*) => {$(
        // SAFETY: `store` writes one value, whose size the kind demands.
        unsafe impl<$($generics)*> BlogArg for $ty {
            type Shown = super::arg::last!(Self => $($shown)?);
            type Passed<'a> = $passed where Self: 'a;

            const CODE: types::TypeCode = types::TypeCode::plain(types::$kind);
            const FIXED: usize = match Self::CODE.fixed_size() {
                Some(n) if n == size_of::<$passed>() => n,
                _ => panic!("the kind has another size"),
            };

            #[inline(always)]
            fn pass(&self) -> $passed {
                let $v = self;
                $value
            }

            #[inline(always)]
            unsafe fn store(&self, dst: *mut u8) {
                // SAFETY: The caller gives us `FIXED` bytes, which are this size.
                unsafe { store_unaligned(dst, self.pass()) }
            }
        }
    )*};
}
pub(super) use impl_scalar;

impl_scalar! {
    () () => UNIT (), |v| *v;
    () u8 => U8 u8, |v| *v;
    () u16 => U16 u16, |v| *v;
    () u32 => U32 u32, |v| *v;
    () u64 => U64 u64, |v| *v;
    () u128 => U128 u128, |v| *v;
    () usize => USIZE u64, |v| *v as u64;
    () i8 => I8 u8, |v| *v as u8;
    () i16 => I16 u16, |v| *v as u16;
    () i32 => I32 u32, |v| *v as u32;
    () i64 => I64 u64, |v| *v as u64;
    () i128 => I128 u128, |v| *v as u128;
    () isize => ISIZE u64, |v| *v as u64;
    () bool => BOOL u8, |v| (*v).into();
    () char => CHAR u32, |v| (*v).into();
    () NonZero<u8> => U8 u8, |v| v.get();
    () NonZero<u16> => U16 u16, |v| v.get();
    () NonZero<u32> => U32 u32, |v| v.get();
    () NonZero<u64> => U64 u64, |v| v.get();
    () NonZero<u128> => U128 u128, |v| v.get();
    () NonZero<usize> => USIZE u64, |v| v.get() as u64;
    () NonZero<i8> => I8 u8, |v| v.get() as u8;
    () NonZero<i16> => I16 u16, |v| v.get() as u16;
    () NonZero<i32> => I32 u32, |v| v.get() as u32;
    () NonZero<i64> => I64 u64, |v| v.get() as u64;
    () NonZero<i128> => I128 u128, |v| v.get() as u128;
    () NonZero<isize> => ISIZE u64, |v| v.get() as u64;
    () net::Ipv4Addr => IPV4 u32, |v| u32::from_ne_bytes(v.octets());
    () net::Ipv6Addr => IPV6 u128, |v| u128::from_ne_bytes(v.octets());
    (T) *const T => POINTER u64, |v| v.addr() as u64;
    (T) *mut T => POINTER u64, |v| v.addr() as u64;
}

/// Types that are passed as bytes.
macro_rules! impl_tail {
    ($($ty:ty $(as $shown:ty)? => $code:expr, |$v:ident| $bytes:expr;)*) => {$(
        // SAFETY: `store` writes the length's byte.
        unsafe impl BlogArg for $ty {
            type Shown = super::arg::last!(Self => $($shown)?);
            type Passed<'a> = &'a [u8] where Self: 'a;

            const CODE: types::TypeCode = $code;
            const FIXED: usize = 1;

            #[inline(always)]
            fn tail(&self) -> &[u8] {
                self.pass()
            }

            #[inline(always)]
            fn pass(&self) -> &[u8] {
                let $v = self;
                $bytes
            }

            #[inline(always)]
            unsafe fn store(&self, dst: *mut u8) {
                // SAFETY: The caller gives us a byte.
                unsafe { dst.write(self.tail().len().min(types::LONG) as u8) }
            }
        }
    )*};
}
#[cfg_attr(not(CONFIG_BLOG_ARGS), allow(unused_imports))]
pub(super) use impl_tail;

impl_tail! {
    [u8] => TypeCode::plain(types::BYTES), |s| s;
    str => TypeCode::plain(types::STR), |s| s.as_bytes();
    CStr as str => TypeCode::plain(types::CSTR), |s| s.to_bytes();
}

/// What goes by reference, and has what is in it.
macro_rules! by_reference {
    (of $inner:ident) => {
        by_reference!();

        const ADDRESS: bool = $inner::ADDRESS;

        #[inline(always)]
        fn describe() {
            $inner::describe()
        }
    };
    () => {
        type Passed<'a>
            = &'a Self
        where
            Self: 'a;

        #[inline(always)]
        fn pass(&self) -> &Self {
            self
        }
    };
}

// SAFETY: `store` writes N bytes.
unsafe impl<const N: usize> BlogArg for [u8; N] {
    type Shown = Self;
    by_reference!();

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

/// Pointers that are logged as what they point to.
macro_rules! impl_deref {
    ($(($($generics:tt)*) $ty:ty => $target:ty;)*) => {$(
        // SAFETY: Defers to the target in everything.
        unsafe impl<$($generics)*> BlogArg for $ty {
            type Shown = <$target as BlogArg>::Shown;
            type Passed<'a> = <$target as BlogArg>::Passed<'a> where Self: 'a;

            const CODE: types::TypeCode = <$target>::CODE;
            const FIXED: usize = <$target>::FIXED;
            const ADDRESS: bool = <$target>::ADDRESS;

            #[inline(always)]
            fn tail(&self) -> &[u8] {
                (**self).tail()
            }

            #[inline(always)]
            fn pass(&self) -> Self::Passed<'_> {
                (**self).pass()
            }

            #[inline(always)]
            fn pass_by(&self, privacy: impl FnOnce() -> types::Privacy) -> Self::Passed<'_> {
                (**self).pass_by(privacy)
            }

            #[inline(always)]
            unsafe fn store(&self, dst: *mut u8) {
                // SAFETY: `**self` stores as many bytes as `self`, for which the caller has room.
                unsafe { (**self).store(dst) }
            }

            #[inline(always)]
            fn describe() {
                <$target>::describe()
            }
        }
    )*};
}
// Other crates than the kernel's have no pointers of their own.
#[allow(unused_imports)]
pub(super) use impl_deref;

impl_deref! {
    (T: BlogArg + ?Sized) &T => T;
    (T: BlogArg + ?Sized) &mut T => T;
}

// SAFETY: `store` writes the tag and then either `T`'s fixed bytes or as many zeros.
unsafe impl<T: BlogArg> BlogArg for Option<T> {
    type Shown = Option<Logged<T>>;
    by_reference!(of T);

    const CODE: TypeCode = T::CODE.wrapped(types::OPTION);
    const FIXED: usize = 1 + T::FIXED;

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
}

/// An error that is a negative errno: the kernel's `Error`.
pub trait Errno {
    /// The negative number.
    fn errno(&self) -> i32;
}

// SAFETY: `store` writes the tag and max(`T::FIXED`, 4) bytes, padded with zeros.
unsafe impl<T: BlogArg, E: Errno> BlogArg for Result<T, E> {
    type Shown = Option<Logged<T>>;
    by_reference!(of T);

    const CODE: TypeCode = T::CODE.wrapped(types::RESULT);
    const FIXED: usize = 1 + if T::FIXED > 4 { T::FIXED } else { 4 };

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
                    store_unaligned(dst.add(1), e.errno());
                }
            }
        }
    }
}
