// SPDX-License-Identifier: GPL-2.0

//! Models of a task's rings: the task adds to its list, and looks through it, while those of
//! components that go are taken out.

use crate::blog::ring::{Owner, PageHeader, Ring};
use crate::blog::task::{way_of, Tls, WAYS};
use crate::blog::wire::record::Context;
use crate::{model, thread};
use core::ptr;
use std::cell::UnsafeCell;
use std::sync::Arc;

/// Slots that have the same place in a table.
const FIRST: u32 = 3;
const SECOND: u32 = FIRST + WAYS as u32;
const THIRD: u32 = SECOND + WAYS as u32;

/// What stands for the slot of no ring.
const NONE: u32 = u16::MAX as u32;

/// A task with a ring for each component that may be there.
struct Task {
    rings: [Ring; 3],
    none: Ring,
    table: Tls,
    empty: Box<UnsafeCell<PageHeader>>,
}

// SAFETY: Nobody stores to the empty header; all else is atomic.
unsafe impl Sync for Task {}
// SAFETY: As above.
unsafe impl Send for Task {}

impl Task {
    /// One whose list has the rings of the first so many components.
    fn new(listed: usize) -> Arc<Self> {
        let empty = Box::new(UnsafeCell::new(PageHeader::empty()));
        // SAFETY: The task keeps the header.
        let ring = |slot| unsafe { Ring::new(slot, slot as u16, empty.get(), 0) };
        // It does not move any more: loom knows atomics by address.
        let mut task = Arc::new(Task {
            rings: [FIRST, SECOND, THIRD].map(ring),
            // SAFETY: As above.
            none: unsafe { Ring::none(empty.get()) },
            table: Tls::new(0, ptr::null_mut()),
            empty,
        });
        let none = task.none();
        Arc::get_mut(&mut task).unwrap().table = Tls::new(0, none);
        task.rings[..listed].iter().for_each(|ring| task.log(ring));
        task
    }

    fn none(&self) -> *mut Ring {
        ptr::from_ref(&self.none).cast_mut()
    }

    /// What the first record of a component does.
    fn log(&self, ring: &Ring) {
        let owner = Owner { pid: 7, ..Owner::new(Context::Task, u32::MAX) };
        // SAFETY: The model's ring is nobody's yet, and the model logs from one thread.
        unsafe {
            assert!(self.table.find(ring.slot()).is_none());
            ring.adopt(&owner);
            assert!(self.table.add(ring).is_ok());
            self.table.cache(ring, way_of(ring.slot()) as usize);
        }
    }

    /// The slots of the rings in the list, the newest first.
    fn slots(&self) -> Vec<u32> {
        // SAFETY: Rings stay.
        unsafe { self.table.rings() }.map(Ring::slot).collect()
    }

    fn forget(&self, slot: u32) {
        // SAFETY: One thread of a model does that, for a component that nobody logs to.
        unsafe { self.table.remove(slot, self.none()) };
    }

    /// The slot of the ring that the fast path finds.
    fn shown(&self) -> u32 {
        // SAFETY: What is there is a ring, or stands for none; `FIRST` is a place.
        unsafe { (*self.table.at(FIRST as usize)).slot() }
    }
}

#[test]
fn a_ring_is_added_while_the_one_before_it_is_taken_out() {
    model(|| {
        let task = Task::new(1);
        let other = task.clone();
        let other = thread::spawn(move || other.forget(FIRST));
        task.log(&task.rings[1]);
        other.join().unwrap();
        assert_eq!(task.slots(), [SECOND]);
        // Loom doesn't know that what an exchange stores comes right after what it has read, so
        // for it, the place may be empty.
        assert!([SECOND, NONE].contains(&task.shown()));
    });
}

#[test]
fn nothing_is_left_of_a_ring_that_is_taken_out() {
    model(|| {
        let task = Task::new(1);
        let other = task.clone();
        let other = thread::spawn(move || other.forget(FIRST));
        assert!([FIRST, NONE].contains(&task.shown()));
        other.join().unwrap();
        assert_eq!(task.slots(), []);
        assert_eq!(task.shown(), NONE);
    });
}

#[test]
fn a_task_finds_its_other_rings_meanwhile() {
    model(|| {
        let task = Task::new(3);
        let other = task.clone();
        let other = thread::spawn(move || {
            other.forget(SECOND);
            other.forget(THIRD);
        });
        // SAFETY: Rings stay.
        assert!(unsafe { task.table.find(FIRST) }.is_some());
        other.join().unwrap();
        assert_eq!(task.slots(), [FIRST]);
    });
}

#[test]
fn who_finds_a_ring_finds_whose_it_is() {
    model(|| {
        let task = Task::new(1);
        let other = task.clone();
        let other = thread::spawn(move || {
            // SAFETY: Rings stay.
            for ring in unsafe { other.table.rings() } {
                assert_eq!(ring.info().unwrap().owner.pid, 7);
            }
        });
        task.log(&task.rings[1]);
        other.join().unwrap();
    });
}
