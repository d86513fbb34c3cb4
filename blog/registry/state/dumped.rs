// SPDX-License-Identifier: GPL-2.0

//! A component for crash tools.

use super::*;

impl State {
    pub(crate) fn root(&self) -> &Live<dump::ComponentRoot> {
        &self.found.root
    }

    /// Shows crash tools what has changed.
    pub(super) fn describe(&self, locked: &Locked) {
        let new = self.described(locked);
        // SAFETY: The component's lock is held, under which alone it is changed.
        unsafe { self.found.root.update(|root| *root = new) };
    }

    /// The component as crash tools find it. The state has its place.
    pub(crate) fn described(&self, locked: &Locked) -> dump::ComponentRoot {
        let memory = locked.memory().map(|memory| &memory.root);
        dump::ComponentRoot {
            magic: dump::COMPONENT_MAGIC,
            size: size_of::<dump::ComponentRoot>() as u32,
            slot: self.slot.into(),
            enabled: self.get(Key::Enable) as u8,
            level: self.get(Key::Level) as u8,
            mode: self.get(Key::Mode) as u8,
            attached: locked.attached().into(),
            size_kb: self.get(Key::SizeKb),
            ring_kb: self.get(Key::RingKb),
            memory: memory.map_or(0, |memory| ptr::from_ref(memory) as u64),
            lost: ptr::from_ref(&self.found.lost) as u64,
            name: self.name,
            cleared: locked.cleared,
        }
    }
}
