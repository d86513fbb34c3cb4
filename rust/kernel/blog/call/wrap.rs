// SPDX-License-Identifier: GPL-2.0

//! [`Ptr`], which the macros put around the arguments of `{:p}`.

use core::ptr::NonNull;

use super::super::{
    unaligned::store_unaligned,
    wire::types, //
};
use super::arg::BlogArg;

/// What `{:p}` can print: raw pointers and references that are an address and nothing else.
///
/// Of a slice or a string, Rust prints a struct with the length since 1.86, and without before.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be logged with `{{:p}}`",
    label = "not a pointer or reference to a type of known size",
    note = "of a slice or string, log `as_ptr()`"
)]
pub trait Address {
    /// The address.
    fn address(&self) -> u64;
}

macro_rules! impl_address {
    ($($ty:ty, |$p:ident| $ptr:expr;)*) => {$(
        impl<T> Address for $ty {
            #[inline(always)]
            fn address(&self) -> u64 {
                let $p = self;
                let ptr: *const T = $ptr;
                ptr.addr() as u64
            }
        }
    )*};
}

impl_address! {
    *const T, |p| *p;
    *mut T, |p| *p;
    &T, |p| core::ptr::from_ref(*p);
    &mut T, |p| core::ptr::from_ref(&**p);
    NonNull<T>, |p| p.as_ptr();
}

/// An argument of `{:p}`: the address of what it was made of.
///
/// # Examples
///
/// ```
/// # use kernel::prelude::*;
/// use kernel::blog::blog_debug;
///
/// # use kernel::blog::blog_component;
/// # blog_component! { NET, name: "wrap_ptr", enabled: false }
/// let value = 7;
/// // The macro makes it.
/// blog_debug!(NET, "at {:p}", &value);
/// ```
#[derive(Clone, Copy)]
pub struct Ptr(u64);

impl Ptr {
    /// The address that `{:p}` prints for `value`.
    #[inline(always)]
    pub fn of<T: Address + ?Sized>(value: &T) -> Self {
        Self(value.address())
    }
}

super::arg::impl_scalar! {
    () Ptr as *const () => POINTER u64, |p| p.0;
}
