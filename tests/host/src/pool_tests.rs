// SPDX-License-Identifier: GPL-2.0

//! Properties of the pool: nothing is lost, nothing is handed out twice, the oldest goes first.

use crate::pool::{Hit, List};
use crate::rig::{page_info, set_cpu, Read, Rig, PAGE, SITES};
use kernel::blog::ring::{Pages, Ring};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

#[test]
fn a_list_has_two_ends_drops_foreign_indices_and_says_when_it_is_empty() {
    let links = [const { AtomicU32::new(0) }; 4];
    let next = |i| links.get(i as usize);
    let list = List::new();
    list.push(next, 7);
    list.push_last(next, 7);
    assert_eq!((list.pop(next), list.len()), (None, 0));
    // Twice, as an empty list may have been another one before.
    for _ in 0..2 {
        for (first, last) in [(0, 1), (2, 3)] {
            list.push(next, first);
            list.push_last(next, last);
        }
        assert_eq!((list.first(), list.len()), (Some(2), 4));
        let all: Vec<_> = std::iter::from_fn(|| list.pop(next)).collect();
        assert_eq!(all, [2, 0, 1, 3]);
    }
    for i in 0..3 {
        list.push_last(next, i);
    }
    let all: Vec<_> = std::iter::from_fn(|| list.pop(next)).collect();
    assert_eq!((all, list.first(), list.len()), (vec![0, 1, 2], None, 0));
}

/// Its writer, another ring or a new task may take a page from a ring.
#[test]
fn each_record_is_in_a_ring_or_in_the_count_of_its_site() {
    for max_pages in [2, 5, u32::MAX] {
        let mut rig = Rig::with_rings_of_pages(24, 40, 2);
        rig.max_pages = max_pages;
        let (mut logged, mut ts) = ([0; SITES], 0);
        for task in 0..120u64 {
            set_cpu(task as u32 % 2);
            let Some(ring) = rig.adopt(task as i32) else {
                continue;
            };
            for n in 0..task * 7 % 900 {
                // By turns, in runs, and with sites that get the same place in a page's sums; now and
                // then after so long that there is a control record.
                let site = 1 + (n * n / 3 + task) as usize % (SITES - 1);
                ts += if n % 50 == 49 { 1 << 37 } else { 1 };
                if rig.log(ring, ts, site as u32, &[0; 64][..n as usize % 64]) {
                    logged[site] += 1;
                }
            }
            if task % 4 != 0 {
                rig.retire(ring, task);
            }
        }
        let mut found = rig.counts();
        assert!(found.iter().sum::<u64>() > 5000);
        for (_, site, _) in (0..40).flat_map(|id| rig.read(id).records) {
            found[site as usize] += 1;
        }
        assert_eq!(found, logged);
    }
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
    assert_eq!(rig.pool.gone().0, 300);
    assert_eq!(rig.count_pages(), 6);
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
                    // A thread that is held up while it holds the only shelf keeps it for as long:
                    // nobody waits, but there may be no ring for a moment, and what the others have
                    // left by then is for who looks after the pool.
                    let ring = loop {
                        if let Some(ring) = rig.adopt(t) {
                            break ring;
                        }
                        std::thread::yield_now();
                        rig.pool.collect();
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
    rig.pool.drain_retired();
    assert_eq!(rig.count_pages(), 16);
    assert_eq!(rig.pool.retired(), 0);
    assert_eq!(rig.pool.free(), 16);
    let lost: u64 = rig.pool.gone().1.iter().sum();
    assert_eq!(lost, u64::from(failed.into_inner()));
    assert_eq!(rig.pool.gone().0 + lost, u64::from(tried.into_inner()));
}

/// Chunks of a page.
const PARTS: i32 = 16;
/// Bytes of a chunk.
const CHUNK: u32 = PAGE as u32 / PARTS as u32;

/// Logs records of 16 bytes until the ring holds `bytes`.
fn fill(rig: &Rig, ring: &Ring, bytes: u32) {
    for n in 0..1_000_000u64 {
        if ring.held() >= bytes {
            return;
        }
        rig.log(ring, n, 1, &n.to_ne_bytes());
    }
    panic!("the ring holds {} bytes only", ring.held());
}

#[test]
fn first_pages_are_chunks_and_sixteen_rings_share_a_page() {
    let rig = Rig::with_chunks(8, 16, 0);
    let rings: Vec<_> = (0..PARTS).map(|pid| rig.adopt(pid).unwrap()).collect();
    for ring in &rings {
        assert!(rig.log(ring, 0, 1, &[0; 8]));
        assert_eq!(ring.held(), CHUNK);
    }
    let levels = rig.pool.levels();
    assert_eq!((levels.pages_split, levels.chunks_free), (1, 0));
    assert_eq!((levels.hits[Hit::Page as usize], levels.hits[Hit::Chunk as usize]), (1, 15));
    assert_eq!(rig.pool.free(), 7);
    // The next page of a ring is a whole one.
    for n in 0..40u64 {
        assert!(rig.log(rings[0], n, 1, &n.to_ne_bytes()));
    }
    assert_eq!(rings[0].held(), CHUNK + PAGE as u32);
    // Chunks of tasks that have ended come back as a page as soon as there are all of them.
    for ring in &rings {
        rig.retire(ring, 1);
    }
    assert_eq!(rig.pool.retired(), 16);
    rig.pool.drain_retired();
    assert_eq!(rig.pool.retired(), 0);
    let levels = rig.pool.levels();
    assert_eq!((levels.pages_split, levels.chunks_free), (0, 0));
    assert_eq!(rig.pool.free(), 8);
}

#[test]
fn a_page_that_is_split_whole_and_split_again_is_listed_once() {
    let rig = Rig::with_chunks(1, 8, 0);
    for round in 0..20u64 {
        let rings: Vec<_> = (0..8).map(|pid| rig.adopt(pid).unwrap()).collect();
        for ring in &rings {
            assert!(rig.log(ring, round, 1, &round.to_ne_bytes()));
        }
        for ring in &rings {
            rig.retire(ring, round);
        }
        assert_eq!(rig.pool.retired(), 8);
        rig.pool.drain_retired();
        assert_eq!(rig.pool.retired(), 0);
        assert_eq!(rig.count_pages(), 1);
    }
}

#[test]
fn who_has_no_page_at_hand_gets_what_others_can_spare() {
    // 64 pages on 4 shelves: 16 each, of which 2 are for rings that hold nothing.
    let rig = Rig::with_chunks(64, 4, 4);
    let pages = rig.pool.pages(2, false);
    let page = PAGE as u32;
    let take = |n| (0..n).map(|_| pages.take(page, page, page)).collect::<Vec<_>>();
    let levels = || {
        let levels = rig.pool.levels();
        (levels.hits[Hit::Page as usize], levels.hits[Hit::Other as usize], levels.pages_free)
    };
    let mut held = take(14);
    assert_eq!(levels(), (14, 0, 50));
    held.extend(take(8));
    assert_eq!(levels(), (14, 8, 42));
    // Each keeps its reserve.
    held.extend(take(64));
    assert_eq!(rig.pool.free(), 8);
    // It goes to rings that have nothing, to the last page.
    let first = || pages.take(0, page, page);
    held.extend(std::iter::from_fn(|| first().map(Some)));
    assert_eq!(rig.pool.free(), 0);
    for index in held.into_iter().flatten() {
        // SAFETY: It was taken above.
        unsafe { pages.put(index) };
    }
    assert_eq!(rig.count_pages(), 64);
}

#[test]
fn chunks_of_a_page_that_another_cpu_has_split_before_are_used_up_first() {
    let rig = Rig::with_chunks(4, 40, 2);
    let take = |cpu| {
        let pages = rig.pool.pages(cpu, false);
        pages.take(0, CHUNK, CHUNK).unwrap()
    };
    // CPU 1 splits a page, and CPU 0 makes it whole: it is CPU 0's then, but in CPU 1's slab.
    let all: Vec<_> = (0..PARTS).map(|_| take(1)).collect();
    for index in all {
        // SAFETY: It was taken above.
        unsafe { rig.pool.pages(0, false).put(index) };
    }
    assert_eq!(rig.pool.free(), 4);
    for _ in 0..2 * PARTS {
        take(0);
        let levels = rig.pool.levels();
        assert!(levels.chunks_free < PARTS as u32, "a page is split while there are chunks");
    }
}

#[test]
fn the_rings_that_retired_first_go_first_on_whatever_shelf_they_are() {
    for order in [[0, 1, 0, 1, 0, 1, 0, 1], [1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 1, 0, 0, 1]] {
        let rig = Rig::with_chunks(16, 8, 2);
        let rings: Vec<_> = (0..8).map(|pid| rig.adopt(pid).unwrap()).collect();
        for ((ring, cpu), clock) in rings.iter().zip(order).zip(100u64..) {
            assert!(rig.log(ring, 0, 1, &[0; 8]));
            set_cpu(cpu);
            rig.retire(ring, clock);
        }
        for cpu in 0..8 {
            set_cpu(cpu % 2);
            assert_eq!(rig.adopt(9).unwrap().id(), rings[cpu as usize].id(), "{order:?}");
        }
    }
}

#[test]
fn a_newcomer_is_served_although_others_hold_all() {
    let mut rig = Rig::with_chunks(64, 8, 1);
    rig.pool.set_reserve(0);
    let hog = rig.adopt(1).unwrap();
    fill(&rig, hog, 63 * PAGE as u32);
    while let Some(page) = rig.pool.take_free() {
        // Nothing is free.
        let _ = page;
    }
    while rig.pool.levels().chunks_free > 0 {
        let pages = rig.pool.pages(0, false);
        pages.take(0, CHUNK, CHUNK).unwrap();
    }
    let before = hog.held();
    let new = rig.adopt(2).unwrap();
    for n in 0..10u64 {
        assert!(rig.log(new, n, 1, &n.to_ne_bytes()));
    }
    assert_eq!(new.held(), CHUNK);
    assert!(hog.held() < before && hog.held() + 2 * PAGE as u32 >= before);
    assert!(rig.pool.levels().hits[Hit::Stolen as usize] > 0);
    // It gets as much as the other one has, but not more.
    for n in 10..20_000u64 {
        assert!(rig.log(new, n, 1, &n.to_ne_bytes()));
    }
    let (a, b) = (hog.held(), new.held());
    assert!(a.abs_diff(b) <= 2 * PAGE as u32, "{a} and {b}");
    // Neither takes the other's from then on.
    let stolen = rig.pool.levels().hits[Hit::Stolen as usize];
    for n in 20_000..40_000u64 {
        assert!(rig.log(new, n, 1, &n.to_ne_bytes()));
        assert!(rig.log(hog, n + 100_000, 1, &n.to_ne_bytes()));
    }
    assert_eq!(rig.pool.levels().hits[Hit::Stolen as usize], stolen);
    assert!(new.held().abs_diff(hog.held()) <= 2 * PAGE as u32);

    // Where nothing may be stolen, a newcomer gets nothing.
    rig.steal = false;
    let late = rig.adopt(3).unwrap();
    while rig.pool.levels().chunks_free > 0 {
        rig.pool.pages(0, false).take(0, CHUNK, CHUNK).unwrap();
    }
    assert!(!rig.log(late, 0, 1, &[0; 8]));
}

#[test]
fn a_ring_that_holds_much_is_found_behind_many_that_hold_little() {
    let rig = Rig::with_chunks(64, 300, 1);
    rig.pool.set_reserve(0);
    let small: Vec<_> = (0..280).map(|pid| rig.adopt(pid).unwrap()).collect();
    let hog = rig.adopt(1000).unwrap();
    for ring in &small[..200] {
        assert!(rig.log(ring, 0, 1, &[0; 8]));
    }
    for n in 0..20_000u64 {
        assert!(rig.log(hog, n, 1, &n.to_ne_bytes()));
    }
    // Each look is bounded, so it may take a few until one gets to the ring that has enough; from
    // then on it is the first that is asked.
    let served = small[200..].iter().filter(|ring| rig.log(ring, 0, 1, &[0; 8])).count();
    assert!(served >= 75, "{served} of 80");
    assert!(small[..200].iter().all(|ring| ring.held() == CHUNK));
}

#[test]
fn chunks_of_ended_tasks_become_a_page_for_who_needs_one() {
    let rig = Rig::with_chunks(4, 80, 0);
    rig.pool.set_reserve(0);
    let rings: Vec<_> = (0..4 * PARTS).map(|pid| rig.adopt(pid).unwrap()).collect();
    for ring in &rings {
        assert!(rig.log(ring, 0, 1, &[0; 8]));
    }
    assert_eq!(rig.pool.free(), 0);
    for ring in &rings {
        rig.retire(ring, 1);
    }
    let new = rig.adopt(100).unwrap();
    // Longer than a chunk.
    assert!(rig.log(new, 0, 1, &[0; 1000]));
    assert_eq!(new.held(), PAGE as u32);
    let left = rings.iter().filter(|ring| ring.held() > 0).count();
    assert_eq!(left, 48, "no more than needed has gone");
    assert_eq!(rig.count_pages(), 4);
}

#[test]
fn all_levels_under_storms_lose_nothing_and_readers_see_whole_records() {
    let rig = Rig::with_chunks(48, 64, 4);
    let (stop, copies) = (AtomicU32::new(0), AtomicU32::new(0));
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            while stop.load(Relaxed) == 0 {
                for (index, header) in rig.parts() {
                    let Some(copy) = rig.copy(index, header.seq()) else {
                        continue;
                    };
                    let info = page_info(&copy);
                    let mut read = Read::default();
                    read.page(&info, &copy);
                    for (i, (_, ring, payload)) in (info.first..).zip(read.records) {
                        let n = u64::from_ne_bytes(payload[..8].try_into().unwrap());
                        assert_eq!((ring - 1, n), (info.ring, i), "a foreign record");
                    }
                    copies.fetch_add(1, Relaxed);
                }
            }
        });
        let writers: Vec<_> = (0..4)
            .map(|t| {
                let (rig, copies) = (&rig, &copies);
                scope.spawn(move || {
                    set_cpu(t);
                    // On a busy machine the reader may come late: they go on until it has been
                    // there.
                    for i in 0..1_000_000u64 {
                        if i >= 3000 && copies.load(Relaxed) > 100 {
                            break;
                        }
                        let Some(ring) = rig.adopt(t as i32) else {
                            std::thread::yield_now();
                            rig.pool.collect();
                            continue;
                        };
                        // Many are small, some are large.
                        let records = if i % 7 == 0 { i % 3000 } else { i % 11 };
                        let mut n = 0u64;
                        for _ in 0..records {
                            n += u64::from(rig.log(ring, n, ring.id() + 1, &n.to_ne_bytes()));
                        }
                        rig.retire(ring, i);
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.join().unwrap();
        }
        stop.store(1, Relaxed);
        reader.join().unwrap();
        assert!(copies.load(Relaxed) > 100);
    });
    // All but the reserve, of a page for each shelf.
    assert_eq!(rig.pool.fair(), 44 * PAGE as u32, "no ring is live");
    rig.pool.drain_retired();
    assert_eq!(rig.pool.rings_free(), 64);
    assert_eq!(rig.count_pages(), 48);
    let levels = rig.pool.levels();
    assert_eq!((levels.chunks_free, levels.pages_split), (0, 0));
}
