// SPDX-License-Identifier: GPL-2.0

//! Work items that exist from the start: the Rust side of `work.c`.

unsafe extern "C" {
    /// Has a function called about once a second, from now on. Process context, once.
    #[link_name = "blog_start_worker"]
    pub(crate) safe fn start_worker(each_second: extern "C" fn());

    /// Sets what [`queue_reap`] has called. Once, before that.
    #[link_name = "blog_start_reaping"]
    pub(crate) safe fn start_reaping(reap: extern "C" fn());

    /// Has that function called soon. Any context that may take an ordinary lock.
    #[link_name = "blog_queue_reap"]
    pub(crate) safe fn queue_reap();

    /// Waits until it was called, if that is due. Process context.
    #[cfg(CONFIG_BLOG_KUNIT_TEST)]
    #[link_name = "blog_flush_reap"]
    pub(crate) safe fn flush_reap();
}
