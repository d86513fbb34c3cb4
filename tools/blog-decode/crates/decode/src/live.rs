// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Streams as they come: bytes in, events in the order of time out.
//!
//! The kernel goes through the rings in passes, and returns the new records of each. So the first
//! record of a stream isn't always the oldest. [`Live`] holds events back until no earlier one can
//! come: all records from before a pass are there when the pass ends, and the ring with which a
//! pass begins shows that it has begun. When nothing comes for a while, nothing earlier is on its
//! way, and [`Live`] returns everything.
//!
//! ```text
//! feed(bytes) ─► sections ─► pages of each ring ─► the order of merge/ ─► event()
//! ```
//!
//! It drops pages that it is done with, and rings that went to another task. So memory is bounded
//! by the events that it holds back, at most [`HELD_MAX`], and by the rings at any one time.

use std::collections::HashMap;

use crate::{
    blogfmt::source::Source,
    boot::{self, Boot},
    error::Error,
    merge::{several, Event, Order, Rings, Stream},
    snapshot::{
        parse_section_header,
        run::{section_of, seq, Run},
        scan::{before, changes_hands, Part, Sections},
        Losses, RingInfo, RingPages, Snapshot, ALIGN, FILE_HEADER, SECTION_HEADER,
    },
    wire::file::ClockPair,
};

/// Beyond that many bytes, events are given out although earlier ones may come.
const HELD_MAX: usize = 256 << 20;
/// Bytes that were gone through are dropped when there are this many.
const TIDY: usize = 1 << 20;

/// A stream that is being read.
struct Feed {
    sections: Sections,
    /// When it was opened.
    opened: Option<ClockPair>,
    /// Where the next section starts; 0: the file's header has not come yet.
    at: u64,
    /// It has come to its end.
    ended: bool,
    /// Nothing comes at the moment.
    idle: bool,
    /// Ring and page of the last piece.
    last: Option<((u32, u32), u64)>,
    /// The latest clock that was seen in this pass, and in those before.
    pass: u64,
    passed: u64,
    /// Up to this clock, everything is here.
    complete: u64,
    /// The owner of the ring with this component and id: index into `rings`.
    rings: HashMap<(u32, u32), usize>,
    /// Bytes that were left when it was last tidied.
    kept: usize,
}

/// Streams, and what came out of them.
pub struct Live<'w> {
    /// What is known of each stream's machine. Pages are not kept here.
    pub files: Vec<Snapshot>,
    /// The boot of each.
    pub boots: Vec<Boot>,
    feeds: Vec<Feed>,
    /// Rings, also those that have ended, and whether they may get more pages.
    streams: Vec<Stream>,
    may_grow: Vec<bool>,
    /// Their events.
    order: Order,
    /// Sections that came since times of all rings have changed, as boots have; `None`: they
    /// haven't.
    stale: Option<usize>,
    /// All boots are known, and are several. Then real times are compared, whatever comes.
    are_several: bool,
    /// Chooses components by name.
    want: &'w dyn Fn(&str) -> bool,
    payload: Vec<u8>,
}

impl<'w> Live<'w> {
    /// Starts with streams of these names. `want` chooses components by name.
    pub fn new(names: Vec<String>, want: &'w dyn Fn(&str) -> bool) -> Self {
        let files: Vec<_> = names
            .into_iter()
            .map(|name| Snapshot::empty(name, Source::Memory(Vec::new())))
            .collect();
        let feeds = files.iter().map(|_| Feed {
            sections: Sections::default(),
            opened: None,
            at: 0,
            ended: false,
            idle: false,
            last: None,
            pass: 0,
            passed: 0,
            complete: 0,
            rings: HashMap::new(),
            kept: 0,
        });
        Self {
            boots: boot::from_files(&files),
            feeds: feeds.collect(),
            files,
            streams: Vec::new(),
            may_grow: Vec::new(),
            order: Order::default(),
            stale: None,
            are_several: false,
            want,
            payload: Vec::new(),
        }
    }

    /// Takes bytes in that came from stream `i`; an error if it is no stream of ours. Then
    /// [`Live::advance`] is to be called until it says no.
    pub fn feed(&mut self, i: usize, bytes: &[u8]) -> Result<(), Error> {
        if let Source::Memory(all) = &mut self.files[i].source {
            all.extend_from_slice(bytes);
        }
        if self.feeds[i].ended {
            return Ok(());
        }
        self.feeds[i].idle = false;
        while self.section(i)? {}
        if self.held(i) > HELD_MAX {
            self.idle(i);
        }
        Ok(())
    }

    /// Nothing came from stream `i` for a while.
    pub fn idle(&mut self, i: usize) {
        self.end_pass(i);
        self.feeds[i].idle = true;
        if self.stale.take().is_some() {
            self.order.restart();
        }
    }

    /// Stream `i` has come to its end by itself: what it lacks is damage.
    pub fn end_of_input(&mut self, i: usize) {
        if self.has_begun(i) {
            let (file, feed) = (&mut self.files[i], &self.feeds[i]);
            match file.stream {
                true => file.damage.torn = file.size().saturating_sub(feed.at),
                false => file.damage.cut_off = !feed.sections.ended,
            }
        }
        self.end(i);
    }

    /// Nobody reads stream `i` any more.
    pub fn end(&mut self, i: usize) {
        self.feeds[i].ended = true;
        self.feeds[i].rings.clear();
        for (at, may_grow) in self.may_grow.iter_mut().enumerate() {
            if self.streams[at].file() == i {
                *may_grow = false;
                self.order.has_news(at);
            }
        }
        self.idle(i);
    }

    /// Whether nothing is waited for that could be earlier than what is there of stream `i`.
    pub fn is_idle(&self, i: usize) -> bool {
        self.feeds[i].idle || self.feeds[i].ended
    }

    /// Whether stream `i` has come to its end.
    pub fn has_ended(&self, i: usize) -> bool {
        self.feeds[i].ended
    }

    /// When stream `i` was opened, once it has told.
    pub fn opened(&self, i: usize) -> Option<ClockPair> {
        self.feeds[i].opened
    }

    /// Whether the stream's header was there.
    pub fn has_begun(&self, i: usize) -> bool {
        self.feeds[i].at != 0
    }

    /// Why stream `i`, which has come to its end, hasn't begun; `None`: it has.
    pub fn why_nothing(&mut self, i: usize) -> Option<String> {
        match self.held(i) {
            _ if self.has_begun(i) => None,
            0 => Some("nothing came".into()),
            _ => self.files[i].check_header().err().map(|e| e.to_string()),
        }
    }

    /// Bytes of stream `i` that are in memory.
    fn held(&self, i: usize) -> usize {
        self.files[i].source.size() as usize
    }

    /// Takes the next section in; `false`: it is not all there yet.
    fn section(&mut self, i: usize) -> Result<bool, Error> {
        let (file, feed) = (&mut self.files[i], &mut self.feeds[i]);
        let Source::Memory(bytes) = &file.source else {
            return Ok(false);
        };
        if feed.at == 0 {
            if bytes.len() < FILE_HEADER {
                return Ok(false);
            }
            feed.at = file.check_header()?;
            return Ok(true);
        }
        // Nothing that is still to be read was dropped.
        let at = (feed.at as i64 - file.base) as usize;
        let Some(raw) = bytes.get(at..at + SECTION_HEADER) else {
            return Ok(false);
        };
        let Some(header) = parse_section_header(raw) else {
            file.damage.skipped_bytes += ALIGN;
            feed.at += ALIGN;
            return Ok(true);
        };
        let body = at + SECTION_HEADER;
        // At most SECTION_MAX.
        let len = header.len as usize;
        let end = body + len.next_multiple_of(ALIGN as usize);
        if bytes.len() < end {
            return Ok(false);
        }
        self.payload.clear();
        self.payload.extend_from_slice(&bytes[body..body + len]);
        let place = feed.at + SECTION_HEADER as u64;
        feed.at += (end - at) as u64;
        let after = feed.at;
        if let Some(sections) = &mut self.stale {
            *sections += 1;
        }
        let clocks = feed.sections.clocks;
        match feed.sections.take(file, &header, place, &self.payload) {
            Part::None => {}
            Part::Ring(ring) => self.ring(i, ring),
            Part::Page(id, page, missed) => self.page(i, id, Run::one(id, page, after, 0), missed),
            Part::Released(id, records) => self.release(i, id, records),
        }
        if self.feeds[i].sections.clocks != clocks {
            if clocks == 0 {
                self.feeds[i].opened = self.files[i].pairs.last().copied();
            }
            self.set_boots();
            // It stands at the end of a pass.
            self.end_pass(i);
        }
        Ok(true)
    }

    /// Files with one boot id, but of other hosts, are of machines that were started from one state.
    fn set_boots(&mut self) {
        for i in 0..self.files.len() {
            let (before, [file, ..]) = self.files.split_at_mut(i) else {
                continue;
            };
            let id = file.boot_id();
            let mut same = before.iter().filter(|f| id.is_some() && f.boot_id() == id);
            let next = same.clone().map(|f| f.copy + 1).max().unwrap_or(0);
            let known = same.find(|f| f.host == file.host);
            file.copy = known.map_or(next, |f| f.copy);
        }
        let were_several = several(&self.boots).is_some();
        self.boots = boot::from_files(&self.files);
        self.boots.iter_mut().for_each(|boot| boot.is_one_of_several |= self.are_several);
        let are_several = several(&self.boots).is_some();
        self.are_several |= are_several && self.files.iter().all(|f| f.boot_id().is_some());
        if are_several != were_several {
            self.stale = None;
            self.order.restart();
        } else if are_several {
            self.stale.get_or_insert(0);
        }
    }

    /// A ring was taken from its owner.
    fn release(&mut self, i: usize, id: (u32, u32), records: u64) {
        let at = self.feeds[i].rings.get(&id).copied();
        let lost = at.map_or(Losses::default(), |at| self.streams[at].lost());
        let feed = &mut self.feeds[i];
        feed.sections.release(&mut self.files[i], id.0, records, lost);
        if let Some(at) = feed.rings.remove(&id) {
            self.may_grow[at] = false;
            self.order.has_news(at);
        }
    }

    fn ring(&mut self, i: usize, mut new: RingInfo) {
        let id = (new.component, new.ring);
        let known = self.feeds[i].rings.get(&id).copied();
        if let Some(at) = known {
            let stream = &mut self.streams[at];
            match stream.ring() {
                Some(old) if changes_hands(old, &new) => {}
                old => {
                    if let Some(old) = old {
                        new.go_on(old);
                    }
                    return stream.set_ring(new);
                }
            }
            self.feeds[i].rings.remove(&id);
            self.may_grow[at] = false;
            self.order.has_news(at);
        }
        self.open(i, id, Some(new));
    }

    fn open(&mut self, i: usize, id: (u32, u32), ring: Option<RingInfo>) -> Option<usize> {
        let component = self.files[i].component_name(id.0);
        if !(self.want)(&component) {
            return None;
        }
        let mut of = RingPages::new(id);
        of.before = ring.as_ref().and_then(|ring| before(&self.files[i], ring));
        of.ring = ring;
        let stream = Stream::new(component.into(), i, of.into(), self.files[i].cleared(id.0));
        let at = self.order.ended.pop().unwrap_or(self.streams.len());
        if at == self.streams.len() {
            self.streams.push(stream);
            self.may_grow.push(true);
        } else {
            (self.streams[at], self.may_grow[at]) = (stream, true);
            self.order.replace(at);
            self.order.has_news(at);
        }
        self.feeds[i].rings.insert(id, at);
        Some(at)
    }

    fn page(&mut self, i: usize, id: (u32, u32), run: Run, missed: u64) {
        let page = &run.first;
        let seq = seq(page);
        let begins =
            self.feeds[i].last.is_some_and(|(ring, last)| id < ring || id == ring && seq == last);
        if begins {
            self.end_pass(i);
        }
        let feed = &mut self.feeds[i];
        feed.last = Some((id, seq));
        feed.pass = feed.pass.max(page.base);
        let known = feed.rings.get(&id).copied();
        let Some(at) = known.or_else(|| self.open(i, id, None)) else {
            return;
        };
        self.streams[at].add_missed(missed);
        self.streams[at].runs_mut().push((i, run));
        self.order.has_news(at);
    }

    /// A pass has ended: everything is here that was written before it began.
    fn end_pass(&mut self, i: usize) {
        let feed = &mut self.feeds[i];
        feed.complete = feed.passed;
        feed.passed = feed.passed.max(feed.pass);
        feed.last = None;
        // A stream of clocks alone doesn't have all rings gone through for each of them.
        if self.stale.is_some_and(|sections| sections >= self.streams.len()) {
            self.stale = None;
            self.order.restart();
        }
    }

    /// Goes to the next event that can be given out; `false`: there is none at the moment.
    pub fn advance(&mut self) -> bool {
        let rings = Rings {
            files: &self.files,
            boots: several(&self.boots),
            streams: &self.streams,
            may_grow: Some(&self.may_grow),
        };
        // Up to then, everything is here.
        let waits = self.feeds.iter().enumerate().filter(|(_, feed)| !feed.idle && !feed.ended);
        let limit = waits.map(|(file, feed)| rings.time(file, feed.complete)).min();
        let is_there = self.order.step(&rings, limit.unwrap_or(u64::MAX)).is_some();
        if !is_there {
            self.tidy();
        }
        is_there
    }

    /// The event that it is at, and its ring.
    pub fn event(&self) -> Option<(&Event, &Stream)> {
        let (ring, event) = self.order.given()?;
        Some((event, &self.streams[ring]))
    }

    /// Drops pages that were gone through.
    fn tidy(&mut self) {
        for i in 0..self.feeds.len() {
            if self.held(i) < self.feeds[i].kept * 2 + TIDY {
                continue;
            }
            let mut first = self.feeds[i].at;
            let rings = self.streams.iter_mut().enumerate().filter(|(_, ring)| ring.file() == i);
            for (at, stream) in rings {
                if self.order.has_ended(at) {
                    stream.runs_mut().clear();
                }
                let offset = match self.order.cursor(at) {
                    Some(cursor) => cursor.forget(stream),
                    None => stream.runs().next().map(|(_, run)| section_of(&run.first)),
                };
                first = first.min(offset.unwrap_or(u64::MAX));
            }
            let file = &mut self.files[i];
            let n = first.saturating_sub(file.base as u64);
            if let Source::Memory(bytes) = &mut file.source {
                bytes.drain(..bytes.len().min(n as usize));
                self.feeds[i].kept = bytes.len();
                // What a burst has taken, the quiet after it doesn't need.
                if bytes.capacity() > 4 * bytes.len() + 4 * TIDY {
                    bytes.shrink_to(2 * bytes.len() + TIDY);
                }
            }
            file.base += n as i64;
        }
    }
}
