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
}
