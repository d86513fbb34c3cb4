// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Entries as a trace in the Common Trace Format 1.8, for babeltrace2 and Trace Compass.
//!
//! A trace is a directory: `metadata` says in TSDL what the bytes of `records` mean. There is one
//! stream, in the order of time, with a class of event for each call site: its message and its
//! arguments, integers as integers and everything else as text. An event's context says which
//! component, context, CPU, task and machine. Losses are events of class `lost`, lines of other logs
//! of class `line`. The clock is CLOCK_BOOTTIME in ns, with its offset to real time.
//!
//! All fields are aligned to bytes, so that they are written as they come.

use std::{
    collections::HashMap,
    fmt::Write as _,
    io::{self, Write},
};

use blog_decode_core::{
    decode::Entry,
    format::{
        print::{Printer, Spec},
        template::Template,
        types::Kind,
    },
    merge::EventKind,
    sidetable::Site,
};
use blog_table::bytes::until_nul;
use blog_wire::record::Context;

const MAGIC: u32 = 0xc1fc_1fc1;
/// A packet is written when it has as many bytes.
const PACKET: usize = 64 << 10;
/// Bytes of a packet's header and context.
const HEADER: usize = 8 + 4 * 8;
/// Id of the class of losses; those of sites count from 1.
const LOST: u32 = 0;
/// Id of the class of lines of other logs: dmesg, ftrace.
const LINE: u32 = u32::MAX;
/// Number of a context that isn't known.
const UNKNOWN: u8 = 255;

/// How an argument is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    /// Bytes, and whether it has a sign.
    Integer(usize, bool),
    Pointer,
    Text,
}

struct Class {
    /// Its declaration.
    text: String,
    fields: Vec<Field>,
}

/// Writes a trace.
pub struct Ctf<W> {
    records: W,
    packet: Vec<u8>,
    /// First and last time of the packet.
    times: Option<(u64, u64)>,
    /// Times of a stream don't go back.
    last: u64,
    classes: Vec<Class>,
    /// Index into `classes` by file, site id and whether it can be decoded.
    index: HashMap<(usize, u32, bool), usize>,
    /// Real time less boot time.
    offset: Option<i128>,
    /// Records and losses whose times no reader can hold.
    pub left_out: u64,
    /// Those that have the time of the one before, as theirs is earlier.
    pub moved: u64,
    text: Vec<u8>,
}

impl<W: Write> Ctf<W> {
    /// Starts the file `records`.
    pub fn new(records: W) -> Self {
        Self {
            records,
            packet: vec![0; HEADER],
            times: None,
            last: 0,
            classes: Vec::new(),
            index: HashMap::new(),
            offset: None,
            left_out: 0,
            moved: 0,
            text: Vec::new(),
        }
    }

    /// Adds an entry.
    pub fn entry(&mut self, entry: &Entry<'_>) -> io::Result<()> {
        let c = &entry.boot.calibration;
        let (boot, real) = (c.boot(entry.clock()), entry.real());
        // Of several boots, it is the clock of the first. Readers keep both times in 64 bits with a
        // sign, and give up on all of the trace otherwise.
        let fits = |ns: i128| i64::try_from(ns).is_ok_and(|ns| ns >= 0);
        let offset = self.offset.unwrap_or(real - boot);
        if !fits(real - offset) || !fits(real) || !fits(boot) {
            self.left_out += 1;
            return Ok(());
        }
        self.offset = Some(offset);
        let own = (real - offset) as u64;
        let time = own.max(self.last);
        self.moved += u64::from(own < time);
        self.last = time;
        self.times.get_or_insert((time, time)).1 = time;
        let id = match entry.event.kind {
            EventKind::Record { .. } => self.class(entry) as u32 + 1,
            EventKind::Loss { .. } => LOST,
            EventKind::Line { .. } => LINE,
        };
        self.packet.extend_from_slice(&id.to_le_bytes());
        self.packet.extend_from_slice(&time.to_le_bytes());
        self.context(entry);
        match entry.event.kind {
            EventKind::Record { .. } => {
                self.string(&entry.message);
                self.arguments(id as usize - 1, entry);
            }
            EventKind::Loss { cause, count, .. } => {
                self.string(cause.name().as_bytes());
                self.packet.extend_from_slice(&count.to_le_bytes());
            }
            EventKind::Line { .. } => self.string(&entry.message),
        }
        if self.packet.len() >= PACKET {
            self.flush()?;
        }
        Ok(())
    }

    fn context(&mut self, entry: &Entry<'_>) {
        let writer = entry.writer();
        self.string(entry.stream.component.as_bytes());
        self.packet.push(writer.context.map_or(UNKNOWN, |c| c as u8));
        let cpu = writer.cpu.and_then(|n| i32::try_from(n).ok());
        let task = entry.task();
        for n in [cpu, task.map(|t| t.tgid), task.map(|t| t.pid)] {
            self.packet.extend_from_slice(&n.unwrap_or(-1).to_le_bytes());
        }
        self.string(task.map_or(&[][..], |t| until_nul(&t.comm)));
        self.string(entry.boot.name.as_bytes());
    }

    /// A string ends with a NUL, so it can't have one.
    fn string(&mut self, bytes: &[u8]) {
        for (i, part) in bytes.split(|&b| b == 0).enumerate() {
            let gap: &[u8] = if i == 0 { b"" } else { b"\\0" };
            self.packet.extend_from_slice(gap);
            match std::str::from_utf8(part) {
                Ok(_) => self.packet.extend_from_slice(part),
                Err(_) => {
                    let text = String::from_utf8_lossy(part);
                    self.packet.extend_from_slice(text.as_bytes());
                }
            }
        }
        self.packet.push(0);
    }

    fn arguments(&mut self, class: usize, r: &Entry<'_>) {
        let Some(template) = r.template() else { return };
        let mut text = std::mem::take(&mut self.text);
        for (i, (_, value, _)) in template.arguments(r.payload(), &r.slots).enumerate() {
            match self.classes[class].fields[i] {
                Field::Integer(..) | Field::Pointer => self.packet.extend_from_slice(value.fixed),
                Field::Text => {
                    text.clear();
                    value.print(&Spec::DISPLAY, &mut Printer::new(&mut text));
                    self.string(&text);
                }
            }
        }
        self.text = text;
    }

    /// Index of a record's class.
    fn class(&mut self, r: &Entry<'_>) -> usize {
        let key = (r.stream.file(), r.id(), r.raw.is_none());
        if let Some(at) = self.index.get(&key) {
            return *at;
        }
        let template = r.template().filter(|_| r.raw.is_none());
        let at = self.classes.len();
        self.classes.push(class(at as u32 + 1, r.id(), r.site(), template));
        self.index.insert(key, at);
        at
    }

    /// Writes the packet that is there.
    fn flush(&mut self) -> io::Result<()> {
        let Some((first, last)) = self.times.take() else {
            return Ok(());
        };
        let bits = self.packet.len() as u64 * 8;
        let mut header = Vec::with_capacity(HEADER);
        header.extend_from_slice(&MAGIC.to_le_bytes());
        header.extend_from_slice(&0u32.to_le_bytes());
        for n in [first, last, bits, bits] {
            header.extend_from_slice(&n.to_le_bytes());
        }
        self.packet[..HEADER].copy_from_slice(&header);
        self.records.write_all(&self.packet)?;
        self.packet.truncate(HEADER);
        Ok(())
    }

    /// Writes what is left; the answer is the content of `metadata`.
    pub fn end(mut self, host: &str, release: &str) -> io::Result<String> {
        self.flush()?;
        self.records.flush()?;
        let offset = self.offset.unwrap_or(0);
        let mut out = format!(
            "/* CTF 1.8 */\n\
             trace {{\n\
             \tmajor = 1;\n\
             \tminor = 8;\n\
             \tbyte_order = le;\n\
             \tpacket.header := struct {{\n\
             \t\t{u32} magic;\n\
             \t\t{u32} stream_id;\n\
             \t}};\n\
             }};\n\n\
             env {{\n\
             \ttracer_name = \"blog\";\n\
             \tdomain = \"kernel\";\n\
             \thostname = {host};\n\
             \tkernel_release = {release};\n\
             }};\n\n\
             clock {{\n\
             \tname = \"boot\";\n\
             \tdescription = \"CLOCK_BOOTTIME\";\n\
             \tfreq = 1000000000;\n\
             \toffset_s = {seconds};\n\
             \toffset = {ns};\n\
             }};\n\n\
             stream {{\n\
             \tid = 0;\n\
             \tpacket.context := struct {{\n\
             \t\t{time} timestamp_begin;\n\
             \t\t{time} timestamp_end;\n\
             \t\t{u64} content_size;\n\
             \t\t{u64} packet_size;\n\
             \t}};\n\
             \tevent.header := struct {{\n\
             \t\t{u32} id;\n\
             \t\t{time} timestamp;\n\
             \t}};\n\
             \tevent.context := struct {{\n\
             \t\t{text} component;\n\
             \t\tenum : {u8} {{ {contexts}\"unknown\" = {UNKNOWN} }} context;\n\
             \t\t{i32} cpu;\n\
             \t\t{i32} pid;\n\
             \t\t{i32} tid;\n\
             \t\t{text} comm;\n\
             \t\t{text} host;\n\
             \t}};\n\
             }};\n\n\
             event {{\n\
             \tname = \"line\";\n\
             \tid = {LINE};\n\
             \tstream_id = 0;\n\
             \tfields := struct {{\n\
             \t\t{text} _msg;\n\
             \t}};\n\
             }};\n\n\
             event {{\n\
             \tname = \"lost\";\n\
             \tid = {LOST};\n\
             \tstream_id = 0;\n\
             \tloglevel = 4;\n\
             \tfields := struct {{\n\
             \t\t{text} cause;\n\
             \t\t{u64} count;\n\
             \t}};\n\
             }};\n",
            u8 = integer(1, false, 10),
            u32 = integer(4, false, 10),
            i32 = integer(4, true, 10),
            u64 = integer(8, false, 10),
            time = "integer { size = 64; align = 8; signed = false; map = clock.boot.value; }",
            text = TEXT,
            host = quoted(host),
            release = quoted(release),
            seconds = offset.div_euclid(1_000_000_000),
            ns = offset.rem_euclid(1_000_000_000),
            contexts = (0..=4)
                .filter_map(Context::from_u8)
                .map(|c| format!("\"{}\" = {}, ", c.name(), c as u8))
                .collect::<String>(),
        );
        for class in &self.classes {
            out.push_str(&class.text);
        }
        Ok(out)
    }
}

const TEXT: &str = "string { encoding = UTF8; }";

fn integer(bytes: usize, signed: bool, base: u8) -> String {
    format!("integer {{ size = {}; align = 8; signed = {signed}; base = {base}; }}", bytes * 8)
}

/// A string literal of TSDL.
fn quoted(s: &str) -> String {
    let mut out = String::from("\"");
    for c in s.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A name that TSDL allows. The underscore in front is taken off again by readers; it keeps the
/// name apart from keywords.
fn identifier(s: &str) -> String {
    let mut out = String::from("_");
    for c in s.chars() {
        out.push(if c.is_ascii_alphanumeric() { c } else { '_' });
    }
    out
}

fn class(number: u32, id: u32, site: Option<&Site>, template: Option<&Template>) -> Class {
    let name = match site {
        Some(site) => format!("{}:{}", site.module, site.line),
        None => format!("site {id}"),
    };
    // As LTTng has them.
    let level = match site.map(|s| s.level) {
        Some(1) => 3,
        Some(2) => 4,
        Some(4) => 14,
        Some(5) => 13,
        _ => 6,
    };
    let mut text = format!(
        "\nevent {{\n\tname = {};\n\tid = {number};\n\tstream_id = 0;\n\tloglevel = {level};\n\
         \tfields := struct {{\n\t\t{TEXT} _msg;\n",
        quoted(&name)
    );
    let mut fields = Vec::new();
    let mut names = vec!["_msg".to_owned()];
    for (name, ty) in template.iter().flat_map(|t| t.names().iter().zip(t.types())) {
        let field = match ty.kind {
            Kind::Uint if ty.fixed <= 8 => Field::Integer(ty.fixed, false),
            Kind::Int if ty.fixed <= 8 => Field::Integer(ty.fixed, true),
            Kind::Pointer => Field::Pointer,
            _ => Field::Text,
        };
        let declared = match field {
            Field::Integer(bytes, signed) => integer(bytes, signed, 10),
            Field::Pointer => integer(8, false, 16),
            Field::Text => TEXT.to_owned(),
        };
        let mut name = identifier(name);
        while names.contains(&name) {
            name.push('_');
        }
        // Writing to a String doesn't fail.
        let _ = writeln!(text, "\t\t{declared} {name};");
        names.push(name);
        fields.push(field);
    }
    text.push_str("\t};\n};\n");
    Class { text, fields }
}
