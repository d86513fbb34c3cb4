// SPDX-License-Identifier: GPL-2.0

//! The memory behind one component: its pages, its rings, and the arrays that the pool links them
//! with.
//!
//! Made in process context when a component is first switched on, or grown when its size is
//! raised, and freed only when no log call can run that knows it. A log call reads it through
//! [`Store`] and never waits for it. Pages and rings are added as the budget says, and pages are
//! freed when it is lowered; rings stay.

use core::{
    ptr,
    sync::atomic::{
        AtomicPtr,
        AtomicU32,
        AtomicU64,
        AtomicUsize,
        Ordering::{
            Acquire,
            Relaxed,
            Release, //
        }, //
    }, //
};
use kernel::{
    blog::{
        record::Context,
        ring::{
            Owner,
            PageHeader,
            Ring, //
        }, //
    },
    cpu::nr_cpu_ids,
    page::{
        Page,
        PAGE_SIZE, //
    },
    prelude::*, //
};

use crate::{
    glue,
    pool::{
        Cell,
        Pool,
        Store, //
    },
    table::Table, //
};

/// Pages whose slots are allocated together.
const PAGE_CHUNK: usize = 512;
/// Rings that are allocated together.
const RING_CHUNK: usize = 32;

/// The most pages that a component can have.
const MAX_PAGES: u32 = kb_to_pages(1 << 20);
/// The most rings for tasks that a component can have.
const MAX_TASK_RINGS: u32 = 16384;

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

/// A page's share of the limit for all components.
struct Charge;

impl Charge {
    fn new() -> Result<Self> {
        let limit = glue::max_kb() as usize / (PAGE_SIZE / 1024);
        let mut used = USED.load(Relaxed);
        loop {
            if used >= limit {
                return Err(ENOSPC);
            }
            match USED.compare_exchange_weak(used, used + 1, Relaxed, Relaxed) {
                Ok(_) => return Ok(Self),
                Err(now) => used = now,
            }
        }
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

/// Place for a page.
///
/// # Invariants
///
/// `page` is null or a formatted page, which stays as long as it is there.
struct PageSlot {
    page: AtomicPtr<PageHeader>,
    link: AtomicU32,
}

/// A ring, and what else there is for each.
struct RingSlot {
    ring: Ring,
    link: AtomicU32,
    /// Up to where `clear` has hidden it: position of the page, and end in the page in the low
    /// [`END_BITS`] bits.
    cleared: AtomicU64,
}

/// What [`Store`] offers to the pool.
pub(crate) struct Arrays {
    pages: Table<PageSlot, PAGE_CHUNK>,
    rings: Table<RingSlot, RING_CHUNK>,
    cells: KVVec<Cell>,
    empty: PageHeader,
}

impl Store for Arrays {
    fn page_link(&self, index: u32) -> Option<&AtomicU32> {
        Some(&self.pages.get(index)?.link)
    }

    fn ring_link(&self, id: u32) -> Option<&AtomicU32> {
        Some(&self.rings.get(id)?.link)
    }

    fn cells(&self) -> &[Cell] {
        &self.cells
    }

    fn page(&self, index: u32) -> *mut PageHeader {
        // ORDERING: Acquire pairs with the store of a new page: its header is there.
        match self.pages.get(index) {
            Some(slot) => slot.page.load(Acquire),
            None => self.empty(),
        }
    }

    fn ring(&self, id: u32) -> Option<&Ring> {
        Some(&self.rings.get(id)?.ring)
    }

    fn page_size(&self) -> u32 {
        PAGE_SIZE as u32
    }

    fn empty(&self) -> *mut PageHeader {
        // Only its atomics are accessed through this pointer.
        ptr::from_ref(&self.empty).cast_mut()
    }
}

/// What of the memory only its manager uses, under the component's lock.
pub(crate) struct Owned {
    /// Pages by index; as long as there are slots.
    pages: KVVec<Option<OwnedPage>>,
    /// Pages in memory.
    count: u32,
    /// Rings in memory.
    rings: u32,
}

impl Owned {
    /// Pages in memory.
    pub(crate) fn pages(&self) -> u32 {
        self.count
    }

    /// Indices that a page may have: from 0 to below this.
    pub(crate) fn indices(&self) -> u32 {
        self.pages.len() as u32
    }

    /// Rings in memory: their ids are from 0 to below this.
    pub(crate) fn rings(&self) -> u32 {
        self.rings
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
    /// Makes memory of `pages` pages.
    pub(crate) fn new(pages: u32) -> Result<(KBox<Self>, Owned)> {
        let percpu = nr_cpu_ids() * PER_CPU;
        let shared = (pages / PAGES_PER_SHARED).clamp(1, nr_cpu_ids());
        let cells = (2 * pages.min(MAX_TASK_RINGS)).max(MIN_CELLS);
        let memory = KBox::new(
            Self {
                pool: Pool::new(),
                store: Arrays {
                    pages: Table::new(MAX_PAGES as usize)?,
                    rings: Table::new((MAX_TASK_RINGS + percpu + shared) as usize)?,
                    cells: vec_of(cells.next_power_of_two(), Cell::new)?,
                    empty: PageHeader::empty(),
                },
                percpu: vec_of(percpu, |_| AtomicPtr::new(ptr::null_mut()))?,
                shared: vec_of(shared, |_| AtomicPtr::new(ptr::null_mut()))?,
            },
            GFP_KERNEL,
        )?;
        let mut owned = Owned {
            pages: KVVec::new(),
            count: 0,
            rings: 0,
        };
        while owned.rings < percpu + shared {
            memory.add_rings(&mut owned)?;
        }
        for id in 0..percpu {
            memory.adopt_percpu(id)?;
        }
        for number in 0..shared {
            memory.adopt_shared(percpu + number, number)?;
        }
        for id in percpu + shared..owned.rings {
            memory.pool.put_ring(&memory.store, id);
        }
        memory.grow(&mut owned, pages)?;
        Ok((memory, owned))
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

    /// The ring for an interrupt context on a CPU.
    pub(crate) fn percpu_ring(&self, cpu: u32, context: Context) -> *mut Ring {
        let index = cpu * PER_CPU + (context as u32).saturating_sub(1);
        match self.percpu.get(index as usize) {
            // ORDERING: Relaxed: they are all there since the memory is known to anybody.
            Some(ring) => ring.load(Relaxed),
            None => ptr::null_mut(),
        }
    }

    /// Copies a page to `to`, as far as it is published; `None` where it is not at position `seq` of
    /// a ring. The component must be locked.
    pub(crate) fn copy(&self, index: u32, seq: u64, to: &mut [u8]) -> Option<usize> {
        let from = self.store.page(index);
        if from.is_null() {
            return None;
        }
        // SAFETY: A page that isn't null is formatted, and stays while the component is locked.
        unsafe { PageHeader::copy(from, PAGE_SIZE as u32, seq, to) }
    }

    /// Takes down that `clear` has hidden a ring up to `end` in the page at `seq`.
    pub(crate) fn set_cleared(&self, ring: u32, seq: u64, end: u32) {
        if let Some(slot) = self.store.rings.get(ring) {
            slot.cleared
                .store(seq << END_BITS | u64::from(end), Relaxed);
        }
    }

    /// Whether `clear` has hidden all of a ring's oldest page. Only the ring's writer asks; any
    /// context.
    pub(crate) fn oldest_is_cleared(&self, ring: &Ring) -> bool {
        let Some(slot) = self.store.rings.get(ring.id()) else {
            return false;
        };
        let cleared = slot.cleared.load(Relaxed);
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

    /// Makes a new ring the shared one of this number.
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
        let slot = self.shared.get(number as usize).ok_or(EINVAL)?;
        slot.store(ptr::from_ref(ring).cast_mut(), Release);
        Ok(())
    }

    /// Adds [`RING_CHUNK`] rings; the caller gives them to the pool.
    fn add_rings(&self, owned: &mut Owned) -> Result {
        self.store.rings.add_chunk(|id| RingSlot {
            ring: Ring::new(id, self.store.empty()),
            link: AtomicU32::new(0),
            cleared: AtomicU64::new(0),
        })?;
        owned.rings += RING_CHUNK as u32;
        Ok(())
    }

    /// Adds slots for [`PAGE_CHUNK`] pages.
    fn add_slots(&self, owned: &mut Owned) -> Result {
        owned.pages.reserve(PAGE_CHUNK, GFP_KERNEL)?;
        self.store.pages.add_chunk(|_| PageSlot {
            page: AtomicPtr::new(ptr::null_mut()),
            link: AtomicU32::new(0),
        })?;
        for _ in 0..PAGE_CHUNK {
            owned.pages.push(None, GFP_KERNEL)?;
        }
        Ok(())
    }

    /// Adds one page to the depot, at a free index from `from` on; returns the index.
    fn add_page(&self, owned: &mut Owned, from: usize) -> Result<usize> {
        let free = |i: &usize| matches!(owned.pages.get(*i), Some(None));
        let index = match (from..owned.pages.len()).find(free) {
            Some(index) => index,
            None => {
                let index = owned.pages.len();
                self.add_slots(owned)?;
                index
            }
        };
        let charge = Charge::new()?;
        let page = Page::alloc_page(GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN)?;
        let header = glue::page_address(&page).cast::<PageHeader>();
        // SAFETY: The page is new, so it is nobody else's, and has this size.
        unsafe { PageHeader::format(header, PAGE_SIZE as u32) };
        let (slot, owner) = (
            self.store.pages.get(index as u32).ok_or(EINVAL)?,
            owned.pages.get_mut(index).ok_or(EINVAL)?,
        );
        *owner = Some(OwnedPage {
            _page: page,
            _charge: charge,
        });
        owned.count += 1;
        // ORDERING: Release publishes the header.
        slot.page.store(header, Release);
        self.pool.put_page(&self.store, index as u32);
        Ok(index)
    }

    /// Frees a page that the caller has taken from the pool.
    fn free_page(&self, owned: &mut Owned, index: u32) {
        if let Some(slot) = self.store.pages.get(index) {
            slot.page.store(ptr::null_mut(), Relaxed);
        }
        if let Some(page) = owned.pages.get_mut(index as usize) {
            if page.take().is_some() {
                owned.count -= 1;
            }
        }
    }

    /// Adds pages, and rings for as many tasks, until there are `pages` pages.
    ///
    /// On an error, all pages that were added are gone again.
    pub(crate) fn grow(&self, owned: &mut Owned, pages: u32) -> Result {
        let rings = pages.min(MAX_TASK_RINGS) + nr_cpu_ids() * PER_CPU + self.shared.len() as u32;
        let before = owned.count;
        let mut from = 0;
        let mut result = Ok(());
        while owned.count < pages && result.is_ok() {
            result = self.add_page(owned, from).map(|index| from = index + 1);
        }
        while result.is_ok() && owned.rings < rings {
            let first = owned.rings;
            result = self.add_rings(owned);
            for id in first..owned.rings {
                self.pool.put_ring(&self.store, id);
            }
        }
        if result.is_err() {
            // The depot may have given a new page away meanwhile; then an old one goes.
            while owned.count > before {
                let Some(index) = self.pool.take_free_page(&self.store) else {
                    break;
                };
                self.free_page(owned, index);
            }
        }
        self.pool.set_reserve(owned.count / 8);
        result
    }

    /// Frees pages until there are `pages`, those of tasks that have ended included.
    ///
    /// `EBUSY`, and nothing is freed, where live rings hold too many.
    pub(crate) fn shrink(&self, owned: &mut Owned, pages: u32) -> Result {
        let excess = owned.count.saturating_sub(pages);
        let retired = self.retired_pages(owned);
        if self.pool.free().saturating_add(retired) < excess {
            return Err(EBUSY);
        }
        while owned.count > pages {
            let Some(index) = self.pool.take_page(&self.store, 0) else {
                break;
            };
            self.free_page(owned, index);
        }
        self.pool.set_reserve(owned.count / 8);
        if owned.count > pages {
            return Err(EBUSY);
        }
        Ok(())
    }

    /// Pages that rings of ended tasks hold.
    pub(crate) fn retired_pages(&self, owned: &Owned) -> u32 {
        (0..owned.rings)
            .filter_map(|id| self.store.ring(id)?.info())
            .filter(|info| info.state == kernel::blog::ring::State::Retired)
            .map(|info| info.pages)
            .sum()
    }
}
