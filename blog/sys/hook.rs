// SPDX-License-Identifier: GPL-2.0

//! Calls from the core kernel, and questions to it: the Rust side of `hook.c`, or `task_hook.c` and
//! `hookless.c`.

use crate::sys::prelude::*;

unsafe extern "C" {
    fn blog_shows_addresses(file: *const c_void) -> bool;

    // Only the task's address passes. Before 1.88, rustc looks into its struct, which may have an
    // empty one.
    #[allow(improper_ctypes)]
    fn blog_start_task_hook(hook: TaskHook) -> c_int;

    /// Whether the command line says `blog=off`: no component logs until it is switched on.
    #[link_name = "blog_boots_off"]
    pub(crate) safe fn boots_off() -> bool;
}

/// Whether the opener of this file may see kernel addresses. Process context.
pub(crate) fn shows_addresses(file: &File) -> bool {
    // SAFETY: The file is valid.
    unsafe { blog_shows_addresses(file.as_ptr().cast()) }
}

type TaskHook = unsafe extern "C" fn(*mut bindings::task_struct, freed: bool);

/// Starts what the core kernel calls: `hook` for each task that has a table and is freed, or has
/// got another name. On an error, nothing is started. Once.
///
/// # Safety
///
/// It must be callable for good, unless this fails.
pub(crate) unsafe fn start_hook(hook: TaskHook) -> Result {
    // SAFETY: By this function's requirement.
    to_result(unsafe { blog_start_task_hook(hook) })
}
