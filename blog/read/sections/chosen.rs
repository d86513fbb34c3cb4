// SPDX-License-Identifier: GPL-2.0

//! A file for which something was chosen.

use super::*;
use crate::read::choice::Choice;

impl Sections {
    /// Chooses what the file will have; once, and before it has anything but its header.
    pub(in super::super) fn choose(&mut self, chosen: KBox<dyn Choice>) -> Result {
        if self.sections != 0 || self.is_chosen() {
            return Err(EBUSY);
        }
        self.selection.chosen = Some(chosen);
        Ok(())
    }

    /// Whether anything was chosen.
    pub(in super::super) fn is_chosen(&self) -> bool {
        self.selection.chosen.is_some()
    }
}
