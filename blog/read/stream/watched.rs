// SPDX-License-Identifier: GPL-2.0

//! A component, as far as it was read.

use kernel::{
    blog::wire::{
        file as format,
        record::Lost, //
    },
    prelude::*,
    sync::Arc, //
};

use crate::{
    memory::pool::Store,
    read::{
        sections::{
            component_section,
            Plain,
            Sections, //
        },
        stream::seen::{
            At,
            Seen,
            Turn, //
        }, //
    },
    registry::state::{
        Inner,
        Loose,
        State, //
    }, //
};

/// Rings that are looked at before the component's lock is given to others for a moment.
const RINGS: u32 = 1024;

/// A component that is being read.
pub(super) struct Watched {
    pub(super) state: Arc<State>,
    /// Its id in this file.
    id: u32,
    /// [`Inner::generation`] when it was first looked at.
    generation: u64,
    /// Whether this is the first pass of the stream: what is missing now is nobody's fault.
    pub(super) history: bool,
    /// It isn't in the registry any more.
    pub(super) removed: bool,
    /// Its section as it was written.
    section: Option<format::Component>,
    /// When the component was cleared last before the stream began.
    cleared: u64,
    /// Counts that belonged to no ring when the stream began, as they were shown.
    shown: Loose,
    /// Counts that belong to no ring, at the start of this pass.
    now: Loose,
    /// What of those this stream told otherwise: those from before it began, and what was read of
    /// rings that have another owner now. And what was read of those that have none now.
    told: Loose,
    free: Loose,
    /// By ring id.
    pub(super) rings: KVVec<Seen>,
    /// The ring that the pass is at.
    next: u32,
    turn: Option<Turn>,
}

impl Watched {
    pub(super) fn new(state: Arc<State>, id: u32, history: bool) -> Self {
        Self {
            state,
            id,
            generation: 0,
            history,
            removed: false,
            section: None,
            cleared: 0,
            told: Loose::default(),
            shown: Loose::default(),
            now: Loose::default(),
            free: Loose::default(),
            rings: KVVec::new(),
            next: 0,
            turn: None,
        }
    }

    /// Starts a pass; writes the component's section if it is new. False: its memory was freed, so
    /// that all it has is new.
    pub(super) fn start(&mut self, inner: &mut Inner, out: &mut Sections) -> Result<bool> {
        self.next = 0;
        self.turn = None;
        self.free = Loose::default();
        self.now = self.state.loose(inner);
        if self.section.is_none() {
            self.generation = inner.generation;
            self.cleared = inner.cleared;
            if self.history {
                self.told = self.now;
                self.shown = self.now;
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
    pub(super) fn component(&mut self, inner: &Inner, out: &mut Sections) -> Result {
        // What happened since, but for what is told with rings.
        let since = self.now.sub(&self.told).sub(&self.free);
        let mut loose = self.shown;
        loose.add(0, &since.lost);
        // What rings had taken that are gone, and was not read: it never will be.
        let lag = &mut loose.lost[Lost::ReaderLag as usize];
        *lag = lag.wrapping_add(since.records);
        let mut section = component_section(self.id, &self.state, inner, &loose);
        // What the stream had before a later clear stays.
        section.cleared = self.cleared;
        let known = self.section.as_ref();
        if known.is_some_and(|known| known.as_bytes() == section.as_bytes()) {
            return Ok(());
        }
        out.component(&section)?;
        self.section = Some(section);
        Ok(())
    }

    /// Goes on in the pass, up to the next section. False: all rings were looked at.
    pub(super) fn rings(&mut self, inner: &Inner, out: &mut Sections) -> Result<bool> {
        let Some(memory) = inner.memory() else {
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
            let at = At {
                component: self.id,
                ring: id,
                memory,
                history: self.history,
            };
            if at.step(seen, &mut self.turn, &mut self.told, &mut self.free, out)? {
                return Ok(true);
            }
            self.turn = None;
            self.next += 1;
        }
        Ok(true)
    }
}

/// Rings that a component has.
pub(super) fn rings_of(inner: &Inner) -> usize {
    inner.memory().map_or(0, |memory| memory.store.rings()) as usize
}
