// SPDX-License-Identifier: GPL-2.0

//! The slots of a component: parts that never move, and arrays of pointers that lead to them, each
//! as long as all before it together.
//!
//! Log calls look up a page by the number of its slot, in any context, while process context adds
//! slots. There is room from the start for the pointers to all arrays of the largest component. So
//! nothing is ever replaced, and a look-up takes three loads, takes no lock, and never waits.

use core::{
    ptr,
    sync::atomic::{
        AtomicPtr,
        AtomicU32,
        Ordering::*, //
    }, //
};
use kernel::{
    blog::wire::dump,
    prelude::*, //
};

use super::{
    block::{
        add_array,
        Rest, //
    },
    pool::Slot, //
};

/// Slots of a part.
const SLOTS: u32 = 16;
/// Pointers of the first array.
const FIRST: u32 = 4;
/// Most arrays.
const ARRAYS: usize = 13;
/// Most slots.
pub(crate) const MOST: u32 = SLOTS * (FIRST << (ARRAYS - 1));

/// What the first array and the first part take.
pub(super) const FIRST_BYTES: usize =
    FIRST as usize * size_of::<AtomicPtr<Part>>() + size_of::<Part>();

type Part = [Slot; SLOTS as usize];

/// The number of pointers that so many arrays have.
fn pointers_in(arrays: usize) -> usize {
    match arrays {
        0 => 0,
        n => (FIRST as usize) << (n - 1),
    }
}

/// How many arrays lead to so many parts.
fn arrays_for(parts: u32) -> usize {
    let enough = |arrays: &usize| pointers_in(*arrays) >= parts as usize;
    (0..ARRAYS).find(enough).unwrap_or(ARRAYS)
}

/// How many parts have so many slots.
pub(super) fn parts_for(slots: u32) -> u32 {
    slots.div_ceil(SLOTS)
}

/// # Invariants
///
/// - The first array has [`FIRST`] pointers, each further one as many as all before it. There are
///   as many arrays as lead to `parts` parts.
/// - The first `parts` of these pointers lead to a part each, the others are null.
/// - Arrays and parts stay as long as this.
pub(crate) struct Slots {
    arrays: [AtomicPtr<AtomicPtr<Part>>; ARRAYS],
    parts: AtomicU32,
}

impl Slots {
    pub(super) const fn new() -> Self {
        // INVARIANT: There are none.
        Self {
            arrays: [const { AtomicPtr::new(ptr::null_mut()) }; ARRAYS],
            parts: AtomicU32::new(0),
        }
    }

    /// How many parts there are.
    pub(super) fn parts(&self) -> u32 {
        self.parts.load(Relaxed)
    }

    /// How many slots there are.
    pub(super) fn len(&self) -> u32 {
        self.parts() * SLOTS
    }

    /// What leads to a part.
    fn pointer(&self, part: u32) -> Option<&AtomicPtr<Part>> {
        // The first array begins with the first part, each other one with that of a power of two.
        let log = (part | FIRST / 2).ilog2();
        let array = self.arrays.get((log + 1 - FIRST.ilog2()) as usize)?;
        // ORDERING: Acquire pairs with the store in `add`: the pointers are there.
        let first = array.load(Acquire);
        if first.is_null() {
            return None;
        }
        let place = part - (1 << log) / FIRST * FIRST;
        // SAFETY: By the type invariants, there are so many, which stay.
        Some(unsafe { &*first.add(place as usize) })
    }

    /// A slot. Any context.
    pub(super) fn get(&self, n: u32) -> Option<&Slot> {
        // ORDERING: Acquire pairs with the store in `add`: the slots are initialised.
        let part = self.pointer(n / SLOTS)?.load(Acquire);
        // SAFETY: By the type invariants, it is null or leads to a part, which stays.
        unsafe { Some(&part.as_ref()?[(n % SLOTS) as usize]) }
    }

    /// What it takes to have so many parts, after so many bytes.
    pub(super) fn add_bytes(&self, bytes: usize, parts: u32) -> usize {
        let more = pointers_in(arrays_for(parts)) - pointers_in(arrays_for(self.parts()));
        let bytes = add_array::<AtomicPtr<Part>>(bytes, more);
        add_array::<Part>(bytes, (parts - self.parts()) as usize)
    }

    /// Adds parts, until there are so many. One at a time.
    ///
    /// # Safety
    ///
    /// The block stays as long as this.
    pub(super) unsafe fn add(&self, parts: u32, rest: &mut Rest) -> Result {
        let null = |_| AtomicPtr::new(ptr::null_mut());
        for n in arrays_for(self.parts())..arrays_for(parts) {
            let len = pointers_in(n + 1) - pointers_in(n);
            // SAFETY: By this function's requirement.
            let array = unsafe { rest.array(len, null) }?;
            // INVARIANT: There are so many.
            // ORDERING: Release publishes them.
            self.arrays[n].store(array.as_ptr().cast_mut(), Release);
        }
        for n in self.parts()..parts {
            // SAFETY: As above.
            let part = unsafe { rest.array(1, |_| [const { Slot::new() }; SLOTS as usize]) }?;
            let pointer = self.pointer(n).ok_or(EINVAL)?;
            // INVARIANT: It is the next one.
            // ORDERING: Release publishes the slots.
            pointer.store(part.as_ptr().cast_mut(), Release);
            self.parts.store(n + 1, Relaxed);
        }
        Ok(())
    }

    /// The slots as crash tools find them.
    pub(super) fn root(&self) -> dump::TableRoot {
        dump::TableRoot {
            chunks: ptr::from_ref(&self.arrays) as u64,
            capacity: ARRAYS as u32,
            per_chunk: SLOTS,
            stride: size_of::<Slot>() as u32,
            doubling: FIRST,
        }
    }
}
