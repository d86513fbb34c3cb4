// SPDX-License-Identifier: GPL-2.0

//! Entries as a trace for Perfetto's viewer (<https://ui.perfetto.dev>) and trace processor.
//!
//! A process and a thread have a track of their own, with a track for each component below it;
//! so has each CPU's softirq, hardirq and NMI context. A record is an instant on it: its message is
//! the name, level and component are categories, arguments are annotations. So is a loss, of
//! category `lost`. Times are those of CLOCK_BOOTTIME.
//!
//! The numbers of the fields are those of `protos/perfetto/trace/` of the Perfetto project; a
//! trace is no more than a sequence of packets, each of which is written at once.

use std::collections::HashMap;

use super::{
    level_name,
    proto::{
        int,
        message,
        string,
        uint, //
    },
    text::loss, //
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
        value::View, //
    },
    record::Task,
};

/// `Trace.packet`.
const TRACE_PACKET: u32 = 1;

/// Fields of `TracePacket`.
mod packet {
    pub(super) const CLOCK_SNAPSHOT: u32 = 6;
    pub(super) const TIMESTAMP: u32 = 8;
    pub(super) const SEQUENCE_ID: u32 = 10;
    pub(super) const TRACK_EVENT: u32 = 11;
    pub(super) const SEQUENCE_FLAGS: u32 = 13;
    pub(super) const CLOCK_ID: u32 = 58;
    pub(super) const TRACK_DESCRIPTOR: u32 = 60;
}

/// Fields of `TrackDescriptor`, and of the descriptors in it.
mod track {
    pub(super) const UUID: u32 = 1;
    pub(super) const NAME: u32 = 2;
    pub(super) const PROCESS: u32 = 3;
    pub(super) const THREAD: u32 = 4;
    pub(super) const PARENT: u32 = 5;
    pub(super) const PROCESS_PID: u32 = 1;
    pub(super) const PROCESS_NAME: u32 = 6;
    pub(super) const THREAD_PID: u32 = 1;
    pub(super) const THREAD_TID: u32 = 2;
    pub(super) const THREAD_NAME: u32 = 5;
}

/// Fields of `TrackEvent`.
mod event {
    pub(super) const ANNOTATION: u32 = 4;
    pub(super) const TYPE: u32 = 9;
    pub(super) const TYPE_INSTANT: u64 = 3;
    pub(super) const TRACK: u32 = 11;
    pub(super) const CATEGORY: u32 = 22;
    pub(super) const NAME: u32 = 23;
    pub(super) const LOCATION: u32 = 33;
    pub(super) const LOCATION_FILE: u32 = 2;
    pub(super) const LOCATION_FUNCTION: u32 = 3;
    pub(super) const LOCATION_LINE: u32 = 4;
}

/// Fields of `DebugAnnotation`.
mod annotation {
    pub(super) const BOOL: u32 = 2;
    pub(super) const UINT: u32 = 3;
    pub(super) const INT: u32 = 4;
    pub(super) const STRING: u32 = 6;
    pub(super) const POINTER: u32 = 7;
    pub(super) const NAME: u32 = 10;
}

/// `BUILTIN_CLOCK_REALTIME`, `BUILTIN_CLOCK_BOOTTIME`.
const REALTIME: u64 = 1;
const BOOTTIME: u64 = 6;
/// All packets are of one writer.
const SEQUENCE: u64 = 1;
/// `SEQ_INCREMENTAL_STATE_CLEARED`, of the first packet.
const STATE_CLEARED: u64 = 1;

/// A track, which is described before its first event.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Process(usize, i32),
    Thread(usize, i32),
    /// Context and CPU.
    Cpu(usize, String),
    /// A component below another track.
    Component(u64, String),
}

/// Writes a trace.
#[derive(Default)]
pub struct Perfetto {
    /// Whether tracks have the name of the machine: there are several.
    pub with_host: bool,
    tracks: HashMap<Key, u64>,
    /// Whether the clocks were told.
    has_clocks: bool,
    /// Buffers for messages that stand within others.
    body: Vec<u8>,
    inner: Vec<u8>,
    text: Vec<u8>,
}

impl Perfetto {
    /// Appends an entry.
    pub fn entry(&mut self, entry: &Entry<'_>, out: &mut Vec<u8>) {
        let boot = entry.calibration.boot(entry.clock);
        let time = u64::try_from(boot.max(0)).unwrap_or(u64::MAX);
        if !self.has_clocks {
            self.has_clocks = true;
            let real = entry.calibration.real(entry.clock).max(0);
            clocks(time, u64::try_from(real).unwrap_or(u64::MAX), out);
        }
        let track = self.track(entry, out);
        let mut body = std::mem::take(&mut self.body);
        body.clear();
        uint(event::TYPE, event::TYPE_INSTANT, &mut body);
        uint(event::TRACK, track, &mut body);
        match &entry.content {
            Content::Record(r) => self.record(entry, r, &mut body),
            Content::Loss { cause, count } => {
                self.text.clear();
                loss(*cause, *count, &mut self.text);
                string(event::CATEGORY, b"lost", &mut body);
                string(event::NAME, &self.text, &mut body);
            }
            Content::Line { level, message } => {
                if let Some(level) = level {
                    string(event::CATEGORY, level_name(*level).as_bytes(), &mut body);
                }
                string(
                    event::CATEGORY,
                    entry.stream.component.as_bytes(),
                    &mut body,
                );
                string(event::NAME, message, &mut body);
            }
        }
        self.inner.clear();
        let inner = &mut self.inner;
        uint(packet::TIMESTAMP, time, inner);
        uint(packet::CLOCK_ID, BOOTTIME, inner);
        uint(packet::SEQUENCE_ID, SEQUENCE, inner);
        message(packet::TRACK_EVENT, &body, inner);
        message(TRACE_PACKET, inner, out);
        self.body = body;
    }

    fn record(&mut self, entry: &Entry<'_>, r: &Record<'_>, body: &mut Vec<u8>) {
        let site = r.found.as_ref().and_then(|f| f.site);
        if let Some(site) = site {
            string(event::CATEGORY, level_name(site.level).as_bytes(), body);
        }
        string(event::CATEGORY, entry.stream.component.as_bytes(), body);
        string(event::NAME, r.message, body);
        let Some(site) = site else { return };
        self.inner.clear();
        let inner = &mut self.inner;
        string(event::LOCATION_FILE, site.file.as_bytes(), inner);
        string(event::LOCATION_FUNCTION, site.module.as_bytes(), inner);
        uint(event::LOCATION_LINE, site.line.into(), inner);
        message(event::LOCATION, inner, body);
        let Ok(template) = &site.template else { return };
        for (name, value, _) in template.arguments(r.payload, r.slots) {
            inner.clear();
            string(annotation::NAME, name.as_bytes(), inner);
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
            message(event::ANNOTATION, inner, body);
        }
    }

    /// The track of an entry; describes it if it is new.
    fn track(&mut self, entry: &Entry<'_>, out: &mut Vec<u8>) -> u64 {
        let file = entry.stream.file;
        let parent = match &entry.writer.task {
            Some(task) => {
                let host = self.host_prefix(entry);
                self.thread(file, &host, task, out)
            }
            None => {
                self.text.clear();
                self.text
                    .extend_from_slice(self.host_prefix(entry).as_bytes());
                let start = self.text.len();
                super::context(entry, &mut self.text);
                if self.text.len() == start {
                    self.text.extend_from_slice(b"kernel");
                }
                let name = String::from_utf8_lossy(&self.text).into_owned();
                let key = Key::Cpu(file, name.clone());
                self.describe(key, None, out, |_, d| {
                    string(track::NAME, name.as_bytes(), d)
                })
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

    /// What goes before the names of tracks.
    fn host_prefix(&self, entry: &Entry<'_>) -> String {
        match self.with_host {
            true => format!("{}: ", entry.host),
            false => String::new(),
        }
    }

    fn thread(&mut self, file: usize, host: &str, task: &Task, out: &mut Vec<u8>) -> u64 {
        if let Some(uuid) = self.tracks.get(&Key::Thread(file, task.pid)) {
            return *uuid;
        }
        let key = Key::Process(file, task.tgid);
        let parent = self.describe(key, None, out, |inner, d| {
            int(track::PROCESS_PID, task.tgid.into(), inner);
            if task.pid == task.tgid {
                let name = [host.as_bytes(), until_nul(&task.comm)].concat();
                string(track::PROCESS_NAME, &name, inner);
            }
            message(track::PROCESS, inner, d);
        });
        let key = Key::Thread(file, task.pid);
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

/// One instant in both clocks.
fn clocks(boot: u64, real: u64, out: &mut Vec<u8>) {
    let mut snapshot = Vec::new();
    for (id, time) in [(BOOTTIME, boot), (REALTIME, real)] {
        let mut clock = Vec::new();
        uint(1, id, &mut clock);
        uint(2, time, &mut clock);
        message(1, &clock, &mut snapshot);
    }
    let mut packet = Vec::new();
    uint(packet::SEQUENCE_ID, SEQUENCE, &mut packet);
    uint(packet::SEQUENCE_FLAGS, STATE_CLEARED, &mut packet);
    message(packet::CLOCK_SNAPSHOT, &snapshot, &mut packet);
    message(TRACE_PACKET, &packet, out);
}
