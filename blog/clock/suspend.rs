// SPDX-License-Identifier: GPL-2.0

//! What is done about the clocks when the machine sleeps: the Rust side of `suspend.c`.

use super::{
    blog_counter,
    blog_counter_sleeps,
    is_counter,
    leave,
    pairs, //
};

unsafe extern "C" {
    /// Starts noting when the machine sleeps. Once, in process context, when timekeeping has
    /// started.
    #[link_name = "blog_start_suspend"]
    pub(crate) safe fn start();
}

/// The machine is about to sleep, or has just awoken: some clock may stop, or has stopped. Times
/// before and after that are on no line that goes on, so both instants are noted.
#[no_mangle]
pub(crate) extern "C" fn blog_clock_note() {
    pairs::note();
}

/// It sleeps next, or was just `awoken`: one CPU runs, and interrupts are off.
#[no_mangle]
pub(crate) extern "C" fn blog_clock_sleeps(awoken: bool) {
    let stops = match awoken {
        false => blog_counter_sleeps(),
        // Where it doesn't stop in RAM, it does in a machine that was off (hibernation).
        true => pairs::last().is_some_and(|(clock, _)| blog_counter() < clock),
    };
    if !(is_counter() && stops && leave(None)) {
        pairs::note();
    }
}
