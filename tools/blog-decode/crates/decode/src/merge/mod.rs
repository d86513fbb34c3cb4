// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! One time-ordered sequence out of all rings of all files.
//!
//! Snapshots of one boot overlap. So `unite.rs` first unites the pages of each ring over the files.
//! Then [`Merge`] goes through all rings at once, and always takes the earliest event. It holds one
//! page in memory of each ring that it is in the middle of.
//!
//! Losses are events with a place of their own: those that the writer reports in-band, and those
//! that the ordinals of pages show, which are records overwritten before the first page, and gaps
//! between pages.

mod cursor;
mod unite;

use std::{borrow::Borrow, mem, sync::Arc};

use crate::{
    boot::Boot,
    record::{cause_name, Task, Version, Writer},
    snapshot::{
        run::{Run, Steps},
        Losses, PageRef, RingInfo, RingPages, Snapshot,
    },
    wire::{
        file::COMM_LEN,
        record::{Context, Lost, LOST_CAUSES},
    },
};
pub use cursor::{each_event, Cursor};
pub use unite::{newer, unite};

/// Of more rings than this, one whose first event isn't due is closed again, and read a second time.
const OPEN_MAX: usize = 1 << 14;
/// Stands for a ring that is at its end: later than any other.
const AT_END: u64 = u64::MAX;
const LAG: u8 = Lost::ReaderLag as u8;

/// A ring, united over all files of one boot.
pub struct Stream {
    /// Name of its component.
    pub component: Arc<str>,
    /// Id of the ring within the component.
    pub id: u32,
    /// Index of the file that the latest is from.
    file: u32,
    /// The latest that a file says of the ring.
    of: Arc<RingPages>,
    /// Its pages with their files, oldest first; `None`: those of that file.
    united: Option<Vec<(usize, Run)>>,
    /// Ordinal of the first record that counts, and a clock that isn't after it.
    pub from: u64,
    /// See `from`.
    pub since: u64,
    /// Names that its owner has had, each up to a clock, where files differ in it.
    names: Vec<(u64, [u8; COMM_LEN])>,
    /// Files of a stream that had records before, and how many: those are in other files.
    before: Vec<(usize, (u64, bool))>,
    /// What is older than this clock has been cleared before any of its files was made.
    cleared: u64,
}

impl Stream {
    /// A ring of one file, in which what is older than `cleared` has been cleared.
    pub fn new(component: Arc<str>, file: usize, of: Arc<RingPages>, cleared: u64) -> Self {
        let of_before = of.before;
        Self {
            component,
            id: of.id.1,
            of,
            file: file as u32,
            united: None,
            from: 0,
            since: 0,
            names: Vec::new(),
            before: of_before.map(|n| (file, n)).into_iter().collect(),
            cleared,
        }
    }

    /// Index of the file that has the latest of the ring.
    pub fn file(&self) -> usize {
        self.file as usize
    }

    /// The latest that is known of the ring itself.
    pub fn ring(&self) -> Option<&RingInfo> {
        self.of.ring.as_ref()
    }

    /// Takes in what is new about it.
    pub(crate) fn set_ring(&mut self, ring: RingInfo) {
        Arc::make_mut(&mut self.of).ring = Some(ring);
    }

    /// Counts records that the reader of the stream has missed.
    pub(crate) fn add_missed(&mut self, n: u64) {
        if n > 0 {
            if let Some(ring) = &mut Arc::make_mut(&mut self.of).ring {
                ring.add_missed(n);
            }
        }
    }

    /// Records that it lost, as far as that is known.
    pub fn lost(&self) -> Losses {
        self.ring().map_or([0; LOST_CAUSES], RingInfo::lost)
    }

    /// How many that are.
    pub fn lost_sum(&self) -> u64 {
        self.lost().into_iter().fold(0, u64::saturating_add)
    }

    /// The clock of the last clear before any of its files was made.
    pub fn cleared(&self) -> Option<u64> {
        (self.cleared != 0).then_some(self.cleared)
    }

    /// A stretch of its pages, and the file that it is in.
    fn run(&self, i: usize) -> Option<(usize, &Run)> {
        match &self.united {
            Some(runs) => runs.get(i).map(|(file, run)| (*file, run)),
            None => self.of.runs.get(i).map(|run| (self.file(), run)),
        }
    }

    /// All of them, oldest first.
    pub fn runs(&self) -> impl Iterator<Item = (usize, &Run)> {
        (0..).map_while(|i| self.run(i))
    }

    /// To change them.
    pub fn runs_mut(&mut self) -> &mut Vec<(usize, Run)> {
        let (of, file) = (&self.of, self.file());
        self.united.get_or_insert_with(|| of.runs.iter().map(|run| (file, *run)).collect())
    }

    /// The context, where it is known.
    pub fn context(&self) -> Option<Context> {
        Context::from_u8(self.ring()?.context)
    }

    /// The task that owns the ring.
    pub fn owner(&self) -> Option<Task> {
        let ring = self.ring()?;
        (ring.pid >= 0).then_some(Task { pid: ring.pid, tgid: ring.tgid, comm: ring.comm })
    }

    /// How many records the stream had before this file of it.
    fn before(&self, file: usize) -> Option<(u64, bool)> {
        let found = self.before.iter().find(|(of, _)| *of == file);
        found.map(|(_, records)| *records)
    }

    /// When its task ended, if it has.
    pub fn exit(&self) -> Option<u64> {
        let ring = self.ring()?;
        (ring.retired != 0 && ring.exit_clock != 0).then_some(ring.exit_clock)
    }

    /// The name that its owner had at a clock, where files differ in it.
    fn name_at(&self, clock: u64) -> Option<[u8; COMM_LEN]> {
        let at = self.names.partition_point(|(until, _)| *until < clock);
        let known = self.names.get(at).or(self.names.last());
        known.map(|(_, comm)| *comm)
    }

    /// Number of a shared ring, for tasks that got none of their own.
    pub fn shared(&self) -> Option<u32> {
        let ring = self.ring()?;
        (self.context() == Some(Context::Shared)).then_some(ring.cpu)
    }

    /// The CPU of a per-CPU ring.
    pub fn cpu(&self) -> Option<u32> {
        let cpu = self.ring()?.cpu;
        (cpu != u32::MAX && self.shared().is_none()).then_some(cpu)
    }

    /// Who wrote to it last, as far as that is known by what came out of it.
    pub fn last_writer(&self, counts: &Counts) -> Writer {
        let mut writer = self.writer();
        if let (Some(task), Some(comm)) = (&mut writer.task, counts.last_name) {
            task.comm = comm;
        }
        writer
    }

    /// Who writes to it, as far as that is the same for all its records.
    pub fn writer(&self) -> Writer {
        match self.shared() {
            Some(_) => Writer::default(),
            None => Writer { context: self.context(), cpu: self.cpu(), task: self.owner() },
        }
    }
}

/// A thread, as far as one of its rings distinguishes it from a later one with the same id.
pub(crate) struct Thread {
    component: Arc<str>,
    ring: u32,
    epoch: u32,
    /// When it has ended.
    exit: Option<u64>,
}

impl Thread {
    /// The owner of a ring.
    pub(crate) fn from_stream(stream: &Stream) -> Self {
        Self {
            component: stream.component.clone(),
            ring: stream.id,
            epoch: stream.of.epoch,
            exit: stream.exit(),
        }
    }

    /// Whether the thread with its id at `clock`, which has the ring of `other`, is another one: it
    /// has ended before, or its ring counts anew, as it does for another thread.
    pub(crate) fn is_over(&self, other: &Self, clock: u64) -> bool {
        let is_anew = (&self.component, self.ring) == (&other.component, other.ring)
            && self.epoch != other.epoch;
        is_anew || self.exit.is_some_and(|exit| exit < clock)
    }
}

impl Stream {
    /// Goes through its pages.
    pub fn pages<'a>(
        &'a self,
        files: &'a [Snapshot],
    ) -> impl Iterator<Item = (usize, PageRef)> + 'a {
        let mut place = PagePlace::default();
        std::iter::from_fn(move || place.next(self, files, None))
    }
}

/// How many records there are in all of them.
pub fn records(streams: &[Stream]) -> u64 {
    let runs = streams.iter().flat_map(Stream::runs);
    runs.fold(0, |sum, (_, run)| sum.saturating_add(run.records()))
}

/// A position in the pages of a ring.
#[derive(Default)]
struct PagePlace {
    run: usize,
    steps: Option<Steps>,
}

impl PagePlace {
    /// The next page.
    fn peek(&self, stream: &Stream, files: &[Snapshot]) -> Option<PageRef> {
        let (file, run) = stream.run(self.run)?;
        match &self.steps {
            None => Some(run.first),
            Some(steps) => steps.clone().next(run, &files[file], None),
        }
    }

    /// Goes to the next page, and reads it if its bytes are wanted; the answer is its file, and what
    /// it is.
    fn next(
        &mut self,
        stream: &Stream,
        files: &[Snapshot],
        bytes: Option<&mut Vec<u8>>,
    ) -> Option<(usize, PageRef)> {
        let (file, run) = stream.run(self.run)?;
        let steps = self.steps.get_or_insert_with(|| run.steps());
        let page = steps.next(run, &files[file], bytes)?;
        if steps.left == 0 {
            self.run += 1;
            self.steps = None;
        }
        Some((file, page))
    }
}

/// Why records are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The writer says so; by `record::Lost`.
    Told(u8),
    /// Overwritten by newer ones, or cleared, before the snapshot.
    Overwritten,
    /// Their pages are not in the file: the writer took them back during the copy, or the file is
    /// damaged.
    Missing,
    /// The stream that the file is of had them before the file began.
    Elsewhere,
    /// Their page is in the file, but is damaged.
    Damaged,
    /// They weren't chosen for the reader that made the file.
    LeftOut,
}

impl Cause {
    /// Appends what a line says of so many records that are missing.
    pub fn describe(self, count: u64, out: &mut Vec<u8>) {
        let records = if count == 1 { "record" } else { "records" };
        let text = match self {
            Self::Told(cause) => format!("{count} {records} lost here ({})", cause_name(cause)),
            Self::Overwritten => format!("{count} older {records} overwritten"),
            Self::Missing => format!("{count} {records} missing here (not in the snapshot)"),
            Self::Elsewhere => format!("{count} older {records} are in files before this one"),
            Self::Damaged => format!("{count} {records} damaged here"),
            Self::LeftOut => format!("{count} {records} left out here"),
        };
        out.extend_from_slice(text.as_bytes());
    }

    /// Its name in files for programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Told(cause) => cause_name(cause),
            Self::Overwritten => "overwritten",
            Self::Missing => "missing",
            Self::Elsewhere => "elsewhere",
            Self::Damaged => "damaged",
            Self::LeftOut => "left_out",
        }
    }
}

/// From one clock to another.
pub type ClockSpan = (u64, u64);

/// Where bytes of a record are: they stay as long as this does, and go with it to other threads.
#[derive(Clone, Debug, Default)]
pub struct Payload {
    page: Arc<Vec<u8>>,
    at: usize,
    len: usize,
}

impl Payload {
    /// All of these bytes.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self { at: 0, len: bytes.len(), page: Arc::new(bytes) }
    }

    /// How many they are.
    pub fn size(&self) -> usize {
        self.len
    }

    /// The bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        self.page.get(self.at..self.at + self.len).unwrap_or_default()
    }
}

/// What an event is.
#[derive(Clone, Debug)]
pub enum EventKind {
    /// A record.
    Record {
        /// Site id.
        site: u32,
        /// Ordinal in its ring, from 0.
        ordinal: u64,
        /// How they are stored.
        version: Version,
        /// Its arguments.
        payload: Payload,
    },
    /// Records are missing.
    Loss {
        /// Why.
        cause: Cause,
        /// How many.
        count: u64,
        /// Between which clocks: those of the events before and after, as far as they are known.
        span: ClockSpan,
    },
    /// A line of another log, which is put between the records.
    Line {
        /// Its level, where it has one.
        level: Option<u8>,
    },
}

/// An event of a ring, or of another log. It owns what it consists of.
#[derive(Clone, Debug)]
pub struct Event {
    /// Index of the file that it was read from.
    pub file: usize,
    /// Index of its ring.
    pub ring: usize,
    /// Full clock.
    pub clock: u64,
    /// The writer. In a shared ring, nobody knows whose records were lost.
    pub writer: Writer,
    /// What it is.
    pub kind: EventKind,
}

impl Event {
    /// Becomes the same as another one; of the same page, nothing is counted for that.
    #[inline]
    pub(crate) fn take_from(&mut self, other: &Self) {
        (self.file, self.ring, self.clock) = (other.file, other.ring, other.clock);
        self.writer = other.writer;
        match (&mut self.kind, &other.kind) {
            (
                EventKind::Record { site, ordinal, version, payload },
                EventKind::Record { site: id, ordinal: nth, version: of, payload: from },
            ) if Arc::ptr_eq(&payload.page, &from.page) => {
                (*site, *ordinal, *version) = (*id, *nth, *of);
                (payload.at, payload.len) = (from.at, from.len);
            }
            (kind, other) => *kind = other.clone(),
        }
    }
}

/// What came out of a ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Records.
    pub decoded: u64,
    /// Overwritten before the snapshot.
    pub overwritten: u64,
    /// See [`Cause::Missing`], and [`Cause::Elsewhere`].
    pub missing: u64,
    /// See [`Cause::Damaged`].
    pub damaged: u64,
    /// Overwritten before the reader of a stream came to them.
    pub lagged: u64,
    /// See [`Cause::LeftOut`].
    pub left_out: u64,
    /// The last name of its owner, if the records have another one than the ring.
    pub last_name: Option<[u8; COMM_LEN]>,
}

impl Counts {
    /// All records, there or not.
    pub fn sum(&self) -> u64 {
        let gone = [self.overwritten, self.missing, self.damaged, self.lagged, self.left_out];
        gone.into_iter().fold(self.decoded, u64::saturating_add)
    }

    /// Those that are in no file any more, or can't be read.
    pub fn gone(&self) -> u64 {
        let gone = [self.overwritten, self.missing, self.damaged, self.lagged];
        gone.into_iter().fold(0, u64::saturating_add)
    }

    /// Adds those of another ring.
    pub fn add(&mut self, other: &Self) {
        for (to, n) in [
            (&mut self.decoded, other.decoded),
            (&mut self.overwritten, other.overwritten),
            (&mut self.missing, other.missing),
            (&mut self.damaged, other.damaged),
            (&mut self.lagged, other.lagged),
            (&mut self.left_out, other.left_out),
        ] {
            *to = to.saturating_add(n);
        }
    }
}

/// A ring among others. Only those take memory of which there is a page to go through.
enum Turn {
    /// Its first page is not due.
    Waits,
    Open(Box<Cursor>),
    Ended(Counts),
}

/// What an [`Order`] is of.
pub(crate) struct Rings<'a, S> {
    /// The files.
    pub files: &'a [Snapshot],
    /// The boot of each, if there are several.
    pub boots: Option<&'a [Boot]>,
    /// The rings.
    pub streams: &'a [S],
    /// Whether a ring may get more pages; without it, none does.
    pub may_grow: Option<&'a [bool]>,
}

impl<S: Borrow<Stream>> Rings<'_, S> {
    /// The time by which events of a file are put in order: for several boots, real time. Else by
    /// the ring's clock.
    pub fn time(&self, file: usize, clock: u64) -> u64 {
        let time = match self.boots {
            Some(boots) => boots[file].axis(clock).clamp(0, AT_END.into()) as u64,
            None => clock,
        };
        time.min(AT_END - 1)
    }

    /// The same of a ring.
    fn time_of(&self, ring: usize, clock: u64) -> u64 {
        match self.boots {
            Some(_) => self.time(self.streams[ring].borrow().file(), clock),
            None => clock.min(AT_END - 1),
        }
    }
}

/// Goes through rings in the order of time.
#[derive(Default)]
pub(crate) struct Order {
    cursors: Vec<Turn>,
    /// How many are open.
    open: usize,
    /// When the next event of each ring is. There may be more places than rings.
    times: Vec<u64>,
    /// A tree above these: a node has the ring with the earlier event of the two below it, so node 1
    /// has the earliest of all. Of two at one time, it is the ring with the lower number.
    tree: Vec<u32>,
    /// So many rings are in it.
    entered: usize,
    /// Rings that may have events which it doesn't have yet.
    news: Vec<usize>,
    /// Rings that may grow no more and have come to their end since this was last taken.
    pub ended: Vec<usize>,
    /// The ring whose event was given out last: it goes on before the next one is.
    given: Option<usize>,
}

impl Order {
    /// Of so many rings.
    fn of(rings: usize) -> Self {
        let mut this = Self::default();
        this.cursors.resize_with(rings, || Turn::Waits);
        this
    }

    /// A ring may have more pages than it had, or has got its last one.
    pub fn has_news(&mut self, ring: usize) {
        self.news.push(ring);
    }

    /// Times of all rings are others than they were.
    pub fn restart(&mut self) {
        self.news = (0..self.entered).collect();
    }

    /// In the place of a ring, there will be another one.
    pub fn replace(&mut self, ring: usize) {
        if let Some(turn) = self.cursors.get_mut(ring) {
            *turn = Turn::Waits;
        }
    }

    /// Whether a ring has no further event.
    pub fn has_ended(&self, ring: usize) -> bool {
        matches!(self.cursors.get(ring), Some(Turn::Ended(_)))
    }

    /// Where a ring is, if its pages are gone through.
    pub fn cursor(&mut self, ring: usize) -> Option<&mut Cursor> {
        match self.cursors.get_mut(ring) {
            Some(Turn::Open(cursor)) => Some(cursor),
            _ => None,
        }
    }

    /// Lets a ring go on that is `due`; the answer is when its next event is.
    fn advance<S: Borrow<Stream>>(&mut self, rings: &Rings<'_, S>, i: usize, due: u64) -> u64 {
        let (turn, stream) = (&mut self.cursors[i], rings.streams[i].borrow());
        let is_new = matches!(turn, Turn::Waits);
        if is_new {
            *turn = Turn::Open(Box::new(Cursor::new(i, stream)));
            self.open += 1;
        }
        let Turn::Open(cursor) = turn else {
            return AT_END;
        };
        let may_grow = rings.may_grow.is_some_and(|rings| rings[i]);
        cursor.advance(stream, rings.files, !may_grow);
        let Some(order) = cursor.order() else {
            if !may_grow {
                *turn = Turn::Ended(cursor.counts);
                self.open -= 1;
                if rings.may_grow.is_some() {
                    self.ended.push(i);
                }
            }
            return AT_END;
        };
        let time = rings.time_of(i, order);
        if is_new && time > due && self.open > OPEN_MAX {
            self.cursors[i] = Turn::Waits;
            self.open -= 1;
        }
        time
    }

    /// Takes in new rings, and those that have news.
    fn settle<S: Borrow<Stream>>(&mut self, rings: &Rings<'_, S>) {
        let (count, places) = (rings.streams.len(), self.times.len());
        if self.entered == count && self.news.is_empty() {
            return;
        }
        if self.cursors.len() < count {
            self.cursors.resize_with(count, || Turn::Waits);
        }
        let grows = count > places;
        if grows {
            let places = count.max(2 * places);
            self.times.reserve_exact(places - self.times.len());
            self.times.resize(places, AT_END);
            self.tree = vec![0; places];
        }
        let news = mem::take(&mut self.news);
        for ring in (self.entered..count).chain(news) {
            if self.given == Some(ring) {
                continue;
            }
            let time = self.enter(rings, ring);
            match grows {
                true => self.times[ring] = time,
                false => self.set(ring, time),
            }
        }
        self.entered = count;
        if grows {
            for node in (1..self.tree.len()).rev() {
                self.tree[node] = self.earlier(self.at(2 * node), self.at(2 * node + 1));
            }
        }
    }

    /// The ring that a node has; those beyond the tree are the rings.
    #[inline]
    fn at(&self, node: usize) -> u32 {
        match node.checked_sub(self.tree.len()) {
            Some(ring) => ring as u32,
            None => self.tree[node],
        }
    }

    /// The one of two rings whose event comes first.
    #[inline]
    fn earlier(&self, a: u32, b: u32) -> u32 {
        let is_a = (self.times[a as usize], a) < (self.times[b as usize], b);
        if is_a {
            a
        } else {
            b
        }
    }

    /// When the event of a ring is, or its first page is due.
    fn enter<S: Borrow<Stream>>(&mut self, rings: &Rings<'_, S>, ring: usize) -> u64 {
        let clock = match &mut self.cursors[ring] {
            Turn::Open(cursor) => cursor.order(),
            Turn::Waits => rings.streams[ring].borrow().run(0).map(|(_, run)| run.first.base),
            Turn::Ended(_) => None,
        };
        match clock {
            Some(clock) => rings.time_of(ring, clock),
            None => self.advance(rings, ring, AT_END),
        }
    }

    /// Sets the time of a ring's next event.
    #[inline]
    fn set(&mut self, ring: usize, time: u64) {
        self.times[ring] = time;
        let (mut node, mut first) = (self.tree.len() + ring, ring as u32);
        while node > 1 {
            first = self.earlier(first, self.at(node ^ 1));
            node /= 2;
            self.tree[node] = first;
        }
    }

    /// The event that a ring is at.
    #[inline]
    pub fn event(&self, ring: usize) -> Option<&Event> {
        match &self.cursors[ring] {
            Turn::Open(cursor) => cursor.event(),
            Turn::Waits | Turn::Ended(_) => None,
        }
    }

    /// The event that was given out last, and its ring.
    pub fn given(&self) -> Option<(usize, &Event)> {
        Some((self.given?, self.event(self.given?)?))
    }

    /// Goes to the next event, if that is not later than `limit`; the answer is its ring.
    pub fn step<S: Borrow<Stream>>(&mut self, rings: &Rings<'_, S>, limit: u64) -> Option<usize> {
        self.settle(rings);
        let mut due = self.given.take();
        loop {
            if let Some(ring) = due {
                let time = self.advance(rings, ring, self.times[ring]);
                self.set(ring, time);
            }
            let ring = match self.times.len() {
                0 => return None,
                _ => self.at(1) as usize,
            };
            let time = self.times[ring];
            if time == AT_END {
                return None;
            }
            if !matches!(self.cursors[ring], Turn::Waits) {
                self.given = (time <= limit).then_some(ring);
                return self.given;
            }
            // Its first page is due, and says when its first event is.
            due = Some(ring);
        }
    }

    /// What came out of each ring so far.
    pub fn counts(&self) -> impl Iterator<Item = &Counts> {
        const NONE: &Counts = &Counts {
            decoded: 0,
            overwritten: 0,
            missing: 0,
            damaged: 0,
            lagged: 0,
            left_out: 0,
            last_name: None,
        };
        self.cursors.iter().map(|turn| match turn {
            Turn::Open(cursor) => &cursor.counts,
            Turn::Ended(counts) => counts,
            Turn::Waits => NONE,
        })
    }
}

/// The boots, if they are several: that is the same in each.
pub(crate) fn several(boots: &[Boot]) -> Option<&[Boot]> {
    Some(boots).filter(|boots| boots.first().is_some_and(|boot| boot.is_one_of_several))
}

/// All events of files in the order of time.
pub struct Merge<'a> {
    files: &'a [Snapshot],
    /// See [`Rings`].
    boots: Option<&'a [Boot]>,
    /// The rings.
    pub(crate) streams: Arc<[&'a Stream]>,
    pub(crate) order: Order,
}

impl<'a> Merge<'a> {
    /// Starts before the first event.
    pub fn new(
        files: &'a [Snapshot],
        streams: impl IntoIterator<Item = &'a Stream>,
        boots: &'a [Boot],
    ) -> Self {
        let streams: Arc<[_]> = streams.into_iter().collect();
        Self { files, boots: several(boots), order: Order::of(streams.len()), streams }
    }

    /// Goes to the next event; the answer is its ring.
    #[inline]
    pub(crate) fn step(&mut self) -> Option<usize> {
        let Self { files, boots, streams, order } = self;
        order.step(&Rings { files, boots: *boots, streams, may_grow: None }, u64::MAX)
    }

    /// The next event.
    #[allow(clippy::should_implement_trait)]
    #[inline]
    pub fn next(&mut self) -> Option<&Event> {
        let ring = self.step()?;
        self.order.event(ring)
    }
}
