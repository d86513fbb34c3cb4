// SPDX-License-Identifier: GPL-2.0

//! Looks after the memory of all components, and lets shared rings go whose writers have died.

use crate::{
    memory::Memory,
    registry,
    sys::quiesce, //
};

/// From the worker.
pub(super) fn tend() {
    let tended = registry::components().filter_map(|state| state.read_memory(Memory::tend));
    if tended.fold(false, |any, busy| busy | any) {
        quiesce::quiesce();
        for state in registry::components() {
            // SAFETY: `quiesce` has waited for all log calls.
            state.read_memory(|memory| unsafe { memory.mend() });
        }
    }
}
