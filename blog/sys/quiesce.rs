// SPDX-License-Identifier: GPL-2.0

//! Waiting for log calls: the Rust side of `quiesce.c`.

unsafe extern "C" {
    /// Waits until all log calls that run now have ended. Process context.
    #[link_name = "blog_quiesce"]
    pub(crate) safe fn quiesce();
}
