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
    safe fn blog_start_suspend();
    safe fn blog_stop_suspend();
}

/// Starts noting when the machine sleeps. Once, in process context, when timekeeping has started.
pub(crate) fn start() {
    blog_start_suspend();
}

/// Undoes [`start`]. Once, in process context.
pub(crate) fn stop() {
    blog_stop_suspend();
}

/// The machine is about to sleep, or has just awoken: some clock may stop, or has stopped.
#[no_mangle]
pub(crate) extern "C" fn blog_clock_note() {
    pairs::note();
}

/// It sleeps next: one CPU runs, and interrupts are off.
#[no_mangle]
pub(crate) extern "C" fn blog_clock_suspends() {
    if !(is_tsc() && tsc::sleeps() && leave(None)) {
        pairs::note();
    }
}

/// It has awoken: as above.
#[no_mangle]
pub(crate) extern "C" fn blog_clock_resumes() {
    // Where it doesn't stop in RAM, it does in a machine that was off (hibernation).
    let begun_anew = pairs::last().is_some_and(|(clock, _)| tsc::read() < clock);
    if !(is_tsc() && begun_anew && leave(None)) {
        pairs::note();
    }
}
