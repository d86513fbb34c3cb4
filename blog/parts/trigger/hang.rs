// SPDX-License-Identifier: GPL-2.0

//! What the hung-task detector finds fires the triggers that wait for it.

use core::{
    ptr,
    sync::atomic::{
        AtomicBool,
        Ordering::Relaxed, //
    }, //
};
use kernel::{
    bindings::task_struct,
    prelude::*, //
};

use super::of;
use crate::{
    sys::tracepoint,
    tasks,
    write::tables, //
};

const NAME: &CStr = c"sched_process_hang";
const PROBE: *mut c_void = hang as unsafe extern "C" fn(_, _) as *mut c_void;

/// Of the type that the tracepoint calls, which CFI compares.
///
/// # Safety
///
/// `task` is valid.
unsafe extern "C" fn hang(_: *mut c_void, task: *mut task_struct) {
    // SAFETY: By this function's requirement.
    let pid = unsafe { tasks::facts(task) }.pid;
    tables::each_state(|state| {
        if let Some(trigger) = of(state) {
            trigger.hang(state, pid);
        }
    });
}

/// Whether it is attached.
static WATCHES: AtomicBool = AtomicBool::new(false);

/// Has the detector call [`hang`] from now on, where this kernel has one.
pub(super) fn start() {
    // SAFETY: `hang` takes the data and the tracepoint's task, and stays.
    let result = unsafe { tracepoint::attach(NAME, PROBE, ptr::null_mut()) };
    WATCHES.store(result.is_ok(), Relaxed);
}

/// Whether it does.
pub(super) fn watches() -> bool {
    WATCHES.load(Relaxed)
}
