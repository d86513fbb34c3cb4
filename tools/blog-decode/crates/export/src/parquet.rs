// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Entries as Parquet files in directories by date, host and boot, as Hive has them, for engines
//! that read many machines at once.
//!
//! The columns are [`NUMBERS`], [`TEXTS`] and `arguments`, a map by name; date, host and boot are
//! only in the path. An argument is its text if it is a string, nothing if it is `None` or `()`,
//! and else as in [`json`](blog_decode_core::output::json). Bytes that are no UTF-8 become U+FFFD.
//!
//! Other threads make rows of entries ([`RowWork`]), and write them. Rows wait in memory, [`LIMIT`]
//! bytes of them at most, and four times as many while they are written. Then the directory with
//! most of them gets another file, so no file stays open, however many directories there are. A
//! file has one row group. Its statistics let an engine skip it when it asks for another time.

use std::{
    collections::HashMap,
    fs::{self, File},
    io, iter, mem,
    path::{Path, PathBuf},
    ptr,
    sync::Arc,
    thread::Scope,
};

use parquet::{
    basic::{Compression, Encoding, ZstdLevel},
    column::writer::ColumnWriter,
    data_type::ByteArray,
    errors::ParquetError,
    file::{
        properties::{WriterProperties, WriterPropertiesPtr},
        writer::SerializedFileWriter,
    },
    schema::{
        parser::parse_message_type,
        types::{ColumnPath, TypePtr},
    },
};

use blog_decode_core::{
    batch::Work,
    boot::Boot,
    calendar::push_iso8601,
    decode::Entry,
    digits,
    field::{Field, Val},
    format::{
        print::{Printer, Spec},
        value::{Value, View},
    },
    output::{level_name, Names},
    queue::Queue,
};

/// The columns, and what they are called; before them is `time`, in ns since 1970, UTC. What 64
/// bits with a sign can't hold, by damage, is null.
const COLUMNS: [(&str, Field); 19] = [
    ("cpu", Field::Cpu),
    ("pid", Field::Pid),
    ("tgid", Field::Tgid),
    ("ring", Field::Ring),
    ("ordinal", Field::Ordinal),
    ("line", Field::Line),
    ("count", Field::Count),
    ("kind", Field::Kind),
    ("component", Field::Driver),
    ("level", Field::Level),
    ("context", Field::Context),
    ("comm", Field::Comm),
    ("release", Field::Release),
    ("build_id", Field::BuildId),
    ("module", Field::Module),
    ("file", Field::File),
    ("format", Field::Format),
    // Of a loss, it has none.
    ("message", Field::Message),
    ("cause", Field::Cause),
];
/// As many bytes of rows wait.
const LIMIT: usize = 32 << 20;
const DAY: i64 = 86_400_000_000_000;

/// The schema, and how columns are packed.
type Form = (TypePtr, WriterPropertiesPtr);
/// What the crate has done.
type Written<T> = Result<T, ParquetError>;

fn form() -> Written<Form> {
    let mut schema = String::from("message blog { ");
    schema += "OPTIONAL INT64 time (TIMESTAMP(NANOS, true)); ";
    for (name, field) in COLUMNS {
        schema += &match field.is_number() {
            true => format!("OPTIONAL INT64 {name} ; "),
            false => format!("OPTIONAL BYTE_ARRAY {name} (UTF8); "),
        };
    }
    schema += "REQUIRED GROUP arguments (MAP) { REPEATED GROUP key_value { \
               REQUIRED BYTE_ARRAY key (UTF8); OPTIONAL BYTE_ARRAY value (UTF8); } } }";
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by("blog-decode".into());
    // Numbers that grow from row to row.
    for name in ["time", "ordinal"] {
        let path = ColumnPath::from(name);
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    Ok((Arc::new(parse_message_type(&schema)?), Arc::new(properties.build())))
}

/// What went wrong with the file, if it was that.
fn failure(e: ParquetError) -> io::Error {
    match e {
        ParquetError::External(e) => match e.downcast::<io::Error>() {
            Ok(e) => *e,
            Err(e) => io::Error::other(e),
        },
        e => io::Error::other(e),
    }
}

/// A column of the rows that wait.
#[derive(Default)]
struct Column {
    /// For each row, or argument, how much of its path is there.
    depths: Vec<i16>,
    numbers: Vec<i64>,
    /// Texts, and where each starts and ends: the same as the one before is there once.
    text: Vec<u8>,
    places: Vec<(u32, u32)>,
}

impl Column {
    fn number(&mut self, n: Option<i128>) {
        let n = n.and_then(|n| i64::try_from(n).ok());
        self.depths.push(n.is_some().into());
        self.numbers.extend(n);
    }

    fn text(&mut self, depth: i16, text: Option<&[u8]>) {
        self.depths.push(depth);
        let Some(text) = text else { return };
        let last = self.places.last().copied();
        let last = last.filter(|(from, to)| &self.text[*from as usize..*to as usize] == text);
        let place = last.unwrap_or_else(|| {
            let from = self.text.len() as u32;
            match std::str::from_utf8(text) {
                Ok(_) => self.text.extend_from_slice(text),
                Err(_) => self.text.extend(String::from_utf8_lossy(text).as_bytes()),
            }
            (from, self.text.len() as u32)
        });
        self.places.push(place);
    }

    /// Takes the rows of another one.
    fn append(&mut self, other: &mut Self) {
        let from = self.text.len() as u32;
        self.depths.append(&mut other.depths);
        self.numbers.append(&mut other.numbers);
        self.text.append(&mut other.text);
        self.places.extend(other.places.drain(..).map(|(start, end)| (from + start, from + end)));
    }

    /// As many bytes as it takes.
    fn bytes(&self) -> usize {
        self.text.len() + 8 * (self.places.len() + self.numbers.len()) + 2 * self.depths.len()
    }

    fn write(self, repeated: Option<&[i16]>, to: &mut ColumnWriter<'_>) -> Written<()> {
        let depths = Some(&self.depths[..]);
        match to {
            ColumnWriter::Int64ColumnWriter(to) => {
                to.write_batch(&self.numbers, depths, repeated)?;
            }
            ColumnWriter::ByteArrayColumnWriter(to) => {
                let all = ByteArray::from(self.text);
                let text =
                    |(from, to): &(u32, u32)| all.slice(*from as usize, (to - from) as usize);
                let texts = self.places.iter().map(text);
                to.write_batch(&texts.collect::<Vec<_>>(), depths, repeated)?;
            }
            _ => {}
        }
        Ok(())
    }
}

/// Rows of one directory.
#[derive(Default)]
pub struct Rows {
    time: Column,
    columns: [Column; COLUMNS.len()],
    /// Names and values of arguments.
    arguments: [Column; 2],
    /// For each argument, and each row without any: whether it is not a row's first.
    repeated: Vec<i16>,
    count: u64,
    /// As many as were taken from others.
    bytes: usize,
}

impl Rows {
    fn push(&mut self, time: i64, entry: &Entry<'_>) {
        self.count += 1;
        self.time.number(Some(time.into()));
        for (column, (_, field)) in self.columns.iter_mut().zip(COLUMNS) {
            let value = field.value(entry);
            match value.filter(|_| field != Field::Message || !entry.is_loss()) {
                Some(Val::Text(text)) => column.text(1, Some(&text)),
                Some(Val::Level(level)) => column.text(1, Some(level_name(level).as_bytes())),
                Some(Val::Number(n)) => column.number(Some(n)),
                _ => column.depths.push(0),
            }
        }
        // With a key that is there twice, an engine refuses the map.
        let mut names = Names::default();
        let [keys, values] = &mut self.arguments;
        let first = keys.depths.len();
        for (name, value, _) in entry.arguments() {
            let mut text = Vec::new();
            let value = shown(value, &mut text).then_some(&text[..]);
            self.repeated.push((keys.depths.len() != first).into());
            keys.text(1, Some(names.add(name).as_bytes()));
            values.text(1 + i16::from(value.is_some()), value);
        }
        if keys.depths.len() == first {
            self.repeated.push(0);
            keys.text(0, None);
            values.text(0, None);
        }
    }

    /// All columns.
    fn columns(&mut self) -> impl Iterator<Item = &mut Column> {
        iter::once(&mut self.time).chain(&mut self.columns).chain(&mut self.arguments)
    }

    /// Takes those of another one; the answer is how many bytes they are.
    fn append(&mut self, mut other: Self) -> usize {
        let bytes = other.columns().map(|column| column.bytes()).sum::<usize>();
        let bytes = bytes + 2 * other.repeated.len();
        self.columns().zip(other.columns()).for_each(|(to, from)| to.append(from));
        self.repeated.append(&mut other.repeated);
        self.count += other.count;
        self.bytes += bytes;
        bytes
    }

    fn write(self, file: File, (schema, properties): Form) -> Written<()> {
        let mut file = SerializedFileWriter::new(file, schema, properties)?;
        let mut group = file.next_row_group()?;
        let columns = iter::once(self.time).chain(self.columns);
        let columns = columns.map(|column| (column, None));
        let arguments = self.arguments.map(|column| (column, Some(&self.repeated[..])));
        for (column, repeated) in columns.chain(arguments) {
            if let Some(mut to) = group.next_column()? {
                column.write(repeated, to.untyped())?;
                to.close()?;
            }
        }
        group.close()?;
        file.close()?;
        Ok(())
    }
}

/// Rows of entries, by day and boot.
#[derive(Default)]
pub struct MadeRows<'a> {
    parts: Vec<(i64, &'a Boot, Rows)>,
    /// Records and losses whose times no reader can hold.
    left_out: u64,
}

impl<'a> MadeRows<'a> {
    /// Adds an entry.
    pub fn push(&mut self, entry: &Entry<'a>) {
        let Ok(time) = i64::try_from(entry.real()) else {
            // Without a date, it would be in a directory that pandas gives up on.
            self.left_out += 1;
            return;
        };
        let (day, boot) = (time.div_euclid(DAY), entry.boot);
        let is_it = |part: &(i64, &Boot, Rows)| part.0 == day && ptr::eq(part.1, boot);
        let at = self.parts.iter().rposition(is_it).unwrap_or_else(|| {
            self.parts.push((day, boot, Rows::default()));
            self.parts.len() - 1
        });
        self.parts[at].2.push(time, entry);
    }
}

/// Makes rows.
pub struct RowWork;

impl<'a> Work<'a> for RowWork {
    type Made = MadeRows<'a>;

    fn entry(&mut self, entry: &mut Entry<'a>, made: &mut MadeRows<'a>) {
        made.push(entry);
    }
}

/// Rows of a directory that wait, and how many files it has.
struct Directory {
    path: PathBuf,
    rows: Rows,
    parts: u64,
}

/// Writes rows to files. They need several times as long as it takes to collect them.
pub type RowsPacker<'a> = Queue<'a, (Rows, File), io::Result<()>>;

/// Starts a packer, by another thread if that is worth it.
pub fn packer<'a: 's, 's>(scope: &'s Scope<'s, '_>, threads: usize) -> io::Result<RowsPacker<'a>> {
    let form = form().map_err(failure)?;
    let write = || {
        let form = form.clone();
        move |(rows, file): (Rows, File)| rows.write(file, form.clone()).map_err(failure)
    };
    Ok(Queue::new(scope, threads, write))
}

/// Writes the files.
pub struct Parquet<'a> {
    dir: PathBuf,
    packer: RowsPacker<'a>,
    directories: Vec<Directory>,
    /// Which one, by day and boot.
    known: HashMap<(i64, usize), usize>,
    bytes: usize,
    /// Records and losses whose times no reader can hold.
    pub left_out: u64,
}

impl<'a> Parquet<'a> {
    /// Starts in an empty directory.
    pub fn new(dir: &Path, packer: RowsPacker<'a>) -> Self {
        Self {
            dir: dir.into(),
            packer,
            directories: Vec::new(),
            known: HashMap::new(),
            bytes: 0,
            left_out: 0,
        }
    }

    /// Takes rows in.
    pub fn add(&mut self, made: &mut MadeRows<'_>) -> io::Result<()> {
        self.left_out += mem::take(&mut made.left_out);
        for (day, boot, rows) in made.parts.drain(..) {
            let index = self.directory(day, boot);
            self.bytes += self.directories[index].rows.append(rows);
        }
        if self.bytes > LIMIT {
            let all = self.directories.iter().enumerate();
            if let Some((most, _)) = all.max_by_key(|(_, d)| d.rows.bytes) {
                self.flush(most)?;
            }
        }
        Ok(())
    }

    /// The directory of a row.
    fn directory(&mut self, day: i64, boot: &Boot) -> usize {
        // Several boots may have no id, and one path.
        let key = boot.id.is_some().then_some((day, boot.index));
        if let Some(index) = key.and_then(|key| self.known.get(&key)) {
            return *index;
        }
        let path = partition(day, &boot.host, boot.id.as_deref());
        let known = self.directories.iter().position(|d| d.path == path);
        let index = known.unwrap_or_else(|| {
            let rows = Rows::default();
            self.directories.push(Directory { path, rows, parts: 0 });
            self.directories.len() - 1
        });
        self.known.extend(key.map(|key| (key, index)));
        index
    }

    /// Writes what waits.
    pub fn end(mut self) -> io::Result<()> {
        (0..self.directories.len()).try_for_each(|index| self.flush(index))?;
        iter::from_fn(|| self.packer.pop()).collect()
    }

    fn flush(&mut self, index: usize) -> io::Result<()> {
        let directory = &mut self.directories[index];
        if directory.rows.count == 0 {
            return Ok(());
        }
        let rows = mem::take(&mut directory.rows);
        self.bytes -= rows.bytes;
        let dir = self.dir.join(&directory.path);
        fs::create_dir_all(&dir)?;
        let file = File::create_new(dir.join(format!("part-{}.parquet", directory.parts)))?;
        directory.parts += 1;
        self.packer.full().transpose()?;
        self.packer.push((rows, file));
        Ok(())
    }
}

/// The directory of a row.
fn partition(day: i64, host: &str, boot: Option<&str>) -> PathBuf {
    let mut date = Vec::new();
    push_iso8601(&mut date, i128::from(day) * i128::from(DAY), 0, false);
    date.truncate(b"2026-11-23".len());
    let date = String::from_utf8_lossy(&date);
    let (host, boot) = (escaped(host), escaped(boot.unwrap_or("")));
    format!("date={date}/host={host}/boot={boot}").into()
}

/// A value in a path as Hive writes it.
fn escaped(value: &str) -> String {
    if value.is_empty() {
        // Hive's own word for it is null to readers, and pandas has no null among names.
        return "unknown".into();
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
            ("", "host=unknown"),
        ] {
            let path = partition(0, host, None);
            let parts: Vec<_> = path.iter().map(|p| p.to_str().unwrap()).collect();
            let boot = "boot=unknown";
            assert_eq!(parts, ["date=1970-01-01", expected, boot]);
        }
    }
}
