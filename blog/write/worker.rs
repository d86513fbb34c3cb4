// SPDX-License-Identifier: GPL-2.0

//! The worker, which runs about once a second: it has the clocks looked at, and puts memory on
//! shelves that log calls have left.
//!
//! It is a deferrable work item, so it wakes no idle CPU: while the CPU sleeps that has queued it,
//! it waits, also where others log. Nothing else of BLog runs in the background, and no log call
//! waits for it.

#[cfg(not(CONFIG_BLOG_PARTS))]
use crate::registry;
use crate::{
    clock,
    sys::prelude::*, //
};

/// How often it has come, or a reader of a stream has gone through the rings again.
pub(crate) static LOOKS: AtomicU64 = AtomicU64::new(0);

/// From main.rs.
pub(crate) fn work() {
    LOOKS.fetch_add(1, Relaxed);
    clock::tick();
    #[cfg(CONFIG_BLOG_PARTS)]
    super::mend::tend();
    #[cfg(not(CONFIG_BLOG_PARTS))]
    registry::components().for_each(|state| {
        state.read_memory(|memory| memory.pool.collect());
    });
}
