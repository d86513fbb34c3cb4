// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Entries as a trace for Perfetto's viewer (<https://ui.perfetto.dev>) and trace processor.
//!
//! A process and a thread have a track of their own, with a track for each component below it;
//! so has each CPU's softirq, hardirq and NMI context. A record is an instant on it: its format is
//! the name, so that a viewer can put records of a kind together. Level and component are
//! categories; arguments and the message are annotations. A loss is an instant of category `lost`,
//! named by its cause. Times are those of CLOCK_BOOTTIME, of the first one of several boots. A thread
//! that has the id of one that has ended has tracks of its own.
//!
//! Spans are slices with the name and the annotations of the record that starts each. Those of a
//! kind have a track with as many below it as are needed so that none overlaps another. A flow leads
//! from the record that starts a span over its slice to the record that ends it.
//!
//! Categories, names and call sites are written once, and have an id from then on.
//!
//! The numbers of the fields are those of `protos/perfetto/trace/` of the Perfetto project; a
//! trace is no more than a sequence of packets, each of which is written at once.

use std::{
    collections::HashMap,
    hash::Hash,
    io::{self, Write},
    mem, ptr,
    sync::Arc,
    thread::Scope,
};

use flate2::{write::ZlibEncoder, Compression};

use blog_decode_core::{
    decode::Entry,
    format::{
        print::{Printer, Spec},
        value::View,
    },
    merge::EventKind,
    output::{context, level_name, Names},
    queue::Queue,
    spans::{lanes, Found, Pair, Spans},
};
use blog_file::record::Task;
use blog_table::bytes::until_nul;

use crate::proto::{fixed, int, message, string, uint};

/// `Trace.packet`.
const TRACE_PACKET: u32 = 1;

/// Numbers of fields, and of values, in a module for each message.
macro_rules! numbers {
    ($($(#[$doc:meta])+ $of:ident $ty:ident: $($name:ident $n:literal),+;)+) => {$(
        $(#[$doc])+
        mod $of {
            $(pub(super) const $name: $ty = $n;)+
        }
    )+};
}

numbers! {
    /// Fields of `TracePacket`.
    packet u32: CLOCK_SNAPSHOT 6, TIMESTAMP 8, SEQUENCE_ID 10, TRACK_EVENT 11, INTERNED 12,
        SEQUENCE_FLAGS 13, COMPRESSED 50, CLOCK_ID 58, DEFAULTS 59, TRACK_DESCRIPTOR 60;
    /// Fields of `TrackDescriptor`, and of the descriptors in it.
    track u32: UUID 1, NAME 2, PROCESS 3, THREAD 4, PARENT 5, PROCESS_PID 1, PROCESS_NAME 6,
        THREAD_PID 1, THREAD_TID 2, THREAD_NAME 5;
    /// Fields of `TrackEvent`. A name is one of an id, or as it is.
    event u32: ANNOTATION 4, TYPE 9, TRACK 11, CATEGORY 3, NAME_ID 10, NAME 23, LOCATION 34,
        FLOW 47, LAST_OF_FLOW 48;
    /// Values of its type.
    event_type u64: SLICE_BEGIN 1, SLICE_END 2, INSTANT 3;
    /// Fields of `InternedData`, and of what is in it. A location's name is its file.
    interned u32: CATEGORY 1, EVENT 2, ANNOTATION 3, LOCATION 4, ID 1, NAME 2, FUNCTION 3, LINE 4;
    /// Fields of `DebugAnnotation`.
    annotation u32: BOOL 2, UINT 3, INT 4, STRING 6, POINTER 7, NAME 1;
}

/// `BUILTIN_CLOCK_REALTIME`, `BUILTIN_CLOCK_BOOTTIME`.
const REALTIME: u64 = 1;
const BOOTTIME: u64 = 6;
/// So many bytes of packets go into one that has them compressed. The definitions want that to be
/// less than 512 KB.
const CHUNK: usize = 256 << 10;
/// What times are counted by: the first of the ids that a writer may define. A packet's time is less
/// that of the packet before it, so it takes a byte or two.
const STEPS: u64 = 64;
/// The argument that is the message.
const MESSAGE: &str = "message";
/// All packets are of one writer.
const SEQUENCE: u64 = 1;
/// `SEQ_INCREMENTAL_STATE_CLEARED`, of the first packet, and `SEQ_NEEDS_INCREMENTAL_STATE`, of
/// those with ids.
const STATE_CLEARED: u64 = 1;
const NEEDS_STATE: u64 = 2;

/// A track, which is described before its first event.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    /// Boot, id, and which one of those that had it.
    Process(usize, i32, usize),
    Thread(usize, i32, usize),
    /// Context and CPU.
    Cpu(usize, String),
    /// A component below another track.
    Component(u64, Arc<str>),
    /// A kind of spans, and a lane of it.
    Spans(usize),
    Lane(usize, u32),
}

/// Spans of a kind.
struct Kind {
    name: String,
    finder: Spans<Slice>,
    /// With their ends.
    found: Vec<(Slice, u64)>,
}

/// A span that has begun.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Slice {
    start: u64,
    flow: u64,
    /// Fields of the event.
    what: Vec<u8>,
}

/// A ring of a component: boot, id, thread and process.
type Ring = (usize, u32, i32, i32);

/// A thread, among those that have had the same id one after the other.
struct Life {
    tgid: i32,
    /// File, and whether it had ended when that was taken, once a ring of its own is known.
    ended: Option<(usize, bool)>,
    /// Components of which it has a ring: not more than one of each.
    components: Vec<Arc<str>>,
}

impl Life {
    fn new(entry: &Entry<'_>, task: &Task) -> Self {
        let mut this = Self { tgid: task.tgid, ended: None, components: Vec::new() };
        this.has(entry, task);
        this
    }

    /// Whether it is who wrote an entry, of which the ring was not seen before.
    fn has(&mut self, entry: &Entry<'_>, task: &Task) -> bool {
        let stream = entry.stream;
        if self.tgid != task.tgid {
            return false;
        }
        if stream.shared().is_some() {
            return true;
        }
        let has_ended = stream.ring().is_some_and(|r| r.exit_clock != 0);
        let ended = (stream.file(), has_ended);
        let is_other = |&(file, e): &(usize, bool)| file == ended.0 && e != ended.1;
        if self.ended.as_ref().is_some_and(is_other) || self.components.contains(&stream.component)
        {
            return false;
        }
        self.ended = Some(ended);
        self.components.push(stream.component.clone());
        true
    }
}

/// What goes before the names of tracks.
fn host_prefix(entry: &Entry<'_>) -> String {
    match entry.boot.is_one_of_several {
        true => format!("{}: ", entry.boot.name),
        false => String::new(),
    }
}

/// What comes again and again is written once, and then named by an id: categories, names of
/// events and arguments, call sites.
#[derive(Default)]
struct Interned {
    /// Ids by field of `InternedData`, and the content there after the id.
    ids: HashMap<Vec<u8>, u64>,
    key: Vec<u8>,
    /// What the next packet has to contain.
    news: Vec<u8>,
}

impl Interned {
    fn id(&mut self, field: u32, fill: impl FnOnce(&mut Vec<u8>)) -> u64 {
        self.key.clear();
        self.key.push(field as u8);
        fill(&mut self.key);
        if let Some(id) = self.ids.get(self.key.as_slice()) {
            return *id;
        }
        let id = self.ids.len() as u64 + 1;
        let mut body = Vec::new();
        uint(interned::ID, id, &mut body);
        body.extend_from_slice(&self.key[1..]);
        message(field, &body, &mut self.news);
        self.ids.insert(self.key.clone(), id);
        id
    }

    /// The id of a name that stands alone.
    fn name(&mut self, field: u32, name: &[u8]) -> u64 {
        self.id(field, |out| string(interned::NAME, name, out))
    }

    /// Names of categories, with commas between them, as they are shown: so they need one id.
    fn categories(&mut self, names: &[&str]) -> u64 {
        self.name(interned::CATEGORY, names.join(",").as_bytes())
    }
}

/// A site by file of the input and id; and a ring with its component.
type SiteKey = (usize, u32);
type RingKey = (Arc<str>, Ring);

/// Numbers of what comes again and again: those that came last are found without a hash.
struct Numbers<K> {
    all: HashMap<K, u64>,
    last: Vec<Option<(K, u64)>>,
}

impl<K> Default for Numbers<K> {
    fn default() -> Self {
        Self { all: HashMap::new(), last: (0..LAST).map(|_| None).collect() }
    }
}

/// As many are found so.
const LAST: usize = 256;

impl<K: Clone + Eq + Hash> Numbers<K> {
    /// The number of what has these bits and `is` what is meant, if it came lately.
    fn last(&self, bits: u32, is: impl Fn(&K) -> bool) -> Option<u64> {
        let (key, number) = self.last[bits as usize % LAST].as_ref()?;
        is(key).then_some(*number)
    }

    /// The number of a key.
    fn get(&mut self, bits: u32, key: K) -> Option<u64> {
        let number = *self.all.get(&key)?;
        self.last[bits as usize % LAST] = Some((key, number));
        Some(number)
    }
}

/// Ids of what is the same for all records of a call site.
#[derive(Default)]
struct OfSite {
    /// Where the site is in memory: files may disagree on what an id is.
    address: usize,
    /// By component.
    categories: Vec<(Arc<str>, u64)>,
    /// The format, if it shows what they are about; and where the call is.
    place: Option<(Option<u64>, u64)>,
    names: Names,
    arguments: Vec<u64>,
}

/// Begins an argument.
fn begin(id: u64, inner: &mut Vec<u8>) {
    inner.clear();
    uint(annotation::NAME, id, inner);
}

/// Whether a format shows what a record is about; that of a text which is an argument doesn't.
fn is_telling(format: &str) -> bool {
    !matches!(format.trim(), "" | "{}" | "%s" | "%pV")
}

/// Writes a trace.
#[derive(Default)]
pub struct Perfetto {
    interned: Interned,
    sites: Vec<OfSite>,
    /// Where they are.
    site_index: Numbers<SiteKey>,
    tracks: HashMap<Key, u64>,
    /// By boot and thread id.
    lives: HashMap<(usize, i32), Vec<Life>>,
    /// Tracks by ring of a thread.
    rings: Numbers<RingKey>,
    spans: Vec<Kind>,
    /// Real time less boot time.
    offset: Option<i128>,
    /// Time of the last packet that counts from the one before.
    last: u64,
    /// Of the argument that is the message; 0: it has none yet.
    message_id: u64,
    /// So many flows have begun.
    flows: u64,
    /// Records and losses whose times no reader can hold.
    pub left_out: u64,
    /// Buffers for messages that stand within others.
    body: Vec<u8>,
    what: Vec<u8>,
    inner: Vec<u8>,
    text: Vec<u8>,
}

impl Perfetto {
    /// Starts a trace that has spans of these kinds.
    pub fn new(pairs: Vec<Pair>) -> Self {
        let kind =
            |pair: Pair| Kind { name: pair.name(), finder: Spans::new(pair), found: Vec::new() };
        Self { spans: pairs.into_iter().map(kind).collect(), ..Self::default() }
    }

    /// Appends an entry.
    pub fn entry(&mut self, entry: &Entry<'_>, out: &mut Vec<u8>) {
        let real = entry.real();
        // Of several boots, it is the clock of the first.
        let offset =
            self.offset.unwrap_or_else(|| real - entry.boot.calibration.boot(entry.clock()));
        // Readers keep both times in 64 bits with a sign.
        let fits = |ns: i128| u64::try_from(ns).ok().filter(|ns| i64::try_from(*ns).is_ok());
        let (Some(time), Some(wall)) = (fits(real - offset), fits(real)) else {
            self.left_out += 1;
            return;
        };
        if self.offset.replace(offset).is_none() {
            clocks(time, wall, out);
            self.last = time;
        }
        let track = self.track(entry, out);
        let (mut what, mut body) = (mem::take(&mut self.what), mem::take(&mut self.body));
        what.clear();
        body.clear();
        uint(event::TYPE, event_type::INSTANT, &mut body);
        uint(event::TRACK, track, &mut body);
        match entry.event.kind {
            EventKind::Record { site, .. } => self.record(entry, site, &mut body, &mut what),
            EventKind::Loss { cause, count, .. } => {
                let interned = &mut self.interned;
                let cause_name = cause.name().as_bytes();
                uint(event::CATEGORY, interned.categories(&["lost"]), &mut body);
                let name = interned.name(interned::EVENT, cause_name);
                uint(event::NAME_ID, name, &mut what);
                let id = interned.name(interned::ANNOTATION, b"count");
                begin(id, &mut self.inner);
                uint(annotation::UINT, count, &mut self.inner);
                message(event::ANNOTATION, &self.inner, &mut what);
                self.message(entry, &mut what);
            }
            EventKind::Line { level } => {
                self.categories(entry, level.map(level_name), &mut body);
                string(event::NAME, &entry.message, &mut what);
            }
        }
        for kind in &mut self.spans {
            let flows = &mut self.flows;
            let keep = |_: &Entry<'_>| {
                *flows += 1;
                fixed(event::FLOW, *flows, &mut body);
                Slice { start: time, flow: *flows, what: what.clone() }
            };
            if let Some(span) = kind.finder.entry(entry, keep) {
                let slice = span.line;
                fixed(event::LAST_OF_FLOW, slice.flow, &mut body);
                let end = time.max(slice.start);
                kind.found.push((slice, end));
            }
        }
        body.append(&mut what);
        self.event(time, &body, out);
        (self.what, self.body) = (what, body);
    }

    /// Appends the packet of an event.
    fn event(&mut self, time: u64, body: &[u8], out: &mut Vec<u8>) {
        self.inner.clear();
        let inner = &mut self.inner;
        match time.checked_sub(self.last) {
            Some(step) => {
                uint(packet::TIMESTAMP, step, inner);
                self.last = time;
            }
            // A step forward is all that there is.
            None => {
                uint(packet::TIMESTAMP, time, inner);
                uint(packet::CLOCK_ID, BOOTTIME, inner);
            }
        }
        uint(packet::SEQUENCE_ID, SEQUENCE, inner);
        message(packet::TRACK_EVENT, body, inner);
        uint(packet::SEQUENCE_FLAGS, NEEDS_STATE, inner);
        if !self.interned.news.is_empty() {
            message(packet::INTERNED, &self.interned.news, inner);
            self.interned.news.clear();
        }
        message(TRACE_PACKET, inner, out);
    }

    /// Writes the slices, now that there are no more entries, and what is left in `packets`; the
    /// answer is what was found of each kind of spans.
    pub fn end(&mut self, mut packets: Packets<'_, '_>) -> io::Result<Vec<Found>> {
        let mut found = Vec::new();
        for (index, mut kind) in mem::take(&mut self.spans).into_iter().enumerate() {
            kind.found.sort();
            let spans = kind.found.iter();
            let lanes = lanes(spans.map(|(slice, end)| (slice.start.into(), (*end).into())));
            let out = &mut packets.waiting;
            let parent = self.describe(Key::Spans(index), None, out, |_, d| {
                string(track::NAME, kind.name.as_bytes(), d);
            });
            for ((slice, end), lane) in kind.found.iter().zip(lanes) {
                let out = &mut packets.waiting;
                let lane = self.describe(Key::Lane(index, lane), Some(parent), out, |_, d| {
                    string(track::NAME, kind.name.as_bytes(), d);
                });
                let mut body = Vec::new();
                uint(event::TYPE, event_type::SLICE_BEGIN, &mut body);
                uint(event::TRACK, lane, &mut body);
                let category = self.interned.categories(&["span"]);
                uint(event::CATEGORY, category, &mut body);
                fixed(event::FLOW, slice.flow, &mut body);
                body.extend_from_slice(&slice.what);
                self.event(slice.start, &body, out);
                body.clear();
                uint(event::TYPE, event_type::SLICE_END, &mut body);
                uint(event::TRACK, lane, &mut body);
                self.event(*end, &body, out);
                packets.pack_full()?;
            }
            found.push(kind.finder.found());
        }
        packets.end()?;
        Ok(found)
    }

    /// The level, if there is one, and the component.
    fn categories(&mut self, entry: &Entry<'_>, level: Option<&str>, body: &mut Vec<u8>) {
        let component = &*entry.stream.component;
        let id = match level {
            Some(level) => self.interned.categories(&[level, component]),
            None => self.interned.categories(&[component]),
        };
        uint(event::CATEGORY, id, body);
    }

    /// Appends a message.
    fn message(&mut self, entry: &Entry<'_>, body: &mut Vec<u8>) {
        let id = match self.message_id {
            0 => self.interned.name(interned::ANNOTATION, MESSAGE.as_bytes()),
            id => id,
        };
        self.message_id = id;
        begin(id, &mut self.inner);
        match entry.is_plain {
            true => message(annotation::STRING, &entry.message, &mut self.inner),
            false => string(annotation::STRING, &entry.message, &mut self.inner),
        }
        message(event::ANNOTATION, &self.inner, body);
    }

    fn record(&mut self, entry: &Entry<'_>, id: u32, body: &mut Vec<u8>, what: &mut Vec<u8>) {
        let Some(site) = entry.site() else {
            self.categories(entry, None, body);
            return string(event::NAME, &entry.message, what);
        };
        let (key, component) = ((entry.stream.file(), id), &entry.stream.component);
        let index = self.site_index.last(id, |known| *known == key);
        let index = index.or_else(|| self.site_index.get(id, key)).unwrap_or_else(|| {
            let index = self.sites.len() as u64;
            self.site_index.all.insert(key, index);
            self.sites.push(OfSite::default());
            index
        }) as usize;
        let (interned, of) = (&mut self.interned, &mut self.sites[index]);
        let address = ptr::from_ref(site) as usize;
        if of.address != address {
            *of = OfSite { address, ..OfSite::default() };
        }
        let category = match of.categories.iter().find(|known| known.0 == *component) {
            Some((_, id)) => *id,
            None => {
                let id = interned.categories(&[level_name(site.level), component]);
                of.categories.push((component.clone(), id));
                id
            }
        };
        uint(event::CATEGORY, category, body);
        let (name, location) = *of.place.get_or_insert_with(|| {
            let is_telling = is_telling(&site.format);
            let name = is_telling.then(|| interned.name(interned::EVENT, site.format.as_bytes()));
            let location = interned.id(interned::LOCATION, |out| {
                string(interned::NAME, site.file.as_bytes(), out);
                string(interned::FUNCTION, site.module.as_bytes(), out);
                uint(interned::LINE, site.line.into(), out);
            });
            // With a key that is there twice, a viewer shows one value of both.
            of.names.add(MESSAGE);
            (name, location)
        });
        match name {
            Some(id) => uint(event::NAME_ID, id, what),
            None => string(event::NAME, &entry.message, what),
        }
        uint(event::LOCATION, location, what);
        if name.is_some() && entry.message != site.format.as_bytes() {
            self.message(entry, what);
        }
        let (interned, inner, of) = (&mut self.interned, &mut self.inner, &mut self.sites[index]);
        for (i, (name, value, _)) in entry.arguments().enumerate() {
            if i == of.arguments.len() {
                let name = of.names.add(name).as_bytes();
                of.arguments.push(interned.name(interned::ANNOTATION, name));
            }
            begin(of.arguments[i], inner);
            match value.view() {
                View::Bool(b) => uint(annotation::BOOL, b.into(), inner),
                View::Pointer(p) => uint(annotation::POINTER, p, inner),
                View::Uint(n) if u64::try_from(n).is_ok() => {
                    uint(annotation::UINT, n as u64, inner);
                }
                View::Int(n) if i64::try_from(n).is_ok() => {
                    int(annotation::INT, n as i64, inner);
                }
                _ => {
                    self.text.clear();
                    value.print(&Spec::DISPLAY, &mut Printer::new(&mut self.text));
                    string(annotation::STRING, &self.text, inner);
                }
            }
            message(event::ANNOTATION, inner, what);
        }
    }

    /// The track of an entry; describes it if it is new.
    fn track(&mut self, entry: &Entry<'_>, out: &mut Vec<u8>) -> u64 {
        let (stream, component) = (entry.stream, &entry.stream.component);
        let task = entry.task().filter(|_| stream.shared().is_none());
        let ring = task.map(|task| (entry.boot.index, stream.id, task.pid, task.tgid));
        let is_same = |(of, known): &RingKey| {
            Some(*known) == ring && (Arc::ptr_eq(of, component) || of == component)
        };
        let known = self.rings.last(stream.id, is_same);
        let key = ring.map(|ring| (component.clone(), ring)).filter(|_| known.is_none());
        if let Some(uuid) = known.or_else(|| self.rings.get(stream.id, key.clone()?)) {
            return uuid;
        }
        let uuid = self.new_track(entry, out);
        self.rings.all.extend(key.map(|key| (key, uuid)));
        uuid
    }

    fn new_track(&mut self, entry: &Entry<'_>, out: &mut Vec<u8>) -> u64 {
        let parent = match entry.task() {
            Some(task) => self.thread(entry, task, out),
            None => {
                self.text.clear();
                self.text.extend_from_slice(host_prefix(entry).as_bytes());
                let start = self.text.len();
                context(entry, &mut self.text);
                if self.text.len() == start {
                    self.text.extend_from_slice(b"kernel");
                }
                let name = String::from_utf8_lossy(&self.text).into_owned();
                let key = Key::Cpu(entry.boot.index, name.clone());
                self.describe(key, None, out, |_, d| string(track::NAME, name.as_bytes(), d))
            }
        };
        let component = &entry.stream.component;
        let key = Key::Component(parent, component.clone());
        if let Some(uuid) = self.tracks.get(&key) {
            return *uuid;
        }
        self.describe(key, Some(parent), out, |_, d| {
            string(track::NAME, component.as_bytes(), d);
        })
    }

    /// The track of a thread.
    fn thread(&mut self, entry: &Entry<'_>, task: &Task, out: &mut Vec<u8>) -> u64 {
        let boot = entry.boot.index;
        let lives = self.lives.entry((boot, task.pid)).or_default();
        let is_known = lives.last_mut().is_some_and(|life| life.has(entry, task));
        if !is_known {
            lives.push(Life::new(entry, task));
        }
        let life = lives.len() - 1;
        let process = match task.pid == task.tgid {
            true => life,
            // Of that which is known last.
            false => {
                let main = self.lives.get(&(boot, task.tgid));
                main.map_or(0, |lives| lives.len().saturating_sub(1))
            }
        };
        let host = host_prefix(entry);
        let key = Key::Thread(boot, task.pid, life);
        match self.tracks.get(&key).filter(|_| is_known) {
            Some(uuid) => *uuid,
            None => self.describe_thread(key, (boot, task.tgid, process), &host, task, out),
        }
    }

    fn describe_thread(
        &mut self,
        key: Key,
        process: (usize, i32, usize),
        host: &str,
        task: &Task,
        out: &mut Vec<u8>,
    ) -> u64 {
        let (boot, tgid, life) = process;
        let process = Key::Process(boot, tgid, life);
        let parent = self.describe(process, None, out, |inner, d| {
            int(track::PROCESS_PID, task.tgid.into(), inner);
            if task.pid == task.tgid {
                let name = [host.as_bytes(), until_nul(&task.comm)].concat();
                string(track::PROCESS_NAME, &name, inner);
            }
            message(track::PROCESS, inner, d);
        });
        self.describe(key, Some(parent), out, |inner, d| {
            int(track::THREAD_PID, task.tgid.into(), inner);
            int(track::THREAD_TID, task.pid.into(), inner);
            let name = [host.as_bytes(), until_nul(&task.comm)].concat();
            string(track::THREAD_NAME, &name, inner);
            message(track::THREAD, inner, d);
        })
    }

    fn describe(
        &mut self,
        key: Key,
        parent: Option<u64>,
        out: &mut Vec<u8>,
        fill: impl FnOnce(&mut Vec<u8>, &mut Vec<u8>),
    ) -> u64 {
        if let Some(uuid) = self.tracks.get(&key) {
            return *uuid;
        }
        let uuid = self.tracks.len() as u64 + 1;
        self.tracks.insert(key, uuid);
        let (mut inner, mut descriptor) = (Vec::new(), Vec::new());
        uint(track::UUID, uuid, &mut descriptor);
        if let Some(parent) = parent {
            uint(track::PARENT, parent, &mut descriptor);
        }
        fill(&mut inner, &mut descriptor);
        inner.clear();
        uint(packet::SEQUENCE_ID, SEQUENCE, &mut inner);
        message(packet::TRACK_DESCRIPTOR, &descriptor, &mut inner);
        message(TRACE_PACKET, &inner, out);
        uuid
    }
}

/// Packs packets, as one that has them compressed.
pub type TracePacker<'a> = Queue<'a, Vec<u8>, io::Result<Vec<u8>>>;

/// Starts a packer, by so many other threads.
pub fn packer<'a: 's, 's>(scope: &'s Scope<'s, '_>, threads: usize) -> TracePacker<'a> {
    Queue::new(scope, threads, || pack)
}

/// Where packets go.
pub struct Packets<'a, 'w> {
    /// Those that wait to be packed.
    pub waiting: Vec<u8>,
    packer: TracePacker<'a>,
    file: &'w mut dyn Write,
}

impl<'a, 'w> Packets<'a, 'w> {
    /// Starts before the first.
    pub fn new(packer: TracePacker<'a>, file: &'w mut dyn Write) -> Self {
        Self { waiting: Vec::new(), packer, file }
    }

    /// Has them packed once they are many.
    pub fn pack_full(&mut self) -> io::Result<()> {
        match self.waiting.len() {
            ..CHUNK => Ok(()),
            _ => self.pack(),
        }
    }

    fn pack(&mut self) -> io::Result<()> {
        self.packer.push_to(mem::take(&mut self.waiting), &mut self.file)
    }

    fn end(&mut self) -> io::Result<()> {
        if !self.waiting.is_empty() {
            self.pack()?;
        }
        self.packer.end_to(&mut self.file)
    }
}

fn pack(packets: Vec<u8>) -> io::Result<Vec<u8>> {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&packets)?;
    let (mut packet, mut out) = (Vec::new(), Vec::new());
    message(packet::COMPRESSED, &packed.finish()?, &mut packet);
    message(TRACE_PACKET, &packet, &mut out);
    Ok(out)
}

/// One instant in both clocks.
fn clocks(boot: u64, real: u64, out: &mut Vec<u8>) {
    let mut snapshot = Vec::new();
    for (id, time) in [(BOOTTIME, boot), (REALTIME, real), (STEPS, boot)] {
        let mut clock = Vec::new();
        uint(1, id, &mut clock);
        uint(2, time, &mut clock);
        if id == STEPS {
            // is_incremental
            uint(3, 1, &mut clock);
        }
        message(1, &clock, &mut snapshot);
    }
    let mut packet = Vec::new();
    uint(packet::SEQUENCE_ID, SEQUENCE, &mut packet);
    uint(packet::SEQUENCE_FLAGS, STATE_CLEARED, &mut packet);
    message(packet::CLOCK_SNAPSHOT, &snapshot, &mut packet);
    snapshot.clear();
    uint(packet::CLOCK_ID, STEPS, &mut snapshot);
    message(packet::DEFAULTS, &snapshot, &mut packet);
    message(TRACE_PACKET, &packet, out);
}
