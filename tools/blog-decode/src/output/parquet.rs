// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Entries as Parquet files in directories by date, host and boot, as Hive has them, for engines
//! that read many machines at once.
//!
//! The columns are [`NUMBERS`], [`TEXTS`] and `arguments`, a map by name; date, host and boot are
//! only in the path. An argument is its text if it is a string, nothing if it is `None` or `()`,
//! and else as in [`json`](super::json). Bytes that are no UTF-8 become U+FFFD.
//!
//! Rows wait in memory, [`LIMIT`] bytes of them at most. Then the directory with most of them gets
//! another file, so no file stays open, however many directories there are.
//!
//! A file is as plain as the format allows: one row group with one page a column, values in order,
//! packed by gzip. The crates that write more are under the Apache license alone, which doesn't go
//! with ours.

use std::{
    collections::HashMap,
    fs::{
        self,
        File, //
    },
    io::{
        self,
        BufWriter,
        Write, //
    },
    path::{
        Path,
        PathBuf, //
    },
};

use flate2::{
    write::GzEncoder,
    Compression, //
};

use super::{
    digits,
    json,
    level_name,
    proto::varint,
    push_iso8601,
    Names, //
};
use crate::{
    blogfmt::bytes::until_nul,
    decode::{
        Content,
        Entry,
        Record, //
    },
    format::{
        print::{
            Printer,
            Spec, //
        },
        value::{
            Value,
            View, //
        }, //
    },
};

/// Columns of numbers: the first in ns since 1970, UTC. A loss has a `count`.
pub const NUMBERS: [&str; 8] = [
    "time", "cpu", "pid", "tgid", "ring", "ordinal", "line", "count",
];
/// Columns of texts. `kind` is `record`, `lost`, or `dmesg` or `ftrace` for a line of those; a loss
/// has a `cause`.
pub const TEXTS: [&str; 12] = [
    "kind",
    "component",
    "level",
    "context",
    "comm",
    "release",
    "build_id",
    "module",
    "file",
    "format",
    "message",
    "cause",
];
const KEY: usize = NUMBERS.len() + TEXTS.len();
const VALUE: usize = KEY + 1;
const COLUMNS: usize = VALUE + 1;
/// As many bytes of rows wait.
const LIMIT: usize = 32 << 20;

/// Numbers from 0 to 2, as runs of the same: a varint of twice the length, and the number.
#[derive(Default)]
struct Runs {
    bytes: Vec<u8>,
    number: u8,
    run: u64,
}

impl Runs {
    fn push(&mut self, number: u8) {
        if number != self.number {
            self.close();
            self.number = number;
        }
        self.run += 1;
    }

    fn close(&mut self) {
        if self.run != 0 {
            varint(self.run << 1, &mut self.bytes);
            self.bytes.push(self.number);
        }
        self.run = 0;
    }
}

/// A column of the rows that wait.
#[derive(Default)]
struct Column {
    values: Vec<u8>,
    /// For each value, how much of its path is there.
    depths: Runs,
    /// For each argument, and each row without any: whether it is not a row's first.
    repeated: Option<Runs>,
    count: u32,
}

impl Column {
    fn depth(&mut self, depth: u8) {
        self.depths.push(depth);
        self.count += 1;
    }

    fn number(&mut self, n: Option<i64>) {
        self.depth(n.is_some().into());
        self.values.extend(n.into_iter().flat_map(i64::to_le_bytes));
    }

    fn text(&mut self, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        self.values.extend((text.len() as u32).to_le_bytes());
        self.values.extend(text.as_bytes());
    }

    /// About as many bytes as it takes.
    fn bytes(&self) -> usize {
        self.values.len() + self.depths.bytes.len()
    }

    /// The page's content, before it is packed.
    fn page(mut self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.bytes() + 64);
        for runs in self.repeated.iter_mut().chain([&mut self.depths]) {
            runs.close();
            out.extend((runs.bytes.len() as u32).to_le_bytes());
            out.append(&mut runs.bytes);
        }
        out.append(&mut self.values);
        out
    }
}

/// A struct of Thrift's compact protocol, field by field.
#[derive(Default)]
struct Thrift {
    out: Vec<u8>,
    last: u8,
}

/// Types of fields.
const TRUE: u8 = 1;
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

impl Thrift {
    /// Fields come in the order of their numbers, which are at most 15 apart.
    fn field(mut self, id: u8, form: u8) -> Self {
        self.out.push((id - self.last) << 4 | form);
        self.last = id;
        self
    }

    fn number(mut self, id: u8, form: u8, n: i64) -> Self {
        self = self.field(id, form);
        varint((n << 1 ^ n >> 63) as u64, &mut self.out);
        self
    }

    fn i32(self, id: u8, n: i32) -> Self {
        self.number(id, I32, n.into())
    }

    fn i64(self, id: u8, n: u64) -> Self {
        self.number(id, I64, n as i64)
    }

    fn text(mut self, id: u8, text: &str) -> Self {
        self = self.field(id, BINARY);
        self.out.extend(binary(text));
        self
    }

    fn inner(mut self, id: u8, inner: Self) -> Self {
        self = self.field(id, STRUCT);
        self.out.extend(inner.end());
        self
    }

    fn list(mut self, id: u8, form: u8, items: &[Vec<u8>]) -> Self {
        self = self.field(id, LIST);
        self.out.push(0xf0 | form);
        varint(items.len() as u64, &mut self.out);
        self.out.extend(items.concat());
        self
    }

    fn end(mut self) -> Vec<u8> {
        self.out.push(0);
        self.out
    }
}

fn binary(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    varint(text.len() as u64, &mut out);
    out.extend(text.as_bytes());
    out
}

/// Numbers of parquet.thrift.
const INT64: i32 = 2;
const BYTE_ARRAY: i32 = 6;
const REQUIRED: i32 = 0;
const OPTIONAL: i32 = 1;
const REPEATED: i32 = 2;
const PLAIN: i32 = 0;
const RLE: i32 = 3;
const GZIP: i32 = 2;
const MAGIC: &[u8] = b"PAR1";

fn schema() -> Vec<Vec<u8>> {
    let one = Thrift::default;
    let string = |name, repetition| {
        let e = one().i32(1, BYTE_ARRAY).i32(3, repetition).text(4, name);
        e.i32(6, 0).inner(10, one().inner(1, one())).end()
    };
    let children = (NUMBERS.len() + TEXTS.len() + 1) as i32;
    let mut all = vec![one().text(4, "blog").i32(5, children).end()];
    for (i, name) in NUMBERS.into_iter().enumerate() {
        let mut e = one().i32(1, INT64).i32(3, OPTIONAL).text(4, name);
        if i == 0 {
            let nanos = one().inner(3, one());
            let time = one().field(1, TRUE).inner(2, nanos);
            e = e.inner(10, one().inner(8, time));
        }
        all.push(e.end());
    }
    all.extend(TEXTS.map(|name| string(name, OPTIONAL)));
    let map = one().i32(3, REQUIRED).text(4, "arguments").i32(5, 1);
    all.push(map.i32(6, 1).inner(10, one().inner(2, one())).end());
    let entry = one().i32(3, REPEATED).text(4, "key_value").i32(5, 2);
    all.push(entry.end());
    all.extend([string("key", REQUIRED), string("value", OPTIONAL)]);
    all
}

/// Where a column is in the schema.
fn column_path(i: usize) -> Vec<Vec<u8>> {
    match i {
        KEY => ["arguments", "key_value", "key"].map(binary).into(),
        VALUE => ["arguments", "key_value", "value"].map(binary).into(),
        _ => vec![binary(NUMBERS.iter().chain(&TEXTS).nth(i).unwrap_or(&""))],
    }
}

/// Rows of one directory.
struct Rows {
    columns: [Column; COLUMNS],
    count: u64,
}

impl Default for Rows {
    fn default() -> Self {
        let mut columns: [Column; COLUMNS] = Default::default();
        for column in &mut columns[KEY..] {
            column.repeated = Some(Runs::default());
        }
        Self { columns, count: 0 }
    }
}

/// A row, but for its arguments.
#[derive(Default)]
struct Row<'a> {
    numbers: [Option<i128>; NUMBERS.len()],
    texts: [Option<&'a [u8]>; TEXTS.len()],
}

impl Rows {
    fn push(&mut self, row: &Row<'_>, record: Option<&Record<'_>>) {
        self.count += 1;
        let (numbers, texts) = self.columns.split_at_mut(NUMBERS.len());
        for (column, n) in numbers.iter_mut().zip(row.numbers) {
            column.number(n.map(saturate));
        }
        for (column, text) in texts.iter_mut().zip(row.texts) {
            column.depth(text.is_some().into());
            text.into_iter().for_each(|t| column.text(t));
        }
        // With a key that is there twice, an engine refuses the map.
        let mut names = Names::default();
        let mut repeated = false;
        let site = record.and_then(|r| Some((r, r.found.as_ref()?.site?)));
        if let Some((r, template)) = site.and_then(|(r, s)| Some((r, s.template.as_ref().ok()?))) {
            for (name, value, _) in template.arguments(r.payload, r.slots) {
                let mut text = Vec::new();
                let value = shown(value, &mut text).then_some(&text[..]);
                self.argument(repeated, Some((names.add(name), value)));
                repeated = true;
            }
        }
        if !repeated {
            self.argument(false, None);
        }
    }

    fn argument(&mut self, repeated: bool, argument: Option<(&str, Option<&[u8]>)>) {
        let value = argument.and_then(|(_, value)| value);
        let is_there = u8::from(argument.is_some());
        let depths = [is_there, is_there + u8::from(value.is_some())];
        for (column, depth) in self.columns[KEY..].iter_mut().zip(depths) {
            column.depth(depth);
            if let Some(runs) = &mut column.repeated {
                runs.push(repeated.into());
            }
        }
        let key = argument.map(|(key, _)| key.as_bytes());
        key.into_iter().for_each(|k| self.columns[KEY].text(k));
        value.into_iter().for_each(|v| self.columns[VALUE].text(v));
    }

    fn bytes(&self) -> usize {
        self.columns.iter().map(Column::bytes).sum()
    }

    fn write(self, path: &Path) -> io::Result<()> {
        let one = Thrift::default;
        let mut out = BufWriter::new(File::create_new(path)?);
        out.write_all(MAGIC)?;
        let (mut at, mut all, mut chunks) = (MAGIC.len() as u64, 0, Vec::new());
        for (i, column) in self.columns.into_iter().enumerate() {
            let count = column.count;
            let page = column.page();
            let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
            packed.write_all(&page)?;
            let packed = packed.finish()?;
            let values = one().i32(1, count as i32).i32(2, PLAIN);
            let header = one().i32(1, 0).i32(2, page.len() as i32);
            let header = header.i32(3, packed.len() as i32);
            let header = header.inner(5, values.i32(3, RLE).i32(4, RLE)).end();
            out.write_all(&header)?;
            out.write_all(&packed)?;
            let form = if i < NUMBERS.len() { INT64 } else { BYTE_ARRAY };
            let encodings = [PLAIN, RLE].map(|n| vec![(n << 1) as u8]);
            let (before, after) = (header.len() + page.len(), header.len() + packed.len());
            let chunk = one().i32(1, form).list(2, I32, &encodings);
            let chunk = chunk.list(3, BINARY, &column_path(i)).i32(4, GZIP);
            let chunk = chunk.i64(5, count.into()).i64(6, before as u64);
            let chunk = chunk.i64(7, after as u64).i64(9, at);
            chunks.push(one().i64(2, at).inner(3, chunk).end());
            at += after as u64;
            all += before as u64;
        }
        let group = one().list(1, STRUCT, &chunks).i64(2, all);
        let group = group.i64(3, self.count).end();
        let footer = one().i32(1, 1).list(2, STRUCT, &schema());
        let footer = footer.i64(3, self.count).list(4, STRUCT, &[group]);
        let footer = footer.text(6, "blog-decode").end();
        out.write_all(&footer)?;
        out.write_all(&(footer.len() as u32).to_le_bytes())?;
        out.write_all(MAGIC)?;
        out.flush()
    }
}

/// Writes the files.
pub struct Parquet {
    dir: PathBuf,
    /// By file of the input.
    releases: Vec<String>,
    /// Rows that wait, by directory, and how many files it has.
    waiting: HashMap<PathBuf, (Rows, u64)>,
    bytes: usize,
}

impl Parquet {
    /// Starts in an empty directory. `releases` are the kernel's, by file.
    pub fn new(dir: &Path, releases: Vec<String>) -> Self {
        Self {
            dir: dir.into(),
            releases,
            waiting: HashMap::new(),
            bytes: 0,
        }
    }

    /// Adds a row.
    pub fn entry(&mut self, entry: &Entry<'_>) -> io::Result<()> {
        let time = saturate(entry.boot.calibration.real(entry.clock));
        let path = partition(time, &entry.boot.host, entry.boot.id.as_deref());
        let (rows, _) = self.waiting.entry(path).or_default();
        let before = rows.bytes();
        let (writer, stream) = (&entry.writer, entry.stream);
        let task = writer.task.as_ref();
        let release = self.releases.get(stream.file).map(String::as_bytes);
        let mut row = Row::default();
        row.numbers[0] = Some(time.into());
        row.numbers[1] = writer.cpu.map(Into::into);
        row.numbers[2] = task.map(|t| t.pid.into());
        row.numbers[3] = task.map(|t| t.tgid.into());
        row.texts[3] = writer.context.map(|c| c.name().as_bytes());
        row.texts[4] = task.map(|t| until_nul(&t.comm));
        row.texts[5] = release.filter(|r| !r.is_empty());
        let mut kind = &*stream.component;
        if !matches!(entry.content, Content::Line { .. }) {
            row.numbers[4] = Some(stream.id.into());
            row.texts[1] = Some(kind.as_bytes());
        }
        let mut record = None;
        match &entry.content {
            Content::Record(r) => {
                (kind, record) = ("record", Some(r));
                row.numbers[5] = Some(r.ordinal.into());
                let image = r.found.as_ref().map(|f| f.image.build_id.as_bytes());
                row.texts[6] = image.filter(|id| !id.is_empty());
                row.texts[10] = Some(r.message);
                if let Some(site) = r.found.as_ref().and_then(|f| f.site) {
                    row.numbers[6] = Some(site.line.into());
                    row.texts[2] = Some(level_name(site.level).as_bytes());
                    row.texts[7] = Some(site.module.as_bytes());
                    row.texts[8] = Some(site.file.as_bytes());
                    row.texts[9] = Some(site.format.as_bytes());
                }
            }
            Content::Loss { cause, count } => {
                kind = "lost";
                row.numbers[7] = Some((*count).into());
                row.texts[11] = Some(json::loss_name(*cause).as_bytes());
            }
            Content::Line { level, message } => {
                row.texts[2] = level.map(|l| level_name(l).as_bytes());
                row.texts[10] = Some(message);
            }
        }
        row.texts[0] = Some(kind.as_bytes());
        rows.push(&row, record);
        self.bytes += rows.bytes() - before;
        if self.bytes > LIMIT {
            let most = self
                .waiting
                .iter()
                .max_by_key(|(_, (rows, _))| rows.bytes());
            if let Some(path) = most.map(|(path, _)| path.clone()) {
                self.flush(&path)?;
            }
        }
        Ok(())
    }

    /// Writes what waits.
    pub fn end(mut self) -> io::Result<()> {
        let mut paths: Vec<_> = self.waiting.keys().cloned().collect();
        paths.sort_unstable();
        paths.iter().try_for_each(|path| self.flush(path))
    }

    fn flush(&mut self, path: &Path) -> io::Result<()> {
        let Some((rows, number)) = self.waiting.get_mut(path) else {
            return Ok(());
        };
        if rows.count == 0 {
            return Ok(());
        }
        let (rows, part) = (std::mem::take(rows), *number);
        *number += 1;
        self.bytes -= rows.bytes();
        let dir = self.dir.join(path);
        fs::create_dir_all(&dir)?;
        rows.write(&dir.join(format!("part-{part}.parquet")))
    }
}

fn saturate(n: i128) -> i64 {
    n.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

/// The directory of a row.
fn partition(time: i64, host: &str, boot: Option<&str>) -> PathBuf {
    let mut date = Vec::new();
    push_iso8601(&mut date, time.into(), 0, false);
    date.truncate(b"2026-11-23".len());
    let date = String::from_utf8_lossy(&date);
    let (host, boot) = (escaped(host), escaped(boot.unwrap_or("")));
    format!("date={date}/host={host}/boot={boot}").into()
}

/// A value in a path as Hive writes it.
fn escaped(value: &str) -> String {
    if value.is_empty() {
        return "__HIVE_DEFAULT_PARTITION__".into();
    }
    let mut out = String::new();
    for c in value.chars() {
        if c.is_ascii_control() || "\"#%'*/:=?\\{[]^".contains(c) {
            out += &format!("%{:02X}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// Appends an argument's text; `false`: it has none.
fn shown(value: Value<'_>, out: &mut Vec<u8>) -> bool {
    match value.view() {
        View::Unit | View::Option(None) => return false,
        View::Option(Some(v)) => return shown(v, out),
        View::Str(bytes) | View::CStr(bytes) => out.extend_from_slice(bytes),
        View::Char(Ok(c)) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        View::Bytes(bytes) => digits::push_hex(out, bytes, b""),
        _ => value.print(&Spec::DISPLAY, &mut Printer::new(out)),
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leaves_its_directory() {
        for (host, expected) in [
            ("a", "host=a"),
            ("..", "host=.."),
            ("../../etc", "host=..%2F..%2Fetc"),
            ("a=b%", "host=a%3Db%25"),
            ("\0\x1b\n", "host=%00%1B%0A"),
            ("", "host=__HIVE_DEFAULT_PARTITION__"),
        ] {
            let path = partition(0, host, None);
            let parts: Vec<_> = path.iter().map(|p| p.to_str().unwrap()).collect();
            let boot = "boot=__HIVE_DEFAULT_PARTITION__";
            assert_eq!(parts, ["date=1970-01-01", expected, boot]);
        }
    }
}
