// SPDX-License-Identifier: GPL-2.0

//! Work items that exist from the start: the Rust side of `work.c`.

unsafe extern "C" {
    /// Has `blog_work` called about once a second. Process context.
    #[link_name = "blog_start_worker"]
    pub(crate) safe fn start_worker();

    /// Has `blog_reap` called soon. Any context that may take an ordinary lock.
    #[link_name = "blog_queue_reap"]
    pub(crate) safe fn queue_reap();

    /// Waits until it was called, if that is due. Process context.
    #[cfg(CONFIG_BLOG_KUNIT_TEST)]
    #[link_name = "blog_flush_reap"]
    pub(crate) safe fn flush_reap();
}
