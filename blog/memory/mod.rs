// SPDX-License-Identifier: GPL-2.0

//! The memory of one component: its pages, its rings, and the tables that the pool links them with.
//!
//! BLog takes all of it when a component is switched on, in process context. It stays until the
//! budget changes (`resize.rs`), or until it is freed, when no log call that knows it can run. A
//! log call reads it through [`Store`] and never waits for it. Pages that log calls turn into
//! rings, or give to tables of tasks, are the component's own.
//!
//! | file | what it is |
//! |---|---|
//! | `mod.rs` | the memory of a component, as others see it |
//! | `budget.rs` | its limits |
//! | `block.rs` | pages of the kernel, and arrays in them |
//! | `give.rs` | takes pages away from rings |
//! | `resize.rs` | changes its budget, where that part is there |
//! | `source.rs` | pages that aren't the kernel's, where that part is there |
//! | `store.rs` | the data of the pool |
//! | `table.rs` | slots, which never move |
//! | `pool/` | the source of pages and rings for log calls |

use core::ops::Deref;
use kernel::blog::{
    no_ring,
    ring::{
        Info,
        Owner,
        PageHeader,
        Pages,
        Ring,
        OWN_ROOM, //
    },
    wire::record::Context, //
};
#[cfg(CONFIG_BLOG_ROOT)]
use kernel::blog::{
    root::Live,
    wire::dump, //
};

pub(crate) mod block;
pub(crate) mod budget;
#[cfg(CONFIG_BLOG_PARTS)]
pub(crate) mod follow;
mod give;
#[cfg(CONFIG_BLOG_PARTS)]
mod mend;
pub(crate) mod pool;
#[cfg(CONFIG_BLOG_PARTS)]
mod resize;
#[cfg(CONFIG_BLOG_PARTS)]
pub(crate) mod source;
mod store;
mod table;

use self::{
    block::{
        add_array,
        pages_for,
        Block,
        Chain, //
    },
    pool::{
        Pool,
        Shelf,
        Store,
        MOST_SHELVES,
        WARN_RINGS, //
    },
    store::Arrays,
    table::Slots, //
};

#[cfg(CONFIG_BLOG_PARTS)]
pub(crate) use self::resize::Stock;
#[cfg(CONFIG_BLOG_PARTS)]
pub(crate) use self::store::LEAVING;
pub(crate) use self::{
    store::RINGS,
    table::MOST as MOST_PAGES, //
};
use crate::sys::prelude::*;

/// The fewest pages that a component works with: one for itself, one of rings, and those for
/// records.
const LEAST_PAGES: u32 = 2 + LEAST_DATA;
const LEAST_DATA: u32 = 2;
/// A component has a shared ring for each so many pages of its budget, but one at least and no more
/// than CPUs.
const PAGES_PER_SHARED: u32 = 32;
/// Of so many pages of a budget, there is a shelf, but no more than CPUs.
const PAGES_PER_SHELF: u32 = 8;
/// And as many at least: a call that has interrupted one on a shelf finds another one.
const LEAST_SHELVES: u32 = 2;
/// Of so many pages, one has rings from the start.
const PAGES_PER_RINGS: u32 = 64;
/// How many rings are found without a walk along the list of a task.
const KNOWN: usize = 8;
/// How often a ring is looked at that changes hands.
const LOOKS: u32 = 100;
const PER_CPU: u32 = Context::INTERRUPTS as u32;
/// Interrupts have rings of their own where pointers to these take at most this part of a budget;
/// else they log to shared rings.
const PER_CPU_PART: usize = 8;
/// The most rings that a component can have.
const MAX_RINGS: u32 = 65536;
// With as many pointers to rings of interrupts as there may be, the smallest component has one page
// for itself.
const _: () = assert!(
    size_of::<Memory>()
        + LEAST_SHELVES as usize * size_of::<Shelf>()
        + LEAST_PAGES as usize * PAGE_SIZE / PER_CPU_PART
        + (1 + WARN_RINGS) as usize * size_of::<Shared>()
        + table::FIRST_BYTES
        + align_of::<Memory>()
        <= PAGE_SIZE
);
/// At most this part of a component's pages goes to tables of tasks.
const LENT_PART: u32 = 4;

/// How many memories there have been.
#[cfg(CONFIG_BLOG_PARTS)]
static NUMBERS: AtomicU32 = AtomicU32::new(0);

/// How many of so many pages can be rings, most of which is their own room.
fn max_ring_pages(pages: u32) -> u32 {
    (pages - pages / 4).clamp(1, MAX_RINGS / RINGS as u32)
}

/// The memory of a component, as its manager has it, under the component's lock. Dropping it frees
/// all; nobody may know it any more.
///
/// # Invariants
///
/// - `memory` is in the first of `blocks`, and arrays that it leads to are in these.
/// - The pages in the memory's slots are this one's.
pub(crate) struct Owned {
    memory: NonNull<Memory>,
    /// With room for one for each part of the slots.
    #[cfg_attr(not(CONFIG_BLOG_PARTS), allow(dead_code))]
    blocks: KVec<Block>,
}

// SAFETY: It owns what it points to, which any task may use.
unsafe impl Send for Owned {}

impl Deref for Owned {
    type Target = Memory;

    fn deref(&self) -> &Memory {
        // SAFETY: By the type invariants.
        unsafe { self.memory.as_ref() }
    }
}

impl Owned {
    /// Makes memory for the component in `slot`, of `pages` pages, or as many as there are, on a
    /// machine with `cpus` CPUs.
    ///
    /// `ENOSPC` where the limit for all leaves too few even for the smallest component, `ENOMEM`
    /// where there are so few.
    pub(crate) fn new(slot: u16, pages: u32, cpus: u32) -> Result<Self> {
        let room = budget::room();
        if room < LEAST_PAGES {
            return Err(ENOSPC);
        }
        let most = pages.min(room).min(budget::spare().max(LEAST_PAGES));
        Self::of_pages(slot, most, cpus).or_else(|_| Self::of_pages(slot, LEAST_PAGES, cpus))
    }

    fn of_pages(slot: u16, pages: u32, cpus: u32) -> Result<Self> {
        let shelves = (pages / PAGES_PER_SHELF).min(cpus);
        let shelves = shelves.clamp(LEAST_SHELVES, MOST_SHELVES as u32) as usize;
        let most = pages as usize * PAGE_SIZE / PER_CPU_PART / size_of::<AtomicPtr<Ring>>();
        let percpu = cpus.saturating_mul(PER_CPU) as usize;
        let percpu = if percpu > most { 0 } else { percpu };
        let shared = ((pages / PAGES_PER_SHARED).clamp(1, cpus) + WARN_RINGS) as usize;
        let (slots, parts) = (Slots::new(), table::parts_for(pages));

        let mut blocks = KVec::with_capacity(table::PARTS as usize, GFP_KERNEL)?;
        let bytes = add_array::<Memory>(0, 1);
        let bytes = add_array::<Shelf>(bytes, shelves);
        let bytes = add_array::<AtomicPtr<Ring>>(bytes, percpu);
        let bytes = add_array::<Shared>(bytes, shared);
        let mut block = Block::new(pages_for(slots.add_bytes(bytes, parts)))?;
        let mut rest = block.rest();
        let place = rest.room::<Memory>(1)?;
        // SAFETY: The block stays as long as the memory, which is in it.
        let memory = unsafe {
            let shelves = rest.array(shelves, Shelf::new)?;
            let percpu = rest.array(percpu, |_| AtomicPtr::new(no_ring()))?;
            let shared = rest.array(shared, |_| Shared {
                last: AtomicU64::new(0),
                #[cfg(CONFIG_BLOG_PARTS)]
                seen: AtomicU32::new(0),
            })?;
            slots.add(parts, &mut rest)?;
            Memory {
                pool: Pool::new(Arrays {
                    slot,
                    slots,
                    ring_pages: AtomicU64::new(0),
                    pages: AtomicU32::new(0),
                    shelves,
                    empty: PageHeader::empty(),
                }),
                fixed: AtomicU32::new(block.pages()),
                lendable: AtomicU32::new(0),
                percpu,
                shared,
                known: [const { AtomicPtr::new(ptr::null_mut()) }; KNOWN],
                #[cfg(CONFIG_BLOG_PARTS)]
                mended: AtomicU64::new(0),
                #[cfg(CONFIG_BLOG_PARTS)]
                number: NUMBERS.fetch_add(1, Relaxed),
                #[cfg(CONFIG_BLOG_PARTS)]
                beside: AtomicPtr::new(ptr::null_mut()),
                #[cfg(CONFIG_BLOG_ROOT)]
                root: Live::zeroed(),
            }
        };
        const { assert!(!core::mem::needs_drop::<Memory>()) };
        // SAFETY: `place` is one of the new block's, each of which has room for it.
        unsafe { place.write(memory) };
        blocks.push(block, GFP_KERNEL)?;
        // INVARIANT: It is in the block, and without pages.
        let owned = Self {
            memory: place,
            blocks,
        };
        owned.fill(pages)?;
        Ok(owned)
    }

    /// Gives it its first pages, to be `pages` in all.
    fn fill(&self, pages: u32) -> Result {
        let shared = self.shared_rings();
        let rings = (shared + 1).div_ceil(RINGS as u32) + pages / PAGES_PER_RINGS;
        self.pool.store.set_max_ring_pages(rings);
        // Without memory for more, it starts with what there is.
        self.add(|| match self.pages_in_all() < pages {
            true => Block::of_component().ok(),
            false => None,
        });
        if self.pages_held() < self.pool.store.ring_pages() + LEAST_DATA {
            return Err(ENOMEM);
        }
        self.lendable.store(self.pages_held() / LENT_PART, Relaxed);
        self.set_limits();
        self.pool.add_live(shared);
        for id in 0..shared {
            let ring = self.pool.store.ring(id).ok_or(EINVAL)?;
            // Those for warnings have the last numbers.
            let number = (id + shared - WARN_RINGS) % shared;
            // SAFETY: The ring is new, and nobody else knows it.
            unsafe { ring.adopt(&Owner::new(Context::Shared, number)) };
        }
        #[cfg(CONFIG_BLOG_ROOT)]
        self.describe();
        Ok(())
    }

    /// Puts pages, as `next` gives them, into free slots: they become rings, as far as there may be
    /// more of these, or free.
    fn add(&self, mut next: impl FnMut() -> Option<Block>) {
        for (number, slot) in self.pool.slots().filter(|(_, slot)| slot.page().is_null()) {
            let Some(page) = next() else {
                break;
            };
            self.pool.store.pages.fetch_add(1, Relaxed);
            // SAFETY: The slot is free, and the page of this size and initialised, and in no other
            // slot and no ring.
            unsafe { slot.fill(page.into_page().cast(), PAGE_SIZE as u32) };
            #[cfg(CONFIG_BLOG_PARTS)]
            (source::get().own)(slot.page().cast(), self.pool.store.slot, self.number);
            let Some(ids) = self.pool.store.make_rings(number) else {
                self.pool.give_page(number);
                continue;
            };
            // The lowest ids are taken first, but for shared rings.
            let free = ids.rev().filter(|id| *id >= self.shared_rings());
            free.for_each(|id| self.pool.put_ring(id));
        }
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        #[cfg(CONFIG_BLOG_PARTS)]
        follow::ends(self);
        #[cfg(CONFIG_BLOG_PARTS)]
        if LEAVING.as_ref().is_some() {
            // What is in the rings is counted.
            let pool = self.pool.pages(0, false);
            for ring in (0..self.pool.store.rings()).filter_map(|id| self.pool.store.ring(id)) {
                // SAFETY: Nobody knows the ring any more, which has its pages from the pool.
                while unsafe { ring.steal_last(&pool) }.is_some() {}
            }
        }
        let mut pages = Chain::new();
        // SAFETY: All pages are from `add`, or that beside it, and nobody knows the memory any
        // more.
        unsafe {
            #[cfg(CONFIG_BLOG_PARTS)]
            pages.push(self.beside.swap(ptr::null_mut(), Relaxed));
            for (_, slot) in self.pool.slots() {
                pages.push(slot.empty().cast());
            }
        }
    }
}

/// What there is besides of a ring that many write into: these are the rings with the lowest ids.
struct Shared {
    /// The last writer, for [`Ring::begin_shared`].
    last: AtomicU64,
    /// The writer at the last look; 0: none.
    #[cfg(CONFIG_BLOG_PARTS)]
    seen: AtomicU32,
}

/// The memory of a component. It stays in one place: rings and tasks point into it.
pub(crate) struct Memory {
    /// All pages and rings, and which of them are free.
    pub(crate) pool: Pool<Arrays>,
    /// Pages of what it has besides.
    fixed: AtomicU32,
    /// Pages that may still go to tables of tasks.
    lendable: AtomicU32,
    /// By CPU and context; empty where interrupts have no rings of their own.
    pub(crate) percpu: &'static [AtomicPtr<Ring>],
    shared: &'static [Shared],
    /// Rings that tasks had last: see [`Self::known`].
    known: [AtomicPtr<Ring>; KNOWN],
    #[cfg(CONFIG_BLOG_PARTS)]
    mended: AtomicU64,
    /// A later memory has a greater one.
    #[cfg(CONFIG_BLOG_PARTS)]
    number: u32,
    /// A page of [`Block::into_page`] that a part has made for it, and that goes with it; or null.
    #[cfg(CONFIG_BLOG_PARTS)]
    pub(crate) beside: AtomicPtr<u8>,
    /// What crash tools find of it.
    #[cfg(CONFIG_BLOG_ROOT)]
    pub(crate) root: Live<dump::MemoryRoot>,
}

impl Memory {
    /// Sets what follows from how many pages there are.
    fn set_limits(&self) {
        let store = &self.pool.store;
        store.set_max_ring_pages(max_ring_pages(self.pages_held()));
        #[cfg(CONFIG_BLOG_PARTS)]
        follow::resized(self);
    }

    /// Says in [`Self::root`] where all is, which stays there. The memory is new, and has its
    /// place.
    #[cfg(CONFIG_BLOG_ROOT)]
    fn describe(&self) {
        let shelves = self.pool.store.shelves();
        let new = dump::MemoryRoot {
            magic: dump::MEMORY_MAGIC,
            size: size_of::<dump::MemoryRoot>() as u32,
            rings: dump::TableRoot {
                chunks: 0,
                capacity: MAX_RINGS / RINGS as u32,
                per_chunk: RINGS as u32,
                stride: size_of::<Ring>() as u32,
                doubling: 0,
            },
            slots: self.pool.store.slots.root(),
            page_size: PAGE_SIZE as u32,
            chunk_size: 0,
            chunks: 0,
            reserved: 0,
            gone: shelves
                .first()
                .map_or(0, |shelf| ptr::from_ref(&shelf.gone) as u64),
            gone_count: shelves.len() as u32,
            gone_stride: size_of::<Shelf>() as u32,
        };
        // SAFETY: The memory is new, so that nobody else writes its root.
        unsafe { self.root.update(|root| *root = new) };
    }

    /// The table of per-CPU rings that a component points to; null if there is none.
    pub(crate) fn percpu(&self) -> *mut AtomicPtr<Ring> {
        match self.percpu {
            [] => ptr::null_mut(),
            all => all.as_ptr().cast_mut(),
        }
    }

    /// A ring for contexts that get none of their own, and who wrote last, for
    /// [`Ring::begin_shared`]. There are [`Self::shared_rings`] of them. Any context.
    pub(crate) fn shared(&self, n: u32) -> Option<(&Ring, &AtomicU64)> {
        let shared = self.shared.get(n as usize)?;
        Some((self.pool.store.ring(n)?, &shared.last))
    }

    /// How many rings tasks and interrupts don't get; the first [`WARN_RINGS`] are for warnings.
    pub(crate) fn shared_rings(&self) -> u32 {
        self.shared.len() as u32
    }

    /// How many pages a shared ring may hold, where others may hold `max`: it stands in for many,
    /// so all shared rings together may hold a quarter of what there is. Any context.
    pub(crate) fn max_shared(&self, max: u32) -> u32 {
        max.max(self.pool.store.data_pages() / 4 / (self.shared_rings() - WARN_RINGS))
    }

    /// A ring that the task with this table had here last, or another task, as [`KNOWN`] is few. A
    /// task that logs to many components finds its ring so, as its list of rings is long. Any
    /// context.
    pub(crate) fn known(&self, table: u32) -> Option<&Ring> {
        // ORDERING: Acquire pairs with the store in `know`: the ring is there.
        let ring = self.known[table as usize % KNOWN].load(Acquire);
        // SAFETY: Only rings of this memory are put in.
        unsafe { ring.as_ref() }
    }

    /// Has [`Self::known`] find this ring, which is one of this memory. Any context.
    pub(crate) fn know(&self, table: u32, ring: &Ring) {
        let ring = ptr::from_ref(ring).cast_mut();
        // ORDERING: Release: who finds the ring finds it made.
        self.known[table as usize % KNOWN].store(ring, Release);
    }

    /// Where the ring of an interrupt context on a CPU is kept; `None` where these have none.
    pub(crate) fn percpu_ring(&self, cpu: u32, context: Context) -> Option<&AtomicPtr<Ring>> {
        self.percpu.get(context.percpu_index(cpu as usize)?)
    }

    /// A free ring, which goes to `owner`, once `keep` has put it where it is found; or another
    /// one, which `keep` has found there. The caller is on `cpu`; `steal`: as for [`Pool::pages`].
    /// Any context.
    pub(crate) fn ring_for<'a>(
        &'a self,
        owner: &Owner,
        cpu: u32,
        steal: bool,
        keep: impl FnOnce(&'a Ring) -> Result<(), &'a Ring>,
    ) -> Option<&'a Ring> {
        let pool = &self.pool;
        let ring = pool.take_ring(cpu, steal)?;
        // SAFETY: The ring was just taken out of the free ones. If it isn't kept, as a log call
        // that interrupted this one was faster, nobody has seen it, and it has no writer.
        unsafe {
            ring.adopt(owner);
            let Err(faster) = keep(ring) else {
                return Some(ring);
            };
            ring.retire(0);
            pool.retire(ring);
            Some(faster)
        }
    }

    /// What readers want to know of a ring; `None` where it is free, or changes hands all the time.
    pub(crate) fn info(&self, id: u32) -> Option<Info> {
        let ring = self.pool.store.ring(id)?;
        let mut looks = (0..LOOKS).take_while(|_| !ring.is_free());
        looks.find_map(|_| ring.info())
    }

    /// Whether a ring is nobody's.
    pub(crate) fn is_free(&self, id: u32) -> bool {
        self.pool.store.ring(id).is_some_and(Ring::is_free)
    }

    /// Index and position of the oldest page of a ring. Both may be another one's by now: what is
    /// there is to be confirmed by [`Self::copy`].
    pub(crate) fn oldest_page(&self, id: u32) -> Option<(u32, u64)> {
        let ring = self.pool.store.ring(id)?;
        match ring.oldest_page()? {
            OWN_ROOM => Some((OWN_ROOM, ring.room().seq())),
            index => Some((index, self.pool.pages(0, false).header(index).seq())),
        }
    }

    /// Copies the page that has this index in a ring, if it is at position `seq` of one, as far as
    /// it is published, to `to`; returns the number of bytes.
    pub(crate) fn copy(&self, id: u32, index: u32, seq: u64, to: &mut [u8]) -> Option<usize> {
        let store = &self.pool.store;
        match index {
            OWN_ROOM => store.ring(id)?.copy_room(seq, to),
            index => store.slot(index)?.copy(PAGE_SIZE as u32, seq, to),
        }
    }

    /// Gives a page away, to `take`, which may decline it, or makes it [something
    /// else](PageHeader::turn_into). So that the component keeps most of what it has, there is an
    /// end to that. The caller is on `cpu`; `steal`: as for [`Pool::pages`]. Any context.
    pub(crate) fn lend(&self, cpu: u32, steal: bool, take: impl FnOnce(*mut u8) -> bool) {
        let less = |pages: u32| pages.checked_sub(1);
        if (self.lendable.fetch_update(Relaxed, Relaxed, less)).is_err() {
            return;
        }
        let (pool, store) = (&self.pool, &self.pool.store);
        let page = pool.take(cpu, 0, 0, steal);
        if let Some((page, slot)) = page.and_then(|page| Some((page, store.slot(page)?))) {
            if take(slot.page().cast()) {
                store.pages.fetch_sub(1, Relaxed);
                let _page = slot.empty();
                #[cfg(CONFIG_BLOG_PARTS)]
                (source::get().disown)(_page.cast());
                return;
            }
            pool.put(cpu, page);
        }
        self.lendable.fetch_add(1, Relaxed);
    }

    /// Pages for records and rings.
    fn pages_held(&self) -> u32 {
        self.pool.store.pages.load(Relaxed)
    }

    /// Pages that it takes, all in.
    pub(crate) fn pages_in_all(&self) -> u32 {
        self.fixed.load(Relaxed) + self.pages_held()
    }

    /// The same in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.pages_in_all() as usize * PAGE_SIZE
    }
}
