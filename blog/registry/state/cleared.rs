// SPDX-License-Identifier: GPL-2.0

//! A component that forgets what it has.

use super::*;

impl State {
    /// Has readers leave out what was logged before `now`, or where the component is off or
    /// detached, takes its memory out: nobody finds it any more, but log calls that began before
    /// may be using it. For `clear`.
    pub(crate) fn take_memory(&self, now: u64, _control: &Control<'_>) -> Option<Owned> {
        self.update(|locked| {
            if self.is_gone() {
                // Its place may be another one's, and all of it goes.
                return None;
            }
            if self.is_enabled() && locked.attached() {
                locked.cleared = now;
                if let Some(memory) = locked.memory() {
                    memory.clear();
                }
                return None;
            }
            if let Some(switch) = locked.switch() {
                switch.percpu.store(ptr::null_mut(), Relaxed);
            }
            self.memory.store(ptr::null_mut(), Relaxed);
            locked.cleared = 0;
            for n in &self.found.lost {
                n.store(0, Relaxed);
            }
            let old = locked.memory.take()?;
            locked.generation = locked.generation.wrapping_add(1);
            Some(old)
        })
    }

    /// Keeps what [`Self::take_memory`] has taken out of a component that has lost its place since
    /// then: it goes with the component.
    pub(crate) fn keep(&self, old: Owned) {
        self.update(|locked| locked.memory = Some(old));
    }
}
