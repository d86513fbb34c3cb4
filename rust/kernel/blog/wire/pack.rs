// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The arguments of a C call, in one or two words.
//!
//! A C call passes its arguments as C does, without their types. `blog-fmt-sidetable` compiles its
//! format into [`Codes`] at build time, which are in the image: two words for a call of more than
//! [`FEW_ARGS`] arguments, else one. The one writer for all C calls (`pack.rs` of
//! `blog/parts/ccall/`) packs the arguments by these, without the format. They are in no record,
//! and the decoder doesn't use them: it knows the same arguments by their
//! [type codes](super::types).
//!
//! Most calls pass nothing but numbers. Then the first byte is how many, at most [`NUMBERS_MAX`],
//! the second one how many bytes these take, and each further one is where a number goes, from the
//! second number on. So the writer has nothing to look up. Bytes of numbers that there aren't have
//! the end of the last one.
//!
//! For other calls, from the lowest bits up, there are [`TWO_WORDS`] or 0, then a code of four bits
//! for each argument, then zeros. For a pointer, the record has text as a `CSTR`, or else a
//! `RESULT`; for a null or bad pointer, the text `(null)` or `(efault)`, or the error 0 or
//! `EFAULT`.

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
/// Likewise, as many bits, in whole words.
pub const BITS: u8 = 10;
/// What an object is called, as text; the code that follows says what it is.
pub const TEXT: u8 = 11;
/// A `struct sockaddr`, as a `RESULT` of [`SOCKADDR_SIZE`] bytes: the family, the address, and the
/// fields of the next code, a sum of [`PORT`], [`FLOW`], [`SCOPE`]. The rest is 0.
pub const SOCKADDR: u8 = 12;
/// As [`BYTES`], but as many as a record takes.
pub const RAW: u8 = 13;
/// The argument whose code follows, as a `PRIVATE`.
pub const PRIVATE: u8 = 14;
/// The bytes at a pointer that the format prints, as a `RESULT`; the rest is 0. The next code is
/// their kind.
pub const PART: u8 = 15;

/// A `struct resource`, without its name.
pub const RESOURCE: u8 = 0;
/// The date in a `struct rtc_time`.
pub const DATE: u8 = 1;
/// The time of day there.
pub const TIME: u8 = 2;
/// So many bits as the three codes that follow say, in whole words.
pub const BITMAP: u8 = 3;

/// The port of a [`SOCKADDR`] is stored.
pub const PORT: u8 = 1;
/// Its flow information is stored.
pub const FLOW: u8 = 2;
/// Its scope is stored.
pub const SCOPE: u8 = 4;

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

/// The bit that says that there is a second word.
pub const TWO_WORDS: u8 = 8;
/// The most arguments of a call that has one word.
pub const FEW_ARGS: usize = 3;
/// The most arguments of a call.
pub const CALL_ARGS: usize = 31;
/// The most numbers that have a place in the words.
pub const NUMBERS_MAX: usize = 15;

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

/// The words of a call, the first one in the lower half.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Codes(pub u128);

impl Codes {
    /// Whether what starts with this word has a second one; `None`: it isn't compiled.
    pub const fn has_two(word: u64) -> Option<bool> {
        match word {
            UNCOMPILED => None,
            _ => Some(word as u8 & TWO_WORDS != 0),
        }
    }

    /// How many numbers the call passes, if these are all.
    pub const fn numbers(self) -> Option<usize> {
        let low = self.0 as u8;
        if low as usize <= NUMBERS_MAX {
            Some(low as usize)
        } else {
            None
        }
    }

    /// How many bytes these take.
    pub const fn size(self) -> usize {
        (self.0 >> 8) as u8 as usize
    }

    /// Where one of these goes in the payload.
    pub const fn place(self, number: usize) -> usize {
        match number {
            0 => 0,
            1..=NUMBERS_MAX => (self.0 >> (8 + 8 * number)) as u8 as usize,
            _ => self.size(),
        }
    }
}
