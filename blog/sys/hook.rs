// SPDX-License-Identifier: GPL-2.0

//! What the core kernel calls, and asks: the Rust side of `hook.c`, or `hookless.c`.

use kernel::{
    bindings,
    error::to_result,
    fs::File,
    prelude::*, //
};

unsafe extern "C" {
    fn blog_may_open(file: *const c_void) -> c_int;
    fn blog_start_hooks(hook: TaskHook) -> c_int;

    /// Ends that; no call runs any more on return.
    #[link_name = "blog_stop_hooks"]
    pub(crate) safe fn stop_hooks();
}

/// Whether who opens a file may see kernel addresses, too. `EPERM`: he may not open it. Process
/// context.
pub(crate) fn may_open(file: &File) -> Result<bool> {
    // SAFETY: The file is valid.
    let may = unsafe { blog_may_open(file.as_ptr().cast()) };
    to_result(may)?;
    Ok(may != 0)
}

type TaskHook = unsafe extern "C" fn(*mut bindings::task_struct, freed: bool);

/// Starts what the core kernel calls: `hook` for each task that has a table and is freed, or has
/// got another name, and the freeze at a crash.
///
/// # Safety
///
/// It must be callable until [`stop_hooks`] returns.
pub(crate) unsafe fn start_hooks(hook: TaskHook) -> Result {
    // SAFETY: By this function's requirement.
    to_result(unsafe { blog_start_hooks(hook) })
}
