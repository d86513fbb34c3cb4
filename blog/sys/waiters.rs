// SPDX-License-Identifier: GPL-2.0

//! Who waits for a stream: the Rust side of `waiters.c`.

use core::{
    mem,
    ptr::NonNull, //
};
use kernel::{
    fs::File,
    prelude::*,
    sync::poll::PollTable, //
};

unsafe extern "C" {
    safe fn blog_waiter_new() -> *mut c_void;
    fn blog_waiter_free(waiter: *mut c_void);
    fn blog_waiter_poll(waiter: *mut c_void, file: *mut c_void, table: *mut c_void) -> bool;
    fn blog_waiter_wake_in(waiter: *mut c_void, ms: u32);
    safe fn blog_sleep(ms: u32) -> bool;
}

/// Who waits in `poll` for what an open file will have.
///
/// # Invariants
///
/// It is what `blog_waiter_new` has made, which is this one's alone.
pub(crate) struct Waiter(NonNull<c_void>);

// SAFETY: It may be freed by any task, in process context.
unsafe impl Send for Waiter {}
// SAFETY: All that is done by a reference takes the locks of a wait queue and a work.
unsafe impl Sync for Waiter {}

impl Waiter {
    /// Of a file that is being opened.
    pub(crate) fn new() -> Result<Self> {
        // INVARIANT: It was just made.
        NonNull::new(blog_waiter_new()).map(Self).ok_or(ENOMEM)
    }

    /// Puts whoever polls `file` in the wait queue; returns whether anybody is going to wait.
    /// `file` must be the one that this is of.
    pub(crate) fn poll(&self, file: &File, table: PollTable<'_>) -> bool {
        // SAFETY: It is nothing but the pointer.
        let table = unsafe { mem::transmute::<PollTable<'_>, *mut c_void>(table) };
        // SAFETY: By the type invariants; both others are valid, or the table is null.
        unsafe { blog_waiter_poll(self.0.as_ptr(), file.as_ptr().cast(), table) }
    }

    /// Lets whoever is in the wait queue look again after that time.
    pub(crate) fn wake_in(&self, ms: u32) {
        // SAFETY: By the type invariants.
        unsafe { blog_waiter_wake_in(self.0.as_ptr(), ms) };
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        // SAFETY: By the type invariants, and the file is closed, so nobody waits any more.
        unsafe { blog_waiter_free(self.0.as_ptr()) };
    }
}

/// Sleeps so long; an error, where a signal comes first. Process context.
pub(crate) fn sleep(ms: u32) -> Result {
    match blog_sleep(ms) {
        true => Ok(()),
        false => Err(ERESTARTSYS),
    }
}
