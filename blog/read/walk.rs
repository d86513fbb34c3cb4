// SPDX-License-Identifier: GPL-2.0

//! Going through all rings: once for a snapshot, again and again for a stream.

use crate::{
    clock,
    read::{
        component::ComponentWalk,
        sections::{
            Form,
            Sections, //
        },
    },
    registry::{
        self,
        state::State, //
    },
    sys::prelude::*,
    write::worker, //
};

/// A pass that gave less is followed by the next one only after a rest, where the reader would wait
/// anyway: so that a trickle of records doesn't become a torrent of tiny pieces.
const BATCH: usize = 16 << 10;
/// The rest between two passes, in milliseconds, for data to be seen in 50 ms on a busy machine,
/// too; and what it is at most.
const REST_MS: u64 = 20;
const MAX_REST_MS: u64 = 1000;
/// With very many rings, a pass takes long: no more than this part of a CPU.
const PART: u64 = 8;
/// After so many milliseconds, a read returns what it has.
const READ_MS: u64 = 1;

/// How a part writes its sections of a snapshot of all components for which nothing was chosen:
/// once before the rings, and once after them, which the argument says. Set before there are files.
#[cfg(CONFIG_BLOG_PARTS)]
pub(crate) static SECTIONS: SetOnce<fn(&mut Sections, bool) -> Result> = SetOnce::new();

#[derive(Clone, Copy)]
enum Step {
    Head,
    Images,
    Tasks,
    /// The component with this place in the list, and its rings.
    Component(usize),
    Rings(usize),
    /// Modules that were loaded meanwhile, and the clocks.
    Late,
    Idle,
    End,
    Done,
}

pub(crate) struct Walk {
    form: Form,
    /// The only component, or all of them.
    only: Option<Arc<State>>,
    step: Step,
    out: Sections,
    /// Where to look for the next task.
    task: u32,
    components: KVVec<ComponentWalk>,
    /// The id that the next component gets.
    next_id: u32,
    /// Whether the first pass is not over yet.
    first: bool,
    written: usize,
    /// When this pass began, and when the last one ended.
    began: u64,
    ended: u64,
    /// How many milliseconds the rest after it takes.
    rest: u64,
}

impl Walk {
    /// Starts at the beginning. `addresses`: whether the reader may see them.
    pub(crate) fn new(form: Form, only: Option<Arc<State>>, addresses: bool) -> Result<Self> {
        let now = clock::mono();
        Ok(Self {
            form,
            only,
            step: Step::Head,
            out: Sections::new(form, addresses)?,
            task: 0,
            components: KVVec::new(),
            next_id: 0,
            first: true,
            written: 0,
            began: now,
            ended: now,
            rest: REST_MS,
        })
    }

    /// Chooses what is read; see [`Sections::choose`].
    #[cfg(CONFIG_BLOG_PARTS)]
    pub(crate) fn choose(&mut self, chosen: KBox<dyn super::choice::Choice>) -> Result {
        self.out.choose(chosen)
    }

    /// Whether all was read that there will ever be.
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

    /// For how many milliseconds a reader should wait: between two passes, after one that has given
    /// little.
    pub(super) fn rests(&self) -> Option<u32> {
        let idle = matches!(self.step, Step::Idle) && !self.has_data();
        if !idle || self.written >= BATCH || self.ending() {
            return None;
        }
        let left = self.rest.saturating_sub(clock::millis_since(self.ended));
        u32::try_from(left).ok().filter(|ms| *ms > 0)
    }

    /// Whether the only component is gone, so that there will be no news.
    fn ending(&self) -> bool {
        self.only.is_some() && self.components.iter().all(|watched| watched.removed)
    }

    /// A component, of which nothing was read. Its id in this file is greater than those before.
    fn watch(&mut self, state: Arc<State>, history: bool) -> ComponentWalk {
        self.next_id += 1;
        ComponentWalk::new(self.form, state, self.next_id - 1, history)
    }

    /// Starts a pass: which components there are.
    fn start_pass(&mut self) -> Result<Step> {
        self.written = 0;
        self.began = clock::mono();
        if !self.first {
            worker::LOOKS.fetch_add(1, Relaxed);
        }
        let only = self.only.clone();
        let all = only.is_none().then(registry::components);
        // `chain` alone may be that of `pin_init::Init`, too.
        for state in Iterator::chain(only.into_iter(), all.into_iter().flatten()) {
            #[cfg(CONFIG_BLOG_PARTS)]
            if !self.out.selection.choice().has_component(state.name()) {
                continue;
            }
            let mut known = self.components.iter();
            if !known.any(|known| Arc::ptr_eq(&known.state, &state)) {
                let new = self.watch(state, self.first);
                self.components.push(new, GFP_KERNEL)?;
            }
        }
        for watched in &mut self.components {
            watched.removed = watched.state.is_gone();
        }
        Ok(Step::Images)
    }

    /// Ends a pass.
    fn end_pass(&mut self) -> Step {
        self.first = false;
        self.ended = clock::mono();
        let dry = self.written == 0;
        if dry {
            let took = clock::millis_since(self.began);
            self.rest = took.saturating_mul(PART).clamp(REST_MS, MAX_REST_MS);
        }
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

    /// Makes the next sections, or none if there is nothing to say.
    fn advance(&mut self) -> Result {
        self.step = match self.step {
            Step::Head => {
                self.out.head()?;
                self.start_pass()?
            }
            Step::Images => {
                self.out.images()?;
                match self.form {
                    Form::Snapshot => {
                        #[cfg(CONFIG_BLOG_PARTS)]
                        self.part(false)?;
                        Step::Tasks
                    }
                    Form::Stream => Step::Component(0),
                }
            }
            Step::Tasks => {
                let all = self.only.is_none();
                #[cfg(CONFIG_BLOG_PARTS)]
                let all = all && self.out.selection.choice().has_all_components();
                let slots = self.components.iter().map(|known| known.state.slot());
                let slots = |slot| all || slots.clone().any(|known| u32::from(known) == slot);
                match self.out.tasks(&mut self.task, slots)? {
                    true => Step::Tasks,
                    false => Step::Component(0),
                }
            }
            Step::Component(at) => self.component(at)?,
            Step::Rings(at) => {
                let watched = self.components.get_mut(at);
                match watched.map_or(Ok(false), |watched| watched.rings(&mut self.out))? {
                    true => Step::Rings(at),
                    false => Step::Component(at + 1),
                }
            }
            Step::Late => {
                self.out.images()?;
                match self.form {
                    Form::Snapshot => {
                        #[cfg(CONFIG_BLOG_PARTS)]
                        self.part(true)?;
                        Step::End
                    }
                    Form::Stream => {
                        if self.written != 0 || self.has_data() {
                            clock::tick();
                            self.out.new_clock(false)?;
                        }
                        self.end_pass()
                    }
                }
            }
            Step::Idle => {
                // What comes next may be after a sleep, or by another clock.
                self.out.new_clock(true)?;
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

    /// Has the part write its sections.
    #[cfg(CONFIG_BLOG_PARTS)]
    fn part(&mut self, late: bool) -> Result {
        let is_whole = self.only.is_none() && !self.out.is_chosen();
        match SECTIONS.as_ref().filter(|_| is_whole) {
            Some(sections) => sections(&mut self.out, late),
            None => Ok(()),
        }
    }

    fn component(&mut self, at: usize) -> Result<Step> {
        let parts = self.components.split_at_mut_checked(at);
        let Some((before, [watched, ..])) = parts else {
            return Ok(Step::Late);
        };
        if let (Form::Snapshot, Some(before)) = (self.form, before.last_mut()) {
            watched.take_over(before);
        }
        if watched.start(&mut self.out)? {
            return Ok(Step::Rings(at));
        }
        let state = watched.state.clone();
        let new = self.watch(state, false);
        if let Some(watched) = self.components.get_mut(at) {
            *watched = new;
        }
        Ok(Step::Component(at))
    }

    /// The bytes that come next; none at the end of a pass, and of the file.
    pub(crate) fn peek(&mut self) -> Result<&[u8]> {
        self.peek_until(|| false)
    }

    /// The same; or none yet, if `stop` says so after a part of a pass.
    fn peek_until(&mut self, stop: impl Fn() -> bool) -> Result<&[u8]> {
        while !self.has_data() && !matches!(self.step, Step::Done) {
            let passed = !matches!(self.step, Step::Idle);
            self.advance()?;
            // Where no news will come, nobody shall wait for it between two passes.
            if passed && matches!(self.step, Step::Idle) && !self.ending() || stop() {
                break;
            }
        }
        Ok(self.out.pending())
    }

    pub(crate) fn consume(&mut self, n: usize) {
        self.out.consume(n);
    }

    /// Copies to a reader what there is, as far as it has room and in [`READ_MS`]; returns how
    /// much. After some, an error comes back with the next call.
    ///
    /// 0 after a whole pass, at the end, or when `stop` says so.
    pub(crate) fn read(
        &mut self,
        to: &mut IovIterDest<'_>,
        stop: impl Fn() -> bool,
    ) -> Result<usize> {
        let began = clock::mono();
        // A pass that has begun was past some rings before the call: only a whole one counts.
        let mut passes = match self.step {
            Step::Idle => 1,
            _ => 2,
        };
        let mut done = 0;
        while !to.is_empty() {
            let stop = || stop() || done != 0 && clock::millis_since(began) >= READ_MS;
            let copied = self.peek_until(stop).and_then(|bytes| {
                let n = to.copy_to_iter(bytes);
                (n != 0 || bytes.is_empty()).then_some(n).ok_or(EFAULT)
            });
            match copied {
                Err(e) if done == 0 => return Err(e),
                Err(_) => break,
                Ok(0) if stop() => break,
                Ok(0) => {
                    passes -= 1;
                    if done != 0 || passes == 0 || self.is_last() {
                        break;
                    }
                }
                Ok(n) => {
                    let late = stop();
                    self.consume(n);
                    done += n;
                    if late {
                        break;
                    }
                }
            }
        }
        Ok(done)
    }
}
