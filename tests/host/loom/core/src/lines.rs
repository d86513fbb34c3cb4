// SPDX-License-Identifier: GPL-2.0

//! The owners of cache lines: each atomic access, and each store to a page by pointer, counts for a
//! line and for the CPU that the model runs it on.
//!
//! A line is in the caches of all CPUs that have accessed it since the last store; a CPU that
//! stores has it alone. An access to a line that is not in the caller's cache, but in another one,
//! moves it: that costs time if many CPUs work at once. First accesses don't count, nor do lines
//! that leave a cache for lack of room. The model runs all CPUs on one thread, by turns.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Bytes of a cache line.
pub const LINE: usize = 64;

/// What was counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Accesses.
    pub all: u64,
    /// Atomic read-modify-write operations.
    pub rmw: u64,
    /// Accesses that brought a line from another CPU.
    pub moved: u64,
    /// Those of the line that moved most.
    pub hottest: u64,
}

/// Spreads numbers; nobody plays tricks on it.
#[derive(Default)]
pub(crate) struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("these are numbers");
    }
    fn write_usize(&mut self, n: usize) {
        self.0 = (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(26);
    }
}

/// What there is by a number that is an address, or part of one.
pub(crate) type ByAddress<T> = HashMap<usize, T, BuildHasherDefault<Spread>>;

/// The CPUs that have a line, in bits, and whether a single one has stored to it.
#[derive(Default)]
struct Line {
    in_caches: [u64; 8],
    moved: u64,
}

thread_local! {
    /// None: nobody counts.
    static CPU: Cell<Option<usize>> = const { Cell::new(None) };
    static ALL: Cell<u64> = const { Cell::new(0) };
    static RMW: Cell<u64> = const { Cell::new(0) };
    static LINES: RefCell<ByAddress<Line>> = RefCell::default();
}

/// Says on which CPU what follows runs.
pub fn run_on(cpu: usize) {
    assert!(cpu < 512);
    CPU.set(Some(cpu));
}

/// Forgets the counts, but not the lines of each CPU.
pub fn reset() {
    ALL.set(0);
    RMW.set(0);
    LINES.with_borrow_mut(|lines| lines.values_mut().for_each(|line| line.moved = 0));
}

/// Forgets the lines of each CPU: what lay there is gone.
pub fn forget() {
    LINES.with_borrow_mut(|lines| lines.clear());
}

pub fn counts() -> Counts {
    LINES.with_borrow(|lines| Counts {
        all: ALL.get(),
        rmw: RMW.get(),
        moved: lines.values().map(|line| line.moved).sum(),
        hottest: lines.values().map(|line| line.moved).max().unwrap_or(0),
    })
}

/// What an access does with a line.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Load,
    Store,
    Both,
}

pub(crate) fn access(address: usize, bytes: usize, kind: Kind) {
    let Some(cpu) = CPU.get() else {
        return;
    };
    let stores = kind != Kind::Load;
    ALL.set(ALL.get() + 1);
    if kind == Kind::Both {
        RMW.set(RMW.get() + 1);
    }
    let (word, bit) = (cpu / 64, 1 << (cpu % 64));
    LINES.with_borrow_mut(|lines| {
        for line in address / LINE..=(address + bytes - 1) / LINE {
            let line = lines.entry(line).or_default();
            let mine = line.in_caches[word] & bit;
            if mine != 0 && !stores {
                continue;
            }
            line.in_caches[word] &= !bit;
            if line.in_caches.iter().any(|w| *w != 0) {
                line.moved += 1;
            }
            if stores {
                line.in_caches = [0; 8];
            }
            line.in_caches[word] |= bit;
        }
    });
}
