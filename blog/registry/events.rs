// SPDX-License-Identifier: GPL-2.0

//! What the registry, and what stands on it, tells the floors above: one table of callbacks.
//!
//! Imports point down; what has to go up goes through here. main.rs, which knows all floors, fills
//! the table in before anything can happen.

use kernel::sync::SetOnce;

/// Who wants to know of what. All are called in process context, without a lock.
pub(crate) struct Events {
    /// A component's rings go; nobody logs to it now.
    pub(crate) forget: fn(slot: u16),
    /// A component has got memory.
    pub(crate) memory: fn(),
    /// The worker is at it.
    pub(crate) tick: fn(),
}

/// Nobody.
static NOBODY: Events = Events {
    forget: |_| (),
    memory: || (),
    tick: || (),
};

static EVENTS: SetOnce<Events> = SetOnce::new();

/// Fills the table in; once, first.
pub(crate) fn set(events: Events) {
    EVENTS.populate(events);
}

/// The table.
pub(crate) fn events() -> &'static Events {
    EVENTS.as_ref().unwrap_or(&NOBODY)
}
