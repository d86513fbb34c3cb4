// SPDX-License-Identifier: GPL-2.0

//! The ring: one writer, a chain of pages, readers that never block it.
//!
//! [`Ring::write`] is the fast path that `blog_log!` inlines into a driver; [`Writing::turn`] and
//! [`Ring::begin_shared`] are the slow path, called by `blog/`: they move a ring to its next page,
//! and write into a ring that has several writers. This file needs nothing but `core` and compiles
//! on the host unchanged, so that tests, loom and sanitizers run the real code. It never allocates,
//! locks, waits or wakes: pages come from a [`Pages`], which doesn't either.
//!
//! The protocol of writers, thieves and readers, with the reason for each ordering, is in
//! Documentation/blog/.
//!
//! # Data race by design
//!
//! A reader may copy bytes that the page's next life is just storing; it drops such a copy without
//! having looked at it. Its loads are relaxed atomic ones. The writer's stores are plain: arguments
//! are packed without padding, so no atomic type is aligned for them. In the terms of the memory
//! model that is still a race, as it is in every seqlock; the kernel's model has it as a marked
//! load against a plain store, of which no value is used. Everything below the published end of a
//! page that stays is ordered by `commit`, and free of races.

mod busy;
mod chain;
#[cfg(any(CONFIG_BLOG_PARTS, not(CONFIG_RUST)))]
mod count;
mod cursor;
#[cfg(any(CONFIG_BLOG_PARTS, not(CONFIG_RUST)))]
mod head;
mod losses;
#[cfg(any(CONFIG_BLOG_PARTS, not(CONFIG_RUST)))]
mod mend;
#[cfg(any(CONFIG_BLOG_PACK, not(CONFIG_RUST)))]
mod open;
mod owner;
mod page;
mod peek;
mod turn;
mod writer;

pub use self::{
    busy::Writing,
    owner::{
        Info,
        Owner,
        RingState, //
    },
    page::{
        PageHeader,
        Pages,
        NO_PAGE,
        OWN_ROOM,
        ROOM, //
    },
    turn::Mode,
    writer::Reservation, //
};
use self::{
    chain::RingChain,
    cursor::Cursor,
    losses::Losses,
    owner::Ownership,
    page::RingRoom, //
};
use super::wire::page::{
    RING_BUSY,
    RING_SIZE,
    ROOM_AT, //
};
use core::{
    mem::offset_of,
    ptr,
    sync::atomic::{
        AtomicPtr,
        AtomicU16,
        AtomicU32,
        AtomicU8,
        Ordering::*, //
    }, //
};

/// A ring. It begins as a `RingHead` of `wire/` does, where that is there.
///
/// # Invariants
///
/// Each role has its own. Together:
///
/// - `busy` has [`RING_BUSY`] while there is a [`Writing`] of the ring, and there is never
///   more than one. Its low half is the component's slot. In a shared ring, the bits between count
///   the claims, to distinguish them. In a ring without a writer, the bit may be set for good.
/// - What `cursor` has as its page is the newest one of `chain`, or an empty one where that holds
///   none. Both go on to the next page in [`Writing::turn`].
/// - If there are unreported `losses`, then `cursor` is closed, or the writer is in
///   [`Writing::turn`].
#[repr(C, align(64))]
pub struct Ring {
    // The line that each record touches.
    /// Whether a record is being written; and of which component the ring is, so that the fast path
    /// asks both at once.
    busy: AtomicU32,
    /// Not 0: its task may be called otherwise than `owner` says.
    renamed: AtomicU8,
    /// For who keeps rings that nobody writes to: where it is to return.
    pub home: AtomicU8,
    /// Of a ring in a task's table, the number of that, from 1 on; else 0. See
    /// [`Tls`](super::task::Tls).
    pub(super) table: AtomicU16,
    cursor: Cursor,

    // What a page turn touches.
    chain: RingChain,
    losses: Losses,

    // The owner.
    owner: Ownership,
    /// The next ring of the same task, see [`Tls`](super::task::Tls).
    pub(super) next: AtomicPtr<Ring>,

    // In cache lines of its own.
    room: RingRoom,
    /// For who keeps rings that nobody writes to: the next one.
    pub link: AtomicU32,
}

// Seven, and a page header, take a page of 4 KiB.
const _: () = assert!(offset_of!(Ring, room) == ROOM_AT && size_of::<Ring>() == RING_SIZE);

impl Ring {
    /// For [`ABI`](super::super::call::abi::ABI).
    pub(in super::super) const SHAPE: [usize; 7] = [
        size_of::<Self>(),
        offset_of!(Self, busy),
        offset_of!(Self, cursor.limit),
        offset_of!(Self, cursor.ts_base),
        offset_of!(Self, cursor.page),
        offset_of!(Self, cursor.last),
        offset_of!(PageHeader, commit),
    ];

    /// Makes a free ring for the component in `slot`, with `room` bytes of its own for its first
    /// records, [`ROOM`] at most; 0: it has none.
    ///
    /// # Safety
    ///
    /// `empty` is a [`PageHeader::empty`] that outlives the ring, and that nobody stores to.
    pub const unsafe fn new(id: u32, slot: u16, empty: *mut PageHeader, room: u32) -> Self {
        Self {
            busy: AtomicU32::new(slot as u32),
            // SAFETY: By this function's requirement.
            cursor: unsafe { Cursor::new(empty) },
            chain: RingChain::new(),
            losses: Losses::new(),
            owner: Ownership::new(id, slot),
            next: AtomicPtr::new(ptr::null_mut()),
            renamed: AtomicU8::new(0),
            home: AtomicU8::new(0),
            room: RingRoom::new(room),
            link: AtomicU32::new(0),
            table: AtomicU16::new(0),
        }
    }

    /// Makes what stands for a ring where a context has none: it is busy for good, so every call
    /// takes the slow path.
    ///
    /// # Safety
    ///
    /// As for [`Self::new`].
    pub const unsafe fn none(empty: *mut PageHeader) -> Self {
        Self {
            busy: AtomicU32::new(RING_BUSY),
            // SAFETY: By this function's requirement.
            ..unsafe { Self::new(u32::MAX, u16::MAX, empty, 0) }
        }
    }

    /// Id of the ring within its component.
    #[inline]
    pub fn id(&self) -> u32 {
        self.owner.id.load(Relaxed)
    }

    /// Slot of the component that the ring is of.
    #[inline]
    pub fn slot(&self) -> u32 {
        u32::from(self.owner.slot)
    }

    /// The ring's own page: a ring's records begin there, and go on in pages of the pool. It is the
    /// first page that the ring overwrites, and used again only when there is no other.
    pub fn room(&self) -> &PageHeader {
        self.room.header()
    }

    /// Copies the ring's own page: as [`PageHeader::copy`].
    pub fn copy_room(&self, seq: u64, to: &mut [u8]) -> Option<usize> {
        // SAFETY: The room is a field of this ring, and as large as its size says.
        unsafe { PageHeader::copy(self.room.page(), self.room().size(), seq, to) }
    }

    /// Where the ring is: position of its current page, published end in that page, and number of
    /// records taken in all. `None` where it has no page, or for a reader that sees the page turn.
    pub fn position(&self) -> Option<(u64, u32, u64)> {
        let (seq, first, commit) = self.cursor.look(self.id())?;
        Some((seq, commit as u32, first.wrapping_add(commit >> 32)))
    }

    /// Records taken in all: those before the current page, and those in it.
    ///
    /// Exact for the ring's writer and once the ring is retired; of a live ring, a reader sees what
    /// was true a moment ago.
    pub fn records(&self) -> u64 {
        // ORDERING: Acquire pairs with the store in `retire`: `taken` is that of the ring's end.
        // The current page may be another ring's then.
        let ended = self.owner.state.load(Acquire) == RingState::Retired as u8;
        match (!ended).then(|| self.position()).flatten() {
            Some((_, _, records)) => records,
            // ORDERING: A reader that finds the page withdrawn, or another one in its place, has
            // acquired that, so it sees what `turn` has stored here before.
            None => self.cursor.taken.load(Relaxed),
        }
    }
}
