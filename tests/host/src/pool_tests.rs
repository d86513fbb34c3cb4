// SPDX-License-Identifier: GPL-2.0

//! Properties of the pool: nothing is lost, nothing is handed out twice, the oldest goes first.

use crate::pool::{Cell, Queue, Stack};
use crate::rig::Rig;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

#[test]
fn a_stack_hands_each_index_to_one_taker() {
    const N: usize = 64;
    let next: Vec<_> = (0..N).map(|_| AtomicU32::new(0)).collect();
    let held: Vec<_> = (0..N).map(|_| AtomicU32::new(0)).collect();
    let stack = Stack::new();
    for i in 0..N as u32 {
        stack.push(&next, i);
    }
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..100_000 {
                    let Some(i) = stack.pop(&next) else { continue };
                    assert_eq!(held[i as usize].swap(1, Relaxed), 0, "handed out twice");
                    held[i as usize].store(0, Relaxed);
                    stack.push(&next, i);
                }
            });
        }
    });
    let mut all: Vec<_> = std::iter::from_fn(|| stack.pop(&next)).collect();
    all.sort_unstable();
    assert_eq!(all, (0..N as u32).collect::<Vec<_>>());
}

#[test]
fn a_stack_drops_foreign_indices_and_says_when_it_is_empty() {
    let next = [AtomicU32::new(0)];
    let stack = Stack::new();
    stack.push(&next, 7);
    assert_eq!(stack.pop(&next), None);
    stack.push(&next, 0);
    assert_eq!((stack.pop(&next), stack.pop(&next)), (Some(0), None));
}

#[test]
fn a_queue_is_first_in_first_out_and_bounded() {
    let cells: Vec<_> = (0..4).map(Cell::new).collect();
    let queue = Queue::new();
    for round in 0..10 {
        for i in 0..4 {
            assert!(queue.push(&cells, round * 4 + i));
        }
        assert!(!queue.push(&cells, 99), "full");
        for i in 0..4 {
            assert_eq!(queue.pop(&cells), Some(round * 4 + i));
        }
        assert_eq!(queue.pop(&cells), None);
    }
}

#[test]
fn a_queue_keeps_every_index_under_contention() {
    const N: u32 = 32;
    let cells: Vec<_> = (0..64).map(Cell::new).collect();
    let queue = Queue::new();
    for i in 0..N {
        assert!(queue.push(&cells, i));
    }
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..100_000 {
                    if let Some(i) = queue.pop(&cells) {
                        while !queue.push(&cells, i) {}
                    }
                }
            });
        }
    });
    let mut all: Vec<_> = std::iter::from_fn(|| queue.pop(&cells)).collect();
    all.sort_unstable();
    assert_eq!(all, (0..N).collect::<Vec<_>>());
}

#[test]
fn the_ring_that_retired_first_gives_its_pages_first_and_its_oldest_first() {
    let rig = Rig::new(6, 4);
    let rings: Vec<_> = (0..3).map(|pid| rig.adopt(pid).unwrap()).collect();
    for ring in &rings {
        // Two pages each: 255 records of 16 bytes fill more than one.
        for n in 0..300u64 {
            assert!(rig.log(ring, n, 1, &n.to_ne_bytes()));
        }
        assert_eq!(ring.pages(), 2);
    }
    rig.retire(rings[1], 1);
    rig.retire(rings[0], 2);
    let new = rig.adopt(9).unwrap();
    assert!(rig.log(new, 0, 1, &[0; 8]));
    assert_eq!((rings[1].pages(), rings[0].pages()), (1, 2));
    let left = rig.read(rings[1].id());
    assert!(left.first > 0 && left.first + left.records.len() as u64 == 300);
    for n in 0..600u64 {
        assert!(rig.log(new, n, 1, &n.to_ne_bytes()));
    }
    assert_eq!((rings[1].pages(), rings[0].pages()), (0, 1));
    assert_eq!(rig.pool.gone_records(), 300);
    assert_eq!(rig.count_pages(), 6);
}

#[test]
fn rings_for_which_the_queue_has_no_room_come_last_and_are_not_lost() {
    let rig = Rig::with_cells(5, 5, 2);
    let rings: Vec<_> = (0..5).map(|pid| rig.adopt(pid).unwrap()).collect();
    for ring in &rings {
        assert!(rig.log(ring, 0, 1, &[0; 8]));
    }
    for ring in &rings[..4] {
        rig.retire(ring, 1);
    }
    let held = || rings[..4].iter().map(|r| r.pages()).collect::<Vec<_>>();
    let fill = || while !rig.log(rings[4], 0, 1, &[0; 8]) || rings[4].pages() == 1 {};
    fill();
    assert_eq!(
        held(),
        [0, 1, 1, 1],
        "the first, though there are newer ones"
    );
    assert_eq!(rig.pool.retired(), 3);
    assert_eq!(rig.pool.drain_retired(&*rig), 3);
    assert_eq!(rig.count_pages(), 5);
}

#[test]
fn the_reserve_is_for_rings_that_have_no_page() {
    let rig = Rig::new(4, 3);
    rig.pool.set_reserve(2);
    let (a, b) = (rig.adopt(1).unwrap(), rig.adopt(2).unwrap());
    for n in 0..5000u64 {
        assert!(rig.log(a, n, 1, &n.to_ne_bytes()));
    }
    assert_eq!(a.pages(), 2, "a busy ring leaves the reserve alone");
    assert!(rig.log(b, 0, 1, &[0; 8]));
    assert_eq!(b.pages(), 1);
}

#[test]
fn storms_of_tasks_lose_no_page_no_ring_and_no_record() {
    let rig = Rig::new(16, 12);
    let (tried, failed) = (AtomicU32::new(0), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for t in 0..4 {
            let (rig, tried, failed) = (&rig, &tried, &failed);
            scope.spawn(move || {
                for i in 0..2000u64 {
                    // A thread that is held up in the middle of a push hides the rings behind
                    // it for as long: nobody waits, but there may be none for a moment.
                    let ring = loop {
                        if let Some(ring) = rig.adopt(t) {
                            break ring;
                        }
                        std::thread::yield_now();
                    };
                    for n in 0..(i % 400) {
                        tried.fetch_add(1, Relaxed);
                        if !rig.log(ring, n, 1, &n.to_ne_bytes()) {
                            failed.fetch_add(1, Relaxed);
                        }
                    }
                    rig.retire(ring, i);
                }
            });
        }
    });
    rig.pool.drain_retired(&*rig);
    assert_eq!(rig.count_pages(), 16);
    assert_eq!(rig.pool.retired(), 0);
    assert_eq!(rig.pool.free(), 16);
    let lost: u64 = rig.pool.gone_lost().iter().sum();
    assert_eq!(lost, u64::from(failed.into_inner()));
    assert_eq!(
        rig.pool.gone_records() + lost,
        u64::from(tried.into_inner())
    );
}
