// SPDX-License-Identifier: GPL-2.0

//! Fair shares: a ring that holds more than its part of the budget gives up its oldest page for
//! others.
//!
//! A ring's share is the budget, divided by the number of rings. A ring is *poor* if it would not
//! exceed its share with one more page, *rich* if it exceeds it. As the budget is all that rings
//! can hold, there are rich ones whenever a poor one gets nothing elsewhere. The search starts
//! where the last one ended, so a rich ring gives pages until it is rich no more.

use core::sync::atomic::Ordering::Relaxed;
use kernel::blog::ring::Ring;

use super::{
    Pool,
    Store,
    WARN_RINGS, //
};

/// How many rings are looked at in one go.
const SCAN: u32 = 256;
/// The same where there are fewer pages than rings: few can be rich, and a ring that has no page
/// looks for one whenever its room is full.
const SCAN_FEW: u32 = 8;

impl<S: Store> Pool<S> {
    /// Says that rings take part that nobody takes or gives back.
    pub(crate) fn add_live(&self, rings: u32) {
        let live = &self.store.shelves()[0].lists.look().live;
        live.fetch_add(rings, Relaxed);
    }

    /// Pages that a ring for warnings has a right to: what the other one leaves of the share, one
    /// at least; 0: they aren't used.
    pub(crate) fn warn_pages(&self, id: u32) -> u32 {
        let share = self.warn_share.load(Relaxed);
        let other = self.store.ring(id ^ 1).map_or(0, Ring::pages);
        let left = |pages: u32| pages.saturating_sub(other).max(1);
        self.store.data_pages().checked_div(share).map_or(0, left)
    }

    /// A ring's fair share in pages, now.
    pub(crate) fn fair(&self) -> u32 {
        let shelves = self.store.shelves().iter();
        let live = shelves.map(|shelf| shelf.lists.look().live.load(Relaxed));
        let live = live.fold(0, u32::wrapping_add);
        // A task that ends may be counted on one shelf before it is on another one that it began.
        let rings = (live as i32).max(0) as u32;
        self.store.data_pages() / rings.max(1)
    }

    /// Takes the oldest page of a ring that holds more than its share, for one that holds nothing,
    /// or is poor.
    pub(super) fn steal(&self, own: usize, held: u32, least: u32) -> Option<u32> {
        let fair = self.fair();
        if held != 0 && held >= fair.max(least) {
            return None;
        }
        let scan = if fair == 0 { SCAN_FEW } else { SCAN };
        let (shelf, pages) = (&self.store.shelves()[own], self.pages(own as u32, false));
        let (rings, start) = (self.store.rings(), shelf.cursor.load(Relaxed));
        for n in 0..scan.min(rings) {
            let id = start.wrapping_add(n) % rings;
            let most = match id {
                ..WARN_RINGS => fair.max(self.warn_pages(id)),
                _ => fair,
            };
            // The page that it writes to isn't to be had; what is in its room would go for nothing.
            let most = most.max(1);
            let rich = self.store.ring(id).filter(|ring| ring.pages() > most);
            // SAFETY: All rings of the store have their pages from its pool.
            if let Some(page) = rich.and_then(|ring| unsafe { ring.steal(&pages) }) {
                if id != start {
                    shelf.cursor.store(id, Relaxed);
                }
                return Some(page);
            }
        }
        shelf.cursor.store(start.wrapping_add(scan), Relaxed);
        None
    }
}
