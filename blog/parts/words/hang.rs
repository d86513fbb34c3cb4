// SPDX-License-Identifier: GPL-2.0

//! What the hung-task detector finds has last words.

use core::ptr;
use kernel::{
    bindings::task_struct,
    blog::wire::words::Why,
    prelude::*, //
};

use super::say;
use crate::sys::tracepoint;

const NAME: &CStr = c"sched_process_hang";
const PROBE: *mut c_void = hang as unsafe extern "C" fn(_, _) as *mut c_void;

/// Of the type that the tracepoint calls, which CFI compares.
///
/// # Safety
///
/// `task` is valid.
unsafe extern "C" fn hang(_: *mut c_void, task: *mut task_struct) {
    // SAFETY: By this function's requirement.
    unsafe { say(Why::Hang, task) };
}

/// Has the detector call [`hang`] from now on, where this kernel has one.
pub(super) fn start() {
    // SAFETY: `hang` takes the data and the tracepoint's task, and stays.
    let _ = unsafe { tracepoint::attach(NAME, PROBE, ptr::null_mut()) };
}
