// SPDX-License-Identifier: GPL-2.0

//! The stream file: what is in the rings, and then what comes, as it comes.
//!
//! There is a file `stream` for each component and one for all: [`Reader`]. The format is that of
//! a snapshot without its end (`snapshot::FLAG_STREAM`). An open file has a [`Reader`] with a
//! place in each ring of its own, so readers don't know of each other, and a stream consumes
//! nothing but its own place.
//!
//! # Passes
//!
//! A [`Stream`] goes through the rings in passes. For each ring that has more records than were
//! read, it writes the pages from where it was: pieces of pages, up to the record that was the
//! last one when it came to the ring, so that a busy ring can't hold it. A ring's section comes
//! before its first piece, and again when its counts have changed. A page is found by the link in
//! the one before, so a pass costs a look at each ring, and a copy of each page that has news.
//! A pass in which there is nothing to write is *dry*: then the reader waits.
//!
//! # Losses
//!
//! Each piece says which record of its ring is its first. If that isn't the one which this reader
//! expects, the writer has taken pages back in between: a lost record ([`Lost::ReaderLag`]) at the
//! start of the piece tells how many records are missing. What is left of a ring that went to
//! another task before it was read can't be told there; it is in the section of the component.
//!
//! # Waking up
//!
//! A log call wakes nobody. While somebody waits, [`blog_stream_tick`] looks at all rings of the
//! components in question about 50 times a second, and where anything has changed it moves a
//! count on: *news*. Who waits goes by that count; it was read before the dry pass, so what came
//! after the pass is news for sure.

use core::{
    mem,
    ptr,
    sync::atomic::{
        AtomicU32,
        AtomicU64,
        Ordering::{
            Acquire,
            Relaxed,
            Release, //
        }, //
    }, //
};
use kernel::{
    bindings,
    blog::{
        ring::{
            Info,
            Ring,
            State as RingState,
            MAX_COMPONENTS,
            NO_PAGE, //
        },
        wire::{
            file as format,
            page::PageInfo,
            record::{
                Lost,
                LOST_CAUSES, //
            }, //
        }, //
    },
    fs::{
        file::{
            flags::O_NONBLOCK,
            Offset, //
        },
        operations::FileOperations,
        File, //
    },
    new_mutex,
    prelude::*,
    sync::{
        poll::PollTable,
        Arc,
        ArcBorrow,
        Mutex, //
    },
    time::{
        Delta,
        Instant,
        Monotonic, //
    },
    uaccess::UserSliceWriter, //
};

use crate::{
    memory::{
        pool::Store,
        Memory, //
    },
    read::{
        piece,
        sections::{
            copy_out,
            ring_section,
            Plain,
            Sections,
            Source, //
        },
        snapshot::info_of, //
    },
    registry::{
        self,
        names::name_field,
        state::{
            Inner,
            Loose,
            State, //
        }, //
    },
    sys::{
        clock,
        glue, //
    }, //
};

/// How often a page is looked for that its writer keeps taking away.
const TRIES: u32 = 8;
/// How many pages are gone through in search of one.
const HOPS: u32 = 1 << 16;
/// Rings that are looked at before the component's lock is given to others for a moment.
const RINGS: u32 = 1024;
/// A pass that gave less is followed by the next one only after a tick, where the reader would
/// wait anyway: so that a trickle of records doesn't become a torrent of tiny pieces.
const BATCH: usize = 16 << 10;
/// How often the clocks are compared anew.
const CLOCK_EVERY: Delta = Delta::from_secs(1);

/// A ring, as far as it was read. All counts are those of the ring, hidden records counted.
struct Seen {
    /// [`Info::first_seq`] of its owner, and his thread id, as an owner who wrote nothing leaves
    /// the position to the next one; 0: nobody's.
    first_seq: u64,
    pid: i32,
    /// The page that was read last ([`NO_PAGE`]: unknown), its position, and its end at that time.
    page: u32,
    end: u32,
    seq: u64,
    /// The page behind that one, where it was seen.
    next: u32,
    /// How the ring was when its section was written.
    section: Told,
    /// The record that comes next.
    ordinal: u64,
    /// Whether records before the first piece are none that this reader has missed.
    history: bool,
    /// Records missed, of which pieces have told.
    lag: u64,
    /// What `clear` had hidden when the ring was first seen.
    hidden: u64,
    hidden_told: [u64; LOST_CAUSES],
    /// Its losses.
    lost: [u64; LOST_CAUSES],
}

/// What a ring's section said.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Told {
    written: bool,
    retired: bool,
    lag: u64,
    /// Sum of [`Info::told`].
    told: u64,
}

impl Seen {
    const NONE: Self = Self {
        first_seq: 0,
        pid: 0,
        page: NO_PAGE,
        end: 0,
        seq: 0,
        next: NO_PAGE,
        section: Told {
            written: false,
            retired: false,
            lag: 0,
            told: 0,
        },
        ordinal: 0,
        history: false,
        lag: 0,
        hidden: 0,
        hidden_told: [0; LOST_CAUSES],
        lost: [0; LOST_CAUSES],
    };

    /// Whether the ring still has this owner.
    fn is(&self, info: &Info) -> bool {
        (self.first_seq, self.pid) == (info.first_seq, info.owner.pid)
    }
}

/// Where the pass is in a ring.
#[derive(Clone, Copy, Default)]
struct Turn {
    /// Records to read up to.
    goal: u64,
    /// The ring's section is written, if need be: before its pieces, and behind them.
    before: bool,
    behind: bool,
    /// There is nothing more to read.
    read: bool,
}

/// A component that is being read.
struct Watched {
    state: Arc<State>,
    /// Its id in this file.
    id: u32,
    /// [`Inner::generation`] when it was first looked at.
    generation: u64,
    /// Whether this is the first pass of the stream: what is missing now is nobody's fault.
    history: bool,
    /// It isn't in the registry any more.
    removed: bool,
    /// Its section as it was written.
    section: Option<format::Component>,
    /// Counts that belonged to no ring when the stream began: as they are, and as they were shown.
    base: Loose,
    shown: Loose,
    /// The same at the start of this pass.
    now: Loose,
    /// What was read of rings that have another owner now, and of those that have none now.
    gone: Loose,
    free: Loose,
    /// By ring id.
    rings: KVVec<Seen>,
    /// The ring that the pass is at.
    next: u32,
    turn: Option<Turn>,
}

impl Watched {
    fn new(state: Arc<State>, id: u32, history: bool) -> Self {
        Self {
            state,
            id,
            generation: 0,
            history,
            removed: false,
            section: None,
            base: Loose::default(),
            shown: Loose::default(),
            now: Loose::default(),
            gone: Loose::default(),
            free: Loose::default(),
            rings: KVVec::new(),
            next: 0,
            turn: None,
        }
    }

    /// Starts a pass; writes the component's section if it is new. False: its memory was freed, so
    /// that all it has is new.
    fn start(&mut self, inner: &mut Inner, out: &mut Sections) -> Result<bool> {
        self.next = 0;
        self.turn = None;
        self.free = Loose::default();
        self.now = self.state.all_loose(inner);
        if self.section.is_none() {
            self.generation = inner.generation;
            if self.history {
                self.base = self.now;
                self.shown = self.state.loose(inner);
            }
            self.component(inner, out)?;
        }
        if self.generation != inner.generation {
            return Ok(false);
        }
        // Rings that have come since there was made room are for the next pass.
        while self.rings.len() < rings_of(inner) && self.rings.len() < self.rings.capacity() {
            let _ = self.rings.push_within_capacity(Seen::NONE);
        }
        Ok(true)
    }

    /// Writes the component's section, if it says anything that it didn't say before.
    fn component(&mut self, inner: &Inner, out: &mut Sections) -> Result {
        let mut lost = self.shown.lost;
        for (i, lost) in lost.iter_mut().enumerate() {
            let here = self.gone.lost[i].wrapping_add(self.free.lost[i]);
            let since = self.now.lost[i].saturating_sub(self.base.lost[i]);
            *lost = lost.wrapping_add(since.saturating_sub(here));
        }
        // What rings had taken that are gone, and was not read: it never will be.
        let here = self.gone.records.wrapping_add(self.free.records);
        let since = self.now.records.saturating_sub(self.base.records);
        let lag = &mut lost[Lost::ReaderLag as usize];
        *lag = lag.wrapping_add(since.saturating_sub(here));
        let section = format::Component {
            id: self.id,
            enabled: u8::from(inner.enabled),
            level: inner.level.map_or(0, |level| level as u8),
            mode: self.state.mode() as u8,
            attached: u8::from(inner.attached()),
            size_kb: inner.size_kb,
            ring_kb: inner.ring_kb,
            rings: 0,
            reserved: 0,
            gone_records: self.shown.records,
            lost,
            name: name_field(self.state.name().to_bytes()),
        };
        let known = self.section.as_ref();
        if known.is_some_and(|known| known.as_bytes() == section.as_bytes()) {
            return Ok(());
        }
        out.component(&section)?;
        self.section = Some(section);
        Ok(())
    }

    /// Goes on in the pass, up to the next section. False: all rings were looked at.
    fn rings(&mut self, inner: &Inner, out: &mut Sections) -> Result<bool> {
        let Some((memory, _)) = inner.memory() else {
            return Ok(false);
        };
        if self.generation != inner.generation {
            return Ok(false);
        }
        for _ in 0..RINGS {
            let id = self.next;
            let Some(seen) = self.rings.get_mut(id as usize) else {
                return Ok(false);
            };
            let mut at = At {
                component: self.id,
                ring: id,
                inner,
                memory,
                history: self.history,
            };
            if at.step(seen, &mut self.turn, &mut self.gone, &mut self.free, out)? {
                return Ok(true);
            }
            self.turn = None;
            self.next += 1;
        }
        Ok(true)
    }
}

/// Rings that a component has.
fn rings_of(inner: &Inner) -> usize {
    inner.memory().map_or(0, |(_, owned)| owned.rings_end()) as usize
}

/// A ring, for a moment.
struct At<'a> {
    component: u32,
    ring: u32,
    inner: &'a Inner,
    memory: &'a Memory,
    history: bool,
}

impl At<'_> {
    /// Writes one section. False: there is nothing to write for this ring in this pass.
    fn step(
        &mut self,
        seen: &mut Seen,
        turn: &mut Option<Turn>,
        gone: &mut Loose,
        free: &mut Loose,
        out: &mut Sections,
    ) -> Result<bool> {
        let info = info_of(self.memory, self.ring);
        let (Some(info), Some(ring)) = (info, self.memory.store.ring(self.ring)) else {
            // Free, or changing hands just now. What was read of it is with the counts of those
            // that are gone.
            if seen.first_seq != 0 {
                free.add(seen.ordinal, &seen.lost);
            }
            return Ok(false);
        };
        if !seen.is(&info) {
            if seen.first_seq != 0 {
                gone.add(seen.ordinal, &seen.lost);
            }
            *seen = Seen::NONE;
            if info.records == 0 && info.lost.iter().all(|n| *n == 0) {
                return Ok(false);
            }
            (seen.first_seq, seen.pid) = (info.first_seq, info.owner.pid);
            seen.history = self.history;
            if let Some(mark) = self.inner.mark(self.ring, &info) {
                seen.hidden = mark.records;
                seen.hidden_told = mark.told;
                seen.ordinal = mark.records;
            }
        }
        if self.inner.has_marks() {
            if let Some(mark) = self.inner.mark(self.ring, &info) {
                // What was hidden since is passed over; the next piece tells.
                if (mark.seq, mark.end) > (seen.seq, seen.end) {
                    (seen.seq, seen.end) = (mark.seq, mark.end);
                    (seen.page, seen.next) = (NO_PAGE, NO_PAGE);
                }
            }
        }
        let turn = turn.get_or_insert_with(|| Turn {
            goal: info.records,
            ..Turn::default()
        });
        if !mem::replace(&mut turn.before, true) && self.section(seen, &info, out)? {
            return Ok(true);
        }
        if !turn.read {
            if seen.ordinal < turn.goal && self.piece(ring, seen, out)? {
                return Ok(true);
            }
            turn.read = true;
        }
        Ok(!mem::replace(&mut turn.behind, true) && self.section(seen, &info, out)?)
    }

    /// Writes the ring's section, if it says anything that it didn't say before.
    fn section(&self, seen: &mut Seen, info: &Info, out: &mut Sections) -> Result<bool> {
        let told = Told {
            written: true,
            retired: info.state == RingState::Retired,
            lag: seen.lag,
            told: info.told.iter().fold(0, |sum, n| sum.wrapping_add(*n)),
        };
        if seen.section == told && seen.lost == info.lost {
            return Ok(false);
        }
        if !seen.section.written
            && info.records <= seen.hidden
            && info.lost == seen.hidden_told
            && seen.hidden != 0
        {
            // All that there is of it is hidden.
            return Ok(false);
        }
        let mut section = ring_section(self.component, self.ring, info);
        // Not what it has taken meanwhile: nobody knows whether that can still be read.
        section.records = seen.ordinal.saturating_sub(seen.hidden);
        for (i, hidden) in seen.hidden_told.into_iter().enumerate() {
            section.lost[i] = section.lost[i].saturating_sub(hidden);
            section.told[i] = section.told[i].saturating_sub(hidden);
        }
        section.lost[Lost::ReaderLag as usize] = seen.lag;
        section.told[Lost::ReaderLag as usize] = seen.lag;
        out.ring(&section)?;
        seen.section = told;
        seen.lost = info.lost;
        Ok(true)
    }

    /// Writes the next piece of the ring. False: it has nothing new, or it turned away too often.
    fn piece(&self, ring: &Ring, seen: &mut Seen, out: &mut Sections) -> Result<bool> {
        let found = out.page(self.component, self.ring, |to| {
            let found = self.find(ring, seen, to)?;
            Some((found.piece.len, found))
        })?;
        let Some(found) = found else {
            return Ok(false);
        };
        seen.page = found.index;
        seen.seq = found.seq;
        seen.end = found.piece.end;
        seen.next = found.next;
        seen.ordinal = found.piece.first.wrapping_add(found.piece.records);
        seen.lag = seen.lag.wrapping_add(found.piece.lag);
        seen.history = false;
        Ok(true)
    }

    /// Copies the next page with something new, and cuts what was read.
    fn find(&self, ring: &Ring, seen: &Seen, to: &mut [u8]) -> Option<Found> {
        // Index and position, where they are known.
        let mut at = self.known(seen);
        let mut tries = TRIES;
        // The page without news whose link was seen before its end was.
        let mut complete = 0;
        for _ in 0..HOPS {
            let (index, seq) = match at {
                Some(at) => at,
                None => {
                    tries = tries.checked_sub(1)?;
                    let index = ring.oldest_page()?;
                    // SAFETY: A header stays until who has found it sleeps.
                    (index, unsafe { &*self.memory.page(index) }.seq())
                }
            };
            let copied = self.memory.copy(index, seq, to).is_some();
            let Some(page) = PageInfo::read(to).filter(|page| copied && page.ring == self.ring)
            else {
                // Its writer has it back: go on with what there is.
                at = None;
                continue;
            };
            // The position is unique within a ring, but the ring may have gone to another task.
            if !seen.is(&info_of(self.memory, self.ring)?) {
                return None;
            }
            let next = page.next;
            if (seq, page.end()) > (seen.seq, seen.end) {
                let from = piece::From {
                    seq: seen.seq,
                    end: seen.end,
                    hidden: seen.hidden,
                    next: (!seen.history).then_some(seen.ordinal),
                };
                let piece = piece::cut(to, &from)?;
                return Some(Found {
                    index,
                    seq,
                    next,
                    piece,
                });
            }
            if next == NO_PAGE {
                return None;
            }
            // The writer went on. It may have written to this page after its end was read, but not
            // after its link was.
            at = if seq < seen.seq || complete == seq {
                Some((next, seq + 1))
            } else {
                complete = seq;
                Some((index, seq))
            };
        }
        None
    }

    /// Where the next page is, as far as that is known.
    fn known(&self, seen: &Seen) -> Option<(u32, u64)> {
        if seen.page == NO_PAGE {
            return None;
        }
        if seen.next == NO_PAGE {
            return Some((seen.page, seen.seq));
        }
        // The link was there when the page was copied, so its end is the last one by now. That the
        // page is gone does no harm: then so is what was not read of it.
        // SAFETY: A header stays until who has found it sleeps.
        let page = unsafe { &*self.memory.page(seen.page) };
        let more = page.seq() == seen.seq
            && page.first().wrapping_add(page.records().into()) != seen.ordinal;
        Some(match more {
            true => (seen.page, seen.seq),
            false => (seen.next, seen.seq + 1),
        })
    }
}

/// A piece, and the page that it is from.
struct Found {
    index: u32,
    seq: u64,
    next: u32,
    piece: piece::Piece,
}

/// What comes next.
#[derive(Clone, Copy)]
enum Step {
    File,
    System,
    Clock,
    /// A pass begins.
    Images,
    /// The component with this place in the list, and its rings.
    Component(usize),
    Rings(usize),
    /// Modules that were loaded meanwhile, and the clocks.
    LateImages,
    LateClock,
    /// Between two passes.
    Idle,
    End,
    Done,
}

/// Where the reader of a stream is.
pub(crate) struct Stream {
    /// The only component, or all of them.
    only: Option<Arc<State>>,
    step: Step,
    out: Sections,
    components: KVVec<Watched>,
    /// The id that the next component gets in this file.
    next_id: u32,
    /// Whether the first pass is not over yet.
    first: bool,
    /// Bytes in this pass.
    written: usize,
    /// [`news`] before this pass.
    news: u64,
    clock: Instant<Monotonic>,
    /// [`clock::breaks`] that the reader has been told of.
    breaks: u64,
}

impl Stream {
    /// Starts at the beginning. `addresses`: whether who reads may see them.
    pub(crate) fn new(only: Option<Arc<State>>, addresses: bool) -> Result<Self> {
        Ok(Self {
            only,
            step: Step::File,
            out: Sections::new(addresses)?,
            components: KVVec::new(),
            next_id: 0,
            first: true,
            written: 0,
            news: 0,
            clock: Instant::now(),
            breaks: 0,
        })
    }

    /// Whether all was read of a component that is gone.
    pub(crate) fn ended(&self) -> bool {
        matches!(self.step, Step::Done) && self.out.pending().is_empty()
    }

    /// Whether it waits for a pass, and the last one has given little.
    fn calm(&self) -> bool {
        let idle = matches!(self.step, Step::Idle) && self.out.pending().is_empty();
        idle && self.written < BATCH && !self.ending()
    }

    /// Whether the only component is gone, so that there will be no news.
    fn ending(&self) -> bool {
        self.only.is_some() && self.components.iter().all(|watched| watched.removed)
    }

    /// An id for a component: a new one is greater than those before.
    fn take_id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id - 1
    }

    fn watch(&mut self, state: Arc<State>) -> Result {
        let id = self.take_id();
        let new = Watched::new(state, id, self.first);
        Ok(self.components.push(new, GFP_KERNEL)?)
    }

    /// Starts a pass: which components there are.
    fn start_pass(&mut self) -> Result {
        self.written = 0;
        self.news = news(self.only.as_ref());
        if let Some(only) = self.only.clone() {
            if self.components.is_empty() {
                self.watch(only)?;
            }
        } else {
            for state in registry::components() {
                let mut known = self.components.iter();
                if !known.any(|known| Arc::ptr_eq(&known.state, &state)) {
                    self.watch(state)?;
                }
            }
        }
        for watched in &mut self.components {
            watched.removed = !registry::has(&watched.state);
        }
        Ok(())
    }

    /// Ends a pass.
    fn end_pass(&mut self) -> Step {
        self.first = false;
        let dry = self.written == 0;
        for watched in &mut self.components {
            watched.history = false;
        }
        // What is gone was read to its end in this pass.
        if self.only.is_none() {
            self.components.retain(|watched| !watched.removed);
        } else if dry && self.ending() {
            self.components = KVVec::new();
            return Step::End;
        }
        Step::Idle
    }

    /// Makes the next section, or none where there is nothing to say.
    fn advance(&mut self) -> Result {
        self.step = match self.step {
            Step::File => {
                self.out.file(format::FLAG_STREAM)?;
                Step::System
            }
            Step::System => {
                self.out.system()?;
                Step::Clock
            }
            Step::Clock => {
                self.breaks = clock::breaks();
                self.out.clock()?;
                self.start_pass()?;
                Step::Images
            }
            Step::Images => match self.out.images()? {
                true => Step::Images,
                false => Step::Component(0),
            },
            Step::Component(at) => self.component(at)?,
            Step::Rings(at) => self.rings(at)?,
            Step::LateImages => match self.out.images()? {
                true => Step::LateImages,
                false => Step::LateClock,
            },
            Step::LateClock => {
                if self.written != 0 && self.clock.elapsed() >= CLOCK_EVERY {
                    self.out.clock()?;
                    self.clock = Instant::now();
                }
                self.end_pass()
            }
            // What comes next may be of another epoch.
            Step::Idle if self.breaks != clock::breaks() => Step::Clock,
            Step::Idle => {
                self.start_pass()?;
                Step::Images
            }
            Step::End => {
                self.out.end_of_file()?;
                Step::Done
            }
            Step::Done => Step::Done,
        };
        self.written += self.out.pending().len();
        Ok(())
    }

    fn component(&mut self, at: usize) -> Result<Step> {
        let Some(watched) = self.components.get_mut(at) else {
            return Ok(Step::LateImages);
        };
        let (state, out) = (watched.state.clone(), &mut self.out);
        let rings = state.with(|inner| rings_of(inner));
        let more = rings.saturating_sub(watched.rings.len());
        watched.rings.reserve(more, GFP_KERNEL)?;
        if state.with(|inner| watched.start(inner, out))? {
            return Ok(Step::Rings(at));
        }
        let id = self.take_id();
        if let Some(watched) = self.components.get_mut(at) {
            *watched = Watched::new(state, id, false);
        }
        Ok(Step::Component(at))
    }

    fn rings(&mut self, at: usize) -> Result<Step> {
        let Some(watched) = self.components.get_mut(at) else {
            return Ok(Step::LateImages);
        };
        let (state, out) = (watched.state.clone(), &mut self.out);
        state.with(|inner| {
            if watched.rings(inner, out)? {
                return Ok(Step::Rings(at));
            }
            watched.component(inner, out)?;
            Ok(Step::Component(at + 1))
        })
    }
}

impl Source for Stream {
    /// The bytes that come next; none at the end of a pass, and of the stream.
    fn peek(&mut self) -> Result<&[u8]> {
        while self.out.pending().is_empty() && !matches!(self.step, Step::Done) {
            let passed = !matches!(self.step, Step::Idle);
            self.advance()?;
            // Where no news will come, nobody shall wait for it between two passes.
            if passed && matches!(self.step, Step::Idle) && !self.ending() {
                break;
            }
        }
        Ok(self.out.pending())
    }

    fn consume(&mut self, n: usize) {
        self.out.consume(n);
    }
}

/// Counts that move on when anything changes in the component of a slot; the last one, in any.
static NEWS: [AtomicU64; MAX_COMPONENTS + 1] = [const { AtomicU64::new(1) }; MAX_COMPONENTS + 1];
/// What [`blog_stream_tick`] saw last.
static SEEN: [AtomicU64; MAX_COMPONENTS] = [const { AtomicU64::new(0) }; MAX_COMPONENTS];
/// Open streams of the component of a slot; the last one, of all.
static OPEN: [AtomicU32; MAX_COMPONENTS + 1] = [const { AtomicU32::new(0) }; MAX_COMPONENTS + 1];

/// How often [`blog_stream_tick`] has looked.
static LOOKS: AtomicU64 = AtomicU64::new(0);

/// How often somebody has looked for news for those who wait.
pub(crate) fn looks() -> u64 {
    LOOKS.load(Relaxed)
}

/// Index into [`NEWS`] and [`OPEN`].
fn place(only: Option<&Arc<State>>) -> usize {
    only.map_or(MAX_COMPONENTS, |state| usize::from(state.slot()))
}

fn news(only: Option<&Arc<State>>) -> u64 {
    // ORDERING: Acquire pairs with the release in `count`: who sees that there is news, and looks,
    // sees it.
    NEWS.get(place(only)).map_or(0, |n| n.load(Acquire))
}

fn count(slot: u16) {
    for at in [usize::from(slot), MAX_COMPONENTS] {
        if let Some(n) = NEWS.get(at) {
            // ORDERING: See `news`.
            n.fetch_add(1, Release);
        }
    }
}

/// Tells readers that a component is gone.
pub(crate) fn changed(slot: u16) {
    count(slot);
    glue::wake_streams();
}

/// Ends what wakes readers. No stream is open any more.
pub(crate) fn stop() {
    glue::stop_streams();
}

/// A number that differs whenever a reader could find something new.
fn summary(state: &State) -> u64 {
    // As in FxHash: quick, and each input changes all of it.
    fn mix(sum: &mut u64, n: u64) {
        *sum = (sum.rotate_left(5) ^ n).wrapping_mul(0x51_7c_c1_b7_27_22_0a_95);
    }
    state.with(|inner| {
        let mut sum = 0;
        mix(&mut sum, ptr_number(state));
        mix(&mut sum, inner.generation);
        mix(
            &mut sum,
            u64::from(inner.enabled) | u64::from(inner.attached()) << 1,
        );
        mix(&mut sum, inner.level.map_or(0, |level| level as u64));
        mix(
            &mut sum,
            u64::from(inner.size_kb) << 32 | u64::from(inner.ring_kb),
        );
        mix(&mut sum, state.mode() as u64);
        let loose = state.all_loose(inner);
        mix(&mut sum, loose.records);
        loose.lost.iter().for_each(|n| mix(&mut sum, *n));
        let Some((memory, owned)) = inner.memory() else {
            return sum;
        };
        for id in 0..owned.rings_end() {
            let Some(info) = memory.store.ring(id).and_then(|ring| ring.info()) else {
                continue;
            };
            mix(&mut sum, u64::from(id));
            mix(&mut sum, info.first_seq << 2 | info.state as u64);
            mix(&mut sum, info.owner.pid as u64);
            mix(&mut sum, info.records);
            let lost = info.lost.iter().zip(&info.told);
            mix(
                &mut sum,
                lost.fold(0, |n, (lost, told)| n + (lost << 32) + told),
            );
        }
        sum
    })
}

/// Tells a component from another one that has its slot later.
fn ptr_number(state: &State) -> u64 {
    core::ptr::from_ref(state) as usize as u64
}

/// Looks for news for whoever waits, from glue.c; returns whether there is any.
#[no_mangle]
extern "C" fn blog_stream_tick() -> bool {
    LOOKS.fetch_add(1, Relaxed);
    let open = |at: usize| OPEN.get(at).is_some_and(|n| n.load(Relaxed) != 0);
    let all = open(MAX_COMPONENTS);
    let mut any = false;
    for state in registry::components() {
        let at = usize::from(state.slot());
        if !all && !open(at) {
            continue;
        }
        let sum = summary(&state);
        if SEEN
            .get(at)
            .is_some_and(|seen| seen.swap(sum, Relaxed) != sum)
        {
            count(state.slot());
            any = true;
        }
    }
    any
}

/// A stream file; of a component, or of all where it was made without one.
#[pin_data(PinnedDrop)]
pub(crate) struct Reader {
    only: Option<Arc<State>>,
    /// [`news`] before the last pass.
    news: AtomicU64,
    #[pin]
    stream: Mutex<Stream>,
}

impl Reader {
    fn opened(&self) -> Option<&AtomicU32> {
        OPEN.get(place(self.only.as_ref()))
    }

    /// Reads on; 0 at the end of a stream. `EAGAIN` where there is nothing to read now: if `now`,
    /// after a look, else the caller shall wait for news first.
    fn read_on(&self, to: &mut UserSliceWriter, now: bool) -> Result<usize> {
        let room = to.len();
        if room == 0 {
            return Ok(0);
        }
        let mut stream = self.stream.lock();
        if !now && stream.calm() && !self.has_news() {
            return Err(EAGAIN);
        }
        let result = copy_out(&mut *stream, to, glue::signal_pending);
        self.news.store(stream.news, Relaxed);
        match (result, room - to.len()) {
            (Err(e), 0) => Err(e),
            (Ok(()), 0) if !stream.ended() => Err(EAGAIN),
            // An error comes back with the next read.
            (_, done) => Ok(done),
        }
    }

    /// Whether anything has changed since the last pass.
    fn has_news(&self) -> bool {
        self.news.load(Relaxed) != news(self.only.as_ref())
    }
}

#[vtable]
impl FileOperations for Reader {
    type Inode = State;
    type Data = Pin<KBox<Self>>;

    const STREAM: bool = true;

    fn open(of: Option<&State>, file: &File) -> Result<Self::Data> {
        let addresses = glue::may_open(file)?;
        // SAFETY: Such a file is of a component in an `Arc`, which is there during the call.
        let only = of.map(|state| Arc::from(unsafe { ArcBorrow::from_raw(state) }));
        let stream = Stream::new(only.clone(), addresses)?;
        let new = KBox::pin_init(
            pin_init!(Self {
                only,
                news: AtomicU64::new(0),
                stream <- new_mutex!(stream),
            }),
            GFP_KERNEL,
        )?;
        if let Some(n) = new.opened() {
            n.fetch_add(1, Relaxed);
        }
        Ok(new)
    }

    fn read(
        reader: Pin<&Self>,
        file: &File,
        to: &mut UserSliceWriter,
        _at: &mut Offset,
    ) -> Result<usize> {
        let now = file.flags() & O_NONBLOCK != 0;
        loop {
            match reader.read_on(to, now) {
                // SAFETY: It is a reader, and stays one during the call.
                Err(EAGAIN) if !now => unsafe {
                    glue::wait_for_stream(ptr::from_ref(&*reader).cast())?
                },
                result => return result,
            }
        }
    }

    /// Looks at the rings if nobody does so for those who wait, or if there is news.
    fn poll(reader: Pin<&Self>, file: &File, table: PollTable<'_>) -> u32 {
        let now = glue::poll_stream(file, table);
        let mut stream = reader.stream.lock();
        if now || !stream.calm() || reader.has_news() {
            let failed = stream.peek().is_err();
            reader.news.store(stream.news, Relaxed);
            if failed {
                return bindings::POLLERR;
            }
        }
        let data = bindings::POLLIN | bindings::POLLRDNORM;
        match stream.step {
            Step::End | Step::Done => data | bindings::POLLHUP,
            _ if stream.out.pending().is_empty() => 0,
            _ => data,
        }
    }
}

#[pinned_drop]
impl PinnedDrop for Reader {
    fn drop(self: Pin<&mut Self>) {
        if let Some(n) = self.opened() {
            n.fetch_sub(1, Relaxed);
        }
    }
}

/// Whether there is news for a reader.
///
/// # Safety
///
/// `reader` is a [`Reader`].
#[no_mangle]
unsafe extern "C" fn blog_stream_news(reader: *mut c_void) -> bool {
    // SAFETY: By this function's requirement.
    unsafe { &*reader.cast::<Reader>() }.has_news()
}
