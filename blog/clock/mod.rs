// SPDX-License-Identifier: GPL-2.0

//! The clock of all records: `ktime_get_mono_fast_ns()`, unless a part has set another one. Any
//! context may read it. It may step back a little, so a ring's writer that reads it clamps it to
//! the ring's last value.
//!
//! The kernel never converts times: the decoder draws lines through *pairs*, which are all clocks
//! at one instant. Here is one from when BLog started, and one from now. A part that knows more is
//! the [`SOURCE`] of pairs.

use kernel::blog::{
    counter,
    wire::file::{
        self,
        ClockKind,
        ClockPair, //
    }, //
};

use crate::sys::{
    glue,
    prelude::*, //
};

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
/// When BLog started.
static FIRST: SetOnce<ClockPair> = SetOnce::new();

/// Called when records have another clock.
pub(crate) static CHANGED: SetOnce<fn()> = SetOnce::new();

/// Starts the clock. Called once, before anything can log.
pub(crate) fn init() {
    set(ClockKind::MonoFast, 1_000_000_000, 0);
    FIRST.populate(instant());
}

pub(crate) fn first() -> ClockPair {
    FIRST.as_ref().copied().unwrap_or_default()
}

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

/// The monotonic clock. Any context.
pub(crate) fn mono() -> u64 {
    // SAFETY: No requirements. Any context, and it isn't traced.
    unsafe { bindings::ktime_get_mono_fast_ns() }
}

/// How many milliseconds ago [`mono`] was that. Any context.
pub(crate) fn millis_since(then: u64) -> u64 {
    mono().saturating_sub(then) / 1_000_000
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

/// All clocks at this instant. Any context.
///
/// The others are read between two reads of that one. Of a few tries the closest one counts, so
/// that what comes in between, as an interrupt or a hypervisor, does no harm.
pub(crate) fn instant() -> ClockPair {
    let base = clock_base();
    let read = || match base {
        COUNTER => counter(),
        base => mono().wrapping_add(base),
    };
    let (mut pair, mut best) = (ClockPair::default(), u64::MAX);
    for _ in 0..5 {
        let before = read();
        let (mono, local) = (mono(), glue::local_clock());
        // SAFETY: No requirements. Any context.
        let [boot, real] = unsafe {
            [
                bindings::ktime_get_boot_fast_ns(),
                bindings::ktime_get_real_fast_ns(),
            ]
        };
        let took = read().wrapping_sub(before);
        if took < best {
            best = took;
            pair = ClockPair {
                clock: before.wrapping_add(took / 2),
                mono,
                boot,
                real,
                local,
            };
        }
    }
    pair
}

/// The kernel's jiffies now.
pub(crate) fn jiffies() -> u64 {
    // SAFETY: They are there, and one word.
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

/// Pairs of which the rings' clock is later than `then`, oldest first, the last one from now.
/// Process context.
pub(crate) fn since(then: u64) -> Result<KVec<ClockPair>> {
    let mut all = match SOURCE.as_ref() {
        Some(source) => (source.since)(then)?,
        None => {
            let (first, mut all) = (first(), KVec::new());
            if first.clock > then {
                all.push(first, GFP_KERNEL)?;
            }
            all
        }
    };
    let now = instant();
    if now.clock > all.last().map_or(then, |pair| pair.clock) {
        all.push(now, GFP_KERNEL)?;
    }
    Ok(all)
}
