// SPDX-License-Identifier: GPL-2.0

//! The file `clear`: a component forgets what it has logged.

use super::*;
use crate::registry::parse::names::one_of;

pub(super) const FILE: FileOf<State> = FileOf {
    name: c"clear",
    write: Some(|state, text| {
        one_of(text, &[("1", ())])?;
        state.clear();
        if let Some(cleared) = registry::clear::CLEARED.as_ref() {
            cleared(state);
        }
        Ok(())
    }),
    ..FileOf::NONE
};
