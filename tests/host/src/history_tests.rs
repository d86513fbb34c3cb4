// SPDX-License-Identifier: GPL-2.0

//! The records that stay, and the count of all others, while others read, steal, end and begin.

use crate::rig::{pages::balance, Rig, PAGE};
use kernel::blog::ring::{Mode, Pages, Ring};
use kernel::blog::wire::page::PAGE_HEADER_SIZE;
use proptest::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// Records of 16 bytes in a page.
const PER_PAGE: u64 = ((PAGE - PAGE_HEADER_SIZE) / 16) as u64;

fn number(payload: &[u8]) -> u64 {
    u64::from_ne_bytes(payload.try_into().unwrap())
}

/// Takes the oldest page from a ring, for the pool.
fn rob(rig: &Rig, ring: &Ring) -> bool {
    let pages = rig.pool.pages(0, false);
    // SAFETY: All pages are of this pool.
    let Some(index) = (unsafe { ring.steal(&pages) }) else {
        return false;
    };
    // SAFETY: The ring has just given it up.
    unsafe { pages.put(index) };
    true
}

/// A ring of `n` whole pages that is full, and the ordinal of a page's first record.
fn full_ring(rig: &Rig, n: u32) -> (&Ring, u64, u64) {
    let ring = rig.adopt(1).unwrap();
    let mut next = 0u64;
    let mut log = || {
        assert!(rig.log(ring, next, 1, &next.to_ne_bytes()));
        next += 1;
    };
    while ring.pages() != n {
        log();
    }
    for _ in 0..PER_PAGE {
        log();
    }
    let (_, end, records) = ring.position().unwrap();
    let start = records - u64::from(end - PAGE_HEADER_SIZE as u32) / 16;
    (ring, start, next)
}

/// A ring of N pages, while its writer turns page after page: a reader finds, of what was there
/// before, all but what does not belong to the newest N - 1 pages by the time it is done.
/// Meanwhile thieves rob other rings, and what they put back goes to others yet.
#[test]
fn a_full_ring_that_is_read_beside_thieves_keeps_the_newest_pages_but_one() {
    for pages in 2..6 {
        let mut rig = Rig::with_rooms(64, 32, 4);
        rig.max_pages = pages;
        // All robbing here is by `rob`.
        rig.steal = false;
        let (ring, start, mut next) = full_ring(&rig, pages);
        let others: Vec<_> = (2..5).map(|pid| rig.adopt(pid).unwrap()).collect();
        let stop = AtomicBool::new(false);
        let (robbed, reads) = (AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // Until the others have been there, too, unless they never come.
                let (least, began) = (next + PER_PAGE * 150, Instant::now());
                let idle = || robbed.load(Relaxed) == 0 || reads.load(Relaxed) == 0;
                while next < least || idle() && began.elapsed().as_secs() < 60 {
                    assert!(rig.log(ring, next, 1, &next.to_ne_bytes()));
                    next += 1;
                }
                stop.store(true, Relaxed);
            });
            let stopped = &stop;
            for (t, other) in others.iter().copied().enumerate() {
                let rig = &rig;
                scope.spawn(move || {
                    crate::rig::set_cpu(t as u32 + 1);
                    let mut n = 0u64;
                    while !stopped.load(Relaxed) {
                        rig.log(other, n, 2, &n.to_ne_bytes());
                        n += 1;
                    }
                });
            }
            scope.spawn(|| {
                while !stopped.load(Relaxed) {
                    let n = others.iter().filter(|ring| rob(&rig, ring)).count();
                    robbed.fetch_add(n as u64, Relaxed);
                    std::thread::yield_now();
                }
            });
            while !stop.load(Relaxed) {
                let before = ring.records();
                let read = rig.read(ring.id());
                let after = ring.records();
                // The page that is being written, or that is about to begin, and the full ones.
                let turned = (after - start) / PER_PAGE;
                let kept = start + turned.saturating_sub(u64::from(pages) - 1) * PER_PAGE;
                let mut found = read.records.iter().map(|(.., payload)| number(payload));
                let first = found.find(|n| *n >= kept);
                // What is left of the range then must follow without a gap.
                if before > kept {
                    assert_eq!(first, Some(kept), "{before} to {after}");
                    let rest = (kept + 1..before).zip(found.by_ref()).all(|(a, b)| a == b);
                    assert!(rest, "a gap in what is kept");
                    reads.fetch_add(1, Relaxed);
                }
            }
        });
        assert!(robbed.into_inner() > 0, "the thieves stole nothing");
        assert!(reads.into_inner() > 0, "the reader was always too slow");
    }
}

/// What a schedule does next.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Some ticks later, a task logs a record with a payload of so many bytes, and within it
    /// another one.
    Log { task: usize, ticks: u64, len: usize, nested: bool },
    /// A task ends, and another one begins.
    Next { task: usize },
    /// Somebody takes a task's oldest page.
    Rob { task: usize },
    /// The limit of each ring changes.
    Limit { pages: u32 },
    /// Somebody reads.
    Read { task: usize },
}

const TASKS: usize = 4;

fn step() -> impl Strategy<Value = Step> {
    let task = 0..TASKS;
    prop_oneof![
        40 => (task.clone(), 0u64..1 << 38, 8usize..800, 0u8..16).prop_map(
            |(task, ticks, len, n)| Step::Log { task, ticks, len, nested: n == 0 }
        ),
        1 => task.clone().prop_map(|task| Step::Next { task }),
        4 => task.clone().prop_map(|task| Step::Rob { task }),
        1 => (1u32..6).prop_map(|pages| Step::Limit { pages }),
        1 => task.prop_map(|task| Step::Read { task }),
    ]
}

/// A ring adds up, and its records are those that were logged.
fn account(rig: &Rig, ring: &Ring) {
    let read = rig.read(ring.id());
    assert_eq!(read.adds_up(&ring.info().unwrap()), Ok(()));
    assert_eq!(read.account.missing, 0, "pages went from the middle");
    let mut last = None;
    for (.., payload) in &read.records {
        let n = number(&payload[..8]);
        assert!(last.is_none_or(|last| last < n), "records of one ring changed places");
        assert!(payload[8..].iter().all(|byte| *byte == n as u8), "torn");
        last = Some(n);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn decoded_overwritten_and_lost_are_all_that_was_taken(
        pages in 1usize..20,
        max in 1u32..6,
        discard: bool,
        steps in prop::collection::vec(step(), 1..600),
    ) {
        let mut rig = Rig::with_rooms(pages, 2 * TASKS, 2);
        rig.max_pages = max;
        rig.mode = if discard { Mode::Discard } else { Mode::Overwrite };
        let mut ids: Vec<u32> = (0..TASKS).map(|t| rig.adopt(t as i32).unwrap().id()).collect();
        let (mut tried, mut now) = (0u64, 0);
        for step in steps {
            let ring = |task: usize| rig.ring(ids[task]).unwrap();
            match step {
                Step::Log { task, ticks, len, nested } => {
                    now += ticks;
                    let mut payload = tried.to_ne_bytes().to_vec();
                    payload.resize(len, tried as u8);
                    tried += 1;
                    rig.log_with(ring(task), now, 1, &payload, || if nested {
                        tried += 1;
                        rig.log(ring(task), now, 2, &[0; 8]);
                    });
                }
                Step::Next { task } => {
                    rig.retire(ring(task), tried);
                    ids[task] = rig.adopt(task as i32).unwrap().id();
                }
                Step::Rob { task } => {
                    rob(&rig, ring(task));
                }
                Step::Limit { pages } => rig.max_pages = pages,
                Step::Read { task } => account(&rig, ring(task)),
            }
        }
        for id in ids {
            let ring = rig.ring(id).unwrap();
            account(&rig, ring);
            rig.retire(ring, tried);
        }
        rig.pool.drain_retired();
        let lost: u64 = rig.pool.gone().1.iter().sum();
        prop_assert_eq!(balance(tried, rig.pool.gone().0, lost), Ok(()));
        prop_assert_eq!(rig.count_pages(), pages);
    }
}
