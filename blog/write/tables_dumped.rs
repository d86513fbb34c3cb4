// SPDX-License-Identifier: GPL-2.0

//! Tables of tasks for crashes, and for crash tools.

use core::mem::offset_of;
use kernel::blog::{
    task::{
        self,
        Tls,
        MAX_COMPONENTS, //
    },
    wire::{
        dump,
        ring::RingHead, //
    }, //
};

use crate::{
    sys::{
        nofault::fetch_value,
        prelude::*, //
    },
    tasks, //
};

use super::tables::{
    NEIGHBOURS,
    PAGES,
    SLAB,
    TABLES, //
};

/// The tables as crash tools find them.
pub(crate) fn root() -> dump::TableRoot {
    dump::TableRoot {
        chunks: ptr::from_ref(&SLAB.pages) as u64,
        capacity: PAGES as u32,
        per_chunk: TABLES as u32,
        stride: size_of::<Tls>() as u32,
        doubling: 0,
    }
}

/// Calls `f` with the slot and the id of each ring of a task, up to one that can't be read: the
/// current one, or if it is another one, where the caller is neither an NMI nor a log call. For a
/// crash: all is read as crash tools do, by [`fetch_value`].
///
/// # Safety
///
/// `task` is valid, it is the current one unless `is_other`, and RCU's lock is held.
pub(crate) unsafe fn rings_of(
    task: *mut bindings::task_struct,
    is_other: bool,
    mut f: impl FnMut(u32, u32),
) {
    let word = |at: u64, offset: usize| fetch_value::<u64>(at.wrapping_add(offset as u64));
    // SAFETY: By this function's requirement.
    let Some(table) = (unsafe { task::table_at(task, fetch_value) }) else {
        return;
    };
    // In the task itself, this is as a log call: what is taken out of the list meanwhile stays as
    // long as RCU's lock is held.
    let index = word(table, offset_of!(Tls, index)).filter(|_| is_other);
    let _guard = index.map(|index| tasks::lock_tls(index as u32 / NEIGHBOURS));
    let mut next = word(table, Tls::LAYOUT.first as usize);
    for _ in 0..MAX_COMPONENTS {
        let Some(ring) = next.filter(|ring| *ring != 0) else {
            return;
        };
        let ids = word(ring, offset_of!(RingHead, busy)).zip(word(ring, offset_of!(RingHead, id)));
        if let Some((slot, id)) = ids {
            f(u32::from(slot as u16), id as u32);
        }
        next = word(ring, offset_of!(RingHead, next));
    }
}
