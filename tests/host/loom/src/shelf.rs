// SPDX-License-Identifier: GPL-2.0

//! The minimum that a ring needs: pages on a shelf, in an order that the model chooses. The models
//! of rings alone use it; those of rings and pool together use the rig.

use crate::blog::ring::{Mode, Owner, PageHeader, Pages, Reservation, Ring, NO_PAGE, ROOM};
use crate::blog::wire::{
    page::PAGE_HEADER_SIZE,
    record::{Context, Control, Header, CONTROL_SIZE, LEN_BITS, LOST_CAUSES, TASK_SIZE},
};
use crate::rig::page_info;
use core::ptr;
use core::sync::atomic::AtomicU64;
use loom::sync::Mutex;
use std::cell::UnsafeCell;
use std::sync::Arc;

/// The component's slot.
const SLOT: u16 = 3;
/// Bytes of a record: its header, who wrote it, and its number.
const RECORD: u32 = 16;
/// The same, with more bytes after it that nobody looks at: few of these fill a page.
const FILLER: u32 = RECORD + TASK_SIZE;
/// A page that takes one of these whatever control records are due, and not many of them.
pub const PAGE: u32 = PAGE_HEADER_SIZE as u32 + LOST_CAUSES as u32 * CONTROL_SIZE + FILLER;

/// Pages, and rings that take them from the shelf.
pub struct Shelf {
    pages: Vec<UnsafeCell<[u64; PAGE.div_ceil(8) as usize]>>,
    /// Those that lie here, the next one last.
    lying: Mutex<Vec<u32>>,
    empty: Box<UnsafeCell<PageHeader>>,
    pub rings: Vec<Ring>,
    none: Ring,
    /// Who wrote last into the ring that is shared.
    last: AtomicU64,
    /// What a ring may hold, in pages.
    max: u32,
}

// SAFETY: Whose a page is, is what the models are about; loom runs one thread at a time.
unsafe impl Sync for Shelf {}
// SAFETY: As above.
unsafe impl Send for Shelf {}

impl Shelf {
    /// Pages that lie nowhere yet, and rings that belong to nobody, may hold `max` pages each, and
    /// have no page of their own.
    pub fn new(pages: u32, rings: u32, max: u32) -> Arc<Self> {
        Self::with_rooms(pages, rings, max, 0)
    }

    /// The same; each ring has room for `records` of its own.
    pub fn with_rooms(pages: u32, rings: u32, max: u32, records: u32) -> Arc<Self> {
        let room = match records {
            0 => 0,
            n => PAGE_HEADER_SIZE as u32 + n * RECORD,
        };
        assert!(room <= ROOM.min(PAGE));
        let empty = Box::new(UnsafeCell::new(PageHeader::empty()));
        // It does not move any more: loom knows atomics by address.
        let shelf = Arc::new(Shelf {
            pages: (0..pages).map(|_| UnsafeCell::new([0; PAGE.div_ceil(8) as usize])).collect(),
            lying: Mutex::new(Vec::new()),
            // SAFETY: The shelf keeps the header, here and below.
            rings: (0..rings).map(|id| unsafe { Ring::new(id, SLOT, empty.get(), room) }).collect(),
            none: unsafe { Ring::none(empty.get()) },
            last: AtomicU64::new(0),
            empty,
            max,
        });
        for index in 0..pages {
            // SAFETY: Nobody else has the page yet.
            unsafe { PageHeader::format(shelf.page(index), PAGE) };
        }
        shelf
    }

    /// Puts these pages on the shelf, the first one on top.
    pub fn lay(&self, pages: &[u32]) {
        for index in pages.iter().rev() {
            // SAFETY: Nobody has the page yet.
            unsafe { self.put(*index) };
        }
    }

    /// Gives a ring to a task.
    pub fn adopt(&self, ring: usize, pid: i32) {
        // SAFETY: Models call it for rings that are nobody's.
        unsafe { self.rings[ring].adopt(&task(pid)) };
    }

    /// Makes a ring one that several write into.
    pub fn share(&self, ring: usize) {
        // SAFETY: As above.
        unsafe { self.rings[ring].adopt(&Owner::new(Context::Shared, 0)) };
    }

    /// Logs a record into a ring, as the macros do: who it is from, and its number.
    pub fn log(&self, ring: usize, pid: u32, n: u32) -> bool {
        self.log_bytes(ring, pid, n, RECORD)
    }

    fn log_bytes(&self, ring: usize, pid: u32, n: u32, bytes: u32) -> bool {
        let ring = &self.rings[ring];
        // SAFETY: A model writes into a ring from one thread at a time.
        unsafe {
            let fill = |to: *mut u8| ptr::write_unaligned(to.cast::<[u32; 2]>(), [pid, n]);
            let (site, clock) = (pid << LEN_BITS, u64::from(n));
            let Err(place) = ring.write(|| SLOT.into(), bytes, site, |_| Some(clock), fill) else {
                return true;
            };
            let writing = place.writing.as_ref().expect("two writers");
            writing.turn(self, Mode::Overwrite, self.max, bytes, place.ts).is_ok()
                && place.put(bytes, site, fill)
        }
    }

    /// Logs a record into a shared ring, as the slow path does when there is no other.
    pub fn log_shared(&self, ring: usize, pid: u32, n: u32) -> bool {
        let ring = &self.rings[ring];
        // SAFETY: The models' shared rings are written to in this way only.
        unsafe {
            let fill = |to: *mut u8| ptr::write_unaligned(to.cast::<[u32; 2]>(), [pid, n]);
            let site = pid << LEN_BITS;
            if self.none.write(|| SLOT.into(), RECORD, site, |_| None, fill).is_ok() {
                return true;
            }
            let clock = || u64::from(n);
            let who = task(pid as i32);
            ring.begin_shared(self, Mode::Overwrite, self.max, RECORD, clock, (&who, &self.last))
                .unwrap_or(Reservation::NONE)
                .put(RECORD, site, fill)
        }
    }

    /// Logs until the ring holds so many pages, and, if `full`, the last one has no room. Returns
    /// the number of records.
    pub fn fill(&self, ring: usize, pid: u32, pages: u32, full: bool) -> u32 {
        for n in 0.. {
            let end = self.rings[ring].position().map_or(PAGE, |(_, end, _)| end);
            let is_full = end + RECORD > PAGE;
            if self.rings[ring].pages() == pages && (is_full || !full) {
                return n;
            }
            assert!(self.log_bytes(ring, pid, n, FILLER));
        }
        unreachable!()
    }

    /// The pages of a ring, oldest first, as its chain tells. Only at rest.
    pub fn chain(&self, ring: usize) -> Vec<u32> {
        let mut chain = Vec::new();
        let mut next = self.rings[ring].oldest_page();
        while let Some(index) = next.filter(|index| *index != NO_PAGE) {
            assert!(!chain.contains(&index), "the chain is a circle: {chain:?}");
            chain.push(index);
            let info = page_info(&self.copy(index, self.header(index).seq()).unwrap());
            assert_eq!(info.ring, self.rings[ring].id(), "a page of another ring");
            next = Some(info.next);
        }
        let pages = self.rings[ring].pages();
        assert_eq!(pages, chain.len() as u32, "the count is not that of the chain {chain:?}");
        chain
    }

    /// Takes all pages off the shelf. Only at rest.
    pub fn clear(&self) -> Vec<u32> {
        std::mem::take(&mut *self.lying.lock().unwrap())
    }

    /// Fails unless each page is there once: in a ring, on the shelf, or among `held`. Only at
    /// rest.
    pub fn check(&self, held: impl IntoIterator<Item = u32>) {
        let mut all: Vec<_> = held.into_iter().collect();
        for ring in 0..self.rings.len() {
            all.extend(self.chain(ring));
        }
        all.extend(self.clear());
        all.sort_unstable();
        let every: Vec<_> = (0..self.pages.len() as u32).collect();
        assert_eq!(all, every, "a page was lost, or is there twice");
    }

    /// Who wrote each record of a page at this position, and its number, as a reader sees it. In a
    /// shared ring, a task record must have said who it is.
    pub fn read(&self, index: u32, seq: u64) -> Option<Vec<(u32, u32)>> {
        self.records(&self.copy(index, seq)?)
    }

    /// The same of a ring's own page.
    pub fn read_room(&self, ring: usize, seq: u64) -> Option<Vec<(u32, u32)>> {
        let mut copy = vec![0; PAGE as usize];
        let len = self.rings[ring].copy_room(seq, &mut copy)?;
        self.records(&copy[..len])
    }

    fn records(&self, copy: &[u8]) -> Option<Vec<(u32, u32)>> {
        let word = |at: usize| u32::from_ne_bytes(copy[at..at + 4].try_into().unwrap());
        let ring = &self.rings[page_info(copy).ring as usize];
        let shared = ring.info()?.owner.context == Context::Shared;
        let (mut at, mut writer) = (PAGE_HEADER_SIZE, None);
        let mut records = Vec::new();
        while at < copy.len() {
            let header = Header(u64::from(word(at)) | u64::from(word(at + 4)) << 32);
            if header.site() != 0 {
                assert_eq!(header.site(), word(at + 8), "torn record");
                assert!(!shared || writer == Some(word(at + 8)), "not told whose");
                records.push((word(at + 8), word(at + 12)));
            } else if Control::from_word(word(at + 8)) == Some(Control::Task) {
                writer = Some(word(at + 12));
            }
            at += header.size();
        }
        assert_eq!(at, copy.len());
        Some(records)
    }

    /// A copy of a page at this position.
    pub fn copy(&self, index: u32, seq: u64) -> Option<Vec<u8>> {
        let mut copy = vec![0; PAGE as usize];
        // SAFETY: All pages are formatted and stay.
        let len = unsafe { PageHeader::copy(self.page(index), PAGE, seq, &mut copy) }?;
        copy.truncate(len);
        Some(copy)
    }

    pub fn header(&self, index: u32) -> &PageHeader {
        // SAFETY: All pages are formatted and stay.
        unsafe { &*self.page(index) }
    }

    /// Ends a retired ring's life, as the pool does, and returns its pages.
    pub fn drain(&self, ring: usize) -> Vec<u32> {
        let ring = &self.rings[ring];
        // SAFETY: Models call it for retired rings, which are nobody else's.
        let pages = std::iter::from_fn(|| unsafe { ring.steal_last(self) }).collect();
        // SAFETY: As above, and it has no pages left.
        unsafe { ring.release(self.empty.get()) };
        pages
    }
}

/// A task.
fn task(pid: i32) -> Owner {
    Owner { pid, tgid: pid, ..Owner::new(Context::Task, 0) }
}

// SAFETY: The models see to it that each page is with one taker.
unsafe impl Pages for Shelf {
    fn take(&self, _: u32) -> Option<u32> {
        self.lying.lock().unwrap().pop()
    }

    unsafe fn put(&self, index: u32) {
        self.lying.lock().unwrap().push(index);
    }

    fn page(&self, index: u32) -> *mut PageHeader {
        self.pages[index as usize].get().cast()
    }

    fn size(&self) -> u32 {
        PAGE
    }
}
