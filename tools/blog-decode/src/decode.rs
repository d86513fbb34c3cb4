// SPDX-License-Identifier: GPL-2.0

//! From an event to what is printed: looks up the site, prints the message, filters.
//!
//! [`Decoder::next`] is the library's main entry for programs that want decoded records; the CLI
//! is a loop over it. It reuses its buffers: a record costs no allocation.

use std::collections::HashMap;

use regex::bytes::Regex;

use crate::{
    clock::Calibration,
    format::template::Slot,
    merge::{
        Cause,
        Counts,
        Event,
        Merge,
        Stream,
        What, //
    },
    record::Writer,
    sidetable::{
        Found,
        SiteMap, //
    },
    snapshot::Snapshot, //
};

/// Which records are wanted. The default is all.
#[derive(Default)]
pub struct Filter {
    /// Names of components; empty is all.
    pub components: Vec<String>,
    /// The least important level that is shown.
    pub level: Option<u8>,
    /// Thread or process ids; empty is all.
    pub pids: Vec<i32>,
    /// Earliest time.
    pub since: Option<Instant>,
    /// Latest time.
    pub until: Option<Instant>,
    /// What the message must match.
    pub grep: Option<Regex>,
}

/// A time that a user has named, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instant {
    /// Since boot.
    Boot(i128),
    /// Since 1970.
    Real(i128),
    /// Before the snapshot was taken.
    BeforeEnd(i128),
}

impl Filter {
    /// Whether a component is wanted.
    pub fn wants_component(&self, name: &str) -> bool {
        self.components.is_empty() || self.components.iter().any(|c| c == name)
    }

    fn wants_writer(&self, event: &Event<'_>) -> bool {
        if self.pids.is_empty() {
            return true;
        }
        match event.writer.task {
            Some(t) => self.pids.contains(&t.pid) || self.pids.contains(&t.tgid),
            // They may have been anyone's.
            None => matches!(event.what, What::Loss { .. }) && event.stream.shared().is_some(),
        }
    }

    fn wants_time(&self, clock: u64, c: &Calibration) -> bool {
        let cmp = |limit: Instant| match limit {
            Instant::Boot(ns) => c.boot(clock).cmp(&ns),
            Instant::Real(ns) => c.real(clock).cmp(&ns),
            Instant::BeforeEnd(ns) => {
                let end = c.taken().map_or(0, |p| i128::from(p.boot));
                c.boot(clock).cmp(&(end - ns))
            }
        };
        self.since.is_none_or(|t| cmp(t).is_ge()) && self.until.is_none_or(|t| cmp(t).is_le())
    }
}

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
}

/// A line of output.
pub struct Entry<'a> {
    /// The ring.
    pub stream: &'a Stream,
    /// Full clock.
    pub clock: u64,
    /// Converts the clock.
    pub calibration: &'a Calibration,
    /// Who wrote it.
    pub writer: Writer,
    /// Record or loss.
    pub content: Content<'a>,
}

/// What could not be decoded, for the summary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undecoded {
    /// Records of each image without a table: (image name, build ID) and count.
    pub no_table: Vec<((String, String), u64)>,
    /// Index into `no_table` by file and image.
    images: HashMap<(usize, usize), usize>,
    /// Index into `no_table` by its key.
    names: HashMap<(String, String), usize>,
    /// Records of sites that no image has.
    pub no_image: u64,
    /// Records with a format string or type that cannot be understood.
    pub bad_site: u64,
    /// Records that are too short.
    pub short: u64,
}

impl Undecoded {
    /// Whether there is any.
    pub fn any(&self) -> bool {
        *self != Self::default()
    }

    /// How many there are.
    pub fn sum(&self) -> u64 {
        let no_table: u64 = self.no_table.iter().map(|(_, n)| n).sum();
        no_table + self.no_image + self.bad_site + self.short
    }

    fn count(&mut self, raw: Raw, file: usize, found: Option<&Found<'_>>) {
        match (raw, found) {
            (Raw::NoTable, Some(found)) => {
                let (all, names) = (&mut self.no_table, &mut self.names);
                let index = *self
                    .images
                    .entry((file, found.image_index))
                    .or_insert_with(|| {
                        let image = found.image;
                        let key = (image.name.clone(), image.build_id.clone());
                        // Another file may have had the same image.
                        *names.entry(key.clone()).or_insert_with(|| {
                            all.push((key, 0));
                            all.len() - 1
                        })
                    });
                self.no_table[index].1 += 1;
            }
            (Raw::BadSite, _) => self.bad_site += 1,
            (Raw::Short, _) => self.short += 1,
            _ => self.no_image += 1,
        }
    }
}

/// Decodes all events in the order of time.
pub struct Decoder<'a> {
    merge: Merge<'a>,
    calibrations: &'a [Calibration],
    maps: &'a [SiteMap],
    filter: &'a Filter,
    /// What could not be decoded so far.
    pub undecoded: Undecoded,
    /// Records that passed the filter so far.
    pub shown: u64,
}

impl<'a> Decoder<'a> {
    /// Starts before the first event. `maps` and `calibrations` are by file.
    pub fn new(
        files: &'a [Snapshot],
        streams: &'a [Stream],
        calibrations: &'a [Calibration],
        maps: &'a [SiteMap],
        filter: &'a Filter,
    ) -> Self {
        Self {
            merge: Merge::new(files, streams, calibrations),
            calibrations,
            maps,
            filter,
            undecoded: Undecoded::default(),
            shown: 0,
        }
    }

    /// What came out of each ring so far, by stream.
    pub fn counts(&self) -> impl Iterator<Item = &Counts> {
        self.merge.counts()
    }

    /// Calls `show` for each entry that the filter lets pass, until it says stop by an error.
    pub fn run<E>(&mut self, mut show: impl FnMut(&Entry<'_>) -> Result<(), E>) -> Result<(), E> {
        let (mut message, mut slots) = (Vec::new(), Vec::new());
        while let Some(event) = self.merge.next() {
            let Event {
                stream,
                clock,
                writer,
                ..
            } = event;
            let calibration = &self.calibrations[stream.file];
            if !self.filter.wants_writer(&event) || !self.filter.wants_time(clock, calibration) {
                continue;
            }
            let content = match event.what {
                // A loss has no text and no level to be filtered by.
                What::Loss { cause, count } => Content::Loss { cause, count },
                What::Record {
                    site: id,
                    ordinal,
                    payload,
                } => {
                    let found = self.maps[event.file].find(id);
                    let level = found.as_ref().and_then(|f| f.site).map(|s| s.level);
                    if let (Some(level), Some(max)) = (level, self.filter.level) {
                        if level > max {
                            continue;
                        }
                    }
                    message.clear();
                    slots.clear();
                    let raw = print(found.as_ref(), id, payload, &mut slots, &mut message);
                    if self
                        .filter
                        .grep
                        .as_ref()
                        .is_some_and(|g| !g.is_match(&message))
                    {
                        continue;
                    }
                    if let Some(raw) = raw {
                        self.undecoded.count(raw, event.file, found.as_ref());
                    }
                    self.shown += 1;
                    Content::Record(Record {
                        id,
                        ordinal,
                        found,
                        payload,
                        slots: &slots,
                        message: &message,
                        raw,
                    })
                }
            };
            show(&Entry {
                stream,
                clock,
                calibration,
                writer,
                content,
            })?;
        }
        Ok(())
    }
}

/// Prints a record's message; where that is impossible, a hex dump that says why.
fn print(
    found: Option<&Found<'_>>,
    id: u32,
    payload: &[u8],
    slots: &mut Vec<Slot>,
    out: &mut Vec<u8>,
) -> Option<Raw> {
    let (raw, why) = match found {
        None => (Raw::NoImage, format!("site {id} is in no image")),
        Some(Found {
            image,
            index,
            site: None,
            ..
        }) => {
            let (name, id) = (&image.name, &image.build_id);
            let why = match image.build_id.as_str() {
                "" => format!("site {index} of {name}, which has no build ID"),
                _ => format!("site {index} of {name}, side table of build ID {id} needed"),
            };
            (Raw::NoTable, why)
        }
        Some(Found {
            site: Some(site), ..
        }) => match &site.template {
            Ok(template) if template.cut(payload, slots) => {
                template.print(payload, slots, out);
                return None;
            }
            Ok(_) => (Raw::Short, format!("{:?}: payload too short", site.format)),
            Err(e) => (Raw::BadSite, format!("{:?}: {e}", site.format)),
        },
    };
    slots.clear();
    out.extend_from_slice(format!("<{why}>").as_bytes());
    for b in payload {
        out.extend_from_slice(format!(" {b:02x}").as_bytes());
    }
    Some(raw)
}
