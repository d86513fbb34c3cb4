// SPDX-License-Identifier: GPL-2.0

//! Telling rings that the clock has begun a new epoch: see [`crate::sys::clock`].

use crate::{
    memory::pool::Store,
    registry,
    sys::clock, //
};

/// Has the next record of each ring that goes by an earlier epoch take the slow path, where the
/// ring is told. Process context; no log call that was begun in an earlier epoch is running any
/// more.
#[no_mangle]
extern "C" fn blog_expire_rings() {
    let offset = clock::offset();
    registry::components().for_each(|state| {
        state.with(|inner| {
            let Some(memory) = inner.memory() else {
                return;
            };
            for id in 0..memory.pool.store.rings() {
                if let Some(ring) = memory.pool.store.ring(id) {
                    ring.expire(offset);
                }
            }
        })
    });
}
