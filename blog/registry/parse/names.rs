// SPDX-License-Identifier: GPL-2.0

//! Names of components, and numbers of sites, in what users write.

use super::*;
use kernel::blog::wire::record::SITE_MAX;

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

/// `ID` or `FIRST-LAST`.
pub(crate) fn ids(word: &str) -> Result<(u32, u32)> {
    let (first, last) = word.split_once('-').unwrap_or((word, word));
    let (first, last) = (parse_number(first)?, parse_number(last)?);
    if first == 0 || first > last || last > SITE_MAX {
        return Err(EINVAL);
    }
    Ok((first, last))
}

/// That of these whose name is the one word.
pub(crate) fn one_of<T: Copy>(text: &str, all: &[(&str, T)]) -> Result<T> {
    let word = word(text)?;
    let found = all.iter().find(|(name, _)| *name == word);
    found.map(|(_, value)| *value).ok_or(EINVAL)
}
