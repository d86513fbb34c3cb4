// SPDX-License-Identifier: GPL-2.0

//! Models of a shared ring: it has one writer at any instant, each record comes after a task record
//! of its writer, and a writer sees everything that the one before it did.

use crate::shelf::Shelf;
use crate::{model, thread};
use std::sync::Arc;

/// Two writers; who finds the ring busy goes away.
fn two_writers(shelf: Arc<Shelf>, seq: u64, index: u32) {
    let other = shelf.clone();
    let other = thread::spawn(move || other.log_shared(0, 2, 102));
    let here = shelf.log_shared(0, 1, 101);
    let there = other.join().unwrap();
    assert!(here || there, "each saw the other one");
    let mut records = shelf.read(index, seq).unwrap();
    records.retain(|(_, n)| *n > 100);
    records.sort_unstable();
    let logged = [(here, (1, 101)), (there, (2, 102))];
    let want: Vec<_> = logged.iter().filter(|(l, _)| *l).map(|(_, r)| *r).collect();
    assert_eq!(records, want);
}

#[test]
fn writers_of_a_shared_ring_take_turns() {
    model(|| {
        let shelf = Shelf::new(1, 1, 1);
        shelf.lay(&[0]);
        shelf.share(0);
        assert!(shelf.log_shared(0, 3, 0));
        two_writers(shelf, 1, 0);
    });
}

/// As above; the first one turns the page.
#[test]
fn writers_of_a_shared_ring_take_turns_at_the_page_s_end() {
    model(|| {
        let shelf = Shelf::new(2, 1, 2);
        shelf.lay(&[0, 1]);
        shelf.share(0);
        // As long as nobody has claimed it, it is like any other ring.
        shelf.fill(0, 1, 1, true);
        two_writers(shelf, 2, 1);
    });
}
