// SPDX-License-Identifier: GPL-2.0

//! Pages for who gives them back to the kernel. Process context.

use super::{
    Pool,
    Store, //
};

impl<S: Store> Pool<S> {
    /// Takes a free page from wherever there is one.
    pub(crate) fn take_free(&self) -> Option<u32> {
        self.collect();
        let mut shelves = self.store.shelves().iter();
        shelves.find_map(|shelf| shelf.lists.claim()?.pages.pop(self.page_link()))
    }

    /// As [`Self::take_free`], or from a ring whose task has ended.
    pub(crate) fn take_back(&self) -> Option<u32> {
        let mut shelves = 0..self.store.shelves().len();
        self.take_free()
            .or_else(|| shelves.find_map(|own| self.take_retired_page(own)))
    }

    /// Gives up all retired rings, but for those that somebody is just looking at: their pages
    /// become free. Takes as long as it takes: process context.
    pub(crate) fn drain_retired(&self) {
        self.collect();
        // Shelf by shelf: a look elsewhere is bounded, and may end at bits that are wrong.
        for own in 0..self.store.shelves().len() {
            while let Some(page) = self.take_retired_page(own) {
                self.put(own as u32, page);
            }
            while let Some(id) = self.take_ended(own) {
                self.put_ring(id);
            }
        }
    }
}
