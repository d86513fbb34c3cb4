// SPDX-License-Identifier: GPL-2.0

//! The text that users write into files and parameters: parsers, and nothing but parsers.
//!
//! Called in process context with the bytes of one `write()`. Nothing here changes anything: a
//! parser returns the meaning, or `EINVAL`. All of them are strict, so that a typing error never
//! has half of an effect.

use kernel::{
    blog::{
        ring::Mode,
        wire::record::{
            Level,
            GATE_OFF,
            GATE_ON,
            SITE_MAX, //
        },
        wire::types::Privacy, //
    },
    prelude::*, //
};

use super::images::Query;

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
fn word(text: &str) -> Result<&str> {
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

pub(crate) fn parse_switch(text: &str) -> Result<bool> {
    one_of(text, &[("0", false), ("1", true)])
}

/// A plain decimal number: digits only, no sign.
pub(crate) fn parse_number(text: &str) -> Result<u32> {
    let digits = Some(word(text)?).filter(|word| is_decimal(word));
    digits.ok_or(EINVAL)?.parse().map_err(|_| EINVAL)
}

/// A level's name or number; `off` or `0` is none.
pub(crate) fn parse_level(text: &str) -> Result<Option<Level>> {
    let word = word(text)?;
    if matches!(word, "0" | "off") {
        return Ok(None);
    }
    Level::ALL
        .into_iter()
        .find(|level| word == level.name() || word.as_bytes() == [b'0' + *level as u8])
        .map(Some)
        .ok_or(EINVAL)
}

/// A level's name; `off` for none.
pub(crate) fn level_name(level: Option<Level>) -> &'static str {
    level.map_or("off", Level::name)
}

pub(crate) fn parse_mode(text: &str) -> Result<Mode> {
    let modes = [Mode::Overwrite, Mode::Discard];
    one_of(text, &modes.map(|mode| (mode_name(mode), mode)))
}

pub(crate) fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Overwrite => "overwrite",
        Mode::Discard => "discard",
    }
}

/// What is done with private arguments.
pub(crate) fn parse_privacy(text: &str) -> Result<Privacy> {
    one_of(text, &Privacy::ALL.map(|privacy| (privacy.name(), privacy)))
}

fn query(text: &str) -> Result<Query<'_>> {
    let mut query = Query {
        module: None,
        ids: None,
        level: None,
        gate: None,
    };
    let mut words = text.split_ascii_whitespace();
    loop {
        match words.next().ok_or(EINVAL)? {
            "module" if query.module.is_none() => {
                query.module = Some(words.next().ok_or(EINVAL)?);
            }
            "site" if query.ids.is_none() => {
                query.ids = Some(ids(words.next().ok_or(EINVAL)?)?);
            }
            "level" if query.level.is_none() => {
                query.level = Some(parse_level(words.next().ok_or(EINVAL)?)?.ok_or(EINVAL)?);
            }
            flags => {
                query.gate = match flags {
                    "+p" | "=p" => Some(GATE_ON),
                    "-p" => Some(GATE_OFF),
                    "=_" => None,
                    _ => return Err(EINVAL),
                };
                break;
            }
        }
    }
    // The flags come last.
    match words.next() {
        None => Ok(query),
        Some(_) => Err(EINVAL),
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

/// The commands in `text`, separated by newlines or semicolons. Empty ones, and those that start
/// with `#`, are left out.
pub(crate) fn queries(text: &str) -> impl Iterator<Item = Result<Query<'_>>> {
    text.split(['\n', ';'])
        .map(str::trim_ascii)
        .filter(|text| !text.is_empty() && !text.starts_with('#'))
        .map(query)
}
