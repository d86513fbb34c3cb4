// SPDX-License-Identifier: GPL-2.0

//! Pairs: all clocks at some instants, from BLog's start up to now. The decoder draws lines through
//! them.
//!
//! They are in the root, where crash tools find them, too. The worker and readers add one about
//! every second; another one comes before and after each sleep. If the root has no more room, the
//! pair goes that matters least ([`least`]).

use core::sync::atomic::{
    fence,
    AtomicU32,
    Ordering::*, //
};
use kernel::{
    blog::{
        root::blog_root,
        wire::{
            dump::{
                Tick,
                TICKS, //
            },
            file::ClockPair,
            thin::least, //
        }, //
    },
    prelude::*, //
};

use super::blog_with_irqs_off;
use crate::{
    clock::{
        instant,
        jiffies,
        mono, //
    },
    sys::glue, //
};

/// Two that aren't at a break or a sleep are that far from each other, in ns.
const EVERY: u64 = 1_000_000_000;

/// How often they have changed, times two; odd while they change.
static VERSION: AtomicU32 = AtomicU32::new(0);

/// How often some were noted because of a sleep or of the break.
static STEPS: AtomicU32 = AtomicU32::new(0);

/// See [`Source::versions`](crate::clock::Source::versions).
pub(super) fn versions() -> (u32, u32) {
    (VERSION.load(Relaxed), STEPS.load(Relaxed))
}

pub(super) fn step() {
    STEPS.fetch_add(1, Relaxed);
}

fn len() -> usize {
    // SAFETY: It is there, and one word.
    unsafe { (&raw const (*blog_root.get()).ticks_len).read_volatile() as usize }
}

fn place(n: usize) -> *mut Tick {
    // SAFETY: The root is there, and this is within the array.
    unsafe { (&raw mut (*blog_root.get()).ticks[n % TICKS]) }
}

/// One that may be half stored: see [`read`].
fn get(n: usize) -> Tick {
    // SAFETY: It is there.
    unsafe { place(n).read_volatile() }
}

/// The pairs, which nobody else changes.
pub(super) struct Pairs(());

impl Pairs {
    pub(super) fn last(&self) -> Option<ClockPair> {
        Some(get(len().checked_sub(1)?).pair)
    }

    /// Stores something; see `Live::update`.
    fn update(&mut self, store: impl FnOnce()) {
        // SAFETY: Only here is anything stored that has to do with pairs, and this has them. Who
        // reads them meanwhile doesn't use what it has read.
        unsafe { blog_root.update(|_| store()) };
    }

    /// Stores one. It is not valid before it is whole, should the machine stop.
    fn store(&mut self, n: usize, tick: Tick) {
        let (place, clock) = (place(n), tick.pair.clock);
        let mut invalid = tick;
        invalid.pair.clock = 0;
        // SAFETY: It is there.
        self.update(|| unsafe { (*place).pair.clock = 0 });
        // SAFETY: As above.
        self.update(|| unsafe { place.write(invalid) });
        // SAFETY: As above.
        self.update(|| unsafe { (*place).pair.clock = clock });
    }

    pub(super) fn set_len(&mut self, len: usize) {
        // SAFETY: The root is there.
        self.update(|| unsafe { (*blog_root.get()).ticks_len = len as u32 });
    }

    /// Adds one, which isn't earlier than the last.
    pub(super) fn push(&mut self, pair: ClockPair) {
        let mut len = len();
        if len >= TICKS {
            len = TICKS - 1;
            // Until the number is stored, the last one is there twice.
            for n in least(TICKS, |n| get(n).pair)..len {
                self.store(n, get(n + 1));
            }
            self.set_len(len);
        }
        let jiffies = jiffies();
        self.store(len, Tick { pair, jiffies });
        self.set_len(len + 1);
    }
}

/// Changes the pairs. Any context. False: somebody else is just changing them, whom this interrupts
/// perhaps.
pub(super) fn change(change: impl FnOnce(&mut Pairs)) -> bool {
    let version = VERSION.load(Relaxed);
    // ORDERING: Acquire: sees what was changed before. Release fence: the odd version comes before
    // the changes, for `read`.
    if version & 1 != 0
        || VERSION
            .compare_exchange(version, version.wrapping_add(1), Acquire, Relaxed)
            .is_err()
    {
        return false;
    }
    fence(Release);
    change(&mut Pairs(()));
    // ORDERING: Release: the changes come before the even version.
    VERSION.store(version.wrapping_add(2), Release);
    true
}

/// Reads them; `None` where they change meanwhile. Any context.
fn read<T>(read: impl FnOnce() -> T) -> Option<T> {
    // ORDERING: Acquire: what is read is not older than this version.
    let version = VERSION.load(Acquire);
    if version & 1 != 0 {
        return None;
    }
    let value = read();
    // ORDERING: Pairs with the release fence in `change`: a reader that has read a change sees
    // another version.
    fence(Acquire);
    (VERSION.load(Relaxed) == version).then_some(value)
}

/// The clock and CLOCK_MONOTONIC of the last one; `None` while they change. Any context.
pub(super) fn last() -> Option<(u64, u64)> {
    read(|| {
        let last = place(len().wrapping_sub(1));
        // SAFETY: It is there.
        unsafe { ((*last).pair.clock, (*last).pair.mono) }
    })
}

/// Notes one because of a sleep: see [`add`].
pub(super) fn note() {
    add();
    step();
}

/// Adds one, unless somebody else is doing that just now. Any context but an NMI, and not from a
/// log call.
///
/// Interrupts are off meanwhile: so the code that puts the machine to sleep, with one CPU left and
/// interrupts off, finds nobody in the middle of this.
fn add() {
    extern "C" fn push() {
        change(|pairs| pairs.push(instant()));
    }
    blog_with_irqs_off(push);
}

/// The same, if the last one is a second old.
pub(super) fn note_each_second() {
    if last().is_some_and(|(_, then)| mono().saturating_sub(then) >= EVERY) {
        add();
    }
}

/// See [`Source::since`](crate::clock::Source::since).
pub(super) fn since(then: u64) -> Result<KVec<ClockPair>> {
    let mut all = KVec::with_capacity(TICKS + 1, GFP_KERNEL)?;
    loop {
        let done = read(|| {
            all.clear();
            let new = (0..len().min(TICKS)).map(|n| get(n).pair);
            (new.filter(|pair| pair.clock > then)).try_for_each(|pair| all.push(pair, GFP_KERNEL))
        });
        match done {
            // They change for some microseconds a second; but by a log call, which may be
            // preempted.
            None => glue::pause(),
            Some(done) => return Ok(done.map(|()| all)?),
        }
    }
}
