// SPDX-License-Identifier: GPL-2.0

//! Images that come and go: the Rust side of `modules.c`.

use kernel::prelude::*;

unsafe extern "C" {
    /// Starts to call [`crate::life`]: for what is built in, and for modules from then on. Process
    /// context.
    #[link_name = "blog_start_modules"]
    pub(crate) safe fn start_modules();

    /// Whether something is in the memory of a module, which must be there.
    #[link_name = "blog_within_module"]
    pub(crate) fn is_within(module: *const c_void, p: *const c_void) -> bool;
}
