// SPDX-License-Identifier: GPL-2.0

//! The text that users write into files and parameters: parsers, and nothing but parsers.
//!
//! Called in process context with the bytes of one `write()`. Nothing here changes anything: a
//! parser returns the meaning, or `EINVAL`. All of them are strict, so that a typing error never
//! has half of an effect.

use kernel::{
    blog::wire::record::SITE_MAX,
    prelude::*, //
};

/// Names of components: one; or where it ends in `*`, all that begin so.
pub(crate) fn names(text: &str) -> Result<&str> {
    match text.strip_suffix('*').unwrap_or(text) {
        "" if text.is_empty() => Err(EINVAL),
        begin if begin.contains('*') => Err(EINVAL),
        _ => Ok(text),
    }
}

/// Whether a name is among those that [`names`] has taken.
pub(crate) fn fits(names: &[u8], name: &[u8]) -> bool {
    match names.strip_suffix(b"*") {
        Some(begin) => name.starts_with(begin),
        None => name == names,
    }
}

/// The one word that `text` is to consist of; blanks and one newline at the end are allowed.
pub(super) fn word(text: &str) -> Result<&str> {
    let mut words = text.split_ascii_whitespace();
    match (words.next(), words.next()) {
        (Some(word), None) => Ok(word),
        _ => Err(EINVAL),
    }
}

/// That of these whose name is the one word.
pub(crate) fn one_of<T: Copy>(text: &str, all: &[(&str, T)]) -> Result<T> {
    let word = word(text)?;
    let found = all.iter().find(|(name, _)| *name == word);
    found.map(|(_, value)| *value).ok_or(EINVAL)
}

pub(crate) fn is_decimal(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit())
}

/// A plain decimal number: digits only, no sign.
pub(crate) fn parse_number(text: &str) -> Result<u32> {
    let digits = Some(word(text)?).filter(|word| is_decimal(word));
    digits.ok_or(EINVAL)?.parse().map_err(|_| EINVAL)
}

/// `ID` or `FIRST-LAST`.
pub(crate) fn ids(word: &str) -> Result<(u32, u32)> {
    let (first, last) = word.split_once('-').unwrap_or((word, word));
    let (first, last) = (parse_number(first)?, parse_number(last)?);
    if first == 0 || first > last || last > SITE_MAX {
        return Err(EINVAL);
    }
    Ok((first, last))
}
