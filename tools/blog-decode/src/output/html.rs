// SPDX-License-Identifier: GPL-2.0

//! Entries as a report: one HTML file that needs nothing else, and no network.
//!
//! `report.html` is the page. Its data are columns, packed by gzip and written as base64: for each
//! record and loss its time (ns since the first, as a double), lane, site, and the end of its
//! message in the text that follows the columns. A lane is a component in a thread or context. All
//! is in memory until the end: about 20 bytes and the message for each record.
//!
//! Messages are data from a driver. The page shows them as text only, and may load nothing.

use std::{
    collections::HashMap,
    io::{
        self,
        Write, //
    },
};

use flate2::{
    write::GzEncoder,
    Compression, //
};

use super::{
    json::Object,
    text::{
        escape_lines,
        escape_name,
        loss, //
    }, //
};
use crate::decode::{
    Content,
    Entry, //
};

const PAGE: &str = include_str!("report.html");
/// Where in the page the data go.
const ABOUT: &str = "@ABOUT@";
const DATA: &str = "@DATA@";
/// What goes between parts of the data, each of so many bytes: no browser has longer strings than
/// 512 MiB.
const NEXT: &str = "</script>\n<script type=\"text/plain\" class=\"data\">";
const PART: usize = 48 << 20;
const SECOND: i128 = 1_000_000_000;
/// Level of a loss, for the page.
const LOST: i32 = -1;

/// Collects a report.
#[derive(Default)]
pub struct Html {
    times: Vec<f64>,
    lanes: Vec<u32>,
    sites: Vec<u32>,
    ends: Vec<u32>,
    text: Vec<u8>,
    /// What times are counted from, and whether it is real time.
    start: Option<(i128, bool)>,
    /// Records that are missing.
    lost: u64,
    /// Index by boot, component and context.
    lane_index: HashMap<(usize, String, Vec<u8>), u32>,
    lane_list: Vec<(String, String)>,
    /// Index by file and site id; 0 and the level are lines of other logs; `None` are losses.
    site_index: HashMap<Option<(usize, u32, u8)>, u32>,
    site_list: Vec<Place>,
    context: Vec<u8>,
}

/// A call site.
struct Place {
    level: i32,
    line: u32,
    file: String,
    module: String,
    format: String,
}

impl Html {
    /// Adds an entry; an error if there are more than a page can hold.
    pub fn entry(&mut self, entry: &Entry<'_>) -> io::Result<()> {
        let time = entry.boot.axis(entry.clock);
        let (start, _) = *self
            .start
            .get_or_insert(match entry.boot.is_one_of_several {
                // A double has whole seconds since 1970 exactly, but not ns.
                true => (time - time.rem_euclid(SECOND), true),
                false => (time, false),
            });
        let from = self.text.len();
        let site = match &entry.content {
            Content::Record(r) => {
                self.text.extend_from_slice(r.message);
                Some((entry.stream.file, r.id, 0))
            }
            Content::Line { level, message } => {
                self.text.extend_from_slice(message);
                Some((entry.stream.file, 0, level.unwrap_or(0)))
            }
            Content::Loss { cause, count } => {
                self.lost = self.lost.saturating_add(*count);
                loss(*cause, *count, &mut self.text);
                None
            }
        };
        escape_lines(&mut self.text, from);
        let end = u32::try_from(self.text.len())
            .map_err(|_| io::Error::other("more than 4 GiB of messages; choose fewer records"))?;
        let site = match self.site_index.get(&site) {
            Some(index) => *index,
            None => self.add_site(site, entry),
        };
        let lane = self.lane(entry);
        // In the order of the log, even where a ring's clock went back.
        let last = self.times.last().copied().unwrap_or(0.0);
        self.times.push(((time - start) as f64).max(last));
        self.lanes.push(lane);
        self.sites.push(site);
        self.ends.push(end);
        Ok(())
    }

    fn add_site(&mut self, key: Option<(usize, u32, u8)>, entry: &Entry<'_>) -> u32 {
        let site = match &entry.content {
            Content::Record(r) => r.found.as_ref().and_then(|f| f.site),
            Content::Loss { .. } | Content::Line { .. } => None,
        };
        let index = self.site_list.len() as u32;
        self.site_list.push(Place {
            level: match key {
                Some((.., level)) => i32::from(site.map_or(level, |s| s.level).min(5)),
                None => LOST,
            },
            line: site.map_or(0, |s| s.line),
            file: name(site.map_or("", |s| &s.file)),
            module: name(site.map_or("", |s| &s.module)),
            format: name(site.map_or("", |s| &s.format)),
        });
        self.site_index.insert(key, index);
        index
    }

    fn lane(&mut self, entry: &Entry<'_>) -> u32 {
        self.context.clear();
        if entry.boot.is_one_of_several {
            self.context.extend_from_slice(entry.boot.name.as_bytes());
            self.context.push(b' ');
        }
        super::context(entry, &mut self.context);
        escape_name(&mut self.context, 0);
        let component = &entry.stream.component;
        let key = (entry.boot.index, component.clone(), self.context.clone());
        let list = &mut self.lane_list;
        *self
            .lane_index
            .entry(key)
            .or_insert_with_key(|(_, c, context)| {
                let context = String::from_utf8_lossy(context).into_owned();
                list.push((c.clone(), context));
                list.len() as u32 - 1
            })
    }

    /// Writes the page.
    pub fn end(&self, host: &str, release: &str, out: &mut dyn Write) -> io::Result<()> {
        let missing = || io::Error::other("report.html has no place for the data");
        let (head, rest) = PAGE.split_once(ABOUT).ok_or_else(missing)?;
        let (middle, tail) = rest.split_once(DATA).ok_or_else(missing)?;
        out.write_all(head.as_bytes())?;
        out.write_all(&self.about(host, release))?;
        out.write_all(middle.as_bytes())?;
        out.write_all(&self.data()?)?;
        out.write_all(tail.as_bytes())?;
        out.flush()
    }

    fn about(&self, host: &str, release: &str) -> Vec<u8> {
        let mut out = Vec::new();
        let mut o = Object::new(&mut out);
        let (host, release) = (name(host), name(release));
        o.number("records", self.times.len() as u64);
        let (start, is_real) = self.start.unwrap_or((0, false));
        o.number("start_ns", start);
        o.number("real_time", i128::from(is_real));
        o.number("lost", self.lost);
        o.text("host", host.as_str());
        o.text("release", release.as_str());
        let list = o.key("lanes");
        list.push(b'[');
        for (i, (component, context)) in self.lane_list.iter().enumerate() {
            list.extend_from_slice(if i == 0 { b"" } else { b"," });
            let mut lane = Object::new(list);
            lane.text("component", component.as_str());
            lane.text("context", context.as_str());
            lane.end();
        }
        list.push(b']');
        let list = o.key("sites");
        list.push(b'[');
        for (i, s) in self.site_list.iter().enumerate() {
            list.extend_from_slice(if i == 0 { b"" } else { b"," });
            let mut site = Object::new(list);
            site.number("level", s.level);
            site.number("line", s.line);
            site.text("file", s.file.as_str());
            site.text("module", s.module.as_str());
            site.text("format", s.format.as_str());
            site.end();
        }
        list.push(b']');
        o.end();
        // Within a script, "<" could end it.
        let mut safe = Vec::with_capacity(out.len());
        for b in out {
            match b {
                b'<' => safe.extend_from_slice(b"\\u003c"),
                b => safe.push(b),
            }
        }
        safe
    }

    fn data(&self) -> io::Result<Vec<u8>> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        let mut bytes = Vec::new();
        for t in &self.times {
            bytes.extend_from_slice(&t.to_le_bytes());
        }
        for column in [&self.lanes, &self.sites, &self.ends] {
            for n in column {
                bytes.extend_from_slice(&n.to_le_bytes());
            }
        }
        packed.write_all(&bytes)?;
        packed.write_all(&self.text)?;
        let packed = packed.finish()?;
        let parts: Vec<_> = packed.chunks(PART).map(base64).collect();
        Ok(parts.join(NEXT.as_bytes()))
    }
}

/// A name that is shown.
fn name(name: &str) -> String {
    let mut out = name.as_bytes().to_vec();
    escape_name(&mut out, 0);
    String::from_utf8_lossy(&out).into_owned()
}

fn base64(bytes: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let mut group = [0; 3];
        group[..chunk.len()].copy_from_slice(chunk);
        let n = u32::from_be_bytes([0, group[0], group[1], group[2]]);
        for i in 0..4 {
            let digit = DIGITS[(n >> (18 - 6 * i) & 63) as usize];
            out.push(if i <= chunk.len() { digit } else { b'=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_rfc_4648() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text.as_bytes());
        }
    }

    #[test]
    fn the_page_has_two_places_for_data_and_loads_nothing() {
        assert_eq!(PAGE.matches(ABOUT).count(), 1);
        assert_eq!(PAGE.matches(DATA).count(), 1);
        assert!(PAGE.contains(&format!("{}{DATA}", &NEXT[NEXT.len() - 39..])));
        for forbidden in ["http:", "https:", "src=", "innerHTML", "eval("] {
            assert!(!PAGE.contains(forbidden), "{forbidden}");
        }
    }
}
