// SPDX-License-Identifier: GPL-2.0

//! The texts of settings.

use kernel::prelude::*;

use crate::registry::{
    settings::{
        Key,
        COUNT, //
    },
    state::State,
    words, //
};

/// Settings of all components with certain names.
pub(crate) struct Wish<'a> {
    /// See [`words::names`].
    pub(crate) names: &'a str,
    /// By key, as far as they are given.
    pub(crate) settings: [Option<u32>; COUNT],
}

impl Wish<'_> {
    pub(crate) fn is_for(&self, name: &[u8]) -> bool {
        words::fits(self.names.as_bytes(), name)
    }

    /// Whether it gives all that `other` gives.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        let mut both = self.settings.iter().zip(&other.settings);
        self.names == other.names && both.all(|(this, other)| this.is_some() >= other.is_some())
    }

    /// Sets all that is given, up to what fails.
    pub(crate) fn apply(&self, state: &State) -> Result {
        // Memory that it gets is as large as it is to be.
        if self.settings[Key::Enable as usize] == Some(0) {
            state.set(Key::Enable, 0)?;
        }
        let mut given = Key::all().zip(self.settings);
        given.try_for_each(|(key, value)| value.map_or(Ok(()), |value| state.set(key, value)))
    }
}

/// `NAMES:KEY=VALUE,KEY=VALUE…`: each key is the name of a file of the component, and each value
/// what may be written into that.
pub(crate) fn parse(text: &str) -> Result<Wish<'_>> {
    // Names may have colons.
    let (names, pairs) = text.rsplit_once(':').ok_or(EINVAL)?;
    let mut settings = [None; COUNT];
    for pair in pairs.split(',') {
        let (name, value) = pair.split_once('=').ok_or(EINVAL)?;
        let key = Key::all().find(|key| key.name().to_bytes() == name.as_bytes());
        let key = key.ok_or(EINVAL)?;
        if settings[key as usize].replace(key.parse(value)?).is_some() {
            return Err(EINVAL);
        }
    }
    Ok(Wish {
        names: words::names(names)?,
        settings,
    })
}
