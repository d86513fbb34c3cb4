// SPDX-License-Identifier: GPL-2.0

//! The limits of memory: `blog.max_kb` for all, and what the machine can spare.
//!
//! BLog's memory is whole pages. They count from before they are allocated until they have been
//! freed; but not those of memory that the command line has set aside, which nobody else could
//! have. BLog takes them when a component is switched on, or when somebody sets a limit, and keeps
//! them: nothing comes in the background, and nothing goes because others want memory.

#[cfg(CONFIG_BLOG_PARTS)]
use super::source;
use crate::sys::{
    params,
    prelude::*, //
};

pub(crate) const PAGE_KB: u32 = (PAGE_SIZE / 1024) as u32;

/// Pages that parts have for good.
pub(crate) static FIXED: AtomicU32 = AtomicU32::new(0);

static USED: AtomicU32 = AtomicU32::new(0);

/// Pages that all of BLog takes.
pub(crate) fn used() -> u32 {
    USED.load(Relaxed)
}

/// The same in KiB.
pub(crate) fn used_kb() -> u32 {
    used().saturating_mul(PAGE_KB)
}

/// The limit for all, in pages.
pub(crate) fn limit() -> u32 {
    // ORDERING: A writer of the limit that then looks at what is used sees what was counted before
    // this, or this sees that limit.
    fence(SeqCst);
    params::max_kb() / PAGE_KB
}

/// Pages that the limit leaves, and those that don't count.
pub(super) fn room() -> u32 {
    let left = limit().saturating_sub(used());
    #[cfg(CONFIG_BLOG_PARTS)]
    let left = left.saturating_add((source::get().free)());
    left
}

/// Pages that the machine can spare, and those that it has no use for: as many as all of BLog takes
/// then stay available to others, however many components come one after the other.
pub(super) fn spare() -> u32 {
    // SAFETY: It reads counters, in any context.
    let available = unsafe { bindings::si_mem_available() } as i64;
    let more = available.saturating_sub(used().into()).max(0) / 2;
    let more = u32::try_from(more).unwrap_or(u32::MAX);
    #[cfg(CONFIG_BLOG_PARTS)]
    let more = more.saturating_add((source::get().free)());
    more
}

/// So many of these pages can't be had now.
pub(crate) fn lacks(pages: u32) -> u32 {
    pages.saturating_sub(room().min(spare()))
}

/// Counts pages: `ENOSPC` beyond the limit.
pub(super) fn take(pages: u32) -> Result {
    let more = |used: u32| used.checked_add(pages).filter(|sum| *sum <= limit());
    USED.fetch_update(Relaxed, Relaxed, more)
        .map_err(|_| ENOSPC)?;
    if used() <= limit() {
        return Ok(());
    }
    // Somebody has just lowered it.
    give(pages);
    Err(ENOSPC)
}

/// Counts pages no more.
pub(super) fn give(pages: u32) {
    USED.fetch_sub(pages, Relaxed);
}
