// SPDX-License-Identifier: GPL-2.0

//! Components that were cleared.

use super::{
    state::State,
    REGISTRY, //
};
use crate::sys::prelude::*;

/// Calls `f` while a component keeps its place; false: it has none any more. Nobody waits in `f`.
pub(crate) fn in_place(state: &State, f: impl FnOnce()) -> bool {
    let _places = REGISTRY.lock();
    let has = !state.is_gone();
    if has {
        f();
    }
    has
}

/// Removes a component that was cleared, if its driver has left it. Set before there are any.
pub(crate) static CLEARED: SetOnce<fn(&State)> = SetOnce::new();
