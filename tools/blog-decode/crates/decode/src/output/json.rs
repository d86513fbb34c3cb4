// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Entries as JSON, one object a line, for programs.
//!
//! Integers are JSON integers of at most 64 bits (a `u64` in nanoseconds is more than a double can
//! hold; read them with a parser that keeps them whole). A time that doesn't fit is null, and so is the
//! real time if the file doesn't have its clock. Bytes that are no UTF-8 become U+FFFD.
//!
//! A record:
//!
//! | key | value |
//! |---|---|
//! | `type` | `"record"` |
//! | `clock` | ring's clock, as stored |
//! | `boot_ns`, `mono_ns`, `wall_ns` | the same time by CLOCK_BOOTTIME, CLOCK_MONOTONIC, CLOCK_REALTIME |
//! | `time` | `wall_ns` as date and time, UTC, with nine digits: a string, which programs keep that read numbers as doubles |
//! | `level` | `"err"` … `"trace"`; null if the site is unknown |
//! | `component` | name |
//! | `context` | `"task"`, `"softirq"`, `"hardirq"`, `"nmi"`; null if unknown |
//! | `cpu` | of a per-CPU ring, or of a writer of a shared one; else null |
//! | `pid`, `tgid`, `comm` | of the task, else null |
//! | `ring` | id of the ring within the component |
//! | `shared` | only in a ring that is shared by many writers: its number |
//! | `ordinal` | number of the record within the ring, from 0 |
//! | `site` | site id |
//! | `image`, `index` | image name and index of the site in it; null if unknown |
//! | `module`, `file`, `line`, `format` | the call site; null if unknown |
//! | `message` | the text |
//! | `args` | array of objects: `name`, `type`, what it is, and `cut`: bytes that were not stored |
//! | `undecoded` | only if the message is a hex dump: `"no-table"`, `"no-image"`, `"bad-site"`, `"short"`, `"withheld"` |
//! | `build_id` | only with `"no-table"`: of the table that is needed |
//! | `raw` | only if undecoded or asked for: the payload in hex |
//!
//! What an argument is: `value`, an integer that 64 bits with a sign can hold, or `text`. A bool and an
//! error have both. Larger integers, addresses and bytes (in hex) are text; `()` and `None` are
//! neither. A derived type has the name of its variant as `text`, and `fields`, which are as
//! arguments are. So each key has values of one type, and any program can make columns of them.
//!
//! A loss has `type` `"lost"`, `clock` to `wall_ns` and `component` to `ring` as above, `cause`
//! (`"overwritten"`, `"missing"`, `"damaged"`, or as the kernel names it: `"no-page"`, `"nested"`, …)
//! and `count`.
//!
//! With `--stats`, an object of `type` `"ring"` follows for each ring, and one of `type`
//! `"summary"`; their keys are those of [`accounts`](crate::accounts).

use super::{level_name, put, text::is_unsafe, Contexts};
use crate::{
    blogfmt::{bytes::until_nul, descriptor::Shape},
    boot::Boot,
    calendar::push_iso8601,
    decode::{Entry, Raw},
    digits,
    format::{
        errno,
        template::is_plain,
        value::{private, Value, View},
    },
    key::Tag,
    merge::{EventKind, Stream},
    record::Writer,
    sidetable::{Prepared, Site},
};

/// Writes an object or array, key by key.
pub struct Object<'a> {
    out: &'a mut Vec<u8>,
    first: bool,
}

impl<'a> Object<'a> {
    /// Opens an object.
    pub fn new(out: &'a mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, first: true }
    }

    /// Adds to an object that is open and has something in it.
    pub fn more(out: &'a mut Vec<u8>) -> Self {
        Self { out, first: false }
    }

    /// Starts a value: the caller appends it to the answer. Keys of ours need no escapes.
    #[inline(always)]
    pub fn key(&mut self, key: &'static str) -> &mut Vec<u8> {
        self.out.extend_from_slice(if self.first { b"\"" } else { b",\"" });
        self.first = false;
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
    }

    /// Starts a value under a key that comes from the input.
    pub fn foreign_key(&mut self, key: &str) -> &mut Vec<u8> {
        if !self.first {
            self.out.push(b',');
        }
        self.first = false;
        string(key.as_bytes(), self.out);
        self.out.push(b':');
        self.out
    }

    /// Adds a number. If 64 bits with a sign don't hold it, as by damage, it is null, and text of
    /// another key: programs would round it and all others of the column, or give up on the file.
    #[inline]
    pub fn number(&mut self, key: &'static str, n: impl Into<i128>) {
        let (n, out) = (n.into(), self.key(key));
        match i64::try_from(n) {
            Ok(_) => digits::push_signed(out, n),
            Err(_) => put(out, format_args!("null,\"{key}_text\":\"{n}\"")),
        }
    }

    /// Adds a number as text.
    pub fn wide(&mut self, key: &'static str, n: i128) {
        let out = self.key(key);
        out.push(b'"');
        digits::push_signed(out, n);
        out.push(b'"');
    }

    /// Adds true or false.
    pub fn flag(&mut self, key: &'static str, is: bool) {
        let word: &[u8] = if is { b"true" } else { b"false" };
        self.key(key).extend_from_slice(word);
    }

    /// Adds a string, or null.
    pub fn text<'t>(&mut self, key: &'static str, text: impl Into<Option<&'t str>>) {
        let out = self.key(key);
        match text.into() {
            Some(text) => string(text.as_bytes(), out),
            None => out.extend_from_slice(b"null"),
        }
    }

    /// Adds a number, or null.
    pub fn maybe(&mut self, key: &'static str, n: Option<impl Into<i128>>) {
        match n {
            Some(n) => self.number(key, n),
            None => self.text(key, None),
        }
    }

    /// Adds a value of a key ([`key`](crate::key)), which is a number or text wherever the field is.
    pub fn cell(&mut self, key: &str, is_number: bool, tag: Tag, value: &[u8]) {
        let out = self.foreign_key(key);
        match (tag, is_number) {
            (Tag::None, _) => out.extend_from_slice(b"null"),
            (_, true) if fits(value) => out.extend_from_slice(value),
            (_, true) => out.extend_from_slice(b"null"),
            (_, false) => string(value, out),
        }
    }

    /// Closes the object.
    pub fn end(self) {
        self.out.push(b'}');
    }
}

/// Appends a line with an object of this type.
pub fn line(out: &mut Vec<u8>, kind: &str, fill: impl FnOnce(&mut Object<'_>)) {
    let mut o = Object::new(out);
    o.text("type", kind);
    fill(&mut o);
    o.end();
    out.push(b'\n');
}

/// Appends an array of objects.
pub fn list<T>(
    out: &mut Vec<u8>,
    items: impl IntoIterator<Item = T>,
    fill: impl Fn(T, &mut Object<'_>),
) {
    out.push(b'[');
    for (i, item) in items.into_iter().enumerate() {
        out.extend_from_slice(if i == 0 { b"" } else { b"," });
        let mut o = Object::new(out);
        fill(item, &mut o);
        o.end();
    }
    out.push(b']');
}

/// Whether a text is a number that 64 bits with a sign hold.
pub fn fits(number: &[u8]) -> bool {
    std::str::from_utf8(number).is_ok_and(|n| n.parse::<i64>().is_ok())
}

/// Writes objects.
#[derive(Default)]
pub struct Json {
    with_raw: bool,
    /// What stands between the times and what the record is.
    contexts: Contexts,
    /// The last real time, as ns and as date; where the ns end, and its seconds since 1970.
    time: Vec<u8>,
    ns_end: usize,
    second: Option<u64>,
    /// A message.
    text: Vec<u8>,
}

impl Json {
    /// Starts before the first object. `with_raw`: all payloads are wanted.
    pub fn new(with_raw: bool) -> Self {
        Self { with_raw, ..Self::default() }
    }

    /// Appends an entry's object and a newline.
    pub fn entry(&mut self, entry: &Entry<'_>, out: &mut Vec<u8>) {
        match entry.event.kind {
            EventKind::Record { ordinal, .. } => {
                out.extend_from_slice(b"{\"type\":\"record\"");
                self.times(entry, out);
                let level = entry.level();
                out.extend_from_slice(self.contexts.get(entry, level.unwrap_or(0), |text| {
                    let mut o = Object::more(text);
                    boot(entry.boot, &mut o);
                    o.text("level", level.map(level_name));
                    ring(entry.stream, entry.writer(), &mut o);
                }));
                record(entry, ordinal, self.with_raw, &mut self.text, &mut Object::more(out));
            }
            EventKind::Loss { cause, count, .. } => {
                out.extend_from_slice(b"{\"type\":\"lost\"");
                self.times(entry, out);
                let mut o = Object::more(out);
                boot(entry.boot, &mut o);
                ring(entry.stream, entry.writer(), &mut o);
                o.text("cause", cause.name());
                o.number("count", count);
            }
            EventKind::Line { level } => {
                let mut o = Object::new(out);
                o.text("type", &*entry.stream.component);
                self.times(entry, out);
                let mut o = Object::more(out);
                boot(entry.boot, &mut o);
                o.text("level", level.map(level_name));
                writer(entry.writer(), &mut o);
                string(&entry.message, o.key("message"));
            }
        }
        out.extend_from_slice(b"}\n");
    }

    fn times(&mut self, entry: &Entry<'_>, out: &mut Vec<u8>) {
        let (clock, c) = (entry.clock(), &entry.boot.calibration);
        let boot = c.boot(clock);
        let wall = c.real_of_boot(boot);
        let is_known = c.is_known();
        match i64::try_from(clock) {
            Ok(_) => digits::push(Object::more(out).key("clock"), clock),
            Err(_) => Object::more(out).number("clock", clock),
        }
        out.extend_from_slice(b",\"boot_ns\":");
        let at = out.len();
        time(boot, out);
        let end = out.len();
        out.extend_from_slice(b",\"mono_ns\":");
        match c.mono(clock) {
            // It never slept.
            mono if mono == boot => out.extend_from_within(at..end),
            mono => time(mono, out),
        }
        if !is_known {
            return out.extend_from_slice(b",\"wall_ns\":null,\"time\":null");
        }
        // Most are in the same second as the last one: another fraction of it, twice.
        let (second, fraction) = match u64::try_from(wall) {
            Ok(ns) if i64::try_from(ns).is_ok() => (Some(ns / NS), ns % NS),
            _ => (None, 0),
        };
        if second.is_some() && second == self.second {
            let len = self.time.len();
            let (ns, time) = self.time.split_at_mut(self.ns_end);
            digits::fill(&mut ns[self.ns_end - 9..], fraction);
            let end = len - self.ns_end - b"Z\"".len();
            time[end - 9..end].copy_from_slice(&ns[self.ns_end - 9..]);
        } else {
            self.time.clear();
            self.time.extend_from_slice(b",\"wall_ns\":");
            time(wall, &mut self.time);
            self.ns_end = self.time.len();
            self.time.extend_from_slice(b",\"time\":\"");
            push_iso8601(&mut self.time, wall, 0, true);
            self.time.push(b'"');
            // Of a time in the first second of 1970, there are less than nine digits.
            self.second = second.filter(|s| *s > 0);
        }
        out.extend_from_slice(&self.time);
    }
}

const NS: u64 = 1_000_000_000;

/// Appends a time, or null: it is no time, but damage, and programs that read 64 bits would give up on
/// all of the log.
fn time(ns: i128, out: &mut Vec<u8>) {
    match i64::try_from(ns) {
        Ok(_) => digits::push_signed(out, ns),
        Err(_) => out.extend_from_slice(b"null"),
    }
}

/// What of an object is the same for all records of a call site.
fn prepare(s: &Site) -> Prepared {
    let mut site = Vec::new();
    let mut o = Object::more(&mut site);
    o.text("module", s.module.as_str());
    for (key, text) in s.place() {
        o.text(key, text);
    }
    o.text("file", s.file.as_str());
    o.number("line", s.line);
    o.text("format", s.format.as_str());
    o.key("message");
    let names = s.template.as_ref().map_or(&[][..], |t| t.names());
    let argument = |(i, (name, ty)): (usize, (&String, &String))| {
        let mut out = Vec::new();
        out.extend_from_slice(if i == 0 { b"" } else { b"," });
        let mut o = Object::new(&mut out);
        o.text("name", name.as_str());
        o.text("type", ty.as_str());
        out
    };
    let arguments = names.iter().zip(&s.types).enumerate().map(argument);
    let arguments = arguments.collect();
    Prepared { site, arguments }
}

/// Adds which boot of which machine it is of.
pub fn boot(boot: &Boot, o: &mut Object<'_>) {
    let host = Some(boot.host.as_str());
    o.text("host", host.filter(|h| !h.is_empty()));
    o.text("boot_id", boot.id.as_deref());
}

/// Adds what identifies a ring and who wrote to it.
pub fn ring(stream: &Stream, of: &Writer, o: &mut Object<'_>) {
    o.text("component", &*stream.component);
    o.text("context", of.context.map(|c| c.name()));
    writer(of, o);
    o.number("ring", stream.id);
    if let Some(number) = stream.shared() {
        o.number("shared", number);
    }
}

fn writer(of: &Writer, o: &mut Object<'_>) {
    let task = of.task.as_ref();
    o.maybe("cpu", of.cpu);
    o.maybe("pid", task.map(|t| t.pid));
    o.maybe("tgid", task.map(|t| t.tgid));
    let out = o.key("comm");
    match task {
        Some(t) => string(until_nul(&t.comm), out),
        None => out.extend_from_slice(b"null"),
    }
}

fn record(r: &Entry<'_>, ordinal: u64, with_raw: bool, text: &mut Vec<u8>, o: &mut Object<'_>) {
    let site = r.site();
    o.number("ordinal", ordinal);
    o.out.extend_from_slice(b",\"site\":");
    digits::push(o.out, r.id().into());
    o.out.extend_from_slice(b",\"image\":");
    match &r.found {
        Some(f) => {
            string(f.image.name.as_bytes(), o.out);
            o.out.extend_from_slice(b",\"index\":");
            digits::push(o.out, f.index.into());
        }
        None => o.out.extend_from_slice(b"null,\"index\":null"),
    }
    let fixed = site.map(|s| s.json.get_or_init(|| prepare(s)));
    match fixed {
        Some(fixed) => o.out.extend_from_slice(&fixed.site),
        None => {
            let unknown =
                b",\"module\":null,\"file\":null,\"line\":null,\"format\":null,\"message\":";
            o.out.extend_from_slice(unknown);
        }
    }
    let out = &mut *o.out;
    match r.is_plain {
        true => {
            out.push(b'"');
            r.print(out);
            out.push(b'"');
        }
        false => {
            text.clear();
            r.print(text);
            string(text, out);
        }
    }
    out.extend_from_slice(b",\"args\":[");
    if let Some(fixed) = fixed {
        for ((_, v, cut), before) in r.arguments().zip(&fixed.arguments) {
            out.extend_from_slice(before);
            let mut o = Object::more(out);
            argument(v, &mut o);
            if cut != 0 {
                o.number("cut", cut as u64);
            }
            o.end();
        }
    }
    out.push(b']');
    if let Some(raw) = r.raw {
        let (why, image) = match raw {
            Raw::NoTable => ("no-table", r.found.as_ref().map(|f| f.image)),
            Raw::NoImage => ("no-image", None),
            Raw::BadSite => ("bad-site", None),
            Raw::Short => ("short", None),
            Raw::Withheld => ("withheld", None),
        };
        o.text("undecoded", why);
        if let Some(image) = image {
            o.text("build_id", image.build_id.as_str());
        }
    }
    if with_raw || r.raw.is_some() {
        hex(r.payload(), o.key("raw"));
    }
}

/// Adds what an argument, or a part of it, is: each key has values of one type, so that programs
/// can make a column of it.
fn argument(v: Value<'_>, o: &mut Object<'_>) {
    if let Some(n) = v.small() {
        // Most are.
        return digits::push_signed(o.key("value"), n.into());
    }
    let number = |n: i128, o: &mut Object<'_>| match i64::try_from(n) {
        Ok(_) => o.number("value", n),
        Err(_) => o.wide("text", n),
    };
    match v.view() {
        View::Uint(n) => match i128::try_from(n) {
            Ok(n) => number(n, o),
            Err(_) => put(o.key("text"), format_args!("\"{n}\"")),
        },
        View::Int(n) => number(n, o),
        View::Bool(b) => {
            o.number("value", u8::from(b));
            o.text("text", if b { "true" } else { "false" });
        }
        View::Char(Ok(c)) => o.text("text", &*c.encode_utf8(&mut [0; 4])),
        View::Char(Err(n)) => o.number("value", n),
        View::Str(bytes) | View::CStr(bytes) => string(bytes, o.key("text")),
        View::Bytes(bytes) => hex(bytes, o.key("text")),
        View::Pointer(p) => put(o.key("text"), format_args!("\"{p:#x}\"")),
        View::Error(n) | View::Result(Err(n)) => {
            o.number("value", n);
            if let Some(name) = errno::name(n.unsigned_abs()) {
                o.text("text", name);
            }
        }
        View::Unit | View::Option(None) => {}
        View::Ipv4(a) => put(o.key("text"), format_args!("\"{a}\"")),
        View::Ipv6(a) => put(o.key("text"), format_args!("\"{a}\"")),
        View::Mac([a, b, c, d, e, f]) => {
            put(o.key("text"), format_args!("\"{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}\""))
        }
        View::Result(Ok(v)) if matches!(v.view(), View::Unit) => o.text("text", "Ok"),
        View::Option(Some(v)) | View::Result(Ok(v)) => argument(v, o),
        View::Derived(_, variant, fields) => {
            o.text("text", variant.name.as_str());
            let mut fields = fields.enumerate().peekable();
            if fields.peek().is_none() {
                return;
            }
            list(o.key("fields"), fields, |(i, (name, v)), o| {
                match variant.shape {
                    Shape::Tuple => o.text("name", i.to_string().as_str()),
                    _ => o.text("name", name),
                }
                argument(v, o);
            });
        }
        View::Private(hash) => o.text("text", &*private(hash)),
        View::BadTag(_, tag) => o.number("value", tag),
    }
}

fn hex(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    digits::push_hex(out, bytes, b"");
    out.push(b'"');
}

fn string(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    if is_plain(bytes) {
        out.extend_from_slice(bytes);
    } else {
        escape(bytes, out);
    }
    out.push(b'"');
}

fn escape(bytes: &[u8], out: &mut Vec<u8>) {
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '"' => out.extend_from_slice(b"\\\""),
                '\\' => out.extend_from_slice(b"\\\\"),
                '\n' => out.extend_from_slice(b"\\n"),
                '\t' => out.extend_from_slice(b"\\t"),
                c if is_unsafe(c) => {
                    put(out, format_args!("\\u{:04x}", u32::from(c)));
                }
                c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        if !chunk.invalid().is_empty() {
            out.extend_from_slice("\u{fffd}".as_bytes());
        }
    }
}
