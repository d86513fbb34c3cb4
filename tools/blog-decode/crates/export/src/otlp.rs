// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Entries as logs of OpenTelemetry: lines of OTLP in JSON, as its collectors read from files.
//!
//! Each line is an `ExportLogsServiceRequest` with at most [`BATCH`] records of one machine and
//! boot, its *resource*; components are *scopes*. Names of attributes are those of OpenTelemetry's
//! conventions where it has some, and else begin with `blog.`. Arguments are attributes
//! `blog.arg.NAME`: numbers, true and false as such, and everything else as text. A loss is a
//! record of severity `WARN` with `blog.lost.cause` and `blog.lost.count`.

use std::{
    collections::BTreeMap,
    io::{self, Write},
    mem,
    sync::Arc,
};

use blog_decode_core::{
    batch::Work,
    boot::Boot,
    decode::Entry,
    format::{
        print::{Printer, Spec},
        value::View,
    },
    merge::EventKind,
    output::{json::Object, level_name, Names},
};
use blog_table::bytes::until_nul;
use blog_wire::record::Level;

/// So many records are in a line.
const BATCH: usize = 1000;
/// So many bytes of records wait in all.
const LIMIT: usize = 32 << 20;
/// `SEVERITY_NUMBER_WARN`, of losses.
const WARN: u8 = 13;

/// Records of a machine and boot that wait for others.
struct Waiting {
    resource: Vec<u8>,
    /// By component.
    scopes: BTreeMap<Arc<str>, Vec<u8>>,
    count: usize,
    /// Bytes that they are in a line, at most.
    bytes: usize,
}

/// The longest line: by default, collectors drop lines of more than 1 MiB.
const LINE: usize = 900 << 10;
/// What a scope takes in a line beside its name, and what a line takes beside its scopes and the
/// resource.
const FRAME: usize = 128;
/// In a record that is longer than this, texts are cut to these lengths: of the message, and of
/// what else there is. A byte is six at most in JSON.
const LONG: usize = 512 << 10;
const CUT: (usize, usize) = (64 << 10, 4 << 10);

impl Waiting {
    /// Writes the records; the answer is how many bytes of them there were.
    fn write(&mut self, out: &mut impl Write) -> io::Result<usize> {
        let scopes = mem::take(&mut self.scopes);
        self.count = 0;
        self.bytes = 0;
        line(&self.resource, &scopes, out)?;
        Ok(scopes.values().map(Vec::len).sum())
    }
}

/// Writes lines.
pub struct Otlp<W> {
    out: W,
    /// By boot and file.
    waiting: BTreeMap<(usize, usize), Waiting>,
    bytes: usize,
    maker: Maker,
    one: Records,
    /// Records and losses whose times no reader can hold.
    pub left_out: u64,
}

/// Records, without what lines have around them.
#[derive(Default)]
pub struct Records {
    /// File of the input, component, and where it ends.
    list: Vec<(usize, Arc<str>, usize)>,
    bytes: Vec<u8>,
    left_out: u64,
}

/// Makes records of entries.
#[derive(Default)]
pub struct Maker {
    text: Vec<u8>,
}

impl Work<'_> for Maker {
    type Made = Records;

    fn entry(&mut self, entry: &mut Entry<'_>, made: &mut Records) {
        self.add(entry, made);
    }
}

impl Maker {
    fn add(&mut self, entry: &Entry<'_>, made: &mut Records) {
        let real = i64::try_from(entry.real());
        let Some(time) = real.ok().filter(|ns| *ns > 0) else {
            // 0 would be a time that isn't known.
            made.left_out += 1;
            return;
        };
        let start = made.bytes.len();
        record(entry, time, None, &mut made.bytes, &mut self.text);
        if made.bytes.len() - start > LONG {
            made.bytes.truncate(start);
            record(entry, time, Some(CUT), &mut made.bytes, &mut self.text);
        }
        let stream = entry.stream;
        let one = (stream.file(), stream.component.clone(), made.bytes.len());
        made.list.push(one);
    }
}

impl<W: Write> Otlp<W> {
    /// Starts.
    pub fn new(out: W) -> Self {
        Self {
            out,
            waiting: BTreeMap::new(),
            bytes: 0,
            maker: Maker::default(),
            one: Records::default(),
            left_out: 0,
        }
    }

    /// Adds an entry.
    pub fn entry(&mut self, entry: &Entry<'_>) -> io::Result<()> {
        let mut one = mem::take(&mut self.one);
        self.maker.add(entry, &mut one);
        let added = self.add(&mut one, |_| entry.boot);
        self.one = one;
        added
    }

    /// Adds records, and leaves none. `boot` says which boot a file of the input is of.
    pub fn add<'b>(
        &mut self,
        records: &mut Records,
        boot: impl Fn(usize) -> &'b Boot,
    ) -> io::Result<()> {
        let mut start = 0;
        for (file, component, end) in records.list.drain(..) {
            let record = &records.bytes[start..end];
            self.record(boot(file), file, &component, record)?;
            start = end;
        }
        records.bytes.clear();
        self.left_out += mem::take(&mut records.left_out);
        Ok(())
    }

    fn record(
        &mut self,
        boot: &Boot,
        file: usize,
        component: &Arc<str>,
        record: &[u8],
    ) -> io::Result<()> {
        let key = (boot.index, file);
        let waiting = self.waiting.entry(key).or_insert_with(|| Waiting {
            resource: resource(boot),
            scopes: BTreeMap::new(),
            count: 0,
            bytes: 0,
        });
        let frame = match waiting.scopes.contains_key(component) {
            true => 1,
            // A name is six times as long at most.
            false => FRAME + 6 * component.len(),
        };
        let added = record.len() + frame;
        let begun = FRAME + waiting.resource.len() + waiting.bytes;
        if waiting.count == BATCH || waiting.count > 0 && begun + added > LINE {
            self.bytes -= waiting.write(&mut self.out)?;
        }
        waiting.bytes += added;
        let scope = match waiting.scopes.get_mut(component) {
            Some(scope) => scope,
            None => waiting.scopes.entry(component.clone()).or_default(),
        };
        if !scope.is_empty() {
            scope.push(b',');
            self.bytes += 1;
        }
        scope.extend_from_slice(record);
        self.bytes += record.len();
        waiting.count += 1;
        if self.bytes > LIMIT {
            self.write()?;
        }
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        for waiting in self.waiting.values_mut().filter(|w| w.count > 0) {
            waiting.write(&mut self.out)?;
        }
        self.bytes = 0;
        Ok(())
    }

    /// Writes what waits.
    pub fn end(mut self) -> io::Result<()> {
        self.write()?;
        self.out.flush()
    }
}

/// What all records of a boot have in common.
fn resource(boot: &Boot) -> Vec<u8> {
    let mut out = Vec::new();
    let mut all = Attributes::new(&mut out);
    all.text("service.name", b"kernel");
    all.text("os.type", b"linux");
    all.some_text("host.name", boot.host.as_bytes());
    all.some_text("os.version", boot.release.as_bytes());
    all.some_text("blog.boot_id", boot.id.as_deref().unwrap_or("").as_bytes());
    all.end();
    out
}

fn line(
    resource: &[u8],
    scopes: &BTreeMap<Arc<str>, Vec<u8>>,
    out: &mut impl Write,
) -> io::Result<()> {
    out.write_all(b"{\"resourceLogs\":[{\"resource\":{\"attributes\":")?;
    out.write_all(resource)?;
    out.write_all(b"},\"scopeLogs\":[")?;
    let mut head = Vec::new();
    for (i, (component, records)) in scopes.iter().enumerate() {
        head.clear();
        head.extend_from_slice(if i == 0 { b"" } else { b"," });
        let mut scope = Object::new(&mut head);
        let mut name = Object::new(scope.key("scope"));
        name.text("name", &**component);
        name.end();
        scope.key("logRecords").push(b'[');
        out.write_all(&head)?;
        out.write_all(records)?;
        out.write_all(b"]}")?;
    }
    out.write_all(b"]}]}\n")
}

/// Appends a record; `text` is a buffer. Texts are cut to `cut`: the message, and others.
fn record(
    entry: &Entry<'_>,
    time: i64,
    cut: Option<(usize, usize)>,
    out: &mut Vec<u8>,
    text: &mut Vec<u8>,
) {
    let (of_message, of_others) = cut.unwrap_or((usize::MAX, usize::MAX));
    let mut o = Object::new(out);
    o.wide("timeUnixNano", time.into());
    if entry.is_loss() {
        o.number("severityNumber", WARN);
        o.text("severityText", "lost");
    } else if let Some(level) = entry.level() {
        o.number("severityNumber", severity(level));
        o.text("severityText", level_name(level));
    }
    let message = &entry.message;
    let mut body = Object::new(o.key("body"));
    body.text("stringValue", &*String::from_utf8_lossy(&message[..message.len().min(of_message)]));
    body.end();
    let mut all = Attributes::new(o.key("attributes"));
    all.max = of_others;
    let writer = entry.writer();
    if let Some(task) = entry.task() {
        all.number("process.pid", task.tgid.into());
        all.number("thread.id", task.pid.into());
        all.text("thread.name", until_nul(&task.comm));
    }
    if let Some(context) = writer.context {
        all.text("blog.context", context.name().as_bytes());
    }
    if let Some(cpu) = writer.cpu {
        all.number("blog.cpu", cpu.into());
    }
    match entry.event.kind {
        EventKind::Record { .. } => of_site(entry, &mut all, text),
        EventKind::Loss { cause, count, .. } => {
            all.text("blog.lost.cause", cause.name().as_bytes());
            all.number("blog.lost.count", count.into());
        }
        EventKind::Line { .. } => {}
    }
    if cut.is_some() {
        all.bool("blog.cut", true);
    }
    all.end();
    o.end();
}

/// What is known by a record's call site: where it is, and its arguments.
fn of_site(r: &Entry<'_>, all: &mut Attributes<'_>, text: &mut Vec<u8>) {
    let Some(site) = r.site() else { return };
    all.text("code.file.path", site.file.as_bytes());
    all.number("code.line.number", site.line.into());
    all.text("blog.module", site.module.as_bytes());
    all.text("blog.format", site.format.as_bytes());
    // A key that is there twice is an error.
    let mut names = Names::default();
    for (name, value, _) in r.arguments() {
        let name = names.add(&format!("blog.arg.{name}"));
        match value.view() {
            View::Bool(b) => all.bool(name, b),
            View::Uint(n) if i128::try_from(n).is_ok() => all.number(name, n as i128),
            View::Int(n) => all.number(name, n),
            View::Str(bytes) | View::CStr(bytes) => all.text(name, bytes),
            _ => {
                text.clear();
                value.print(&Spec::DISPLAY, &mut Printer::new(text));
                all.text(name, text);
            }
        }
    }
}

fn severity(level: u8) -> u8 {
    match Level::from_u8(level) {
        Some(Level::Err) => 17,
        Some(Level::Warn) => WARN,
        Some(Level::Info) => 9,
        Some(Level::Debug) => 5,
        Some(Level::Trace) => 1,
        None => 0,
    }
}

/// A list of keys and values.
struct Attributes<'a> {
    out: &'a mut Vec<u8>,
    first: bool,
    /// Bytes of a text at most.
    max: usize,
}

impl<'a> Attributes<'a> {
    fn new(out: &'a mut Vec<u8>) -> Self {
        out.push(b'[');
        Self { out, first: true, max: usize::MAX }
    }

    fn add(&mut self, key: &str, fill: impl FnOnce(&mut Object<'_>)) {
        if !mem::take(&mut self.first) {
            self.out.push(b',');
        }
        let mut o = Object::new(self.out);
        o.text("key", key);
        let mut value = Object::new(o.key("value"));
        fill(&mut value);
        value.end();
        o.end();
    }

    fn text(&mut self, key: &str, text: &[u8]) {
        let max = self.max;
        self.add(key, |o| {
            let text = &text[..text.len().min(max)];
            o.text("stringValue", &*String::from_utf8_lossy(text));
        });
    }

    /// The same, unless it is empty.
    fn some_text(&mut self, key: &str, text: &[u8]) {
        if !text.is_empty() {
            self.text(key, text);
        }
    }

    /// In JSON, a number of 64 bits is text. Collectors refuse the line if it has more of them, or
    /// the highest and no sign.
    fn number(&mut self, key: &str, n: i128) {
        let kind = match i64::try_from(n) {
            Ok(_) => "intValue",
            Err(_) => "stringValue",
        };
        self.add(key, |o| o.wide(kind, n));
    }

    fn bool(&mut self, key: &str, b: bool) {
        self.add(key, |o| o.flag("boolValue", b));
    }

    fn end(self) {
        self.out.push(b']');
    }
}
