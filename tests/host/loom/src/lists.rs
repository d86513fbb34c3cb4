// SPDX-License-Identifier: GPL-2.0

//! Models of stack, queue and hint: who takes an index has it alone, and sees what was done to what
//! it names.

use crate::pool::{Cell, Hint, List, Queue, Stack};
use crate::{model, thread};
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::Arc;

/// Things that go from hand to hand: only who holds one touches it.
pub struct Things {
    links: Vec<AtomicU32>,
    held: Vec<AtomicU32>,
    /// How often each has been taken, stored as plain data.
    taken: Vec<AtomicU32>,
    /// The same, counted without need for any ordering.
    truth: Vec<AtomicU32>,
}

impl Things {
    pub fn new(n: u32) -> Self {
        let zeros = || (0..n).map(|_| AtomicU32::new(0)).collect();
        Things {
            links: zeros(),
            held: zeros(),
            taken: zeros(),
            truth: zeros(),
        }
    }

    /// Uses a thing that was just taken.
    pub fn hold(&self, index: u32) {
        let i = index as usize;
        assert_eq!(self.held[i].swap(1, Relaxed), 0, "handed out twice");
        let taken = self.taken[i].load(Relaxed);
        assert_eq!(
            taken,
            self.truth[i].fetch_add(1, Relaxed),
            "what the last holder did is not seen"
        );
        self.taken[i].store(taken + 1, Relaxed);
    }

    /// What a stack needs to link them.
    pub fn link<'a>(&'a self) -> impl Fn(u32) -> Option<&'a AtomicU32> {
        |index| self.links.get(index as usize)
    }

    /// Gives a thing up, before it is put back.
    pub fn leave(&self, index: u32) {
        self.held[index as usize].store(0, Relaxed);
    }
}

#[test]
fn stack_hands_each_index_to_one_taker() {
    model(|| {
        let shared = Arc::new((Stack::new(), Things::new(2)));
        for i in 0..2 {
            shared.0.push(shared.1.link(), i);
        }
        let turn = |shared: &(Stack, Things)| {
            let (stack, things) = shared;
            if let Some(i) = stack.pop(things.link()) {
                things.hold(i);
                things.leave(i);
                stack.push(things.link(), i);
            }
        };
        let other = shared.clone();
        let other = thread::spawn(move || turn(&other));
        turn(&shared);
        other.join().unwrap();
        let (stack, things) = &*shared;
        let mut left: Vec<_> = std::iter::from_fn(|| stack.pop(things.link())).collect();
        left.sort_unstable();
        assert_eq!(left, [0, 1], "lost");
    });
}

/// The classic: one reads top A and the one below, B; the other takes A and B and puts A back.
#[test]
fn stack_is_safe_against_aba() {
    model(|| {
        let shared = Arc::new((Stack::new(), Things::new(3)));
        for i in 0..3 {
            shared.0.push(shared.1.link(), i);
        }
        let other = shared.clone();
        let other = thread::spawn(move || {
            let (stack, things) = &*other;
            let (a, b) = (stack.pop(things.link()), stack.pop(things.link()));
            for i in [a, b].into_iter().flatten() {
                things.hold(i);
            }
            if let Some(a) = a {
                things.leave(a);
                stack.push(things.link(), a);
            }
        });
        let (stack, things) = &*shared;
        for _ in 0..2 {
            if let Some(i) = stack.pop(things.link()) {
                things.hold(i);
            }
        }
        other.join().unwrap();
    });
}

#[test]
fn queue_hands_each_index_to_one_taker() {
    model(|| {
        // Two cells for two things: the positions wrap while it is used.
        let cells: Vec<_> = (0..2).map(Cell::new).collect();
        let shared = Arc::new((Queue::new(), cells, Things::new(2)));
        assert!(shared.0.push(&shared.1, 0));
        assert!(shared.0.push(&shared.1, 1));
        let turn = |shared: &(Queue, Vec<Cell>, Things)| {
            let (queue, cells, things) = shared;
            let i = queue.pop(cells)?;
            things.hold(i);
            things.leave(i);
            // Full: the other one's pop has not given its cell back.
            (!queue.push(cells, i)).then_some(i)
        };
        let other = shared.clone();
        let other = thread::spawn(move || turn(&other));
        let here = turn(&shared);
        let there = other.join().unwrap();
        let (queue, cells, _) = &*shared;
        let mut left: Vec<_> = std::iter::from_fn(|| queue.pop(cells)).collect();
        left.extend(here.into_iter().chain(there));
        left.sort_unstable();
        assert_eq!(left, [0, 1], "lost");
    });
}

#[test]
fn queue_shows_what_was_done_before_the_push() {
    model(|| {
        let cells: Vec<_> = (0..2).map(Cell::new).collect();
        let shared = Arc::new((Queue::new(), cells, Things::new(1)));
        let other = shared.clone();
        let other = thread::spawn(move || {
            other.2.hold(0);
            other.2.leave(0);
            assert!(other.0.push(&other.1, 0));
        });
        if let Some(i) = shared.0.pop(&shared.1) {
            shared.2.hold(i);
        }
        other.join().unwrap();
    });
}

#[test]
fn queue_keeps_the_order_of_each_pusher() {
    model(|| {
        let cells: Vec<_> = (0..4).map(Cell::new).collect();
        let shared = Arc::new((Queue::new(), cells));
        let other = shared.clone();
        let other = thread::spawn(move || {
            assert!(other.0.push(&other.1, 10));
            assert!(other.0.push(&other.1, 11));
        });
        assert!(shared.0.push(&shared.1, 20));
        let mut seen: Vec<_> = shared.0.pop(&shared.1).into_iter().collect();
        other.join().unwrap();
        seen.extend(std::iter::from_fn(|| shared.0.pop(&shared.1)));
        assert_eq!(seen.len(), 3);
        let of = |first: u32| seen.iter().copied().filter(move |i| i / 10 * 10 == first);
        assert_eq!(of(10).collect::<Vec<_>>(), [10, 11]);
        assert_eq!(of(20).collect::<Vec<_>>(), [20]);
    });
}

/// A shelf gets something, while another one's owner finds that it has nothing: nothing is hidden.
#[test]
fn a_hint_is_clear_only_where_there_is_nothing() {
    model(|| {
        let shared = Arc::new((Hint::new(), List::new(), Things::new(1)));
        shared.0.set(1);
        let other = shared.clone();
        let other = thread::spawn(move || {
            let (hint, list, things) = &*other;
            list.push(things.link(), 0);
            hint.set(1);
        });
        let (hint, list, things) = &*shared;
        let found = list.pop(things.link());
        if found.is_none() {
            hint.clear(1, || list.len() != 0);
        }
        other.join().unwrap();
        assert!(
            found.is_some() || hint.others(0).eq([1]),
            "there is something that nobody finds"
        );
    });
}
