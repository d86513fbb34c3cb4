// SPDX-License-Identifier: GPL-2.0

//! The ring: one writer, a chain of pages, readers that never block it.
//!
//! [`Ring::write`] is the fast path that `blog_log!` inlines into a driver; [`Ring::turn`] and
//! [`Ring::begin_shared`] are the slow path, called by `blog/`: they move a ring to its next page,
//! and write into a ring that has several writers. This file needs nothing but `core` and compiles
//! on the host unchanged, so that tests, loom and sanitizers run the real code. It never allocates,
//! locks, waits or wakes: pages come from a [`Pages`], which is lock-free.
//!
//! # Protocol
//!
//! A ring belongs to one context (a task, or one CPU's softirq, hardirq or NMI context), so it has
//! one writer at any instant. That writer may be interrupted by itself only: a kprobe or an
//! exception in the middle of a record may log again. `busy` catches that. The inner record, like
//! that of a context which can get no ring or no page, goes into a *shared* ring: whoever changes
//! its `busy` from 0 to 1 is its only writer until the record is there, and says who it is in a
//! task record. Nobody waits for a shared ring; who finds all of them taken counts a loss.
//!
//! 1. The writer stores the arguments, then the header, beyond the published end of its page.
//! 2. It publishes both with one release store of the page's `commit` word, which holds the new
//!    end and the number of records. On x86 that is a plain store.
//! 3. When the page is full, it takes another one: from the pool, or in overwrite mode its own
//!    oldest one. Whoever takes a page from a ring stores position 0 to its `seq`; then the page is
//!    reset, then gets its new `seq`.
//!
//! A ring that holds more than its share may lose its oldest page to anybody ([`Ring::steal`]).
//! So the old end of the chain is one word, an index and a tag, which the ring's own writer changes
//! by compare-and-swap like everybody else. The other end, the current page, is the writer's alone.
//!
//! A reader acquires `seq`, then `commit`, copies the page up to that end, and looks at `seq`
//! again: if it changed, the copy is dropped. So each copy is a prefix of one page's life. What is
//! not published, a reader does not look at.
//!
//! Positions are counted by each ring, so two rings that hold a page one after the other may both
//! call it their first one. The upper bits of `seq` therefore count the page's lives: a reader
//! sees a change even if the position is the same again.
//!
//! # Data race by design
//!
//! A reader may copy bytes that the page's next life is just storing; it drops such a copy without
//! having looked at it. Its loads are relaxed atomic ones. The writer's stores are plain: arguments
//! are packed without padding, so no atomic type is aligned for them. In the terms of the memory
//! model that is still a race, as it is in every seqlock; the kernel's model has it as a marked
//! load against a plain store, of which no value is used. Everything below the published end of a
//! page that stays is ordered by `commit`, and free of races.
//!
//! Plain `core` atomics are used and not `kernel::sync::atomic`: the file must compile on the
//! host, and a release store of the latter costs a full fence on SMP UML. Both are the same plain
//! store on x86.

use super::{
    record::{
        Context,
        Control,
        Header,
        Lost,
        PageInfo,
        CONTROL_SIZE,
        HEADER_SIZE,
        LOST_CAUSES,
        PAGE_HEADER_SIZE,
        PAGE_MAGIC,
        SEQ_BITS,
        SEQ_MASK,
        TASK_SIZE,
        TS_BITS,
        TS_MASK, //
    },
    root::{
        RingLayout,
        TlsLayout, //
    }, //
};
use core::{
    mem::{
        self,
        offset_of, //
    },
    ptr,
    sync::atomic::{
        compiler_fence,
        fence,
        AtomicI32,
        AtomicPtr,
        AtomicU32,
        AtomicU64,
        AtomicU8,
        Ordering::{
            AcqRel,
            Acquire,
            Relaxed,
            Release,
            SeqCst, //
        }, //
    }, //
};

/// No page: the end of a chain.
pub const NO_PAGE: u32 = u32::MAX;

/// How often [`Ring::steal`] tries again before it gives up, and how many of its pages a ring gives
/// up in one turn after its limit was lowered: time in an NMI is bounded.
const TRIES: u32 = 16;

/// Atomics that only the calling context stores to.
trait Peek {
    type Value;

    /// A relaxed load.
    ///
    /// Of an atomic load, compilers make an instruction of its own: at the time of writing LLVM
    /// folds none into a comparison. A volatile one it does fold, and in the fast path each
    /// instruction counts. As nobody else stores, there is no race that an atomic load would have
    /// to allow. On the host, models and sanitizers have to see it all the same.
    fn peek(&self) -> Self::Value;
}

macro_rules! impl_peek {
    ($(($($generic:tt)*) $atomic:ty, $value:ty;)*) => {$(
        impl $($generic)* Peek for $atomic {
            type Value = $value;

            #[inline(always)]
            fn peek(&self) -> $value {
                #[cfg(CONFIG_BLOG_HOOKS)]
                // SAFETY: A reference is valid. Others may load meanwhile, but not store.
                return unsafe { self.as_ptr().read_volatile() };
                #[cfg(not(CONFIG_BLOG_HOOKS))]
                self.load(Relaxed)
            }
        }
    )*};
}

impl_peek! {
    () AtomicU32, u32;
    () AtomicU64, u64;
    (<T>) AtomicPtr<T>, *mut T;
}

/// The live header at the start of a page; [`super::record::PageInfo`] has its layout at rest and
/// says what the fields mean.
///
/// # Invariants
///
/// - While `seq` has a position, `base`, `first`, `ring` and `size` do not change, the bytes up to
///   `commit`'s end do not change, and `commit` only grows.
/// - `seq` has no position while the page is in no ring. Its upper bits grow with each life.
/// - Only the ring's writer, or who took the ring or the page from it, stores here.
#[repr(C, align(8))]
pub struct PageHeader {
    magic: AtomicU32,
    size: AtomicU32,
    ring: AtomicU32,
    next: AtomicU32,
    seq: AtomicU64,
    base: AtomicU64,
    first: AtomicU64,
    commit: AtomicU64,
}

const _: () = assert!(core::mem::size_of::<PageHeader>() == PAGE_HEADER_SIZE);

impl PageHeader {
    /// A header of a page without room, for rings that have no page yet: any record takes the
    /// slow path.
    pub const fn empty() -> Self {
        Self {
            magic: AtomicU32::new(0),
            size: AtomicU32::new(0),
            ring: AtomicU32::new(0),
            next: AtomicU32::new(NO_PAGE),
            seq: AtomicU64::new(0),
            base: AtomicU64::new(0),
            first: AtomicU64::new(0),
            commit: AtomicU64::new(0),
        }
    }

    /// Makes the memory of a page that is in no ring a page of `size` bytes.
    ///
    /// Readers may still be looking at it, as a page that it was before: they must find out.
    ///
    /// # Safety
    ///
    /// `page` must be valid for `size` bytes, initialised and aligned to 8. Nobody else stores there.
    pub unsafe fn format(page: *mut PageHeader, size: u32) {
        // SAFETY: The memory is large enough, initialised and aligned.
        let header = unsafe { &*page };
        header.magic.store(PAGE_MAGIC, Relaxed);
        header.size.store(size, Relaxed);
        header.ring.store(0, Relaxed);
        header.next.store(NO_PAGE, Relaxed);
        header.seq.store(0, Relaxed);
        header.base.store(0, Relaxed);
        header.first.store(0, Relaxed);
        header.commit.store(0, Relaxed);
    }

    /// Size in bytes, this header included.
    pub fn size(&self) -> u32 {
        self.size.load(Relaxed)
    }

    /// Id of the ring that holds the page, or last held it. Only meaningful with [`Self::seq`].
    pub fn ring(&self) -> u32 {
        self.ring.load(Relaxed)
    }

    /// Position of the page in its ring; 0 where it is in none.
    ///
    /// The load is an acquire one: it pairs with the release store at the end of a page turn, so
    /// that a reader that sees a position sees the header that belongs to it.
    pub fn seq(&self) -> u64 {
        self.seq.load(Acquire) & SEQ_MASK
    }

    /// Ordinal of the page's first record.
    pub fn first(&self) -> u64 {
        self.first.load(Relaxed)
    }

    /// Number of records published so far.
    pub fn records(&self) -> u32 {
        (self.commit.load(Relaxed) >> 32) as u32
    }

    /// Copies the page, as far as it is published, to `to`, and returns the number of bytes; `None`
    /// where the page is not (or no longer) one of `size` bytes at position `seq` of a ring, or
    /// `to` is too small.
    ///
    /// The copy's header tells of which ring: a caller that goes by what it saw in the page before
    /// must look again there.
    ///
    /// # Safety
    ///
    /// `page` must be valid for `size` bytes, initialised, and stay mapped during the call. Where
    /// it may cease to be a page of its own meanwhile, the caller must find that out afterwards.
    pub unsafe fn copy(
        page: *const PageHeader,
        size: u32,
        seq: u64,
        to: &mut [u8],
    ) -> Option<usize> {
        // SAFETY: There is memory of this size, of which a header is atomics only.
        let header = unsafe { &*page };
        // ORDERING: As in `seq`.
        let life = header.seq.load(Acquire);
        if seq == 0 || life & SEQ_MASK != seq {
            return None;
        }
        // ORDERING: Acquire pairs with the release store that publishes records: all bytes below
        // the end that is read here are there.
        let commit = header.commit.load(Acquire);
        let len = commit as u32 as usize;
        if header.size() != size || len > size as usize {
            return None;
        }
        let (head, body) = to
            .get_mut(..len)?
            .split_first_chunk_mut::<PAGE_HEADER_SIZE>()?;
        let info = PageInfo {
            magic: header.magic.load(Relaxed),
            size,
            ring: header.ring.load(Relaxed),
            next: header.next.load(Relaxed),
            seq,
            base: header.base.load(Relaxed),
            first: header.first.load(Relaxed),
            commit,
        };
        // SAFETY: `PageInfo` is as large as the array (asserted beside it) and has no padding.
        *head = unsafe { mem::transmute::<PageInfo, [u8; PAGE_HEADER_SIZE]>(info) };
        // SAFETY: The page is larger than its header.
        let mut from = unsafe { page.add(1) }.cast::<AtomicU32>();
        for unit in body.chunks_exact_mut(mem::size_of::<u32>()) {
            // SAFETY: The page has at least `len` bytes, and is aligned to 8. About the writer that
            // may take the page away meanwhile, see "Data race by design" above.
            let (word, next) = unsafe { ((*from).load(Relaxed), from.add(1)) };
            unit.copy_from_slice(&word.to_ne_bytes());
            from = next;
        }
        // ORDERING: The fence keeps the loads of the copy before the load of `seq`, and pairs with
        // the release fence in `reset`: if any of what was loaded is of the page's next life, then
        // `seq` reads as changed here.
        fence(Acquire);
        (header.seq.load(Relaxed) == life).then_some(len)
    }

    /// Reads position, `first` and `commit` as they belong together; `None` where the page is not in
    /// `ring`, or its life ends just now.
    fn look(&self, ring: u32) -> Option<(u64, u64, u64)> {
        // ORDERING: As in `copy`.
        let life = self.seq.load(Acquire);
        let first = self.first.load(Relaxed);
        let commit = self.commit.load(Acquire);
        let ours = self.ring.load(Relaxed) == ring;
        fence(Acquire);
        // ORDERING: Acquire pairs with the store in `withdraw`: see `Ring::records`.
        let same = self.seq.load(Acquire) == life && life & SEQ_MASK != 0 && ours;
        same.then_some((life & SEQ_MASK, first, commit))
    }

    /// Starts a new life of this page, which is in no ring, without publishing it.
    fn reset(&self, ring: u32, base: u64, first: u64) {
        // ORDERING: All stores into the page, from here on, come after the withdrawal for a reader
        // that fences between its copy and its second look at `seq`.
        fence(Release);
        self.ring.store(ring, Relaxed);
        self.next.store(NO_PAGE, Relaxed);
        self.base.store(base, Relaxed);
        self.first.store(first, Relaxed);
        self.commit.store(PAGE_HEADER_SIZE as u64, Relaxed);
    }

    /// Gives the page, which has been reset, its position: readers accept it from now on.
    fn publish(&self, seq: u64) {
        let lives = (self.seq.load(Relaxed) >> SEQ_BITS).wrapping_add(1);
        // INVARIANT: There is one more life than at the last time, so the word has not been there
        // before.
        // ORDERING: Release: a reader that acquires the new position sees the reset header.
        self.seq.store(lives << SEQ_BITS | seq & SEQ_MASK, Release);
    }

    /// Takes the page out of its ring's life: readers no longer accept it.
    fn withdraw(&self) {
        let lives = self.seq.load(Relaxed) & !SEQ_MASK;
        // ORDERING: Release: see `Ring::records`.
        self.seq.store(lives, Release);
    }
}

/// Where a ring gets pages. Implemented by the component's pool, and by tests.
///
/// Pages may differ in size. All sizes are in bytes.
pub trait Pages {
    /// Takes a page of at least `room` and at most `most` out of the pool, for a ring that holds
    /// `held`: a small one for its first, later a large one if there is any. Lock-free.
    fn take(&self, held: u32, room: u32, most: u32) -> Option<u32>;

    /// Gives a page, which is in no ring any more, to the pool. Lock-free.
    fn put(&self, index: u32);

    /// The page with this index. The pointer stays valid as long as anybody may have the index from
    /// a ring: during a call of any function of [`Ring`].
    fn page(&self, index: u32) -> *mut PageHeader;

    /// The size of the largest pages there are.
    fn largest(&self) -> u32;
}

/// Where a record goes: what `write`'s slow path has found.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Place {
    /// A ring that is busy for the caller and has room for the record; null where there is none,
    /// and the loss has been counted.
    pub ring: *const Ring,
    /// The record's time.
    pub ts: u64,
}

impl Place {
    /// There is none.
    pub const LOST: Self = Self {
        ring: ptr::null(),
        ts: 0,
    };
}

/// What a full ring does: [`Ring::turn`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It overwrites its oldest page (flight recorder).
    Overwrite,
    /// It keeps what it has, and counts what comes.
    Discard,
}

/// State of a [`Ring`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// Belongs to nobody and holds no page.
    Free = 0,
    /// Has a writer.
    Live = 1,
    /// Its task has ended; its pages are kept until they are needed.
    Retired = 2,
}

/// Who writes into a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The kind of context.
    pub context: Context,
    /// CPU of a per-CPU ring, number of a shared one, else `u32::MAX`. Of who writes into a shared
    /// ring, the CPU that it runs on.
    pub cpu: u32,
    /// Thread id, or -1.
    pub pid: i32,
    /// Process id, or -1.
    pub tgid: i32,
    /// Name of the task, NUL padded.
    pub comm: [u8; 16],
}

impl Owner {
    /// A number that tells the writers of a shared ring apart, never 0.
    fn key(&self) -> u64 {
        (self.context as u64 + 1) << 48 | u64::from(self.cpu as u16) << 32 | self.pid as u32 as u64
    }
}

/// A copy of what readers want to know of a ring: [`Ring::info`].
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// State.
    pub state: State,
    /// Who writes into it.
    pub owner: Owner,
    /// When the task ended, in the ring's clock.
    pub exit_clock: u64,
    /// Pages of this owner have a position of at least this one.
    pub first_seq: u64,
    /// Position of the current page; less than `first_seq` where this owner has had none. Pages up
    /// to here are this owner's for sure. Later ones are its own if, once they are copied,
    /// [`Ring::info`] tells the same `first_seq`.
    pub last_seq: u64,
    /// Records taken in all.
    pub records: u64,
    /// Records lost, by cause.
    pub lost: [u64; LOST_CAUSES],
    /// Of these, those that records in the ring tell of.
    pub told: [u64; LOST_CAUSES],
    /// Pages held; a moment old.
    pub pages: u32,
    /// Their size in bytes; a moment old.
    pub held: u32,
}

/// A ring.
///
/// # Invariants
///
/// - `page` points to a valid page header at all times: the ring's current page, or an empty one.
/// - All fields but `lost`, `limit`, `oldest`, `pages` and `held` are stored by the owner of the
///   ring only: its writer while it is `Live` and `busy` (or before it is live), whoever took it
///   out of the retired queue after that.
/// - `limit` is at most the size of the current page. It is 0 whenever the next record must take
///   the slow path.
/// - `told[i] <= lost[i]`; if they differ, `limit` is 0 or the writer is in [`Ring::turn`].
/// - `taken` is the number of records taken before the current page, once the ring is retired that
///   of all records.
/// - The pages in the low half of `oldest`, `next` of that, … up to `page` are the ring's, with
///   `seq` growing by one. The high half of `oldest` grows with each change of the low half.
/// - Only the owner takes the last page of the chain.
/// - `pages` and `held` are the number and the size of those pages, or more while one is being
///   added or taken.
#[repr(C, align(64))]
pub struct Ring {
    // The line that each record touches.
    busy: AtomicU32,
    /// As wide as a register: the fast path compares what it then adds to an address.
    limit: AtomicU64,
    ts_base: AtomicU64,
    page: AtomicPtr<PageHeader>,
    last: AtomicU64,

    // What a page turn touches.
    seq: AtomicU64,
    oldest: AtomicU64,
    pages: AtomicU32,
    held: AtomicU32,
    /// Of a shared ring: [`Owner::key`] of who wrote last, or 0 at the start of a page.
    writer: AtomicU64,
    lost: [AtomicU64; LOST_CAUSES],
    told: [AtomicU64; LOST_CAUSES],

    // Who it belongs to; `version` is odd while this is being changed.
    id: AtomicU32,
    version: AtomicU32,
    state: AtomicU8,
    context: AtomicU8,
    cpu: AtomicU32,
    pid: AtomicI32,
    tgid: AtomicI32,
    comm: [AtomicU64; 2],
    exit_clock: AtomicU64,
    first_seq: AtomicU64,
    taken: AtomicU64,
}

impl Ring {
    /// Where crash tools find what they need: see `root.rs`.
    pub const LAYOUT: RingLayout = RingLayout {
        size: mem::size_of::<Self>() as u32,
        busy: offset_of!(Self, busy) as u32,
        page: offset_of!(Self, page) as u32,
        seq: offset_of!(Self, seq) as u32,
        pages: offset_of!(Self, pages) as u32,
        held: offset_of!(Self, held) as u32,
        lost: offset_of!(Self, lost) as u32,
        told: offset_of!(Self, told) as u32,
        id: offset_of!(Self, id) as u32,
        version: offset_of!(Self, version) as u32,
        state: offset_of!(Self, state) as u32,
        context: offset_of!(Self, context) as u32,
        cpu: offset_of!(Self, cpu) as u32,
        pid: offset_of!(Self, pid) as u32,
        tgid: offset_of!(Self, tgid) as u32,
        comm: offset_of!(Self, comm) as u32,
        exit_clock: offset_of!(Self, exit_clock) as u32,
        first_seq: offset_of!(Self, first_seq) as u32,
        taken: offset_of!(Self, taken) as u32,
        reserved: 0,
    };

    /// Makes a free ring. `empty` is a [`PageHeader::empty`] that outlives the ring.
    pub const fn new(id: u32, empty: *mut PageHeader) -> Self {
        // INVARIANT: The empty header is a valid one, and its limit is 0.
        Self {
            busy: AtomicU32::new(0),
            limit: AtomicU64::new(0),
            ts_base: AtomicU64::new(0),
            page: AtomicPtr::new(empty),
            last: AtomicU64::new(0),
            seq: AtomicU64::new(0),
            oldest: AtomicU64::new(NO_PAGE as u64),
            pages: AtomicU32::new(0),
            held: AtomicU32::new(0),
            writer: AtomicU64::new(0),
            lost: [const { AtomicU64::new(0) }; LOST_CAUSES],
            told: [const { AtomicU64::new(0) }; LOST_CAUSES],
            id: AtomicU32::new(id),
            version: AtomicU32::new(0),
            state: AtomicU8::new(State::Free as u8),
            context: AtomicU8::new(0),
            cpu: AtomicU32::new(u32::MAX),
            pid: AtomicI32::new(-1),
            tgid: AtomicI32::new(-1),
            comm: [const { AtomicU64::new(0) }; 2],
            exit_clock: AtomicU64::new(0),
            first_seq: AtomicU64::new(1),
            taken: AtomicU64::new(0),
        }
    }

    /// Makes what stands for a ring where a context has none: it is busy for good, so every call
    /// takes the slow path. `empty` as for [`Self::new`].
    pub const fn none(empty: *mut PageHeader) -> Self {
        let mut ring = Self::new(u32::MAX, empty);
        ring.busy = AtomicU32::new(1);
        ring
    }

    /// Id of the ring within its component.
    pub fn id(&self) -> u32 {
        self.id.load(Relaxed)
    }

    /// Pages that the ring holds; a moment old.
    pub fn pages(&self) -> u32 {
        self.pages.load(Relaxed)
    }

    /// Bytes of the pages that the ring holds; a moment old, and never less than it holds.
    pub fn held(&self) -> u32 {
        self.held.load(Relaxed)
    }

    /// Position of the oldest page that the ring holds; 1 more than that of the current page where
    /// it holds none. A moment old.
    pub fn oldest_seq(&self) -> u64 {
        // Saturating: others may see the two while they change.
        (self.seq.load(Relaxed) + 1).saturating_sub(u64::from(self.pages()))
    }

    /// Index of the oldest page that the ring holds, for who reads it; it may be gone by now.
    pub fn oldest_page(&self) -> Option<u32> {
        // ORDERING: Acquire: the header of the page that this names has been reset for this ring.
        let index = self.oldest.load(Acquire) as u32;
        (index != NO_PAGE).then_some(index)
    }

    /// Where the ring is: position of its current page, published end in that page, and number of
    /// records taken in all. `None` where it has no page, or for a reader that sees the page turn.
    pub fn position(&self) -> Option<(u64, u32, u64)> {
        let (seq, first, commit) = self.latest()?;
        Some((seq, commit as u32, first.wrapping_add(commit >> 32)))
    }

    /// [`PageHeader::look`] at the current page.
    fn latest(&self) -> Option<(u64, u64, u64)> {
        let page = self.page.load(Acquire);
        // SAFETY: By the type invariants, `page` is valid, as the memory of pages stays mapped as
        // long as rings exist.
        let seen = unsafe { &*page }.look(self.id())?;
        // What was a page may have become chunks, and bytes of a record may look like a header.
        // ORDERING: Behind the loads of `look`, the last of which is an acquire one. If the page
        // was taken from this ring before they happened, then the ring has another one by now.
        // Acquire: who finds that one sees what `turn` has stored before, see `records`.
        (self.page.load(Acquire) == page).then_some(seen)
    }

    /// Returns `now`, or the latest time that this ring has seen where that is later.
    ///
    /// For clocks that may step back a little when they are read in an NMI or on another CPU. Only
    /// the ring's writer calls it, between the two stores of `busy`.
    #[inline(always)]
    pub fn not_before_last(&self, now: u64) -> u64 {
        let now = now.max(self.last.load(Relaxed));
        self.last.store(now, Relaxed);
        now
    }

    /// Writes one record: the fast path.
    ///
    /// `ring` is the ring of the calling context, or one that is busy for good where it has none
    /// yet ([`Self::none`]). `bytes` is the size of the record with its header, a multiple of 4.
    /// `clock` reads the time, if it is one that is read here. `fill` is given the place of the
    /// arguments and stores exactly `bytes - 8` bytes there.
    ///
    /// `slow` is called in place of that when the record can't simply go behind the last one: with
    /// the ring if the record has been begun (the ring is marked as busy), else with a null
    /// pointer; and with the time, or 0 where it wasn't read. It finds a place, and calls
    /// [`Self::put`]. So nothing of the fast path has to be kept for after a call, and it needs few
    /// registers. Returns whether the record was written, or what `slow` says.
    ///
    /// # Safety
    ///
    /// `ring` is valid, and of the context that the caller runs in or busy for good.
    #[inline(always)]
    pub unsafe fn write(
        ring: *const Ring,
        bytes: u32,
        site_shl8: u32,
        clock: impl FnOnce() -> Option<u64>,
        fill: impl FnOnce(*mut u8),
        slow: impl FnOnce(*const Ring, u64) -> bool,
    ) -> bool {
        // SAFETY: By this function's requirement.
        let own = unsafe { &*ring };
        // One call of `slow`, so that what it does is in the driver's code once.
        let (begun, ts) = 'slow: {
            if !own.begin() {
                break 'slow (ptr::null(), 0);
            }
            let Some(ts) = clock() else {
                break 'slow (ring, 0);
            };
            let page = own.page.peek();
            // SAFETY: By the type invariants, `page` points to a valid header.
            let commit = unsafe { (*page).commit.peek() };
            // `limit` and the end are below 2^31, and `bytes` below 2^11: no overflow.
            let end = commit.wrapping_add(u64::from(bytes)) & u64::from(u32::MAX);
            if end > own.limit.peek() || (ts ^ own.ts_base.peek()) >> TS_BITS != 0 {
                break 'slow (ring, ts);
            }
            // SAFETY: There is room up to `limit`, which is at most the size of the page.
            unsafe { own.store((page, end as usize), ts, bytes, site_shl8, fill) };
            return true;
        };
        slow(begun, ts)
    }

    /// Writes one record where `place` says, behind the last one; the other arguments are those of
    /// [`Self::write`]. False where there is no place.
    ///
    /// # Safety
    ///
    /// The ring of `place`, if it has one, is busy for this record, with room for `bytes` at that
    /// time: [`Ring::turn`] or [`Ring::begin_shared`] said so.
    #[inline(always)]
    pub unsafe fn put(
        place: Place,
        bytes: u32,
        site_shl8: u32,
        fill: impl FnOnce(*mut u8),
    ) -> bool {
        // SAFETY: By this function's requirement.
        let Some(ring) = (unsafe { place.ring.as_ref() }) else {
            return false;
        };
        let page = ring.page.load(Relaxed);
        // SAFETY: By the type invariants, `page` points to a valid header; and there is room.
        unsafe {
            let end = ((*page).commit.load(Relaxed) as u32).wrapping_add(bytes) as usize;
            ring.store((page, end), place.ts, bytes, site_shl8, fill);
        }
        true
    }

    /// Stores a record and publishes it.
    ///
    /// # Safety
    ///
    /// The ring is busy for this record, `page` is its page, and there is room for `bytes`: up to
    /// `end`.
    #[inline(always)]
    unsafe fn store(
        &self,
        (page, end): (*mut PageHeader, usize),
        ts: u64,
        bytes: u32,
        site_shl8: u32,
        fill: impl FnOnce(*mut u8),
    ) {
        // SAFETY: The end is within the page, and there is room by this function's requirement.
        // What is stored to isn't published, so nobody reads it, and this is the only writer.
        unsafe {
            let at = page.cast::<u8>().add(end).sub(bytes as usize);
            fill(at.add(HEADER_SIZE));
            let header = Header::from_parts(ts, site_shl8, bytes);
            ptr::write_unaligned(at.cast::<u64>(), header.0);
            // ORDERING: Release: a reader that acquires this end sees the record whole. Relaxed:
            // nobody else stores to it. Together they are one instruction that adds.
            let commit = (*page).commit.load(Relaxed);
            (*page)
                .commit
                .store(commit.wrapping_add(bytes as u64 | 1 << 32), Release);
        }
        self.end();
    }

    /// Marks the ring as busy; false where it is already: a record is being written into it.
    ///
    /// For the ring's own context. It need not be one atomic step: who comes between the load and
    /// the store has gone again when the store happens.
    #[inline(always)]
    pub fn begin(&self) -> bool {
        if self.busy.peek() != 0 {
            return false;
        }
        self.busy.store(1, Relaxed);
        // ORDERING: A nested writer runs on this CPU, between two instructions of this code, so it
        // is enough that the compiler keeps what follows behind the store.
        compiler_fence(SeqCst);
        true
    }

    /// Ends what [`Self::begin`] or [`Self::claim`] began.
    #[inline(always)]
    pub fn end(&self) {
        // ORDERING: Release keeps the stores of the record before this one, for nested writers on
        // this CPU, and for the next writer of a shared ring: it pairs with `claim`.
        self.busy.store(0, Release);
    }

    /// Marks a shared ring as busy for the caller; false where it is already.
    pub fn claim(&self) -> bool {
        // ORDERING: Acquire: the stores of the writer before are visible. It pairs with `end`.
        self.busy.compare_exchange(0, 1, Acquire, Relaxed).is_ok()
    }

    /// Begins a record of `bytes` bytes in a shared ring, for `who`; returns its time.
    ///
    /// `None` where somebody else is writing, or there is no room. Otherwise the ring is busy for
    /// the caller, and has room. A task record is written where `who` was not the last to write
    /// into this page. The other arguments are those of [`Self::turn`] and [`Self::write`].
    ///
    /// # Safety
    ///
    /// The ring is live and shared: all its writers come through here. `pages` is the pool of all
    /// pages of this ring.
    pub unsafe fn begin_shared(
        &self,
        pages: &impl Pages,
        mode: Mode,
        max: u32,
        bytes: u32,
        clock: impl FnOnce() -> u64,
        who: &Owner,
    ) -> Option<u64> {
        if !self.claim() {
            return None;
        }
        // Whatever the clock is, it may be a little behind that of the last writer's CPU.
        let ts = self.not_before_last(clock());
        let need = bytes.saturating_add(TASK_SIZE);
        // SAFETY: The ring is claimed; `pages` by this function's requirement.
        if !self.has_room(need, ts) && unsafe { self.turn(pages, mode, max, need, ts) }.is_err() {
            self.end();
            return None;
        }
        if self.writer.load(Relaxed) != who.key() {
            self.writer.store(who.key(), Relaxed);
            let mut payload = [0; TASK_SIZE as usize - 8];
            let word = Control::Task as u32 | (who.context as u32) << 8 | who.cpu << 16;
            payload[..4].copy_from_slice(&word.to_ne_bytes());
            payload[4..8].copy_from_slice(&who.pid.to_ne_bytes());
            payload[8..12].copy_from_slice(&who.tgid.to_ne_bytes());
            payload[12..].copy_from_slice(&who.comm);
            // SAFETY: The ring is claimed, and there is room for this and for the record.
            unsafe { self.control(self.page.load(Relaxed), ts, &payload) };
        }
        Some(ts)
    }

    /// Counts lost records; the next record that gets through tells of them.
    pub fn count_lost(&self, cause: Lost, count: u64) {
        // A read-modify-write: a nested writer may interrupt another nested one. This is not the
        // fast path.
        self.lost[cause as usize].fetch_add(count, Relaxed);
        // ORDERING: `turn` stores its limit first and then looks at `lost`, so one of the two
        // zeroes the limit, whichever interrupts the other. Same CPU: compiler order is enough.
        compiler_fence(SeqCst);
        self.limit.store(0, Relaxed);
    }

    /// Whether a record of `bytes` bytes at time `ts` can go behind the last one without a
    /// [`turn`](Self::turn). For the ring's writer.
    pub fn has_room(&self, bytes: u32, ts: u64) -> bool {
        // SAFETY: By the type invariants, `page` is valid.
        let end = unsafe { (*self.page.load(Relaxed)).commit.load(Relaxed) } as u32;
        u64::from(end) + u64::from(bytes) <= self.limit.load(Relaxed)
            && (ts ^ self.ts_base.load(Relaxed)) >> TS_BITS == 0
    }

    /// Whether losses have happened that no record tells of yet.
    fn untold(&self) -> u32 {
        let mut n = 0;
        for (lost, told) in self.lost.iter().zip(&self.told) {
            n += u32::from(lost.load(Relaxed) != told.load(Relaxed));
        }
        n
    }

    /// Makes room for a record of `bytes` bytes at time `ts`: the slow path of [`Self::write`].
    ///
    /// Writes the time-extend and lost records that are due, and takes another page when the
    /// current one has no room: from `pages` while the ring holds less than `max` bytes, else its
    /// own oldest one where `mode` allows. A ring that holds more than `max`, as the limit was
    /// lowered, gives pages back.
    ///
    /// On an error, the record is not counted as lost yet: it may go elsewhere.
    ///
    /// # Safety
    ///
    /// The caller is the ring's writer and has marked it as busy. `pages` is the pool of all pages
    /// of this ring.
    pub unsafe fn turn(
        &self,
        pages: &impl Pages,
        mode: Mode,
        max: u32,
        bytes: u32,
        ts: u64,
    ) -> Result<(), Lost> {
        let extend = (ts ^ self.ts_base.load(Relaxed)) >> TS_BITS != 0;
        let controls = self.untold() + u32::from(extend);
        let page = self.page.load(Relaxed);
        // SAFETY: By the type invariants, `page` is valid.
        let (end, size) = unsafe { ((*page).commit.load(Relaxed) as u32, (*page).size()) };
        let room = size.saturating_sub(end);

        let page = if room < bytes.saturating_add(controls * CONTROL_SIZE) {
            // What an empty page must hold, whatever is due.
            let most =
                bytes.saturating_add(LOST_CAUSES as u32 * CONTROL_SIZE + PAGE_HEADER_SIZE as u32);
            if most > pages.largest() {
                return Err(Lost::TooLong);
            }
            self.taken.store(self.records(), Relaxed);
            let index = self.next_page(pages, mode, max, most)?;
            self.start_page(pages, index, ts)
        } else {
            if extend {
                // SAFETY: There is room for this and for what follows.
                unsafe { self.counter(page, ts, Control::TimeExtend as u32, ts) };
            }
            self.ts_base.store(ts & !TS_MASK, Relaxed);
            page
        };

        for cause in Lost::ALL {
            let lost = self.lost[cause as usize].load(Relaxed);
            let told = self.told[cause as usize].load(Relaxed);
            if lost != told {
                let word = Control::Lost as u32 | (cause as u32) << 8;
                // SAFETY: There is room for all that were untold at the start. A cause that only
                // a nested writer counted since then may need more: it waits.
                let room = unsafe { (*page).size() - (*page).commit.load(Relaxed) as u32 };
                if room < CONTROL_SIZE + bytes {
                    continue;
                }
                // SAFETY: As above: there is room.
                unsafe { self.counter(page, ts, word, lost.wrapping_sub(told)) };
                // ORDERING: Release: a reader that sees this sees at least as many as lost.
                self.told[cause as usize].store(lost, Release);
            }
        }
        // SAFETY: The page is valid.
        self.limit
            .store(u64::from(unsafe { (*page).size() }), Relaxed);
        // ORDERING: See `count_lost`.
        compiler_fence(SeqCst);
        if self.untold() != 0 {
            self.limit.store(0, Relaxed);
        }
        Ok(())
    }

    /// Writes a time-extend or lost record.
    ///
    /// # Safety
    ///
    /// As for [`Ring::control`].
    unsafe fn counter(&self, page: *mut PageHeader, ts: u64, word: u32, value: u64) {
        let mut payload = [0; CONTROL_SIZE as usize - 8];
        payload[..4].copy_from_slice(&word.to_ne_bytes());
        payload[4..].copy_from_slice(&value.to_ne_bytes());
        // SAFETY: By this function's requirement.
        unsafe { self.control(page, ts, &payload) };
    }

    /// Writes a control record. It doesn't count as a record.
    ///
    /// # Safety
    ///
    /// As for [`Ring::turn`]; `page` is the ring's current one and has room.
    unsafe fn control<const N: usize>(&self, page: *mut PageHeader, ts: u64, payload: &[u8; N]) {
        let bytes = (N + 8) as u32;
        // SAFETY: The page is this ring's current one, and has room by this function's
        // requirement.
        unsafe {
            let commit = (*page).commit.load(Relaxed);
            let at = page.cast::<u8>().add(commit as u32 as usize);
            ptr::write_unaligned(at.cast::<u64>(), Header::from_parts(ts, 0, bytes).0);
            ptr::copy_nonoverlapping(payload.as_ptr(), at.add(8), N);
            // ORDERING: As for any record.
            (*page)
                .commit
                .store(commit.wrapping_add(bytes.into()), Release);
        }
    }

    /// Finds a page of at least `room` that comes next, without changing the chain but for its
    /// oldest end. The ring may hold `max` bytes with it.
    fn next_page(&self, pages: &impl Pages, mode: Mode, max: u32, room: u32) -> Result<u32, Lost> {
        let largest = pages.largest();
        let held = self.held();
        let left = if held == 0 {
            // Each ring may have one page.
            largest
        } else {
            max.saturating_sub(held)
        };
        // A ring that overwrites takes whole pages, or it would keep small ones for good.
        let wanted = match mode {
            Mode::Overwrite => largest,
            Mode::Discard => room,
        };
        if left >= wanted {
            if let Some(index) = pages.take(held, room, left) {
                return Ok(index);
            }
        }
        match mode {
            Mode::Overwrite => self.reuse(pages, max, room).ok_or(Lost::NoPage),
            Mode::Discard if left < wanted => Err(Lost::Full),
            Mode::Discard => Err(Lost::NoPage),
        }
    }

    /// Takes the ring's own oldest page, if it has at least `room`.
    fn reuse(&self, pages: &impl Pages, max: u32, room: u32) -> Option<u32> {
        for tries in 1..=TRIES {
            let seen = self.oldest.load(Relaxed);
            if seen as u32 == NO_PAGE {
                return None;
            }
            // SAFETY: What `oldest` names is a page, by the requirements of `Pages` even if it was
            // taken since then.
            let header = unsafe { &*pages.page(seen as u32) };
            let size = header.size();
            let last = header.next.load(Relaxed) == NO_PAGE;
            if last && size < room {
                if self.oldest.load(Relaxed) != seen {
                    // A thief was faster, and the header was that of another ring's page.
                    continue;
                }
                // It would be lost for nothing.
                return None;
            }
            let Some(index) = self.cut(pages, seen, last) else {
                continue;
            };
            let left = max.saturating_sub(self.held());
            if last || size >= room && size == pages.largest() && (size <= left || tries == TRIES) {
                return Some(index);
            }
            // Rather a whole page instead of a small one.
            if size < pages.largest() && left >= pages.largest() {
                if let Some(larger) = pages.take(self.held(), room, left) {
                    pages.put(index);
                    return Some(larger);
                }
            }
            if size >= room && size <= left {
                return Some(index);
            }
            // Too small, or the ring's limit was lowered.
            pages.put(index);
        }
        None
    }

    /// Takes the page that `seen`, a value of `oldest`, tells of out of the chain; `None` where
    /// `oldest` has changed, or that is the last page and `last` is false.
    fn cut(&self, pages: &impl Pages, seen: u64, last: bool) -> Option<u32> {
        let index = seen as u32;
        if index == NO_PAGE {
            return None;
        }
        // SAFETY: The page was in the chain when `oldest` was read, and is valid by the
        // requirements of `Pages`, even if it was taken since then.
        let header = unsafe { &*pages.page(index) };
        // ORDERING: Acquire pairs with the store in `start_page`: with `next` comes what the
        // writer has stored before, `taken` in particular, which `withdraw` passes on to readers.
        let next = header.next.load(Acquire);
        if next == NO_PAGE && !last {
            return None;
        }
        let new = ((seen >> 32).wrapping_add(1) << 32) | u64::from(next);
        // INVARIANT: The chain starts at the next page now. If `oldest` is what it was, with its
        // tag, then the page has been the oldest one all the time since that was read; so `next`
        // belongs to its life in this chain, and did not change after it was set.
        // ORDERING: Release: who finds `next` in `oldest` finds that page's header reset, as the
        // load of `next` above found it. Acquire is for what follows here: the page is ours.
        self.oldest
            .compare_exchange(seen, new, AcqRel, Relaxed)
            .ok()?;
        let size = header.size();
        header.withdraw();
        self.held.fetch_sub(size, Relaxed);
        self.pages.fetch_sub(1, Relaxed);
        Some(index)
    }

    /// Makes the page at `index` the current one, empty, starting at time `ts`.
    fn start_page(&self, pages: &impl Pages, index: u32, ts: u64) -> *mut PageHeader {
        let page = pages.page(index);
        // SAFETY: `index` came from the pool, so this is a valid page; it is this ring's alone.
        let header = unsafe { &*page };
        let seq = self.seq.load(Relaxed) + 1;
        header.reset(self.id(), ts, self.taken.load(Relaxed));

        // Counted before anybody can take it, so that neither falls below zero.
        self.held.fetch_add(header.size(), Relaxed);
        self.pages.fetch_add(1, Relaxed);
        self.seq.store(seq, Relaxed);
        self.ts_base.store(ts & !TS_MASK, Relaxed);
        self.writer.store(0, Relaxed);
        header.publish(seq);
        let seen = self.oldest.load(Relaxed);
        if seen as u32 == NO_PAGE {
            let tag = (seen >> 32).wrapping_add(1) << 32;
            // ORDERING: Release: who finds the page in `oldest` finds its header reset.
            self.oldest.store(tag | u64::from(index), Release);
        } else {
            // SAFETY: As the chain is not empty, `page` is its last page.
            let last = unsafe { &*self.page.load(Relaxed) };
            // ORDERING: Release: see `cut`. From here on, the last page may be taken away; all its
            // records are there.
            last.next.store(index, Release);
        }
        // ORDERING: Release: a reader of the ring that finds the page finds it whole.
        self.page.store(page, Release);
        page
    }

    /// Records taken in all: those before the current page, and those in it.
    ///
    /// Exact for the ring's writer and once the ring is retired; of a live ring, a reader sees what
    /// was true a moment ago.
    pub fn records(&self) -> u64 {
        // ORDERING: Acquire pairs with the store in `retire`: `taken` is that of the ring's end.
        let look = if self.state.load(Acquire) == State::Retired as u8 {
            // The current page may be another ring's by now.
            None
        } else {
            self.latest()
        };
        match look {
            Some((_, first, commit)) => first.wrapping_add(commit >> 32),
            // ORDERING: A reader that finds the page withdrawn, or another one in its place, has
            // acquired that, so it sees what `turn` has stored here before.
            None => self.taken.load(Relaxed),
        }
    }

    /// Gives a free ring an owner.
    ///
    /// # Safety
    ///
    /// The ring is free and nobody else's (it has just been taken from a list of free rings).
    pub unsafe fn adopt(&self, owner: &Owner) {
        self.change_owner(|ring| {
            ring.set_owner(owner);
            ring.exit_clock.store(0, Relaxed);
            ring.first_seq.store(ring.seq.load(Relaxed) + 1, Relaxed);
            ring.taken.store(0, Relaxed);
            for n in ring.lost.iter().chain(&ring.told) {
                // Most rings have lost nothing.
                if n.load(Relaxed) != 0 {
                    n.store(0, Relaxed);
                }
            }
            ring.state.store(State::Live as u8, Relaxed);
        });
        self.busy.store(0, Release);
    }

    /// Takes down that the ring's task has ended: there is no writer any more.
    ///
    /// # Safety
    ///
    /// The ring is live and its writer will not write again.
    pub unsafe fn retire(&self, comm: [u8; 16], clock: u64) {
        let taken = self.records();
        self.change_owner(|ring| {
            ring.taken.store(taken, Relaxed);
            ring.set_comm(comm);
            ring.exit_clock.store(clock, Relaxed);
            // ORDERING: Release: see `records`.
            ring.state.store(State::Retired as u8, Release);
        });
    }

    /// Takes the oldest page out of the ring, unless it is the current one: of any ring, by anybody,
    /// in any context. The ring's writer notices nothing.
    ///
    /// What it costs is that page's records; who decides on it sees to it that the ring can spare
    /// them.
    pub fn steal(&self, pages: &impl Pages) -> Option<u32> {
        (0..TRIES).find_map(|_| {
            // ORDERING: Acquire: the header of the page that this names has been reset for this
            // ring. It pairs with the stores in `cut` and `start_page`.
            self.cut(pages, self.oldest.load(Acquire), false)
        })
    }

    /// Takes the oldest page of a retired ring, be it the last one.
    ///
    /// # Safety
    ///
    /// The caller has taken the ring out of the queue of retired rings, so it is nobody else's.
    pub unsafe fn steal_last(&self, pages: &impl Pages) -> Option<u32> {
        // Nobody adds to the chain, and where `cut` fails, another thief has made it shorter.
        loop {
            // ORDERING: As in `steal`.
            let seen = self.oldest.load(Acquire);
            if seen as u32 == NO_PAGE {
                return None;
            }
            if let Some(index) = self.cut(pages, seen, true) {
                return Some(index);
            }
        }
    }

    /// Makes a retired ring that has no pages left a free one. Returns the number of records that
    /// it had taken and its loss counts, for which the caller must account.
    ///
    /// # Safety
    ///
    /// As for [`Ring::steal_last`], and that has returned `None`. `empty` as for [`Ring::new`].
    pub unsafe fn release(&self, empty: *mut PageHeader) -> (u64, [u64; LOST_CAUSES]) {
        let records = self.records();
        let lost = self.lost.each_ref().map(|n| n.load(Relaxed));
        self.change_owner(|ring| {
            // INVARIANT: The empty header is valid, and has no room.
            ring.limit.store(0, Relaxed);
            ring.page.store(empty, Release);
            ring.state.store(State::Free as u8, Relaxed);
        });
        (records, lost)
    }

    fn set_owner(&self, owner: &Owner) {
        self.context.store(owner.context as u8, Relaxed);
        self.cpu.store(owner.cpu, Relaxed);
        self.pid.store(owner.pid, Relaxed);
        self.tgid.store(owner.tgid, Relaxed);
        self.set_comm(owner.comm);
    }

    fn set_comm(&self, comm: [u8; 16]) {
        let n = u128::from_ne_bytes(comm);
        self.comm[0].store(n as u64, Relaxed);
        self.comm[1].store((n >> 64) as u64, Relaxed);
    }

    /// Changes what [`Ring::info`] reads together.
    fn change_owner(&self, change: impl FnOnce(&Self)) {
        let version = self.version.load(Relaxed);
        self.version.store(version.wrapping_add(1), Relaxed);
        // ORDERING: The odd version comes before the changes, for a reader that fences between
        // its loads and its second look at the version.
        fence(Release);
        change(self);
        // ORDERING: The changes come before the even version.
        self.version.store(version.wrapping_add(2), Release);
    }

    /// Copies what readers want to know; `None` when the ring changes hands just now, or is free.
    pub fn info(&self) -> Option<Info> {
        // ORDERING: Acquire: the loads below see at least the changes before this version.
        let version = self.version.load(Acquire);
        if version & 1 != 0 {
            return None;
        }
        let state = match self.state.load(Relaxed) {
            1 => State::Live,
            2 => State::Retired,
            _ => return None,
        };
        let comm = self.comm[0].load(Relaxed) as u128 | (self.comm[1].load(Relaxed) as u128) << 64;
        // ORDERING: Acquire, and before `lost`, so that never more is told than was lost.
        let told = self.told.each_ref().map(|n| n.load(Acquire));
        let info = Info {
            state,
            owner: Owner {
                context: Context::from_u8(self.context.load(Relaxed))?,
                cpu: self.cpu.load(Relaxed),
                pid: self.pid.load(Relaxed),
                tgid: self.tgid.load(Relaxed),
                comm: comm.to_ne_bytes(),
            },
            exit_clock: self.exit_clock.load(Relaxed),
            first_seq: self.first_seq.load(Relaxed),
            last_seq: self.seq.load(Relaxed),
            records: self.records(),
            told,
            lost: self.lost.each_ref().map(|n| n.load(Relaxed)),
            pages: self.pages(),
            held: self.held(),
        };
        // ORDERING: Pairs with the fence in `change_owner`.
        fence(Acquire);
        (self.version.load(Relaxed) == version).then_some(info)
    }
}

/// Number of components that can be attached at a time, and of rings that a task can have.
pub const MAX_COMPONENTS: usize = super::root::COMPONENTS;

/// What `task_struct::blog_tls` points to: a task's rings, by [`slot`](super::component) of the
/// component.
///
/// # Invariants
///
/// A pointer in `rings` points to a live ring that belongs to this task, or to one that stands for
/// none ([`Ring::none`]); the ring's memory stays valid as long as the pointer is there.
#[repr(C, align(64))]
pub struct Tls {
    /// The rings. Stored by the task itself (which adds rings), and by `blog/` when a component
    /// goes away (which takes the ring out).
    pub rings: [AtomicPtr<Ring>; MAX_COMPONENTS],
    /// The task, or null when this table is free.
    pub task: AtomicPtr<core::ffi::c_void>,
    /// Position of this table in the slab of tables.
    pub index: AtomicU32,
    /// What links free tables.
    pub link: AtomicU32,
}

impl Tls {
    /// Where crash tools find what they need: see `root.rs`.
    pub const LAYOUT: TlsLayout = TlsLayout {
        size: mem::size_of::<Self>() as u32,
        rings: offset_of!(Self, rings) as u32,
        task: offset_of!(Self, task) as u32,
        reserved: 0,
    };

    /// Makes a free table. `none` is what [`Ring::none`] made.
    pub const fn new(index: u32, none: *mut Ring) -> Self {
        let mut rings = [const { AtomicPtr::new(ptr::null_mut()) }; MAX_COMPONENTS];
        let mut i = 0;
        while i < MAX_COMPONENTS {
            rings[i] = AtomicPtr::new(none);
            i += 1;
        }
        Self {
            rings,
            task: AtomicPtr::new(ptr::null_mut()),
            index: AtomicU32::new(index),
            link: AtomicU32::new(0),
        }
    }
}
