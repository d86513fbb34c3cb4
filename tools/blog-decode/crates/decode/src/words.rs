// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Finds last words in text, whatever is around them; `blog/parts/words/format.rs` describes their lines.
//!
//! [`Scan`] takes text in pieces: consoles, kernel logs, journals. `transport/` undoes what happened
//! to its lines on their way, and a line may be broken anywhere. Of an event, all lines that have
//! arrived become one stream, in memory: see [`Event::stream`].

use std::{
    collections::{BTreeMap, HashSet},
    io::Read,
};

use base64::{engine::general_purpose::STANDARD_NO_PAD, Engine};
use flate2::read::DeflateDecoder;

use crate::{
    snapshot::{split, ALIGN, SECTION_HEADER},
    transport::Lines,
    wire::{
        file::{Kind, SectionHeader, FILE_MAGIC, SECTION_MAGIC},
        page::{PageInfo, SEQ_MASK},
        words::{Head, Why, LINE_MAX, MARK, RAW_MAX},
    },
};

/// Colons in a line after [`MARK`], and the digits after the last one.
const COLONS: usize = 4;
const CRC: usize = 8;
/// A line is of one of so many events before.
const NEAR: usize = 64;

/// The last words of one event.
pub struct Event {
    /// Of its first line that has arrived.
    pub head: Head,
    /// Data of lines by their number.
    lines: BTreeMap<u8, Vec<u8>>,
}

impl Event {
    /// Lines that have not arrived.
    pub fn missing(&self) -> usize {
        usize::from(self.head.count).saturating_sub(self.lines.len())
    }

    /// A stream of all that has arrived: what describes the rings, then their pages, the oldest first.
    pub fn stream(&self) -> Vec<u8> {
        let (mut out, mut first, mut pages) = (Vec::new(), Vec::new(), Vec::new());
        // Each line says again what its ring is.
        let mut known = HashSet::new();
        for line in self.lines.values() {
            let mut rest = &line[..];
            if let Some((len, _)) =
                rest.starts_with(&FILE_MAGIC).then(|| split::file_header(rest).ok()).flatten()
            {
                let header;
                (header, rest) = rest.split_at(len.min(rest.len()));
                if out.is_empty() {
                    out.extend_from_slice(header);
                }
            }
            while let Some((kind, section, after)) = section(rest) {
                match page_key(kind, section) {
                    Some(key) => pages.push((key, section.to_vec())),
                    None if known.insert(&section[SECTION_HEADER..]) => {
                        first.push(section.to_vec())
                    }
                    None => {}
                }
                rest = after;
            }
        }
        pages.sort_by_key(|(key, _)| *key);
        let all = first.into_iter().chain(pages.into_iter().map(|(_, page)| page));
        for (index, mut section) in (0..).zip(all) {
            split::seal(&mut section, index);
            out.extend_from_slice(&section);
        }
        out
    }
}

/// The section that `bytes` starts with, its kind, and what comes after it.
fn section(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let header = SectionHeader::read(bytes)?;
    let len = usize::try_from(header.len).ok()?.checked_next_multiple_of(ALIGN as usize)?;
    let (section, rest) = bytes.split_at_checked(len.checked_add(SECTION_HEADER)?)?;
    (header.magic == SECTION_MAGIC).then_some((header.kind, section, rest))
}

/// The place of a page among others.
fn page_key(kind: u16, section: &[u8]) -> Option<(u64, u64, u64)> {
    const IDS: usize = 8;
    if Kind::from_u16(kind) != Some(Kind::Page) {
        return None;
    }
    let (ids, page) = section.get(SECTION_HEADER..)?.split_first_chunk::<IDS>()?;
    let info = PageInfo::read(page)?;
    Some((u64::from_le_bytes(*ids), info.seq & SEQ_MASK, info.first))
}

/// A line of the text that is longer is taken in pieces.
const TEXT_MAX: usize = 64 << 10;

/// Looks for last words in text that comes in pieces.
#[derive(Default)]
pub struct Scan {
    /// In the order in which they begin.
    pub events: Vec<Event>,
    /// Lines that begin as ours and are damaged.
    pub damaged: u64,
    /// The start of a line of the text, and the lines that are whole.
    text: Vec<u8>,
    texts: Lines,
    /// What may be one of our lines: at least a part of [`MARK`].
    line: Vec<u8>,
    /// Colons in it, after [`MARK`], and where the last one is.
    colons: usize,
    last: usize,
    /// How much of another [`MARK`] stands at its end.
    again: usize,
}

impl Scan {
    /// Takes the next piece.
    pub fn feed(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|b| *b == b'\n') {
            for part in part.chunks(TEXT_MAX) {
                self.text.extend_from_slice(part);
                if self.text.ends_with(b"\n") || self.text.len() >= TEXT_MAX {
                    self.text();
                }
            }
        }
    }

    /// All text was there.
    pub fn end(&mut self) {
        self.text();
        self.texts.end();
        self.letters();
        self.give_up();
    }

    /// A line of the text is whole.
    fn text(&mut self) {
        let text = self.text.strip_suffix(b"\n").unwrap_or(&self.text);
        self.texts.push(text);
        self.text.clear();
        self.letters();
    }

    fn letters(&mut self) {
        while let Some(line) = self.texts.next() {
            // A screen's blanks are around a piece of a line that it has broken.
            let letters = line.logged().trim_ascii().iter();
            letters.filter(|b| **b != b'\r').for_each(|b| self.take(*b));
        }
    }

    /// Takes a letter. Line ends are none, as whatever shows a line may break it; the line that
    /// comes next begins with something that can't be in ours, or with ours.
    fn take(&mut self, byte: u8) {
        let is_ours = byte.is_ascii_alphanumeric() || b"+/:-".contains(&byte);
        if !is_ours || self.line.len() >= LINE_MAX {
            self.give_up();
        }
        if self.line.len() < MARK.len() {
            match MARK.get(self.line.len()) {
                Some(next) if *next == byte => self.line.push(byte),
                // No other letter of it is its first one.
                _ => {
                    self.line.clear();
                    self.line.extend((byte == MARK[0]).then_some(byte));
                }
            }
            return;
        }
        self.line.push(byte);
        self.again = match MARK[self.again] == byte {
            true => self.again + 1,
            false => usize::from(MARK[0] == byte),
        };
        if self.again == MARK.len() {
            // The one before was cut off.
            return self.give_up();
        }
        if byte == b':' {
            self.colons += 1;
            self.last = self.line.len() - 1;
        }
        if self.colons == COLONS && self.line.len() == self.last + 1 + CRC {
            if let Some((head, data)) = parse(&self.line, self.last) {
                self.add(head, data);
                self.line.clear();
                self.again = 0;
            }
            self.give_up();
        }
    }

    /// What was taken is no line, but the next one may have begun at its end.
    fn give_up(&mut self) {
        self.damaged += u64::from(self.line.len() >= MARK.len());
        self.line.clear();
        self.line.extend_from_slice(&MARK[..self.again]);
        (self.colons, self.last, self.again) = (0, 0, 0);
    }

    fn add(&mut self, head: Head, data: Vec<u8>) {
        let is_it = |event: &&mut Event| {
            let ours = event.head;
            (ours.why, ours.tag, ours.count) == (head.why, head.tag, head.count)
        };
        // Those of an event are near each other.
        let event = match self.events.iter_mut().rev().take(NEAR).find(is_it) {
            Some(event) => event,
            None => {
                let lines = BTreeMap::new();
                self.events.push(Event { head, lines });
                let Some(event) = self.events.last_mut() else {
                    return;
                };
                event
            }
        };
        event.lines.entry(head.number).or_insert(data);
    }
}

/// Reads a line, whose last colon is at `last`.
fn parse(line: &[u8], last: usize) -> Option<(Head, Vec<u8>)> {
    let crc = format!("{:08x}", crc32fast::hash(&line[..last]));
    if line.get(last + 1..)? != crc.as_bytes() {
        return None;
    }
    let mut fields = line[MARK.len()..last].split(|b| *b == b':');
    let (why, numbers, tag, data) =
        (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let &[number @ b'1'..=b'9', b'/', count @ b'1'..=b'9'] = numbers else {
        return None;
    };
    let mut all = Why::ALL.into_iter();
    let why = all.find(|known| known.name().as_bytes() == why)?;
    let tag = u32::from_str_radix(std::str::from_utf8(tag).ok()?, 16).ok()?;
    let packed = STANDARD_NO_PAD.decode(data).ok()?;
    let mut raw = Vec::new();
    let mut inflated = DeflateDecoder::new(&packed[..]).take(RAW_MAX as u64 + 1);
    inflated.read_to_end(&mut raw).ok()?;
    let head = Head { why, number: number - b'0', count: count - b'0', tag };
    (raw.len() <= RAW_MAX && head.number <= head.count).then_some((head, raw))
}
