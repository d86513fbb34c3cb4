// SPDX-License-Identifier: GPL-2.0

//! Shows a part the records of a component that it watches.

use kernel::blog::RawComponent;

use super::slow::state_of;
use crate::{
    registry::state::observed::OBSERVER,
    sys::prelude::*, //
};

/// A log call has stored a record of a component that is watched: see `kernel::blog::call::abi`.
///
/// # Safety
///
/// As there.
#[no_mangle]
pub(crate) unsafe extern "C" fn blog_stored(
    raw: &RawComponent,
    site_shl10: u32,
    payload: *const u8,
    size: usize,
) {
    // SAFETY: The caller is a log call, and nobody else has these bytes yet. Of the component's
    // slot, each value is right that `show_slot` stores.
    let (state, payload, slot) = unsafe {
        let payload = slice::from_raw_parts(payload, size);
        (state_of(raw), payload, &raw.switch().slot)
    };
    let (Some(state), Some(observer)) = (state, OBSERVER.as_ref()) else {
        return;
    };
    if (observer.stored)(state, site_shl10, payload) {
        state.show_slot(slot);
    }
}
