// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Goes through one ring: records and losses in their order.
//!
//! A [`Cursor`] can stop if there are no more pages, and go on when more have come.

use std::{iter, mem, sync::Arc};

use super::{Cause, ClockSpan, Counts, Event, EventKind, PagePlace, Payload, Stream, LAG};
use crate::{
    record::{Item, Version, Walk, Writer},
    snapshot::{
        run::{end_of, section_of, seq},
        PageRef, RingInfo, Snapshot,
    },
    wire::record::LOST_CAUSES,
};

/// A loss: clock, cause, how many and between which clocks.
type Due = (u64, Cause, u64, ClockSpan);

/// Goes through one ring. It holds one page in memory.
pub struct Cursor {
    /// File of the current page.
    file: usize,
    version: Version,
    /// Where the next page is.
    place: PagePlace,
    /// The page before that.
    before: Option<PageRef>,
    page: Arc<Vec<u8>>,
    walk: Option<Walk>,
    /// Ordinal that the next page should start with.
    expected: u64,
    /// Whether a gap between pages, or before the first, was met.
    has_gap: bool,
    /// Losses that come before the next page, the last one first.
    due: Vec<Due>,
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
    /// The current event, if it is at one.
    event: Event,
    is_at_event: bool,
    /// What came out of it.
    pub counts: Counts,
}

impl Cursor {
    /// At the start of a ring, whose number its events have.
    pub fn new(ring: usize, stream: &Stream) -> Self {
        let kind = EventKind::Loss { cause: Cause::Missing, count: 0, span: (0, 0) };
        let writer = stream.writer();
        Self {
            file: stream.file(),
            version: Version::default(),
            place: PagePlace::default(),
            before: None,
            page: Arc::default(),
            walk: None,
            expected: stream.from,
            has_gap: false,
            due: Vec::new(),
            untold: 0,
            writer,
            had: 0,
            lag: 0,
            clock: stream.since,
            after: stream.since,
            order: 0,
            event: Event { file: stream.file(), ring, clock: stream.since, writer, kind },
            is_at_event: false,
            counts: Counts::default(),
        }
    }

    /// Goes to the next event. `ended`: there will be no more pages.
    pub fn advance(&mut self, stream: &Stream, files: &[Snapshot], ended: bool) {
        self.is_at_event = self.find_next(stream, files, ended);
        if !self.is_at_event {
            return;
        }
        let event = &mut self.event;
        self.clock = event.clock;
        if !stream.names.is_empty() {
            let name = stream.name_at(event.clock);
            for writer in [&mut self.writer, &mut event.writer] {
                if let (Some(task), Some(comm)) = (&mut writer.task, name) {
                    task.comm = comm;
                }
            }
        }
        let EventKind::Loss { cause, count, .. } = event.kind else {
            self.after = event.clock;
            self.counts.decoded += 1;
            return;
        };
        let counter = match cause {
            Cause::Told(LAG) => &mut self.counts.lagged,
            Cause::Told(_) => return,
            Cause::Overwritten => &mut self.counts.overwritten,
            Cause::Missing | Cause::Elsewhere => &mut self.counts.missing,
            Cause::Damaged => &mut self.counts.damaged,
            Cause::LeftOut => &mut self.counts.left_out,
        };
        *counter = counter.saturating_add(count);
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
        // The section says what is missing before its page.
        next.map(|(_, run)| section_of(&run.first))
    }

    /// The clock by which its current event is put in order, if it is at one.
    pub(crate) fn order(&mut self) -> Option<u64> {
        let clock = self.event()?.clock;
        // A ring's order is its own, even where its times go back.
        self.order = self.order.max(clock);
        Some(self.order)
    }

    /// The current event.
    #[inline]
    pub fn event(&self) -> Option<&Event> {
        self.is_at_event.then_some(&self.event)
    }

    /// Makes a record the current event.
    #[inline]
    fn record(&mut self, clock: u64, (site, ordinal): (u32, u64), (at, len): (usize, usize)) {
        self.event.clock = clock;
        let version = self.version;
        match &mut self.event.kind {
            // The same page, and writer. References to a page are counted once, not by record.
            EventKind::Record { payload, site: of, ordinal: nth, .. }
                if Arc::ptr_eq(&payload.page, &self.page) =>
            {
                (*of, *nth, payload.at, payload.len) = (site, ordinal, at, len);
            }
            kind => {
                let payload = Payload { page: self.page.clone(), at, len };
                *kind = EventKind::Record { site, ordinal, version, payload };
                (self.event.file, self.event.writer) = (self.file, self.writer);
            }
        }
    }

    /// Makes a loss the current event.
    fn lose(&mut self, stream: &Stream, (clock, cause, count, span): Due) {
        let event = &mut self.event;
        (event.clock, event.file) = (clock, self.file);
        event.kind = EventKind::Loss { cause, count, span };
        event.writer = match stream.shared() {
            Some(_) => Writer::default(),
            None => self.writer,
        };
    }

    /// Makes the next record or loss the current event; `false`: there is none.
    fn find_next(&mut self, stream: &Stream, files: &[Snapshot], ended: bool) -> bool {
        loop {
            let found = match (self.due.pop(), &mut self.walk) {
                (Some(due), _) => Some(due),
                (None, Some(walk)) => match walk.next(&self.page) {
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
                        self.record(clock, (site, ordinal), (at, len));
                        return true;
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
                        self.event.writer = self.writer;
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
                (None, None) if stream.run(self.place.run).is_some() => {
                    self.open_page(stream, files);
                    None
                }
                (None, None) if ended => match self.at_end(stream, files) {
                    None => return false,
                    found => found,
                },
                (None, None) => return false,
            };
            if let Some(due) = found {
                self.lose(stream, due);
                return true;
            }
        }
    }

    /// Goes to the next page. What lies between it and the one before is due.
    fn open_page(&mut self, stream: &Stream, files: &[Snapshot]) {
        // The page before is done with here, but may be in use elsewhere.
        self.lose(stream, (self.clock, Cause::Missing, 0, (0, 0)));
        let mut bytes = Arc::try_unwrap(mem::take(&mut self.page)).unwrap_or_default();
        let next = self.place.next(stream, files, Some(&mut bytes));
        self.page = Arc::new(bytes);
        let Some((file, page)) = next else {
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
        let missed = match gap {
            0 => 0,
            _ => files[file].missed_before(&page).unwrap_or(0).min(gap),
        };
        gap -= missed;
        self.lag = lag_at(walk, &self.page).min(gap);
        gap -= self.lag;
        let span = (self.after, page.base);
        self.due.extend(loss(page.base, Cause::Told(LAG), missed, span));
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
        self.due.extend(loss(page.base, cause, gap, span));
        self.due.extend(loss(page.base, Cause::Elsewhere, elsewhere, span));
    }

    /// Between which clocks that is which has no record after it so far: up to the next record, if
    /// that is there.
    fn open_span(&self, stream: &Stream, files: &[Snapshot]) -> ClockSpan {
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
        let (mut place, mut bytes) = (PagePlace::default(), Vec::new());
        let (mut expected, mut until) = (stream.from, 0);
        while let Some((file, page)) = place.next(stream, files, Some(&mut bytes)) {
            if page.first > expected {
                until = page.base;
            }
            expected = end_of(&page);
            let lag = &mut told[usize::from(LAG)];
            if *lag > 0 && end_of(&page) > stream.from {
                *lag = lag.saturating_sub(files[file].missed_before(&page).unwrap_or(0));
            }
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
        let mut damage = files[stream.file()].damage.clone();
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
    fn at_end(&mut self, stream: &Stream, files: &[Snapshot]) -> Option<Due> {
        self.page = Arc::default();
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
pub(super) fn lag_at(mut walk: Walk, page: &[u8]) -> u64 {
    let mut sum = 0u64;
    while let Some(Item::Lost { cause: LAG, count, .. }) = walk.next(page) {
        sum = sum.saturating_add(count);
    }
    sum
}

fn loss(clock: u64, cause: Cause, count: u64, span: ClockSpan) -> Option<Due> {
    (count > 0).then_some((clock, cause, count, span))
}

/// Goes through one ring without the others, which is faster where the order is of no matter.
pub fn each_event(files: &[Snapshot], stream: &Stream, mut see: impl FnMut(&Event)) -> Counts {
    let mut cursor = Cursor::new(0, stream);
    loop {
        cursor.advance(stream, files, true);
        match cursor.event() {
            Some(event) => see(event),
            None => return cursor.counts,
        }
    }
}
