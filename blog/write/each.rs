// SPDX-License-Identifier: GPL-2.0

//! All components, in any context but NMI.

use super::tables::{
    state_in,
    STATES, //
};
use crate::{
    registry::state::State,
    tasks, //
};

/// Calls `f` for each component. Neither in an NMI nor in a log call.
pub(crate) fn each_state(f: impl Fn(&State)) {
    let guard = tasks::lock_tls(0);
    let states = (0..STATES.len()).filter_map(|slot| state_in(slot as u32, &guard));
    states.for_each(f);
}
