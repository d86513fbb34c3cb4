// SPDX-License-Identifier: GPL-2.0

//! Going through all rings, again and again.

use kernel::{
    blog::wire::file as format,
    prelude::*,
    sync::Arc,
    time::{
        Delta,
        Instant,
        Monotonic, //
    }, //
};

use crate::{
    read::{
        sections::{
            Sections,
            Source, //
        },
        stream::{
            news::News,
            watched::{
                rings_of,
                Watched, //
            }, //
        }, //
    },
    registry::{
        self,
        state::State, //
    },
    sys::clock, //
};

/// A pass that gave less is followed by the next one only after a tick, where the reader would
/// wait anyway: so that a trickle of records doesn't become a torrent of tiny pieces.
const BATCH: usize = 16 << 10;
/// How often the clocks are compared anew.
const CLOCK_EVERY: Delta = Delta::from_secs(1);

/// What comes next.
#[derive(Clone, Copy)]
enum Step {
    Head,
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
    /// [`News::count`] before this pass.
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
            step: Step::Head,
            out: Sections::new(addresses)?,
            components: KVVec::new(),
            next_id: 0,
            first: true,
            written: 0,
            news: 0,
            clock: Instant::now(),
            breaks: clock::breaks(),
        })
    }

    /// Whether all was read of a component that is gone.
    pub(crate) fn ended(&self) -> bool {
        matches!(self.step, Step::Done) && !self.has_data()
    }

    /// Whether there will be no pass any more.
    pub(super) fn is_last(&self) -> bool {
        matches!(self.step, Step::End | Step::Done)
    }

    /// Whether there is something to read, without a look at the rings.
    pub(super) fn has_data(&self) -> bool {
        !self.out.pending().is_empty()
    }

    /// Whether it is between the first ring and the last one.
    pub(super) fn in_pass(&self) -> bool {
        !matches!(self.step, Step::Idle | Step::End | Step::Done)
    }

    /// Whether it waits for a pass, and the last one has given little.
    pub(super) fn calm(&self) -> bool {
        let idle = matches!(self.step, Step::Idle) && !self.has_data();
        idle && self.written < BATCH && !self.ending()
    }

    /// [`News::count`] before the last pass.
    pub(super) fn news(&self) -> u64 {
        self.news
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
    fn start_pass(&mut self) -> Result<Step> {
        self.written = 0;
        self.news = News::of(self.only.as_deref()).count();
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
        Ok(Step::Images)
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
            Step::Head => match self.out.head(format::FLAG_STREAM)? {
                true => Step::Head,
                false => self.start_pass()?,
            },
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
            Step::Idle => {
                let breaks = clock::breaks();
                if self.breaks != breaks {
                    // What comes next is of another epoch.
                    self.out.clock()?;
                    self.breaks = breaks;
                }
                self.start_pass()?
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
        while !self.has_data() && !matches!(self.step, Step::Done) {
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
