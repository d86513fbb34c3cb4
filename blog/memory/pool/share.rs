// SPDX-License-Identifier: GPL-2.0

//! Fair shares: a ring that holds more than its part of the budget gives up its oldest page for
//! others.
//!
//! A ring's share is the budget, minus the reserve, divided by the number of rings. A ring is
//! *poor* if it would not exceed its share with one more page, *rich* if it exceeds it. As the
//! budget is all that rings can hold, there are rich ones whenever a poor one gets nothing
//! elsewhere. The search starts where the last one ended, so a rich ring gives pages until it is
//! rich no more.

use core::sync::atomic::Ordering::Relaxed;

use super::{
    Hit,
    Index,
    Pool,
    Request,
    Store,
    PIECES,
    WARN_RINGS, //
};

/// How many rings are looked at in one go.
const SCAN: u32 = 256;

impl<S: Store> Pool<S> {
    /// What is shared, in bytes.
    pub(crate) fn bytes(&self) -> u32 {
        let page = self.store.sizes().page;
        self.store.data_pages().saturating_mul(page)
    }

    /// Says that rings take part that nobody takes or gives back.
    pub(crate) fn add_live(&self, rings: u32) {
        let live = &self.store.shelves()[0].lists.look().live;
        live.fetch_add(rings, Relaxed);
    }

    /// What a ring for warnings has a right to, in bytes: what the other one leaves of the share, a
    /// page at least; 0: they aren't used.
    pub(crate) fn warn_bytes(&self, id: u32) -> u32 {
        let share = self.bytes().checked_div(self.warn_share.load(Relaxed));
        let other = self.store.ring(id ^ 1).map_or(0, |ring| ring.held());
        let left = |share: u32| share.saturating_sub(other);
        share.map_or(0, |share| left(share).max(self.store.sizes().page))
    }

    /// A ring's fair share in bytes, now.
    pub(crate) fn fair(&self) -> u32 {
        let shelves = self.store.shelves().iter();
        let live = shelves.map(|shelf| shelf.lists.look().live.load(Relaxed));
        let live = live.fold(0, u32::wrapping_add);
        // A task that ends may be counted on one shelf before it is on another one that it began.
        let rings = (live as i32).max(0) as u32;
        let reserve = self.reserve.load(Relaxed);
        let reserve = reserve.saturating_mul(self.shelf_count());
        let pages = self.store.data_pages().saturating_sub(reserve);
        pages.saturating_mul(self.store.sizes().page) / rings.max(1)
    }

    /// Takes what is asked for from rings that hold more than their share: their oldest pages.
    pub(super) fn steal(&self, own: usize, request: Request) -> Option<Index> {
        let fair = self.fair();
        let is_poor =
            request.held.saturating_add(self.store.sizes().page) <= fair.max(request.least);
        if request.held != 0 && (request.small() || !is_poor) {
            return None;
        }
        let (shelf, pages) = (&self.store.shelves()[own], self.pages(request.cpu, false));
        let (rings, start) = (self.store.rings(), shelf.cursor.load(Relaxed));
        let mut pieces = PIECES;
        for n in 0..SCAN.min(rings) {
            let id = start.wrapping_add(n) % rings;
            let Some(ring) = self.store.ring(id) else {
                continue;
            };
            let most = match id {
                ..WARN_RINGS => fair.max(self.warn_bytes(id)),
                _ => fair,
            };
            while ring.held() > most {
                pieces = pieces.checked_sub(1)?;
                // SAFETY: All rings of the store have their pages from its pool.
                let Some(index) = (unsafe { ring.steal(&pages) }) else {
                    break;
                };
                if id != start {
                    shelf.cursor.store(id, Relaxed);
                }
                shelf.count(Hit::Stolen);
                if let Some(index) = self.suit(own, request, Index(index)) {
                    return Some(index);
                }
            }
        }
        shelf.cursor.store(start.wrapping_add(SCAN), Relaxed);
        None
    }
}
