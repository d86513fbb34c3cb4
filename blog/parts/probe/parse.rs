// SPDX-License-Identifier: GPL-2.0

//! A probe as users write it: parsers, and nothing but parsers.
//!
//! ```text
//! f:FUNCTION[+OFFSET][%return] LEVEL TABLE FETCH...
//! t:TRACEPOINT LEVEL TABLE FETCH...
//! ```
//!
//! `blog-decode` makes such a line out of names and a format. TABLE is a side table for the one
//! site, in hex digits. A FETCH is `$argN`, `$retval` or `$comm`; then offsets in bytes, with their
//! signs; and a colon and what is stored. Before each offset but the first one, the pointer at the
//! address so far is followed: `$arg1+16-8:4` is four bytes, 8 before where the pointer leads to
//! that is 16 after where the first argument does.
//!
//! `1`, `2`, `4` and `8` are so many bytes, of the word itself if there is no offset, else of
//! memory: then a `RESULT`, as they may not be there. `s` is the string at the address.

use kernel::{
    blog::wire::{
        pack,
        record::Level,
        types::MAX_ARGS, //
    },
    prelude::*, //
};

use crate::registry::parse::parse_number;

/// The most words that a hit comes with; `BLOG_PROBE_WORDS` of `hits.h`.
pub(super) const WORDS: usize = 11;
/// The most offsets of a fetch.
const OFFSETS: usize = 6;
/// Of codes, those that there is room for after the first one, which says how many words there are.
const CODES: usize = 31;

/// What is hit; `enum blog_hook_kind` of `hits.h`.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum HookKind {
    /// An instruction of a function: the words are what is in the registers of its arguments, and
    /// then what is on the stack as at its start.
    Instruction,
    /// The return of a function: the word is what it returns.
    Return,
    /// A tracepoint: the words are its arguments, if it has so many; else anything.
    Tracepoint,
}

/// Where a fetch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    /// A word of the hit.
    Word(usize),
    /// The name of the current task.
    Comm,
}

/// Where an argument of a record is to be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fetch {
    pub(super) base: Base,
    offsets: [i32; OFFSETS],
    len: usize,
}

/// A probe.
pub(super) struct Definition<'a> {
    pub(super) kind: HookKind,
    pub(super) symbol: &'a str,
    pub(super) offset: u32,
    pub(super) level: Level,
    /// Hex digits.
    pub(super) table: &'a str,
    pub(super) fetches: [Fetch; MAX_ARGS],
    /// How many words these take.
    pub(super) words: usize,
    /// How they are stored.
    pub(super) codes: pack::Codes,
}

/// The code of an argument, in the nibbles of `pack.rs`; with how many these are.
fn code(size: &str, is_word: bool) -> Result<(u128, usize)> {
    let log2 = match size {
        "s" => return Ok((pack::STR.into(), 1)),
        "1" => 0,
        "2" => 1,
        "4" => 2,
        "8" => 3,
        _ => return Err(EINVAL),
    };
    Ok(match is_word {
        true => ((pack::W1 + log2).into(), 1),
        false => (u128::from(pack::MEM) | 1 << (4 + log2), 3),
    })
}

impl Fetch {
    const NONE: Self = Self {
        base: Base::Comm,
        offsets: [0; OFFSETS],
        len: 0,
    };

    /// Where a fetch is to be had, and what is stored.
    fn parse(text: &str, kind: HookKind) -> Result<(Self, &str)> {
        let (mut place, size) = text.split_once(':').ok_or(EINVAL)?;
        let mut new = Self::NONE;
        let end = place.find(['+', '-']).unwrap_or(place.len());
        let base = place.get(..end).ok_or(EINVAL)?;
        new.base = match (base, base.strip_prefix("$arg"), kind) {
            ("$comm", ..) if size == "s" && end == place.len() => Base::Comm,
            ("$retval", _, HookKind::Return) => Base::Word(0),
            (_, Some(n), HookKind::Instruction | HookKind::Tracepoint) => {
                let word = parse_number(n)?.checked_sub(1).map(|n| n as usize);
                Base::Word(word.filter(|n| *n < WORDS).ok_or(EINVAL)?)
            }
            _ => return Err(EINVAL),
        };
        place = place.get(end..).ok_or(EINVAL)?;
        while let Some(sign) = place.get(..1) {
            let rest = place.get(1..).unwrap_or_default();
            let end = rest.find(['+', '-']).unwrap_or(rest.len());
            let n = parse_number(rest.get(..end).unwrap_or_default())?;
            let n = i32::try_from(n).map_err(|_| EINVAL)?;
            let offset = new.offsets.get_mut(new.len).ok_or(E2BIG)?;
            *offset = if sign == "-" { -n } else { n };
            new.len += 1;
            place = rest.get(end..).unwrap_or_default();
        }
        Ok((new, size))
    }

    /// The argument, where `word` is what it begins with. `load` reads a pointer. What leads to
    /// nothing or to something that can't be read is such an address, too.
    pub(super) fn follow(&self, word: u64, load: impl Fn(u64) -> Option<u64>) -> u64 {
        const BAD: u64 = 1;
        let mut at = word;
        let offsets = self.offsets.get(..self.len).unwrap_or_default();
        for (i, offset) in offsets.iter().enumerate() {
            if i > 0 {
                at = load(at).unwrap_or(BAD);
            }
            // The packer knows these.
            if matches!(at, 0 | BAD) {
                break;
            }
            at = at.wrapping_add_signed((*offset).into());
        }
        at
    }
}

impl<'a> Definition<'a> {
    /// `E2BIG`: more arguments or offsets than there may be.
    // The caller's frame is large enough without this one.
    #[inline(never)]
    pub(super) fn parse(text: &'a str) -> Result<Self> {
        let mut words = text.split_ascii_whitespace();
        let mut next = || words.next().ok_or(EINVAL);
        let (place, level, table) = (next()?, next()?, next()?);
        let (kind, place) = place.split_once(':').ok_or(EINVAL)?;
        let (kind, place) = match (kind, place.strip_suffix("%return")) {
            ("f", None) => (HookKind::Instruction, place),
            ("f", Some(place)) => (HookKind::Return, place),
            ("t", None) => (HookKind::Tracepoint, place),
            _ => return Err(EINVAL),
        };
        let (symbol, offset) = match place.split_once('+') {
            Some((symbol, offset)) if kind == HookKind::Instruction => {
                (symbol, parse_number(offset)?)
            }
            Some(_) => return Err(EINVAL),
            None => (place, 0),
        };
        let level = Level::ALL.into_iter().find(|known| level == known.name());
        if symbol.is_empty() || symbol.contains(['%', '\0']) {
            return Err(EINVAL);
        }
        let mut new = Self {
            kind,
            symbol,
            offset,
            level: level.ok_or(EINVAL)?,
            table,
            fetches: [Fetch::NONE; MAX_ARGS],
            words: 0,
            codes: pack::Codes(0),
        };
        let mut nibbles = 0;
        for (i, text) in words.enumerate() {
            let (fetch, size) = Fetch::parse(text, kind)?;
            *new.fetches.get_mut(i).ok_or(E2BIG)? = fetch;
            let (code, len) = code(size, fetch.len == 0)?;
            if nibbles + len > CODES {
                return Err(E2BIG);
            }
            new.codes.0 |= u128::from(pack::TWO_WORDS) | code << (4 + 4 * nibbles);
            nibbles += len;
            if let Base::Word(n) = fetch.base {
                new.words = new.words.max(n + 1);
            }
        }
        Ok(new)
    }
}
