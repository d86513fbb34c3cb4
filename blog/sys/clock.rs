// SPDX-License-Identifier: GPL-2.0

//! The clock of all rings: which one it is, and how its values become times.
//!
//! Chosen when BLog starts and before anything can log: the raw TSC where it runs at one rate,
//! never stops and is the same on all CPUs, else `ktime_get_mono_fast_ns()`; the parameter
//! `blog.clock` overrides that. Reading it is safe in any context. A ring's writer that reads the
//! second one clamps it to the ring's last value, because it may step back a little.
//!
//! The kernel never converts ring time. Each snapshot has calibration pairs: from the start, from
//! when it was taken, and from before and after each break; the decoder draws lines through them.
//!
//! # Epochs
//!
//! The TSC may begin anew when the machine sleeps, and it may turn out that it can't be trusted.
//! Then a new *epoch* begins. To what is read, an offset is added, whole turns of the bits that a
//! record's header holds, and so many of them that the clock goes on behind where it was. So times
//! of one clock are in the order in which things happened, and nobody who reads them needs to know
//! of epochs.
//!
//! A log call's fast path reads the TSC and knows no offset. It is switched off
//! (`blog_clock_is_tsc`) from when the machine is told to sleep until it has awoken, all log calls
//! of before are over, and each ring that was written in an earlier epoch has been told
//! ([`Ring::expire`]). Meanwhile, log calls ask here. The moments at which all that is done are
//! sleep.c's.
//!
//! What that leaves: the fast path of a kernel thread that isn't frozen for the sleep, if it is
//! preempted between looking at `blog_clock_is_tsc` and reading the TSC and doesn't run again until
//! the machine sleeps, some hundred milliseconds later. The time of that one record is wrong.
//!
//! [`Ring::expire`]: kernel::blog::ring::Ring::expire

use core::sync::atomic::{
    fence,
    AtomicBool,
    AtomicU32,
    AtomicU64,
    Ordering::{
        Acquire,
        Relaxed,
        Release, //
    }, //
};
use kernel::{
    bindings,
    blog::{
        root::{
            blog_root,
            epoch, //
        },
        wire::{
            dump::{
                Root,
                Tick,
                BREAKS,
                EPOCH_TSC, //
            },
            file::{
                self,
                ClockKind,
                ClockPair, //
            },
            record::{
                TS_BITS,
                TS_MASK, //
            }, //
        }, //
    },
    fmt,
    prelude::*,
    time::{
        delay::fsleep,
        Delta, //
    }, //
};

use crate::sys::glue;

/// TSC quality: there is one, but nobody vouches for it.
const TSC_USABLE: u32 = 1;
/// TSC quality: constant, nonstop and not known to be unstable.
const TSC_GOOD: u32 = 2;

/// Less than that, in ns, and the machine has not slept.
const NO_SLEEP: u64 = 1_000_000;

/// How long the rate of a TSC is measured that the kernel doesn't know.
const MEASURED: Delta = Delta::from_millis(20);

/// The clock is the TSC, and whoever vouched for it may still take that back.
static VOUCHED: AtomicBool = AtomicBool::new(false);
/// The clock is to be the TSC.
static WANTED: AtomicBool = AtomicBool::new(false);
/// The machine is told to sleep, and has not begun an epoch since.
static SLEEPING: AtomicBool = AtomicBool::new(false);

/// Chooses the clock by the parameter `blog.clock`. Called once, before anything can log.
pub(crate) fn init() -> Result {
    let (quality, khz) = tsc_quality();
    let tsc = match glue::param_clock().to_bytes() {
        b"auto" => quality >= TSC_GOOD,
        b"mono" => false,
        b"tsc" if quality >= TSC_USABLE && khz != 0 => {
            if quality < TSC_GOOD {
                pr_warn!("clock=tsc: this TSC may stop or differ between CPUs\n");
            }
            true
        }
        b"tsc" => {
            pr_err!("clock=tsc: there is no usable TSC\n");
            return Err(EINVAL);
        }
        _ => {
            pr_err!("clock must be auto, tsc or mono\n");
            return Err(EINVAL);
        }
    };
    VOUCHED.store(tsc && quality >= TSC_GOOD, Relaxed);
    WANTED.store(tsc, Relaxed);
    set_epoch(word(0, tsc));
    glue::set_clock_is_tsc(tsc);
    let start = tick().pair;
    // SAFETY: Nobody else does yet.
    unsafe {
        blog_root.update(|root| {
            (*root).clock = section_of(tsc);
            (*root).start = start;
            (*root).breaks_taken = 0;
        });
    }
    Ok(())
}

/// What the TSC is worth, and its rate in kHz, which is measured once where the kernel doesn't know
/// it. Process context the first time.
fn tsc_quality() -> (u32, u32) {
    static KHZ: AtomicU32 = AtomicU32::new(0);
    match glue::tsc_quality() {
        (quality @ TSC_USABLE.., 0) if cfg!(CONFIG_UML) => {
            if KHZ.load(Relaxed) == 0 {
                KHZ.store(measured_khz(), Relaxed);
            }
            match KHZ.load(Relaxed) {
                0 => (TSC_USABLE, 0),
                khz => (quality, khz),
            }
        }
        known => known,
    }
}

fn measured_khz() -> u32 {
    let from = glue::raw_pair(true);
    fsleep(MEASURED);
    let to = glue::raw_pair(true);
    let (ticks, ns) = (to.clock.wrapping_sub(from.clock), to.mono - from.mono);
    (ticks.saturating_mul(1_000_000) / ns.max(1)) as u32
}

/// Starts looking for breaks.
pub(crate) fn start() -> Result {
    glue::start_sleep()
}

/// Undoes [`start`]. Nobody logs any more.
pub(crate) fn stop() {
    glue::stop_sleep();
}

/// What [`epoch`] is.
fn word(offset: u64, tsc: bool) -> u64 {
    offset | if tsc { EPOCH_TSC } else { 0 }
}

/// The offset of an [`epoch`].
fn offset_of(epoch: u64) -> u64 {
    epoch & !TS_MASK
}

fn set_epoch(word: u64) {
    // SAFETY: The root is there, and this field of it is only used as an atomic.
    let epoch = unsafe { AtomicU64::from_ptr(&raw mut (*blog_root.get()).epoch) };
    // ORDERING: Release: see `epoch`.
    epoch.store(word, Release);
}

fn is_tsc(epoch: u64) -> bool {
    epoch & EPOCH_TSC != 0
}

/// Reads something in one epoch, of which it is told.
fn in_one_epoch<T>(read: impl Fn(u64) -> T) -> (T, u64) {
    // It is done again only where an epoch begins meanwhile, which is seldom.
    loop {
        // ORDERING: What is read comes behind the first load, which is an acquire one, and the
        // fence before the second one. Where an epoch begins in between, that sees another word.
        let seen = epoch();
        let value = read(seen);
        fence(Acquire);
        if epoch() == seen {
            return (value, seen);
        }
    }
}

/// Reads the clock, and says what of that is the offset. Any context.
pub(crate) fn read() -> (u64, u64) {
    let (raw, epoch) = in_one_epoch(|epoch| glue::raw_clock(is_tsc(epoch)));
    let offset = offset_of(epoch);
    (raw.wrapping_add(offset), offset)
}

/// The same, of a TSC that a log call has read itself.
pub(crate) fn of_tsc(tsc: u64) -> (u64, u64) {
    // No epoch has begun since, as nobody begins one before such log calls are over.
    let offset = offset_of(epoch());
    (tsc.wrapping_add(offset), offset)
}

/// Reads the clock. Any context.
pub(crate) fn now() -> u64 {
    read().0
}

/// What is added to the TSC now, if log calls may read that themselves.
pub(crate) fn offset() -> u64 {
    offset_of(epoch())
}

/// All clocks now, by the clock of an epoch, but for the offset.
fn raw_tick(tsc: bool) -> Tick {
    Tick {
        pair: glue::raw_pair(tsc),
        // SAFETY: It is there, and one word.
        jiffies: unsafe { (&raw const bindings::jiffies_64).read_volatile() },
    }
}

/// All clocks now.
pub(crate) fn tick() -> Tick {
    let (mut tick, epoch) = in_one_epoch(|epoch| raw_tick(is_tsc(epoch)));
    tick.pair.clock = tick.pair.clock.wrapping_add(offset_of(epoch));
    tick
}

/// What a snapshot says of a clock that is the TSC, or the other one, from its start on.
fn section_of(tsc: bool) -> file::Clock {
    let (kind, hz) = match tsc {
        true => (ClockKind::Tsc, u64::from(tsc_quality().1) * 1000),
        false => (ClockKind::MonoFast, 1_000_000_000),
    };
    file::Clock {
        kind: kind as u32,
        pairs: 0,
        hz,
    }
}

/// The clock's name in files.
pub(crate) fn name() -> &'static str {
    match is_tsc(epoch()) {
        true => "tsc",
        false => "mono",
    }
}

/// A field of the root that is only changed here.
macro_rules! root {
    ($($field:tt)+) => {
        // SAFETY: It is there. Only this file stores to it; of what may be half stored, nothing is
        // used.
        unsafe { (&raw const (*blog_root.get()).$($field)+).read_volatile() }
    };
}

/// The clock as a snapshot names it, with this many pairs.
pub(crate) fn section(pairs: usize) -> file::Clock {
    file::Clock {
        pairs: pairs as u32,
        ..root!(clock)
    }
}

/// Ticks in a second.
pub(crate) fn hz() -> u64 {
    root!(clock).hz.max(1000)
}

/// How many instants before and after breaks were noted. It grows.
pub(crate) fn breaks() -> u64 {
    root!(breaks_taken)
}

/// The calibration pairs, oldest first: from the start, from before and after each break that is
/// known of, and from now. Process context.
pub(crate) fn pairs() -> Result<KVec<ClockPair>> {
    let mut pairs = KVec::with_capacity(BREAKS + 2, GFP_KERNEL)?;
    loop {
        pairs.clear();
        pairs.push(root!(start), GFP_KERNEL)?;
        let taken = breaks();
        fence(Acquire);
        // As `Root::breaks`.
        for n in taken.saturating_sub(BREAKS as u64 - 2)..taken {
            let tick = root!(breaks[(n % BREAKS as u64) as usize]);
            pairs.push(tick.pair, GFP_KERNEL)?;
        }
        pairs.push(tick().pair, GFP_KERNEL)?;
        // ORDERING: The fences of `Live::update` keep the stores of a break before that of its
        // number; so what was copied above is whole where this is the same as before.
        fence(Acquire);
        if breaks() == taken {
            return Ok(pairs);
        }
    }
}

/// Stores an instant, which isn't counted yet.
fn store_break(n: u64, tick: Tick) {
    // SAFETY: One at a time begins or ends an epoch: see sleep.c. Who reads the list doesn't use
    // what isn't counted.
    unsafe { blog_root.update(|root| (*root).breaks[(n % BREAKS as u64) as usize] = tick) };
}

/// Notes all clocks, where an epoch may be about to end.
fn end_epoch() {
    store_break(breaks(), tick());
}

/// Begins an epoch, by the TSC or the other clock, after [`end_epoch`]; or lets the old one go on
/// where there was no break.
fn begin_epoch(tsc: bool) {
    let taken = breaks();
    let end = root!(breaks[(taken % BREAKS as u64) as usize]).pair;
    let old = epoch();
    let mut tick = raw_tick(tsc);
    let offset = next_offset(offset_of(old), end.clock, tick.pair.clock);
    tick.pair.clock = tick.pair.clock.wrapping_add(offset);

    let away = |pair: &ClockPair| pair.boot.wrapping_sub(pair.mono);
    let slept = away(&tick.pair).wrapping_sub(away(&end)) as i64;
    let new = word(offset, tsc);
    if new == old && slept.unsigned_abs() < NO_SLEEP {
        return;
    }
    set_epoch(new);
    store_break(taken + 1, tick);
    let clock = match is_tsc(old) == tsc {
        true => root!(clock),
        false => file::Clock {
            kind: ClockKind::Mixed as u32,
            ..section_of(tsc)
        },
    };
    // SAFETY: As in `store_break`.
    unsafe {
        blog_root.update(|root: *mut Root| {
            (*root).clock = clock;
            (*root).breaks_taken = taken + 2;
        });
    }
}

/// The offset with which a clock that reads `raw` is behind `end`, where it has been before; `old`
/// if it is so anyway.
fn next_offset(old: u64, end: u64, raw: u64) -> u64 {
    if raw.wrapping_add(old) > end {
        return old;
    }
    let turns = (end.wrapping_sub(raw) >> TS_BITS).wrapping_add(1);
    turns << TS_BITS
}

/// The machine is told to sleep. Process context.
#[no_mangle]
pub(crate) extern "C" fn blog_sleep_begins() {
    glue::set_clock_is_tsc(false);
    SLEEPING.store(true, Relaxed);
    end_epoch();
}

/// It sleeps next: one CPU runs, and interrupts are off. Perhaps it only stops between two
/// instructions: then this is all that happens.
#[no_mangle]
pub(crate) extern "C" fn blog_sleep_enters() {
    end_epoch();
}

/// It has awoken: as above.
#[no_mangle]
pub(crate) extern "C" fn blog_sleep_leaves() {
    SLEEPING.store(false, Relaxed);
    begin_epoch(is_tsc(epoch()));
}

/// All is as before. Process context.
#[no_mangle]
pub(crate) extern "C" fn blog_sleep_ends() {
    if SLEEPING.load(Relaxed) {
        // It has only been idle, for which no CPU is stopped.
        blog_sleep_leaves();
    }
}

/// Looks whether the TSC can still be trusted; now and then, while anything logs or reads.
pub(crate) fn check() {
    if VOUCHED.load(Relaxed) && glue::tsc_is_unstable() {
        pr_warn!("the TSC has become unstable: the clock will be the monotonic one\n");
        VOUCHED.store(false, Relaxed);
        choose(false);
    }
}

/// Has the TSC, or the other clock, used from soon on.
pub(crate) fn choose(tsc: bool) {
    WANTED.store(tsc, Relaxed);
    glue::set_clock_is_tsc(false);
    glue::settle();
}

/// All log calls that have read the clock themselves are over: goes over to the clock that is
/// wanted. For this and the next one: process context, one at a time, and not while the machine is
/// told to sleep.
#[no_mangle]
pub(crate) extern "C" fn blog_clock_choose() {
    let tsc = WANTED.load(Relaxed);
    if is_tsc(epoch()) != tsc {
        end_epoch();
        begin_epoch(tsc);
    }
}

/// All rings have been told of the epoch: log calls may read the TSC themselves.
#[no_mangle]
pub(crate) extern "C" fn blog_clock_settled() {
    glue::set_clock_is_tsc(WANTED.load(Relaxed));
}

/// The text of the file `clock`.
pub(crate) fn show(f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (quality, _) = tsc_quality();
    writeln!(f, "clock {}", name())?;
    writeln!(f, "hz {}", root!(clock).hz)?;
    writeln!(
        f,
        "tsc {}",
        match quality {
            TSC_GOOD => "good",
            TSC_USABLE => "doubtful",
            _ => "none",
        }
    )?;
    let pairs = pairs().map_err(|_| fmt::Error)?;
    let last = pairs.len().saturating_sub(1);
    for (n, pair) in pairs.iter().enumerate() {
        let when = match n {
            0 => "start",
            n if n == last => "now",
            n if n % 2 == 1 => "before",
            _ => "after",
        };
        writeln!(
            f,
            "{when} clock {} mono {} boot {} real {}",
            pair.clock, pair.mono, pair.boot, pair.real
        )?;
    }
    Ok(())
}

/// Notes all clocks, about once a second. Only called by one at a time.
pub(crate) fn note() {
    static LAST: AtomicU64 = AtomicU64::new(0);

    let (now, last) = (now(), LAST.load(Relaxed));
    if last != 0 && now.wrapping_sub(last) < hz() {
        return;
    }
    LAST.store(now, Relaxed);
    let tick = tick();
    // SAFETY: Nobody else stores to these fields.
    unsafe {
        let taken = (*blog_root.get()).ticks_taken;
        blog_root.update(|root| (*root).ticks[(taken % 2) as usize] = tick);
        blog_root.update(|root| (*root).ticks_taken = taken + 1);
    }
}
