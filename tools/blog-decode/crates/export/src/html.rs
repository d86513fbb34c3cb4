// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Entries as a report: one HTML file that needs nothing else, and no network.
//!
//! `report.html`, `report.css` and `report.js` are the page. Its data are two streams, packed by
//! gzip and written as base64. The first one is text: for each record and loss, where its arguments
//! are in the message, and the message. It is written as entries come. The second one has columns,
//! which are in memory until then, about 20 bytes for an entry:
//!
//! | column | of each | is |
//! |---|---|---|
//! | times | entry | ns since the first, as a double |
//! | lengths | span | ns of time awake, as a double |
//! | ends | entry | end of its message in the text, `u32` |
//! | first, last | span | its two entries, `u32` |
//! | lanes, sites | entry | index in the lists of the page, `u16` or `u32` ([`wide`]) |
//!
//! A lane is a component in a thread or context. Spans are sorted by their starts, those of a kind
//! together.
//!
//! Messages are data from a driver. The page shows them as text only, and may load nothing.

use std::{
    collections::HashMap,
    io::{self, Write},
    mem,
    ops::Range,
    sync::Arc,
    thread::Scope,
};

use base64::{
    engine::general_purpose::{GeneralPurpose, STANDARD},
    write::EncoderWriter,
};
use flate2::{write::GzEncoder, Compression};

use blog_decode_core::{
    batch::Coded,
    decode::Entry,
    merge::EventKind,
    output::{
        context,
        json::{list, Object},
        text::{escape_lines, escape_name},
    },
    queue::Queue,
    spans::{lanes, Found, Pair, Spans},
};

const PAGE: &str = include_str!("report.html");
/// What goes into places of the page, in this order; then the data.
const SOURCES: [(&str, &str); 2] =
    [("@STYLE@", include_str!("report.css")), ("@SCRIPT@", include_str!("report.js"))];
const TEXT: &str = "@TEXT@";
const COLUMNS: &str = "@COLUMNS@";
const ABOUT: &str = "@ABOUT@";
/// Bytes in each part of a stream: no browser has longer strings than 512 MiB.
const PART: usize = 48 << 20;
const SECOND: i128 = 1_000_000_000;
/// Level of a loss, for the page.
const LOST: i32 = -1;
/// A number in front of a message that has three more digits, of base 128, instead of one.
const LONG: usize = 127;
/// The place of what isn't there: no message is so long.
const NOWHERE: usize = (1 << 21) - 1;

/// Base64, in scripts that are not too long.
struct Parts<W: Write> {
    class: &'static str,
    out: Option<EncoderWriter<'static, GeneralPurpose, W>>,
    left: usize,
}

impl<W: Write> Parts<W> {
    /// Writes to what is within a script of this class.
    fn new(class: &'static str, out: W) -> Self {
        Self { class, out: Some(EncoderWriter::new(out, &STANDARD)), left: PART }
    }

    fn end(&mut self) -> io::Result<W> {
        let out = self.out.take().map(|mut out| out.finish());
        out.unwrap_or_else(|| Err(io::Error::other("written to after its end")))
    }
}

impl<W: Write> Write for Parts<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.left == 0 {
            let mut out = self.end()?;
            write!(out, "</script>\n<script type=\"text/plain\" class=\"{}\">", self.class)?;
            *self = Self::new(self.class, out);
        }
        let n = bytes.len().min(self.left);
        self.left -= n;
        if let Some(out) = &mut self.out {
            out.write_all(&bytes[..n])?;
        }
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Packs pieces of a stream, of which one is the last.
pub type ReportPacker<'a> = Queue<'a, (Vec<u8>, bool), io::Result<Vec<u8>>>;

/// Starts a packer, by another thread if that is worth it.
pub fn packer<'a: 's, 's>(scope: &'s Scope<'s, '_>, threads: usize) -> ReportPacker<'a> {
    Queue::new(scope, threads.min(1), || {
        let new = || GzEncoder::new(Vec::new(), Compression::fast());
        let mut encoder = new();
        move |(piece, is_last): (Vec<u8>, bool)| {
            encoder.write_all(&piece)?;
            match is_last {
                true => mem::replace(&mut encoder, new()).finish(),
                false => Ok(mem::take(encoder.get_mut())),
            }
        }
    })
}

/// A stream.
struct Packed<'a, W: Write> {
    packer: ReportPacker<'a>,
    parts: Parts<W>,
    /// What waits to be packed.
    piece: Vec<u8>,
}

/// As many bytes are packed at once.
const PIECE: usize = 64 << 10;

impl<'a, W: Write> Packed<'a, W> {
    fn new(class: &'static str, out: W, packer: ReportPacker<'a>) -> Self {
        Self { packer, parts: Parts::new(class, out), piece: Vec::new() }
    }

    fn push(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while self.piece.len() + bytes.len() >= PIECE {
            let (now, later) = bytes.split_at(PIECE - self.piece.len());
            self.piece.extend_from_slice(now);
            bytes = later;
            self.pack(false)?;
        }
        self.piece.extend_from_slice(bytes);
        Ok(())
    }

    fn pack(&mut self, is_last: bool) -> io::Result<()> {
        self.packer.push_to((mem::take(&mut self.piece), is_last), &mut self.parts)
    }

    /// Ends it.
    fn finish(mut self) -> io::Result<(W, ReportPacker<'a>)> {
        self.pack(true)?;
        self.packer.end_to(&mut self.parts)?;
        Ok((self.parts.end()?, self.packer))
    }
}

/// Spans of a kind, as `(first, last)` entries and their lengths.
struct Kind {
    name: String,
    finder: Spans<u32>,
    found: Vec<(u32, u32, u64)>,
}

/// Writes a report.
pub struct Html<'a, W: Write> {
    out: Packed<'a, W>,
    /// What comes after the text.
    columns_at: String,
    text_len: u32,
    times: Vec<f64>,
    lanes: Vec<u32>,
    sites: Vec<u32>,
    ends: Vec<u32>,
    spans: Vec<Kind>,
    start: Option<Start>,
    /// Records that are missing.
    lost: u64,
    /// Entries that have the time of the one before, as theirs is earlier.
    pub moved: u64,
    /// Index by boot, component and context.
    lane_index: HashMap<(usize, Arc<str>, Vec<u8>), u32>,
    lane_list: Vec<Lane>,
    site_index: HashMap<Option<(usize, u32, u8)>, u32>,
    site_list: Vec<Place>,
}

/// What times are counted from.
#[derive(Clone, Copy)]
struct Start {
    /// On the axis.
    time: i128,
    /// Since 1970.
    real: i128,
    /// Whether the axis is real time.
    is_real: bool,
}

/// A component in a thread or context.
struct Lane {
    host: String,
    component: String,
    context: String,
}

/// A call site.
struct Place {
    level: i32,
    line: u32,
    file: String,
    module: String,
    format: String,
    /// Names.
    arguments: Vec<String>,
}

/// What makes the texts of entries: where arguments are in a message, and the message.
#[derive(Default)]
pub struct Places {
    message: Vec<u8>,
    escaped: Vec<u8>,
    /// In the order of the message.
    parts: Vec<(usize, Range<usize>)>,
    /// The same of each argument, escaped.
    of: Vec<Option<Range<usize>>>,
}

impl Places {
    /// Appends the text of an entry.
    pub fn code(&mut self, entry: &Entry<'_>, out: &mut Vec<u8>) {
        if entry.is_record() {
            return self.push(entry, out);
        }
        let start = out.len();
        out.extend_from_slice(&entry.message);
        if !entry.is_loss() {
            escape_lines(out, start);
        }
    }

    /// Appends where the arguments of a record are in its message, and the message.
    fn push(&mut self, r: &Entry<'_>, out: &mut Vec<u8>) {
        let template = r.template();
        let count = template.map_or(0, |t| t.names().len());
        self.of.clear();
        self.of.resize(count, None);
        self.parts.clear();
        self.message.clear();
        if let Some(template) = template.filter(|_| r.raw.is_none()) {
            let parts = &mut self.parts;
            let part = |argument, place| parts.push((argument, place));
            template.print_parts(r.payload(), &r.slots, &mut self.message, part);
        }
        if r.raw.is_some() {
            self.message.extend_from_slice(&r.message);
        }
        // Escaped part by part, so that it is known where they are then.
        let (text, mut done) = (&mut self.escaped, 0);
        text.clear();
        let mut push = |to: usize| {
            let from = text.len();
            text.extend_from_slice(self.message.get(done..to).unwrap_or(&[]));
            done = to;
            if !r.is_plain {
                escape_lines(text, from);
            }
            text.len()
        };
        for (argument, place) in &self.parts {
            let shown = push(place.start)..push(place.end);
            if let Some(of) = self.of.get_mut(*argument) {
                of.get_or_insert(shown);
            }
        }
        push(self.message.len());
        for place in &self.of {
            let place = place.clone().unwrap_or(NOWHERE..NOWHERE);
            number(place.start, out);
            number(place.len(), out);
        }
        out.extend_from_slice(&self.escaped);
    }
}

/// Appends a number, which no message is too long for.
fn number(n: usize, out: &mut Vec<u8>) {
    if n < LONG {
        return out.push(n as u8);
    }
    out.extend([LONG, n >> 14 & 127, n >> 7 & 127, n & 127].map(|digit| digit as u8));
}

impl<'a, W: Write> Html<'a, W> {
    /// Starts a report, which has spans of these kinds.
    pub fn new(mut out: W, pairs: Vec<Pair>, packer: ReportPacker<'a>) -> io::Result<Self> {
        let missing = || io::Error::other("report.html has no place for the data");
        let page = SOURCES
            .iter()
            .fold(PAGE.to_owned(), |page, (place, part)| page.replacen(place, part, 1));
        let (head, tail) = page.split_once(TEXT).ok_or_else(missing)?;
        out.write_all(head.as_bytes())?;
        let kind = |pair: Pair| Kind {
            name: name(&pair.name()),
            finder: Spans::new(pair),
            found: Vec::new(),
        };
        Ok(Self {
            out: Packed::new("text", out, packer),
            columns_at: tail.to_owned(),
            text_len: 0,
            times: Vec::new(),
            lanes: Vec::new(),
            sites: Vec::new(),
            ends: Vec::new(),
            spans: pairs.into_iter().map(kind).collect(),
            start: None,
            lost: 0,
            moved: 0,
            lane_index: HashMap::new(),
            lane_list: Vec::new(),
            site_index: HashMap::new(),
            site_list: Vec::new(),
        })
    }

    /// Adds an entry to the spans. [`Html::add`] is next.
    pub fn span(&mut self, entry: &Entry<'_>) {
        let index = self.times.len() as u32;
        for kind in &mut self.spans {
            let ended = kind.finder.entry(entry, |_| index);
            kind.found.extend(ended.map(|span| (span.line, index, span.length)));
        }
    }

    /// Adds entries with what [`Places::code`] made, and takes them out; an error if there are more
    /// than a page can hold.
    pub fn add(&mut self, coded: &mut Coded<'_>) -> io::Result<()> {
        let before = self.text_len;
        let len = u32::try_from(coded.bytes.len()).ok();
        self.text_len = len
            .and_then(|len| self.text_len.checked_add(len))
            .ok_or_else(|| io::Error::other("more than 4 GiB of messages; choose fewer records"))?;
        self.out.push(&coded.bytes)?;
        self.lost = self.lost.saturating_add(coded.lost);
        let likes = coded.likes.iter().map(|entry| (self.lane(entry), self.site(entry)));
        let likes: Vec<(u32, u32)> = likes.collect();
        let mut last = self.times.last().copied().unwrap_or(0.0);
        for (ns, end, like) in &coded.entries {
            let boot = coded.likes[*like as usize].boot;
            let (real, is_real) = (boot.calibration.real_of_boot(*ns), boot.is_one_of_several);
            let time = if is_real { real } else { *ns };
            let start = self.start.get_or_insert(Start { time, real, is_real });
            // In the order of the log, even where a ring's clock went back.
            let own = (time - start.time) as f64;
            self.moved += u64::from(own < last);
            last = own.max(last);
            self.times.push(last);
            let (lane, site) = likes[*like as usize];
            self.lanes.push(lane);
            self.sites.push(site);
            self.ends.push(before + *end as u32);
        }
        coded.clear();
        Ok(())
    }

    /// The index of an entry's site.
    fn site(&mut self, entry: &Entry<'_>) -> u32 {
        let (site, template) = (entry.site(), entry.template());
        // 0 and the level are lines of other logs; none are losses.
        let key = match entry.event.kind {
            EventKind::Record { site, .. } => Some((entry.stream.file(), site, 0)),
            EventKind::Line { level } => Some((entry.stream.file(), 0, level.unwrap_or(0))),
            EventKind::Loss { .. } => None,
        };
        let (list, names) = (&mut self.site_list, template.map_or(&[][..], |t| t.names()));
        *self.site_index.entry(key).or_insert_with(|| {
            list.push(Place {
                level: match key {
                    Some((.., level)) => i32::from(site.map_or(level, |s| s.level).min(5)),
                    None => LOST,
                },
                line: site.map_or(0, |s| s.line),
                file: name(site.map_or("", |s| &s.file)),
                module: name(site.map_or("", |s| &s.module)),
                format: name(site.map_or("", |s| &s.format)),
                arguments: names.iter().map(|argument| name(argument)).collect(),
            });
            list.len() as u32 - 1
        })
    }

    fn lane(&mut self, entry: &Entry<'_>) -> u32 {
        let mut writer = Vec::new();
        context(entry, &mut writer);
        escape_name(&mut writer, 0);
        let (list, boot) = (&mut self.lane_list, entry.boot);
        let key = (boot.index, entry.stream.component.clone(), writer);
        *self.lane_index.entry(key).or_insert_with_key(|(_, component, context)| {
            list.push(Lane {
                host: match boot.is_one_of_several {
                    true => name(&boot.name),
                    false => String::new(),
                },
                component: name(component),
                context: String::from_utf8_lossy(context).into_owned(),
            });
            list.len() as u32 - 1
        })
    }

    /// Writes the rest of the page; the answer is what was found of each kind of spans. `hang` says
    /// who holds up whom in each boot, a list of JSON.
    pub fn end(mut self, host: &str, release: &str, hang: &[u8]) -> io::Result<Vec<Found>> {
        let missing = || io::Error::other("report.html has no place for the data");
        for kind in &mut self.spans {
            kind.found.sort_unstable();
        }
        let about = self.about(host, release, hang);
        let (middle, rest) = self.columns_at.split_once(COLUMNS).ok_or_else(missing)?;
        let (last, tail) = rest.split_once(ABOUT).ok_or_else(missing)?;
        let (mut out, packer) = self.out.finish()?;
        out.write_all(middle.as_bytes())?;
        let mut columns = Packed::new("columns", out, packer);
        for time in &self.times {
            columns.push(&time.to_le_bytes())?;
        }
        for (_, _, length) in self.spans.iter().flat_map(|kind| &kind.found) {
            columns.push(&(*length as f64).to_le_bytes())?;
        }
        for end in &self.ends {
            columns.push(&end.to_le_bytes())?;
        }
        for kind in &self.spans {
            for (first, last, _) in &kind.found {
                columns.push(&first.to_le_bytes())?;
                columns.push(&last.to_le_bytes())?;
            }
            let time = |index: u32| self.times[index as usize] as i128;
            let spans = kind.found.iter();
            for row in lanes(spans.map(|(first, last, _)| (time(*first), time(*last)))) {
                columns.push(&row.to_le_bytes())?;
            }
        }
        let lists = [(&self.lanes, self.lane_list.len()), (&self.sites, self.site_list.len())];
        for (column, count) in lists {
            for n in column {
                match wide(count) {
                    true => columns.push(&n.to_le_bytes())?,
                    false => columns.push(&(*n as u16).to_le_bytes())?,
                }
            }
            // So that what comes next is in its place.
            columns.push(&[0; 2][..2 * (column.len() % 2 * usize::from(!wide(count)))])?;
        }
        let (mut out, _) = columns.finish()?;
        out.write_all(last.as_bytes())?;
        out.write_all(&about)?;
        out.write_all(tail.as_bytes())?;
        out.flush()?;
        Ok(self.spans.into_iter().map(|k| k.finder.found()).collect())
    }

    fn about(&self, host: &str, release: &str, hang: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut o = Object::new(&mut out);
        let (host, release) = (name(host), name(release));
        o.number("records", self.times.len() as u64);
        o.number("text_bytes", self.text_len);
        let start = self.start.unwrap_or(Start { time: 0, real: 0, is_real: false });
        // A double has neither of them exactly as ns.
        for (time, [second, ns]) in
            [(start.time, ["start_s", "start_ns"]), (start.real, ["real_s", "real_ns"])]
        {
            o.number(second, time.div_euclid(SECOND));
            o.number(ns, time.rem_euclid(SECOND));
        }
        o.number("is_real", i128::from(start.is_real));
        o.number("lost", self.lost);
        o.text("host", host.as_str());
        o.text("release", release.as_str());
        o.key("hang").extend_from_slice(hang);
        list(o.key("lanes"), &self.lane_list, |lane, o| {
            o.text("host", lane.host.as_str());
            o.text("component", lane.component.as_str());
            o.text("context", lane.context.as_str());
        });
        list(o.key("sites"), &self.site_list, |s, o| {
            o.number("level", s.level);
            o.number("line", s.line);
            o.text("file", s.file.as_str());
            o.text("module", s.module.as_str());
            o.text("format", s.format.as_str());
            list(o.key("args"), &s.arguments, |argument, o| {
                o.text("name", argument.as_str());
            });
        });
        list(o.key("spans"), &self.spans, |kind, o| {
            o.text("name", kind.name.as_str());
            o.number("count", kind.found.len() as u64);
        });
        o.end();
        // Within a script, "<" could end it.
        let text = String::from_utf8_lossy(&out);
        text.replace('<', "\\u003c").into_bytes()
    }
}

/// Whether indices of a list of so many have four bytes, and not two.
fn wide(count: usize) -> bool {
    count > 1 << 16
}

/// A name that is shown.
fn name(name: &str) -> String {
    let mut out = name.as_bytes().to_vec();
    escape_name(&mut out, 0);
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_places_for_all_and_loads_nothing() {
        let mut rest = PAGE;
        for place in [SOURCES[0].0, TEXT, COLUMNS, ABOUT, SOURCES[1].0] {
            assert_eq!(PAGE.matches(place).count(), 1);
            rest = rest.split_once(place).unwrap().1;
        }
        for page in [PAGE, SOURCES[0].1, SOURCES[1].1] {
            for forbidden in ["http:", "https:", "src=", "innerHTML", "eval("] {
                assert!(!page.contains(forbidden), "{forbidden}");
            }
        }
    }

    #[test]
    fn a_stream_is_cut_into_parts() {
        let mut parts = Parts::new("text", Vec::new());
        parts.left = 4;
        parts.write_all(b"foobar").unwrap();
        let out = String::from_utf8(parts.end().unwrap()).unwrap();
        let (first, second) = out.split_once('<').unwrap();
        assert_eq!(first, "Zm9vYg==");
        assert!(second.ends_with("class=\"text\">YXI="), "{second}");
    }
}
