// SPDX-License-Identifier: GPL-2.0

//! The order of the pool's levels: shares, and memory that others have left.

use crate::pool::{Hit, Store};
use crate::rig::{set_cpu, Rig, ROOMS};
use kernel::blog::ring::{Pages, Ring};
use kernel::blog::wire::page::RINGS_MAGIC;
use std::sync::atomic::Ordering::Relaxed;

#[test]
fn a_ring_s_share_is_of_all_pages() {
    let rig = Rig::with_rooms(64, 8, 4);
    assert_eq!(rig.pool.fair(), 64);
    // A task has ended that is not counted yet.
    rig.pool.add_live(u32::MAX);
    assert_eq!(rig.pool.fair(), 64);
    rig.pool.add_live(1);
    let rings = [rig.adopt(1).unwrap(), rig.adopt(2).unwrap()];
    assert_eq!(rig.pool.fair(), 32);
    rig.pool.add_live(5);
    assert_eq!(rig.pool.fair(), 64 / 7);
    rig.retire(rings[0], 1);
    assert_eq!(rig.pool.fair(), 64 / 6);
    // Who gets no ring has no share.
    while rig.adopt(3).is_some() {}
    let fair = rig.pool.fair();
    assert!((0..9).all(|_| rig.adopt(4).is_none()));
    assert_eq!(rig.pool.fair(), fair);
}

#[test]
fn a_ring_without_a_page_gets_one_though_there_are_more_rings_than_pages() {
    let rig = Rig::with_rooms(2, 8, 1);
    let hog = rig.adopt(1).unwrap();
    fill(&rig, hog, 2);
    let rings: Vec<_> = (2..9).map(|pid| rig.adopt(pid).unwrap()).collect();
    assert_eq!(rig.pool.fair(), 0);
    assert!(rig.log(rings[0], 0, 1, &[0; 1000]));
    assert_eq!((hog.pages(), rings[0].pages()), (1, 1));
}

/// Logs records of 16 bytes until the ring holds so many pages.
fn fill(rig: &Rig, ring: &Ring, pages: u32) {
    let done = (0..100_000u64).any(|n| ring.pages() >= pages || !rig.log(ring, n, 1, &[0; 8]));
    assert!(done && ring.pages() >= pages, "the ring holds {} pages only", ring.pages());
}

#[test]
fn rings_for_warnings_have_one_share_together() {
    let rig = Rig::with_rooms(64, 2, 1);
    while rig.adopt(1).is_some() {}
    let [one, other] = [0, 1].map(|id| rig.ring(id).unwrap());
    assert_eq!(rig.pool.warn_pages(0), 0, "there is no share");
    rig.pool.warn_share.store(8, Relaxed);
    assert_eq!([rig.pool.warn_pages(0), rig.pool.warn_pages(1)], [8, 8]);
    fill(&rig, one, 5);
    assert_eq!([rig.pool.warn_pages(0), rig.pool.warn_pages(1)], [8, 3]);
    fill(&rig, other, 3);
    assert_eq!([rig.pool.warn_pages(0), rig.pool.warn_pages(1)], [5, 3]);
    fill(&rig, one, 9);
    assert_eq!(rig.pool.warn_pages(1), 1, "each has one page");
}

#[test]
fn warnings_keep_their_share_though_it_is_more_than_a_ring_s() {
    for share in [0, 4] {
        let rig = Rig::with_rooms(16, 16, 1);
        while rig.adopt(1).is_some() {}
        rig.pool.warn_share.store(share, Relaxed);
        let warnings = rig.ring(0).unwrap();
        fill(&rig, warnings, 3);
        // Each other ring wants a page, and has it where the ring for warnings has no right to its own.
        for id in 1..16 {
            rig.log(rig.ring(id).unwrap(), 0, 1, &[0; 1000]);
        }
        assert_eq!(warnings.pages(), if share == 0 { 1 } else { 3 });
    }
}

#[test]
fn free_pages_go_before_what_ended_tasks_have() {
    let rig = Rig::with_rooms(16, 8, 2);
    let take = |cpu| rig.pool.pages(cpu, false).take(1);
    let ring = rig.adopt(1).unwrap();
    assert!(rig.log(ring, 0, 1, &[0; 1000]));
    rig.retire(ring, 1);
    let hits = |hit: Hit| rig.pool.levels().hits[hit as usize];
    for _ in 0..15 {
        assert!(take(1).is_some());
    }
    assert_eq!((hits(Hit::Retired), rig.pool.free(), rig.pool.retired()), (0, 0, 1));
    assert!(take(1).is_some());
    assert_eq!((hits(Hit::Retired), rig.pool.rings_free(), rig.pool.retired()), (1, 8, 0));
    assert_eq!((take(1), take(0), hits(Hit::Dry)), (None, None, 2));
}

/// Few pages, or rings, of a shelf may just be passing: others look for them last.
#[test]
fn the_last_few_of_another_shelf_are_found() {
    let rig = Rig::with_rooms(2, 3, 2);
    let ring = rig.adopt(1).unwrap();
    assert!(rig.log(ring, 0, 1, &[0; 1000]));
    rig.retire(ring, 1);
    let take = || rig.pool.pages(1, false).take(1);
    assert!(take().is_some() && take().is_some());
    let levels = rig.pool.levels();
    let hits = [Hit::Page, Hit::Retired, Hit::Other].map(|hit| levels.hits[hit as usize]);
    // The ring's own, and one of each other level.
    assert_eq!(hits, [1, 1, 1]);
    set_cpu(1);
    let ids = [(); 4].map(|()| rig.adopt(2).map(|ring| ring.id()));
    assert!(ids[..3].iter().all(Option::is_some) && ids[3].is_none(), "{ids:?}");
}

#[test]
fn the_kernel_gets_free_pages_back_and_then_those_of_ended_tasks() {
    let rig = Rig::with_rooms(4, 40, 2);
    let rings: Vec<_> = (0..17).map(|pid| rig.adopt(pid).unwrap()).collect();
    for (n, ring) in rings.iter().enumerate() {
        assert!(rig.log(ring, 0, 1, &vec![0; if n < 2 { 1000 } else { 8 }]));
    }
    for ring in &rings {
        rig.retire(ring, 1);
    }
    assert_eq!((rig.pool.free(), rig.pool.retired()), (2, 17));
    let mut pages: Vec<_> = (0..2).filter_map(|_| rig.pool.take_back()).collect();
    assert_eq!((rig.pool.free(), rig.pool.retired()), (0, 17));
    pages.extend(std::iter::from_fn(|| rig.pool.take_back()));
    pages.sort_unstable();
    assert_eq!(pages, [0, 1, 2, 3]);
    // The others have nothing but their own pages.
    assert_eq!((rig.pool.retired(), rig.pool.rings_free()), (15, 25));
}

#[test]
fn there_is_no_page_where_the_pool_is_closed() {
    let rig = Rig::with_rooms(4, 4, 1);
    let take = |closed| {
        let mut pages = rig.pool.pages(0, true);
        pages.closed = closed;
        pages.take(0)
    };
    assert_eq!(take(true), None);
    assert!(take(false).is_some());
}

#[test]
fn the_last_ring_of_another_shelf_is_found() {
    let rig = Rig::with_rooms(1, 2, 2);
    set_cpu(1);
    let [ended, other] = [1, 2].map(|pid| rig.adopt(pid).unwrap());
    fill(&rig, ended, 1);
    rig.retire(ended, 1);
    // It takes the page, and leaves the ring there.
    assert!(rig.log(other, 0, 1, &[0; 1000]));
    set_cpu(0);
    assert_eq!(rig.adopt(3).map(Ring::id), Some(ended.id()));
}

#[test]
fn rings_are_made_of_pages_before_those_of_ended_tasks_are_taken() {
    let rig = Rig::with_rings_of_pages(16, 9, 2);
    let rings: Vec<_> = (0..9).map(|pid| rig.adopt(pid).unwrap()).collect();
    let mut ids: Vec<_> = rings.iter().map(|ring| ring.id()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..9).collect::<Vec<_>>());
    // Two pages, of which no record is any more.
    assert_eq!((rig.pool.free(), rig.pool.store.data_pages()), (14, 14));
    assert!(rig.adopt(9).is_none());
    assert!(rig.log(rings[3], 0, 1, &[0; 8]));
    rig.retire(rings[3], 1);
    assert_eq!(rig.adopt(10).map(|ring| ring.id()), Some(rings[3].id()));
}

#[test]
fn a_page_for_rings_comes_from_who_holds_the_most_where_none_is_free() {
    let rig = Rig::with_rings_of_pages(8, 5, 1);
    let hog = rig.adopt(1).unwrap();
    while rig.pool.free() > 0 || hog.pages() < 7 {
        rig.log(hog, 0, 1, &[0; 1000]);
        if rig.pool.free() == 1 {
            let last = rig.pool.take_free();
            assert!(last.is_some());
        }
    }
    let new = rig.adopt(2).unwrap();
    assert_eq!((new.id(), hog.pages()), (1, 6));
    assert!(rig.log(new, 0, 1, &[0; 8]));
    // Where nobody may be made to give one up, there is no ring.
    let mut rig = Rig::with_rings_of_pages(1, 5, 1);
    rig.steal = false;
    let only = rig.adopt(1).unwrap();
    assert!(rig.log(only, 0, 1, &[0; 1000]));
    assert!(rig.adopt(2).is_none());
}

#[test]
fn a_page_that_becomes_rings_is_no_page_for_readers() {
    let rig = Rig::with_rings_of_pages(1, 5, 1);
    let ring = rig.adopt(1).unwrap();
    assert!(rig.log(ring, 0, 1, &[0; 1000]));
    let seqs = || rig.parts().map(|(n, page)| (n, page.seq())).filter(|(_, seq)| *seq != 0);
    assert_eq!(seqs().collect::<Vec<_>>(), [(0, 1)]);
    rig.retire(ring, 1);
    let ring = rig.adopt(2).unwrap();
    assert_eq!((ring.id(), seqs().count()), (1, 0));
    assert!(rig.copy(0, 1).is_none());
    // SAFETY: It begins with a header, of which this is the first word.
    let magic = unsafe { rig.slots()[0].page().cast::<u32>().read() };
    assert_eq!(magic, RINGS_MAGIC);
    assert!(rig.log(ring, 0, 1, &[0; 8]));
    assert_eq!(seqs().collect::<Vec<_>>(), [(ROOMS + 1, 1)]);
}

/// All that one can do with a pool on CPU 0.
fn use_all(rig: &Rig) -> bool {
    let pages = rig.pool.pages(0, true);
    let pages = [0, 1].map(|held| pages.take(held));
    for page in pages.into_iter().flatten() {
        rig.pool.put(0, page);
    }
    let Some(ring) = rig.adopt(1) else {
        return false;
    };
    let logged = rig.log(ring, 0, 1, &[0; 1000]);
    rig.retire(ring, 1);
    logged && pages.iter().all(Option::is_some)
}

#[test]
fn who_finds_a_shelf_held_goes_on_to_the_next_one() {
    let rig = Rig::with_rooms(16, 16, 2);
    // As if this had interrupted the holder: it can't end before this does.
    let held = rig.shelf(0).lists.claim().unwrap();
    let before = rig.shelf(0).lists.look().pages.len();
    for _ in 0..100 {
        assert!(use_all(&rig));
    }
    assert_eq!(rig.shelf(0).lists.look().pages.len(), before);
    drop(held);
    rig.pool.drain_retired();
    assert_eq!((rig.count_pages(), rig.pool.rings_free()), (16, 16));
}

#[test]
fn what_finds_no_shelf_is_left_until_somebody_looks() {
    let rig = Rig::with_rooms(4, 4, 2);
    let page = rig.pool.pages(0, true).take(0).unwrap();
    let rings = [rig.adopt(1).unwrap(), rig.adopt(2).unwrap()];
    assert!(rig.log(rings[0], 0, 1, &[0; 8]));
    let held = [0, 1].map(|n| rig.shelf(n).lists.claim().unwrap());
    rig.pool.put(0, page);
    for ring in rings {
        rig.retire(ring, 1);
    }
    assert!(!use_all(&rig), "there is no shelf to be had");
    rig.pool.collect();
    assert_eq!((rig.pool.retired(), rig.pool.rings_free()), (0, 2));
    drop(held);
    rig.pool.collect();
    assert_eq!((rig.pool.retired(), rig.pool.rings_free()), (1, 3));
    rig.pool.drain_retired();
    assert_eq!((rig.count_pages(), rig.pool.rings_free()), (4, 4));
    assert_eq!(rig.pool.free(), 4);
}
