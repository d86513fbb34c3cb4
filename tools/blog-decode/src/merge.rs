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
        Walk, //
    },
    snapshot::{
        PageRef,
        Snapshot, //
    },
    wire::{
        record::{
            Context,
            LOST_CAUSES, //
        },
        snapshot::Ring, //
    },
};

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
    /// The task that wrote it, where there is one and it is known.
    pub task: Option<Task>,
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
}

/// Unites the rings of all files. `want` chooses components by name.
pub fn unite(files: &[Snapshot], want: impl Fn(&str) -> bool) -> Vec<Stream> {
    // A boot, or for lack of its id a file.
    let boot = |i: usize, file: &Snapshot| file.boot_id().ok_or(i);
    let taken = |i: usize| files[i].pairs.iter().map(|p| p.clock).max();
    let mut streams: Vec<Stream> = Vec::new();
    let mut index = HashMap::new();
    for (i, file) in files.iter().enumerate() {
        for ring in &file.rings {
            let component = file.component_name(ring.id.0);
            if !want(&component) {
                continue;
            }
            // A ring that was given to another task is another ring.
            let who = ring.ring.as_ref().map(|r| (r.context, r.cpu, r.pid));
            let key = (boot(i, file), component.clone(), ring.id.1, who);
            let at = *index.entry(key).or_insert_with(|| {
                streams.push(Stream {
                    component,
                    id: ring.id.1,
                    ring: None,
                    file: i,
                    pages: Vec::new(),
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
        // A ring's page numbers never repeat. Of the same page the copy with the most records
        // stays: another was made earlier, or lacks what has been cleared since.
        stream
            .pages
            .sort_by_key(|(_, p)| (p.info.seq, Reverse(p.info.records())));
        stream.pages.dedup_by_key(|(_, p)| p.info.seq);
    }
    streams
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
            task: reader.task.or_else(|| stream.owner()),
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
    task: Option<Task>,
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
            expected: 0,
            has_gap: false,
            forgotten: Vec::new(),
            untold: 0,
            task: None,
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
                    }) => loss(clock, Cause::Told(cause), count),
                    Some(Item::Task(task)) => {
                        self.task = Some(task);
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
        let first_page = self.next_page == 0;
        self.next_page += 1;
        self.file = *file;
        let info = &page.info;
        self.clock = info.base;
        // What can't be read any more counts as damaged by the walk.
        if files[*file].read_page(page, &mut self.page).is_err() {
            self.page.clear();
        }
        self.walk = Some(Walk::new(info, self.page.len()));
        let gap = info.first.saturating_sub(self.expected);
        self.expected = info.first.saturating_add(info.records().into());
        if gap > 0 {
            self.task = None;
            if !self.has_gap {
                self.has_gap = true;
                self.forgotten = self.forgotten_losses(files);
            }
        }
        let cause = if first_page {
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
                if let Item::Lost { cause, count, .. } = item {
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

fn loss(clock: u64, cause: Cause, count: u64) -> Option<Current> {
    (count > 0).then_some(Current {
        clock,
        what: Next::Loss(cause, count),
    })
}
