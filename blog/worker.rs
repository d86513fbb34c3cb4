// SPDX-License-Identifier: GPL-2.0

//! The worker: it adds memory before log calls run out of it.
//!
//! A log call can't allocate, and can't wake anybody who could: it may run in the scheduler or in
//! an NMI. So the worker comes by itself, often while much is being used, seldom else, and keeps
//! stocks that last until it comes again. It runs in process context, in a queue of its own that
//! goes before ordinary tasks (glue.c), from when the first component is switched on.
//!
//! What it looks after: pages and rings of each component ([`crate::memory::Memory::tend`]), task
//! tables ([`task::tend`]). It also has the part of lowering `blog.max_kb` that all components
//! share.

use core::sync::atomic::{
    AtomicBool,
    Ordering::Relaxed, //
};
use kernel::{
    error::from_result,
    prelude::*, //
};

use crate::{
    component::State,
    glue,
    memory::{
        lower_max_kb,
        used_kb,
        Doomed, //
    },
    registry,
    root,
    task, //
};

/// Milliseconds between two looks while much is being used.
const BUSY_MS: u32 = 10;
/// Milliseconds between two looks otherwise.
const IDLE_MS: u32 = 100;

/// How often components are asked for pages when `max_kb` is lowered: they may grow meanwhile, or
/// some can't give their part.
const SHRINK_TRIES: u32 = 8;

static STARTED: AtomicBool = AtomicBool::new(false);

/// Starts it, when the first component is switched on. Process context.
pub(crate) fn start() {
    if STARTED.swap(true, Relaxed) {
        return;
    }
    task::tend();
    glue::start_worker();
}

/// Ends it; it does not run any more on return.
pub(crate) fn stop() {
    glue::stop_worker();
}

/// Calls `f` with each component.
fn for_each_component(mut f: impl FnMut(&State)) {
    let mut slot = 0;
    while let Some(state) = registry::component_from(slot) {
        slot = usize::from(state.slot()) + 1;
        f(&state);
    }
}

/// One look, from glue.c. Returns in how many milliseconds the next one is due.
#[no_mangle]
extern "C" fn blog_work() -> u32 {
    root::tick();
    let mut busy = task::tend();
    for_each_component(|state| busy |= state.tend());
    if busy {
        BUSY_MS
    } else {
        IDLE_MS
    }
}

/// `blog.max_kb` is about to be set to `kb`; makes it true. From glue.c, one at a time, perhaps
/// before BLog has started.
///
/// `EBUSY` if rings can't give up so much. Until [`blog_max_kb_set`], no more than that is allocated.
#[no_mangle]
pub(crate) extern "C" fn blog_max_kb_setting(kb: u32) -> c_int {
    from_result(|| {
        lower_max_kb(kb);
        for _ in 0..SHRINK_TRIES {
            let used = used_kb();
            if used <= kb as usize {
                return Ok(0);
            }
            let mut all = Doomed::none();
            let mut result = Ok(());
            for_each_component(|state| {
                if result.is_ok() {
                    result = all.append(state.shrink(kb as usize, used));
                }
            });
            result?;
        }
        match used_kb() <= kb as usize {
            true => Ok(0),
            false => Err(EBUSY),
        }
    })
}

/// The parameter has been set, or stays what it was.
#[no_mangle]
pub(crate) extern "C" fn blog_max_kb_set() {
    lower_max_kb(u32::MAX);
}
