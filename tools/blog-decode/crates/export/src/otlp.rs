// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Entries as logs of OpenTelemetry: lines of OTLP in JSON, as its collectors read from files.
//!
//! Each line is a `LogsData` with records of a component, its *scope*, on one machine in one boot,
//! its *resource*. Arguments are attributes `blog.arg.NAME`: numbers, true and false as such, and
//! everything else as text. A loss is a record of severity `WARN`.

use std::{
    collections::BTreeMap,
    io::{self, Write},
    mem,
    sync::Arc,
};

use blog_decode_core::{
    decode::Entry,
    field::{Field, Val},
    format::{
        print::{Printer, Spec},
        value::View,
    },
    output::{level_name, Names},
};
use opentelemetry_proto::tonic::{
    common::v1::{any_value::Value, AnyValue, InstrumentationScope, KeyValue},
    logs::v1::{LogRecord, LogsData, ResourceLogs, ScopeLogs},
    resource::v1::Resource,
};
use prost::Message;

/// Attributes of a machine's boot. Names are those of OpenTelemetry's conventions, where it has some.
const OF_RESOURCE: [(&str, Field); 3] =
    [("host.name", Field::Host), ("os.version", Field::Release), ("blog.boot_id", Field::BootId)];
/// Attributes of a record or a loss, which also has `blog.arg.NAME`, and `blog.cut` if it is cut.
const OF_RECORD: [(&str, Field); 11] = [
    ("process.pid", Field::Tgid),
    ("thread.id", Field::Pid),
    ("thread.name", Field::Comm),
    ("blog.context", Field::Context),
    ("blog.cpu", Field::Cpu),
    ("code.file.path", Field::File),
    ("code.line.number", Field::Line),
    ("blog.module", Field::Module),
    ("blog.format", Field::Format),
    ("blog.lost.cause", Field::Cause),
    ("blog.lost.count", Field::Count),
];
/// OpenTelemetry's numbers by level; 0 is none.
const SEVERITIES: [i32; 6] = [0, 17, 13, 9, 5, 1];
/// The longest line: by default, collectors drop lines of more than 1 MiB.
const LINE: usize = 900 << 10;
/// The same of all lines that wait.
const LIMIT: usize = 32 << 20;
/// In a record that may be longer than this, texts are cut to these lengths: of the message, and
/// of what else there is.
const LONG: usize = 512 << 10;
const CUT: (usize, usize) = (64 << 10, 4 << 10);
const WHOLE: (usize, usize) = (usize::MAX, usize::MAX);

/// With the bytes that its records are at most.
type Line = (Resource, ScopeLogs, usize);

/// Writes lines.
pub struct Otlp<W> {
    out: W,
    /// By boot and component.
    lines: BTreeMap<(usize, Arc<str>), Line>,
    bytes: usize,
    /// Records and losses whose times no reader can hold.
    pub left_out: u64,
}

impl<W: Write> Otlp<W> {
    /// Starts.
    pub fn new(out: W) -> Self {
        Self { out, lines: BTreeMap::new(), bytes: 0, left_out: 0 }
    }

    /// Adds an entry.
    pub fn entry(&mut self, entry: &Entry<'_>) -> io::Result<()> {
        let time = i64::try_from(entry.real()).ok().and_then(|ns| u64::try_from(ns).ok());
        // 0 would be a time that isn't known.
        let Some(time) = time.filter(|ns| *ns > 0) else {
            self.left_out += 1;
            return Ok(());
        };
        let mut record = log_record(entry, time, WHOLE);
        if bytes(&record) > LONG {
            record = log_record(entry, time, CUT);
        }
        let key = (entry.boot.index, entry.stream.component.clone());
        let line = self.lines.entry(key).or_insert_with(|| begin(entry));
        if line.2 > 0 && line.2 + bytes(&record) > LINE {
            let full = mem::replace(line, begin(entry));
            self.bytes -= full.2;
            write(full, &mut self.out)?;
        }
        line.2 += bytes(&record);
        self.bytes += bytes(&record);
        line.1.log_records.push(record);
        if self.bytes > LIMIT {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes what waits.
    pub fn flush(&mut self) -> io::Result<()> {
        self.bytes = 0;
        let mut lines = mem::take(&mut self.lines).into_values();
        lines.try_for_each(|line| write(line, &mut self.out))?;
        self.out.flush()
    }
}

fn write((resource, logs, _): Line, out: &mut impl Write) -> io::Result<()> {
    let all =
        ResourceLogs { resource: Some(resource), scope_logs: vec![logs], ..Default::default() };
    serde_json::to_writer(&mut *out, &LogsData { resource_logs: vec![all] })?;
    out.write_all(b"\n")
}

/// As many bytes a record is in JSON, at most: a byte is six, and so are a key and a length.
fn bytes(record: &LogRecord) -> usize {
    512 + 6 * record.encoded_len()
}

/// A line without records.
fn begin(entry: &Entry<'_>) -> Line {
    let kernel = [("service.name", "kernel"), ("os.type", "linux")];
    let kernel = kernel.map(|(key, value)| attribute(key, Value::StringValue(value.into())));
    let attributes = kernel.into_iter().chain(attributes(&OF_RESOURCE, entry, LONG)).collect();
    let name = entry.stream.component.to_string();
    let scope = Some(InstrumentationScope { name, ..Default::default() });
    let logs = ScopeLogs { scope, ..Default::default() };
    (Resource { attributes, ..Default::default() }, logs, 0)
}

/// A record or a loss. Texts have at most `max` bytes: the message, and others.
fn log_record(entry: &Entry<'_>, time: u64, max: (usize, usize)) -> LogRecord {
    let (level, name) = match entry.level() {
        // Of a warning.
        _ if entry.is_loss() => (2, "lost"),
        level => (level.unwrap_or(0), level.map_or("", level_name)),
    };
    let mut all: Vec<_> = attributes(&OF_RECORD, entry, max.1).collect();
    // A key that is there twice is an error.
    let mut names = Names::default();
    for (name, value, _) in entry.arguments() {
        let value = match value.view() {
            View::Bool(b) => Value::BoolValue(b),
            View::Int(n) => number(n),
            View::Uint(n) if i128::try_from(n).is_ok() => number(n as i128),
            View::Str(bytes) | View::CStr(bytes) => text(bytes, max.1),
            _ => {
                let mut shown = Vec::new();
                value.print(&Spec::DISPLAY, &mut Printer::new(&mut shown));
                text(&shown, max.1)
            }
        };
        all.push(attribute(names.add(&format!("blog.arg.{name}")), value));
    }
    if max != WHOLE {
        all.push(attribute("blog.cut", Value::BoolValue(true)));
    }
    LogRecord {
        time_unix_nano: time,
        severity_number: SEVERITIES.get(usize::from(level)).copied().unwrap_or(0),
        severity_text: name.into(),
        body: Some(AnyValue { value: Some(text(&entry.message, max.0)) }),
        attributes: all,
        ..Default::default()
    }
}

/// Those attributes that an entry has.
fn attributes<'e>(
    all: &'e [(&str, Field)],
    entry: &'e Entry<'_>,
    max: usize,
) -> impl Iterator<Item = KeyValue> + 'e {
    all.iter().filter_map(move |(key, field)| match field.value(entry)? {
        Val::Number(n) => Some(attribute(key, number(n))),
        Val::Text(bytes) if !bytes.is_empty() => Some(attribute(key, text(&bytes, max))),
        _ => None,
    })
}

fn attribute(key: &str, value: Value) -> KeyValue {
    let value = Some(AnyValue { value: Some(value) });
    KeyValue { key: key.into(), value, ..Default::default() }
}

/// Collectors refuse the line if a number has more than 64 bits, or the highest and no sign.
fn number(n: i128) -> Value {
    i64::try_from(n).map_or_else(|_| Value::StringValue(n.to_string()), Value::IntValue)
}

/// A text of at most so many bytes.
fn text(bytes: &[u8], max: usize) -> Value {
    let bytes = &bytes[..bytes.len().min(max)];
    Value::StringValue(String::from_utf8_lossy(bytes).into_owned())
}
