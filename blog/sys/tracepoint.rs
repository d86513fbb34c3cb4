// SPDX-License-Identifier: GPL-2.0

//! The tracepoint of the hung-task detector: the Rust side of `tracepoint.c`. Process context.

use kernel::bindings::task_struct;

use crate::sys::prelude::*;

unsafe extern "C" {
    fn blog_tracepoint_attach(name: *const c_char, probe: *mut c_void, data: *mut c_void) -> c_int;
}

/// Of the type that the tracepoint calls, which CFI compares: with data, and a valid task.
pub(crate) type OnHang = unsafe extern "C" fn(*mut c_void, *mut task_struct);

/// Has `probe` called with each task that the detector finds, from now on. `ENOENT` or
/// `EOPNOTSUPP`: this kernel has none. Once for each `probe`.
pub(crate) fn on_hang(probe: OnHang) -> Result {
    let name = c"sched_process_hang".as_char_ptr();
    // SAFETY: It is of the tracepoint's type, and stays.
    to_result(unsafe { blog_tracepoint_attach(name, probe as *mut c_void, ptr::null_mut()) })
}
