// SPDX-License-Identifier: GPL-2.0

//! The owner of a ring: a ring's life from its first owner to the next one.

use super::super::wire::record::{
    Context,
    LOST_CAUSES, //
};
use super::{
    page,
    Ring, //
};
use core::sync::atomic::{
    fence,
    AtomicI32,
    AtomicU32,
    AtomicU64,
    AtomicU8,
    Ordering::*, //
};

/// State of a [`Ring`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum RingState {
    /// Belongs to nobody and holds no page.
    Free = 0,
    /// Has a writer.
    Live = 1,
    /// Its task has ended; its pages are kept until they are needed.
    Retired = 2,
}

/// A writer of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The kind of context.
    pub context: Context,
    /// CPU of a per-CPU ring, number of a shared one, else `u32::MAX`. For a writer of a shared
    /// ring, the CPU that it runs on.
    pub cpu: u32,
    /// Thread id, or -1.
    pub pid: i32,
    /// Process id, or -1.
    pub tgid: i32,
    /// Name of the task, NUL padded. Of a ring's owner, this and the ids are as they were when it
    /// got the ring.
    pub comm: [u8; 16],
    /// When the task started, in nanoseconds, and how many programs it has executed since: what
    /// else distinguishes the writers of a shared ring. [`Ring::info`] doesn't know.
    pub life: (u64, u64),
}

impl Owner {
    /// A context without a task.
    pub const fn new(context: Context, cpu: u32) -> Self {
        Self {
            context,
            cpu,
            pid: -1,
            tgid: -1,
            comm: [0; 16],
            life: (0, 0),
        }
    }

    /// A number that distinguishes the writers of a shared ring, never 0.
    ///
    /// Two that differ in one of these words have different numbers, as each step is one to one;
    /// two that differ in more have by all chances.
    pub(super) fn key(&self) -> u64 {
        let comm = u128::from_ne_bytes(self.comm);
        let (start, execs) = self.life;
        let words = [
            (self.context as u64) << 32 | u64::from(self.cpu),
            u64::from(self.pid as u32) << 32 | u64::from(self.tgid as u32),
            comm as u64,
            (comm >> 64) as u64,
            start,
            execs,
        ];
        // As in FxHash.
        let mix =
            |sum: u64, n: u64| (sum.rotate_left(5) ^ n).wrapping_mul(0x51_7c_c1_b7_27_22_0a_95);
        words.into_iter().fold(0, mix).max(1)
    }
}

/// A copy of what readers want to know of a ring: [`Ring::info`].
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// State.
    pub state: RingState,
    /// The writer.
    pub owner: Owner,
    /// When the task ended, in the ring's clock.
    pub exit_clock: u64,
    /// Pages of this owner have a position of at least this one.
    pub first_seq: u64,
    /// Position of the current page; less than `first_seq` where this owner has had none. Pages up
    /// to here are this owner's for sure. Later ones are its own if, once they are copied,
    /// [`Ring::info`] returns the same `first_seq`.
    pub last_seq: u64,
    /// Records taken in all.
    pub records: u64,
    /// Records lost, by cause.
    pub lost: [u64; LOST_CAUSES],
    /// Of these, those that records in the ring report.
    pub reported: [u64; LOST_CAUSES],
    /// Pages of the pool that it holds; a moment old.
    pub pages: u32,
    /// Whether its own room is in its chain, too; a moment old.
    pub has_room: bool,
}

impl Info {
    /// All pages in its chain.
    pub fn all_pages(&self) -> u32 {
        self.pages.saturating_add(self.has_room.into())
    }
}

/// The owner of a ring, or its last owner.
///
/// # Invariants
///
/// - `id` and `slot` never change.
/// - All else is stored by who owns the ring (its writer, or who took it out of a list), and while
///   `version` is odd.
/// - Pages of this owner have positions from `first_seq` on.
#[repr(C)]
pub(super) struct Ownership {
    pub(super) id: AtomicU32,
    pub(super) version: AtomicU32,
    pub(super) state: AtomicU8,
    pub(super) context: AtomicU8,
    /// Of the component that the ring is of.
    pub(super) slot: u16,
    pub(super) cpu: AtomicU32,
    pub(super) pid: AtomicI32,
    pub(super) tgid: AtomicI32,
    pub(super) comm: [AtomicU64; 2],
    pub(super) first_seq: AtomicU64,
}

impl Ownership {
    /// Nobody's.
    pub(super) const fn new(id: u32, slot: u16) -> Self {
        Self {
            id: AtomicU32::new(id),
            version: AtomicU32::new(0),
            state: AtomicU8::new(RingState::Free as u8),
            context: AtomicU8::new(0),
            slot,
            cpu: AtomicU32::new(u32::MAX),
            pid: AtomicI32::new(-1),
            tgid: AtomicI32::new(-1),
            comm: [const { AtomicU64::new(0) }; 2],
            first_seq: AtomicU64::new(1),
        }
    }

    /// Changes what readers must see together.
    #[inline]
    fn change(&self, change: impl FnOnce(&Self)) {
        let version = self.version.load(Relaxed);
        self.version.store(version.wrapping_add(1), Relaxed);
        // ORDERING: The odd version comes before the changes, for a reader that fences between
        // its loads and its second look at the version.
        fence(Release);
        change(self);
        // ORDERING: The changes come before the even version.
        self.version.store(version.wrapping_add(2), Release);
    }

    /// What `read` finds; `None` where any of that [changes](Self::change) meanwhile.
    fn unchanged<T>(&self, read: impl FnOnce(&Self) -> Option<T>) -> Option<T> {
        // ORDERING: Acquire: `read` sees at least the changes before this version.
        let version = self.version.load(Acquire);
        if version & 1 != 0 {
            return None;
        }
        let value = read(self)?;
        // ORDERING: Pairs with the fence in `change`.
        fence(Acquire);
        (self.version.load(Relaxed) == version).then_some(value)
    }
}

impl Ring {
    /// Gives a free ring an owner.
    ///
    /// # Safety
    ///
    /// The ring is free and nobody else's (it has just been taken from a list of free rings).
    #[inline]
    pub unsafe fn adopt(&self, owner: &Owner) {
        self.owner.change(|ours| {
            ours.context.store(owner.context as u8, Relaxed);
            ours.cpu.store(owner.cpu, Relaxed);
            ours.pid.store(owner.pid, Relaxed);
            ours.tgid.store(owner.tgid, Relaxed);
            let comm = u128::from_ne_bytes(owner.comm);
            ours.comm[0].store(comm as u64, Relaxed);
            ours.comm[1].store((comm >> 64) as u64, Relaxed);
            let last = self.cursor.seq.load(Relaxed);
            ours.first_seq.store(last + 1, Relaxed);
            self.cursor.taken.store(0, Relaxed);
            self.cursor.reopen();
            self.renamed.store(0, Relaxed);
            ours.state.store(RingState::Live as u8, Relaxed);
        });
        self.set_idle();
    }

    /// Takes down that the ring's task has ended: there is no writer any more.
    ///
    /// # Safety
    ///
    /// The ring is live and its writer will not write again.
    pub unsafe fn retire(&self, clock: u64) {
        let taken = self.records();
        self.owner.change(|ours| {
            self.cursor.taken.store(taken, Relaxed);
            self.cursor.last.store(clock, Relaxed);
            // ORDERING: Release: see `Ring::records`.
            ours.state.store(RingState::Retired as u8, Release);
        });
    }

    /// When the task of a retired ring ended, by its clock.
    pub fn ended(&self) -> u64 {
        self.cursor.last.load(Relaxed)
    }

    /// Makes a retired ring that has no pages left a free one. Returns the number of records that
    /// it had taken and its loss counts, for which the caller must account.
    ///
    /// # Safety
    ///
    /// As for [`Ring::steal_last`], and that has returned `None`. `empty` as for [`Ring::new`].
    pub unsafe fn release(&self, empty: *mut page::PageHeader) -> (u64, [u64; LOST_CAUSES]) {
        let records = self.records();
        let lost = self.losses.lost();
        self.owner.change(|ours| {
            self.cursor.close();
            // INVARIANT: The empty header is valid, and there is no limit that it could be less
            // than.
            self.cursor.page.store(empty, Release);
            self.losses.clear();
            ours.state.store(RingState::Free as u8, Relaxed);
        });
        (records, lost)
    }

    /// Whether it is nobody's; a moment old.
    pub fn is_free(&self) -> bool {
        self.owner.state.load(Relaxed) == RingState::Free as u8
    }

    /// Copies what readers want to know; `None` when the ring changes hands just now, or is free.
    pub fn info(&self) -> Option<Info> {
        self.owner.unchanged(|ours| {
            let state = match ours.state.load(Relaxed) {
                1 => RingState::Live,
                2 => RingState::Retired,
                _ => return None,
            };
            let [low, high] = ours.comm.each_ref().map(|n| u128::from(n.load(Relaxed)));
            let first_seq = ours.first_seq.load(Relaxed);
            // Amid what belongs together: it has acquire loads and fences of its own, and so the
            // models see that those of `unchanged` are needed.
            let records = self.records();
            // Before `lost`, so that the reports never exceed the losses.
            let reported = self.losses.reported();
            Some(Info {
                state,
                owner: Owner {
                    context: Context::from_u8(ours.context.load(Relaxed))?,
                    cpu: ours.cpu.load(Relaxed),
                    pid: ours.pid.load(Relaxed),
                    tgid: ours.tgid.load(Relaxed),
                    comm: (low | high << 64).to_ne_bytes(),
                    life: (0, 0),
                },
                exit_clock: match state {
                    RingState::Retired => self.cursor.last.load(Relaxed),
                    _ => 0,
                },
                first_seq,
                last_seq: self.cursor.seq.load(Relaxed),
                records,
                reported,
                lost: self.losses.lost(),
                pages: self.pages(),
                has_room: self.oldest_page() == Some(page::OWN_ROOM),
            })
        })
    }
}
