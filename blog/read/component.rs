// SPDX-License-Identifier: GPL-2.0

//! A reader's position in a component.

use kernel::blog::{
    ring::RingState,
    wire::{
        file as format,
        file::Kind, //
    }, //
};

use crate::{
    memory::{
        pool::Store,
        Memory, //
    },
    read::{
        ring::RingWalk,
        sections::{
            Form,
            Sections, //
        }, //
    },
    registry::state::{
        self,
        Locked,
        Loose,
        State, //
    },
    sys::prelude::*,
    write::tables::{
        self,
        Writer, //
    }, //
};

/// Rings that are looked at before the component's lock is given to others for a moment.
pub(super) const RINGS: u32 = 1024;
/// How often a snapshot goes after a ring that has gone round meanwhile.
const RESCANS: u32 = 8;

/// What comes next of the ring that the pass is at.
#[derive(Clone, Copy)]
enum RingStep {
    /// Its section, if need be.
    Section,
    /// Pages, up to the record with this number. So often that may still be moved on.
    Pages(u64, u32),
    Next,
}

pub(super) struct ComponentWalk {
    form: Form,
    pub(super) state: Arc<State>,
    /// Its id in this file.
    id: u32,
    /// [`Locked::generation`] when it was first looked at.
    generation: u64,
    /// Whether this is the first pass: what is missing now is nobody's fault.
    pub(super) history: bool,
    /// It isn't in the registry any more.
    pub(super) removed: bool,
    /// Its section as it was written.
    section: Option<format::ComponentSection>,
    /// When the component was cleared last before the file began.
    cleared: u64,
    /// Counts that belong to no ring, at the start of this pass.
    loose: Loose,
    rings: KVVec<RingWalk>,
    /// For a snapshot: what their tasks were doing.
    tasks: KVVec<Option<Writer>>,
    /// The ring that the pass is at, and what comes next of it.
    next: u32,
    step: RingStep,
    /// At the end of a snapshot: all that is left is to see which rings have changed hands.
    final_pass: bool,
}

impl ComponentWalk {
    pub(super) fn new(form: Form, state: Arc<State>, id: u32, history: bool) -> Self {
        Self {
            form,
            state,
            id,
            generation: 0,
            history,
            removed: false,
            section: None,
            cleared: 0,
            loose: Loose::default(),
            rings: KVVec::new(),
            tasks: KVVec::new(),
            next: 0,
            step: RingStep::Section,
            final_pass: false,
        }
    }

    /// Takes the memory for places over from a component that was read to its end. To free so much
    /// takes long, and is for the end of the file.
    pub(super) fn take_over(&mut self, before: &mut Self) {
        self.rings = mem::take(&mut before.rings);
        self.tasks = mem::take(&mut before.tasks);
        self.rings.clear();
        self.tasks.clear();
    }

    /// Starts a pass; writes the component's section if it is new. False: its memory was freed, so
    /// that all it has is new.
    pub(super) fn start(&mut self, out: &mut Sections) -> Result<bool> {
        let state = self.state.clone();
        state::count(&state);
        let rings = state.read(rings_of);
        let more = rings.saturating_sub(self.rings.len());
        self.rings.reserve(more, GFP_KERNEL)?;
        if self.form == Form::Snapshot {
            self.tasks.resize(rings, None, GFP_KERNEL)?;
            let mut from = 0;
            let slots = |slot| slot == u32::from(state.slot());
            while let Some(writer) = tables::next(&mut from, slots, |_| ()) {
                if let Some(place) = self.tasks.get_mut(writer.ring as usize) {
                    *place = Some(writer);
                }
            }
        }
        state.read(|locked| {
            self.begin(locked);
            if self.section.is_none() {
                self.generation = locked.generation;
                self.cleared = locked.cleared;
                let before = match self.history {
                    true => self.loose,
                    false => Loose::default(),
                };
                self.write(locked, &before, out)?;
            }
            if self.generation != locked.generation {
                return Ok(false);
            }
            // Rings that have come since there was made room are for the next pass.
            while self.rings.len() < rings_of(locked) && self.rings.len() < self.rings.capacity() {
                let _ = self.rings.push_within_capacity(RingWalk::NONE);
            }
            Ok(true)
        })
    }

    /// Begins to go through the rings.
    fn begin(&mut self, locked: &Locked) {
        self.next = 0;
        self.step = RingStep::Section;
        self.loose = self.state.loose(locked);
    }

    /// Goes on in the pass, up to the next section. False: all rings were looked at.
    pub(super) fn rings(&mut self, out: &mut Sections) -> Result<bool> {
        let state = self.state.clone();
        state.read(|locked| {
            let same = self.generation == locked.generation;
            if let Some(memory) = locked.memory().filter(|_| same) {
                for _ in 0..RINGS {
                    if self.next as usize >= self.rings.len() {
                        break;
                    }
                    if self.ring(memory, out)? {
                        return Ok(true);
                    }
                    self.next += 1;
                    self.step = RingStep::Section;
                }
                if (self.next as usize) < self.rings.len() {
                    return Ok(true);
                }
                if self.form == Form::Snapshot && !self.final_pass {
                    self.final_pass = true;
                    self.begin(locked);
                    return Ok(true);
                }
            }
            let loose = self.loose;
            self.write(locked, &loose, out)?;
            Ok(false)
        })
    }

    /// Writes the next section of the ring that the pass is at. False: there is nothing to write
    /// for it in this pass.
    fn ring(&mut self, memory: &Memory, out: &mut Sections) -> Result<bool> {
        let id = self.next;
        let Some(ring) = self.rings.get_mut(id as usize) else {
            return Ok(false);
        };
        let info = memory.info(id);
        let is_over = match &info {
            Some(info) => !ring.is(info),
            // It may be changing hands just now.
            None => memory.is_free(id),
        };
        if is_over && !ring.is_empty() {
            out.section(Kind::Released, &ring.released((self.id, id)))?;
            *ring = RingWalk::NONE;
            self.step = RingStep::Section;
            return Ok(true);
        }
        let Some(info) = info.filter(|_| !self.final_pass) else {
            return Ok(false);
        };
        if ring.is_empty() {
            *ring = RingWalk::of(&info, self.history);
        }
        if ring.is_empty() {
            return Ok(false);
        }
        #[cfg(CONFIG_BLOG_PARTS)]
        if !out.selection.choice().has_owner(&info.owner) {
            // As if it had been read.
            ring.ordinal = info.records;
            return Ok(false);
        }
        if matches!(self.step, RingStep::Section) {
            self.step = RingStep::Pages(info.records, RESCANS);
            if let Some(mut section) = ring.section((self.id, id), &info, self.form) {
                let task = self.tasks.get(id as usize).copied().flatten();
                // The ring may have another owner by now: see `RingWalk::of`.
                let same = |t: &Writer| t.owner == (info.first_seq, info.owner.pid);
                let live = info.state == RingState::Live;
                if let Some(Writer { task, .. }) = task.filter(|t| live && same(t)) {
                    section.task_state = task.state;
                    // A thread that has executed a program has its process's id.
                    (section.pid, section.tgid) = (task.pid, task.tgid);
                }
                out.section(Kind::Ring, &section)?;
                return Ok(true);
            }
        }
        let RingStep::Pages(goal, rescans) = self.step else {
            return Ok(false);
        };
        let (form, mut found) = (self.form, None);
        if ring.ordinal < goal {
            found = out.page((self.id, id), |to| ring.find(memory, id, to))?;
        }
        if let Some(found) = found {
            if ring.take(&found, form) && rescans > 0 {
                // What it wrote since then is all that is left of it.
                self.step = RingStep::Pages(info.records, rescans - 1);
            }
            return Ok(true);
        }
        self.step = RingStep::Next;
        if form == Form::Stream {
            if let Some(section) = ring.section((self.id, id), &info, form) {
                out.section(Kind::Ring, &section)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Writes the component's section, if it says anything that it didn't say before.
    fn write(&mut self, locked: &Locked, loose: &Loose, out: &mut Sections) -> Result {
        // What the file had before a later clear stays.
        let section = self.state.section(locked, self.id, loose, self.cleared);
        let known = self.section.as_ref();
        if known.is_some_and(|known| known.as_bytes() == section.as_bytes()) {
            return Ok(());
        }
        out.section(Kind::Component, &section)?;
        self.section = Some(section);
        Ok(())
    }
}

fn rings_of(locked: &Locked) -> usize {
    locked
        .memory()
        .map_or(0, |memory| memory.pool.store.rings()) as usize
}
