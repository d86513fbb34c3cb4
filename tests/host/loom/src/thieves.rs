// SPDX-License-Identifier: GPL-2.0

//! Models of thieves: contexts that take the oldest page of a ring which they don't own, live or
//! retired. These hold for any order of the threads:
//!
//! - *Once*: each page is in one hand: a ring's chain, the shelf, or a thief.
//! - *Chain*: `oldest`, `next`, … ends at the current page, and `pages` counts just that.
//! - *Current*: a live ring's current page is its writer's alone.

use crate::shelf::Shelf;
use crate::{model, thread};

/// A writer adds a page, and steals from its own ring as others do, while a thief steals twice. The
/// page that is added was in another ring before: to see the `next` of then would put a page of
/// nobody's into the chain.
#[test]
fn a_thief_finds_the_chain_that_the_writer_made() {
    model(|| {
        let shelf = Shelf::new(3, 2, 3);
        shelf.adopt(0, 1);
        shelf.adopt(1, 2);
        // Ring 1 had pages 1 and 2: the first one's `next` is still the second one.
        shelf.lay(&[1, 2]);
        shelf.fill(1, 2, 2, false);
        // SAFETY: Nobody writes into it any more.
        unsafe { shelf.rings[1].retire(9) };
        assert_eq!(shelf.drain(1), [1, 2]);
        // Ring 0 has page 0, without room, and will take page 1.
        shelf.lay(&[0]);
        let n = shelf.fill(0, 1, 1, true);
        shelf.lay(&[1]);
        let thief = shelf.clone();
        let thief = thread::spawn(move || [0; 2].map(|_| unsafe { thief.rings[0].steal(&*thief) }));
        assert!(shelf.log(0, 1, n));
        let here = unsafe { shelf.rings[0].steal(&*shelf) };
        let stolen: Vec<_> = thief.join().unwrap().into_iter().chain([here]).flatten().collect();
        assert_eq!(stolen, [0]);
        assert_eq!(shelf.chain(0), [1]);
        shelf.check([0, 2]);
    });
}

/// A writer in overwrite mode wants the very page that a thief wants.
#[test]
fn a_thief_and_the_writer_want_the_oldest_page() {
    model(|| {
        let shelf = Shelf::new(2, 1, 2);
        shelf.lay(&[0, 1]);
        shelf.adopt(0, 1);
        let n = shelf.fill(0, 1, 2, true);
        let thief = shelf.clone();
        let thief = thread::spawn(move || unsafe { thief.rings[0].steal(&*thief) });
        assert!(shelf.log(0, 1, n), "the ring has pages of its own");
        let stolen = thief.join().unwrap();
        let last = *shelf.chain(0).last().unwrap();
        assert_eq!(shelf.read(last, shelf.header(last).seq()), Some(vec![(1, n)]));
        assert_eq!(shelf.rings[0].records(), u64::from(n) + 1);
        shelf.check(stolen);
    });
}

/// A thief sets out while a ring is live; meanwhile its task ends, its pages are taken, and
/// another task has the ring, with the same page as its oldest one.
#[test]
fn a_late_thief_takes_nothing_of_the_next_owner() {
    model(|| {
        let shelf = Shelf::new(2, 1, 2);
        shelf.lay(&[0, 1]);
        shelf.adopt(0, 1);
        shelf.fill(0, 1, 2, false);
        let thief = shelf.clone();
        let thief = thread::spawn(move || unsafe { thief.rings[0].steal(&*thief) });
        // SAFETY: Nobody writes into it any more.
        unsafe { shelf.rings[0].retire(9) };
        let mut pages = shelf.drain(0);
        pages.reverse();
        if pages.contains(&0) {
            shelf.lay(&[0]);
            pages.pop();
        }
        shelf.adopt(0, 2);
        let logged = shelf.log(0, 2, 0);
        let stolen = thief.join().unwrap();
        assert_eq!((logged, stolen.is_none()), (stolen.is_none(), logged));
        assert_eq!(shelf.chain(0), [0][..usize::from(logged)]);
        shelf.check(pages.into_iter().chain(stolen));
    });
}

/// A thief sets out; when it arrives, the page that it has seen as the oldest one is that again,
/// but another one comes after it.
#[test]
fn a_slow_thief_notices_that_it_is_slow() {
    model(|| {
        let shelf = Shelf::new(3, 1, 3);
        shelf.lay(&[0, 1]);
        shelf.adopt(0, 1);
        let mut n = shelf.fill(0, 1, 2, true);
        let thief = shelf.clone();
        let thief = thread::spawn(move || unsafe { thief.rings[0].steal(&*thief) });
        let mut held = Vec::new();
        if unsafe { shelf.rings[0].steal(&*shelf) } == Some(0) {
            shelf.lay(&[2, 0]);
            while shelf.header(0).seq() == 0 {
                assert!(shelf.log(0, 1, n));
                n += 1;
            }
            held.extend([(); 2].map(|()| unsafe { shelf.rings[0].steal(&*shelf) }));
            assert!(!held.contains(&Some(0)), "the current page");
        } else {
            held.push(Some(2));
        }
        held.push(thief.join().unwrap());
        shelf.check(held.into_iter().flatten());
    });
}

/// The page that was current a moment ago is stolen, and in another ring already, when somebody
/// asks how many records the ring has taken.
#[test]
fn counts_are_right_while_the_page_is_stolen() {
    model(|| {
        let shelf = Shelf::new(2, 2, 2);
        shelf.adopt(0, 1);
        shelf.adopt(1, 2);
        shelf.lay(&[0]);
        let n = shelf.fill(0, 1, 1, true);
        let other = shelf.clone();
        let other = thread::spawn(move || {
            other.lay(&[1]);
            assert!(other.log(0, 1, n));
            let page = unsafe { other.rings[0].steal(&*other) }.unwrap();
            other.lay(&[page]);
            assert!(other.log(1, 2, 0));
        });
        let records = shelf.rings[0].records();
        assert!((u64::from(n)..=u64::from(n) + 1).contains(&records), "{records} of {n}");
        if let Some((seq, _, records)) = shelf.rings[0].position() {
            assert!(
                seq == 1 && records == u64::from(n) || seq == 2 && records >= u64::from(n),
                "position {seq}, {records} of {n}"
            );
        }
        other.join().unwrap();
        shelf.check([]);
    });
}

/// The same of a ring that retires, whose page goes on in another ring and is still the one that
/// it names.
#[test]
fn counts_are_right_while_the_ring_is_plundered() {
    model(|| {
        let shelf = Shelf::new(1, 2, 2);
        shelf.adopt(0, 1);
        shelf.adopt(1, 2);
        shelf.lay(&[0]);
        let n = shelf.fill(0, 1, 1, true);
        let other = shelf.clone();
        let other = thread::spawn(move || {
            // SAFETY: Nobody writes into it any more, and it is nobody else's.
            let page = unsafe {
                other.rings[0].retire(9);
                other.rings[0].steal_last(&*other).unwrap()
            };
            other.lay(&[page]);
            assert!(other.log(1, 2, 0));
        });
        let records = shelf.rings[0].records();
        assert_eq!(records, u64::from(n));
        other.join().unwrap();
    });
}

/// A stolen page, copied while it is in the thief's ring: a reader sees the one life or the other.
#[test]
fn a_stolen_page_is_read_as_one_ring_s() {
    model(|| {
        let shelf = Shelf::new(2, 2, 2);
        shelf.adopt(0, 1);
        shelf.adopt(1, 2);
        shelf.lay(&[0, 1]);
        let n = shelf.fill(0, 1, 2, false) - 1;
        let thief = shelf.clone();
        let thief = thread::spawn(move || {
            let page = unsafe { thief.rings[0].steal(&*thief) }.unwrap();
            thief.lay(&[page]);
            assert!(thief.log(1, 2, 0));
        });
        if let Some(records) = shelf.read(0, 1) {
            let first: Vec<_> = (0..n).map(|n| (1, n)).collect();
            let second = [(2, 0)];
            assert!(records == first || records == second[..records.len().min(1)], "{records:?}");
        }
        thief.join().unwrap();
        assert_eq!(shelf.rings[1].pages(), 1);
        shelf.check([]);
    });
}
