// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Entries as a trace in the Common Trace Format 1.8, for babeltrace2 and Trace Compass.
//!
//! A trace is a directory: `metadata` says in TSDL what the bytes of `records` mean. There is one
//! stream, in the order of time, with a class of event for each call site, named by its place and
//! its format: its fields are the arguments, integers as integers and everything else as text. An
//! event's context says which component, context, CPU, task and machine. Losses are events of class
//! `lost`, lines of other logs of class `line`, and what can't be decoded is text. The clock is
//! CLOCK_BOOTTIME in ns, with its offset to real time.
//!
//! An event is small, as LTTng's are: a byte for its class and four for its time, if the one before
//! is less than four seconds older; names are numbers, which `metadata` knows; and a context has as
//! many bits as it needs. Fields are aligned to bytes. Other threads encode them ([`fields`]); what
//! counts from the event before is added in order.

use std::{
    collections::HashMap,
    fmt::Write as _,
    io::{self, Write},
    mem,
    ops::Range,
};

use blog_decode_core::{
    batch::Coded,
    decode::Entry,
    format::{
        print::{Printer, Spec},
        template::push_missing,
        types::{Kind, Type},
    },
    merge::EventKind,
};
use blog_table::bytes::until_nul;
use blog_wire::record::Context;

const MAGIC: u32 = 0xc1fc_1fc1;
/// A packet is written when it has as many bytes.
const PACKET: usize = 64 << 10;
/// Bytes of a packet's header and context.
const HEADER: usize = 8 + 4 * 8;
/// Ids of the classes of losses and of lines of other logs: dmesg, ftrace. Those of sites
/// follow.
const LOST: u32 = 0;
const LINE: u32 = 1;
const SITES: u32 = 2;
/// In place of an id of one byte: a longer one follows, and all of the time.
const EXTENDED: u8 = 255;
/// Number of a context that isn't known, and bits of each number.
const UNKNOWN: u8 = 7;
const CONTEXT_BITS: u32 = 3;
const CPU_BITS: u32 = 16;
/// No kernel has more than 2^22 threads.
const PID_BITS: u32 = 24;
const COMM_BITS: u32 = 16;

/// How an argument is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    /// Bytes, and whether it has a sign.
    Integer(usize, bool),
    Pointer,
    Text,
}

impl Field {
    fn of(ty: &Type) -> Self {
        match ty.kind {
            Kind::Uint if ty.fixed <= 8 => Self::Integer(ty.fixed, false),
            Kind::Int if ty.fixed <= 8 => Self::Integer(ty.fixed, true),
            Kind::Pointer => Self::Pointer,
            _ => Self::Text,
        }
    }
}

/// File, site id and whether it can be decoded.
type Key = (usize, u32, bool);

/// Appends the fields of an entry.
pub fn fields(entry: &Entry<'_>, out: &mut Vec<u8>) {
    match entry.event.kind {
        EventKind::Loss { cause, count, .. } => {
            string(cause.name().as_bytes(), out);
            return out.extend_from_slice(&count.to_le_bytes());
        }
        EventKind::Record { .. } if entry.raw.is_none() => {}
        _ => return string(&entry.message, out),
    }
    for (_, value, missing) in entry.arguments() {
        if Field::of(value.ty) != Field::Text {
            out.extend_from_slice(value.fixed);
            continue;
        }
        let mut text = Vec::new();
        let mut printer = Printer::new(&mut text);
        value.print(&Spec::DISPLAY, &mut printer);
        if missing > 0 {
            push_missing(missing, value.tail.len() + missing, &mut printer);
        }
        string(&text, out);
    }
}

/// Appends a string: it ends with a NUL, so it can't have one.
fn string(bytes: &[u8], out: &mut Vec<u8>) {
    let text = String::from_utf8_lossy(bytes);
    match text.contains('\0') {
        true => out.extend_from_slice(text.replace('\0', "\\0").as_bytes()),
        false => out.extend_from_slice(text.as_bytes()),
    }
    out.push(0);
}

/// Labels that have numbers in contexts. 0 is none.
struct Labels {
    bits: u32,
    ids: HashMap<Vec<u8>, u64>,
    /// What declares them.
    text: String,
}

impl Labels {
    /// Numbers for so many names.
    fn new(count: usize) -> Self {
        let bits = count.checked_ilog2().unwrap_or(0) + 1;
        Self { bits, ids: HashMap::new(), text: "\"\" = 0".into() }
    }

    /// The number of a name; 0 if there are too many.
    fn id(&mut self, name: &[u8]) -> u64 {
        if name.is_empty() {
            return 0;
        }
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        let id = self.ids.len() as u64 + 1;
        if id >> self.bits != 0 {
            return 0;
        }
        // Writing to a String doesn't fail.
        let _ = write!(self.text, ", {} = {id}", quoted(&String::from_utf8_lossy(name)));
        self.ids.insert(name.to_vec(), id);
        id
    }

    fn declaration(&self) -> String {
        format!("enum : {} {{ {} }}", packed(self.bits, false), self.text)
    }
}

/// Appends the lowest bits of numbers, and zeros up to the next byte.
fn push_bits(numbers: &[(u64, u32)], out: &mut Vec<u8>) {
    let mut at = 0;
    for (n, bits) in numbers {
        for bit in 0..*bits {
            if at % 8 == 0 {
                out.push(0);
            }
            if let Some(byte) = out.last_mut() {
                *byte |= ((n >> bit & 1) as u8) << (at % 8);
            }
            at += 1;
        }
    }
}

/// Writes a trace.
pub struct Ctf<W> {
    records: W,
    packet: Vec<u8>,
    /// First and last time of the packet.
    times: Option<(u64, u64)>,
    /// Times of a stream don't go back.
    last: u64,
    /// Declarations.
    classes: String,
    /// Ids of classes.
    ids: HashMap<Key, u32>,
    components: Labels,
    comms: Labels,
    hosts: Labels,
    /// Real time less boot time.
    offset: Option<i128>,
    /// Records and losses whose times no reader can hold.
    pub left_out: u64,
    /// Those that have the time of the one before, as theirs is earlier.
    pub moved: u64,
    /// Contexts of a batch, one after the other.
    contexts: Vec<u8>,
}

impl<W: Write> Ctf<W> {
    /// Starts the file `records`, which will have so many components and machines at most.
    pub fn new(records: W, components: usize, hosts: usize) -> Self {
        Self {
            records,
            packet: vec![0; HEADER],
            times: None,
            last: 0,
            classes: String::new(),
            ids: HashMap::new(),
            components: Labels::new(components),
            comms: Labels::new((1 << COMM_BITS) - 1),
            hosts: Labels::new(hosts),
            offset: None,
            left_out: 0,
            moved: 0,
            contexts: Vec::new(),
        }
    }

    /// Adds entries with their [`fields`], and takes them out.
    pub fn add(&mut self, coded: &mut Coded<'_>) -> io::Result<()> {
        let mut contexts = mem::take(&mut self.contexts);
        contexts.clear();
        let likes: Vec<(u32, Range<usize>)> = coded
            .likes
            .iter()
            .map(|entry| {
                let start = contexts.len();
                self.context(entry, &mut contexts);
                (self.class(entry), start..contexts.len())
            })
            .collect();
        let mut start = 0;
        for (boot, end, like) in &coded.entries {
            let (boot, of) = (*boot, &coded.likes[*like as usize].boot.calibration);
            let (class, context) = &likes[*like as usize];
            if let Some(time) = self.time(boot, of.real_of_boot(boot)) {
                self.header(*class, time);
                self.packet.extend_from_slice(&contexts[context.clone()]);
                self.packet.extend_from_slice(&coded.bytes[start..*end]);
                if self.packet.len() >= PACKET {
                    self.flush()?;
                }
            }
            start = *end;
        }
        self.contexts = contexts;
        coded.clear();
        Ok(())
    }

    /// The time of an entry. Without one, it is left out.
    fn time(&mut self, boot: i128, real: i128) -> Option<u64> {
        // Of several boots, it is the clock of the first. Readers keep both times in 64 bits with a
        // sign, and give up on all of the trace otherwise.
        let fits = |ns: i128| i64::try_from(ns).is_ok_and(|ns| ns >= 0);
        let offset = self.offset.unwrap_or(real - boot);
        if !fits(real - offset) || !fits(real) || !fits(boot) {
            self.left_out += 1;
            return None;
        }
        self.offset = Some(offset);
        let own = (real - offset) as u64;
        self.moved += u64::from(own < self.last);
        Some(own.max(self.last))
    }

    fn header(&mut self, id: u32, time: u64) {
        let is_near = self.times.is_none() || time - self.last <= u64::from(u32::MAX);
        self.last = time;
        self.times.get_or_insert((time, time)).1 = time;
        let packet = &mut self.packet;
        match u8::try_from(id) {
            Ok(id) if is_near && id != EXTENDED => {
                packet.push(id);
                packet.extend_from_slice(&(time as u32).to_le_bytes());
            }
            _ => {
                packet.push(EXTENDED);
                packet.extend_from_slice(&id.to_le_bytes());
                packet.extend_from_slice(&time.to_le_bytes());
            }
        }
    }

    fn context(&mut self, entry: &Entry<'_>, out: &mut Vec<u8>) {
        let (writer, task) = (entry.writer(), entry.task());
        let number = |n: Option<i32>, bits: u32| {
            let fits = |n: &i32| n.unsigned_abs() < 1 << (bits - 1);
            (n.filter(fits).unwrap_or(-1) as u64, bits)
        };
        let cpu = writer.cpu.and_then(|n| i32::try_from(n).ok());
        let comm = task.map_or(&[][..], |t| until_nul(&t.comm));
        let numbers = [
            (self.components.id(entry.stream.component.as_bytes()), self.components.bits),
            (writer.context.map_or(UNKNOWN, |c| c as u8).into(), CONTEXT_BITS),
            number(cpu, CPU_BITS),
            number(task.map(|t| t.tgid), PID_BITS),
            number(task.map(|t| t.pid), PID_BITS),
            (self.comms.id(comm), self.comms.bits),
            (self.hosts.id(entry.boot.name.as_bytes()), self.hosts.bits),
        ];
        push_bits(&numbers, out);
    }

    /// The class of an entry, which it declares if it is new.
    fn class(&mut self, entry: &Entry<'_>) -> u32 {
        let id = match entry.event.kind {
            EventKind::Record { site, .. } => site,
            EventKind::Loss { .. } => return LOST,
            EventKind::Line { .. } => return LINE,
        };
        let next = SITES + self.ids.len() as u32;
        let key = (entry.stream.file(), id, entry.raw.is_none());
        let class = *self.ids.entry(key).or_insert(next);
        if class == next {
            declare(class, entry, &mut self.classes);
        }
        class
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
             \thostname = {machine};\n\
             \tkernel_release = {release};\n\
             }};\n\n\
             clock {{\n\
             \tname = \"boot\";\n\
             \tdescription = \"CLOCK_BOOTTIME\";\n\
             \tfreq = 1000000000;\n\
             \toffset_s = {seconds};\n\
             \toffset = {ns};\n\
             }};\n\n\
             struct header {{\n\
             \tenum : {u8} {{ compact = 0 ... 254, extended = {EXTENDED} }} id;\n\
             \tvariant <id> {{\n\
             \t\tstruct {{\n\
             \t\t\t{low} timestamp;\n\
             \t\t}} compact;\n\
             \t\tstruct {{\n\
             \t\t\t{u32} id;\n\
             \t\t\t{time} timestamp;\n\
             \t\t}} extended;\n\
             \t}} v;\n\
             }} align(8);\n\n\
             stream {{\n\
             \tid = 0;\n\
             \tpacket.context := struct {{\n\
             \t\t{time} timestamp_begin;\n\
             \t\t{time} timestamp_end;\n\
             \t\t{u64} content_size;\n\
             \t\t{u64} packet_size;\n\
             \t}};\n\
             \tevent.header := struct header;\n\
             \tevent.context := struct {{\n\
             \t\t{component} component;\n\
             \t\tenum : {context} {{ {contexts}\"unknown\" = {UNKNOWN} }} context;\n\
             \t\t{cpu} cpu;\n\
             \t\t{pid} pid;\n\
             \t\t{pid} tid;\n\
             \t\t{comm} comm;\n\
             \t\t{host} host;\n\
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
            u64 = integer(8, false, 10),
            time = clock(64),
            low = clock(32),
            component = self.components.declaration(),
            context = packed(CONTEXT_BITS, false),
            cpu = packed(CPU_BITS, true),
            pid = packed(PID_BITS, true),
            comm = self.comms.declaration(),
            text = TEXT,
            host = self.hosts.declaration(),
            machine = quoted(host),
            release = quoted(release),
            seconds = offset.div_euclid(1_000_000_000),
            ns = offset.rem_euclid(1_000_000_000),
            contexts = (0..=4)
                .filter_map(Context::from_u8)
                .map(|c| format!("\"{}\" = {}, ", c.name(), c as u8))
                .collect::<String>(),
        );
        out.push_str(&self.classes);
        Ok(out)
    }
}

const TEXT: &str = "string { encoding = UTF8; }";

fn integer(bytes: usize, signed: bool, base: u8) -> String {
    format!("integer {{ size = {}; align = 8; signed = {signed}; base = {base}; }}", bytes * 8)
}

/// One that begins at any bit.
fn packed(bits: u32, signed: bool) -> String {
    format!("integer {{ size = {bits}; align = 1; signed = {signed}; }}")
}

/// The clock, or its lowest bits.
fn clock(bits: u32) -> String {
    format!("integer {{ size = {bits}; align = 8; signed = false; map = clock.boot.value; }}")
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

/// Appends the declaration of a class.
fn declare(number: u32, entry: &Entry<'_>, out: &mut String) {
    let site = entry.site();
    let name = match site {
        Some(site) => format!("{}:{} {}", site.module, site.line, site.format),
        None => format!("site {}", entry.id()),
    };
    // As LTTng has them.
    let level = match site.map(|s| s.level) {
        Some(1) => 3,
        Some(2) => 4,
        Some(4) => 14,
        Some(5) => 13,
        _ => 6,
    };
    *out += &format!(
        "\nevent {{\n\tname = {};\n\tid = {number};\n\tstream_id = 0;\n\tloglevel = {level};\n\
         \tfields := struct {{\n",
        quoted(&name)
    );
    if entry.raw.is_some() {
        *out += &format!("\t\t{TEXT} _msg;\n");
    }
    let template = entry.template().filter(|_| entry.raw.is_none());
    let mut names: Vec<String> = Vec::new();
    for (name, ty) in template.iter().flat_map(|t| t.names().iter().zip(t.types())) {
        let declared = match Field::of(ty) {
            Field::Integer(bytes, signed) => integer(bytes, signed, 10),
            Field::Pointer => integer(8, false, 16),
            Field::Text => TEXT.to_owned(),
        };
        let mut name = identifier(name);
        while names.contains(&name) {
            name.push('_');
        }
        *out += &format!("\t\t{declared} {name};\n");
        names.push(name);
    }
    out.push_str("\t};\n};\n");
}
