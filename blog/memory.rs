// SPDX-License-Identifier: GPL-2.0

//! The memory behind one component: its pages, its rings, and the arrays that the pool links them
//! with.
//!
//! Made in process context when a component is first switched on; looked after by the worker
//! ([`Memory::tend`]), which adds what is running short; changed when a budget is. Freed only when
//! no log call can run that knows it. A log call reads it through [`Store`] and never waits for it.
//!
//! Budgets hold at every instant: a page is counted before it is allocated and until it has been
//! freed. Rings are tables that stay; there are at most as many for tasks as the pages have chunks,
//! so they take at most half as much memory.
//!
//! # Giving pages back
//!
//! A page that goes is first taken out of the pool and out of its slot: nobody finds it any more.
//! But somebody may have found it before: a log call that looks at the oldest page of another ring
//! while that is taken away, or a reader that follows a ring's pointer to its current page. None of
//! these sleeps as long as it may look at the page. So the page's memory is freed after
//! [`glue::quiesce`], which has waited until everybody has slept or left the kernel: see [`Doomed`].

use core::{
    mem,
    ptr,
    sync::atomic::{
        fence,
        AtomicPtr,
        AtomicU32,
        AtomicU64,
        AtomicUsize,
        Ordering::{
            Relaxed,
            Release,
            SeqCst, //
        }, //
    }, //
};
use kernel::{
    blog::{
        live::Live,
        record::{
            Context,
            RECORD_MAX, //
        },
        ring::{
            Mode,
            Owner,
            PageHeader,
            Pages,
            Ring,
            State, //
        },
        root, //
    },
    cpu::nr_cpu_ids,
    page::{
        Page,
        PAGE_SIZE, //
    },
    prelude::*, //
};

use crate::{
    clock,
    glue,
    pool::{
        Batch,
        Cell,
        Index,
        Levels,
        Magazine,
        PagesOf,
        Pool,
        Sizes,
        Slot,
        Store, //
    },
    root::NO_MEMORY,
    table::Table, //
};

/// What rings are made of.
pub(crate) const SIZES: Sizes = Sizes {
    page: PAGE_SIZE as u32,
    chunk: PAGE_SIZE as u32 / 8,
};

/// Pages whose slots are allocated together.
const SLOT_CHUNK: usize = 512;
/// Rings that are allocated together.
const RING_CHUNK: usize = 32;

/// The most pages that a component can have.
const MAX_PAGES: u32 = kb_to_pages(1 << 20);
/// The most rings for tasks that a component can have.
const MAX_TASK_RINGS: u32 = 65536;

/// What a component gets of its budget when it is switched on; the worker adds the rest as it is
/// used. A burst of log calls can't wait for a worker, nor can one be sure to get memory when it is
/// needed most; so all but large budgets are there from the start.
const FIRST_PAGES: u32 = kb_to_pages(16 << 10);
/// A component that can't have all of that now starts with this much at least.
const LEAST_PAGES: u32 = 4;
/// The most pages that the worker adds to a component at a time.
const GROW_PAGES: u32 = 2048;

/// How often rings are looked through for pages to give back: half as much is left to each every
/// time, so that a few tries remain for what changes meanwhile.
const SHRINK_TRIES: u32 = 48;

/// A component has a shared ring for each so many pages of its budget, but one at least and no more
/// than CPUs.
const PAGES_PER_SHARED: u32 = 32;

/// Per-CPU contexts.
pub(crate) const PER_CPU: u32 = 3;

/// Bits of an end within a page, which is at most the page's size.
const END_BITS: u32 = 16;
const _: () = assert!(PAGE_SIZE < 1 << END_BITS);

/// Cells for retired rings, at least; a component may grow later.
const MIN_CELLS: u32 = 1024;

/// Pages of all components.
static USED: AtomicUsize = AtomicUsize::new(0);
/// The limit for that which is just being set, in KiB.
static LOWERING_KB: AtomicU32 = AtomicU32::new(u32::MAX);

/// KiB to pages.
pub(crate) const fn kb_to_pages(kb: u32) -> u32 {
    kb / (PAGE_SIZE as u32 / 1024)
}

/// Pages to KiB.
pub(crate) const fn pages_to_kb(pages: u32) -> u64 {
    pages as u64 * (PAGE_SIZE as u64 / 1024)
}

/// KiB that the pages of all components take.
pub(crate) fn used_kb() -> usize {
    USED.load(Relaxed).saturating_mul(PAGE_SIZE / 1024)
}

/// Has no page allocated beyond this limit from now on, whatever the parameter says: it is about to
/// be set to this. `u32::MAX` ends that.
pub(crate) fn lower_max_kb(kb: u32) {
    LOWERING_KB.store(kb, Relaxed);
    // ORDERING: See `Charge::new`: of the limit here and the count there, one is seen by the other.
    fence(SeqCst);
}

/// A page's share of the limit for all components.
struct Charge;

impl Charge {
    fn limit() -> usize {
        glue::max_kb().min(LOWERING_KB.load(Relaxed)) as usize / (PAGE_SIZE / 1024)
    }

    /// `ENOSPC` unless there can be `pages` more.
    fn check(pages: u32) -> Result {
        match USED.load(Relaxed).saturating_add(pages as usize) <= Self::limit() {
            true => Ok(()),
            false => Err(ENOSPC),
        }
    }

    fn new() -> Result<Self> {
        let limit = Self::limit();
        let mut used = USED.load(Relaxed);
        loop {
            if used >= limit {
                return Err(ENOSPC);
            }
            match USED.compare_exchange_weak(used, used + 1, Relaxed, Relaxed) {
                Ok(_) => break,
                Err(now) => used = now,
            }
        }
        let charge = Self;
        // ORDERING: Pairs with the fence in `lower_max_kb`: who lowers the limit sees this page
        // counted, or this sees the new limit.
        fence(SeqCst);
        if used >= Self::limit() {
            return Err(ENOSPC);
        }
        Ok(charge)
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        USED.fetch_sub(1, Relaxed);
    }
}

/// A page of the pool, in memory.
struct OwnedPage {
    _page: Page,
    _charge: Charge,
}

/// Pages that nobody finds any more. Dropping it waits until nobody looks at them, and frees them:
/// process context, and not under a lock that others wait for.
#[must_use]
pub(crate) struct Doomed(KVVec<OwnedPage>);

impl Doomed {
    /// No pages.
    pub(crate) const fn none() -> Self {
        Self(KVVec::new())
    }

    /// Adds those of another one, so that one wait does for both.
    pub(crate) fn append(&mut self, mut other: Self) -> Result {
        self.0.reserve(other.0.len(), GFP_KERNEL)?;
        for page in mem::take(&mut other.0) {
            self.0.push(page, GFP_KERNEL)?;
        }
        Ok(())
    }
}

impl Drop for Doomed {
    fn drop(&mut self) {
        if !self.0.is_empty() {
            glue::quiesce();
        }
    }
}

/// What else there is for each ring.
struct RingNote {
    link: AtomicU32,
    /// Up to where `clear` has hidden it: position of the page, and end in the page in the low
    /// [`END_BITS`] bits.
    cleared: AtomicU64,
}

/// What [`Store`] offers to the pool.
pub(crate) struct Arrays {
    slots: Table<Slot, SLOT_CHUNK>,
    rings: Table<Ring, RING_CHUNK>,
    notes: Table<RingNote, RING_CHUNK>,
    rings_len: AtomicU32,
    cells: KVVec<Cell>,
    magazines: KVVec<Magazine>,
    empty: PageHeader,
}

impl Store for Arrays {
    fn sizes(&self) -> Sizes {
        SIZES
    }

    fn slot(&self, page: u32) -> Option<&Slot> {
        self.slots.get(page)
    }

    fn magazines(&self) -> &[Magazine] {
        &self.magazines
    }

    fn ring_link(&self, id: u32) -> Option<&AtomicU32> {
        Some(&self.notes.get(id)?.link)
    }

    fn cells(&self) -> &[Cell] {
        &self.cells
    }

    fn ring(&self, id: u32) -> Option<&Ring> {
        self.rings.get(id)
    }

    fn rings(&self) -> u32 {
        self.rings_len.load(Relaxed)
    }

    fn empty(&self) -> *mut PageHeader {
        // Only its atomics are accessed through this pointer.
        ptr::from_ref(&self.empty).cast_mut()
    }
}

/// What of the memory only its manager uses, under the component's lock.
pub(crate) struct Owned {
    /// Pages by slot; as long as there are slots.
    pages: KVVec<Option<OwnedPage>>,
    /// Pages in memory.
    count: u32,
    /// Rings in memory.
    rings: u32,
    /// What the worker saw when it last came.
    seen: Seen,
    /// Pages that the worker has added, and how often it could not.
    grown: u64,
    grow_failed: u64,
}

/// Counts of what was taken.
#[derive(Clone, Copy, Default)]
struct Seen {
    pages: u64,
    rings: u64,
    stolen: u64,
}

impl Owned {
    /// Pages in memory.
    pub(crate) fn pages(&self) -> u32 {
        self.count
    }

    /// Rings in memory: their ids are from 0 to below this.
    pub(crate) fn rings(&self) -> u32 {
        self.rings
    }

    /// Pages that the worker has added in all.
    pub(crate) fn grown(&self) -> u64 {
        self.grown
    }

    /// How often the worker could not add what was needed.
    pub(crate) fn grow_failed(&self) -> u64 {
        self.grow_failed
    }
}

/// The memory of a component. It stays in one place: rings and tasks point into it.
pub(crate) struct Memory {
    /// Free pages and rings.
    pub(crate) pool: Pool,
    /// All pages and rings.
    pub(crate) store: Arrays,
    percpu: KVVec<AtomicPtr<Ring>>,
    shared: KVVec<AtomicPtr<Ring>>,
    /// What crash tools find of it.
    root: Live<root::Memory>,
}

/// A vector of `n` values of `f`.
fn vec_of<T>(n: u32, f: impl Fn(u32) -> T) -> Result<KVVec<T>> {
    let mut vec = KVVec::with_capacity(n as usize, GFP_KERNEL)?;
    for i in 0..n {
        vec.push(f(i), GFP_KERNEL)?;
    }
    Ok(vec)
}

impl Memory {
    /// Makes memory for a budget of `pages` pages.
    pub(crate) fn new(pages: u32) -> Result<(KBox<Self>, Owned)> {
        Charge::check(pages)?;
        let cpus = nr_cpu_ids();
        let percpu = cpus * PER_CPU;
        let shared = (pages / PAGES_PER_SHARED).clamp(1, cpus);
        let rings = (pages * SIZES.chunks()).min(MAX_TASK_RINGS);
        let cells = (2 * rings).clamp(MIN_CELLS, 2 * MAX_TASK_RINGS);
        let memory = KBox::new(
            Self {
                pool: Pool::new(),
                store: Arrays {
                    slots: Table::new(MAX_PAGES as usize)?,
                    rings: Table::new((MAX_TASK_RINGS + percpu + shared) as usize)?,
                    notes: Table::new((MAX_TASK_RINGS + percpu + shared) as usize)?,
                    rings_len: AtomicU32::new(0),
                    cells: vec_of(cells.next_power_of_two(), Cell::new)?,
                    magazines: vec_of(cpus, |_| Magazine::new())?,
                    empty: PageHeader::empty(),
                },
                percpu: vec_of(percpu, |_| AtomicPtr::new(ptr::null_mut()))?,
                shared: vec_of(shared, |_| AtomicPtr::new(ptr::null_mut()))?,
                root: Live::new(NO_MEMORY),
            },
            GFP_KERNEL,
        )?;
        memory.describe();
        let mut owned = Owned {
            pages: KVVec::new(),
            count: 0,
            rings: 0,
            seen: Seen::default(),
            grown: 0,
            grow_failed: 0,
        };
        let first = pages.min(FIRST_PAGES);
        match memory.grow(&mut owned, first) {
            Err(ENOMEM) if owned.count >= LEAST_PAGES => (),
            result => result?,
        }
        // A ring for each page, for a start.
        memory.add_rings(&mut owned, percpu + shared + first.min(MAX_TASK_RINGS))?;
        for id in 0..percpu {
            memory.adopt_percpu(id)?;
        }
        for number in 0..shared {
            memory.adopt_shared(percpu + number, number)?;
        }
        for id in percpu + shared..owned.rings {
            memory.pool.put_ring(&memory.store, id);
        }
        memory.pool.shares().set_others(shared);
        memory.set_recycling(&owned);
        Ok((memory, owned))
    }

    /// Says in [`Self::root`] where all is. The memory has its place.
    fn describe(&self) {
        let (records, lost) = self.pool.gone();
        // SAFETY: The memory is new, and nobody knows it.
        unsafe {
            self.root.update(|root| {
                *root = root::Memory {
                    rings: self.store.rings.root(),
                    slots: self.store.slots.root(),
                    page_size: SIZES.page,
                    chunk_size: SIZES.chunk,
                    chunks: SIZES.chunks(),
                    gone_records: ptr::from_ref(records) as u64,
                    gone_lost: ptr::from_ref(lost) as u64,
                    ..NO_MEMORY
                };
            })
        };
    }

    /// What crash tools find of it.
    pub(crate) fn root(&self) -> &Live<root::Memory> {
        &self.root
    }

    /// The table of per-CPU rings that a component points to.
    pub(crate) fn percpu(&self) -> *mut AtomicPtr<Ring> {
        // Only the atomics are accessed through this pointer.
        self.percpu.as_slice().as_ptr().cast_mut()
    }

    /// The rings for those who get none of their own. Any context.
    pub(crate) fn shared_rings(&self) -> &[AtomicPtr<Ring>] {
        &self.shared
    }

    /// How many bytes a shared ring may hold, where others may hold `max`: it stands in for many, so
    /// all shared rings together may hold a quarter of what there is. Any context.
    pub(crate) fn max_shared(&self, max: u32) -> u32 {
        max.max(self.pool.shares().bytes() / 4 / (self.shared.len() as u32).max(1))
    }

    /// The pool, as rings that are used on `cpu` see it; `steal`: whether other rings may be made to
    /// give up pages for them. Any context.
    pub(crate) fn pages(&self, cpu: u32, steal: bool) -> PagesOf<'_, Arrays> {
        self.pool.pages(&self.store, cpu, steal)
    }

    /// The ring for an interrupt context on a CPU.
    pub(crate) fn percpu_ring(&self, cpu: u32, context: Context) -> *mut Ring {
        let index = cpu * PER_CPU + (context as u32).saturating_sub(1);
        match self.percpu.get(index as usize) {
            // ORDERING: Relaxed: they are all there since the memory is known to anybody.
            Some(ring) => ring.load(Relaxed),
            None => ptr::null_mut(),
        }
    }

    /// Calls `f` with the index of each page and chunk there is, and its header. For a moment the
    /// header may be none any more: what it says is to be confirmed by [`Self::copy`].
    ///
    /// `f` must not sleep before it is done with the header.
    pub(crate) fn for_each_page(&self, mut f: impl FnMut(u32, &PageHeader)) {
        for page in 0.. {
            let Some(slot) = self.store.slot(page) else {
                break;
            };
            slot.for_each_part(page, SIZES, &mut f);
        }
    }

    /// The header of the page or chunk with this index, as [`Self::for_each_page`] has it; one
    /// without a position where there is none.
    pub(crate) fn page(&self, index: u32) -> *mut PageHeader {
        self.pages(u32::MAX, false).page(index)
    }

    /// Copies the page or chunk with this index, if it is at position `seq` of a ring, as far as it
    /// is published, to `to`; returns the number of bytes.
    pub(crate) fn copy(&self, index: u32, seq: u64, to: &mut [u8]) -> Option<usize> {
        let index = Index(index);
        self.store.slot(index.slot())?.copy(index, SIZES, seq, to)
    }

    /// Bytes of what isn't pages: rings, places for pages, and the tables of these.
    pub(crate) fn table_bytes(&self, owned: &Owned) -> usize {
        let ring = mem::size_of::<Ring>() + mem::size_of::<RingNote>();
        let slot = mem::size_of::<Slot>() + mem::size_of::<Option<OwnedPage>>();
        let store = &self.store;
        let tables = store.slots.bytes() + store.rings.bytes() + store.notes.bytes();
        owned.rings as usize * ring
            + owned.pages.len() * slot
            + tables
            + mem::size_of_val(&*store.cells)
            + mem::size_of_val(&*store.magazines)
    }

    /// How often each level of the pool has served a ring, and what it has.
    pub(crate) fn levels(&self) -> Levels {
        self.pool.levels(&self.store)
    }

    /// Takes down that `clear` has hidden a ring up to `end` in the page at `seq`.
    pub(crate) fn set_cleared(&self, ring: u32, seq: u64, end: u32) {
        if let Some(note) = self.store.notes.get(ring) {
            note.cleared
                .store(seq << END_BITS | u64::from(end), Relaxed);
        }
    }

    /// Whether `clear` has hidden all of a ring's oldest page. Only the ring's writer asks; any
    /// context.
    pub(crate) fn oldest_is_cleared(&self, ring: &Ring) -> bool {
        let Some(note) = self.store.notes.get(ring.id()) else {
            return false;
        };
        let cleared = note.cleared.load(Relaxed);
        let (seq, end) = (cleared >> END_BITS, cleared & ((1 << END_BITS) - 1));
        ring.oldest_seq() < seq
            || ring
                .position()
                .is_some_and(|(now, now_end, _)| now == seq && u64::from(now_end) == end)
    }

    fn adopt_percpu(&self, id: u32) -> Result {
        let ring = self.store.ring(id).ok_or(EINVAL)?;
        let context = match id % PER_CPU {
            0 => Context::Softirq,
            1 => Context::Hardirq,
            _ => Context::Nmi,
        };
        // SAFETY: The ring is new, and nobody else knows it.
        unsafe {
            ring.adopt(&Owner {
                context,
                cpu: id / PER_CPU,
                pid: -1,
                tgid: -1,
                comm: [0; 16],
            })
        };
        let slot = self.percpu.get(id as usize).ok_or(EINVAL)?;
        slot.store(ptr::from_ref(ring).cast_mut(), Relaxed);
        Ok(())
    }

    /// Makes a new ring the shared one of this number. It gets memory at once, which nobody can take
    /// away: who finds nothing elsewhere finds this.
    fn adopt_shared(&self, id: u32, number: u32) -> Result {
        let ring = self.store.ring(id).ok_or(EINVAL)?;
        // SAFETY: The ring is new, and nobody else knows it.
        unsafe {
            ring.adopt(&Owner {
                context: Context::Shared,
                cpu: number,
                pid: -1,
                tgid: -1,
                comm: [0; 16],
            })
        };
        // Where there is enough, a page, by asking for room for the longest record.
        let bytes = match self.pool.shares().bytes() / SIZES.page {
            ..PAGES_PER_SHARED => 8,
            _ => RECORD_MAX as u32,
        };
        if ring.claim() {
            let pages = self.pages(number, false);
            // SAFETY: The ring is claimed, and the pool that of all its pages.
            let turned =
                unsafe { ring.turn(&pages, Mode::Overwrite, SIZES.page, bytes, clock::now()) };
            ring.end();
            turned.map_err(|_| ENOMEM)?;
        }
        let slot = self.shared.get(number as usize).ok_or(EINVAL)?;
        slot.store(ptr::from_ref(ring).cast_mut(), Release);
        Ok(())
    }

    /// Adds rings until there are `rings`; the caller gives them to the pool.
    fn add_rings(&self, owned: &mut Owned, rings: u32) -> Result {
        while owned.rings < rings {
            // A note without a ring does no harm, should that fail; it is used by the next try.
            if self.store.notes.get(owned.rings).is_none() {
                self.store.notes.add_chunk(|_| RingNote {
                    link: AtomicU32::new(0),
                    cleared: AtomicU64::new(0),
                })?;
            }
            self.store
                .rings
                .add_chunk(|id| Ring::new(id, self.store.empty()))?;
            owned.rings += RING_CHUNK as u32;
            self.store.rings_len.store(owned.rings, Relaxed);
        }
        Ok(())
    }

    /// Ids of rings that tasks don't get.
    fn fixed_rings(&self) -> u32 {
        (self.percpu.len() + self.shared.len()) as u32
    }

    /// The most rings that there may be with these pages: each holds a chunk at least.
    fn max_rings(&self, owned: &Owned) -> u32 {
        let tasks = (owned.count * SIZES.chunks()).min(MAX_TASK_RINGS);
        self.fixed_rings() + tasks.next_multiple_of(RING_CHUNK as u32)
    }

    /// Lets a new task have the ring of one that has ended only if there can't be more rings: what
    /// such a ring holds is not given up just because the worker is late.
    fn set_recycling(&self, owned: &Owned) {
        self.pool
            .set_recycling(owned.rings >= self.max_rings(owned));
    }

    /// Adds slots for [`SLOT_CHUNK`] pages.
    fn add_slots(&self, owned: &mut Owned) -> Result {
        owned.pages.reserve(SLOT_CHUNK, GFP_KERNEL)?;
        self.store.slots.add_chunk(|_| Slot::new())?;
        for _ in 0..SLOT_CHUNK {
            owned.pages.push(None, GFP_KERNEL)?;
        }
        Ok(())
    }

    /// Adds one page to `batch`, in a free slot from `from` on; returns the slot.
    fn add_page(&self, owned: &mut Owned, from: usize, batch: &mut Batch) -> Result<usize> {
        let free = |i: &usize| matches!(owned.pages.get(*i), Some(None));
        let number = match (from..owned.pages.len()).find(free) {
            Some(number) => number,
            None => {
                let number = owned.pages.len();
                self.add_slots(owned)?;
                number
            }
        };
        let charge = Charge::new()?;
        let page = Page::alloc_page(GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN)?;
        let header = glue::page_address(&page).cast::<PageHeader>();
        let (slot, owner) = (
            self.store.slots.get(number as u32).ok_or(EINVAL)?,
            owned.pages.get_mut(number).ok_or(EINVAL)?,
        );
        *owner = Some(OwnedPage {
            _page: page,
            _charge: charge,
        });
        owned.count += 1;
        // SAFETY: The slot is free, and the page new, zeroed and of this size.
        unsafe { slot.fill(header, SIZES) };
        batch.push(&self.store, number as u32);
        Ok(number)
    }

    /// Takes a page, which the caller has taken from the pool, out of its slot.
    fn doom_page(&self, owned: &mut Owned, number: u32, doomed: &mut Doomed) {
        if let Some(slot) = self.store.slots.get(number) {
            slot.empty();
        }
        if let Some(page) = owned.pages.get_mut(number as usize).and_then(Option::take) {
            owned.count -= 1;
            // There is room: `shrink` has seen to it. If there weren't, the page would leak.
            if let Err(page) = doomed.0.push_within_capacity(page) {
                mem::forget(page);
            }
        }
    }

    /// Adds pages until there are `pages`. On an error, there may be fewer.
    pub(crate) fn grow(&self, owned: &mut Owned, pages: u32) -> Result {
        let (mut from, mut batch, mut result) = (0, Batch::EMPTY, Ok(()));
        self.pool.set_pages(&self.store, pages.max(owned.count));
        while owned.count < pages && result.is_ok() {
            result = self
                .add_page(owned, from, &mut batch)
                .map(|number| from = number + 1);
            if batch.len() >= self.pool.rounds().max(1) {
                self.pool
                    .give(&self.store, mem::replace(&mut batch, Batch::EMPTY));
            }
        }
        self.pool.give(&self.store, batch);
        self.pool.set_pages(&self.store, owned.count);
        result
    }

    /// Sets a higher budget, of `pages` pages: adds what there should be from the start.
    ///
    /// On an error, all is as before. What is returned is to be dropped outside of locks.
    pub(crate) fn raise(&self, owned: &mut Owned, pages: u32) -> (Result, Doomed) {
        let before = owned.count;
        let mut doomed = Doomed::none();
        let result = Charge::check(pages.saturating_sub(before))
            .and_then(|()| self.grow(owned, pages.min(before.max(FIRST_PAGES))));
        if result.is_err() {
            // Without memory to do it, the pages stay: the worker would have added them later.
            if let Ok(pages) = self.shrink(owned, before) {
                doomed = pages;
            }
        }
        self.set_recycling(owned);
        (result, doomed)
    }

    /// Takes pages away until there are `pages`: free ones, those of tasks that have ended, then the
    /// oldest of rings that hold the most.
    ///
    /// `EBUSY`, and nothing is freed, where the current pages of live rings alone are more. What is
    /// returned is to be dropped outside of locks.
    pub(crate) fn shrink(&self, owned: &mut Owned, pages: u32) -> Result<Doomed> {
        let excess = owned.count.saturating_sub(pages);
        let mut doomed = Doomed(KVVec::with_capacity(excess as usize, GFP_KERNEL)?);
        if self.least_pages(owned) > pages {
            return Err(EBUSY);
        }
        let before = owned.count;
        // Rings that ask for pages meanwhile get shares of what will be left, and only the first
        // ones; else they might be faster.
        self.pool.set_pages(&self.store, pages);
        self.pool.set_reserve(u32::MAX);
        let mut level = pages.saturating_mul(SIZES.page);
        let mut tries = SHRINK_TRIES;
        while owned.count > pages && tries > 0 {
            if let Some(number) = self.pool.take_back(&self.store) {
                self.doom_page(owned, number, &mut doomed);
            } else {
                // Those that hold the most give first.
                level /= 2;
                tries -= 1;
                self.cut_rings(owned, level, owned.count - pages);
            }
        }
        if owned.count > pages {
            // Current chunks are spread over too many pages.
            self.restore(owned, doomed);
            self.pool.set_pages(&self.store, before);
            return Err(EBUSY);
        }
        self.pool.set_pages(&self.store, owned.count);
        self.set_recycling(owned);
        Ok(doomed)
    }

    /// Has rings that hold more than `most` bytes give up their oldest pages; but shared ones may hold
    /// what [`Self::max_shared`] says.
    pub(crate) fn cut_to(&self, owned: &Owned, most: u32) {
        let shared = self.percpu.len() as u32..self.fixed_rings();
        let pool = self.pages(u32::MAX, false);
        for id in 0..owned.rings {
            let most = match shared.contains(&id) {
                true => self.max_shared(most),
                false => most,
            };
            let Some(ring) = self.store.ring(id) else {
                continue;
            };
            while ring.held() > most {
                match ring.steal(&pool) {
                    Some(index) => pool.put(index),
                    None => break,
                }
            }
        }
    }

    /// Has rings that hold more than `level` bytes give up their oldest pages, about `pages` in all.
    fn cut_rings(&self, owned: &Owned, level: u32, pages: u32) {
        let pool = self.pages(u32::MAX, false);
        let mut left = u64::from(pages) * u64::from(SIZES.page);
        for id in 0..owned.rings {
            let Some(ring) = self.store.ring(id) else {
                continue;
            };
            while left > 0 && ring.held() > level {
                let held = ring.held();
                let Some(index) = ring.steal(&pool) else {
                    break;
                };
                left = left.saturating_sub(held.saturating_sub(ring.held()).into());
                pool.put(index);
            }
        }
    }

    /// Puts pages back which [`Self::doom_page`] has taken out.
    fn restore(&self, owned: &mut Owned, mut doomed: Doomed) {
        for page in mem::take(&mut doomed.0) {
            let free = (0..owned.pages.len()).find(|i| matches!(owned.pages.get(*i), Some(None)));
            let place = free.and_then(|i| Some((i as u32, owned.pages.get_mut(i)?)));
            let Some((number, owner)) = place else {
                break;
            };
            let header = glue::page_address(&page._page).cast::<PageHeader>();
            *owner = Some(page);
            owned.count += 1;
            if let Some(slot) = self.store.slots.get(number) {
                // SAFETY: The slot is free, and the page is in no ring and no slot. Who may still
                // look at it by its former slot finds out that it has changed.
                unsafe { slot.fill(header, SIZES) };
                self.pool.give_page(&self.store, number);
            }
        }
    }

    /// Pages that live rings need for what they write to now, at least.
    pub(crate) fn least_pages(&self, owned: &Owned) -> u32 {
        let mut bytes = 0u64;
        for id in 0..owned.rings {
            let ring = self.store.ring(id).filter(|ring| ring.held() > 0);
            let info = ring.and_then(Ring::info);
            if info.is_some_and(|info| info.state == State::Live) {
                bytes += u64::from(SIZES.chunk);
            }
        }
        bytes.div_ceil(u64::from(SIZES.page)) as u32
    }

    /// Looks after it, now and then: adds rings and pages before they run out, up to a budget of
    /// `budget` pages. True: much is being used.
    pub(crate) fn tend(&self, owned: &mut Owned, budget: u32) -> bool {
        let levels = self.levels();
        let now = Seen {
            pages: levels.chunk_hits + levels.magazine_hits + levels.depot_hits,
            rings: self.pool.rings_taken(),
            stolen: levels.stolen + levels.dry,
        };
        let before = mem::replace(&mut owned.seen, now);
        let pages = now.pages.wrapping_sub(before.pages).min(GROW_PAGES.into()) as u32;
        let rings = now
            .rings
            .wrapping_sub(before.rings)
            .min(MAX_TASK_RINGS.into()) as u32;
        let dry = now.stolen != before.stolen;

        self.tend_pages(owned, budget, pages);
        self.tend_rings(owned, rings);
        if self.pool.depot_pages() == 0 {
            // What lies in magazines of CPUs that log nothing is of use elsewhere.
            self.pool.flush(&self.store);
        }
        if dry {
            self.tend_shares(owned);
        }
        pages > 0 || rings > 0 || dry
    }

    fn tend_pages(&self, owned: &mut Owned, budget: u32, taken: u32) {
        let free = self.pool.free(&self.store);
        let low = (owned.count / 2)
            .max(taken.saturating_mul(4))
            .max(LEAST_PAGES);
        if owned.count >= budget || free >= low {
            return;
        }
        let before = owned.count;
        let step = low.clamp(RING_CHUNK as u32, GROW_PAGES);
        let result = self.grow(owned, budget.min(before.saturating_add(step)));
        owned.grown += u64::from(owned.count - before);
        if result.is_err() {
            owned.grow_failed += 1;
        }
    }

    fn tend_rings(&self, owned: &mut Owned, taken: u32) {
        let free = self.pool.rings_free();
        let stock = (RING_CHUNK as u32)
            .max(taken.saturating_mul(2))
            .max(owned.count / 8);
        if free < stock {
            let first = owned.rings;
            let most = self.max_rings(owned);
            let wanted = most.min(first.saturating_add(stock - free));
            if self.add_rings(owned, wanted).is_err() {
                owned.grow_failed += 1;
                // New tasks can't wait for memory that isn't there.
                self.pool.set_recycling(true);
            }
            for id in first..owned.rings {
                self.pool.put_ring(&self.store, id);
            }
            if owned.rings >= wanted {
                self.set_recycling(owned);
            }
        }
    }

    /// Counts who shares the pages, and finds who holds the most.
    fn tend_shares(&self, owned: &Owned) {
        let (mut others, mut most) = (0, (0, 0));
        for id in 0..owned.rings {
            let held = self.store.ring(id).map_or(0, Ring::held);
            others += u32::from(held > 0 && id < self.fixed_rings());
            most = most.max((held, id));
        }
        self.pool.shares().set_others(others);
        self.pool.shares().point_at(most.1);
    }
}
