// SPDX-License-Identifier: GPL-2.0

//! The settings of a component: one row for each. A row is a file of the component, and a key of
//! what boot settings say; both take the same texts. `state.rs` has the effect of each.

use core::ops::RangeInclusive;
use kernel::blog::{
    ring::Mode,
    wire::{
        record::Level,
        types::Privacy, //
    },
    Config, //
};

use super::parse;

use crate::sys::prelude::*;

/// A setting, and its place in [`SETTINGS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    RingKb,
    WarnShare,
    Mode,
    Level,
    Private,
    SizeKb,
    Enable,
}

struct Setting {
    key: Key,
    name: &'static CStr,
    range: RangeInclusive<u32>,
    /// A value's name, where it has one.
    value_name: fn(u32) -> Option<&'static str>,
    /// Whether a value's number stands for it.
    has_numbers: bool,
}

const fn number(key: Key, name: &'static CStr, range: RangeInclusive<u32>) -> Setting {
    Setting {
        key,
        name,
        range,
        value_name: |_| None,
        has_numbers: true,
    }
}

/// How many there are.
pub(crate) const COUNT: usize = 7;

/// By key. Who sets several sets them in this order: a component gets its memory when all else is
/// set.
static SETTINGS: [Setting; COUNT] = [
    // At least two pages, so that overwriting the oldest leaves one.
    number(Key::RingKb, c"ring_kb", 8..=1 << 20),
    // The part of the memory that is for warnings; 0: none.
    number(Key::WarnShare, c"warn_share", 0..=1024),
    // What full rings do.
    Setting {
        value_name: |n| [Some("overwrite"), Some("discard")][n as usize & 1],
        has_numbers: false,
        ..number(Key::Mode, c"mode", 0..=1)
    },
    // The least important level that is logged; 0: only sites that are switched on.
    Setting {
        value_name: |n| Some(Level::from_u8(n as u8).map_or("off", Level::name)),
        ..number(Key::Level, c"level", 0..=5)
    },
    // What is done with private arguments.
    Setting {
        value_name: |n| Privacy::ALL.get(n as usize).map(|privacy| privacy.name()),
        has_numbers: false,
        ..number(Key::Private, c"private", 0..=2)
    },
    number(Key::SizeKb, c"size_kb", 16..=1 << 20),
    // Whether it logs, when it is attached.
    number(Key::Enable, c"enable", 0..=1),
];

impl Key {
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        SETTINGS.iter().map(|setting| setting.key)
    }

    fn row(self) -> &'static Setting {
        &SETTINGS[self as usize]
    }

    /// The name of its file.
    pub(crate) fn name(self) -> &'static CStr {
        self.row().name
    }

    pub(crate) fn range(self) -> RangeInclusive<u32> {
        self.row().range.clone()
    }

    /// The value that a text is for: its name, or its number, with one digit if that is enough for
    /// all values. `EINVAL` of any other text.
    pub(crate) fn parse(self, text: &str) -> Result<u32> {
        let (row, word) = (self.row(), parse::word(text)?);
        if row.has_numbers && (word.len() == 1 || *row.range.end() > 9) {
            if let Ok(n) = parse::parse_number(word) {
                return row.range.contains(&n).then_some(n).ok_or(EINVAL);
            }
        }
        let mut names = self.range().take(10);
        names
            .find(|n| (row.value_name)(*n) == Some(word))
            .ok_or(EINVAL)
    }

    /// Writes a value as a line that can be parsed.
    pub(crate) fn show(self, value: u32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.row().value_name)(value) {
            Some(name) => writeln!(f, "{name}"),
            None => writeln!(f, "{value}"),
        }
    }
}

/// The settings that a component starts with, by key; and whether any that it wants are out of
/// range, so that it has the nearest ones, or the defaults.
pub(crate) fn of_config(config: &Config, is_off: bool) -> ([u32; COUNT], bool) {
    let kb = |key: Key, kb: u32| kb.clamp(*key.range().start(), *key.range().end());
    let (level, mode) = (config.known_level(), config.known_mode());
    let mut values = [0; COUNT];
    values[Key::RingKb as usize] = kb(Key::RingKb, config.ring_kb);
    values[Key::WarnShare as usize] = 8;
    values[Key::Mode as usize] = mode.unwrap_or(Mode::Overwrite) as u32;
    values[Key::Level as usize] = level.unwrap_or(Level::Info) as u32;
    values[Key::Private as usize] = Privacy::Hash as u32;
    values[Key::SizeKb as usize] = kb(Key::SizeKb, config.size_kb);
    values[Key::Enable as usize] = (config.enabled && !is_off).into();
    let given = [Key::RingKb, Key::SizeKb].map(|key| values[key as usize]);
    let fits = given == [config.ring_kb, config.size_kb] && level.is_some() && mode.is_some();
    (values, fits)
}
