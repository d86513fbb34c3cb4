// SPDX-License-Identifier: GPL-2.0

//! The memory behind one component: its pages, its rings, and the arrays that the pool links them
//! with.
//!
//! Made in process context when a component is first switched on, or grown when its size is
//! raised, and freed only when no log call can run that knows it. A log call reads it through
//! [`pool::Store`] and never waits for it. Arrays are made for [`Memory::capacity`] pages at once,
//! because their addresses may not change; pages and rings are added as the budget says.

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
    }, //
};

/// Rings that are allocated together.
const CHUNK: usize = 16;

/// Per-CPU contexts.
pub(crate) const PER_CPU: u32 = 3;

/// A component can grow to this many times the size with which it was switched on.
const HEADROOM: u32 = 4;

/// Arrays are at least for this many pages.
const MIN_CAPACITY: u32 = 256;

/// Bits of an end within a page, which is at most the page's size.
const END_BITS: u32 = 16;
const _: () = assert!(PAGE_SIZE < 1 << END_BITS);

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

/// What [`Store`] offers to the pool.
///
/// # Invariants
///
/// - The arrays stay where they are.
/// - `pages[i]` is null or a formatted page, which stays as long as it is there.
/// - `chunks[i]` is null or points to [`CHUNK`] rings, which stay as long as the arrays.
pub(crate) struct Arrays {
    pages: KVVec<AtomicPtr<PageHeader>>,
    page_links: KVVec<AtomicU32>,
    chunks: KVVec<AtomicPtr<Ring>>,
    ring_links: KVVec<AtomicU32>,
    cells: KVVec<Cell>,
    empty: PageHeader,
}

impl Store for Arrays {
    fn page_links(&self) -> &[AtomicU32] {
        &self.page_links
    }

    fn ring_links(&self) -> &[AtomicU32] {
        &self.ring_links
    }

    fn cells(&self) -> &[Cell] {
        &self.cells
    }

    fn page(&self, index: u32) -> *mut PageHeader {
        // ORDERING: Acquire pairs with the store of a new page: its header is there.
        match self.pages.get(index as usize) {
            Some(page) => page.load(Acquire),
            None => self.empty(),
        }
    }

    fn ring(&self, id: u32) -> Option<&Ring> {
        let id = id as usize;
        // ORDERING: Acquire pairs with the store of a new chunk: its rings are there.
        let chunk = self.chunks.get(id / CHUNK)?.load(Acquire);
        if chunk.is_null() {
            return None;
        }
        // SAFETY: By the type invariants, there are `CHUNK` rings.
        Some(unsafe { &*chunk.add(id % CHUNK) })
    }

    fn empty(&self) -> *mut PageHeader {
        // Only its atomics are accessed through this pointer.
        ptr::from_ref(&self.empty).cast_mut()
    }
}

impl Drop for Arrays {
    fn drop(&mut self) {
        for chunk in &self.chunks {
            let chunk = chunk.load(Relaxed);
            if !chunk.is_null() {
                // SAFETY: `add_chunk` made it from a vector of this type with these numbers.
                drop(unsafe { KVec::<Ring>::from_raw_parts(chunk, CHUNK, CHUNK) });
            }
        }
    }
}

/// What of the memory only its manager uses, under the component's lock.
pub(crate) struct Owned {
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

    /// Rings in memory.
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
    /// For each ring up to where `clear` has hidden it: position of the page, and end in the page
    /// in the low [`END_BITS`] bits.
    cleared: KVVec<AtomicU64>,
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
        let capacity = pages.saturating_mul(HEADROOM).max(MIN_CAPACITY);
        let percpu = nr_cpu_ids() * PER_CPU;
        let chunks = (capacity + percpu).div_ceil(CHUNK as u32);
        let rings = chunks * CHUNK as u32;

        let memory = KBox::new(
            Self {
                pool: Pool::new(),
                store: Arrays {
                    pages: vec_of(capacity, |_| AtomicPtr::new(ptr::null_mut()))?,
                    page_links: vec_of(capacity, |_| AtomicU32::new(0))?,
                    chunks: vec_of(chunks, |_| AtomicPtr::new(ptr::null_mut()))?,
                    ring_links: vec_of(rings, |_| AtomicU32::new(0))?,
                    cells: vec_of((rings * 2).next_power_of_two(), Cell::new)?,
                    empty: PageHeader::empty(),
                },
                percpu: vec_of(percpu, |_| AtomicPtr::new(ptr::null_mut()))?,
                cleared: vec_of(rings, |_| AtomicU64::new(0))?,
            },
            GFP_KERNEL,
        )?;
        let mut owned = Owned {
            pages: vec_of(capacity, |_| None)?,
            count: 0,
            rings: 0,
        };
        while owned.rings < percpu {
            memory.add_chunk(&mut owned)?;
        }
        for id in 0..percpu {
            memory.adopt_percpu(id)?;
        }
        for id in percpu..owned.rings {
            memory.pool.put_ring(&memory.store, id);
        }
        memory.grow(&mut owned, pages)?;
        Ok((memory, owned))
    }

    /// The most pages that it can grow to.
    pub(crate) fn capacity(&self) -> u32 {
        self.store.pages.len() as u32
    }

    /// The table of per-CPU rings that a component points to.
    pub(crate) fn percpu(&self) -> *mut AtomicPtr<Ring> {
        // Only the atomics are accessed through this pointer.
        self.percpu.as_slice().as_ptr().cast_mut()
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

    /// Takes down that `clear` has hidden a ring up to `end` in the page at `seq`.
    pub(crate) fn set_cleared(&self, ring: u32, seq: u64, end: u32) {
        if let Some(cleared) = self.cleared.get(ring as usize) {
            cleared.store(seq << END_BITS | u64::from(end), Relaxed);
        }
    }

    /// Whether `clear` has hidden all of a ring's oldest page. Only the ring's writer asks; any
    /// context.
    pub(crate) fn oldest_is_cleared(&self, ring: &Ring) -> bool {
        let Some(cleared) = self.cleared.get(ring.id() as usize) else {
            return false;
        };
        let cleared = cleared.load(Relaxed);
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

    /// Adds [`CHUNK`] rings; the caller gives them to the pool.
    fn add_chunk(&self, owned: &mut Owned) -> Result {
        let slot = self.store.chunks.get(owned.rings as usize / CHUNK);
        let slot = slot.ok_or(ENOSPC)?;
        let mut rings = KVec::with_capacity(CHUNK, GFP_KERNEL)?;
        for id in (owned.rings..).take(CHUNK) {
            rings.push(Ring::new(id, self.store.empty()), GFP_KERNEL)?;
        }
        let (chunk, _, _) = rings.into_raw_parts();
        // ORDERING: Release publishes the rings.
        // INVARIANT: There are `CHUNK` rings, and only `drop` frees them.
        slot.store(chunk, Release);
        owned.rings += CHUNK as u32;
        Ok(())
    }

    /// Adds one page to the depot, at a free index from `from` on; returns the index.
    fn add_page(&self, owned: &mut Owned, from: usize) -> Result<usize> {
        let index = (from..owned.pages.len())
            .find(|i| matches!(owned.pages.get(*i), Some(None)))
            .ok_or(ENOSPC)?;
        let charge = Charge::new()?;
        let page = Page::alloc_page(GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN)?;
        let header = glue::page_address(&page).cast::<PageHeader>();
        // SAFETY: The page is new, so it is nobody else's, and has this size.
        unsafe { PageHeader::format(header, PAGE_SIZE as u32) };
        let (slot, owner) = (
            self.store.pages.get(index).ok_or(EINVAL)?,
            owned.pages.get_mut(index).ok_or(EINVAL)?,
        );
        *owner = Some(OwnedPage {
            _page: page,
            _charge: charge,
        });
        owned.count += 1;
        // ORDERING: Release publishes the header.
        slot.store(header, Release);
        self.pool.put_page(&self.store, index as u32);
        Ok(index)
    }

    /// Frees a page that the caller has taken from the pool.
    fn free_page(&self, owned: &mut Owned, index: u32) {
        if let Some(slot) = self.store.pages.get(index as usize) {
            slot.store(ptr::null_mut(), Relaxed);
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
        if pages > self.capacity() {
            return Err(ENOSPC);
        }
        let before = owned.count;
        let mut from = 0;
        let mut result = Ok(());
        while owned.count < pages && result.is_ok() {
            result = self.add_page(owned, from).map(|index| from = index + 1);
        }
        while result.is_ok() && owned.rings < pages + nr_cpu_ids() * PER_CPU {
            let first = owned.rings;
            result = self.add_chunk(owned);
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
