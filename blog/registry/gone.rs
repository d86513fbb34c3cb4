// SPDX-License-Identifier: GPL-2.0

//! Components that are gone, and pages of others, until their memory may go.
//!
//! No task has a ring of theirs any more. But a log call to another component may just be looking
//! at one, on its walk through the rings of its task. Many mounts or devices may go at once: one
//! wait does for all of them.

use core::iter;
use kernel::{
    prelude::*,
    sync::{
        global_lock,
        Arc, //
    }, //
};

use super::state::State;
use crate::sys::{
    quiesce,
    work, //
};

global_lock! {
    // SAFETY: `init` is called before there are components.
    unsafe(uninit) static LAST: Mutex<Option<Arc<State>>> = None;
}

/// Makes [`leave`] ready.
pub(super) fn init() {
    // SAFETY: Called once, first.
    unsafe { LAST.init() };
}

/// Has a component dropped soon. Process context.
pub(crate) fn leave(state: Arc<State>) {
    {
        let mut last = LAST.lock();
        let before = last.replace(state.clone());
        state.with(|inner| inner.gone_before = before);
    }
    work::queue_reap();
}

/// Looks after all components' memory, about once a second.
pub(crate) fn tend() {
    if super::components().fold(false, |any, state| state.tend() | any) {
        work::queue_reap();
    }
}

/// Frees what was left for later. From `sys/work.c`.
#[no_mangle]
extern "C" fn blog_reap() {
    let last = LAST.lock().take();
    let pages = super::components().fold(false, |any, state| state.begin_freeing() | any);
    if last.is_some() || pages {
        quiesce::quiesce();
    }
    if pages {
        // SAFETY: `quiesce` has waited for all log calls.
        super::components().for_each(|state| unsafe { state.free_dying() });
    }
    // One after the other, so that no drop is inside another one.
    let before = |state: &Arc<State>| state.with(|inner| inner.gone_before.take());
    iter::successors(last, before).for_each(drop);
}
