// SPDX-License-Identifier: GPL-2.0

//! The memory behind one component: its pages, its rings, and the arrays that the pool links them
//! with.
//!
//! Made in process context when a component is first switched on; looked after by the worker
//! ([`Memory::tend`]), which adds what is running short; changed when a budget is. Freed only when
//! no log call can run that knows it. A log call reads it through [`Store`] and never waits for it.
//!
//! | file | what it is |
//! |---|---|
//! | `mod.rs` | the memory of a component, as others see it |
//! | `budget.rs` | what may be taken of the machine, and how |
//! | `growth.rs` | how it grows |
//! | `shrink.rs` | how it gets smaller |
//! | `page.rs` | pages, and how they are freed |
//! | `store.rs` | what the pool works on |
//! | `table.rs` | growing arrays |
//! | `pool/` | what log calls take pages and rings from |

use core::{
    ops::Range,
    ptr,
    sync::atomic::{
        AtomicPtr,
        AtomicU64,
        Ordering::{
            Acquire,
            Release, //
        }, //
    }, //
};
use kernel::{
    blog::{
        no_ring,
        ring::{
            Mode,
            Owner,
            PageHeader,
            Pages,
            Ring, //
        },
        root::Live,
        wire::{
            dump,
            record::{
                Context,
                RECORD_MAX, //
            }, //
        }, //
    },
    cpu::nr_cpu_ids,
    page::PAGE_SIZE,
    prelude::*, //
};

pub(crate) mod budget;
mod growth;
pub(crate) mod page;
pub(crate) mod pool;
mod shrink;
mod store;
pub(crate) mod table;

use self::{
    budget::{
        Budget,
        Charge,
        FLAGS, //
    },
    growth::{
        first_pages,
        most_rings, //
    },
    page::OwnedPage,
    pool::{
        Cell,
        Index,
        Levels,
        PagesOf,
        Pool,
        Shelf,
        Store,
        MOST_SHELVES, //
    },
    store::Arrays,
    table::paid_vec, //
};
pub(crate) use self::{
    page::Doomed,
    store::SIZES, //
};
use crate::sys::{
    clock,
    kept::{
        rounded,
        KeptBox,
        KeptVec, //
    }, //
};

/// A component has a shared ring for each so many pages of its budget, but one at least and no more
/// than CPUs.
const PAGES_PER_SHARED: u32 = 32;
/// Of so many pages of a budget, there is a shelf, but one at least and no more than CPUs.
const PAGES_PER_SHELF: u32 = 8;
/// Per-CPU contexts.
const PER_CPU: u32 = Context::INTERRUPTS as u32;
/// Interrupts have rings of their own where pointers to these take at most this part of a budget;
/// else they log to shared rings.
const PER_CPU_PART: usize = 8;

/// What of the memory only its manager uses, under the component's lock.
pub(crate) struct Owned {
    /// Pages by slot; as long as there are slots.
    pages: KeptVec<Option<OwnedPage>>,
    pages_charge: Charge,
    /// Pages in memory.
    count: u32,
    /// Rings in memory, and what all their ids are below.
    rings: u32,
    rings_end: u32,
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

    /// Rings in memory.
    pub(crate) fn rings(&self) -> u32 {
        self.rings
    }

    /// Their ids are from 0 to below this; some may be missing.
    pub(crate) fn rings_end(&self) -> u32 {
        self.rings_end
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

/// A ring that many write into.
pub(crate) struct SharedRing {
    /// Null until it is there.
    ring: AtomicPtr<Ring>,
    /// Who wrote last, for [`Ring::begin_shared`].
    last: AtomicU64,
}

impl SharedRing {
    /// Any context.
    pub(crate) fn get(&self) -> Option<(&Ring, &AtomicU64)> {
        // ORDERING: Acquire pairs with the store in `adopt_shared`.
        // SAFETY: Rings that are put in stay as long as this.
        let ring = unsafe { self.ring.load(Acquire).as_ref() }?;
        Some((ring, &self.last))
    }
}

/// The memory of a component. It stays in one place: rings and tasks point into it.
pub(crate) struct Memory {
    /// Free pages and rings.
    pub(crate) pool: Pool,
    /// All pages and rings.
    pub(crate) store: Arrays,
    /// What it may take, and takes.
    budget: Budget,
    /// By CPU and context; empty where interrupts have no rings of their own.
    percpu: KeptVec<AtomicPtr<Ring>>,
    shared: KeptVec<SharedRing>,
    /// What crash tools find of it.
    root: Live<dump::Memory>,
    /// For all that is here from the start.
    _charges: [Charge; 5],
}

impl Memory {
    /// Makes memory for the component in `slot`, with a budget of `bytes` bytes, of which it takes
    /// what it can get.
    ///
    /// `ENOSPC` where there can't be so much, `ENOMEM` where there isn't enough even to begin with.
    pub(crate) fn new(slot: u16, bytes: usize) -> Result<(KeptBox<Self>, Owned)> {
        Self::with_cpus(slot, bytes, nr_cpu_ids())
    }

    /// [`Self::new`] on a machine with this many CPUs.
    pub(crate) fn with_cpus(slot: u16, bytes: usize, cpus: u32) -> Result<(KeptBox<Self>, Owned)> {
        budget::check(bytes)?;
        let budget = Budget::new(bytes);
        let pages = (bytes / PAGE_SIZE) as u32;
        let mut percpu = cpus * PER_CPU;
        if rounded(percpu as usize * size_of::<AtomicPtr<Ring>>()) > bytes / PER_CPU_PART {
            percpu = 0;
        }
        let shared = (pages / PAGES_PER_SHARED).clamp(1, cpus);
        let shelves = (pages / PAGES_PER_SHELF)
            .min(cpus)
            .clamp(1, MOST_SHELVES as u32);
        // For each of them; more than there are rings, in all.
        let cells = (most_rings(bytes) / shelves).max(2).next_power_of_two();

        let none = |_| AtomicPtr::new(no_ring());
        let (place, own) = budget.pay(rounded(size_of::<Self>()), || {
            Ok(KeptBox::<Self>::new_uninit(FLAGS)?)
        })?;
        let (cells, cells_charge) = paid_vec(&budget, (cells * shelves) as usize, |i| {
            Cell::new(i & (cells - 1))
        })?;
        let (shelves, shelves_charge) = paid_vec(&budget, shelves as usize, Shelf::new)?;
        let (percpu, percpu_charge) = paid_vec(&budget, percpu as usize, none)?;
        let (shared_rings, shared_charge) = paid_vec(&budget, shared as usize, |_| SharedRing {
            ring: AtomicPtr::new(ptr::null_mut()),
            last: AtomicU64::new(0),
        })?;
        let memory = KeptBox::write(
            place,
            Self {
                pool: Pool::new(),
                store: Arrays::new(slot, cells, shelves),
                budget,
                percpu,
                shared: shared_rings,
                root: Live::new(dump::Memory::NONE),
                _charges: [
                    own,
                    cells_charge,
                    shelves_charge,
                    percpu_charge,
                    shared_charge,
                ],
            },
        );
        let mut owned = Owned {
            pages: KeptVec::new(),
            pages_charge: Charge::of(0),
            count: 0,
            rings: 0,
            rings_end: 0,
            seen: Seen::default(),
            grown: 0,
            grow_failed: 0,
        };
        memory.add_rings(&mut owned, shared, shared)?;
        // What can't be had now, the worker adds later.
        let first = first_pages(bytes);
        let _ = memory.grow(&mut owned, first);
        for number in 0..shared {
            memory.adopt_shared(number)?;
        }
        // A ring for each page, for a start.
        let _ = memory.add_rings(&mut owned, shared + first.min(most_rings(bytes)), shared);
        memory.pool.shares().set_others(shared);
        memory.set_recycling(&owned);
        Ok((memory, owned))
    }

    /// Says in [`Self::root`] where all is. The memory has its place.
    fn describe(&self) {
        let shelves = self.store.shelves();
        let new = dump::Memory {
            rings: self.store.rings.root(),
            slots: self.store.slots.root(),
            page_size: SIZES.page,
            chunk_size: SIZES.chunk,
            chunks: SIZES.chunks(),
            gone: shelves
                .first()
                .map_or(0, |shelf| ptr::from_ref(&shelf.gone) as u64),
            gone_count: shelves.len() as u32,
            gone_stride: size_of::<Shelf>() as u32,
            ..dump::Memory::NONE
        };
        // SAFETY: The memory is new, or the component's lock held.
        unsafe {
            // A table that has moved is longer than before, so a dump must not show its length
            // before it shows its place.
            self.root.update(|root| {
                (*root).rings.chunks = new.rings.chunks;
                (*root).slots.chunks = new.slots.chunks;
            });
            self.root.update(|root| *root = new);
        }
    }

    /// What crash tools find of it.
    pub(crate) fn root(&self) -> &Live<dump::Memory> {
        &self.root
    }

    /// The table of per-CPU rings that a component points to; null where there is none.
    pub(crate) fn percpu(&self) -> *mut AtomicPtr<Ring> {
        if self.percpu.is_empty() {
            return ptr::null_mut();
        }
        // Only the atomics are accessed through this pointer.
        self.percpu.as_slice().as_ptr().cast_mut()
    }

    /// The rings for those who get none of their own. Any context.
    pub(crate) fn shared_rings(&self) -> &[SharedRing] {
        &self.shared
    }

    /// How many bytes a shared ring may hold, where others may hold `max`: it stands in for many,
    /// so all shared rings together may hold a quarter of what there is. Any context.
    pub(crate) fn max_shared(&self, max: u32) -> u32 {
        max.max(self.pool.shares().bytes() / 4 / (self.shared.len() as u32).max(1))
    }

    /// The pool, as rings that are used on `cpu` see it; `steal`: whether other rings may be made
    /// to give up pages for them. Any context.
    pub(crate) fn pages(&self, cpu: u32, steal: bool) -> PagesOf<'_, Arrays> {
        self.pool.pages(&self.store, cpu, steal)
    }

    /// Where the ring of an interrupt context on a CPU is kept; `None` where these have none.
    pub(crate) fn percpu_ring(&self, cpu: u32, context: Context) -> Option<&AtomicPtr<Ring>> {
        self.percpu.get(context.percpu_index(cpu as usize)?)
    }

    /// A free ring, which goes to `owner`, once `keep` has put it where it is found; or another
    /// one, which `keep` has found there. The caller is on `cpu`. Any context.
    ///
    /// # Safety
    ///
    /// `owner` is who may write to it.
    pub(crate) unsafe fn ring_for<'a>(
        &'a self,
        owner: &Owner,
        cpu: u32,
        keep: impl FnOnce(&'a Ring) -> Result<(), &'a Ring>,
    ) -> Option<&'a Ring> {
        let (pool, store) = (&self.pool, &self.store);
        let id = pool.take_ring(store, cpu)?;
        let ring = store.ring(id)?;
        // SAFETY: The ring was just taken out of the free ones.
        unsafe { ring.adopt(owner) };
        let Err(faster) = keep(ring) else {
            return Some(ring);
        };
        // A log call that interrupted this one was faster; nobody has seen this ring.
        // SAFETY: The ring has no writer.
        unsafe { ring.retire(owner.comm, 0) };
        pool.retire(store, cpu, id);
        Some(faster)
    }

    /// Calls `f` with the index of each page and chunk there is, and its header. For a moment the
    /// header may be none any more: what it says is to be confirmed by [`Self::copy`].
    ///
    /// `f` must not sleep before it is done with the header.
    pub(crate) fn for_each_page(&self, f: impl FnMut(u32, &PageHeader)) {
        self.for_each_page_in(0..u32::MAX, f);
    }

    /// The same for those in these slots. True: there may be slots behind them.
    pub(crate) fn for_each_page_in(
        &self,
        mut slots: Range<u32>,
        mut f: impl FnMut(u32, &PageHeader),
    ) -> bool {
        slots.all(|page| {
            let slot = self.store.slot(page);
            slot.map(|slot| slot.for_each_part(page, SIZES, &mut f))
                .is_some()
        })
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

    /// Bytes that it takes, all in.
    pub(crate) fn bytes(&self) -> usize {
        self.budget.taken()
    }

    /// Calls `f` with the address of all that was allocated for it, pages not counted.
    #[cfg(CONFIG_BLOG_KUNIT_TEST)]
    pub(crate) fn for_each_allocation(&self, owned: &Owned, mut f: impl FnMut(*const c_void)) {
        f(ptr::from_ref(self).cast());
        f(owned.pages.as_ptr().cast());
        f(self.percpu.as_ptr().cast());
        f(self.shared.as_ptr().cast());
        self.store.for_each_allocation(f);
    }

    /// Of these, what isn't pages: rings, places for pages, and the tables of these.
    pub(crate) fn table_bytes(&self, owned: &Owned) -> usize {
        self.bytes()
            .saturating_sub(owned.count as usize * PAGE_SIZE)
    }

    /// How often each level of the pool has served a ring, and what it has.
    pub(crate) fn levels(&self) -> Levels {
        self.pool.levels(&self.store)
    }

    /// Makes a new ring the shared one of this number. It gets memory at once, if there is any,
    /// which nobody can take away: who finds nothing elsewhere finds this.
    fn adopt_shared(&self, number: u32) -> Result {
        let ring = self.store.ring(number).ok_or(EINVAL)?;
        // SAFETY: The ring is new, and nobody else knows it.
        unsafe { ring.adopt(&Owner::new(Context::Shared, number)) };
        // Where there is enough, a page, by asking for room for the longest record.
        let bytes = match self.pool.shares().bytes() / SIZES.page {
            ..PAGES_PER_SHARED => 8,
            _ => RECORD_MAX as u32,
        };
        if ring.claim() {
            let pages = self.pages(number, false);
            // Without a page, it gets one when it is first used.
            // SAFETY: The ring is claimed, and the pool that of all its pages.
            unsafe {
                let _ = ring.turn(&pages, Mode::Overwrite, SIZES.page, bytes, clock::now());
                ring.end();
            }
        }
        let slot = self.shared.get(number as usize).ok_or(EINVAL)?;
        slot.ring.store(ptr::from_ref(ring).cast_mut(), Release);
        Ok(())
    }

    /// Rings that tasks and interrupts don't get: those with the lowest ids.
    fn fixed_rings(&self) -> u32 {
        self.shared.len() as u32
    }
}
