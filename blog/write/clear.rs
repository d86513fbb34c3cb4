// SPDX-License-Identifier: GPL-2.0

//! What `clear` does. It stands here, as the tables of tasks have to do with it.

use crate::{
    registry::state::State,
    sys::quiesce, //
};

use super::{
    tables,
    worker, //
};

impl State {
    /// Forgets all that was logged so far.
    ///
    /// While the component logs, its writers go on undisturbed: they keep the pages that they write
    /// to, of which readers leave out what is older than the clear, and all counts go on. While it
    /// is off or detached, all its memory is freed, and its counts start again. That waits, without
    /// a lock, for log calls that run; nobody else does.
    pub(crate) fn clear(&self) {
        let Some(old) = self.cut() else {
            return;
        };
        quiesce::quiesce();
        // Whoever was about to log has told his table of his ring by now.
        tables::forget(self.slot());
        // And whoever logs to others has stopped looking at that ring.
        quiesce::quiesce();
        self.free(old);
        worker::start();
    }
}
