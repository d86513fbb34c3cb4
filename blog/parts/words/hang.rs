// SPDX-License-Identifier: GPL-2.0

//! What the hung-task detector finds has last words.

use kernel::{
    bindings::task_struct,
    blog::wire::words::Why,
    prelude::*, //
};

use super::say;
use crate::sys::tracepoint;

/// # Safety
///
/// `task` is valid.
unsafe extern "C" fn hang(_: *mut c_void, task: *mut task_struct) {
    // SAFETY: By this function's requirement.
    unsafe { say(Why::Hang, task) };
}

/// Has the detector call [`hang`] from now on, where this kernel has one.
pub(super) fn start() {
    let _ = tracepoint::on_hang(hang);
}
