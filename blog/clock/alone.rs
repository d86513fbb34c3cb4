// SPDX-License-Identifier: GPL-2.0

//! The monotonic clock, which is the clock of all records.

use super::{
    first_since,
    mono, //
};
use kernel::blog::wire::file::{
    self,
    ClockKind,
    ClockPair, //
};

use crate::sys::prelude::*;

/// The clock as a snapshot names it, with this many pairs.
pub(crate) fn section(pairs: usize) -> file::Clock {
    file::Clock {
        kind: ClockKind::MonoFast as u32,
        pairs: pairs as u32,
        hz: 1_000_000_000,
    }
}

pub(crate) fn name() -> &'static str {
    "mono"
}

/// Reads the clock. Any context.
pub(crate) fn now() -> u64 {
    mono()
}

/// The time of a log call that has read its clock.
pub(crate) fn still(time: u64) -> u64 {
    time
}

/// What a log call reads that doesn't call the kernel.
#[cfg(CONFIG_BLOG_KUNIT_TEST)]
pub(crate) fn fast() -> Option<u64> {
    None
}

/// The clock.
pub(super) fn reader() -> impl Fn() -> u64 {
    mono
}

/// Nothing is done about it.
pub(crate) fn tick() {}

/// There are other pairs each second, all on one line.
pub(crate) fn versions() -> (u32, u32) {
    ((mono() / 1_000_000_000) as u32, 0)
}

/// Pairs that are later than `then`, without one from now.
pub(super) fn before(then: u64) -> Result<KVec<ClockPair>> {
    first_since(then)
}
