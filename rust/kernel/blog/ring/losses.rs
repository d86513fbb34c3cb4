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
/// - `told[i] <= lost[i]`, also for who loads both in this order.
/// - `lost` only grows, and `told` is stored by the ring's writer only, but when the ring gets
///   another owner.
#[repr(C)]
pub(super) struct Losses {
    pub(super) lost: [AtomicU64; LOST_CAUSES],
    pub(super) told: [AtomicU64; LOST_CAUSES],
}

impl Losses {
    pub(super) const fn new() -> Self {
        Self {
            lost: [const { AtomicU64::new(0) }; LOST_CAUSES],
            told: [const { AtomicU64::new(0) }; LOST_CAUSES],
        }
    }

    /// Counts `count` losses.
    pub(super) fn count(&self, cause: Lost, count: u64) {
        // A read-modify-write: a nested writer may interrupt another nested one. This is not the
        // fast path.
        self.lost[cause as usize].fetch_add(count, Relaxed);
    }

    /// How many causes have losses that no record reports yet.
    pub(super) fn untold(&self) -> u32 {
        let counts = self.lost.iter().zip(&self.told);
        counts
            .map(|(lost, told)| u32::from(lost.load(Relaxed) != told.load(Relaxed)))
            .sum()
    }

    /// Hands each cause that has untold losses to `tell`, with how many they are. Where that
    /// returns true, a record reports them now. For the ring's writer.
    pub(super) fn tell(&self, mut tell: impl FnMut(Lost, u64) -> bool) {
        for cause in Lost::ALL {
            let lost = self.lost[cause as usize].load(Relaxed);
            let told = self.told[cause as usize].load(Relaxed);
            if lost != told && tell(cause, lost.wrapping_sub(told)) {
                // INVARIANT: This is what `lost` was.
                // ORDERING: Release: a reader that sees this sees at least as many as lost.
                self.told[cause as usize].store(lost, Release);
            }
        }
    }

    /// Starts again at 0, for another owner.
    pub(super) fn clear(&self) {
        for n in self.lost.iter().chain(&self.told) {
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
    pub(super) fn told(&self) -> [u64; LOST_CAUSES] {
        // ORDERING: Acquire, and before `lost`: it pairs with the store in `tell`.
        self.told.each_ref().map(|n| n.load(Acquire))
    }
}
