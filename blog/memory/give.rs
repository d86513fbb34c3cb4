// SPDX-License-Identifier: GPL-2.0

//! Rings that give up pages: where the limit of a ring was lowered, or all is forgotten.

use super::{
    pool::{
        Store,
        WARN_RINGS, //
    },
    Memory, //
};

impl Memory {
    /// Has rings that hold more than `most` pages give up their oldest ones; but shared ones may
    /// hold what [`Self::max_shared`] says.
    pub(crate) fn trim(&self, most: u32) {
        let of = |id| match id {
            ..WARN_RINGS => most.max(self.pool.warn_pages(id)),
            _ if id < self.shared_rings() => self.max_shared(most),
            _ => most,
        };
        self.take_pages(of, u32::MAX, |page| self.pool.put(0, page));
    }

    /// Has rings that hold more than `most` says of their ids give up their oldest pages to `take`,
    /// `left` in all.
    pub(super) fn take_pages(
        &self,
        most: impl Fn(u32) -> u32,
        mut left: u32,
        mut take: impl FnMut(u32),
    ) {
        let pool = self.pool.pages(0, false);
        for id in 0..self.pool.store.rings() {
            let Some(ring) = self.pool.store.ring(id) else {
                continue;
            };
            // A writer may be as fast: what it takes meanwhile is new.
            for _ in 0..ring.pages().saturating_sub(most(id)).min(left) {
                // SAFETY: The pool is the one of all of the ring's pages.
                let Some(page) = (unsafe { ring.steal(&pool) }) else {
                    break;
                };
                left -= 1;
                take(page);
            }
        }
    }
}
