// SPDX-License-Identifier: GPL-2.0

//! A task's table of rings.
//!
//! All rings of a task are in a list. In front of it is a small array, in which a component has one
//! [way](way_of), by its number: there the fast path finds the ring, if it is that of the
//! component which used the way last. Up to [`WAYS`] components share none.

use super::super::ring::Ring;
#[cfg(CONFIG_BLOG_ROOT)]
use super::super::wire::dump;
use core::{
    ffi::c_void,
    iter,
    mem::offset_of,
    ptr,
    sync::atomic::{
        AtomicPtr,
        AtomicU32,
        Ordering::*, //
    }, //
};

/// Number of components that can be attached at a time, and of rings that a task can have.
pub const MAX_COMPONENTS: usize = 1024;

/// Ways of a table, as those of a cache: as many as make it three cache lines long.
pub const WAYS: usize = 21;
const _: () = assert!(size_of::<Tls>() == 192);

/// The way of a component in each table.
#[inline]
pub const fn way_of(slot: u32) -> u32 {
    slot % WAYS as u32
}

/// What `task_struct::blog_tls` points to: a task's rings.
///
/// # Invariants
///
/// - From `first` on, there is a list of live rings of this task, at most one for each component;
///   it ends with null. New ones are put in at the front, by the task itself. They are taken out
///   under the lock of the table, and stay valid for as long as a log call can last.
/// - A ring whose `table` is [`Self::number`] is in this list.
/// - A pointer in `rings` points to one of these, or to what stands for none ([`Ring::none`]). The
///   task itself stores there, and a caller that takes a ring out of the list.
#[repr(C, align(64))]
pub struct Tls {
    rings: [AtomicPtr<Ring>; WAYS],
    first: AtomicPtr<Ring>,
    /// The task, or null when this table is free.
    pub task: AtomicPtr<c_void>,
    /// Position of this table in the slab of tables; there are at most [`Tls::MOST`].
    pub index: u32,
    /// What links free tables.
    pub link: AtomicU32,
}

impl Tls {
    /// Where crash tools find what they need: see `wire/dump.rs`.
    #[cfg(CONFIG_BLOG_ROOT)]
    pub const LAYOUT: dump::TlsLayout = dump::TlsLayout {
        size: size_of::<Self>() as u32,
        first: offset_of!(Self, first) as u32,
        task: offset_of!(Self, task) as u32,
        reserved: 0,
    };

    /// For [`ABI`](super::super::call::abi::ABI).
    pub(in super::super) const SHAPE: [usize; 4] = [
        size_of::<Self>(),
        offset_of!(Self, rings),
        WAYS,
        offset_of!(Self, task),
    ];

    /// Most tables: each has a number other than 0.
    pub const MOST: usize = u16::MAX as usize;

    /// What rings know this table by.
    fn number(&self) -> u16 {
        self.index as u16 + 1
    }

    /// Makes a free table. `none` is what [`Ring::none`] made.
    pub const fn new(index: u32, none: *mut Ring) -> Self {
        let mut rings = [const { AtomicPtr::new(ptr::null_mut()) }; WAYS];
        let mut i = 0;
        while i < WAYS {
            rings[i] = AtomicPtr::new(none);
            i += 1;
        }
        Self {
            rings,
            first: AtomicPtr::new(ptr::null_mut()),
            task: AtomicPtr::new(ptr::null_mut()),
            index,
            link: AtomicU32::new(0),
        }
    }

    /// What is in a way: the ring of some component that has this way, or what stands for none.
    ///
    /// # Safety
    ///
    /// `way` is less than [`WAYS`].
    #[inline(always)]
    pub unsafe fn at(&self, way: usize) -> *mut Ring {
        debug_assert!(way < WAYS);
        // SAFETY: By this function's requirement.
        unsafe { self.rings.get_unchecked(way) }.load(Relaxed)
    }

    /// Whether there is no ring; a moment old.
    pub fn is_empty(&self) -> bool {
        self.first.load(Relaxed).is_null()
    }

    /// All rings, the newest first.
    ///
    /// # Safety
    ///
    /// The caller is a log call of this task, or holds the lock of the table, for as long as
    /// it uses the result.
    #[inline]
    pub unsafe fn rings(&self) -> impl Iterator<Item = &Ring> {
        Self::from(self.first.load(Acquire))
    }

    /// The rings from this one on.
    #[inline]
    fn from<'a>(first: *mut Ring) -> impl Iterator<Item = &'a Ring> {
        // SAFETY: By the type invariants, those in the list are valid for a caller that walks it.
        iter::successors(unsafe { first.as_ref() }, |ring| unsafe {
            // ORDERING: Acquire pairs with the stores of `add` and `remove`.
            ring.next.load(Acquire).as_ref()
        })
    }

    /// The task's ring of the component in `slot`.
    ///
    /// # Safety
    ///
    /// As for [`Self::rings`].
    #[inline]
    pub unsafe fn find(&self, slot: u32) -> Option<&Ring> {
        Self::from(self.first.load(Acquire)).find(|ring| ring.slot() == slot)
    }

    /// Whether this is a ring of the task, to the component of which this call logs.
    ///
    /// # Safety
    ///
    /// As for [`Self::cache`], but that the ring may be in another list, or in none.
    #[inline]
    pub unsafe fn has(&self, ring: &Ring) -> bool {
        // ORDERING: Only this task stores its number, and nobody takes the ring out while it logs.
        ring.table.load(Relaxed) == self.number()
    }

    /// Has the fast path find this ring.
    ///
    /// # Safety
    ///
    /// The caller is a log call of this task, to the ring's component, whose way this is, and the
    /// ring is in the list.
    #[inline]
    pub unsafe fn cache(&self, ring: &Ring, way: usize) {
        // INVARIANT: By this function's requirement.
        // ORDERING: Only this task looks there.
        self.rings[way].store(ptr::from_ref(ring).cast_mut(), Relaxed);
    }

    /// Adds a ring; where there is one already for its component, returns that: a log call that
    /// interrupted this one has been faster.
    ///
    /// # Safety
    ///
    /// The caller is a log call of this task, to the ring's component. The ring is live, is this
    /// task's, and in no list.
    #[inline]
    pub unsafe fn add(&self, ring: &Ring) -> Result<(), &Ring> {
        let new = ptr::from_ref(ring).cast_mut();
        loop {
            let first = self.first.load(Acquire);
            if let Some(faster) = Self::from(first).find(|other| other.slot() == ring.slot()) {
                return Err(faster);
            }
            ring.next.store(first, Relaxed);
            // INVARIANT: There is no other one for this component: who adds one is in this task,
            // and puts it before `first`.
            // ORDERING: Release: who walks the list finds the ring whole, and what follows it.
            if self
                .first
                .compare_exchange(first, new, AcqRel, Relaxed)
                .is_ok()
            {
                // INVARIANT: It is in the list.
                ring.table.store(self.number(), Relaxed);
                return Ok(());
            }
        }
    }

    /// Takes the ring of the component in `slot` out. It has to stay valid as long as log calls of
    /// the task may still be looking at it. `none` is what [`Ring::none`] made.
    ///
    /// # Safety
    ///
    /// The lock of the table is held, and nobody logs to that component.
    pub unsafe fn remove(&self, slot: u32, none: *mut Ring) {
        loop {
            let mut link = &self.first;
            let ring = loop {
                // SAFETY: What is in the list is valid, as the lock is held.
                let Some(ring) = (unsafe { link.load(Acquire).as_ref() }) else {
                    return;
                };
                if ring.slot() == slot {
                    break ring;
                }
                link = &ring.next;
            };
            ring.table.store(0, Relaxed);
            let old = ptr::from_ref(ring).cast_mut();
            // The task may have another ring there by now, or put one there just now; but not this
            // one again.
            let _ = self.rings[way_of(slot) as usize].compare_exchange(old, none, Relaxed, Relaxed);
            let next = ring.next.load(Relaxed);
            // INVARIANT: The list goes on with what followed. A walker on the ring still gets
            // there, too.
            // ORDERING: Release, as `next` was stored so.
            if link.compare_exchange(old, next, Release, Relaxed).is_ok() {
                return;
            }
            // It was the first one, and the task has put another one in front of it.
        }
    }

    /// Takes all rings out, and calls `f` with each, which may have another owner then.
    ///
    /// # Safety
    ///
    /// The lock of the table is held, and the task doesn't run again. `none` is what
    /// [`Ring::none`] made.
    pub unsafe fn take(&self, none: *mut Ring, mut f: impl FnMut(&Ring)) {
        for way in &self.rings {
            way.store(none, Relaxed);
        }
        let mut at = self.first.swap(ptr::null_mut(), Acquire);
        // SAFETY: What was in the list is valid, as the lock is held.
        while let Some(ring) = unsafe { at.as_ref() } {
            // Before it has another owner, in whose list it is.
            at = ring.next.load(Acquire);
            ring.table.store(0, Relaxed);
            f(ring);
        }
    }
}
