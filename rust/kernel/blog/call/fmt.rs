// SPDX-License-Identifier: GPL-2.0

//! The format traits (`{}`, `{:?}`, `{:x}`, …) that a type can be logged with, and [`Probe`].
//!
//! The macros' expansions call these empty functions for each argument and each trait that its
//! placeholders name, so that a wrong one is a compile error at the argument, in BLog's words.
//! They leave no code. The list is closed: it has what the decoder prints as `fmt!` does.

use core::{
    ffi::CStr,
    marker::PhantomData,
    net::{
        Ipv4Addr,
        Ipv6Addr, //
    },
    num::NonZero, //
};

use super::{
    super::wire::types::{
        TypeCode,
        PRIVATE, //
    },
    arg::{
        BlogArg,
        Errno, //
    },
    capture::Text,
    private::Private,
    wrap::{
        Hex,
        Mac,
        Ptr, //
    }, //
};

/// Fails to compile for what is nested too deep for a code.
pub const fn shallow(code: TypeCode) {
    assert!(
        code.0 != TypeCode::TOO_DEEP.0,
        "BLog: `Option` and `Result` are nested too deep in this argument"
    );
}

/// Whether an assembler takes the name of a file between quotes as it is.
pub const fn is_plain(name: &str) -> bool {
    let mut rest = name.as_bytes();
    while let [byte, more @ ..] = rest {
        if matches!(byte, b'"' | b'\\' | b'\n') {
            return false;
        }
        rest = more;
    }
    true
}

/// Fails to compile for what cannot be a field of a derived type.
pub const fn field(code: TypeCode) {
    shallow(code);
    assert!(
        code.kind() != PRIVATE,
        "BLog: a field of a derived type can't be private: make all of the argument private"
    );
    assert!(
        !code.has_tail(),
        "BLog: a field of a derived type has a fixed size: log strings and slices as arguments"
    );
}

/// Carries the type of an argument from the place where it is evaluated to the call site's
/// descriptor, which the expansion needs before.
///
/// Type inference fills it in: see the macros' expansion.
pub struct Probe<T: ?Sized>(PhantomData<*const T>);

impl<T: ?Sized> Probe<T> {
    /// A probe for a type that is not known yet.
    #[inline(always)]
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Self(PhantomData)
    }

    /// Ties the probe to the type of `_arg`.
    #[inline(always)]
    pub const fn bind(&self, _arg: &T) {}
}

/// Compiles only if the type can be logged. If it cannot, then that is reported here, and nothing
/// else about the type: `This` is not known then.
#[inline(always)]
pub const fn known<T: BlogArg + ?Sized>(_: &Probe<T>) -> Probe<T::This> {
    Probe::new()
}

/// The same for a value.
#[inline(always)]
pub fn value<T: BlogArg<This = T> + ?Sized>(value: &T) -> &T::This {
    value
}

macro_rules! fmt_traits {
    ($($(#[$doc:meta])* $name:ident $spec:literal;)*) => {$(
        $(#[$doc])*
        #[diagnostic::on_unimplemented(
            message = $spec,
            label = "wrong type for this placeholder"
        )]
        pub trait $name {}
        impl<T: $name + ?Sized> $name for &T {}
        impl<T: $name + ?Sized> $name for &mut T {}

        #[doc = "Fails to compile if the argument cannot be printed so."]
        #[allow(non_snake_case)]
        #[inline(always)]
        pub const fn $name<T: $name + ?Sized>(_: &Probe<T>) {}
    )*};
}

fmt_traits! {
    /// Can be logged with `{}`.
    Display "`{Self}` cannot be logged with `{{}}`";
    /// Can be logged with `{:?}` and its variants.
    Debug "`{Self}` cannot be logged with `{{:?}}`";
    /// Can be logged with `{:x}`.
    LowerHex "`{Self}` cannot be logged with `{{:x}}`";
    /// Can be logged with `{:X}`.
    UpperHex "`{Self}` cannot be logged with `{{:X}}`";
    /// Can be logged with `{:o}`.
    Octal "`{Self}` cannot be logged with `{{:o}}`";
    /// Can be logged with `{:b}`.
    Binary "`{Self}` cannot be logged with `{{:b}}`";
    /// Can be logged with `{:e}`.
    LowerExp "`{Self}` cannot be logged with `{{:e}}`";
    /// Can be logged with `{:E}`.
    UpperExp "`{Self}` cannot be logged with `{{:E}}`";
    /// Can be logged with `{:p}`.
    Pointer "`{Self}` cannot be logged with `{{:p}}`";
    /// Can be a width or precision: `usize`.
    Count "`{Self}` cannot be a width or precision, which must be `usize`";
}

macro_rules! impl_private {
    ($($name:ident),*) => {$(
        impl<T: $name> $name for Private<T> {}
    )*};
}

impl_private!(Display, Debug, LowerHex, UpperHex, Octal, Binary, LowerExp, UpperExp);

macro_rules! impl_integer {
    ($($ty:ty),*) => {
        impl_integer!(@ $($ty, NonZero<$ty>),*);
    };
    (@ $($ty:ty),*) => {$(
        impl Display for $ty {}
        impl Debug for $ty {}
        impl LowerHex for $ty {}
        impl UpperHex for $ty {}
        impl Octal for $ty {}
        impl Binary for $ty {}
        impl LowerExp for $ty {}
        impl UpperExp for $ty {}
    )*};
}

impl_integer!(u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize);

macro_rules! impl_text {
    ($($ty:ty),*) => {$(
        impl Display for $ty {}
        impl Debug for $ty {}
    )*};
}

impl_text!(bool, char, str, CStr, Ipv4Addr, Ipv6Addr, Mac);

impl Count for usize {}
impl Debug for () {}
impl Debug for [u8] {}
impl<const N: usize> Debug for [u8; N] {}
impl Display for Hex<'_> {}
impl Display for Text {}
impl<T> Debug for *const T {}
impl<T> Debug for *mut T {}
impl Pointer for Ptr {}
impl<T: Debug> Debug for Option<T> {}
impl<T: Debug, E: Errno> Debug for Result<T, E> {}
