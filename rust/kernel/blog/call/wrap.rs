// SPDX-License-Identifier: GPL-2.0

//! Wrappers which say how bytes shall be printed: [`Hex`] and [`Mac`]; and [`Ptr`], which the
//! macros put around the arguments of `{:p}`.

use core::{
    fmt,
    ptr::NonNull, //
};

use super::super::{
    unaligned::store_unaligned,
    wire::types, //
};
use super::arg::BlogArg;

/// Bytes that print as a hex dump, `de ad be ef`, like the kernel's `%*ph`. Width, precision and
/// flags mean nothing to it.
///
/// # Examples
///
/// ```
/// # use kernel::blog::Hex;
/// # fn f(buf: &[u8]) -> Hex<'_> {
/// Hex(&buf[..4])
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct Hex<'a>(pub &'a [u8]);

super::arg::impl_tail! {
    Hex<'_> => types::TypeCode::plain(types::HEX), |hex| hex.0;
}

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, byte) in self.0.iter().enumerate() {
            if i != 0 {
                f.write_str(" ")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

/// An Ethernet address, which prints as `02:00:5e:10:00:ff`.
///
/// # Examples
///
/// ```
/// # use kernel::prelude::*;
/// use kernel::blog::{
///     blog_info,
///     Mac, //
/// };
///
/// # use kernel::blog::blog_component;
/// # blog_component! { NET, name: "wrap_mac", enabled: false }
/// fn up(address: [u8; 6]) {
///     blog_info!(NET, "up as {}", Mac(address));
/// }
/// # up([2; 6]);
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Mac(pub [u8; 6]);

// SAFETY: Stores its six bytes.
unsafe impl BlogArg for Mac {
    type Shown = Self;
    type Passed<'a> = &'a [u8; 6];

    const CODE: types::TypeCode = types::TypeCode::plain(types::MAC);
    const FIXED: usize = 6;

    #[inline(always)]
    fn pass(&self) -> &[u8; 6] {
        &self.0
    }

    #[inline(always)]
    unsafe fn store(&self, dst: *mut u8) {
        // SAFETY: As our caller's promise.
        unsafe { self.0.store(dst) }
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [b':'; 17];
        for (out, byte) in text.chunks_mut(3).zip(self.0) {
            out[0] = DIGITS[usize::from(byte >> 4)];
            out[1] = DIGITS[usize::from(byte & 15)];
        }
        f.pad(core::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

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
