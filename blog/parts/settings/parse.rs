// SPDX-License-Identifier: GPL-2.0

//! The texts of settings.

use core::ops::RangeInclusive;
use kernel::{
    blog::{
        ring::Mode,
        wire::{
            record::Level,
            types::Privacy, //
        }, //
    },
    prelude::*, //
};

use crate::registry::{
    state::{
        State,
        RING_KB,
        SIZE_KB,
        WARN_SHARE, //
    },
    words::{
        self,
        parse_level,
        parse_mode,
        parse_number,
        parse_privacy,
        parse_switch, //
    }, //
};

/// Settings, as far as they are given.
#[derive(Clone, Copy, Default)]
pub(crate) struct Settings {
    pub(crate) enabled: Option<bool>,
    /// `None`: only sites that are switched on.
    pub(crate) level: Option<Option<Level>>,
    pub(crate) mode: Option<Mode>,
    pub(crate) privacy: Option<Privacy>,
    pub(crate) size_kb: Option<u32>,
    pub(crate) ring_kb: Option<u32>,
    pub(crate) warn_share: Option<u32>,
}

impl Settings {
    /// Whether it gives all that `other` gives.
    pub(crate) fn cover(&self, other: &Self) -> bool {
        self.enabled.is_some() >= other.enabled.is_some()
            && self.level.is_some() >= other.level.is_some()
            && self.mode.is_some() >= other.mode.is_some()
            && self.privacy.is_some() >= other.privacy.is_some()
            && self.size_kb.is_some() >= other.size_kb.is_some()
            && self.ring_kb.is_some() >= other.ring_kb.is_some()
            && self.warn_share.is_some() >= other.warn_share.is_some()
    }
}

/// Sets all that is given, up to what fails.
pub(crate) fn apply(state: &State, settings: &Settings) -> Result {
    if let Some(kb) = settings.ring_kb {
        state.set_ring_kb(kb)?;
    }
    if let Some(part) = settings.warn_share {
        state.set_warn_share(part)?;
    }
    if let Some(mode) = settings.mode {
        state.set_mode(mode);
    }
    if let Some(level) = settings.level {
        state.set_level(level);
    }
    if let Some(privacy) = settings.privacy {
        state.set_privacy(privacy);
    }
    // Memory that it gets is as large as it is to be.
    if settings.enabled == Some(false) {
        state.set_enabled(false)?;
    }
    if let Some(kb) = settings.size_kb {
        state.set_size_kb(kb)?;
    }
    if settings.enabled == Some(true) {
        state.set_enabled(true)?;
    }
    Ok(())
}

/// Settings of all components with certain names.
pub(crate) struct Wish<'a> {
    /// See [`words::names`].
    pub(crate) names: &'a str,
    pub(crate) settings: Settings,
}

impl Wish<'_> {
    pub(crate) fn is_for(&self, name: &[u8]) -> bool {
        words::fits(self.names.as_bytes(), name)
    }
}

/// `NAMES:KEY=VALUE,KEY=VALUE…`: each key is the name of a file of the component, and each value
/// what may be written into that.
pub(crate) fn parse(text: &str) -> Result<Wish<'_>> {
    // Names may have colons.
    let (names, pairs) = text.rsplit_once(':').ok_or(EINVAL)?;
    let mut settings = Settings::default();
    for pair in pairs.split(',') {
        let (key, value) = pair.split_once('=').ok_or(EINVAL)?;
        let is_new = match key {
            "enable" => settings.enabled.replace(parse_switch(value)?).is_none(),
            "level" => settings.level.replace(parse_level(value)?).is_none(),
            "mode" => settings.mode.replace(parse_mode(value)?).is_none(),
            "size_kb" => settings.size_kb.replace(within(value, SIZE_KB)?).is_none(),
            "private" => settings.privacy.replace(parse_privacy(value)?).is_none(),
            "ring_kb" => settings.ring_kb.replace(within(value, RING_KB)?).is_none(),
            "warn_share" => {
                let part = within(value, WARN_SHARE)?;
                settings.warn_share.replace(part).is_none()
            }
            _ => false,
        };
        if !is_new {
            return Err(EINVAL);
        }
    }
    Ok(Wish {
        names: words::names(names)?,
        settings,
    })
}

fn within(text: &str, range: RangeInclusive<u32>) -> Result<u32> {
    let kb = parse_number(text)?;
    range.contains(&kb).then_some(kb).ok_or(EINVAL)
}
