// SPDX-License-Identifier: GPL-2.0

//! The work item of the worker: the Rust side of `work.c`.

unsafe extern "C" {
    /// Has a function called about once a second, from now on. Process context, once.
    #[link_name = "blog_start_worker"]
    pub(crate) safe fn start_worker(each_second: extern "C" fn());
}
