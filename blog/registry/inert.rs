// SPDX-License-Identifier: GPL-2.0

//! The inert component, which stands in for an instance that could not be made: no mount and no
//! device may fail because its log has no place or no memory.
//!
//! All such instances share one for each level. It has no rings, so each call ends in the slow
//! path, which counts it. The count is in the file `stats`.

use core::{
    ptr,
    sync::atomic::{
        AtomicU32,
        AtomicU64,
        Ordering::Relaxed, //
    }, //
};
use kernel::blog::{
    wire::record::Level,
    Config,
    RawComponent, //
};

use super::state::{
    threshold,
    NOBODYS_SLOT, //
};

static INERT: [RawComponent; THRESHOLDS] = [const { RawComponent::new(Config::new()) }; THRESHOLDS];
const THRESHOLDS: usize = Level::ALL.len() + 2;

/// Instances that have one now.
static INSTANCES: AtomicU32 = AtomicU32::new(0);
/// Calls of theirs, which are lost.
static LOST: AtomicU64 = AtomicU64::new(0);

/// Makes them. Before there are instances.
pub(super) fn init() {
    for (threshold, raw) in (0..).zip(&INERT) {
        // SAFETY: Only this stores there. No ring is of this slot, whatever is in place 0; and
        // there are neither rings of CPUs nor a state.
        let switch = unsafe { raw.switch() };
        switch.slot.store(NOBODYS_SLOT.into(), Relaxed);
        switch.threshold.store(threshold, Relaxed);
    }
}

/// One that counts the calls which a component with these settings would log.
pub(crate) fn take(config: &Config) -> *const RawComponent {
    let level = config.known_level().or(Some(Level::Info));
    let threshold = threshold(config.enabled, level);
    INSTANCES.fetch_add(1, Relaxed);
    let raw = INERT.get(usize::from(threshold)).unwrap_or(&INERT[0]);
    ptr::from_ref(raw)
}

pub(crate) fn put() {
    INSTANCES.fetch_sub(1, Relaxed);
}

/// Counts a call. Any context.
pub(crate) fn count_lost() {
    LOST.fetch_add(1, Relaxed);
}

pub(crate) fn counts() -> (u32, u64) {
    (INSTANCES.load(Relaxed), LOST.load(Relaxed))
}
