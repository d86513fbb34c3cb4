// SPDX-License-Identifier: GPL-2.0

//! Tracepoints by name: the Rust side of `tracepoint.c`. Process context.

use kernel::{
    error::to_result,
    prelude::*, //
};

unsafe extern "C" {
    fn blog_tracepoint_attach(name: *const c_char, probe: *mut c_void, data: *mut c_void) -> c_int;
}

/// Has `probe` called at each hit of a tracepoint, with `data` and then what that has, in its
/// context. `ENOENT`: there is no such tracepoint; `EOPNOTSUPP`: there are none.
///
/// # Safety
///
/// `probe` takes `data` and no more than the tracepoint's arguments, for good. It is attached once.
pub(crate) unsafe fn attach(name: &CStr, probe: *mut c_void, data: *mut c_void) -> Result {
    // SAFETY: By this function's requirement.
    to_result(unsafe { blog_tracepoint_attach(name.as_char_ptr(), probe, data) })
}
