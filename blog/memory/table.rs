// SPDX-License-Identifier: GPL-2.0

//! The slots of a component: parts that never move, each as long as all before it together.
//!
//! Log calls look up a page by the number of its slot, in any context, while process context adds
//! slots. There is room from the start for the pointers to all parts of the largest component. So
//! nothing is ever replaced, and a look-up takes two loads, takes no lock, and never waits.

#[cfg(CONFIG_BLOG_ROOT)]
use kernel::blog::wire::dump;

use super::{
    block::{
        add_array,
        Rest, //
    },
    pool::Slot, //
};

use crate::sys::prelude::*;

/// Slots of the first part.
const FIRST: u32 = 16;
/// Most parts.
pub(super) const PARTS: u32 = 15;
/// Most slots.
pub(crate) const MOST: u32 = slots_in(PARTS);

/// What the first part takes.
pub(super) const FIRST_BYTES: usize = FIRST as usize * size_of::<Slot>();

/// How many slots so many parts have.
const fn slots_in(parts: u32) -> u32 {
    match parts {
        0 => 0,
        n => FIRST << (n - 1),
    }
}

/// How many parts have so many slots.
pub(super) fn parts_for(slots: u32) -> u32 {
    let enough = |parts: &u32| slots_in(*parts) >= slots;
    (0..PARTS).find(enough).unwrap_or(PARTS)
}

/// # Invariants
///
/// The first `parts` of these pointers lead to a part each, of as many slots as all before it, the
/// first one to [`FIRST`]; the others are null. Parts stay as long as this.
pub(crate) struct Slots {
    at: [AtomicPtr<Slot>; PARTS as usize],
    parts: AtomicU32,
}

impl Slots {
    pub(super) const fn new() -> Self {
        // INVARIANT: There are none.
        Self {
            at: [const { AtomicPtr::new(ptr::null_mut()) }; PARTS as usize],
            parts: AtomicU32::new(0),
        }
    }

    /// How many parts there are.
    pub(super) fn parts(&self) -> u32 {
        self.parts.load(Relaxed)
    }

    /// How many slots there are.
    pub(super) fn len(&self) -> u32 {
        slots_in(self.parts())
    }

    /// A slot. Any context.
    #[inline]
    pub(super) fn get(&self, n: u32) -> Option<&Slot> {
        // The first part begins with slot 0, each other one with that of a power of two.
        let log = (n | FIRST / 2).ilog2();
        let part = self.at.get((log + 1 - FIRST.ilog2()) as usize)?;
        // ORDERING: Acquire pairs with the store in `add`: the slots are initialised.
        let first = part.load(Acquire);
        let place = n - (1 << log) / FIRST * FIRST;
        // SAFETY: By the type invariants, it is null or leads to so many, which stay.
        (!first.is_null()).then(|| unsafe { &*first.add(place as usize) })
    }

    /// What it takes to have so many parts, after so many bytes.
    pub(super) fn add_bytes(&self, bytes: usize, parts: u32) -> usize {
        add_array::<Slot>(bytes, (slots_in(parts) - self.len()) as usize)
    }

    /// Adds parts, until there are so many. One at a time.
    ///
    /// # Safety
    ///
    /// The block stays as long as this.
    pub(super) unsafe fn add(&self, parts: u32, rest: &mut Rest) -> Result {
        for n in self.parts()..parts {
            let len = slots_in(n + 1) - slots_in(n);
            // SAFETY: By this function's requirement.
            let part = unsafe { rest.array(len as usize, |_| Slot::new()) }?;
            // INVARIANT: It is the next one, and has so many.
            // ORDERING: Release publishes the slots.
            self.at[n as usize].store(part.as_ptr().cast_mut(), Release);
            self.parts.store(n + 1, Relaxed);
        }
        Ok(())
    }

    /// The slots as crash tools find them.
    #[cfg(CONFIG_BLOG_ROOT)]
    pub(super) fn root(&self) -> dump::TableRoot {
        dump::TableRoot {
            chunks: ptr::from_ref(&self.at) as u64,
            capacity: PARTS,
            per_chunk: FIRST,
            stride: size_of::<Slot>() as u32,
            doubling: dump::CHUNKS_DOUBLE,
        }
    }
}
