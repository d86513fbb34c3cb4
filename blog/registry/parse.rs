// SPDX-License-Identifier: GPL-2.0

//! The text that users write into files and parameters: parsers, and nothing but parsers.
//!
//! Called in process context with the bytes of one `write()`. Nothing here changes anything: a
//! parser returns the meaning, or `EINVAL`. All of them are strict, so that a typing error never
//! has half of an effect.

use kernel::prelude::*;

#[cfg(CONFIG_BLOG_PARTS)]
pub(crate) mod names;

/// The one word that `text` is to consist of; blanks and one newline at the end are allowed.
pub(super) fn word(text: &str) -> Result<&str> {
    let mut words = text.split_ascii_whitespace();
    match (words.next(), words.next()) {
        (Some(word), None) => Ok(word),
        _ => Err(EINVAL),
    }
}

pub(crate) fn is_decimal(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit())
}

/// A plain decimal number: digits only, no sign.
pub(crate) fn parse_number(text: &str) -> Result<u32> {
    let digits = Some(word(text)?).filter(|word| is_decimal(word));
    digits.ok_or(EINVAL)?.parse().map_err(|_| EINVAL)
}
