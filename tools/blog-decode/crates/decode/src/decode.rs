// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! From an event to its text: looks up the site, prints the message, filters.
//!
//! A [`Decoder`] is an iterator over entries; [`Decoder::run`] uses the buffers of one again for
//! the next, so that a record costs no allocation. A [`LiveFilter`] does it event by event.

use std::{
    collections::{BTreeMap, HashMap},
    io::Write,
    mem, ptr,
};

use crate::{
    boot::Boot,
    digits,
    foreign::Log,
    format::{
        template::{ArgumentSlot, Template},
        value::Value,
    },
    merge::{Cause, Counts, Event, EventKind, Merge, Stream},
    record::{Task, Version, Writer},
    sidetable::{Found, Site, SiteMap},
    snapshot::Snapshot,
};

pub use crate::filter::Filter;

/// Why a record has no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Raw {
    /// Its site is in no image of the snapshot.
    NoImage,
    /// The image's side table isn't there.
    NoTable,
    /// The format string or a type cannot be understood.
    BadSite,
    /// Its payload is too short for its arguments.
    Short,
    /// The kernel has left its arguments out: an address is among them, which who read the file was
    /// not allowed to see.
    Withheld,
}

/// An event with its call site and its text: a line of output.
pub struct Entry<'a> {
    /// The ring.
    pub stream: &'a Stream,
    /// The boot that it is of, which converts the clock.
    pub boot: &'a Boot,
    /// What happened, and when.
    pub event: Event,
    /// Image and site of a record.
    pub found: Option<Found<'a>>,
    /// Where the arguments are in [`Entry::payload`], if [`Template::cut`] had to look.
    pub slots: Vec<ArgumentSlot>,
    /// The message, in UTF-8; of a loss, what a line says of it. Empty if who gets the entry prints
    /// it, by [`Entry::print`].
    pub message: Vec<u8>,
    /// If the message is no more than a hex dump: why.
    pub raw: Option<Raw>,
    /// Whether the message is printable ASCII that nothing has to escape.
    pub is_plain: bool,
    /// `false`: a record that is only there as the context of others. Losses are.
    pub is_match: bool,
}

/// What an entry's text takes, to be used again.
pub type Buffers = (Vec<u8>, Vec<ArgumentSlot>);

impl<'a> Entry<'a> {
    /// One without a text.
    pub fn new(stream: &'a Stream, boot: &'a Boot, event: Event, buffers: Buffers) -> Self {
        let (mut message, mut slots) = buffers;
        message.clear();
        slots.clear();
        Self {
            stream,
            boot,
            event,
            found: None,
            slots,
            message,
            raw: None,
            is_plain: false,
            is_match: false,
        }
    }

    /// The line of a log, if it is at one.
    fn line(log: &'a Log) -> Option<Self> {
        let (stream, line) = (log.stream(), log.line()?);
        let event = Event {
            file: stream.file(),
            ring: 0,
            clock: line.time,
            writer: line.writer,
            kind: EventKind::Line { level: line.level },
        };
        let entry = Self::new(stream, log.boot(), event, Buffers::default());
        Some(Self { message: line.message.clone(), ..entry })
    }

    /// Full clock.
    pub fn clock(&self) -> u64 {
        self.event.clock
    }

    /// When it was written, in ns since 1970, UTC.
    pub fn real(&self) -> i128 {
        self.boot.calibration.real(self.event.clock)
    }

    /// The writer.
    pub fn writer(&self) -> &Writer {
        &self.event.writer
    }

    /// The task that has written it.
    pub fn task(&self) -> Option<&Task> {
        self.event.writer.task.as_ref()
    }

    /// Whether it is a record.
    pub fn is_record(&self) -> bool {
        matches!(self.event.kind, EventKind::Record { .. })
    }

    /// Whether records are missing.
    pub fn is_loss(&self) -> bool {
        matches!(self.event.kind, EventKind::Loss { .. })
    }

    /// Whether it is a line of another log.
    pub(crate) fn is_line(&self) -> bool {
        matches!(self.event.kind, EventKind::Line { .. })
    }

    /// A record's call site, if its side table is there.
    pub fn site(&self) -> Option<&'a Site> {
        self.found.as_ref()?.site
    }

    /// What prints a record.
    pub fn template(&self) -> Option<&'a Template> {
        self.site()?.template.as_ref().ok()
    }

    /// The level, of what has one.
    pub fn level(&self) -> Option<u8> {
        match self.event.kind {
            EventKind::Line { level } => level,
            _ => self.site().map(|site| site.level),
        }
    }

    /// A record's site id; 0 of anything else.
    pub fn id(&self) -> u32 {
        match self.event.kind {
            EventKind::Record { site, .. } => site,
            _ => 0,
        }
    }

    /// The bytes of a record's arguments.
    pub fn payload(&self) -> &[u8] {
        match &self.event.kind {
            EventKind::Record { payload, .. } => payload.bytes(),
            _ => &[],
        }
    }

    /// Whether it has the same site and writer.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        ptr::eq(self.stream, other.stream)
            && ptr::eq(self.boot, other.boot)
            && mem::discriminant(&self.event.kind) == mem::discriminant(&other.event.kind)
            && (self.id(), self.raw, self.level()) == (other.id(), other.raw, other.level())
            && self.event.writer == other.event.writer
    }

    /// Appends the message.
    #[inline]
    pub fn print(&self, out: &mut Vec<u8>) {
        match self.template() {
            Some(template) if self.raw.is_none() && self.message.is_empty() => {
                template.print(self.payload(), &self.slots, out);
            }
            _ => out.extend_from_slice(&self.message),
        }
    }

    /// A record's arguments: name, value, and how many bytes of it were not stored.
    pub fn arguments(&self) -> impl Iterator<Item = (&str, Value<'_>, usize)> {
        let template = self.template().filter(|_| self.raw.is_none());
        template.into_iter().flat_map(|t| t.arguments(self.payload(), &self.slots))
    }
}

/// What could not be decoded, for the summary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undecoded {
    /// Records of each image without a table: (image name, build ID) and count.
    pub no_table: Vec<((String, String), u64)>,
    /// Index into `no_table` by file and image.
    images: HashMap<(usize, usize), usize>,
    /// The last of them.
    last: Option<((usize, usize), usize)>,
    /// Index into `no_table` by its key.
    names: HashMap<(String, String), usize>,
    /// Records of sites that no image has.
    pub no_image: u64,
    /// Records with a format string or type that cannot be understood.
    pub bad_site: u64,
    /// Records that are too short.
    pub short: u64,
    /// Records of which the arguments were withheld.
    pub withheld: u64,
}

impl Undecoded {
    /// Whether there is any.
    pub fn any(&self) -> bool {
        *self != Self::default()
    }

    /// How many there are.
    pub fn sum(&self) -> u64 {
        let no_table: u64 = self.no_table.iter().map(|(_, n)| n).sum();
        no_table + self.no_image + self.bad_site + self.short + self.withheld
    }

    /// Adds what another has counted.
    pub(crate) fn append(&mut self, other: &Self) {
        for (key, n) in &other.no_table {
            let all = &mut self.no_table;
            let index = *self.names.entry(key.clone()).or_insert_with(|| {
                all.push((key.clone(), 0));
                all.len() - 1
            });
            self.no_table[index].1 += n;
        }
        self.no_image += other.no_image;
        self.bad_site += other.bad_site;
        self.short += other.short;
        self.withheld += other.withheld;
    }

    fn count(&mut self, raw: Raw, entry: &Entry<'_>) {
        match (raw, entry.found) {
            (Raw::NoTable, Some(found)) => {
                let image = (entry.event.file, found.image_index);
                if let Some((_, index)) = self.last.filter(|(last, _)| *last == image) {
                    self.no_table[index].1 += 1;
                    return;
                }
                let (all, names) = (&mut self.no_table, &mut self.names);
                let index = *self.images.entry(image).or_insert_with(|| {
                    let image = found.image;
                    let key = (image.name.clone(), image.build_id.clone());
                    // Another file may have had the same image.
                    *names.entry(key.clone()).or_insert_with(|| {
                        all.push((key, 0));
                        all.len() - 1
                    })
                });
                self.no_table[index].1 += 1;
                self.last = Some((image, index));
            }
            (Raw::BadSite, _) => self.bad_site += 1,
            (Raw::Short, _) => self.short += 1,
            (Raw::Withheld, _) => self.withheld += 1,
            _ => self.no_image += 1,
        }
    }
}

/// How many records are missing, by cause.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missing(BTreeMap<&'static str, u64>);

impl Missing {
    /// Adds some.
    pub fn add(&mut self, cause: Cause, count: u64) {
        self.add_named(cause.name(), count);
    }

    /// Adds some of a cause by its name.
    pub fn add_named(&mut self, cause: &'static str, count: u64) {
        if count == 0 {
            return;
        }
        let sum = self.0.entry(cause).or_default();
        *sum = sum.saturating_add(count);
    }

    /// Adds what another has counted.
    pub fn append(&mut self, other: &Self) {
        other.0.iter().for_each(|(cause, n)| self.add_named(cause, *n));
    }

    /// Takes what another has more of.
    pub fn max(&mut self, other: Self) {
        for (cause, count) in other.0 {
            let known = self.0.entry(cause).or_default();
            *known = count.max(*known);
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `5 no-page, 3 overwritten`.
    pub fn by_cause(&self) -> String {
        let causes: Vec<_> = self.0.iter().map(|(cause, n)| format!("{n} {cause}")).collect();
        causes.join(", ")
    }
}

/// What a run could not decode.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Records that there are.
    pub records: u64,
    /// Those of them that passed the filter, and lines of other logs that did.
    pub found: u64,
    /// Records that are damaged.
    pub damaged: u64,
    /// Records that weren't chosen for the reader that made the file: no problem.
    pub left_out: u64,
    /// Records that are missing, and may be among those that the filter lets pass: no problem.
    pub missing: Missing,
    /// Records that have no message.
    pub undecoded: Undecoded,
    /// What is wrong with other logs.
    pub log_problems: Vec<String>,
}

impl Outcome {
    /// Whether there is any problem.
    pub fn any(&self) -> bool {
        self.damaged != 0 || self.undecoded.any() || !self.log_problems.is_empty()
    }

    /// Adds what another could not decode.
    pub fn append(&mut self, other: Self) {
        self.records += other.records;
        self.found += other.found;
        self.damaged = self.damaged.saturating_add(other.damaged);
        self.left_out = self.left_out.saturating_add(other.left_out);
        self.missing.append(&other.missing);
        self.undecoded.append(&other.undecoded);
        self.log_problems.extend(other.log_problems);
    }
}

/// Decides which events are entries, and gives these their texts.
pub struct LiveFilter<'f> {
    pub(crate) filter: &'f Filter,
    /// Whether the filter lets pass all records.
    has_all: bool,
    /// Whether it refuses what can't be decoded, wanted or not.
    needs_table: bool,
    /// Whether entries need their messages.
    pub(crate) with_message: bool,
    /// What could not be decoded so far.
    pub undecoded: Undecoded,
    /// Records that passed the filter so far.
    pub shown: u64,
    /// Lines of other logs that did.
    lines: u64,
    /// Losses that did.
    pub missing: Missing,
}

impl<'f> LiveFilter<'f> {
    /// Starts before the first event.
    pub fn new(filter: &'f Filter) -> Self {
        Self {
            filter,
            has_all: !filter.is_by_record(),
            needs_table: filter.needs_table(),
            with_message: true,
            undecoded: Undecoded::default(),
            shown: 0,
            lines: 0,
            missing: Missing::default(),
        }
    }

    /// Whether the filter lets an entry pass, of which the event is known; it gets a text then.
    /// `map` is that of the event's file.
    pub fn entry<'a>(&mut self, entry: &mut Entry<'a>, map: &'a SiteMap) -> bool {
        entry.message.clear();
        (entry.found, entry.raw, entry.is_plain, entry.is_match) = (None, None, false, false);
        if !self.has_all && !self.filter.wants_event(&entry.event, entry.stream, entry.boot) {
            return false;
        }
        match entry.event.kind {
            EventKind::Record { site, version, .. } => self.record(entry, map, site, version),
            // Nobody wanted them.
            EventKind::Loss { cause: Cause::LeftOut, .. } if !self.filter.with_left_out => false,
            // A loss has no level to be filtered by.
            EventKind::Loss { cause, count, .. } => {
                if cause != Cause::LeftOut {
                    self.missing.add(cause, count);
                }
                entry.slots.clear();
                cause.describe(count, &mut entry.message);
                true
            }
            EventKind::Line { .. } => false,
        }
    }

    fn record<'a>(
        &mut self,
        entry: &mut Entry<'a>,
        map: &'a SiteMap,
        id: u32,
        version: Version,
    ) -> bool {
        let filter = self.filter;
        entry.found = map.find(id);
        if !self.has_all && !filter.wants_site(id, entry.found.as_ref()) {
            if self.needs_table && entry.site().is_none() {
                let why = entry.found.map_or(Raw::NoImage, |_| Raw::NoTable);
                self.undecoded.count(why, entry);
            }
            return false;
        }
        entry.locate_arguments(version);
        let is_match = self.has_all || filter.wants_values(entry, false);
        let unknown = entry.raw.filter(|_| self.needs_table);
        if !is_match && !filter.with_context {
            if let Some(raw) = unknown {
                self.undecoded.count(raw, entry);
            }
            return false;
        }
        if self.with_message || !self.has_all || entry.raw.is_some() {
            entry.fill(id);
        }
        entry.is_match = self.has_all
            || is_match && filter.wants_message(&entry.message) && filter.wants_values(entry, true);
        let is_shown = entry.is_match || filter.with_context;
        if let Some(raw) = if is_shown { entry.raw } else { unknown } {
            self.undecoded.count(raw, entry);
        }
        self.shown += u64::from(entry.is_match);
        is_shown
    }

    /// The entry of a line of another log, if the filter lets it pass.
    pub fn line<'a>(&mut self, log: &'a Log) -> Option<Entry<'a>> {
        let mut entry = Entry::line(log)?;
        if !self.filter.wants_line(log.line()?, log.boot()) {
            return None;
        }
        entry.is_match = self.filter.wants_message(&entry.message)
            && self.filter.wants_values(&entry, false)
            && self.filter.wants_values(&entry, true);
        self.lines += u64::from(entry.is_match);
        (entry.is_match || self.filter.with_context).then_some(entry)
    }
}

/// Decodes all events in the order of time.
pub struct Decoder<'a> {
    pub(crate) merge: Merge<'a>,
    pub(crate) boots: &'a [Boot],
    pub(crate) maps: &'a [SiteMap],
    pub(crate) live: LiveFilter<'a>,
    /// The entry that it is at.
    pub(crate) entry: Option<Entry<'a>>,
    logs: Vec<Log>,
    threads: usize,
    pub(crate) tick: Option<Box<dyn FnMut(u64)>>,
    /// How many records and losses are done.
    pub(crate) done: u64,
}

/// It reports how far it is after so many records or losses.
const TICK: u64 = 4096;

impl<'a> Decoder<'a> {
    /// Starts before the first event. `maps` and `boots` are by file.
    pub fn new(
        files: &'a [Snapshot],
        streams: impl IntoIterator<Item = &'a Stream>,
        boots: &'a [Boot],
        maps: &'a [SiteMap],
        filter: &'a Filter,
    ) -> Self {
        Self {
            merge: Merge::new(files, streams, boots),
            boots,
            maps,
            live: LiveFilter::new(filter),
            entry: None,
            logs: Vec::new(),
            threads: 1,
            tick: None,
            done: 0,
        }
    }

    /// Tells `tick` now and then, how many records and losses are done. It is dropped at the end.
    pub fn with_tick(mut self, tick: impl FnMut(u64) + 'static) -> Self {
        self.tick = Some(Box::new(tick));
        self
    }

    /// Has so many other threads decode, if it is more than one and there are no other logs.
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Puts lines of other logs between the records, by time. What is chosen by time, or by boot, has no
    /// lines of boots whose time isn't known.
    pub fn with_logs(mut self, mut logs: Vec<Log>) -> Self {
        let filter = self.live.filter;
        if filter.is_by_time() || filter.boots.is_some() {
            logs.iter_mut().for_each(Log::leave_out_earlier);
        }
        self.logs = logs;
        self
    }

    /// What came out of each ring so far, by stream.
    pub fn counts(&self) -> impl Iterator<Item = &Counts> {
        self.merge.order.counts()
    }

    /// What could not be decoded so far.
    pub fn undecoded(&self) -> &Undecoded {
        &self.live.undecoded
    }

    /// Records that passed the filter so far.
    pub fn shown(&self) -> u64 {
        self.live.shown
    }

    /// What was not decoded so far.
    pub fn outcome(&self) -> Outcome {
        let sum = |of: fn(&Counts) -> u64| self.counts().map(of).fold(0, u64::saturating_add);
        Outcome {
            records: sum(|c| c.decoded),
            found: self.live.shown + self.live.lines,
            damaged: sum(|c| c.damaged),
            left_out: sum(|c| c.left_out),
            missing: self.live.missing.clone(),
            undecoded: self.undecoded().clone(),
            log_problems: self.logs.iter().flat_map(Log::problems).collect(),
        }
    }

    /// Calls `show` for each entry that the filter lets pass, until it says stop by an error.
    pub fn run<E>(&mut self, mut show: impl FnMut(&Entry<'_>) -> Result<(), E>) -> Result<(), E> {
        if self.threads > 1 && self.logs.is_empty() {
            return self.run_decoded(self.threads, show);
        }
        let result = self.run_here(&mut show);
        self.tick = None;
        result
    }

    fn run_here<E>(&mut self, show: &mut impl FnMut(&Entry<'_>) -> Result<(), E>) -> Result<(), E> {
        while self.advance() {
            let Some(entry) = &self.entry else { break };
            if !self.logs.is_empty() {
                let time = entry.boot.axis(entry.event.clock);
                lines(&mut self.logs, &mut self.live, time, show)?;
            }
            show(entry)?;
        }
        lines(&mut self.logs, &mut self.live, i128::MAX, show)
    }

    /// Goes to the next entry that the filter lets pass; `false`: there are no more.
    pub(crate) fn advance(&mut self) -> bool {
        while let Some(ring) = self.merge.step() {
            self.done += 1;
            if self.done % TICK == 0 {
                if let Some(tick) = &mut self.tick {
                    tick(self.done);
                }
            }
            let Some(event) = self.merge.order.event(ring) else { continue };
            let stream = self.merge.streams[ring];
            let boot = &self.boots[stream.file()];
            let entry = match &mut self.entry {
                Some(entry) => {
                    entry.event.take_from(event);
                    (entry.stream, entry.boot) = (stream, boot);
                    entry
                }
                none => none.insert(Entry::new(stream, boot, event.clone(), Buffers::default())),
            };
            if self.live.entry(entry, &self.maps[entry.event.file]) {
                return true;
            }
        }
        false
    }
}

impl<'a> Iterator for Decoder<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        self.advance().then(|| self.entry.take()).flatten()
    }
}

/// Shows the lines of other logs up to a time.
fn lines<E>(
    logs: &mut [Log],
    live: &mut LiveFilter<'_>,
    until: i128,
    show: &mut impl FnMut(&Entry<'_>) -> Result<(), E>,
) -> Result<(), E> {
    loop {
        let times = logs.iter().enumerate();
        let times = times.filter_map(|(i, log)| Some((log.time()?, i)));
        match times.min() {
            Some((time, i)) if time <= until => {
                if let Some(entry) = live.line(&logs[i]) {
                    show(&entry)?;
                }
                logs[i].advance();
            }
            _ => return Ok(()),
        }
    }
}

impl Entry<'_> {
    /// Finds a record's arguments, or why there are none.
    fn locate_arguments(&mut self, version: Version) {
        let Self { event, found, slots, raw, is_plain, .. } = self;
        let EventKind::Record { payload, .. } = &event.kind else { return };
        let payload = payload.bytes();
        slots.clear();
        *raw = match found {
            None => Some(Raw::NoImage),
            Some(Found { site: None, .. }) => Some(Raw::NoTable),
            Some(Found { site: Some(site), .. }) => match &site.template {
                Ok(template) if template.locate_arguments(payload, version, slots) => {
                    *is_plain = template.is_plain();
                    return;
                }
                // No call with arguments writes such a record.
                Ok(_) if payload.is_empty() => Some(Raw::Withheld),
                Ok(_) => Some(Raw::Short),
                Err(_) => Some(Raw::BadSite),
            },
        };
        slots.clear();
    }

    /// Makes a record's message; where that is impossible, a hex dump that says why.
    fn fill(&mut self, id: u32) {
        let Self { event, found, slots, message: out, raw, .. } = self;
        let EventKind::Record { payload, .. } = &event.kind else { return };
        let payload = payload.bytes();
        // Writing to a Vec doesn't fail.
        let _ = match found {
            None => write!(out, "<site {id} is in no image>"),
            // Which table that is, the end says once.
            Some(Found { image, index, site: None, .. }) => {
                write!(out, "<site {index} of {}, no side table>", image.name)
            }
            Some(Found { site: Some(site), .. }) => match (&site.template, *raw) {
                (Ok(template), None) => return template.print(payload, slots, out),
                (Ok(_), Some(Raw::Withheld)) => write!(out, "<{:?}: withheld>", site.format),
                (Ok(_), _) => write!(out, "<{:?}: payload too short>", site.format),
                (Err(e), _) => write!(out, "<{:?}: {e}>", site.format),
            },
        };
        digits::push_hex(out, payload, b" ");
    }
}
