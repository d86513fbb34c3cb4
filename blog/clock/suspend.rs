// SPDX-License-Identifier: GPL-2.0

//! When the machine sleeps: what `suspend.c` calls.
//!
//! Between a pair from before a sleep and one from after it, times are on no line that goes on; so
//! both are noted.

use super::{
    is_tsc,
    leave,
    pairs,
    tsc, //
};

unsafe extern "C" {
    /// Starts noting when the machine sleeps. Once, in process context, when timekeeping has
    /// started.
    #[link_name = "blog_start_suspend"]
    pub(crate) safe fn start();

    /// Undoes [`start`]. Once, in process context.
    #[link_name = "blog_stop_suspend"]
    pub(crate) safe fn stop();
}

/// The machine is about to sleep, or has just awoken: some clock may stop, or has stopped.
#[no_mangle]
pub(crate) extern "C" fn blog_clock_note() {
    pairs::note();
}

/// It sleeps next, or was just `awoken`: one CPU runs, and interrupts are off.
#[no_mangle]
pub(crate) extern "C" fn blog_clock_sleeps(awoken: bool) {
    let stops = match awoken {
        false => tsc::sleeps(),
        // Where it doesn't stop in RAM, it does in a machine that was off (hibernation).
        true => pairs::last().is_some_and(|(clock, _)| tsc::read() < clock),
    };
    if !(is_tsc() && stops && leave(None)) {
        pairs::note();
    }
}
