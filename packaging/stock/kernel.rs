// SPDX-License-Identifier: GPL-2.0

//! The kernel's crate, and what BLog's patches add to it.
//!
//! Drivers that are built for a kernel without these patches have this crate as `kernel`, and need
//! not know.

#![allow(missing_docs)]

// What macros expand to names it so.
extern crate self as kernel;

// What macros call the kernel's.
#[doc(hidden)]
pub use ::stock;
pub use stock::*;

pub mod blog;
mod notes;
pub mod print;

/// The kernel's, and files of pseudo file systems.
pub mod fs {
    pub use stock::fs::*;

    pub mod operations;
}

pub mod block;

/// The kernel's, and what it takes those of the modules above.
#[allow(
    clippy::all,
    dead_code,
    improper_ctypes,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    unreachable_pub
)]
pub mod bindings {
    use pin_init::MaybeZeroable;
    use stock::ffi;

    pub use stock::bindings::*;

    type __kernel_size_t = usize;
    type __kernel_ssize_t = isize;

    include!("../../bindings_generated.rs");

    unsafe extern "C" {
        #[link_name = "rust_helper_blog_within_module"]
        pub fn blog_within_module(addr: ffi::c_ulong, module: *const module) -> bool;
    }
}

/// The kernel's, what lets drivers see their requests, and what records their messages.
pub mod prelude {
    pub use crate::{
        block::mq::LookAtRequest as _,
        blog_module as module,
        dev_alert,
        dev_crit,
        dev_dbg,
        dev_emerg,
        dev_err,
        dev_info,
        dev_notice,
        dev_warn,
        pr_alert,
        pr_crit,
        pr_debug,
        pr_emerg,
        pr_err,
        pr_info,
        pr_notice,
        pr_warn, //
    };
    pub use stock::prelude::*;
}
