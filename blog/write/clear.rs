// SPDX-License-Identifier: GPL-2.0

//! A component forgets what it has logged.

use super::tables::forget;
use crate::{
    clock,
    registry::{
        self,
        state::State, //
    },
    sys::{
        glue,
        quiesce, //
    }, //
};

/// A time that is later than that of each record so far, however coarse the clock is.
fn later() -> u64 {
    let before = clock::now();
    loop {
        let now = clock::now();
        if now > before {
            return now;
        }
        glue::pause();
    }
}

impl State {
    /// Forgets all that was logged so far.
    ///
    /// While the component logs, its writers go on undisturbed: they keep the pages that they write
    /// to, of which readers leave out what is older than the clear, and all counts go on. While it
    /// is off or detached, all its memory is freed, and its counts start again. That waits for log
    /// calls that run, and a task that would switch it on meanwhile waits, too.
    pub(crate) fn clear(&self) {
        let control = self.control();
        let Some(old) = self.take_memory(later(), &control) else {
            return;
        };
        quiesce::quiesce();
        // A task that was about to log has put its ring into its table by now. If the component has
        // lost its place, the rings left the tables then, and its place may have another one.
        if !registry::clear::in_place(self, || forget(self.slot())) {
            return self.keep(old);
        }
        // And a task that logs to others has stopped looking at that ring.
        quiesce::quiesce();
        drop(old);
        self.start(&control);
    }
}
