// SPDX-License-Identifier: GPL-2.0

//! The clock of all records: `ktime_get_mono_fast_ns()`, unless a part has set another one. Any
//! context may read it. It may step back a little, so a ring's writer that reads it clamps it to
//! the ring's last value.
//!
//! The kernel never converts times: the decoder draws lines through *pairs*, which are all clocks
//! at one instant. Here is one from when BLog started, and one from now. A part that knows more is
//! the source of pairs (`source.rs`); without parts, there is none (`alone.rs`).

use kernel::blog::wire::file::ClockPair;

use crate::sys::{
    glue,
    prelude::*, //
};

#[cfg(not(CONFIG_BLOG_PARTS))]
mod alone;
#[cfg(CONFIG_BLOG_PARTS)]
mod source;

#[cfg(not(CONFIG_BLOG_PARTS))]
pub(crate) use self::alone::*;
#[cfg(CONFIG_BLOG_PARTS)]
pub(crate) use self::source::*;

/// When BLog started.
static FIRST: SetOnce<ClockPair> = SetOnce::new();

/// Starts the clock. Called once, before anything can log.
pub(crate) fn init() {
    #[cfg(CONFIG_BLOG_PARTS)]
    set(
        kernel::blog::wire::file::ClockKind::MonoFast,
        1_000_000_000,
        0,
    );
    FIRST.populate(instant());
}

pub(crate) fn first() -> ClockPair {
    FIRST.as_ref().copied().unwrap_or_default()
}

/// The monotonic clock. Any context.
pub(crate) fn mono() -> u64 {
    // SAFETY: It may be called in any context, and isn't traced.
    unsafe { bindings::ktime_get_mono_fast_ns() }
}

/// How many milliseconds ago [`mono`] was that. Any context.
pub(crate) fn millis_since(then: u64) -> u64 {
    mono().saturating_sub(then) / 1_000_000
}

/// All clocks at this instant. Any context.
///
/// The others are read between two reads of that one. Of a few tries the closest one counts, so
/// that what comes in between, as an interrupt or a hypervisor, does no harm.
pub(crate) fn instant() -> ClockPair {
    let read = reader();
    let (mut pair, mut best) = (ClockPair::default(), u64::MAX);
    for _ in 0..5 {
        let before = read();
        let (mono, local) = (mono(), glue::local_clock());
        // SAFETY: They may be called in any context.
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

/// The pair from when BLog started, if it is later than `then`.
fn first_since(then: u64) -> Result<KVec<ClockPair>> {
    let (first, mut all) = (first(), KVec::new());
    if first.clock > then {
        all.push(first, GFP_KERNEL)?;
    }
    Ok(all)
}

/// Pairs of which the rings' clock is later than `then`, oldest first, the last one from now.
/// Process context.
pub(crate) fn since(then: u64) -> Result<KVec<ClockPair>> {
    let mut all = before(then)?;
    let now = instant();
    if now.clock > all.last().map_or(then, |pair| pair.clock) {
        all.push(now, GFP_KERNEL)?;
    }
    Ok(all)
}
