// SPDX-License-Identifier: GPL-2.0

//! Wrappers which say how bytes shall be printed: [`Hex`] and [`Mac`].

use core::fmt;

use super::super::wire::types;
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

/// `fmt!` prints BLog's own wrappers as BLog does.
#[cfg(not(BLOG_ANYKERNEL))]
macro_rules! impl_fmt {
    ($($ty:ty),*) => {$(
        impl crate::fmt::Display for $ty {
            fn fmt(&self, f: &mut crate::fmt::Formatter<'_>) -> crate::fmt::Result {
                core::fmt::Display::fmt(self, f)
            }
        }
    )*};
}

#[cfg(not(BLOG_ANYKERNEL))]
impl_fmt!(Hex<'_>, Mac);
