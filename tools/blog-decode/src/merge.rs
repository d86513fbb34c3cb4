// SPDX-License-Identifier: GPL-2.0

//! One time-ordered sequence out of all rings of all files.
//!
//! Snapshots of one boot overlap. So first the pages of each ring are united over the files: the
//! same page in two files counts once, and what one file has lost another may have. Then
//! [`Merge`] goes through all rings at once, always taking the earliest event. It holds one page
//! of each ring in memory.
//!
//! Losses are events with a place of their own: what the writer tells of in-band, and what the
//! ordinals of pages show: records that were overwritten before the first page, and gaps between
//! pages.

use std::{
    cmp::Reverse,
    collections::{
        BinaryHeap,
        HashMap, //
    },
};

use crate::{
    clock::Calibration,
    record::{
        Item,
        Task,
        Walk,
        Writer, //
    },
    snapshot::{
        text,
        PageRef,
        RingPages,
        Snapshot, //
    },
    wire::{
        record::{
            Context,
            Lost,
            LOST_CAUSES,
            SEQ_MASK, //
        },
        snapshot::Ring, //
    },
};

const LAG: u8 = Lost::ReaderLag as u8;

/// A ring, united over all files of one boot.
pub struct Stream {
    /// Name of its component.
    pub component: String,
    /// Id of the ring within the component.
    pub id: u32,
    /// The latest that is known of the ring itself.
    pub ring: Option<Ring>,
    /// Index of the file which that is from.
    pub file: usize,
    /// Its pages with their files, oldest first.
    pub pages: Vec<(usize, PageRef)>,
    /// Ordinal of the first record that counts.
    pub from: u64,
}

impl Stream {
    /// The context, where it is known.
    pub fn context(&self) -> Option<Context> {
        Context::from_u8(self.ring.as_ref()?.context)
    }

    /// The task that owns the ring.
    pub fn owner(&self) -> Option<Task> {
        let ring = self.ring.as_ref()?;
        (ring.pid >= 0).then_some(Task {
            pid: ring.pid,
            tgid: ring.tgid,
            comm: ring.comm,
        })
    }

    /// Number of a ring that is shared by whoever got none of its own.
    pub fn shared(&self) -> Option<u32> {
        let ring = self.ring.as_ref()?;
        (self.context() == Some(Context::Shared)).then_some(ring.cpu)
    }

    /// The CPU of a per-CPU ring.
    pub fn cpu(&self) -> Option<u32> {
        let cpu = self.ring.as_ref()?.cpu;
        (cpu != u32::MAX && self.shared().is_none()).then_some(cpu)
    }

    /// Who writes to it, as far as that is the same for all its records.
    pub fn writer(&self) -> Writer {
        match self.shared() {
            Some(_) => Writer::default(),
            None => Writer {
                context: self.context(),
                cpu: self.cpu(),
                task: self.owner(),
            },
        }
    }
}

/// Why records are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The writer says so; by `record::Lost`.
    Told(u8),
    /// Overwritten by newer ones, or cleared, before the snapshot.
    Overwritten,
    /// Their pages are not in the file: the writer took them back during the copy, or the file is
    /// damaged.
    Missing,
    /// Their page is in the file, but is damaged.
    Damaged,
}

/// What happened.
pub enum What<'a> {
    /// A record.
    Record {
        /// Site id.
        site: u32,
        /// Ordinal in its ring, from 0.
        ordinal: u64,
        /// Its arguments.
        payload: &'a [u8],
    },
    /// Records are missing.
    Loss {
        /// Why.
        cause: Cause,
        /// How many.
        count: u64,
    },
}

/// An event of a ring.
pub struct Event<'a> {
    /// Index of the file that it was read from.
    pub file: usize,
    /// The ring.
    pub stream: &'a Stream,
    /// Full clock.
    pub clock: u64,
    /// Who wrote it. In a shared ring, nobody knows whose records were lost.
    pub writer: Writer,
    /// What happened.
    pub what: What<'a>,
}

/// What came out of a ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Records.
    pub decoded: u64,
    /// Overwritten before the snapshot.
    pub overwritten: u64,
    /// See [`Cause::Missing`].
    pub missing: u64,
    /// See [`Cause::Damaged`].
    pub damaged: u64,
    /// Overwritten before the reader of a stream came to them.
    pub lagged: u64,
}

/// What tells rings apart: boot, component, which of those of the same name, ring id, owner.
type Key = (
    Result<[u8; 16], usize>,
    String,
    usize,
    u32,
    Option<(u8, u32, i32)>,
);

fn key(i: usize, file: &Snapshot, ring: &RingPages) -> Key {
    let component = file.component_name(ring.id.0);
    // A component that was made again is another one: the capture of a stream can have both.
    let newer = file.components.values();
    let newer = newer
        .filter(|c| c.id > ring.id.0 && text(&c.name) == component)
        .count();
    // A ring that was given to another task is another ring.
    let who = ring.ring.as_ref().map(|r| (r.context, r.cpu, r.pid));
    // A boot, or for lack of its id a file.
    (file.boot_id().ok_or(i), component, newer, ring.id.1, who)
}

/// Unites the rings of all files. `want` chooses components by name.
pub fn unite(files: &[Snapshot], want: impl Fn(&str) -> bool) -> Vec<Stream> {
    let taken = |i: usize| files[i].pairs.iter().map(|p| p.clock).max();
    let mut streams: Vec<Stream> = Vec::new();
    let mut index = HashMap::new();
    for (i, file) in files.iter().enumerate() {
        for ring in &file.rings {
            let component = file.component_name(ring.id.0);
            if !want(&component) {
                continue;
            }
            let key = key(i, file, ring);
            let at = *index.entry(key).or_insert_with(|| {
                streams.push(Stream {
                    component,
                    id: ring.id.1,
                    ring: None,
                    file: i,
                    pages: Vec::new(),
                    from: 0,
                });
                streams.len() - 1
            });
            let stream = &mut streams[at];
            if let Some(new) = &ring.ring {
                // The latest, not the largest: `clear` makes counts smaller.
                if stream.ring.is_none() || taken(stream.file) <= taken(i) {
                    stream.ring = Some(*new);
                    stream.file = i;
                }
            }
            stream.pages.extend(ring.pages.iter().map(|p| (i, *p)));
        }
    }
    for stream in &mut streams {
        unite_pages(&mut stream.pages);
    }
    streams
}

/// The rings of the second of two files of one boot, with what the first doesn't have.
pub fn newer(files: &[Snapshot], want: impl Fn(&str) -> bool) -> Vec<Stream> {
    let [old, new] = files else {
        return Vec::new();
    };
    let before: HashMap<Key, &RingPages> = old
        .rings
        .iter()
        .map(|ring| (key(0, old, ring), ring))
        .collect();
    let mut streams = Vec::new();
    for ring in &new.rings {
        let component = new.component_name(ring.id.0);
        if !want(&component) {
            continue;
        }
        let mut stream = Stream {
            component,
            id: ring.id.1,
            ring: ring.ring,
            file: 1,
            pages: ring.pages.iter().map(|p| (1, *p)).collect(),
            from: 0,
        };
        unite_pages(&mut stream.pages);
        if let Some(old) = before.get(&key(1, new, ring)) {
            stream.leave_out(old);
        }
        streams.push(stream);
    }
    streams
}

impl Stream {
    /// Leaves out what an earlier file has.
    fn leave_out(&mut self, old: &RingPages) {
        let seq = |p: &PageRef| p.info.seq & SEQ_MASK;
        let last = old.pages.iter().max_by_key(|p| seq(p));
        let from = last.map_or(0, end_of);
        let now = self
            .pages
            .iter()
            .find(|(_, p)| last.is_some_and(|l| seq(p) == seq(l)));
        // `clear` counts records anew: then all that is here is new.
        let is_cleared = self.ring.is_some_and(|r| r.records < from)
            || last
                .zip(now)
                .is_some_and(|(l, (_, n))| l.info.first != n.info.first);
        if is_cleared {
            return;
        }
        self.from = from;
        self.pages.retain(|(_, p)| end_of(p) > from);
        if let (Some(ring), Some(old)) = (&mut self.ring, &old.ring) {
            for i in 0..LOST_CAUSES {
                ring.lost[i] = ring.lost[i].saturating_sub(old.lost[i]);
                ring.told[i] = ring.told[i].saturating_sub(old.told[i]);
            }
        }
    }
}

/// Ordinal after the last record of a page.
fn end_of(page: &PageRef) -> u64 {
    page.info.first.saturating_add(page.info.records().into())
}

/// Puts a ring's pages in order, and takes out what is there twice.
///
/// A ring's page numbers never repeat. A capture of a stream has a page in pieces, which go on
/// where the one before has ended. Of the same page, the file that has the most of its records
/// counts: another was made earlier, or lacks what has been cleared since. What others have before
/// and after that is used too, unless `clear` has come between: it counts records anew, so that
/// ordinals and time disagree.
fn unite_pages(pages: &mut Vec<(usize, PageRef)>) {
    // Stable: pieces stay in the order of their file.
    pages.sort_by_key(|(file, p)| (p.info.seq & SEQ_MASK, *file));
    let mut united = Vec::with_capacity(pages.len());
    for page in pages.chunk_by(|(_, a), (_, b)| (a.info.seq ^ b.info.seq) & SEQ_MASK == 0) {
        if let [one] = page {
            united.push(*one);
            continue;
        }
        let records = |pieces: &[(usize, PageRef)]| -> u64 {
            pieces
                .iter()
                .map(|(_, p)| u64::from(p.info.records()))
                .sum()
        };
        let mut best: &[(usize, PageRef)] = &[];
        for pieces in page.chunk_by(|(a, _), (b, _)| a == b) {
            if best.is_empty() || records(pieces) > records(best) {
                best = pieces;
            }
        }
        let fits = |(file, p): &&(usize, PageRef)| {
            best.iter().all(|(best_file, b)| {
                file == best_file
                    || p.info.first.cmp(&b.info.first) == p.info.base.cmp(&b.info.base)
            })
        };
        let mut pieces: Vec<_> = page.iter().filter(fits).copied().collect();
        pieces.sort_by_key(|(_, p)| (p.info.first, p.info.base, Reverse(p.info.records())));
        let mut end = None;
        pieces.retain(|(_, p)| {
            // A piece without records may still tell of losses or of its writer.
            let is_new = end.is_none_or(|end| end_of(p) > end);
            end = end.max(Some(end_of(p)));
            is_new
        });
        united.extend(pieces);
    }
    *pages = united;
}

/// The calibration of each file. Files of one boot share the latest.
pub fn calibrations(files: &[Snapshot]) -> Vec<Calibration> {
    let own: Vec<Calibration> = files
        .iter()
        .map(|f| Calibration::new(f.clock.as_ref(), &f.pairs))
        .collect();
    (0..files.len())
        .map(|i| {
            let same_boot = |j: &usize| {
                *j == i
                    || files[i]
                        .boot_id()
                        .is_some_and(|b| files[*j].boot_id() == Some(b))
            };
            let latest = (0..files.len())
                .filter(same_boot)
                .max_by_key(|&j| own[j].taken().map(|p| p.boot));
            own[latest.unwrap_or(i)].clone()
        })
        .collect()
}

/// Goes through all rings in the order of time.
pub struct Merge<'a> {
    files: &'a [Snapshot],
    streams: &'a [Stream],
    readers: Vec<Reader<'a>>,
    /// Next event of every reader but `last`: (key, index).
    heap: BinaryHeap<Reverse<(i128, usize)>>,
    /// Reader whose event was given out last.
    last: Option<usize>,
    /// For several boots: events are ordered by real time. Else by the ring's clock.
    by_real_time: Option<&'a [Calibration]>,
}

impl<'a> Merge<'a> {
    /// Starts before the first event.
    pub fn new(
        files: &'a [Snapshot],
        streams: &'a [Stream],
        calibrations: &'a [Calibration],
    ) -> Self {
        let one_boot = files.len() <= 1
            || files[0].boot_id().is_some()
                && files.iter().all(|f| f.boot_id() == files[0].boot_id());
        let mut this = Self {
            files,
            streams,
            readers: streams.iter().map(Reader::new).collect(),
            heap: BinaryHeap::with_capacity(streams.len()),
            last: None,
            by_real_time: (!one_boot).then_some(calibrations),
        };
        for i in 0..this.readers.len() {
            this.readers[i].advance(files);
            if let Some(key) = this.key(i) {
                this.heap.push(Reverse((key, i)));
            }
        }
        this
    }

    fn key(&mut self, i: usize) -> Option<i128> {
        let reader = &mut self.readers[i];
        let clock = reader.current.as_ref()?.clock;
        // A ring's order is its own, even where its times go back.
        reader.order = reader.order.max(clock);
        Some(match self.by_real_time {
            Some(c) => c[self.streams[i].file].real(reader.order),
            None => reader.order.into(),
        })
    }

    /// The next event.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Option<Event<'_>> {
        let mut index = None;
        if let Some(i) = self.last.take() {
            self.readers[i].advance(self.files);
            if let Some(key) = self.key(i) {
                // Often the same ring goes on.
                match self.heap.peek() {
                    Some(Reverse(top)) if *top < (key, i) => self.heap.push(Reverse((key, i))),
                    _ => index = Some(i),
                }
            }
        }
        let index = match index {
            Some(i) => i,
            None => self.heap.pop()?.0 .1,
        };
        self.last = Some(index);
        let reader = &self.readers[index];
        let current = reader.current.as_ref()?;
        let stream = &self.streams[index];
        Some(Event {
            file: reader.file,
            stream,
            clock: current.clock,
            writer: match current.what {
                Next::Loss(..) if stream.shared().is_some() => Writer::default(),
                _ => reader.writer.unwrap_or_else(|| stream.writer()),
            },
            what: match current.what {
                Next::Loss(cause, count) => What::Loss { cause, count },
                Next::Record {
                    site,
                    ordinal,
                    at,
                    len,
                } => What::Record {
                    site,
                    ordinal,
                    payload: reader.page.get(at..at + len).unwrap_or_default(),
                },
            },
        })
    }

    /// What came out of each ring so far.
    pub fn counts(&self) -> impl Iterator<Item = &Counts> {
        self.readers.iter().map(|r| &r.counts)
    }
}

struct Current {
    clock: u64,
    what: Next,
}

enum Next {
    Record {
        site: u32,
        ordinal: u64,
        at: usize,
        len: usize,
    },
    Loss(Cause, u64),
}

/// Goes through one ring without the others, which is faster where the order is of no matter.
/// `record` gets file, clock, site and length of the payload.
pub fn each_record(
    files: &[Snapshot],
    stream: &Stream,
    mut record: impl FnMut(usize, u64, u32, usize),
) -> Counts {
    let mut reader = Reader::new(stream);
    loop {
        reader.advance(files);
        match &reader.current {
            Some(Current {
                clock,
                what: Next::Record { site, len, .. },
            }) => record(reader.file, *clock, *site, *len),
            Some(_) => {}
            None => return reader.counts,
        }
    }
}

/// Goes through one ring.
struct Reader<'a> {
    stream: &'a Stream,
    /// File of the current page.
    file: usize,
    next_page: usize,
    page: Vec<u8>,
    walk: Option<Walk>,
    /// Ordinal that the next page should start with.
    expected: u64,
    /// Whether a gap between pages, or before the first, was met.
    has_gap: bool,
    /// Losses, by cause, that records told of which are in no page any more. They come with the
    /// first gap.
    forgotten: Vec<(u8, u64)>,
    /// Losses that no record tells of: 0 is what is missing at the end, then by cause.
    untold: usize,
    /// What the ring's last task record says.
    writer: Option<Writer>,
    /// Records of the page that another copy of it had already.
    had: u64,
    /// Of the records that are missing before this page, how many lost records of the stream's
    /// reader, at the start of the page, tell of.
    lag: u64,
    clock: u64,
    order: u64,
    current: Option<Current>,
    counts: Counts,
}

impl<'a> Reader<'a> {
    fn new(stream: &'a Stream) -> Self {
        Self {
            stream,
            file: stream.file,
            next_page: 0,
            page: Vec::new(),
            walk: None,
            expected: stream.from,
            has_gap: false,
            forgotten: Vec::new(),
            untold: 0,
            writer: None,
            had: 0,
            lag: 0,
            clock: 0,
            order: 0,
            current: None,
            counts: Counts::default(),
        }
    }

    fn advance(&mut self, files: &[Snapshot]) {
        self.current = self.find_next(files);
        if let Some(current) = &self.current {
            self.clock = current.clock;
            match current.what {
                Next::Record { .. } => self.counts.decoded += 1,
                Next::Loss(cause, n) => {
                    let counter = match cause {
                        Cause::Told(LAG) => &mut self.counts.lagged,
                        Cause::Told(_) => return,
                        Cause::Overwritten => &mut self.counts.overwritten,
                        Cause::Missing => &mut self.counts.missing,
                        Cause::Damaged => &mut self.counts.damaged,
                    };
                    *counter = counter.saturating_add(n);
                }
            }
        }
    }

    fn find_next(&mut self, files: &[Snapshot]) -> Option<Current> {
        loop {
            if let Some((cause, count)) = self.forgotten.pop() {
                return loss(self.clock, Cause::Told(cause), count);
            }
            let found = match &mut self.walk {
                Some(walk) => match walk.next(&self.page) {
                    Some(Item::Record { .. }) if walk.seen() <= self.had => None,
                    Some(Item::Lost { .. }) if walk.seen() < self.had => None,
                    Some(Item::Record {
                        clock,
                        site,
                        ordinal,
                        at,
                        len,
                    }) => Some(Current {
                        clock,
                        what: Next::Record {
                            site,
                            ordinal,
                            at,
                            len,
                        },
                    }),
                    Some(Item::Lost {
                        clock,
                        cause,
                        count,
                    }) => {
                        let mut count = count;
                        if cause == LAG {
                            // Another file may have what this reader was too slow for.
                            count = count.min(self.lag);
                            self.lag -= count;
                        }
                        loss(clock, Cause::Told(cause), count)
                    }
                    Some(Item::Writer(writer)) => {
                        self.writer = Some(writer);
                        None
                    }
                    None => {
                        let missing = walk.missing();
                        self.walk = None;
                        loss(self.clock, Cause::Damaged, missing)
                    }
                },
                None if self.next_page < self.stream.pages.len() => self.open_page(files),
                None => return self.at_end(files),
            };
            if found.is_some() {
                return found;
            }
        }
    }

    /// Goes to the next page; the answer is what lies between it and the one before.
    fn open_page(&mut self, files: &[Snapshot]) -> Option<Current> {
        let (file, page) = &self.stream.pages[self.next_page];
        let before = self
            .next_page
            .checked_sub(1)
            .map(|i| &self.stream.pages[i].1);
        let info = &page.info;
        let is_same_page = before.is_some_and(|b| (b.info.seq ^ info.seq) & SEQ_MASK == 0);
        self.next_page += 1;
        self.file = *file;
        self.clock = info.base;
        // What can't be read any more counts as damaged by the walk.
        if files[*file].read_page(page, &mut self.page).is_err() {
            self.page.clear();
        }
        let walk = Walk::new(info, self.page.len());
        let mut gap = info.first.saturating_sub(self.expected);
        self.had = match is_same_page || before.is_none() {
            true => self.expected.saturating_sub(info.first),
            false => 0,
        };
        if !is_same_page || gap > 0 {
            // A page of a shared ring says at its start who writes.
            self.writer = None;
        }
        self.expected = end_of(page);
        self.lag = lag_at(walk, &self.page).min(gap);
        gap -= self.lag;
        self.walk = Some(walk);
        if gap > 0 && !self.has_gap {
            self.has_gap = true;
            self.forgotten = self.forgotten_losses(files);
        }
        let cause = if before.is_none() {
            self.cause_at_start(files)
        } else {
            Cause::Missing
        };
        loss(info.base, cause, gap)
    }

    /// What the ring has told of less what its pages still tell of, by cause.
    fn forgotten_losses(&self, files: &[Snapshot]) -> Vec<(u8, u64)> {
        let Some(ring) = &self.stream.ring else {
            return Vec::new();
        };
        let mut told = ring.told;
        if told.iter().all(|n| *n == 0) {
            return Vec::new();
        }
        let mut bytes = Vec::new();
        for (file, page) in &self.stream.pages {
            if files[*file].read_page(page, &mut bytes).is_err() {
                continue;
            }
            let mut walk = Walk::new(&page.info, bytes.len());
            while let Some(item) = walk.next(&bytes) {
                let is_old = page.info.first.saturating_add(walk.seen()) < self.stream.from;
                if let (Item::Lost { cause, count, .. }, false) = (item, is_old) {
                    if let Some(n) = told.get_mut(usize::from(cause)) {
                        *n = n.saturating_sub(count);
                    }
                }
            }
        }
        let causes = (0u8..LOST_CAUSES as u8).zip(told);
        causes.filter(|(_, n)| *n > 0).rev().collect()
    }

    /// Why records are missing before the first page that there is.
    fn cause_at_start(&self, files: &[Snapshot]) -> Cause {
        let had = self.stream.ring.as_ref().map_or(0, |r| r.pages as usize);
        if files[self.stream.file].damage.any() && had > self.stream.pages.len() {
            Cause::Missing
        } else {
            Cause::Overwritten
        }
    }

    /// What the ring's own counters know beyond its last record.
    fn at_end(&mut self, files: &[Snapshot]) -> Option<Current> {
        self.page = Vec::new();
        let ring = self.stream.ring.as_ref()?;
        while self.untold <= LOST_CAUSES {
            let i = self.untold;
            self.untold += 1;
            let found = match i.checked_sub(1) {
                None => {
                    let cause = if self.stream.pages.is_empty() {
                        self.cause_at_start(files)
                    } else {
                        Cause::Missing
                    };
                    loss(
                        self.clock,
                        cause,
                        ring.records.saturating_sub(self.expected),
                    )
                }
                Some(cause) => {
                    // Without any page, nothing has been told yet.
                    let told = match self.stream.pages.is_empty() {
                        true => 0,
                        false => ring.told[cause],
                    };
                    loss(
                        self.clock,
                        Cause::Told(cause as u8),
                        ring.lost[cause].saturating_sub(told),
                    )
                }
            };
            if found.is_some() {
                return found;
            }
        }
        None
    }
}

/// How many records the reader of a stream has missed before a piece of a page.
fn lag_at(mut walk: Walk, page: &[u8]) -> u64 {
    let mut sum = 0u64;
    while let Some(Item::Lost {
        cause: LAG, count, ..
    }) = walk.next(page)
    {
        sum = sum.saturating_add(count);
    }
    sum
}

fn loss(clock: u64, cause: Cause, count: u64) -> Option<Current> {
    (count > 0).then_some(Current {
        clock,
        what: Next::Loss(cause, count),
    })
}
