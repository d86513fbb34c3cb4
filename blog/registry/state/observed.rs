// SPDX-License-Identifier: GPL-2.0

//! A component whose records a part looks at.

use super::*;
use kernel::blog::component::WATCHED;

/// A part that looks at records which are in their place, but not yet published. Any context, by
/// atomics alone.
pub(crate) struct Observer {
    /// Whether each record of a component is to be looked at.
    pub(crate) watches: fn(&State) -> bool,
    /// Looks at a record: its site, shifted as in a header, and its payload. True: the component is
    /// watched no more.
    pub(crate) stored: fn(&State, u32, &[u8]) -> bool,
}

/// That part, if there is one. Set before there are components.
pub(crate) static OBSERVER: SetOnce<Observer> = SetOnce::new();

impl State {
    /// What the driver's side has as its slot: see [`WATCHED`].
    fn shown_slot(&self) -> u32 {
        match OBSERVER.as_ref() {
            Some(observer) if (observer.watches)(self) => WATCHED,
            _ => self.slot.into(),
        }
    }

    /// Has the driver's side say what the observer of records wants from now on. Any context.
    pub(crate) fn show_slot(&self, switch: &AtomicU32) {
        loop {
            let slot = self.shown_slot();
            // ORDERING: AcqRel: a later store comes with all that the stores before knew.
            switch.swap(slot, AcqRel);
            // That may have changed in between.
            if self.shown_slot() == slot {
                return;
            }
        }
    }

    /// Has the observer of records change what it watches.
    pub(crate) fn watch<R>(&self, change: impl FnOnce() -> R) -> R {
        let _control = self.control();
        self.update(|locked| {
            let result = change();
            if let Some(switch) = locked.switch() {
                self.show_slot(&switch.slot);
            }
            result
        })
    }
}
