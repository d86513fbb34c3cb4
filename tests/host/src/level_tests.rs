// SPDX-License-Identifier: GPL-2.0

//! The order of the pool's levels: shares, reserves, and memory that others have left.

use crate::pool::Hit;
use crate::rig::{Rig, PAGE};
use kernel::blog::ring::Pages;

const SIZE: u32 = PAGE as u32;
const CHUNK: u32 = SIZE / 16;

#[test]
fn a_ring_s_share_is_of_what_is_not_in_reserve() {
    // Two pages for each of four shelves are in reserve.
    let rig = Rig::with_chunks(64, 8, 4);
    assert_eq!(rig.pool.bytes(), 64 * SIZE);
    assert_eq!(rig.pool.fair(), 56 * SIZE);
    let rings = [rig.adopt(1).unwrap(), rig.adopt(2).unwrap()];
    assert_eq!(rig.pool.fair(), 28 * SIZE);
    rig.pool.add_live(5);
    assert_eq!(rig.pool.fair(), 8 * SIZE);
    rig.retire(rings[0], 1);
    assert_eq!(rig.pool.fair(), 56 * SIZE / 6);
    // Each shelf keeps as much.
    rig.pool.set_reserve(7);
    assert_eq!(rig.pool.fair(), 10 * SIZE);
}

#[test]
fn all_free_pages_are_kept_for_who_has_none() {
    let rig = Rig::with_chunks(8, 8, 2);
    rig.pool.set_reserve(u32::MAX);
    let pages = rig.pool.pages(0, false);
    assert_eq!(pages.take(SIZE, SIZE, SIZE), None);
    assert!(pages.take(0, SIZE, SIZE).is_some());
    rig.pool.set_reserve(1);
    assert!(pages.take(SIZE, SIZE, SIZE).is_some());
}

#[test]
fn what_ended_tasks_have_goes_before_the_reserve_of_other_cpus() {
    let rig = Rig::with_chunks(16, 8, 2);
    let take = |cpu, held| rig.pool.pages(cpu, false).take(held, SIZE, SIZE);
    let ring = rig.adopt(1).unwrap();
    assert!(rig.log(ring, 0, 1, &[0; 1000]));
    assert_eq!(ring.held(), SIZE);
    // Both shelves have their last page, and who came in vain has said so.
    let held = std::iter::from_fn(|| take(0, SIZE).or_else(|| take(1, SIZE)));
    assert_eq!((held.count(), rig.pool.free()), (13, 2));
    rig.retire(ring, 1);
    let before = rig.pool.levels();
    assert!(take(1, 0).is_some());
    assert_eq!(rig.pool.free(), 1);
    assert!(take(1, 0).is_some());
    let after = rig.pool.levels();
    assert_eq!(after.hits[Hit::Retired as usize], before.hits[Hit::Retired as usize] + 1);
    assert_eq!((rig.pool.free(), rig.pool.retired()), (1, 0));
    // With nothing else, that is taken too.
    assert!(take(1, 0).is_some());
    assert_eq!(rig.pool.levels().hits[Hit::Other as usize], before.hits[Hit::Other as usize] + 1);
    assert_eq!((take(1, 0), take(0, 0)), (None, None));
    assert_eq!(rig.pool.levels().hits[Hit::Dry as usize], after.hits[Hit::Dry as usize] + 2);
}

#[test]
fn the_kernel_gets_free_pages_back_and_then_those_of_ended_tasks() {
    let rig = Rig::with_chunks(4, 40, 2);
    let rings: Vec<_> = (0..17).map(|pid| rig.adopt(pid).unwrap()).collect();
    for ring in &rings {
        assert!(rig.log(ring, 0, 1, &[0; 8]));
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
    assert_eq!(rig.pool.retired(), 0);
    assert_eq!(rig.pool.rings_free(), 40);
}

#[test]
fn there_is_no_page_where_the_pool_is_closed() {
    let rig = Rig::with_chunks(4, 4, 1);
    let take = |closed| {
        let mut pages = rig.pool.pages(0, true);
        pages.closed = closed;
        pages.take(0, CHUNK, CHUNK)
    };
    assert_eq!(take(true), None);
    assert!(take(false).is_some());
}

#[test]
fn rings_are_made_of_pages_before_those_of_ended_tasks_are_taken() {
    let rig = Rig::with_rings_of_pages(16, 9, 2);
    let rings: Vec<_> = (0..9).map(|pid| rig.adopt(pid).unwrap()).collect();
    let mut ids: Vec<_> = rings.iter().map(|ring| ring.id()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..9).collect::<Vec<_>>());
    // Two pages, of which no record is any more.
    assert_eq!((rig.pool.free(), rig.pool.bytes()), (14, 14 * SIZE));
    assert!(rig.adopt(9).is_none());
    assert!(rig.log(rings[3], 0, 1, &[0; 8]));
    rig.retire(rings[3], 1);
    assert_eq!(rig.adopt(10).map(|ring| ring.id()), Some(rings[3].id()));
}

#[test]
fn a_page_for_rings_comes_from_who_holds_the_most_where_none_is_free() {
    let rig = Rig::with_rings_of_pages(8, 5, 1);
    let hog = rig.adopt(1).unwrap();
    while rig.pool.free() > 0 || hog.held() < 7 * SIZE {
        rig.log(hog, 0, 1, &[0; 1000]);
        if rig.pool.free() == 1 {
            let last = rig.pool.take_free();
            assert!(last.is_some());
        }
    }
    let new = rig.adopt(2).unwrap();
    assert_eq!((new.id(), hog.held()), (1, 6 * SIZE));
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
    let rig = Rig::with_rings_of_pages(4, 5, 1);
    let first = rig.adopt(1).unwrap();
    let seen = || rig.parts().count();
    assert_eq!((first.id(), seen()), (0, 4));
    assert!(rig.adopt(2).is_some());
    assert_eq!(seen(), 3);
}

#[test]
fn chunks_that_another_cpu_has_left_are_found() {
    let rig = Rig::with_chunks(1, 4, 4);
    let take = |cpu, held, most| {
        let pages = rig.pool.pages(cpu, false);
        pages.take(held, CHUNK, most)
    };
    let mut taken = vec![take(0, 0, CHUNK)];
    taken.extend((1..8).map(|cpu| take(cpu, 0, CHUNK)));
    // A ring that has something already would rather have a page, but there is none.
    taken.extend((0..8).map(|cpu| take(cpu, CHUNK, SIZE)));
    taken.sort_unstable();
    assert_eq!(taken, (0..16).map(Some).collect::<Vec<_>>());
    assert_eq!((take(0, 0, CHUNK), take(1, CHUNK, SIZE)), (None, None));
    let levels = rig.pool.levels();
    assert_eq!((levels.chunks_free, levels.pages_split, levels.hits[Hit::Dry as usize]), (0, 1, 2));
    assert_eq!(
        (
            levels.hits[Hit::Chunk as usize],
            levels.hits[Hit::Page as usize],
            levels.hits[Hit::Other as usize]
        ),
        (15, 1, 0)
    );
}

/// All that one can do with a pool on CPU 0.
fn use_all(rig: &Rig) -> bool {
    let pages = rig.pool.pages(0, true);
    let pages = [(0, CHUNK, CHUNK), (0, SIZE, SIZE), (SIZE, SIZE, SIZE)]
        .map(|(held, room, most)| pages.take(held, room, most));
    for page in pages.into_iter().flatten() {
        rig.pool.put(0, page);
    }
    let Some(ring) = rig.adopt(1) else {
        return false;
    };
    let logged = rig.log(ring, 0, 1, &[0; 8]);
    rig.retire(ring, 1);
    logged && pages.iter().all(Option::is_some)
}

#[test]
fn who_finds_a_shelf_held_goes_on_to_the_next_one() {
    let rig = Rig::with_chunks(16, 16, 2);
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
    let rig = Rig::with_chunks(4, 4, 2);
    let take = |held, room, most| rig.pool.pages(0, true).take(held, room, most).unwrap();
    let (chunk, page) = (take(0, CHUNK, CHUNK), take(0, SIZE, SIZE));
    let rings = [rig.adopt(1).unwrap(), rig.adopt(2).unwrap()];
    assert!(rig.log(rings[0], 0, 1, &[0; 8]));
    let held = [0, 1].map(|n| rig.shelf(n).lists.claim().unwrap());
    rig.pool.put(0, chunk);
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
