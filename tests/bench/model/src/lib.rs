// SPDX-License-Identifier: GPL-2.0

//! How many cache lines move between CPUs for each record, by the number of CPUs, and of shelves
//! that these have.
//!
//! On each CPU a task logs records of two scalars (20 bytes), and CPUs take turns record by record.
//! The code that runs is the kernel's: ring and pool, without what `blog/` looks up around them.

#![allow(dead_code, unused_imports)]

// What the kernel's files call `core` and `kernel`.
extern crate model_core as core;
extern crate self as kernel;

use blog::wire;

#[path = "../../../host/loom/src/blog.rs"]
mod blog;
#[path = "../../../../blog/tests/rig/pages.rs"]
pub mod pages;
#[path = "../../../../blog/memory/pool/mod.rs"]
mod pool;
#[path = "../../../host/src/rig.rs"]
mod rig;

use core::lines::{counts, forget, reset, run_on, Counts};
use rig::{set_cpu, Rig};

/// Payload of a (u32, u64) record.
const PAYLOAD: [u8; 12] = [0xa5; 12];

/// What the tasks do.
#[derive(Clone, Copy, PartialEq)]
enum Load {
    /// Each has what a ring may hold, and overwrites its own oldest page.
    Steady,
    /// All want more than there is, and take pages from each other.
    Hungry,
    /// Each logs 100 records and ends; another one comes.
    Short,
    /// The same; a task is freed on the next CPU, as its parent's.
    Next,
    /// The same; all are freed on one CPU, as by its RCU callbacks.
    One,
}

/// Pages for each CPU.
const PAGES: usize = 64;

/// Rings for each CPU: more than have pages, as in the kernel.
const RINGS: usize = 64;

/// Records for each CPU.
const RECORDS: usize = 4000;

/// Runs a load on so many CPUs, with so many shelves; returns what it cost, and by how many
/// records.
fn run(load: Load, cpus: usize, shelves: usize) -> (Counts, u64) {
    let mut rig = Rig::with_rooms(cpus * PAGES, cpus * RINGS, shelves);
    forget();
    rig.max_pages = match load {
        Load::Steady => 4,
        _ => u32::MAX,
    };
    let mut rings: Vec<_> = (0..cpus).map(|cpu| rig.adopt(cpu as i32).unwrap()).collect();
    let per_page = (4096 - 48) / 20;
    let (warm, records) = match load {
        Load::Steady => (2 * 4 * per_page, RECORDS),
        Load::Hungry => (3 * per_page * PAGES / 2, RECORDS),
        // Until all rings have had an owner, and all pages were used.
        Load::Short | Load::Next | Load::One => (2 * RECORDS, RECORDS),
    };
    for i in 0..warm + records {
        if i == warm {
            reset();
        }
        for (cpu, ring) in rings.iter_mut().enumerate() {
            run_on(cpu);
            set_cpu(cpu as u32);
            // Page turns of different CPUs don't fall into one round.
            let at = i + cpu * 37;
            if matches!(load, Load::Short | Load::Next | Load::One) && at % 100 == 99 {
                let on = |cpu| {
                    run_on(cpu);
                    set_cpu(cpu as u32);
                };
                // Where the task is freed.
                on(match load {
                    Load::Next => (cpu + 1) % cpus,
                    Load::One => 0,
                    _ => cpu,
                });
                rig.retire(ring, i as u64);
                on(cpu);
                *ring = rig.adopt(at as i32).unwrap();
            }
            rig.log(ring, i as u64, 7, &PAYLOAD);
        }
    }
    (counts(), (records * cpus) as u64)
}

/// Nanoseconds of a record by itself, and of a line that comes from another CPU's cache: round
/// numbers, for the expected curve only.
const RECORD_NS: f64 = 10.0;
const MOVE_NS: f64 = 100.0;

/// How many times as many records `cpus` log as one does. Each line that moves makes its CPU wait;
/// and one line can't be at more than one place, so the hottest one sets a limit to all.
fn speedup(cpus: usize, counts: Counts, records: u64) -> f64 {
    let moved = counts.moved as f64 / records as f64;
    let hottest = counts.hottest as f64 / records as f64;
    let by_waiting = cpus as f64 * RECORD_NS / (RECORD_NS + moved * MOVE_NS);
    let by_hottest = RECORD_NS / (hottest * MOVE_NS);
    by_waiting.min(by_hottest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_at_their_limit_share_nothing() {
        for cpus in [2, 256] {
            let (counts, _) = run(Load::Steady, cpus, cpus.min(64));
            assert_eq!(counts.moved, 0, "{cpus} CPUs: {counts:?}");
        }
    }

    #[test]
    fn no_record_needs_an_atomic_rmw_but_at_page_turns() {
        let (counts, records) = run(Load::Steady, 4, 4);
        assert!(counts.rmw * 20 < records, "{counts:?} for {records}");
    }

    #[test]
    fn tasks_that_come_and_go_and_hungry_ones_don_t_crowd() {
        for (load, least) in [(Load::Short, 0.7), (Load::Hungry, 0.5)] {
            for cpus in [2, 8, 32, 64] {
                let (counts, records) = run(load, cpus, cpus);
                let speedup = speedup(cpus, counts, records);
                assert!(speedup >= least * cpus as f64, "{cpus} CPUs: {speedup}");
            }
        }
    }

    #[test]
    fn tasks_may_be_freed_elsewhere() {
        for load in [Load::Next, Load::One] {
            let (counts, records) = run(load, 64, 64);
            let speedup = speedup(64, counts, records);
            assert!(speedup >= 20.0, "{speedup}");
        }
    }

    /// What a request for a page or for a ring costs at most.
    const STEPS: u64 = 3000;

    /// Accesses to memory while `f` runs on CPU 0.
    fn steps(what: &str, f: impl FnOnce()) {
        reset();
        run_on(0);
        f();
        let steps = counts().all;
        assert!(steps <= STEPS, "{what}: {steps}");
    }

    /// All that one log call asks the pool for, where there are 64 shelves.
    fn ask(what: &str, rig: &rig::Rig) {
        use blog::ring::Pages;
        let pages = rig.pool.pages(0, true);
        for held in [0, 1] {
            // Some calls look at all shelves.
            for _ in 0..300 {
                steps(&format!("{what}: page for {held}"), || {
                    if let Some(page) = pages.take(held) {
                        // SAFETY: It has just been taken.
                        unsafe { pages.put(page) };
                    }
                });
            }
        }
        for _ in 0..300 {
            steps(&format!("{what}: ring"), || {
                rig.adopt(1);
            });
        }
    }

    #[test]
    fn what_a_call_asks_for_is_bounded() {
        let rig = || {
            let mut rig = Rig::with_rooms(2048, 8192, 64);
            rig.max_pages = 1;
            rig
        };
        let on_all = |f: &dyn Fn(u32)| {
            for cpu in 0..64 {
                set_cpu(cpu);
                f(cpu);
            }
            set_cpu(0);
        };
        // Nothing is free, and nobody has more than their own page, or one.
        let full = |bytes: usize| {
            let rig = rig();
            let rings = std::cell::RefCell::new(Vec::new());
            on_all(&|cpu| {
                while let Some(ring) = rig.adopt(cpu as i32) {
                    if !rig.log(ring, 0, 1, &vec![0; bytes]) || rings.borrow().len() == 8000 {
                        break;
                    }
                    rings.borrow_mut().push(ring.id());
                }
            });
            (rig, rings.into_inner())
        };
        let (dry, _) = full(8);
        ask("rooms of live rings", &dry);
        let (dry, _) = full(1000);
        ask("pages of live rings", &dry);
        // All of them have ended, on all CPUs, with what is in their own page.
        let (ended, rings) = full(8);
        for (n, id) in rings.iter().enumerate() {
            set_cpu(n as u32 * 7);
            ended.retire(ended.ring(*id).unwrap(), n as u64);
        }
        set_cpu(0);
        ask("rooms of ended tasks", &ended);
        // All shelves are held.
        let held: Vec<_> = (0..64).map(|n| ended.shelf(n).lists.claim()).collect();
        ask("no shelf", &ended);
        drop(held);
    }
}
