// SPDX-License-Identifier: GPL-2.0

//! Messages of a captured driver: `pr_info!`, `dev_dbg!` and their kin expand to this, in addition
//! to the print.
//!
//! They were not written for BLog, so any type can be an argument. A call that logs formats its
//! message into a bounded [`Text`].

#[cfg(CONFIG_BLOG_HOOKS)]
use core::ffi::CStr;
use core::fmt::{
    Arguments,
    Write, //
};

use super::{
    super::wire::types,
    arg::{
        BlogArg,
        OnlyDisplay, //
    }, //
};
#[cfg(CONFIG_BLOG_HOOKS)]
use super::{
    args::BlogArgs,
    component::RawComponent,
    site::Loaded, //
};

/// Records a message. One function for all messages of a crate, so that the text is on the stack
/// only while it is stored; `Any` as in `args.rs`.
///
/// # Safety
///
/// As for [`BlogArgs::log`].
#[cfg(CONFIG_BLOG_HOOKS)]
#[inline(never)]
pub unsafe fn log<Any>(message: Arguments<'_>, component: &RawComponent, site: Loaded) {
    // SAFETY: As our caller's promise.
    unsafe { (&Text::new(message),).log(component, site) };
}

/// The same for a message of a device.
///
/// # Safety
///
/// As for [`BlogArgs::log`].
#[cfg(CONFIG_BLOG_HOOKS)]
#[inline(never)]
pub unsafe fn log_of<Any>(
    device: &CStr,
    message: Arguments<'_>,
    component: &RawComponent,
    site: Loaded,
) {
    // SAFETY: As our caller's promise.
    unsafe { (&Text::new(message), device).log(component, site) };
}

/// What a message was formatted to, without the newline at its end, or the start of that: for types
/// that can't be logged.
///
/// # Examples
///
/// ```
/// # use kernel::prelude::*;
/// use kernel::blog::{
///     blog_debug,
///     Text, //
/// };
///
/// # use kernel::blog::blog_component;
/// # blog_component! { NET, name: "text", enabled: false }
/// # let layout = core::alloc::Layout::new::<u64>();
/// blog_debug!(NET, "needs {}", Text::new(fmt!("{:?}", layout)));
/// ```
///
/// # Invariants
///
/// - `len` is at most [`Text::MAX`].
/// - The first `len` of `bytes` are UTF-8.
pub struct Text {
    len: u8,
    bytes: [u8; Self::MAX],
}

impl Text {
    /// The most that is stored, in bytes: the maximum of a length of one byte.
    pub const MAX: usize = types::LONG - 1;

    /// Stands where text was cut.
    const CUT: &'static [u8] = "…".as_bytes();

    /// Formats a message.
    #[inline]
    pub fn new(message: Arguments<'_>) -> Self {
        // INVARIANT: Nothing is UTF-8.
        let mut this = Self {
            len: 0,
            bytes: [0; Self::MAX],
        };
        // An error is that there is no room left, or one of what is formatted: both end the text.
        let _ = this.write_fmt(message);
        if let [.., b'\n'] = this.text() {
            // INVARIANT: What is left is UTF-8 still.
            this.len -= 1;
        }
        this
    }

    #[inline]
    fn text(&self) -> &[u8] {
        self.bytes.get(..self.len.into()).unwrap_or_default()
    }

    /// Adds bytes, as many as there is room for.
    #[inline]
    fn push(&mut self, bytes: &[u8]) {
        let room = self.bytes.iter_mut().skip(self.len.into());
        let added = room.zip(bytes).map(|(to, from)| *to = *from).count();
        self.len += added as u8;
    }
}

/// The start of `text` that has at most `max` bytes, in whole characters.
#[inline]
fn start(text: &[u8], max: usize) -> usize {
    let is_whole = |n: &usize| !matches!(text.get(*n), Some(0x80..=0xbf));
    (0..=max.min(text.len())).rev().find(is_whole).unwrap_or(0)
}

impl Write for Text {
    #[inline]
    fn write_str(&mut self, s: &str) -> core::fmt::Result {
        if s.len() <= Self::MAX - self.text().len() {
            // INVARIANT: All of it fits.
            self.push(s.as_bytes());
            return Ok(());
        }
        // INVARIANT: All three end with whole characters, and fit.
        let max = Self::MAX - Self::CUT.len();
        let old = start(self.text(), max);
        self.len = old as u8;
        let more = start(s.as_bytes(), max - old);
        self.push(s.as_bytes().get(..more).unwrap_or_default());
        self.push(Self::CUT);
        Err(core::fmt::Error)
    }
}

super::arg::impl_tail! {
    Text as OnlyDisplay<Self> => types::TypeCode::TEXT, |text| text.text();
}
