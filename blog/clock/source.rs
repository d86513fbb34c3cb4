// SPDX-License-Identifier: GPL-2.0

//! A clock and pairs that a part knows.

use super::{
    first_since,
    mono, //
};
use kernel::blog::{
    counter,
    wire::file::{
        self,
        ClockKind,
        ClockPair, //
    }, //
};

#[cfg(CONFIG_BLOG_KUNIT_TEST)]
use crate::sys::glue;
use crate::sys::prelude::*;

/// How the clocks went, as a part knows it. All in process context.
pub(crate) struct Source {
    /// Looks at the clocks. Readers and the worker call it now and then while anything logs.
    pub(crate) tick: fn(),
    /// A number that is another one once there are other pairs, and one that is another one once
    /// times before and after are on different lines.
    pub(crate) versions: fn() -> (u32, u32),
    /// Pairs of which the rings' clock is later than this, oldest first.
    pub(crate) since: fn(u64) -> Result<KVec<ClockPair>>,
}

/// Set by a part that starts, or never.
pub(crate) static SOURCE: SetOnce<Source> = SetOnce::new();

/// What [`BASE`] is while the clock is the counter.
pub(crate) const COUNTER: u64 = 1;

/// The kind of clock that records have, and its ticks in a second.
static KIND: AtomicU32 = AtomicU32::new(0);
static HZ: AtomicU64 = AtomicU64::new(0);
/// [`COUNTER`]; or what the monotonic clock is added to.
static BASE: AtomicU64 = AtomicU64::new(0);
/// Called when records have another clock.
pub(crate) static CHANGED: SetOnce<fn()> = SetOnce::new();

/// Which clock that of the rings is: [`COUNTER`], or what the monotonic one is added to. Any
/// context.
pub(crate) fn clock_base() -> u64 {
    // ORDERING: Acquire: what is read of that clock is read after this.
    BASE.load(Acquire)
}

/// Says which clock records have from here on. One at a time.
pub(crate) fn set(kind: ClockKind, hz: u64, base: u64) {
    KIND.store(kind as u32, Relaxed);
    HZ.store(hz, Relaxed);
    // ORDERING: Release: see `clock_base`.
    BASE.store(base, Release);
    if let Some(changed) = CHANGED.as_ref() {
        changed();
    }
}

/// The clock as a snapshot names it, with this many pairs.
pub(crate) fn section(pairs: usize) -> file::Clock {
    // While the clock is set, one may be that of before, which does no harm.
    file::Clock {
        kind: KIND.load(Relaxed),
        pairs: pairs as u32,
        hz: HZ.load(Relaxed),
    }
}

pub(crate) fn is_counter() -> bool {
    clock_base() == COUNTER
}

pub(crate) fn name() -> &'static str {
    match is_counter() {
        true => "counter",
        false => "mono",
    }
}

/// Reads the clock. Any context.
pub(crate) fn now() -> u64 {
    match is_counter() {
        true => still(counter()),
        false => mono().wrapping_add(clock_base()),
    }
}

/// The time of a log call that has read its clock: that, or the clock anew if what it reads isn't
/// the clock any more. A task may be preempted in between, also while the machine sleeps. Any
/// context.
pub(crate) fn still(time: u64) -> u64 {
    match cfg!(CONFIG_BLOG_CLOCK_IS_MONO) || is_counter() {
        true => time,
        // It isn't that again.
        false => mono().wrapping_add(clock_base()),
    }
}

#[cfg(CONFIG_BLOG_KUNIT_TEST)]
pub(crate) fn fast() -> Option<u64> {
    (glue::blog_clock_is_counter.load(Relaxed) != 0).then(counter)
}

/// Reads the clock that there is now. Any context.
pub(super) fn reader() -> impl Fn() -> u64 {
    let base = clock_base();
    move || match base {
        COUNTER => counter(),
        base => mono().wrapping_add(base),
    }
}

/// The kernel's jiffies now.
pub(crate) fn jiffies() -> u64 {
    // SAFETY: It is a static, and one word on the machines of 64 bits that Kconfig allows.
    unsafe { (&raw const bindings::jiffies_64).read_volatile() }
}

/// See [`Source::tick`].
pub(crate) fn tick() {
    if let Some(source) = SOURCE.as_ref() {
        (source.tick)();
    }
}

/// See [`Source::versions`]. Without one, there are other pairs each second.
pub(crate) fn versions() -> (u32, u32) {
    match SOURCE.as_ref() {
        Some(source) => (source.versions)(),
        None => ((mono() / 1_000_000_000) as u32, 0),
    }
}

/// Pairs that are later than `then`, without one from now.
pub(super) fn before(then: u64) -> Result<KVec<ClockPair>> {
    match SOURCE.as_ref() {
        Some(source) => (source.since)(then),
        None => first_since(then),
    }
}
