// SPDX-License-Identifier: GPL-2.0

//! Pairs: all clocks at some instants, from BLog's start up to now. The decoder draws lines through
//! them.
//!
//! They are in the root, where crash tools find them, too. The worker and readers add one about
//! every second; another one comes before and after each sleep. If the root has no more room, the
//! pair goes that matters least ([`least`]).

use kernel::{
    blog::{
        root::blog_root,
        wire::{
            dump::{
                Tick,
                TICKS, //
            },
            file::ClockPair, //
        }, //
    },
    types::NotThreadSafe, //
};

use super::{
    blog_lock_pairs,
    blog_unlock_pairs,
    thin::least, //
};
use crate::{
    clock::{
        instant,
        jiffies,
        mono, //
    },
    sys::prelude::*, //
};

/// Two that aren't at a break or a sleep are that far from each other, in ns.
const EVERY: u64 = 1_000_000_000;

/// How often one was added; and how often because of a sleep or of the break.
static VERSION: AtomicU32 = AtomicU32::new(0);
static STEPS: AtomicU32 = AtomicU32::new(0);

/// See [`Source::versions`](crate::clock::Source::versions).
pub(super) fn versions() -> (u32, u32) {
    (VERSION.load(Relaxed), STEPS.load(Relaxed))
}

pub(super) fn step() {
    STEPS.fetch_add(1, Relaxed);
}

/// The pairs, which nobody else reads or changes: interrupts are off until this is dropped. So the
/// code that puts the machine to sleep, with one CPU left and interrupts off, finds nobody in the
/// middle of a change.
pub(super) struct Pairs {
    flags: c_ulong,
    _not_send: NotThreadSafe,
}

/// Takes them; the caller hasn't. Any context but an NMI, and not from a log call.
pub(super) fn lock() -> Pairs {
    Pairs {
        flags: blog_lock_pairs(),
        _not_send: NotThreadSafe,
    }
}

impl Drop for Pairs {
    fn drop(&mut self) {
        // SAFETY: The lock is held, with these flags.
        unsafe { blog_unlock_pairs(self.flags) };
    }
}

fn place(n: usize) -> *mut Tick {
    // SAFETY: The root is there, and this is within the array.
    unsafe { (&raw mut (*blog_root.get()).ticks[n % TICKS]) }
}

impl Pairs {
    fn len(&self) -> usize {
        // SAFETY: It is there, and nobody else changes it.
        unsafe { (*blog_root.get()).ticks_len as usize }
    }

    fn get(&self, n: usize) -> Tick {
        // SAFETY: As above.
        unsafe { place(n).read() }
    }

    /// The last one; all zeros if there is none.
    pub(super) fn last(&self) -> ClockPair {
        let last = self.len().checked_sub(1);
        last.map_or_else(ClockPair::default, |n| self.get(n).pair)
    }

    /// Stores something; see `Live::update`.
    fn update(&mut self, store: impl FnOnce()) {
        // SAFETY: Only here is anything stored that has to do with pairs, and this has them.
        unsafe { blog_root.update(|_| store()) };
    }

    /// Stores one. It is not valid before it is whole, should the machine stop.
    fn store(&mut self, n: usize, tick: Tick) {
        let (place, clock) = (place(n), tick.pair.clock);
        let mut invalid = tick;
        invalid.pair.clock = 0;
        // SAFETY: `place` is within the array of pairs, and only this has it.
        self.update(|| unsafe { (*place).pair.clock = 0 });
        // SAFETY: As above.
        self.update(|| unsafe { place.write(invalid) });
        // SAFETY: As above.
        self.update(|| unsafe { (*place).pair.clock = clock });
    }

    pub(super) fn set_len(&mut self, len: usize) {
        // SAFETY: The root is a static, of which only this stores the length.
        self.update(|| unsafe { (*blog_root.get()).ticks_len = len as u32 });
    }

    /// Adds one, which isn't earlier than the last.
    pub(super) fn push(&mut self, pair: ClockPair) {
        let mut len = self.len();
        if len >= TICKS {
            len = TICKS - 1;
            // Until the number is stored, the last one is there twice.
            for n in least(TICKS, |n| self.get(n).pair)..len {
                let next = self.get(n + 1);
                self.store(n, next);
            }
            self.set_len(len);
        }
        let jiffies = jiffies();
        self.store(len, Tick { pair, jiffies });
        self.set_len(len + 1);
        VERSION.fetch_add(1, Relaxed);
    }
}

/// Notes all clocks because of a sleep. As for [`lock`].
pub(super) fn note() {
    lock().push(instant());
    step();
}

/// The same, if the last pair is a second old.
pub(super) fn note_each_second() {
    let mut pairs = lock();
    if mono().saturating_sub(pairs.last().mono) >= EVERY {
        pairs.push(instant());
    }
}

/// See [`Source::since`](crate::clock::Source::since).
pub(super) fn since(then: u64) -> Result<KVec<ClockPair>> {
    let mut all = KVec::with_capacity(TICKS + 1, GFP_KERNEL)?;
    let pairs = lock();
    let new = (0..pairs.len().min(TICKS)).map(|n| pairs.get(n).pair);
    for pair in new.filter(|pair| pair.clock > then) {
        // There is room, so that this allocates nothing.
        all.push(pair, GFP_KERNEL)?;
    }
    Ok(all)
}
