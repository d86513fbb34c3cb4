// SPDX-License-Identifier: GPL-2.0

//! Images that come and go: the Rust side of `modules.c`.

use kernel::{
    error::to_result,
    prelude::*, //
};

unsafe extern "C" {
    safe fn blog_start_modules() -> c_int;

    /// Whether something is in the memory of a module, which must be there.
    #[link_name = "blog_within_module"]
    pub(crate) fn is_within(module: *const c_void, p: *const c_void) -> bool;

    /// Ends that; no call runs any more on return.
    #[link_name = "blog_stop_modules"]
    pub(crate) safe fn stop_modules();
}

/// Starts to call [`crate::life`]: for what is built in, and for modules from then on. Process
/// context.
pub(crate) fn start_modules() -> Result {
    to_result(blog_start_modules())
}
