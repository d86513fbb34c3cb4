// SPDX-License-Identifier: GPL-2.0

//! Goes through one ring: is each record what its writer must have logged, in order, and only once?
//! It notes records that are missing between two others, for `account.rs`.

use std::collections::HashMap;

use blog_decode_core::{merge::Stream, sidetable::SiteMap};
use blog_file::snapshot::Snapshot;
use blog_wire::record::{Context, ControlRecord};

use crate::{
    pages::{self, Item},
    payload::{self, Shape, PAYLOAD_MAX, WRITER_BITS},
    report::Report,
    truth::Truth,
};

/// Which call of the module a site is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Three numbers.
    Short,
    /// Bytes after the numbers.
    Bytes,
    /// A text between the numbers.
    Text,
}

/// Sites of a snapshot by id.
pub struct Forms(Vec<Option<Form>>);

impl Forms {
    /// Finds the module's calls among the sites of a snapshot.
    pub fn new(file: &Snapshot, map: &SiteMap) -> Self {
        let end = file.images.iter().map(|i| i.first.saturating_add(i.count)).max();
        let form = |id| match map.find(id)?.site?.format.as_str() {
            "short w={} s={} c={:#x}" => Some(Form::Short),
            "bytes w={} s={} c={:#x} {:?}" => Some(Form::Bytes),
            "text w={} s={} {} c={:#x}" => Some(Form::Text),
            _ => None,
        };
        // Ids have 18 bits.
        Self((0..end.unwrap_or(0).min(1 << 18)).map(form).collect())
    }

    /// Sites that are known already.
    pub fn known(forms: Vec<Option<Form>>) -> Self {
        Self(forms)
    }

    fn get(&self, site: u32) -> Option<Form> {
        *self.0.get(site as usize)?
    }
}

/// Sequence numbers that follow each other in a ring.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// The first.
    pub start: u32,
    /// After the last.
    pub end: u32,
    /// Index of the ring.
    pub ring: usize,
    /// Position of the page where it starts.
    pub page: u64,
}

/// Numbers that are missing between two records of a ring.
#[derive(Clone, Copy, Debug)]
pub struct Gap {
    /// The writer.
    pub writer: u32,
    /// The first that is missing.
    pub from: u32,
    /// The next that is there.
    pub to: u32,
    /// Position of the page that this one is in.
    pub page: u64,
}

/// What a ring holds.
#[derive(Debug, Default)]
pub struct Content {
    /// Records.
    pub decoded: u64,
    /// Ordinal after the last.
    pub end: u64,
    /// Bytes of memory that the pages have.
    pub bytes: u64,
    /// Runs by writer.
    pub runs: HashMap<u32, Vec<Run>>,
    /// Gaps, in the order of the ring.
    pub gaps: Vec<Gap>,
}

/// What all rings are held against.
pub struct Against<'a> {
    /// Files by index.
    pub files: &'a [Snapshot],
    /// Their sites.
    pub forms: &'a [Forms],
    /// What was logged.
    pub truth: &'a Truth,
}

/// Name of a ring for messages.
pub fn name(stream: &Stream) -> String {
    let who = stream.ring().map(|r| (Context::from_u8(r.context), r.cpu, r.pid));
    let who = match who {
        Some((Some(Context::Task), _, pid)) => format!("task {pid}"),
        Some((Some(context), cpu, _)) => format!("{} {cpu}", context.name()),
        _ => "nobody knows whose".into(),
    };
    format!("{} ring {} ({who})", stream.component, stream.id)
}

struct Open {
    run: Run,
    kind_ok: bool,
}

struct Reader<'a, 'r> {
    against: &'a Against<'a>,
    stream: &'a Stream,
    salt: u32,
    report: &'r mut Report,
    content: Content,
    index: usize,
    open: HashMap<u32, Open>,
    page: u64,
    /// The current writer, in a shared ring: context and thread id.
    who: Option<(Option<Context>, i32)>,
    shared: bool,
    /// Records by writer's kind, added up at the end.
    count: HashMap<u32, u64>,
}

/// Goes through a ring.
pub fn walk(against: &Against<'_>, stream: &Stream, index: usize, report: &mut Report) -> Content {
    let mut reader = Reader {
        against,
        stream,
        salt: payload::salt(stream.component.as_bytes()),
        report,
        content: Content::default(),
        index,
        open: HashMap::new(),
        page: 0,
        who: None,
        shared: stream.shared().is_some(),
        count: HashMap::new(),
    };
    reader.pages();
    reader.close()
}

impl Reader<'_, '_> {
    fn fail(&mut self, kind: &'static str, what: impl FnOnce() -> String) {
        let (stream, page) = (self.stream, self.page);
        self.report.fail(kind, || format!("{}, page {page}: {}", name(stream), what()));
    }

    fn pages(&mut self) {
        let (mut bytes, mut last, mut end) = (Vec::new(), 0, 0);
        for (file, page) in self.stream.pages(self.against.files) {
            if self.against.files[file].read_page(&page, &mut bytes).is_err() {
                self.fail("unreadable page", String::new);
                continue;
            }
            // A capture of a stream has a page in pieces.
            let is_new = self.page != page.seq;
            if is_new {
                self.who = None;
            }
            self.page = page.seq;
            let info = pages::walk(&bytes, &mut last, |item| match item {
                // In the piece before, too.
                Item::Record { ordinal, .. } | Item::Wrong("time goes back", ordinal)
                    if ordinal < end => {}
                Item::Record { site, ordinal, payload, .. } => {
                    self.record(file, site, ordinal, payload);
                }
                Item::Control(_, ControlRecord::Task { context, pid, .. }) => {
                    self.who = Some((Context::from_u8(context), pid));
                }
                Item::Control(_, ControlRecord::Left(count)) => {
                    self.fail("left out", || format!("{count} records"));
                }
                Item::Control(..) => {}
                // A writer of a shared ring reads the clock before its turn.
                Item::Wrong("time goes back", _) if self.shared => {}
                Item::Wrong(what, at) => self.fail(what, || format!("record {at}")),
            });
            if let Some(info) = info {
                self.content.bytes += if is_new { info.size.into() } else { 0 };
                end = end.max(info.first + u64::from(info.records()));
            }
        }
        self.content.end = end;
    }

    fn record(&mut self, file: usize, site: u32, ordinal: u64, args: &[u8]) {
        self.content.decoded += 1;
        let Some(form) = self.against.forms[file].get(site) else {
            self.fail("unknown site", || format!("record {ordinal}: site {site}"));
            return;
        };
        let Some((writer, seq)) = self.check(form, args) else {
            self.fail("corrupt record", || format!("record {ordinal}: {form:?} {}", hex(args)));
            return;
        };
        let (index, page) = (self.index, self.page);
        let Some(open) = self.open.get_mut(&writer) else {
            let kind_ok = self.belongs(writer, seq);
            let run = Run { start: seq, end: seq.wrapping_add(1), ring: index, page };
            self.open.insert(writer, Open { run, kind_ok });
            return;
        };
        if seq == open.run.end {
            open.run.end = seq.wrapping_add(1);
        } else {
            let old = open.run;
            open.run = Run { start: seq, end: seq.wrapping_add(1), ring: index, page };
            self.content.runs.entry(writer).or_default().push(old);
            if seq < old.end {
                self.fail("out of order", || {
                    format!("record {ordinal}: writer {writer} has {seq} after {}", old.end - 1)
                });
            } else {
                self.content.gaps.push(Gap { writer, from: old.end, to: seq, page });
            }
        }
        // In a shared ring each record has a writer of its own.
        if self.shared {
            self.belongs(writer, seq);
        }
    }

    /// Writer and number of a record that is what it must be.
    fn check(&self, form: Form, args: &[u8]) -> Option<(u32, u32)> {
        let word = |at: usize| Some(u32::from_le_bytes(*args.get(at..at + 4)?.first_chunk()?));
        let (writer, seq) = (word(0)?, word(4)?);
        // The bytes after a length, and how many follow these.
        let tail = |at: usize| {
            let (len, rest) = match args.get(at..)? {
                [255, low, high, rest @ ..] => (u16::from_le_bytes([*low, *high]).into(), rest),
                [len, rest @ ..] => (usize::from(*len), rest),
                [] => return None,
            };
            let (bytes, behind) = rest.split_at_checked(len)?;
            Some((bytes, behind.len()))
        };
        let (sum, bytes, left) = match form {
            Form::Short => (word(8)?, &[][..], args.len() - 12),
            Form::Bytes => {
                let (bytes, left) = tail(12)?;
                (word(8)?, bytes, left)
            }
            Form::Text => {
                let (text, left) = tail(8)?;
                let left = left.checked_sub(4)?;
                (word(args.len() - left - 4)?, text, left)
            }
        };
        if sum != payload::sum(self.salt, writer, seq) || left != 0 {
            return None;
        }
        let max = self.against.truth.payload.get(&(writer >> WRITER_BITS));
        let good = match max {
            Some(max) => self.fits(form, bytes, sum, *max),
            // A run that nobody told of: any limit that explains the record.
            None => {
                bytes.is_empty() && self.fits(form, bytes, sum, 0)
                    || (1..=PAYLOAD_MAX).any(|max| self.fits(form, bytes, sum, max))
            }
        };
        good.then_some((writer, seq))
    }

    fn fits(&self, form: Form, bytes: &[u8], sum: u32, max: u32) -> bool {
        match payload::shape(sum, max) {
            Shape::Short => form == Form::Short,
            Shape::Bytes(expected) => form == Form::Bytes && bytes == expected,
            Shape::Text(expected) => form == Form::Text && bytes == expected.as_bytes(),
        }
    }

    /// Whether a writer may write to this ring.
    fn belongs(&mut self, writer: u32, seq: u32) -> bool {
        let truth = self.against.truth;
        let Some(known) = truth.writers.get(&writer) else {
            return true;
        };
        let ring = self.stream.ring();
        let (context, pid) = if self.shared {
            match self.who {
                Some(who) => who,
                None => {
                    self.fail("nobody named", || format!("writer {writer}, number {seq}"));
                    return false;
                }
            }
        } else {
            (self.stream.context(), ring.map_or(-1, |r| r.pid))
        };
        let Some(context) = context else {
            // The ring's own section is lost.
            return true;
        };
        let good = match known.kind.as_str() {
            _ if known.is_task() => context == Context::Task && pid == known.pid,
            "timer" | "tasklet" => {
                context == Context::Softirq || truth.rt && context == Context::Task
            }
            "hrtimer" => context == Context::Hardirq,
            // An idle CPU serves these from its idle task, a dying one from its stopper.
            "ipi" | "irq_work" => matches!(context, Context::Hardirq | Context::Task),
            "nmi" => context == Context::Nmi,
            "hotplug" => context == Context::Task,
            // Probes are where they are.
            _ => true,
        };
        if !good {
            let (kind, task) = (known.kind.clone(), known.pid);
            self.fail("in another's ring", || {
                format!("writer {writer} ({kind}, task {task}), number {seq}")
            });
        }
        good
    }

    fn close(mut self) -> Content {
        for (writer, open) in std::mem::take(&mut self.open) {
            debug_assert!(open.kind_ok || self.report.failed() > 0);
            self.content.runs.entry(writer).or_default().push(open.run);
        }
        for (writer, runs) in &self.content.runs {
            let n: u64 = runs.iter().map(|r| u64::from(r.end.wrapping_sub(r.start))).sum();
            *self.count.entry(*writer).or_default() += n;
        }
        for (writer, n) in &self.count {
            let kind = match self.against.truth.writers.get(writer) {
                Some(known) => known.kind.clone(),
                None => "unknown".into(),
            };
            *self.report.kinds.entry(kind).or_default() += n;
        }
        self.content
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().take(64).map(|b| format!("{b:02x}")).collect()
}
