// SPDX-License-Identifier: GPL-2.0

//! Models of the pool's levels below a ring. These hold for any order of the threads:
//!
//! - *Once*: a page, or a chunk of it, is in one hand or in one level.
//! - *Seen*: a taker sees what was done to it before, as a part of a page or as a whole one.
//! - *Whole*: when all chunks of a page are free, they are a page again.
//! - *Shape*: a reader's copy is of a time at which the page had the shape that the reader assumes.

use crate::blog::ring::{Mode, Owner, PageHeader, Pages, Ring};
use crate::blog::wire::{
    page::PAGE_HEADER_SIZE,
    record::{Context, CONTROL_SIZE, LOST_CAUSES},
};
use crate::claims::Things;
use crate::pool::{Index, Sizes};
use crate::rig::{page_info, Rig};
use crate::{model, model_with, thread};
use std::sync::Arc;

/// Pages of two chunks; nobody puts records there.
const TINY: Sizes = Sizes { page: 2 * PAGE_HEADER_SIZE as u32, chunk: PAGE_HEADER_SIZE as u32 };

/// A component whose pages are handed about as such.
struct Shared {
    rig: Box<Rig>,
    things: Things,
}

impl std::ops::Deref for Shared {
    type Target = Rig;

    fn deref(&self) -> &Rig {
        &self.rig
    }
}

impl Shared {
    fn new(rig: Box<Rig>, things: u32) -> Arc<Self> {
        let things = Things::new(things);
        Arc::new(Self { rig, things })
    }

    /// Takes a chunk, or with `whole` a page, and uses all of it.
    fn take(&self, whole: bool) -> Option<Index> {
        self.take_on(0, whole)
    }

    fn take_on(&self, cpu: u32, whole: bool) -> Option<Index> {
        let pages = self.pool.pages(cpu, false);
        let size = if whole { self.sizes().page } else { 1 };
        let index = Index(pages.take(u32::from(whole), size, self.sizes().page)?);
        self.parts(index, |part| self.things.hold(part));
        Some(index)
    }

    /// Does something more with it.
    fn touch(&self, index: Index) {
        self.parts(index, |part| {
            self.things.leave(part);
            self.things.hold(part);
        });
    }

    fn put(&self, index: Index) {
        self.put_on(0, index);
    }

    fn put_on(&self, cpu: u32, index: Index) {
        self.parts(index, |part| self.things.leave(part));
        // SAFETY: The models put back what they took.
        unsafe { self.pool.pages(cpu, false).put(index.0) };
    }

    fn parts(&self, index: Index, f: impl FnMut(u32)) {
        let chunks = self.sizes().chunks().max(1);
        let first = index.slot() * chunks;
        match index.part() {
            Some(part) => [first + part].into_iter().for_each(f),
            None => (first..first + chunks).for_each(f),
        }
    }
}

/// Two shelves: one takes its pages while the other one, which has none, takes some of them.
#[test]
fn pages_go_from_shelf_to_shelf() {
    model(|| {
        let sizes = Sizes { chunk: 0, ..TINY };
        // The first two are on the first shelf, and nothing is kept.
        let shared = Shared::new(Rig::with_sizes(2, 1, sizes, 2), 2);
        let other = shared.clone();
        let other = thread::spawn(move || {
            if let Some(page) = other.take_on(1, true) {
                other.touch(page);
                other.put_on(1, page);
            }
        });
        let held = [(); 2].map(|()| shared.take(true));
        for page in held.into_iter().flatten() {
            shared.put(page);
        }
        other.join().unwrap();
        assert_eq!(shared.count_pages(), 2, "a page was lost, or is there twice");
    });
}

/// A page with one free chunk; the other one is the caller's.
fn half_a_page() -> (Arc<Shared>, Index) {
    let shared = Shared::new(Rig::with_sizes(1, 1, TINY, 0), 2);
    let chunk = shared.take(false).unwrap();
    (shared, chunk)
}

/// Fails unless the page, with all chunks free, is whole again and can be split again.
fn check_whole(shared: &Shared) {
    assert_eq!(shared.count_free(), 1, "the page is not whole");
    let chunks = [(); 3].map(|()| shared.take(false).is_some());
    assert_eq!(chunks, [true, true, false]);
}

/// The last two chunks of a page come back at the same time: one makes the page, with all that was
/// done to the other one's chunk.
#[test]
fn two_chunks_become_a_page() {
    model(|| {
        let (shared, a) = half_a_page();
        let b = shared.take(false).unwrap();
        let other = shared.clone();
        let other = thread::spawn(move || {
            other.touch(b);
            other.put(b);
        });
        shared.touch(a);
        shared.put(a);
        if let Some(page) = shared.take(true) {
            shared.put(page);
        }
        other.join().unwrap();
        check_whole(&shared);
    });
}

/// A chunk goes from hand to hand while the other one comes back.
#[test]
fn a_chunk_is_taken_while_the_page_becomes_whole() {
    model(|| {
        let (shared, a) = half_a_page();
        let other = shared.clone();
        let other = thread::spawn(move || {
            if let Some(b) = other.take(false) {
                other.put(b);
            }
        });
        shared.touch(a);
        shared.put(a);
        if let Some(page) = shared.take(true) {
            shared.put(page);
        }
        other.join().unwrap();
        check_whole(&shared);
    });
}

/// One comes back with a chunk while somebody else has the only shelf, and leaves it; that one
/// looks after what was left.
#[test]
fn what_finds_no_shelf_is_found_when_somebody_looks() {
    model(|| {
        let (shared, a) = half_a_page();
        let b = shared.take(false).unwrap();
        let other = shared.clone();
        let other = thread::spawn(move || {
            other.touch(b);
            other.put(b);
        });
        shared.touch(a);
        shared.put(a);
        shared.pool.collect();
        if let Some(page) = shared.take(true) {
            shared.put(page);
        }
        other.join().unwrap();
        check_whole(&shared);
    });
}

/// One takes the page off the list, as it has no free chunk, while one comes back.
#[test]
fn a_chunk_that_comes_back_is_found() {
    model(|| {
        let (shared, a) = half_a_page();
        let b = shared.take(false).unwrap();
        let other = shared.clone();
        let other = thread::spawn(move || other.take(false));
        shared.put(a);
        match other.join().unwrap() {
            Some(again) => assert_eq!(again, a),
            None => {
                shared.pool.collect();
                assert_eq!(shared.take(false), Some(a), "lost");
            }
        }
        shared.put(a);
        shared.put(b);
        check_whole(&shared);
    });
}

/// Pages of two chunks, for a few records.
const SMALL: Sizes = Sizes {
    page: 2 * (PAGE_HEADER_SIZE as u32 + LOST_CAUSES as u32 * CONTROL_SIZE + 16),
    chunk: PAGE_HEADER_SIZE as u32 + LOST_CAUSES as u32 * CONTROL_SIZE + 16,
};

/// Bytes of a record that does not fit into a chunk.
const LARGE: u32 = SMALL.chunk;

/// A page that is in a ring as a whole, without a record, becomes chunks, the first of which is in
/// another ring at once: at the same position, and in as many lives. `copy` runs meanwhile, and is
/// given the rings' ids. Only the shape tells that the page is another one.
fn split_beside(copy: impl Fn(&Shared, u32, u32) + Sync + Send + 'static) {
    model(move || {
        let rig = Shared::new(Rig::with_sizes(1, 2, SMALL, 0), 0);
        let old = rig.adopt(1).unwrap().id();
        let new = rig.adopt(2).unwrap().id();
        let turn = |rig: &Shared, id, bytes, ts| {
            let pages = rig.pool.pages(0, false);
            let ring = rig.ring(id).unwrap();
            // SAFETY: The ring has no other writer, and all pages are of this pool.
            unsafe {
                let writing = ring.begin(|| ring.slot()).unwrap();
                assert!(writing.turn(&pages, Mode::Overwrite, SMALL.page, bytes, ts).is_ok());
            }
        };
        turn(&rig, old, LARGE, 5);
        // SAFETY: The ring has no writer any more.
        unsafe { rig.ring(old).unwrap().retire(9) };
        let thief = rig.clone();
        let thief = thread::spawn(move || {
            let pages = thief.pool.pages(0, false);
            // SAFETY: The ring has retired, and is this thread's.
            let page = unsafe { thief.ring(old).unwrap().steal_last(&pages) };
            // SAFETY: The ring has just given it up.
            unsafe { pages.put(page.unwrap()) };
            turn(&thief, new, 16, 6);
        });
        copy(&rig, old, new);
        thief.join().unwrap();
        let seq = |index: Index| rig.copy(index.0, 1).is_some();
        assert!(!seq(Index::whole(0)) && seq(Index::chunk(0, 0)) && !seq(Index::chunk(0, 1)));
    });
}

#[test]
fn a_copy_of_a_page_is_of_no_chunk() {
    split_beside(|rig, old, _| {
        if let Some(copy) = rig.copy(Index::whole(0).0, 1) {
            let info = page_info(&copy);
            assert_eq!((info.size, info.ring, info.base), (SMALL.page, old, 5));
        }
    });
}

#[test]
fn a_copy_of_a_chunk_is_of_no_page() {
    split_beside(|rig, _, new| {
        if let Some(copy) = rig.copy(Index::chunk(0, 0).0, 1) {
            let info = page_info(&copy);
            assert_eq!((info.size, info.ring, info.base), (SMALL.chunk, new, 6));
        }
    });
}

/// A chunk that is the only one there is.
struct Ghost(*mut PageHeader);

// SAFETY: As for the pool that it stands for.
unsafe impl Pages for Ghost {
    fn take(&self, _: u32, _: u32, _: u32) -> Option<u32> {
        Some(0)
    }
    unsafe fn put(&self, _: u32) {}
    fn page(&self, _: u32) -> *mut PageHeader {
        self.0
    }
    fn largest(&self) -> u32 {
        SMALL.chunk
    }
}

/// Somebody logs bytes that look like a page of a ring, where the second chunk will be when the
/// page is split: nobody takes them for one.
#[test]
fn a_payload_is_no_header() {
    model_with(1, || {
        let rig = Shared::new(Rig::with_sizes(1, 1, SMALL, 0), 2);
        let chunk = Index::chunk(0, 1);
        // The bytes are those that a ring makes. (Loom knows each word by one size.)
        let bytes = rig.slots()[0].header(chunk, SMALL).unwrap();
        // SAFETY: They are in a page of which nobody has more than the header.
        unsafe { PageHeader::format(bytes, SMALL.chunk) };
        // SAFETY: The rig keeps the header.
        let forger = Box::new(unsafe { Ring::new(7, 3, rig.empty()) });
        // SAFETY: As above, and the ring is nobody else's.
        unsafe {
            forger.adopt(&OWNER);
            let writing = forger.begin(|| 3).unwrap();
            assert!(writing.turn(&Ghost(bytes), Mode::Overwrite, SMALL.chunk, 16, 0).is_ok());
            assert!(PageHeader::copy(bytes, SMALL.chunk, 1, &mut [0; PAGE_HEADER_SIZE]).is_some());
        }
        let other = rig.clone();
        let other = thread::spawn(move || assert!(other.take(false).is_some()));
        assert!(rig.copy(chunk.0, 1).is_none(), "a forged page");
        other.join().unwrap();
    });
}

/// Somebody.
const OWNER: Owner = Owner { pid: 7, tgid: 7, ..Owner::new(Context::Task, 0) };
