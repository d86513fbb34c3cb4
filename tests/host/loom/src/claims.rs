// SPDX-License-Identifier: GPL-2.0

//! Models of a claim: at any instant at most one thread holds it, and sees what earlier holders
//! did.

use crate::pool::{Claimed, List};
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
        Things { links: zeros(), held: zeros(), taken: zeros(), truth: zeros() }
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

    /// What a list needs to link them.
    pub fn link<'a>(&'a self) -> impl Fn(u32) -> Option<&'a AtomicU32> {
        |index| self.links.get(index as usize)
    }

    /// Gives a thing up, before it is put back.
    pub fn leave(&self, index: u32) {
        self.held[index as usize].store(0, Relaxed);
    }
}

/// Two take what is in a list, use it, and put it back, if they get the list at all.
#[test]
fn who_claims_a_list_has_it_alone() {
    model(|| {
        let shared = Arc::new((Claimed::new(List::new()), Things::new(2)));
        for i in 0..2 {
            shared.0.claim().unwrap().push(shared.1.link(), i);
        }
        let turn = |shared: &(Claimed<List>, Things)| {
            let (list, things) = shared;
            let index = list.claim().and_then(|list| list.pop(things.link()))?;
            things.hold(index);
            things.leave(index);
            // Who doesn't get the list keeps it.
            let Some(list) = list.claim() else {
                return Some(index);
            };
            list.push_last(things.link(), index);
            None
        };
        let other = shared.clone();
        let other = thread::spawn(move || turn(&other));
        let kept = [turn(&shared), other.join().unwrap()];
        let (list, things) = &*shared;
        let list = list.claim().expect("claimed by nobody");
        let mut left: Vec<_> = std::iter::from_fn(|| list.pop(things.link())).collect();
        left.extend(kept.into_iter().flatten());
        left.sort_unstable();
        assert_eq!(left, [0, 1], "lost");
    });
}
