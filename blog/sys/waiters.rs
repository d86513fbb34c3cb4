// SPDX-License-Identifier: GPL-2.0

//! Readers that wait for a stream: the Rust side of `waiters.c`. Process context.

use core::mem;
use kernel::{
    fs::File,
    prelude::*,
    sync::poll::PollTable, //
};

unsafe extern "C" {
    fn blog_poll_wait(file: *mut c_void, table: *mut c_void) -> bool;

    /// Lets pollers look again, after that many milliseconds at the latest.
    #[link_name = "blog_wake_in"]
    pub(crate) safe fn wake_in(ms: u32);
}

/// Puts the poller of `file` among those who wait; returns whether anybody is going to.
pub(crate) fn poll(file: &File, table: PollTable<'_>) -> bool {
    // SAFETY: It is nothing but the pointer.
    let table = unsafe { mem::transmute::<PollTable<'_>, *mut c_void>(table) };
    // SAFETY: Both are valid, or the table is null.
    unsafe { blog_poll_wait(file.as_ptr().cast(), table) }
}
