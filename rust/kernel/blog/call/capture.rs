// SPDX-License-Identifier: GPL-2.0

//! Messages of a driver that is captured: what `pr_info!`, `dev_dbg!` and their kin expand to, next
//! to what prints them.
//!
//! They were not written for BLog, so any type can be an argument. What can be logged where a
//! placeholder stands is stored raw, as a log call would; anything else is formatted at the call,
//! into a bounded [`Text`]. The compiler chooses, by [`StoreRaw`] and [`StoreText`]. It needs no
//! kernel and compiles on the host unchanged; it never allocates.

use core::{
    fmt::{
        Arguments,
        Write, //
    },
    marker::PhantomData, //
};

use super::{
    super::wire::types::TypeCode,
    arg::BlogArg,
    fmt,
    wrap::{
        Address,
        Ptr, //
    }, //
};

/// What a placeholder wants of an argument, as types: the traits of `fmt.rs`.
pub mod kind {
    macro_rules! kinds {
        ($($kind:ident)*) => {$(
            #[doc = concat!("`", stringify!($kind), "`.")]
            pub struct $kind;
        )*};
    }

    kinds! { Display Debug LowerHex UpperHex Octal Binary LowerExp UpperExp Pointer Count }
}

macro_rules! impl_raw {
    ($($kind:ident)*) => {$(
        impl<'a, T: BlogArg + fmt::$kind + ?Sized + 'a> Raw<'a, kind::$kind> for T {
            type Stored = &'a T;

            #[inline(always)]
            fn raw(&'a self) -> &'a T {
                self
            }
        }
    )*};
}

impl_raw! { Display Debug LowerHex UpperHex Octal Binary LowerExp UpperExp Count }

impl<'a, T: Address + ?Sized + 'a> Raw<'a, kind::Pointer> for T {
    type Stored = Ptr;

    #[inline(always)]
    fn raw(&'a self) -> Ptr {
        Ptr::of(self)
    }
}

/// A value that is stored raw where a placeholder of kind `K` prints it.
pub trait Raw<'a, K> {
    /// What is stored for it.
    type Stored: BlogArg;

    /// Makes that.
    fn raw(&'a self) -> Self::Stored;
}

/// An argument, and what its placeholder wants of it.
pub struct Arg<'a, T: ?Sized, K>(&'a T, PhantomData<K>);

impl<'a, T: ?Sized, K> Arg<'a, T, K> {
    /// Of an argument that was evaluated.
    #[inline(always)]
    pub const fn new(value: &'a T) -> Self {
        Self(value, PhantomData)
    }
}

/// Stores an argument raw. A call of `with()` on a reference to an [`Arg`] finds this first, and
/// [`StoreText`], which needs one reference more, only where this is not implemented.
pub trait StoreRaw {
    /// What is stored.
    type Stored: BlogArg;

    /// Gives `f` what is stored.
    fn with<R>(&self, text: Arguments<'_>, f: impl FnOnce(&Self::Stored) -> R) -> R;
}

impl<'a, T: Raw<'a, K> + ?Sized, K> StoreRaw for Arg<'a, T, K> {
    type Stored = T::Stored;

    #[inline(always)]
    fn with<R>(&self, _: Arguments<'_>, f: impl FnOnce(&T::Stored) -> R) -> R {
        f(&<T as Raw<'a, K>>::raw(self.0))
    }
}

/// Stores an argument as text.
pub trait StoreText {
    /// Gives `f` the text.
    fn with<R>(&self, text: Arguments<'_>, f: impl FnOnce(&Text) -> R) -> R;
}

impl<T: ?Sized, K> StoreText for &Arg<'_, T, K> {
    #[inline(always)]
    fn with<R>(&self, text: Arguments<'_>, f: impl FnOnce(&Text) -> R) -> R {
        with_text(text, f)
    }
}

/// Gives `f` the text. By itself, so that it is on the stack only while it is stored.
#[inline(never)]
fn with_text<R>(text: Arguments<'_>, f: impl FnOnce(&Text) -> R) -> R {
    f(&Text::new(text))
}

/// Gives `f` a whole message, without the newline at its end. Macros use it where they cannot take
/// the message apart.
#[inline(never)]
pub fn with_message<R>(message: Arguments<'_>, f: impl FnOnce(&Text) -> R) -> R {
    f(&Text::new(message).without_newline())
}

/// What an argument was formatted to, or the start of it. All of its code is in drivers that need
/// it.
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
    /// The most that is stored, in bytes.
    pub const MAX: usize = 128;

    /// Stands where text was cut.
    const CUT: &'static [u8] = "…".as_bytes();

    #[inline]
    fn new(text: Arguments<'_>) -> Self {
        // INVARIANT: Nothing is UTF-8.
        let mut this = Self {
            len: 0,
            bytes: [0; Self::MAX],
        };
        // An error is that there is no room left, or one of whom is formatted: both end the text.
        let _ = this.write_fmt(text);
        this
    }

    #[inline]
    fn without_newline(mut self) -> Self {
        if let [.., b'\n'] = self.text() {
            // INVARIANT: What is left is UTF-8 still.
            self.len -= 1;
        }
        self
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

// SAFETY: `store` writes the length's byte, and a text is never so long that it needs more.
unsafe impl BlogArg for Text {
    type This = Self;
    type Passed<'a> = &'a [u8];

    const CODE: TypeCode = TypeCode::TEXT;
    const FIXED: usize = 1;

    #[inline(always)]
    fn tail(&self) -> &[u8] {
        self.text()
    }

    #[inline(always)]
    fn pass(&self) -> &[u8] {
        self.text()
    }

    #[inline(always)]
    unsafe fn store(&self, dst: *mut u8) {
        // SAFETY: The caller gives us a byte.
        unsafe { dst.write(self.len) }
    }
}
