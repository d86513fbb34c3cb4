// SPDX-License-Identifier: GPL-2.0

//! Properties of the pool: nothing is lost, nothing is handed out twice, the oldest goes first.

use crate::pool::{Hit, List};
use crate::rig::{page_info, pages::balance, set_cpu, Read, Rig, SITES};
use kernel::blog::ring::{Pages, Ring, ROOM};
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
        let all: Vec<_> = std::iter::from_fn(|| list.pop(next)).take(9).collect();
        assert_eq!(all, [2, 0, 1, 3]);
    }
    for i in 0..3 {
        list.push_last(next, i);
    }
    let all: Vec<_> = std::iter::from_fn(|| list.pop(next)).take(9).collect();
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
    assert!(left.account.first > Some(0));
    assert_eq!((left.adds_up(&rings[1].info().unwrap()), left.account.next), (Ok(()), 300));
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
    assert_eq!(balance(tried.into_inner().into(), rig.pool.gone().0, lost), Ok(()));
}

/// Logs records of 16 bytes until the ring holds so many pages.
fn fill(rig: &Rig, ring: &Ring, pages: u32) {
    for n in 0..1_000_000u64 {
        if ring.pages() >= pages {
            return;
        }
        rig.log(ring, n, 1, &n.to_ne_bytes());
    }
    panic!("the ring holds {} pages only", ring.pages());
}

/// Records of 16 bytes that a ring has room for.
const IN_ROOM: u64 = (ROOM as u64 - 48) / 16;

#[test]
fn first_records_are_in_the_ring_s_own_page() {
    let rig = Rig::with_rooms(2, 3, 0);
    let rings: Vec<_> = (0..3).map(|pid| rig.adopt(pid).unwrap()).collect();
    for ring in &rings {
        for n in 0..IN_ROOM {
            assert!(rig.log(ring, n, 1, &n.to_ne_bytes()));
        }
        assert_eq!((ring.pages(), rig.read(ring.id()).records.len() as u64), (0, IN_ROOM));
    }
    assert_eq!(rig.pool.free(), 2);
    // They go on in pages, and what is in the rings stays.
    for ring in &rings[..2] {
        assert!(rig.log(ring, IN_ROOM, 1, &[0; 8]));
        let account = rig.read(ring.id()).account;
        assert_eq!((ring.pages(), account.first, account.decoded), (1, Some(0), IN_ROOM + 1));
    }
    // A ring that gets no page goes on in its own.
    assert!(rig.log(rings[2], IN_ROOM, 1, &[0; 8]));
    let read = rig.read(rings[2].id());
    assert_eq!((rings[2].pages(), read.account.first, read.account.decoded), (0, Some(IN_ROOM), 1));
    // Those of tasks that have ended go when their ring is needed.
    for ring in &rings {
        rig.retire(ring, 1);
    }
    assert_eq!(rig.pool.retired(), 3);
    let next = rig.adopt(9).unwrap();
    assert_eq!((next.id(), rig.read(next.id()).records.len()), (rings[2].id(), 0));
    assert_eq!(rig.pool.retired(), 2, "those with pages are there");
    assert_eq!(rig.pool.gone().0, IN_ROOM + 1);
    rig.retire(next, 2);
    rig.pool.drain_retired();
    assert_eq!((rig.pool.retired(), rig.pool.free(), rig.pool.rings_free()), (0, 2, 3));
}

/// A ring whose own page is left is found by who needs a ring, and by nobody who needs a page.
#[test]
fn who_needs_a_page_wipes_no_room_for_it() {
    let rig = Rig::with_rooms(1, 40, 1);
    let rings: Vec<_> = (0..39).map(|pid| rig.adopt(pid).unwrap()).collect();
    for ring in &rings {
        assert!(rig.log(ring, 0, 1, &[0; 8]));
        rig.retire(ring, 1);
    }
    let hog = rig.adopt(40).unwrap();
    for n in 0..3000u64 {
        assert!(rig.log(hog, n, 1, &n.to_ne_bytes()));
    }
    assert!(rings.iter().all(|ring| rig.read(ring.id()).records.len() == 1));
}

#[test]
fn who_has_no_page_at_hand_gets_what_others_have() {
    // 64 pages on 4 shelves: 16 each.
    let rig = Rig::with_rooms(64, 4, 4);
    let pages = rig.pool.pages(2, false);
    let take = |n| (0..n).map(|_| pages.take(1)).collect::<Vec<_>>();
    let levels = || {
        let levels = rig.pool.levels();
        (levels.hits[Hit::Page as usize], levels.hits[Hit::Other as usize], levels.pages_free)
    };
    let mut held = take(16);
    assert_eq!(levels(), (16, 0, 48));
    held.extend(take(8));
    assert_eq!(levels(), (16, 8, 40));
    held.extend(take(64));
    assert_eq!(rig.pool.free(), 0);
    for index in held.into_iter().flatten() {
        // SAFETY: It was taken above.
        unsafe { pages.put(index) };
    }
    assert_eq!(rig.count_pages(), 64);
}

/// Whatever CPU a task ends on, its ring goes back to the shelf that it is from.
#[test]
fn rings_of_ended_tasks_go_in_order_on_the_shelf_that_they_are_from() {
    let rig = Rig::with_rooms(16, 8, 2);
    let adopt = |cpu| {
        set_cpu(cpu);
        rig.adopt(9).unwrap()
    };
    let rings: Vec<_> = (0..8).map(|n| adopt(n / 4)).collect();
    for (ring, cpu) in rings.iter().zip([0, 1, 0, 0, 1, 0, 1, 1]) {
        assert!(rig.log(ring, 0, 1, &[0; 8]));
        set_cpu(cpu);
        rig.retire(ring, 1);
    }
    for n in [4, 0, 1, 5, 6, 2, 7, 3] {
        assert_eq!(adopt(n / 4).id(), rings[n as usize].id());
    }
}

#[test]
fn a_newcomer_is_served_although_others_hold_all() {
    let mut rig = Rig::with_rooms(64, 8, 1);
    let hog = rig.adopt(1).unwrap();
    fill(&rig, hog, 63);
    while let Some(page) = rig.pool.take_free() {
        // Nothing is free.
        let _ = page;
    }
    let before = hog.pages();
    let new = rig.adopt(2).unwrap();
    for n in 0..IN_ROOM + 1 {
        assert!(rig.log(new, n, 1, &n.to_ne_bytes()));
    }
    assert_eq!((new.pages(), hog.pages()), (1, before - 1));
    assert!(rig.pool.levels().hits[Hit::Stolen as usize] > 0);
    // It gets as much as the other one has, but not more.
    for n in 20..20_000u64 {
        assert!(rig.log(new, n, 1, &n.to_ne_bytes()));
    }
    let (a, b) = (hog.pages(), new.pages());
    assert!(a.abs_diff(b) <= 2, "{a} and {b}");
    // Neither takes the other's from then on.
    let stolen = rig.pool.levels().hits[Hit::Stolen as usize];
    for n in 20_000..40_000u64 {
        assert!(rig.log(new, n, 1, &n.to_ne_bytes()));
        assert!(rig.log(hog, n + 100_000, 1, &n.to_ne_bytes()));
    }
    assert_eq!(rig.pool.levels().hits[Hit::Stolen as usize], stolen);
    assert!(new.pages().abs_diff(hog.pages()) <= 2);

    // Where nothing may be stolen, a newcomer gets its own page, and no other.
    rig.steal = false;
    let late = rig.adopt(3).unwrap();
    assert!(rig.log(late, 0, 1, &[0; 8]));
    assert!(!rig.log(late, 0, 1, &[0; 1000]));
}

#[test]
fn a_ring_that_holds_much_is_found_behind_many_that_hold_little() {
    let rig = Rig::with_rooms(300, 300, 1);
    while rig.adopt(1).is_some() {}
    // One look doesn't get to the last one.
    let small: Vec<_> = (0..280).map(|id| rig.ring(id).unwrap()).collect();
    let hog = rig.ring(299).unwrap();
    for ring in &small[..200] {
        assert!(rig.log(ring, 0, 1, &[0; 1000]));
    }
    for n in 0..30_000u64 {
        assert!(rig.log(hog, n, 1, &n.to_ne_bytes()));
    }
    // Each look is bounded, so it may take a few until one gets to the ring that has enough; from
    // then on it is the first that is asked.
    let served = small[200..].iter().filter(|ring| rig.log(ring, 0, 1, &[0; 1000])).count();
    assert!(served >= 75, "{served} of 80");
    assert!(small[..200].iter().all(|ring| ring.pages() == 1));
}

#[test]
fn all_levels_under_storms_lose_nothing_and_readers_see_whole_records() {
    let rig = Rig::with_rooms(48, 64, 4);
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
                    read.page(&copy);
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
    assert_eq!(rig.pool.fair(), 48, "no ring is live");
    rig.pool.drain_retired();
    assert_eq!(rig.pool.rings_free(), 64);
    assert_eq!(rig.count_pages(), 48);
}
