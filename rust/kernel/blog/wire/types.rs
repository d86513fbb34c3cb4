// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Type codes: what a stored argument is, in one `u64`.
//!
//! They are in the `.debug.blog` descriptors, never in a record: decoders read its bytes by them.
//!
//! Every argument has *fixed* bytes, which are always stored; their number follows from its kind.
//! Strings and slices have a *tail* directly after that, their bytes; the fixed part is a `u8` with
//! the length. The tails of a record share a budget: see [`take_tail`], and "Tails and cuts" in
//! Documentation/blog/.

/// Greatest payload of a record in bytes.
pub const MAX_PAYLOAD: usize = super::record::PAYLOAD_MAX;

/// Greatest number of stored arguments of a call site, width and precision arguments included.
pub const MAX_ARGS: usize = 12;

/// Length byte of a tail that is so long or longer: the tail starts with its length, a `u16`.
pub const LONG: usize = u8::MAX as usize;

/// Size of the `u16` length that a long tail starts with.
pub const LONG_SIZE: usize = 2;

/// Greatest length of a tail that can be named; longer data is cut before.
pub const MAX_TAIL: usize = u16::MAX as usize;

/// `u8`.
pub const U8: u8 = 0x01;
/// `u16`.
pub const U16: u8 = 0x02;
/// `u32`.
pub const U32: u8 = 0x03;
/// `u64`.
pub const U64: u8 = 0x04;
/// `u128`.
pub const U128: u8 = 0x05;
/// `usize`, stored in 8 bytes. Also the kind of width and precision arguments.
pub const USIZE: u8 = 0x06;
/// `i8`.
pub const I8: u8 = 0x11;
/// `i16`.
pub const I16: u8 = 0x12;
/// `i32`.
pub const I32: u8 = 0x13;
/// `i64`.
pub const I64: u8 = 0x14;
/// `i128`.
pub const I128: u8 = 0x15;
/// `isize`, stored in 8 bytes.
pub const ISIZE: u8 = 0x16;
/// `bool`, one byte, 0 or 1.
pub const BOOL: u8 = 0x20;
/// `char`, a `u32`.
pub const CHAR: u8 = 0x21;
/// `str`: its length, and as the tail its bytes. [`TypeCode::TEXT`] is one, too.
pub const STR: u8 = 0x22;
/// `CStr`, stored as [`STR`], without its NUL.
pub const CSTR: u8 = 0x23;
/// A slice `[u8]`, stored as [`STR`]; prints with `{:?}` as Rust prints `&[u8]`.
pub const BYTES: u8 = 0x24;
/// A raw pointer or, under `{:p}`, a reference; 8 bytes.
pub const POINTER: u8 = 0x25;
/// The kernel's `Error`: a negative errno, an `i32`.
pub const ERROR: u8 = 0x26;
/// `()`: nothing.
pub const UNIT: u8 = 0x27;
/// An array `[u8; N]`; N in bits 8 to 23 of the code.
pub const BYTE_ARRAY: u8 = 0x28;
/// `kernel::blog::Hex`: bytes that print with `{}` as two hex digits each, space separated (as
/// `%*ph` does): `de ad be ef`. Stored as [`BYTES`].
pub const HEX: u8 = 0x29;
/// `Option<T>`; T's code in bits 8 to 63. A `u8` (0 `None`, 1 `Some`), then T's fixed bytes, of
/// `None` 0.
pub const OPTION: u8 = 0x30;
/// `Result<T, Error>`; T's code in bits 8 to 63. A `u8` (0 `Ok`, 1 `Err`), then T's fixed bytes or
/// the error, zero padded to the larger of both.
pub const RESULT: u8 = 0x31;
/// A private argument of type T; T's code in bits 8 to 63. A `u8`, what was done with it
/// ([`Privacy`]); then its [hash](PRIVATE_HASH), or T's fixed bytes if it is kept, zero padded to
/// the larger of both. Only one that is kept has a tail.
pub const PRIVATE: u8 = 0x32;
/// A process or thread id, `i32`. Prints as the integer does.
pub const PID: u8 = 0x40;
/// A point in time in ns, `i64`. Prints as the integer does.
pub const INSTANT: u8 = 0x41;
/// A span of time in ns, `i64`. Prints as the integer does.
pub const DELTA: u8 = 0x42;
/// `core::net::Ipv4Addr`, 4 bytes in network order.
pub const IPV4: u8 = 0x43;
/// `core::net::Ipv6Addr`, 16 bytes in network order.
pub const IPV6: u8 = 0x44;
/// `kernel::blog::Mac`, 6 bytes: prints with `{}` and `{:?}` as `02:00:5e:10:00:ff`.
pub const MAC: u8 = 0x45;
/// A type with `#[derive(BlogArg)]`; bits 8 to 55 are `derived_hash` of its name. Its fields
/// are in the `.debug.blog` type descriptor with the same code. A struct is its fields in
/// order, all without tails; an enum a `u8` with the variant's index, then as many bytes as the
/// widest variant has, zero padded.
pub const DERIVED: u8 = 0x50;

/// Size of the hash of a [`PRIVATE`] argument.
pub const PRIVATE_HASH: usize = 8;

named! {
    /// What is done with a [`PRIVATE`] argument: a component's setting.
    Privacy {
        /// Its hash is stored, by a key that is random in each boot.
        Hash = 0 "hash",
        /// Nothing is stored.
        Omit = 1 "omit",
        /// It is stored as it is.
        Keep = 2 "keep",
    }
}

/// A type code: the low byte is the kind, the rest its parameters.
///
/// # Invariants
///
/// None: a code that was read from a file may be anything. [`TypeCode::is_valid`] checks it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(transparent)]
pub struct TypeCode(pub u64);

impl TypeCode {
    /// Of a type that is nested too deep for a code. No call site has it: `fmt::shallow` refuses
    /// the call.
    pub const TOO_DEEP: Self = Self(u64::MAX);

    /// A [`STR`] that an argument was formatted to at the call, for its placeholder: prints as it
    /// is, whatever the placeholder says.
    pub const TEXT: Self = Self(STR as u64 | 1 << 8);

    /// The code of a kind that has no parameters.
    pub const fn plain(kind: u8) -> Self {
        Self(kind as u64)
    }

    /// The code of `[u8; len]`, or `None` if that cannot fit into a record.
    pub const fn byte_array(len: usize) -> Option<Self> {
        if len > MAX_PAYLOAD {
            return None;
        }
        Some(Self(BYTE_ARRAY as u64 | (len as u64) << 8))
    }

    /// The code of an [`OPTION`], [`RESULT`] or [`PRIVATE`] (`outer`) around `self`, or
    /// [`Self::TOO_DEEP`] for 64 bits, and around something private.
    pub const fn wrapped(self, outer: u8) -> Self {
        if self.0 >> 56 != 0 || self.kind() == PRIVATE {
            return Self::TOO_DEEP;
        }
        Self(self.0 << 8 | outer as u64)
    }

    /// The kind: one of this module's constants, or something a newer kernel wrote.
    pub const fn kind(self) -> u8 {
        self.0 as u8
    }

    /// The code inside of an [`OPTION`], [`RESULT`] or [`PRIVATE`].
    pub const fn inner(self) -> Self {
        Self(self.0 >> 8)
    }

    /// The N of `[u8; N]`.
    pub const fn array_len(self) -> usize {
        (self.0 >> 8 & 0xffff) as usize
    }

    /// Bytes of the fixed part for the kinds whose code says it; `None` for unknown kinds and
    /// where a [`DERIVED`] type is involved (its descriptor tells).
    pub const fn fixed_size(self) -> Option<usize> {
        Some(match self.kind() {
            U8 | I8 | BOOL | STR | CSTR | BYTES | HEX => 1,
            U16 | I16 => 2,
            U32 | I32 | CHAR | ERROR | PID | IPV4 => 4,
            U64 | I64 | USIZE | ISIZE | POINTER | INSTANT | DELTA => 8,
            U128 | I128 | IPV6 => 16,
            UNIT => 0,
            MAC => 6,
            BYTE_ARRAY => self.array_len(),
            OPTION => match self.inner().fixed_size() {
                Some(n) => 1 + n,
                None => return None,
            },
            RESULT => match self.inner().fixed_size() {
                Some(n) if n > 4 => 1 + n,
                Some(_) => 5,
                None => return None,
            },
            PRIVATE => match self.inner().fixed_size() {
                Some(n) if n > PRIVATE_HASH => 1 + n,
                Some(_) => 1 + PRIVATE_HASH,
                None => return None,
            },
            _ => return None,
        })
    }

    /// Whether the argument has a tail.
    pub const fn has_tail(self) -> bool {
        match self.kind() {
            STR | CSTR | BYTES | HEX => true,
            OPTION | RESULT | PRIVATE => self.inner().has_tail(),
            _ => false,
        }
    }

    /// What the length of the argument's tail may take beyond the fixed bytes.
    pub const fn long_size(self) -> usize {
        if self.has_tail() {
            LONG_SIZE
        } else {
            0
        }
    }
}

/// How many bytes of length a tail of `len` bytes starts with.
#[inline(always)]
pub const fn long_size(len: usize) -> usize {
    if len < LONG {
        0
    } else {
        LONG_SIZE
    }
}

/// Takes the next tail of `len` bytes out of `budget`, the bytes that are left for tails in this
/// record; returns how many of them are stored.
#[inline(always)]
pub const fn take_tail(budget: &mut usize, len: usize) -> usize {
    let n = if len < *budget { len } else { *budget };
    *budget -= n;
    n
}
