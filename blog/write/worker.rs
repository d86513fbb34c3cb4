// SPDX-License-Identifier: GPL-2.0

//! What is done about once a second, from when the first component has got memory: clocks are
//! noted, and it is seen whether the TSC can still be trusted.
//!
//! It is a deferrable work item: a CPU that is idle is not woken for it. Nothing else of BLog runs
//! by itself, and no log call waits for it.

use core::sync::atomic::{
    AtomicBool,
    AtomicU64,
    Ordering::Relaxed, //
};

use crate::{
    sys::{
        clock,
        glue, //
    },
    write::tables, //
};

static RUNS: AtomicBool = AtomicBool::new(false);

/// Looks in all.
static LOOKS: AtomicU64 = AtomicU64::new(0);

/// How often it has come.
pub(crate) fn looks() -> u64 {
    LOOKS.load(Relaxed)
}

/// Has it come from now on; with the first component's memory, there are tables for tasks, too.
/// Process context.
pub(crate) fn start() {
    if !RUNS.swap(true, Relaxed) {
        tables::start();
        glue::start_worker();
    }
}

/// Ends it; it does not run any more on return.
pub(crate) fn stop() {
    glue::stop_worker();
}

/// From `sys/work.c`.
#[no_mangle]
extern "C" fn blog_work() {
    LOOKS.fetch_add(1, Relaxed);
    clock::check();
    clock::note();
}
