// SPDX-License-Identifier: GPL-2.0

//! Models of the pool's levels below a ring. These hold for any order of the threads:
//!
//! - *Once*: a page is in one hand or in one level.
//! - *Seen*: a taker sees what was done to it before.
//! - *Gone*: a page that has become something else is none for a reader.

use crate::blog::ring::Pages;
use crate::blog::wire::page::PAGE_HEADER_SIZE;
use crate::claims::Things;
use crate::rig::Rig;
use crate::{model, thread};
use core::ptr;
use std::sync::Arc;

/// A page for a record.
const SIZE: u32 = 256;

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
    fn new(rig: Box<Rig>, pages: u32) -> Arc<Self> {
        let things = Things::new(pages);
        Arc::new(Self { rig, things })
    }

    /// Takes a page, and uses it.
    fn take(&self, cpu: u32) -> Option<u32> {
        let page = self.pool.pages(cpu, false).take(0)?;
        self.things.hold(page);
        Some(page)
    }

    /// Does something more with it.
    fn touch(&self, page: u32) {
        self.things.leave(page);
        self.things.hold(page);
    }

    fn put(&self, cpu: u32, page: u32) {
        self.things.leave(page);
        self.pool.put(cpu, page);
    }
}

/// Two shelves: one takes its pages while the other one, which has none, takes some of them.
#[test]
fn pages_go_from_shelf_to_shelf() {
    model(|| {
        // Both are on the first shelf.
        let shared = Shared::new(Rig::with_shelves(2, SIZE, 2), 2);
        let other = shared.clone();
        let other = thread::spawn(move || {
            if let Some(page) = other.take(1) {
                other.touch(page);
                other.put(1, page);
            }
        });
        let held = [(); 2].map(|()| shared.take(0));
        for page in held.into_iter().flatten() {
            shared.put(0, page);
        }
        other.join().unwrap();
        assert_eq!(shared.count_pages(), 2, "a page was lost, or is there twice");
    });
}

/// One comes back with a page while somebody else has the only shelf, and leaves it; that one looks
/// after what was left.
#[test]
fn what_finds_no_shelf_is_found_when_somebody_looks() {
    model(|| {
        let shared = Shared::new(Rig::with_shelves(2, SIZE, 1), 2);
        let [a, b] = [(); 2].map(|()| shared.take(0).unwrap());
        let other = shared.clone();
        let other = thread::spawn(move || {
            other.touch(b);
            other.put(0, b);
        });
        shared.touch(a);
        shared.put(0, a);
        shared.pool.collect();
        let held = [(); 2].map(|()| shared.take(0));
        for page in held.into_iter().flatten() {
            shared.put(0, page);
        }
        other.join().unwrap();
        assert_eq!(shared.count_pages(), 2, "a page was lost, or is there twice");
    });
}

/// A page leaves its ring, and becomes something else, while it is copied.
#[test]
fn a_copy_is_of_no_page_that_has_become_something_else() {
    model(|| {
        let rig = Shared::new(Rig::with_shelves(1, SIZE, 1), 0);
        let ring = rig.adopt(1).unwrap();
        assert!(rig.log(ring, 1, 1, &[7; 8]));
        // SAFETY: The ring has no writer any more.
        unsafe { ring.retire(9) };
        let other = rig.clone();
        let other = thread::spawn(move || {
            let pages = other.pool.pages(0, false);
            // SAFETY: The ring has retired, and is this thread's.
            let page = unsafe { other.ring(0).unwrap().steal_last(&pages) }.unwrap();
            let page = pages.page(page);
            // SAFETY: The ring has just given the page up, which is larger than its header.
            unsafe {
                let rest = page.add(1).cast::<[u32; 4]>();
                (*page).turn_into(0, 0, || ptr::write_unaligned(rest, [9; 4]));
            }
        });
        if let Some(copy) = rig.copy(0, 1) {
            assert_eq!(copy.len(), PAGE_HEADER_SIZE + 16);
            assert!(copy.ends_with(&[7; 8]), "it has something else");
        }
        other.join().unwrap();
        assert!(rig.copy(0, 1).is_none());
    });
}
