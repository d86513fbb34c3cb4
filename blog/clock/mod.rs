// SPDX-License-Identifier: GPL-2.0

//! The clock of all records.
//!
//! It is the raw counter if that can be trusted, else `ktime_get_mono_fast_ns()`. BLog chooses it
//! before anything can log; the parameter `blog.clock` overrides the choice. Both are safe to read
//! in any context. The second one may step back a little, so a ring's writer that reads it clamps
//! it to the ring's last value.
//!
//! If the counter stops, jumps or can't be trusted any more, BLog changes to the other clock, for
//! good: see Documentation/blog/design-read.rst, "Clock". [`suspend`], [`checked`] and
//! [`tick`] look for that. The kernel never converts times: the decoder draws lines through
//! [`pairs`].

mod local;
mod pairs;
pub(crate) mod suspend;

use core::sync::atomic::{
    AtomicBool,
    AtomicU64,
    Ordering::*, //
};
use kernel::{
    bindings,
    blog::{
        root::{
            blog_root,
            clock_base, //
        },
        wire::{
            dump::CLOCK_COUNTER,
            file::{
                self,
                ClockKind,
                ClockPair, //
            },
            record::TS_BITS, //
        }, //
    },
    prelude::*, //
};

use self::local::blog_clock_is_counter;
pub(crate) use self::pairs::{
    since,
    steps,
    version, //
};
use crate::sys::params;

unsafe extern "C" {
    // arch/: the first one in process context, the others in any.
    fn blog_counter_quality(khz: *mut u32) -> u32;
    safe fn blog_counter() -> u64;
    safe fn blog_counter_unstable() -> bool;
    pub(crate) safe fn blog_counter_sleeps() -> bool;
}

/// What a counter is worth that is there, but for which nobody vouches.
const USABLE: u32 = 1;
/// What one is worth that is constant, nonstop and not known to be unstable.
const GOOD: u32 = 2;

/// So many ticks are some milliseconds of a TSC, and 0.9 s of a counter of 19.2 MHz.
const SOON: u64 = 1 << 24;

/// Ticks of the counter in a nanosecond, times 2^32.
static RATE: AtomicU64 = AtomicU64::new(0);
/// The clock is the counter, and the kernel, which calls it reliable, may still take that back.
static VOUCHED: AtomicBool = AtomicBool::new(false);
/// The counter was left, which has not been said yet.
static LEFT: AtomicBool = AtomicBool::new(false);

/// Chooses the clock. Called once, before anything can log.
pub(crate) fn init() {
    let mut khz = 0;
    // SAFETY: `khz` is valid for a write.
    let quality = unsafe { blog_counter_quality(&mut khz) };
    let auto = quality >= GOOD;
    let counter = match params::param_clock().to_bytes() {
        b"auto" => auto,
        b"mono" => false,
        b"counter" if quality >= USABLE && khz != 0 => {
            if !auto {
                pr_warn!("clock=counter: this counter may stop or differ between CPUs\n");
            }
            true
        }
        b"counter" => {
            pr_warn!("clock=counter: there is no usable counter, so it is auto\n");
            auto
        }
        _ => {
            pr_warn!("clock isn't auto, counter or mono, so it is auto\n");
            auto
        }
    };
    RATE.store((u64::from(khz) << 32) / 1_000_000, Relaxed);
    VOUCHED.store(counter && quality >= GOOD, Relaxed);
    let (base, kind, hz) = match counter {
        true => (CLOCK_COUNTER, ClockKind::Counter, u64::from(khz) * 1000),
        false => (0, ClockKind::MonoFast, 1_000_000_000),
    };
    pairs::change(|pairs| {
        set(kind, hz, base);
        pairs.set_len(0);
        pairs.push(pair(base));
    });
    blog_clock_is_counter.store(u8::from(counter), Relaxed);
}

/// Says which clock records have from here on.
fn set(kind: ClockKind, hz: u64, base: u64) {
    let clock = file::Clock {
        kind: kind as u32,
        pairs: 0,
        hz,
    };
    // SAFETY: Nobody else does when BLog starts, and later on there is only one break.
    unsafe { blog_root.update(|root| (*root).clock = clock) };
    // SAFETY: The root is there, and this field of it is only used as an atomic.
    let place = unsafe { AtomicU64::from_ptr(&raw mut (*blog_root.get()).clock_base) };
    // ORDERING: Release: see `clock_base`.
    place.store(base, Release);
}

/// The clock as a snapshot names it, with this many pairs.
pub(crate) fn section(pairs: usize) -> file::Clock {
    // SAFETY: The root is there. While there is a break, one field may be that of before, which
    // does no harm.
    let clock = unsafe { (&raw const (*blog_root.get()).clock).read_volatile() };
    file::Clock {
        pairs: pairs as u32,
        ..clock
    }
}

fn is_counter() -> bool {
    clock_base() == CLOCK_COUNTER
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
    if is_counter() {
        let now = blog_counter();
        // A task that is preempted between the two, and while the machine sleeps, reads again.
        if is_counter() {
            return now;
        }
    }
    mono().wrapping_add(clock_base())
}

#[cfg(CONFIG_BLOG_KUNIT_TEST)]
pub(crate) fn fast() -> Option<u64> {
    (blog_clock_is_counter.load(Relaxed) != 0).then(|| blog_counter())
}

/// The time of a record of which the log call has read the counter itself: what it has read, or the
/// clock anew if that isn't the counter any more. Any context.
pub(crate) fn checked(counter: u64) -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);

    if !is_counter() {
        return now();
    }
    // If the counter was where it should be some milliseconds ago, it has gone on from there.
    if counter.wrapping_sub(LAST.load(Relaxed)) < SOON {
        return counter;
    }
    LAST.store(counter, Relaxed);
    match agrees(counter) || !leave_if_jumped() {
        true => counter,
        false => now(),
    }
}

/// Where the counter should be, and how far away from there it may be: 268 ms and a quarter of the
/// time since the last pair, as other clocks may lose some while the kernel boots. `None` while a
/// pair is stored.
fn due() -> Option<(u64, u64)> {
    let rate = RATE.load(Relaxed);
    let (clock, then) = pairs::last()?;
    let ns = mono().saturating_sub(then);
    let ticks = (u128::from(ns).wrapping_mul(rate.into()) >> 32) as u64;
    Some((clock.wrapping_add(ticks), ticks / 4 + (rate >> 4)))
}

fn agrees(counter: u64) -> bool {
    due().is_none_or(|(due, near)| {
        counter.wrapping_sub(due).wrapping_add(near) <= near.saturating_mul(2)
    })
}

/// Leaves the counter if it isn't where it should be. A reader of the two clocks may be interrupted
/// in between, even by a hypervisor: so that counts only if it is seen a few times in a row.
#[cold]
fn leave_if_jumped() -> bool {
    let jumped = (0..3).all(|_| !agrees(blog_counter()));
    jumped && leave(due().map(|(due, _)| due))
}

/// Leaves the counter, which should be at `due` if it has jumped. Any context; the next [`tick`]
/// logs it. False: a pair is just being stored, by somebody whom this interrupts perhaps.
pub(crate) fn leave(due: Option<u64>) -> bool {
    let left = pairs::change(|pairs| {
        if !is_counter() {
            return;
        }
        let mut end = pair(CLOCK_COUNTER);
        let told = end.clock.max(pairs.last().map_or(0, |last| last.clock));
        end.clock = due.unwrap_or(told);
        let start = told.max(end.clock).wrapping_add(1 << TS_BITS);
        // Even, as `CLOCK_COUNTER` isn't.
        let base = start.wrapping_sub(end.mono).wrapping_add(1) & !1;
        pairs.push(end);
        pairs.push(ClockPair {
            clock: end.mono.wrapping_add(base),
            ..end
        });
        set(ClockKind::Mixed, 1_000_000_000, base);
        // A call that still sees the old value has read the counter before, or will see another
        // base.
        blog_clock_is_counter.store(0, Relaxed);
        LEFT.store(true, Relaxed);
    });
    if left {
        pairs::step();
    }
    left
}

/// All clocks at this instant; as `clock`, that of this [`clock_base`]. Any context.
///
/// The others are read between two reads of that one. Of a few tries the closest one counts, so
/// that what comes in between, as an interrupt or a hypervisor, does no harm.
fn pair(base: u64) -> ClockPair {
    let read = || match base {
        CLOCK_COUNTER => blog_counter(),
        base => mono().wrapping_add(base),
    };
    let (mut pair, mut best) = (ClockPair::default(), u64::MAX);
    for _ in 0..5 {
        let before = read();
        let (mono, local) = (mono(), local::clock());
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

/// All clocks at this instant. Any context.
pub(crate) fn instant() -> ClockPair {
    pair(clock_base())
}

/// Looks whether the counter can still be trusted, and notes all clocks if that was last done a
/// second ago. Readers and the worker call it now and then while anything logs. Process context.
pub(crate) fn tick() {
    if is_counter() {
        match VOUCHED.load(Relaxed) && blog_counter_unstable() {
            true => leave(None),
            false => leave_if_jumped(),
        };
    }
    if LEFT.swap(false, Relaxed) {
        pr_warn!(
            "the counter stops or can't be trusted: from now on, the clock is the monotonic one\n"
        );
    }
    pairs::note_each_second();
}
