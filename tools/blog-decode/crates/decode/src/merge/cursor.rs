// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Goes through one ring: records and losses in their order.
//!
//! A [`Cursor`] can stop if there are no more pages, and go on when more have come.

use std::{iter, mem};

use super::{Cause, Counts, Event, Place, Span, Stream, What, LAG};
use crate::{
    record::{Item, Version, Walk, Writer},
    snapshot::{
        run::{end_of, seq},
        PageRef, RingInfo, Snapshot,
    },
    wire::record::LOST_CAUSES,
};

const NOBODY: &Writer = &Writer { context: None, cpu: None, task: None };

/// What a cursor is at.
struct Current {
    clock: u64,
    what: Next,
}

enum Next {
    Record { site: u32, ordinal: u64, at: usize, len: usize },
    Loss(Cause, u64, Span),
}

/// Goes through one ring. It holds one page in memory.
pub struct Cursor {
    /// File of the current page.
    file: usize,
    version: Version,
    /// Where the next page is.
    place: Place,
    /// The page before that.
    before: Option<PageRef>,
    page: Vec<u8>,
    walk: Option<Walk>,
    /// Ordinal that the next page should start with.
    expected: u64,
    /// Whether a gap between pages, or before the first, was met.
    has_gap: bool,
    /// Losses that come before the next page, the last one first.
    due: Vec<Current>,
    /// Losses that no record reports: 0 is what is missing at the end, then by cause.
    untold: usize,
    /// What the ring's last task record says, or who it belongs to.
    writer: Writer,
    /// Records of the page that another copy of it had already.
    had: u64,
    /// Of the records that are missing before this page, how many lost records of the stream's
    /// reader, at the start of the page, tell of.
    lag: u64,
    clock: u64,
    /// The clock of the last record or in-band loss: what is missing next came after it.
    after: u64,
    order: u64,
    current: Option<Current>,
    /// What came out of it.
    pub counts: Counts,
}

impl Cursor {
    /// At the start of a ring.
    pub fn new(stream: &Stream) -> Self {
        Self {
            file: stream.file,
            version: Version::default(),
            place: Place::default(),
            before: None,
            page: Vec::new(),
            walk: None,
            expected: stream.from,
            has_gap: false,
            due: Vec::new(),
            untold: 0,
            writer: stream.writer(),
            had: 0,
            lag: 0,
            clock: stream.since,
            after: stream.since,
            order: 0,
            current: None,
            counts: Counts::default(),
        }
    }

    /// Goes to the next event. `ended`: there will be no more pages.
    pub fn advance(&mut self, stream: &Stream, files: &[Snapshot], ended: bool) {
        self.current = self.find_next(stream, files, ended);
        if let Some(current) = &self.current {
            self.clock = current.clock;
            if !stream.names.is_empty() {
                if let (Some(task), Some(comm)) =
                    (&mut self.writer.task, stream.name_at(current.clock))
                {
                    task.comm = comm;
                }
            }
            match current.what {
                Next::Record { .. } => {
                    self.after = current.clock;
                    self.counts.decoded += 1;
                }
                Next::Loss(cause, n, _) => {
                    let counter = match cause {
                        Cause::Told(LAG) => &mut self.counts.lagged,
                        Cause::Told(_) => return,
                        Cause::Overwritten => &mut self.counts.overwritten,
                        Cause::Missing | Cause::Elsewhere => &mut self.counts.missing,
                        Cause::Damaged => &mut self.counts.damaged,
                        Cause::LeftOut => &mut self.counts.left_out,
                    };
                    *counter = counter.saturating_add(n);
                }
            }
        }
    }

    /// Drops the pages of `stream` that it is through with; the answer is where the first one of the
    /// others is.
    pub(crate) fn forget(&mut self, stream: &mut Stream) -> Option<u64> {
        // The one before the next says what is missing between them.
        let done = self.place.run.saturating_sub(1);
        if done > 0 {
            stream.runs_mut().drain(..done);
            self.place.run -= done;
            // What they have reported is no longer known.
            self.has_gap = true;
        }
        let next = stream.run(self.place.run);
        next.map(|(_, run)| run.first.offset)
    }

    /// The clock by which its current event is put in order, if it is at one.
    pub(crate) fn order(&mut self) -> Option<u64> {
        let clock = self.current.as_ref()?.clock;
        // A ring's order is its own, even where its times go back.
        self.order = self.order.max(clock);
        Some(self.order)
    }

    /// The current event.
    #[inline]
    pub fn event<'a>(&'a self, stream: &'a Stream) -> Option<Event<'a>> {
        let current = self.current.as_ref()?;
        Some(Event {
            file: self.file,
            stream,
            clock: current.clock,
            writer: match current.what {
                Next::Loss(..) if stream.shared().is_some() => NOBODY,
                _ => &self.writer,
            },
            what: match current.what {
                Next::Loss(cause, count, span) => What::Loss { cause, count, span },
                Next::Record { site, ordinal, at, len } => What::Record {
                    site,
                    ordinal,
                    version: self.version,
                    payload: self.page.get(at..at + len).unwrap_or_default(),
                },
            },
        })
    }

    fn find_next(&mut self, stream: &Stream, files: &[Snapshot], ended: bool) -> Option<Current> {
        loop {
            if let Some(loss) = self.due.pop() {
                return Some(loss);
            }
            let found = match &mut self.walk {
                Some(walk) => match walk.next(&self.page) {
                    Some(Item::Record { .. }) if walk.seen() <= self.had => None,
                    Some(Item::Lost { .. }) if walk.seen() < self.had => None,
                    Some(Item::Left(count)) => {
                        // Another file may have had some of them.
                        let new = walk.seen().saturating_sub(self.had).min(count);
                        loss(self.clock, Cause::LeftOut, new, self.open_span(stream, files))
                    }
                    Some(Item::Record { clock, .. }) if clock < stream.cleared => {
                        self.counts.overwritten += 1;
                        None
                    }
                    // What this reader was too slow for came after the clear.
                    Some(Item::Lost { clock, cause, .. })
                        if clock < stream.cleared && cause != LAG =>
                    {
                        None
                    }
                    Some(Item::Record { clock, site, ordinal, at, len }) => {
                        Some(Current { clock, what: Next::Record { site, ordinal, at, len } })
                    }
                    Some(Item::Lost { clock, cause, count }) => {
                        let mut count = count;
                        if cause == LAG {
                            // Another file may have what this reader was too slow for.
                            count = count.min(self.lag);
                            self.lag -= count;
                        }
                        let after = mem::replace(&mut self.after, clock);
                        loss(clock, Cause::Told(cause), count, (after, clock))
                    }
                    Some(Item::Writer(writer)) => {
                        match stream.shared() {
                            Some(_) => self.writer = writer,
                            // The ring's own task has another name.
                            None => {
                                self.writer.task = writer.task;
                                self.counts.last_name = writer.task.map(|t| t.comm);
                            }
                        }
                        None
                    }
                    None => {
                        let missing = walk.missing();
                        self.walk = None;
                        match missing {
                            0 => None,
                            n => loss(self.clock, Cause::Damaged, n, self.open_span(stream, files)),
                        }
                    }
                },
                None if stream.run(self.place.run).is_some() => {
                    self.open_page(stream, files);
                    continue;
                }
                None if ended => return self.at_end(stream, files),
                None => return None,
            };
            if found.is_some() {
                return found;
            }
        }
    }

    /// Goes to the next page. What lies between it and the one before is due.
    fn open_page(&mut self, stream: &Stream, files: &[Snapshot]) {
        let Some((file, page)) = self.place.next(stream, files, Some(&mut self.page)) else {
            return;
        };
        let before = self.before.replace(page);
        let is_same_page = before.is_some_and(|b| seq(&b) == seq(&page));
        (self.file, self.version) = (file, files[file].version);
        self.clock = page.base;
        let walk = Walk::new(&page.info(), self.page.len(), self.version);
        let mut gap = page.first.saturating_sub(self.expected);
        self.had = match is_same_page || before.is_none() {
            true => self.expected.saturating_sub(page.first),
            false => 0,
        };
        if !is_same_page || gap > 0 || stream.shared().is_none() {
            // A page of a shared ring names the writer at its start.
            self.writer = stream.writer();
        }
        let mut elsewhere = match gap {
            0 => 0,
            _ => {
                let first = stream.runs().find(|(of, _)| *of == file);
                let is_first = first.is_some_and(|(_, run)| run.first.offset == page.offset);
                let known = stream.before(file).filter(|(n, _)| *n <= page.first);
                let of_others = known.map(|(n, or_more)| match or_more && is_first {
                    true => page.first,
                    false => n,
                });
                of_others.map_or(0, |n| n.saturating_sub(self.expected))
            }
        };
        self.expected = end_of(&page);
        self.lag = lag_at(walk, &self.page).min(gap);
        gap -= self.lag;
        elsewhere = elsewhere.min(gap);
        gap -= elsewhere;
        self.walk = Some(walk);
        if page.base < stream.cleared && before.is_none() {
            // All earlier records are cleared, and the losses that they reported.
            self.has_gap = true;
            let gone = gap.saturating_add(elsewhere);
            self.counts.overwritten = self.counts.overwritten.saturating_add(gone);
            return;
        }
        if gap + elsewhere > 0 && !self.has_gap {
            self.has_gap = true;
            let (forgotten, until) = Self::forgotten_losses(stream, files);
            let span = (self.after, until.max(page.base));
            let lost = |(cause, count)| loss(page.base, Cause::Told(cause), count, span);
            self.due.extend(forgotten.into_iter().filter_map(lost));
        }
        let cause = if before.is_none() && elsewhere == 0 {
            Self::cause_at_start(stream, files)
        } else {
            Cause::Missing
        };
        let span = (self.after, page.base);
        self.due.extend(loss(page.base, cause, gap, span));
        self.due.extend(loss(page.base, Cause::Elsewhere, elsewhere, span));
    }

    /// Between which clocks that is which has no record after it so far: up to the next record, if
    /// that is there.
    fn open_span(&self, stream: &Stream, files: &[Snapshot]) -> Span {
        let mut ahead = self.walk;
        let next = iter::from_fn(|| ahead.as_mut()?.next(&self.page)).find_map(|item| match item {
            Item::Record { clock, .. } => Some(clock),
            _ => None,
        });
        let page = || Some(self.place.peek(stream, files)?.base);
        let end = || stream.exit().unwrap_or(u64::MAX);
        let until = next.or_else(page).unwrap_or_else(end);
        (self.after, until.max(self.after))
    }

    /// The losses that the ring has reported, minus those that its pages still report, by cause;
    /// and the clock after the last gap, in which some of them may be.
    fn forgotten_losses(stream: &Stream, files: &[Snapshot]) -> (Vec<(u8, u64)>, u64) {
        let mut told = stream.ring().map_or([0; LOST_CAUSES], RingInfo::told);
        if told.iter().all(|n| *n == 0) {
            return (Vec::new(), 0);
        }
        let (mut place, mut bytes) = (Place::default(), Vec::new());
        let (mut expected, mut until) = (stream.from, 0);
        while let Some((file, page)) = place.next(stream, files, Some(&mut bytes)) {
            if page.first > expected {
                until = page.base;
            }
            expected = end_of(&page);
            let mut walk = Walk::new(&page.info(), bytes.len(), files[file].version);
            while let Some(item) = walk.next(&bytes) {
                let is_old = page.first.saturating_add(walk.seen()) < stream.from;
                if let (Item::Lost { cause, count, .. }, false) = (item, is_old) {
                    if let Some(n) = told.get_mut(usize::from(cause)) {
                        *n = n.saturating_sub(count);
                    }
                }
            }
        }
        let causes = (0u8..LOST_CAUSES as u8).zip(told);
        let left = causes.filter(|(_, n)| *n > 0).rev().collect();
        (left, until)
    }

    /// Why records are missing before the first page that there is.
    fn cause_at_start(stream: &Stream, files: &[Snapshot]) -> Cause {
        let had = stream.ring().map_or(0, |r| r.pages.into());
        let count: u64 = stream.runs().map(|(_, run)| u64::from(run.count)).sum();
        let mut damage = files[stream.file].damage.clone();
        if count > 0 {
            // That is at the end.
            damage.torn = 0;
        }
        if damage.any() && had > count {
            Cause::Missing
        } else {
            Cause::Overwritten
        }
    }

    /// What the ring's own counters know beyond its last record.
    fn at_end(&mut self, stream: &Stream, files: &[Snapshot]) -> Option<Current> {
        self.page = Vec::new();
        let ring = stream.ring()?;
        let (lost, told) = (ring.lost(), ring.told());
        let has_pages = stream.run(0).is_some();
        let span = self.open_span(stream, files);
        while self.untold <= LOST_CAUSES {
            let i = self.untold;
            self.untold += 1;
            let found = match i.checked_sub(1) {
                None => {
                    let cause = match has_pages {
                        true => Cause::Missing,
                        false => Self::cause_at_start(stream, files),
                    };
                    loss(self.clock, cause, ring.records.saturating_sub(self.expected), span)
                }
                Some(cause) => {
                    // Without any page, nothing has been reported yet.
                    let told = match has_pages {
                        true => told[cause],
                        false => 0,
                    };
                    loss(
                        self.clock,
                        Cause::Told(cause as u8),
                        lost[cause].saturating_sub(told),
                        span,
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
    while let Some(Item::Lost { cause: LAG, count, .. }) = walk.next(page) {
        sum = sum.saturating_add(count);
    }
    sum
}

fn loss(clock: u64, cause: Cause, count: u64, span: Span) -> Option<Current> {
    (count > 0).then_some(Current { clock, what: Next::Loss(cause, count, span) })
}

/// What one ring has next.
#[derive(Clone, Copy, Debug)]
pub enum Seen {
    /// A record.
    Record {
        /// Index of its file.
        file: usize,
        /// Full clock.
        clock: u64,
        /// Site id.
        site: u32,
        /// Length of its payload.
        len: usize,
    },
    /// Records are missing.
    Loss,
}

/// Goes through one ring without the others, which is faster where the order is of no matter.
pub fn each_record(files: &[Snapshot], stream: &Stream, mut see: impl FnMut(Seen)) -> Counts {
    let mut cursor = Cursor::new(stream);
    loop {
        cursor.advance(stream, files, true);
        match &cursor.current {
            Some(Current { clock, what: Next::Record { site, len, .. } }) => {
                see(Seen::Record { file: cursor.file, clock: *clock, site: *site, len: *len })
            }
            Some(_) => see(Seen::Loss),
            None => return cursor.counts,
        }
    }
}
