// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The arguments of a C call, in codes of four bits.
//!
//! A C call passes its arguments as C does, without their types. `blog-fmt-sidetable` compiles its
//! format into a word of [`Codes`] at build time, which is in the image. The one writer for all C
//! calls (`blog/write/pack.rs`) packs the arguments by that word, without the format. The codes are
//! in no record, and the decoder doesn't use them: it knows the same arguments by their
//! [type codes](super::types).
//!
//! Most calls pass nothing but numbers. Their word starts with [`NUMBERS`] in place of the number
//! of arguments, which is next; then come the sizes of these in bytes, in four bits each. So the
//! writer has nothing to look up.
//!
//! For other calls, from the lowest bits up, the word has the number of passed arguments, then
//! codes, then zeros. For a pointer, the record has text as a `CSTR`, or else a `RESULT`; for a
//! null or bad pointer, the text `(null)` or `(efault)`, or the error 0 or `EFAULT`.

use super::types::MAX_ARGS;

/// Nothing more is stored.
pub const END: u8 = 0;
/// One byte of a number.
pub const W1: u8 = 1;
/// Two bytes of a number.
pub const W2: u8 = 2;
/// Four bytes of a number.
pub const W4: u8 = 3;
/// All of a number, or an address.
pub const W8: u8 = 4;
/// A string, as text.
pub const STR: u8 = 5;
/// Likewise, whose greatest length is an `int` before it.
pub const STR_ARG: u8 = 6;
/// Likewise, whose greatest length is in the three codes that follow.
pub const STR_MAX: u8 = 7;
/// As many bytes as the two codes that follow say, as a `RESULT`.
pub const MEM: u8 = 8;
/// As many bytes as an `int` before says: that, as `I32`, and a `RESULT` of `HEX`.
pub const BYTES: u8 = 9;
/// Likewise, whole words with as many bits.
pub const BITS: u8 = 10;
/// What an object is called, as text; the code that follows says what it is.
pub const TEXT: u8 = 11;
/// A `struct sockaddr`, as a `RESULT` of [`SOCKADDR_SIZE`] bytes.
pub const SOCKADDR: u8 = 12;
/// As [`BYTES`], but as many as a record takes.
pub const RAW: u8 = 13;
/// The argument whose code follows, as a `PRIVATE`.
pub const PRIVATE: u8 = 14;

/// A `struct dentry` and up to three of its parents, of which this kind has none, and the next
/// ones have one each.
pub const DENTRY: u8 = 0;
/// A `struct file`, likewise.
pub const FILE: u8 = 4;
/// A `struct block_device`.
pub const BDEV: u8 = 8;
/// An `unsigned long` with the flags of a page.
pub const FLAGS_PAGE: u8 = 9;
/// An `unsigned long` with the flags of a memory area.
pub const FLAGS_VMA: u8 = 10;
/// A `gfp_t`.
pub const FLAGS_GFP: u8 = 11;
/// What is named is the pointer itself, not what is there: the symbol that it is in, with the
/// offset, from this kind on.
pub const SYMBOL: u8 = 12;
/// Likewise, without the offset.
pub const SYMBOL_NAME: u8 = 13;
/// Likewise, of the call before a return address.
pub const SYMBOL_CALL: u8 = 14;

/// In place of the number of arguments: all are numbers.
pub const NUMBERS: u8 = 13;

/// The longest that [`STR_MAX`] can say.
pub const STR_MAX_MAX: usize = (1 << 12) - 1;
/// The most that [`MEM`] can say.
pub const MEM_MAX: usize = (1 << 8) - 1;
/// The most that [`BYTES`] stores, which is what `%*ph` prints.
pub const BYTES_MAX: u32 = 64;
/// Bytes of the largest socket address that is stored.
pub const SOCKADDR_SIZE: usize = 28;
/// The greatest width that printk knows: the most bits of [`BITS`].
pub const WIDTH_MAX: u32 = (1 << 23) - 1;
/// The greatest precision that printk knows.
pub const PRECISION_MAX: u32 = (1 << 15) - 1;

/// The word in an image whose formats have not been compiled.
pub const UNCOMPILED: u64 = u64::MAX;

/// The codes of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Codes(pub u64);

impl Codes {
    /// Whether all arguments are numbers, at most `max` of them.
    #[inline(always)]
    pub const fn are_numbers(self, max: usize) -> bool {
        let low = self.0 as u8;
        low & 15 == NUMBERS && (low >> 4) as usize <= max
    }

    /// How many bytes are stored of a number, at most 15; 0 if there is no such argument. For calls
    /// that have nothing but numbers.
    #[inline(always)]
    pub const fn size(self, argument: usize) -> u32 {
        (self.0 >> 8 >> (4 * argument)) as u32 & 15
    }

    /// How many arguments are passed; `None` where nobody has compiled the format.
    #[inline(always)]
    pub const fn count(self) -> Option<usize> {
        let mut n = (self.0 & 15) as usize;
        if n == NUMBERS as usize {
            n = (self.0 >> 4 & 15) as usize;
        }
        if n > MAX_ARGS {
            return None;
        }
        Some(n)
    }
}
