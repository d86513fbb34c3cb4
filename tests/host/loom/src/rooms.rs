// SPDX-License-Identifier: GPL-2.0

//! Models of a ring's own page: it is the first one of the ring's chain or in none, and never in
//! another one. Its writer uses it again only when nobody else has anything to do with it.

use crate::shelf::Shelf;
use crate::{model, thread};

/// A thief takes the own page out of the chain, as it is the oldest, while the writer, who may have
/// no more pages, wants the oldest one.
#[test]
fn a_thief_and_the_writer_want_the_room() {
    model(|| {
        let shelf = Shelf::with_rooms(1, 1, 1, 1);
        shelf.lay(&[0]);
        shelf.adopt(0, 1);
        assert!(shelf.log(0, 1, 0));
        assert_eq!((shelf.rings[0].pages(), shelf.rings[0].room().seq()), (0, 1));
        let n = shelf.fill(0, 1, 1, true);
        let thief = shelf.clone();
        let thief = thread::spawn(move || unsafe { thief.rings[0].steal(&*thief) });
        let logged = shelf.log(0, 1, n);
        let stolen = thief.join().unwrap();
        assert!(logged, "the ring has its page or its room");
        assert!(stolen.is_none());
        assert_eq!((shelf.rings[0].pages(), shelf.rings[0].room().seq()), (1, 0));
        assert_eq!(shelf.read(0, 3), Some(vec![(1, n)]));
    });
}

/// A ring that gets no page goes on in its own, beside a reader.
#[test]
fn a_room_is_read_as_one_life_s() {
    model(|| {
        let shelf = Shelf::with_rooms(0, 1, 1, 2);
        shelf.adopt(0, 1);
        assert!(shelf.log(0, 1, 0) && shelf.log(0, 1, 1));
        let writer = shelf.clone();
        let writer = thread::spawn(move || assert!(writer.log(0, 1, 2)));
        if let Some(records) = shelf.read_room(0, 1) {
            assert_eq!(records, [(1, 0), (1, 1)]);
        }
        writer.join().unwrap();
        assert_eq!((shelf.rings[0].room().seq(), shelf.rings[0].records()), (2, 3));
        assert_eq!(shelf.read_room(0, 2), Some(vec![(1, 2)]));
    });
}

/// A thief sets out while a ring is live; meanwhile its task ends, and another one begins in the
/// ring's own page. Without the look at the position in `has_room`, the thief withdraws the page
/// that is the next owner's.
#[test]
fn a_late_thief_leaves_the_next_owner_its_room() {
    model(|| {
        let shelf = Shelf::with_rooms(1, 1, 2, 1);
        shelf.lay(&[0]);
        shelf.adopt(0, 1);
        assert!(shelf.log(0, 1, 0) && shelf.log(0, 1, 1));
        let thief = shelf.clone();
        let thief = thread::spawn(move || unsafe { thief.rings[0].steal(&*thief) });
        // SAFETY: Nobody writes into it any more.
        unsafe { shelf.rings[0].retire(9) };
        assert_eq!(shelf.drain(0), [0]);
        shelf.adopt(0, 2);
        let logged = shelf.log(0, 2, 7);
        assert!(thief.join().unwrap().is_none());
        let records = shelf.read_room(0, shelf.rings[0].room().seq());
        assert_eq!(records, logged.then(|| vec![(2, 7)]));
    });
}
