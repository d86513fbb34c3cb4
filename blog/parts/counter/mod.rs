// SPDX-License-Identifier: GPL-2.0

//! The counter of the processor as the clock of all records, and how all clocks went.
//!
//! The clock is the raw counter if that can be trusted, else it stays `ktime_get_mono_fast_ns()`.
//! BLog chooses it before anything can log; the parameter `blog.clock` overrides the choice.
//!
//! If the counter stops, jumps or can't be trusted any more, BLog changes to the other clock, for
//! good: see Documentation/blog/design-read.rst, "Clock". [`blog_clock_sleeps`] and [`tick`] look
//! for that. Whatever the clock is, [`pairs`] say how it compares with others.

mod pairs;
// `blog-decode` has this file, too.
#[allow(unreachable_pub)]
mod thin;

use kernel::blog::{
    counter,
    wire::{
        self,
        file::{
            ClockKind,
            ClockPair, //
        },
        record::TS_BITS, //
    }, //
};

use crate::{
    clock::{
        self,
        is_counter,
        mono,
        COUNTER, //
    },
    floor::Part,
    sys::{
        glue::blog_clock_is_counter,
        prelude::*, //
    }, //
};

kunit! { mod tests; }

pub(crate) static PART: Part = Part {
    start: || {
        choose();
        clock::SOURCE.populate(clock::Source {
            tick,
            versions: pairs::versions,
            since: pairs::since,
        });
    },
    late: || blog_start_suspend(),
    ..Part::NONE
};

unsafe extern "C" {
    // counter.c
    static blog_param_clock: *const c_char;
    safe fn blog_lock_pairs() -> c_ulong;
    fn blog_unlock_pairs(flags: c_ulong);
    /// Starts noting when the machine sleeps. Once, in process context, when timekeeping has
    /// started.
    safe fn blog_start_suspend();

    // arch/: the first one in process context, the others in any.
    fn blog_counter_quality(khz: *mut u32) -> u32;
    safe fn blog_counter_unstable() -> bool;
    safe fn blog_counter_sleeps() -> bool;
}

/// What a counter is worth that is there, but for which nobody vouches.
const USABLE: u32 = 1;
/// What one is worth that is constant, nonstop and not known to be unstable.
const GOOD: u32 = 2;

/// Ticks of the counter in a nanosecond, times 2^32.
static RATE: AtomicU64 = AtomicU64::new(0);
/// The clock is the counter, and the kernel, which calls it reliable, may still take that back.
static VOUCHED: AtomicBool = AtomicBool::new(false);
/// The counter was left, which has not been said yet.
static LEFT: AtomicBool = AtomicBool::new(false);

/// Chooses the clock. Called before anything can log.
fn choose() {
    let mut khz = 0;
    // SAFETY: `khz` is valid for a write.
    let quality = unsafe { blog_counter_quality(&mut khz) };
    let auto = quality >= GOOD;
    // SAFETY: It is a C string that doesn't change once BLog starts.
    let param = unsafe { CStr::from_char_ptr(blog_param_clock) };
    let is_counter = match param.to_bytes() {
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
    VOUCHED.store(is_counter && quality >= GOOD, Relaxed);
    let (base, kind, hz) = match is_counter {
        true => (COUNTER, ClockKind::Counter, u64::from(khz) * 1000),
        false => (0, ClockKind::MonoFast, 1_000_000_000),
    };
    let mut pairs = pairs::lock();
    clock::set(kind, hz, base);
    pairs.set_len(0);
    pairs.push(clock::instant());
    blog_clock_is_counter.store(u8::from(is_counter), Relaxed);
}

/// Where the counter should be since a pair, and how far away from there it may be: 268 ms and a
/// quarter of the time, as other clocks may lose some while the kernel boots.
fn due(last: &ClockPair) -> (u64, u64) {
    let rate = RATE.load(Relaxed);
    let ns = mono().saturating_sub(last.mono);
    let ticks = (u128::from(ns).wrapping_mul(rate.into()) >> 32) as u64;
    (last.clock.wrapping_add(ticks), ticks / 4 + (rate >> 4))
}

/// Leaves the counter if it isn't where it should be. A reader of the two clocks may be interrupted
/// in between, even by a hypervisor: so that counts only if it is seen a few times in a row.
fn leave_if_jumped() {
    let jumped = (0..3).all(|_| {
        // The machine doesn't sleep meanwhile.
        let pairs = pairs::lock();
        let (due, near) = due(&pairs.last());
        counter().wrapping_sub(due).wrapping_add(near) > near.saturating_mul(2)
    });
    if jumped {
        let last = pairs::lock().last();
        leave(Some(due(&last).0));
    }
}

/// Leaves the counter, which should be at `due` if it has jumped. As for [`pairs::lock`]; the next
/// [`tick`] logs it.
fn leave(due: Option<u64>) {
    let mut pairs = pairs::lock();
    if !is_counter() {
        return;
    }
    let mut end = clock::instant();
    let told = end.clock.max(pairs.last().clock);
    end.clock = due.unwrap_or(told);
    let start = told.max(end.clock).wrapping_add(1 << TS_BITS);
    // Even, as `COUNTER` isn't.
    let base = start.wrapping_sub(end.mono).wrapping_add(1) & !1;
    pairs.push(end);
    pairs.push(ClockPair {
        clock: end.mono.wrapping_add(base),
        ..end
    });
    clock::set(ClockKind::Mixed, 1_000_000_000, base);
    // A call that still sees the old value has read the counter before, or will see another base.
    blog_clock_is_counter.store(0, Relaxed);
    LEFT.store(true, Relaxed);
    pairs::step();
}

/// Looks whether the counter can still be trusted, and notes all clocks if that was last done a
/// second ago: see [`clock::Source::tick`].
fn tick() {
    if is_counter() {
        match VOUCHED.load(Relaxed) && blog_counter_unstable() {
            true => leave(None),
            false => leave_if_jumped(),
        }
    }
    if LEFT.swap(false, Relaxed) {
        pr_warn!(
            "the counter stops or can't be trusted: from now on, the clock is the monotonic one\n"
        );
    }
    pairs::note_each_second();
}

/// The machine is about to sleep, or has just awoken: some clock may stop, or has stopped. Times
/// before and after that are on no line that goes on, so both instants are noted.
#[no_mangle]
extern "C" fn blog_clock_note() {
    pairs::note();
}

/// It sleeps next, or was just `awoken`: one CPU runs, and interrupts are off.
#[no_mangle]
extern "C" fn blog_clock_sleeps(awoken: bool) {
    let stops = match awoken {
        false => blog_counter_sleeps(),
        // Where it doesn't stop in RAM, it does in a machine that was off (hibernation).
        true => counter() < pairs::lock().last().clock,
    };
    match is_counter() && stops {
        true => leave(None),
        false => pairs::note(),
    }
}
