// SPDX-License-Identifier: GPL-2.0

//! A component in plain memory: pages, rings and a pool, as `blog/` has them in the kernel, and a
//! reader that collects what a snapshot would.

use crate::pool::{Pool, Shelf, Slot, Store};
use core::{
    ptr,
    sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
};
use kernel::blog::ring::{Info, Mode, Owner, PageHeader, Reservation, Ring, Writing, ROOM};
use kernel::blog::wire::{
    dump,
    page::{PageInfo, PAGE_HEADER_SIZE, RINGS_MAGIC},
    record::{Context, ControlRecord, Lost, LEN_BITS, LOST_CAUSES, PAYLOAD_MAX},
};
use std::{
    cell::{Cell, UnsafeCell},
    ops::Range,
};

pub use crate::pages;
use pages::{Account, Item};

pub const PAGE: usize = 4096;
/// The component's slot.
pub const SLOT: u16 = 3;

#[repr(C, align(4096))]
struct PageMem(UnsafeCell<[u8; PAGE]>);

/// Sites whose records are counted.
pub const SITES: usize = 16;
/// Rings that are made of a page.
const RINGS: u32 = 4;
/// Added to a ring's id: the index of its own page.
pub const ROOMS: u32 = 1 << 31;

/// What the pool of a [`Rig`] works on.
pub struct Plain {
    pages: Vec<PageMem>,
    slots: Vec<Slot>,
    shelves: Vec<Shelf>,
    empty: Box<UnsafeCell<PageHeader>>,
    rings: Vec<Ring>,
    /// Rings that there are; the others can be made of pages.
    made: AtomicU32,
    /// Pages that are none of rings.
    data: AtomicU32,
    size: u32,
    /// Records that have left the rings, by site: none of loom's, and they order nothing.
    counts: [std::sync::atomic::AtomicU64; SITES],
}

impl<S: Store> Pool<S> {
    /// Free pages.
    pub fn free(&self) -> u32 {
        self.sum(|lists| lists.pages.len())
    }

    /// Free rings.
    pub fn rings_free(&self) -> u32 {
        self.sum(|lists| lists.rings.len())
    }

    /// Rings of tasks that have ended.
    pub fn retired(&self) -> u32 {
        self.sum(|lists| lists.retired.len() + lists.ended.len())
    }

    /// Records of rings that were given to another task, and their losses by cause.
    pub fn gone(&self) -> (u64, [u64; LOST_CAUSES]) {
        let mut sums = (0, [0; LOST_CAUSES]);
        for shelf in self.store.shelves() {
            let (records, lost) = shelf.gone.get();
            sums.0 += records;
            sums.1.iter_mut().zip(lost).for_each(|(sum, n)| *sum += n);
        }
        sums
    }
}

/// A component in plain memory.
pub struct Rig {
    pub(crate) pool: Pool<Plain>,
    /// Who wrote last, of those that are shared.
    last: Vec<AtomicU64>,
    pub mode: Mode,
    pub max_pages: u32,
    /// Whether rings that hold too much give up pages.
    pub steal: bool,
}

// SAFETY: Pages are handed out to one ring at a time by the pool, which is what is under test.
unsafe impl Sync for Rig {}
// SAFETY: As above.
unsafe impl Send for Rig {}

/// What one ring's pages hold, as a reader sees it.
#[derive(Debug, Default)]
pub struct Read {
    /// Time, site and payload of each record, oldest first.
    pub records: Vec<(u64, u32, Vec<u8>)>,
    /// How many there are, and were.
    pub account: Account,
    /// Pages that the writer took back before they could be copied.
    pub missed: u32,
    /// Records that say who writes.
    pub tasks: u32,
}

impl Rig {
    pub fn new(pages: usize, rings: usize) -> Box<Self> {
        Self::with_page_size(pages, rings, PAGE as u32)
    }

    /// A component whose pages are smaller, and whose rings have no pages of their own.
    pub fn with_page_size(pages: usize, rings: usize, size: u32) -> Box<Self> {
        Self::build(pages, rings, rings as u32, (size, 0), 0)
    }

    /// The same with shelves, and one ring.
    pub fn with_shelves(pages: usize, size: u32, cpus: usize) -> Box<Self> {
        Self::build(pages, 1, 1, (size, 0), cpus)
    }

    /// A component with shelves, whose rings have pages of their own, as in the kernel.
    pub fn with_rooms(pages: usize, rings: usize, cpus: usize) -> Box<Self> {
        let mut rig = Self::build(pages, rings, rings as u32, (PAGE as u32, ROOM), cpus);
        rig.steal = true;
        rig
    }

    /// The same with one ring; more are made of pages, 4 of each, up to `rings`.
    pub fn with_rings_of_pages(pages: usize, rings: usize, cpus: usize) -> Box<Self> {
        let mut rig = Self::build(pages, rings, 1, (PAGE as u32, ROOM), cpus);
        rig.steal = true;
        rig
    }

    /// `made` rings are there at first. `sizes` are those of a page, and of a ring's own.
    fn build(pages: usize, rings: usize, made: u32, sizes: (u32, u32), cpus: usize) -> Box<Self> {
        let (size, room) = sizes;
        assert!(size as usize <= PAGE);
        let empty = Box::new(UnsafeCell::new(PageHeader::empty()));
        let store = Plain {
            pages: (0..pages).map(|_| PageMem(UnsafeCell::new([0xa5; PAGE]))).collect(),
            slots: (0..pages).map(|_| Slot::new()).collect(),
            shelves: (0..cpus.max(1) as u32).map(Shelf::new).collect(),
            rings: (0..rings as u32)
                // SAFETY: The rig keeps the header.
                .map(|id| unsafe { Ring::new(id, SLOT, empty.get(), room) })
                .collect(),
            made: AtomicU32::new(made),
            data: AtomicU32::new(pages as u32),
            empty,
            size,
            counts: Default::default(),
        };
        let rig = Box::new(Rig {
            pool: Pool::new(store),
            last: (0..rings).map(|_| AtomicU64::new(0)).collect(),
            mode: Mode::Overwrite,
            max_pages: u32::MAX,
            steal: false,
        });
        let store = &rig.pool.store;
        for (page, slot) in (0..).zip(&store.slots) {
            // SAFETY: Nobody else has the page yet.
            unsafe { slot.fill(store.pages[page as usize].0.get().cast(), size) };
            rig.pool.give_page(page);
        }
        for id in 0..made {
            rig.pool.put_ring(id);
        }
        rig
    }

    /// Takes a ring for a task.
    pub fn adopt(&self, pid: i32) -> Option<&Ring> {
        let ring = self.pool.take_ring(cpu(), self.steal)?;
        // SAFETY: The ring was free and is ours now.
        unsafe {
            ring.adopt(&Owner {
                pid,
                tgid: pid,
                comm: *b"test\0\0\0\0\0\0\0\0\0\0\0\0",
                ..Owner::new(Context::Task, u32::MAX)
            })
        };
        Some(ring)
    }

    pub fn retire(&self, ring: &Ring, clock: u64) {
        // SAFETY: The tests don't write into a ring after they have retired it.
        unsafe { ring.retire(clock) };
        self.pool.retire(ring);
    }

    /// The slow path of a log call: what `blog_reserve` does, without shared rings.
    pub fn reserve<'a>(
        &self,
        ring: &Ring,
        begun: Option<Writing<'a>>,
        bytes: u32,
        ts: u64,
    ) -> Reservation<'a> {
        let cause = match begun {
            Some(writing) => {
                let pages = self.pool.pages(cpu(), self.steal);
                // SAFETY: All pages are of this pool.
                match unsafe { writing.turn(&pages, self.mode, self.max_pages, bytes, ts) } {
                    Ok(()) => return Reservation { writing: Some(writing), ts },
                    Err(cause) => cause,
                }
            }
            None => Lost::Nested,
        };
        ring.count_lost(cause, 1);
        Reservation::NONE
    }

    /// Logs one record of `who` into a shared ring.
    pub fn log_shared(&self, ring: &Ring, who: &Owner, ts: u64, payload: &[u8; 8]) -> bool {
        let pages = self.pool.pages(cpu(), self.steal);
        // SAFETY: Who calls this for a ring does so in all threads; all pages are of this pool, and
        // a place has room.
        unsafe {
            let who = (who, &self.last[ring.id() as usize]);
            ring.begin_shared(&pages, self.mode, self.max_pages, 16, || ts, who)
                .unwrap_or(Reservation::NONE)
                .put(16, 1 << LEN_BITS, |to| to.cast::<[u8; 8]>().write(*payload))
        }
    }

    /// Logs one record, as the macros do; `inside` runs in the middle of it.
    pub fn log_with(
        &self,
        ring: &Ring,
        ts: u64,
        site: u32,
        payload: &[u8],
        inside: impl FnOnce(),
    ) -> bool {
        assert!(payload.len() <= PAYLOAD_MAX);
        let bytes = payload.len() as u32 + 8;
        let inside = Cell::new(Some(inside));
        let fill = |to: *mut u8| {
            if let Some(inside) = inside.take() {
                inside();
            }
            // SAFETY: There is room for the payload.
            unsafe { ptr::copy_nonoverlapping(payload.as_ptr(), to, payload.len()) };
        };
        // SAFETY: Each test writes into a ring from one thread.
        unsafe {
            let site = site << LEN_BITS;
            match ring.write(|| SLOT.into(), bytes, site, |_| Some(ts), fill) {
                Ok(()) => true,
                Err(Reservation { writing, ts }) => {
                    self.reserve(ring, writing, bytes, ts).put(bytes, site, fill)
                }
            }
        }
    }

    /// Logs one record as C calls do, whose size is known when it has been stored. Where there is
    /// no room, as much as there is is stored in vain.
    pub fn log_open(
        &self,
        ring: &Ring,
        ts: u64,
        site: u32,
        payload: &[u8],
        inside: impl FnOnce(),
    ) -> bool {
        let inside = Cell::new(Some(inside));
        let fill = |to: *mut u8, room: Range<usize>| {
            if let Some(inside) = inside.take() {
                inside();
            }
            let n = payload.len().min(room.len());
            // SAFETY: There is this room.
            unsafe { ptr::copy_nonoverlapping(payload.as_ptr(), to, n) };
            (n == payload.len()).then_some(n)
        };
        let site = site << LEN_BITS;
        // SAFETY: Each test writes into a ring from one thread.
        unsafe {
            if ring.write_open(|| SLOT.into(), site, |_| Some(ts), fill) {
                return true;
            }
            let begun = ring.begin(|| SLOT.into());
            let place = self.reserve(ring, begun, payload.len() as u32 + 8, ts);
            let is_place = place.writing.is_some();
            assert!(place.put_open(site, fill));
            is_place
        }
    }

    pub fn log(&self, ring: &Ring, ts: u64, site: u32, payload: &[u8]) -> bool {
        self.log_with(ring, ts, site, payload, || ())
    }

    /// Reads what a ring holds, as a snapshot does, by a scan of all pages.
    pub fn read(&self, ring: u32) -> Read {
        let first_seq =
            self.pool.store.rings[ring as usize].info().map_or(0, |info| info.first_seq);
        self.read_pages(ring, first_seq, u64::MAX)
    }

    /// Reads what belongs to the ring's present owner, and says who that is.
    pub fn read_owner(&self, ring: u32) -> Option<(Info, Read)> {
        let info = self.pool.store.rings[ring as usize].info()?;
        let read = self.read_pages(ring, info.first_seq, u64::MAX);
        let same = |now: Info| now.first_seq == info.first_seq;
        if self.pool.store.rings[ring as usize].info().is_some_and(same) {
            return Some((info, read));
        }
        // Some of that may be the next owner's.
        Some((info, self.read_pages(ring, info.first_seq, info.last_seq)))
    }

    /// Copies of the pages of a ring's present owner, oldest first.
    pub fn pages_of(&self, ring: &Ring) -> Vec<Vec<u8>> {
        let first_seq = ring.info().map_or(0, |info| info.first_seq);
        let found = self.find(ring.id(), first_seq, u64::MAX);
        let copies = found.into_iter().map(|(seq, at)| self.copy(at, seq));
        copies.flatten().collect()
    }

    /// Index and header of all pages, and of those that rings have for themselves: see [`ROOMS`].
    pub fn parts(&self) -> impl Iterator<Item = (u32, &PageHeader)> {
        // SAFETY: A page stays; a header is atomics only.
        let pages = (0..).zip(self.slots()).map(|(n, slot)| (n, unsafe { &*slot.page() }));
        let rooms = (ROOMS..).zip(&self.pool.store.rings);
        pages.chain(rooms.map(|(n, ring)| (n, ring.room())))
    }

    /// Position and index of each page of a ring, in order.
    fn find(&self, ring: u32, first_seq: u64, last_seq: u64) -> Vec<(u64, u32)> {
        let mut found = Vec::new();
        for (index, header) in self.parts() {
            let seq = header.seq();
            if seq != 0 && (first_seq..=last_seq).contains(&seq) && header.ring() == ring {
                found.push((seq, index));
            }
        }
        found.sort_unstable();
        found
    }

    fn read_pages(&self, ring: u32, first_seq: u64, last_seq: u64) -> Read {
        let mut read = Read::default();
        for (seq, index) in self.find(ring, first_seq, last_seq) {
            match self.copy(index, seq) {
                None => read.missed += 1,
                Some(copy) if page_info(&copy).ring == ring => read.page(&copy),
                Some(_) => {}
            }
        }
        read
    }

    /// Copies one page, if it is at position `seq` of a ring.
    pub fn copy(&self, index: u32, seq: u64) -> Option<Vec<u8>> {
        let mut copy = vec![0; PAGE];
        let len = match index {
            ROOMS.. => self.ring(index - ROOMS)?.copy_room(seq, &mut copy),
            _ => self.slots()[index as usize].copy(self.size(), seq, &mut copy),
        }?;
        copy.truncate(len);
        Some(copy)
    }

    /// Pages that the pool has free. Only at rest.
    pub fn count_free(&self) -> usize {
        self.pool.collect();
        let free: Vec<_> = std::iter::from_fn(|| self.pool.take_free()).collect();
        for page in &free {
            self.pool.give_page(*page);
        }
        free.len()
    }

    /// Sum of all pages that some list or ring has. Only at rest.
    pub fn count_pages(&self) -> usize {
        let held = self.pool.store.rings.iter().map(|ring| ring.pages() as usize);
        held.sum::<usize>() + self.count_free()
    }
}

/// What crash tools find of a [`Rig`], and what holds it.
pub struct Shown {
    pub memory: dump::MemoryRoot,
    _chunks: [Box<u64>; 2],
}

impl Rig {
    /// Describes it as `blog/` describes a component's memory: each table has one chunk.
    pub fn show(&self) -> Shown {
        let chunks = [
            Box::new(self.pool.store.rings.as_ptr() as u64),
            Box::new(self.slots().as_ptr() as u64),
        ];
        let table = |chunk: &u64, len: usize, stride: u32| dump::TableRoot {
            chunks: ptr::from_ref(chunk) as u64,
            capacity: 1,
            per_chunk: len as u32,
            stride,
            doubling: 0,
        };
        Shown {
            memory: dump::MemoryRoot {
                magic: dump::MEMORY_MAGIC,
                size: size_of::<dump::MemoryRoot>() as u32,
                rings: table(&chunks[0], self.pool.store.rings.len(), size_of::<Ring>() as u32),
                slots: table(&chunks[1], self.slots().len(), Slot::LAYOUT.size),
                page_size: self.size(),
                chunk_size: 0,
                chunks: 0,
                reserved: 0,
                gone: ptr::from_ref(&self.pool.store.shelves[0].gone) as u64,
                gone_count: self.pool.store.shelves.len() as u32,
                gone_stride: size_of::<Shelf>() as u32,
            },
            _chunks: chunks,
        }
    }

    /// Where crash tools find what they need of a slot.
    pub fn slot_layout() -> dump::SlotLayout {
        Slot::LAYOUT
    }
}

/// The CPU that a thread of a test says it is on.
pub fn cpu() -> u32 {
    CPU.with(|cpu| cpu.get())
}

/// Says on which CPU this thread is.
pub fn set_cpu(n: u32) {
    CPU.with(|cpu| cpu.set(n));
}

std::thread_local! {
    static CPU: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

impl Read {
    /// Takes in a page, and checks it on the way.
    pub fn page(&mut self, bytes: &[u8]) {
        let Self { records, account, tasks, .. } = self;
        account.page(bytes, None, |item| match item {
            Item::Record { clock, site, payload, .. } => {
                records.push((clock, site, payload.to_vec()))
            }
            Item::Control(_, ControlRecord::Task { .. }) => *tasks += 1,
            Item::Control(_, ControlRecord::Left(_)) => panic!("left out in a ring"),
            Item::Control(..) => {}
            Item::Wrong(what, at) => panic!("{what}, at record {at}"),
        });
    }

    /// What is wrong, unless it is all that its ring has.
    pub fn adds_up(&self, info: &Info) -> Result<(), &'static str> {
        self.account.adds_up(info.records, &info.lost, &info.reported)
    }
}

/// Parses the header of a page's copy.
pub fn page_info(copy: &[u8]) -> PageInfo {
    PageInfo::read(copy).unwrap()
}

/// Index of a cause.
pub fn cause(lost: Lost) -> usize {
    lost as usize
}

impl Rig {
    /// The places of all pages.
    pub(crate) fn slots(&self) -> &[Slot] {
        &self.pool.store.slots
    }

    /// The size of a page.
    pub(crate) fn size(&self) -> u32 {
        self.pool.store.size
    }

    /// The ring with this id.
    pub fn ring(&self, id: u32) -> Option<&Ring> {
        self.pool.store.ring(id)
    }

    /// The shelf with this number.
    pub(crate) fn shelf(&self, n: usize) -> &Shelf {
        &self.pool.store.shelves[n]
    }

    /// A header that is no page's.
    pub fn empty(&self) -> *mut PageHeader {
        self.pool.store.empty()
    }

    /// Records that have left the rings, by site.
    pub fn counts(&self) -> [u64; SITES] {
        let counts = self.pool.store.counts.each_ref();
        counts.map(|n| n.load(std::sync::atomic::Ordering::Relaxed))
    }

    /// How many rings there can be.
    pub fn rings(&self) -> u32 {
        self.pool.store.rings.len() as u32
    }
}

impl Store for Plain {
    fn page_size(&self) -> u32 {
        self.size
    }
    fn slot(&self, page: u32) -> Option<&Slot> {
        self.slots.get(page as usize)
    }
    fn shelves(&self) -> &[Shelf] {
        &self.shelves
    }
    fn ring(&self, id: u32) -> Option<&Ring> {
        self.rings.get(id as usize)
    }
    fn rings(&self) -> u32 {
        self.made.load(Relaxed)
    }
    fn may_make_rings(&self) -> bool {
        self.made.load(Relaxed) < self.rings.len() as u32
    }
    fn make_rings(&self, page: u32) -> Option<std::ops::Range<u32>> {
        let most = self.rings.len() as u32;
        let more = |made: u32| (made < most).then_some((made + RINGS).min(most));
        let made = self.made.fetch_update(Relaxed, Relaxed, more).ok()?;
        self.data.fetch_sub(1, Relaxed);
        let page = self.slots[page as usize].page();
        // The rings are elsewhere.
        // SAFETY: The page is the caller's, who may store what follows the header.
        unsafe { &*page }.turn_into(RINGS_MAGIC, made, || unsafe {
            ptr::write_bytes(page.add(1).cast::<u8>(), 0xff, PAGE - PAGE_HEADER_SIZE)
        });
        Some(made..(made + RINGS).min(most))
    }
    fn data_pages(&self) -> u32 {
        self.data.load(Relaxed)
    }
    fn empty(&self) -> *mut PageHeader {
        self.empty.get()
    }
    fn counts(&self) -> bool {
        true
    }
    fn count(&self, site: u32, n: u32) {
        if let Some(count) = self.counts.get(site as usize) {
            count.fetch_add(n.into(), std::sync::atomic::Ordering::Relaxed);
        }
    }
}
