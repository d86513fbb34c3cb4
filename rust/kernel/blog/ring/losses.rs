// SPDX-License-Identifier: GPL-2.0

//! The losses of a ring, and how many of them its records report.

use super::super::wire::record::{
    Lost,
    LOST_CAUSES, //
};
use core::sync::atomic::{
    AtomicU64,
    Ordering::*, //
};

/// Counts of losses, by cause.
///
/// # Invariants
///
/// - `reported[i] <= lost[i]`, also for who loads both in this order.
/// - `lost` only grows, and `reported` is stored by the ring's writer only, but when the ring gets
///   another owner.
#[repr(C)]
pub(super) struct Losses {
    pub(super) lost: [AtomicU64; LOST_CAUSES],
    pub(super) reported: [AtomicU64; LOST_CAUSES],
}

impl Losses {
    pub(super) const fn new() -> Self {
        Self {
            lost: [const { AtomicU64::new(0) }; LOST_CAUSES],
            reported: [const { AtomicU64::new(0) }; LOST_CAUSES],
        }
    }

    /// Counts `count` losses.
    pub(super) fn count(&self, cause: Lost, count: u64) {
        // A read-modify-write: a nested writer may interrupt another nested one. This is not the
        // fast path.
        self.lost[cause as usize].fetch_add(count, Relaxed);
    }

    /// How many causes have losses that no record reports yet.
    pub(super) fn unreported(&self) -> u32 {
        let counts = self.lost.iter().zip(&self.reported);
        counts
            .map(|(lost, reported)| u32::from(lost.load(Relaxed) != reported.load(Relaxed)))
            .sum()
    }

    /// Hands each cause that has unreported losses to `report`, with how many they are. Where that
    /// returns true, a record reports them now. For the ring's writer.
    pub(super) fn report(&self, mut report: impl FnMut(Lost, u64) -> bool) {
        for cause in Lost::ALL {
            let lost = self.lost[cause as usize].load(Relaxed);
            let reported = self.reported[cause as usize].load(Relaxed);
            if lost != reported && report(cause, lost.wrapping_sub(reported)) {
                // INVARIANT: This is what `lost` was.
                // ORDERING: Release: a reader that sees this sees at least as many as lost.
                self.reported[cause as usize].store(lost, Release);
            }
        }
    }

    /// Starts again at 0, for another owner.
    pub(super) fn clear(&self) {
        for n in self.lost.iter().chain(&self.reported) {
            // Most rings have lost nothing.
            if n.load(Relaxed) != 0 {
                n.store(0, Relaxed);
            }
        }
    }

    /// What was lost.
    pub(super) fn lost(&self) -> [u64; LOST_CAUSES] {
        self.lost.each_ref().map(|n| n.load(Relaxed))
    }

    /// How many of them are reported. Load it before the losses, so that it is never more.
    pub(super) fn reported(&self) -> [u64; LOST_CAUSES] {
        // ORDERING: Acquire, and before `lost`: it pairs with the store in `report`.
        self.reported.each_ref().map(|n| n.load(Acquire))
    }
}
