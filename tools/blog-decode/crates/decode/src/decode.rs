// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! From an event to its text: looks up the site, prints the message, filters.
//!
//! [`Decoder::run`] is the library's main entry for programs that want decoded records; a
//! [`Sieve`] does it event by event. It reuses its buffers: a record costs no allocation.

use std::{
    collections::{BTreeMap, HashMap},
    io::Write,
};

use crate::{
    boot::Boot,
    digits,
    field::Subject,
    foreign::Log,
    format::template::{Slot, Template},
    merge::{Cause, Counts, Event, Merge, Span, Stream, What},
    record::{Version, Writer},
    sidetable::{Found, SiteMap},
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

/// What an [`Entry`] is.
pub enum Content<'a> {
    /// A record.
    Record(Record<'a>),
    /// Records are missing.
    Loss {
        /// Why.
        cause: Cause,
        /// How many.
        count: u64,
        /// Between which clocks.
        span: Span,
    },
    /// A line of another log, which is put between the records.
    Line {
        /// Its level, where it has one.
        level: Option<u8>,
        /// The line.
        message: &'a [u8],
    },
}

/// A record with its site.
pub struct Record<'a> {
    /// Site id.
    pub id: u32,
    /// Ordinal in its ring, from 0.
    pub ordinal: u64,
    /// Image and site.
    pub found: Option<Found<'a>>,
    /// The bytes of its arguments.
    pub payload: &'a [u8],
    /// Where the arguments are in `payload`; empty if `raw`.
    pub slots: &'a [Slot],
    /// The message, in UTF-8.
    pub message: &'a [u8],
    /// If the message is no more than a hex dump: why.
    pub raw: Option<Raw>,
    /// Whether the message is printable ASCII that nothing has to escape.
    pub is_plain: bool,
}

/// A line of output.
pub struct Entry<'a> {
    /// The ring.
    pub stream: &'a Stream,
    /// The boot that it is of, which converts the clock.
    pub boot: &'a Boot,
    /// Full clock.
    pub clock: u64,
    /// The writer.
    pub writer: &'a Writer,
    /// Record or loss.
    pub content: Content<'a>,
    /// `false`: a record that is only there as the context of others. Losses are.
    pub is_match: bool,
}

impl Entry<'_> {
    /// When it was written, in ns since 1970, UTC.
    pub fn real(&self) -> i128 {
        self.boot.calibration.real(self.clock)
    }

    /// What fields are asked of: a record, or a line. A loss has none.
    pub fn subject(&self) -> Option<Subject<'_>> {
        let (level, id, found, payload, slots, message) = match &self.content {
            Content::Record(r) => (None, r.id, r.found.as_ref(), r.payload, r.slots, r.message),
            Content::Line { level, message } => (*level, 0, None, &[][..], &[][..], *message),
            Content::Loss { .. } => return None,
        };
        Some(Subject {
            stream: self.stream,
            boot: self.boot,
            writer: self.writer,
            level,
            id,
            found,
            payload,
            slots,
            message,
        })
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

    fn count(&mut self, raw: Raw, file: usize, found: Option<&Found<'_>>) {
        match (raw, found) {
            (Raw::NoTable, Some(found)) => {
                let image = (file, found.image_index);
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

/// Makes an entry of each event that a filter lets pass.
pub struct Sieve<'a> {
    pub(crate) filter: &'a Filter,
    /// Whether the filter lets pass all records.
    has_all: bool,
    /// Whether it refuses what can't be decoded, wanted or not.
    needs_table: bool,
    message: Vec<u8>,
    slots: Vec<Slot>,
    /// What could not be decoded so far.
    pub undecoded: Undecoded,
    /// Records that passed the filter so far.
    pub shown: u64,
    /// Lines of other logs that did.
    lines: u64,
    /// Losses that did.
    pub missing: Missing,
}

impl<'a> Sieve<'a> {
    /// Starts before the first event.
    pub fn new(filter: &'a Filter) -> Self {
        Self {
            filter,
            has_all: !filter.is_by_record(),
            needs_table: filter.needs_table(),
            message: Vec::new(),
            slots: Vec::new(),
            undecoded: Undecoded::default(),
            shown: 0,
            lines: 0,
            missing: Missing::default(),
        }
    }

    /// Calls `show` with the event's entry, if the filter lets it pass. `map` is that of the event's
    /// file, `boot` that of its ring's.
    pub fn event<E>(
        &mut self,
        event: &Event<'_>,
        map: &SiteMap,
        boot: &Boot,
        show: &mut impl FnMut(&Entry<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let &Event { stream, clock, writer, .. } = event;
        if !self.has_all && !self.filter.wants_event(event, boot) {
            return Ok(());
        }
        match event.what {
            // Nobody wanted them.
            What::Loss { cause: Cause::LeftOut, .. } if !self.filter.with_left_out => Ok(()),
            // A loss has no text and no level to be filtered by.
            What::Loss { cause, count, span } => {
                if cause != Cause::LeftOut {
                    self.missing.add(cause, count);
                }
                show(&Entry {
                    stream,
                    boot,
                    clock,
                    writer,
                    content: Content::Loss { cause, count, span },
                    is_match: false,
                })
            }
            What::Record { site: id, ordinal, version, payload } => {
                let found = map.find(id);
                if !self.has_all && !self.filter.wants_site(id, found.as_ref()) {
                    if self.needs_table && found.as_ref().is_none_or(|f| f.site.is_none()) {
                        let why = found.as_ref().map_or(Raw::NoImage, |_| Raw::NoTable);
                        self.undecoded.count(why, event.file, found.as_ref());
                    }
                    return Ok(());
                }
                let raw = cut(found.as_ref(), version, payload, &mut self.slots);
                self.message.clear();
                let slots = &self.slots;
                let subject = |message| Subject {
                    stream,
                    boot,
                    writer,
                    level: None,
                    id,
                    found: found.as_ref(),
                    payload,
                    slots,
                    message,
                };
                let is_match = self.has_all || self.filter.wants_values(&subject(&[]), false);
                let unknown = raw.filter(|_| self.needs_table);
                if !is_match && !self.filter.with_context {
                    if let Some(raw) = unknown {
                        self.undecoded.count(raw, event.file, found.as_ref());
                    }
                    return Ok(());
                }
                print(found.as_ref(), id, payload, slots, raw, &mut self.message);
                let is_match = self.has_all
                    || is_match
                        && self.filter.wants_message(&self.message)
                        && self.filter.wants_values(&subject(&self.message), true);
                let is_shown = is_match || self.filter.with_context;
                if let Some(raw) = if is_shown { raw } else { unknown } {
                    self.undecoded.count(raw, event.file, found.as_ref());
                }
                if !is_shown {
                    return Ok(());
                }
                self.shown += u64::from(is_match);
                let site = found.as_ref().and_then(|f| f.site);
                let template = site.and_then(|s| s.template.as_ref().ok());
                // Made in its place: what is moved bit by bit is waited for.
                show(&Entry {
                    stream,
                    boot,
                    clock,
                    writer,
                    content: Content::Record(Record {
                        id,
                        ordinal,
                        found,
                        payload,
                        slots: &self.slots,
                        message: &self.message,
                        raw,
                        is_plain: raw.is_none() && template.is_some_and(Template::is_plain),
                    }),
                    is_match,
                })
            }
        }
    }

    /// Calls `show` with the entry of a line of another log, if the filter lets it pass.
    pub fn line<E>(
        &mut self,
        log: &Log,
        show: &mut impl FnMut(&Entry<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(line) = log.line() else {
            return Ok(());
        };
        if !self.filter.wants_line(line, log.boot()) {
            return Ok(());
        }
        let subject = Subject {
            stream: log.stream(),
            boot: log.boot(),
            writer: &line.writer,
            level: line.level,
            id: 0,
            found: None,
            payload: &[],
            slots: &[],
            message: &line.message,
        };
        let is_match = self.filter.wants_message(&line.message)
            && self.filter.wants_values(&subject, false)
            && self.filter.wants_values(&subject, true);
        if !is_match && !self.filter.with_context {
            return Ok(());
        }
        self.lines += u64::from(is_match);
        show(&Entry {
            stream: log.stream(),
            boot: log.boot(),
            clock: line.time,
            writer: &line.writer,
            content: Content::Line { level: line.level, message: &line.message },
            is_match,
        })
    }
}

/// Decodes all events in the order of time.
pub struct Decoder<'a> {
    pub(crate) merge: Merge<'a>,
    pub(crate) boots: &'a [Boot],
    pub(crate) maps: &'a [SiteMap],
    pub(crate) sieve: Sieve<'a>,
    logs: Vec<Log>,
    threads: usize,
    pub(crate) tick: Option<Box<dyn FnMut(u64)>>,
}

/// It reports how far it is after so many records or losses.
const TICK: u64 = 4096;

impl<'a> Decoder<'a> {
    /// Starts before the first event. `maps` and `boots` are by file.
    pub fn new(
        files: &'a [Snapshot],
        streams: &'a [Stream],
        boots: &'a [Boot],
        maps: &'a [SiteMap],
        filter: &'a Filter,
    ) -> Self {
        Self {
            merge: Merge::new(files, streams, boots),
            boots,
            maps,
            sieve: Sieve::new(filter),
            logs: Vec::new(),
            threads: 1,
            tick: None,
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
        let filter = self.sieve.filter;
        if filter.is_by_time() || filter.boots.is_some() {
            logs.iter_mut().for_each(Log::leave_out_earlier);
        }
        self.logs = logs;
        self
    }

    /// What came out of each ring so far, by stream.
    pub fn counts(&self) -> impl Iterator<Item = &Counts> {
        self.merge.counts()
    }

    /// What could not be decoded so far.
    pub fn undecoded(&self) -> &Undecoded {
        &self.sieve.undecoded
    }

    /// Records that passed the filter so far.
    pub fn shown(&self) -> u64 {
        self.sieve.shown
    }

    /// What was not decoded so far.
    pub fn outcome(&self) -> Outcome {
        let sum = |of: fn(&Counts) -> u64| self.counts().map(of).fold(0, u64::saturating_add);
        Outcome {
            records: sum(|c| c.decoded),
            found: self.sieve.shown + self.sieve.lines,
            damaged: sum(|c| c.damaged),
            left_out: sum(|c| c.left_out),
            missing: self.sieve.missing.clone(),
            undecoded: self.undecoded().clone(),
            log_problems: self.logs.iter().flat_map(Log::problems).collect(),
        }
    }

    /// Calls `show` for each entry that the filter lets pass, until it says stop by an error.
    pub fn run<E>(&mut self, mut show: impl FnMut(&Entry<'_>) -> Result<(), E>) -> Result<(), E> {
        if self.threads > 1 && self.logs.is_empty() {
            return self.run_decoded(self.threads, show);
        }
        let (mut tick, mut done) = (self.tick.take(), 0);
        while let Some(event) = self.merge.next() {
            done += 1;
            if done % TICK == 0 {
                if let Some(tick) = &mut tick {
                    tick(done);
                }
            }
            let boot = &self.boots[event.stream.file];
            if !self.logs.is_empty() {
                let time = boot.axis(event.clock);
                lines(&mut self.logs, &mut self.sieve, time, &mut show)?;
            }
            let map = &self.maps[event.file];
            self.sieve.event(&event, map, boot, &mut show)?;
        }
        lines(&mut self.logs, &mut self.sieve, i128::MAX, &mut show)
    }
}

/// Shows the lines of other logs up to a time.
fn lines<E>(
    logs: &mut [Log],
    sieve: &mut Sieve<'_>,
    until: i128,
    show: &mut impl FnMut(&Entry<'_>) -> Result<(), E>,
) -> Result<(), E> {
    loop {
        let times = logs.iter().enumerate();
        let times = times.filter_map(|(i, log)| Some((log.time()?, i)));
        match times.min() {
            Some((time, i)) if time <= until => {
                sieve.line(&logs[i], show)?;
                logs[i].advance();
            }
            _ => return Ok(()),
        }
    }
}

/// Finds a record's arguments; the answer is why there are none.
fn cut(
    found: Option<&Found<'_>>,
    version: Version,
    payload: &[u8],
    slots: &mut Vec<Slot>,
) -> Option<Raw> {
    slots.clear();
    let raw = match found {
        None => Raw::NoImage,
        Some(Found { site: None, .. }) => Raw::NoTable,
        Some(Found { site: Some(site), .. }) => match &site.template {
            Ok(template) if template.cut(payload, version, slots) => return None,
            // No call with arguments writes such a record.
            Ok(_) if payload.is_empty() => Raw::Withheld,
            Ok(_) => Raw::Short,
            Err(_) => Raw::BadSite,
        },
    };
    slots.clear();
    Some(raw)
}

/// Prints a record's message; where that is impossible, a hex dump that says why.
fn print(
    found: Option<&Found<'_>>,
    id: u32,
    payload: &[u8],
    slots: &[Slot],
    raw: Option<Raw>,
    out: &mut Vec<u8>,
) {
    // Writing to a Vec doesn't fail.
    let _ = match found {
        None => write!(out, "<site {id} is in no image>"),
        Some(Found { image, index, site: None, .. }) => {
            // Which table that is, the end says once.
            out.extend_from_slice(b"<site ");
            digits::push(out, (*index).into());
            let rest = [" of ", &image.name, ", no side table>"];
            rest.iter().for_each(|s| out.extend_from_slice(s.as_bytes()));
            Ok(())
        }
        Some(Found { site: Some(site), .. }) => match &site.template {
            Ok(template) if raw.is_none() => return template.print(payload, slots, out),
            Ok(_) if raw == Some(Raw::Withheld) => write!(out, "<{:?}: withheld>", site.format),
            Ok(_) => write!(out, "<{:?}: payload too short>", site.format),
            Err(e) => write!(out, "<{:?}: {e}>", site.format),
        },
    };
    digits::push_hex(out, payload, b" ");
}
