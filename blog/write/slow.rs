// SPDX-License-Identifier: GPL-2.0

//! The slow path of a log call: a driver's code calls it if it has no ring yet, or no room in its
//! page, or interrupts itself.
//!
//! Runs wherever drivers log: in tasks, softirqs, hard interrupts and NMIs, with any locks held,
//! inside the allocator or the scheduler. So nothing here locks, waits, wakes, allocates or calls
//! anything of the kernel that can be traced. It uses only the pool, and tables that were made
//! before or that it makes of the pool's pages. A context that gets no ring of its own, or that is
//! in the middle of a record already, writes to one of the component's shared rings. If these have
//! no room either, the record counts as lost.

use core::ops::Range;
use kernel::blog::{
    no_ring,
    ring::{
        Mode,
        Owner,
        Reservation,
        Ring,
        Writing, //
    },
    task,
    wire::record::{
        Context,
        Lost,
        TASK_SIZE, //
    },
    RawComponent, //
};

use crate::{
    clock,
    memory::{
        pool::{
            PagesOf,
            Store,
            WARN_RINGS, //
        },
        Memory, //
    },
    registry::state::State,
    sys::prelude::*,
    tasks,
    write::tables, //
};

/// How many shared rings a log call tries before it gives up. They are only taken while somebody
/// is writing into them, so this is for those who were preempted in there.
const SHARED_TRIES: u32 = 4;

/// Finds where a record goes: see `kernel::blog::call::abi`.
///
/// # Safety
///
/// As there.
#[no_mangle]
pub(crate) unsafe extern "C" fn blog_reserve<'a>(
    raw: &RawComponent,
    begun: Option<Writing<'a>>,
    bytes: u32,
    ts: u64,
) -> Reservation<'a> {
    // SAFETY: The caller is a log call.
    let (state, memory) = unsafe {
        let state = state_of(raw);
        (state, state.and_then(|state| state.live_memory()))
    };
    let (state, memory) = match (state, memory) {
        (Some(state), Some(memory)) => (state, memory),
        (Some(state), None) => {
            let is_off = raw.threshold() == 0;
            let cause = if is_off { Lost::Disabled } else { Lost::NoRing };
            state.count_lost(cause, 1);
            return Reservation::NONE;
        }
        // It stands in for an instance that could not be made, and is off.
        (None, _) => return Reservation::NONE,
    };
    let call = Call {
        state,
        memory,
        bytes,
        // ORDERING: `live_memory()` has acquired what was stored before the component was switched
        // on, and so its way.
        way: raw.way(),
        frozen: state.is_frozen(),
        here: tasks::here(),
    };

    if begun.is_none() && ts == Reservation::WARNS {
        if let Some(reservation) = call.reserve_warn() {
            return reservation;
        }
    }
    let ts = begun.as_ref().map_or(0, |_| ts);
    let own = (begun.as_ref().map(Writing::ring)).or_else(|| call.ring());
    let begun = begun.or_else(|| {
        // SAFETY: It is the ring of this context.
        own.and_then(|own| unsafe { own.begin(|| own.slot()) })
    });
    let cause = match begun {
        Some(writing) => match call.reserve_own(writing, ts) {
            Ok(found) => return found,
            Err(cause) => cause,
        },
        None if own.is_some() => Lost::Nested,
        None if call.frozen => Lost::Frozen,
        None => Lost::NoRing,
    };
    // A ring that is full in discard mode has what it is meant to have.
    if cause != Lost::Full {
        if let Some(reservation) = call.reserve_shared() {
            return reservation;
        }
    }
    match own {
        Some(own) => own.count_lost(cause, 1),
        None => call.state.count_lost(cause, 1),
    }
    Reservation::NONE
}

/// The state of a component.
///
/// # Safety
///
/// The caller is a log call to it, for as long as it uses the result.
pub(super) unsafe fn state_of<'a>(raw: &RawComponent) -> Option<&'a State> {
    // SAFETY: It was stored before the component was switched on, and stays valid while anybody
    // can log to that.
    unsafe { raw.switch().state.load(Acquire).cast::<State>().as_ref() }
}

struct Call<'a> {
    state: &'a State,
    memory: &'a Memory,
    bytes: u32,
    /// Of the component, in tables of tasks.
    way: usize,
    /// The machine has crashed, or somebody wants it: old records stay, and new ones go where
    /// there is room.
    frozen: bool,
    /// The kind of context, and the CPU, which may have become another one meanwhile.
    here: (Context, u32),
}

impl<'a> Call<'a> {
    /// A reservation in the calling context's own ring, in which the record has begun, at `ts` if
    /// that isn't 0. An error isn't counted yet.
    fn reserve_own<'b>(&self, writing: Writing<'b>, ts: u64) -> Result<Reservation<'b>, Lost> {
        let ts = match ts {
            0 => writing.not_before_last(clock::now()),
            read => clock::still(read),
        };
        if !writing.has_room(self.bytes, ts) {
            let (mode, max) = (self.mode(), self.state.max_pages());
            let renamed = writing.ring().is_renamed().then(|| self.caller());
            let bytes = self.bytes + renamed.map_or(0, |_| TASK_SIZE);
            // SAFETY: The ring is one of this memory, whose pool has all of its pages.
            let turned = unsafe { writing.turn(&self.pages(mode), mode, max, bytes, ts) };
            match turned {
                Err(_) if self.frozen => return Err(Lost::Frozen),
                turned => turned?,
            }
            if let Some(who) = renamed {
                writing.write_task(&who, ts);
            }
        }
        let writing = Some(writing);
        Ok(Reservation { writing, ts })
    }

    /// A reservation in one of the component's shared rings.
    fn reserve_shared(&self) -> Option<Reservation<'a>> {
        let max = self.memory.max_shared(self.state.max_pages());
        self.reserve_in(WARN_RINGS..self.memory.shared_rings(), false, |_| max)
    }

    /// A reservation in what is for warnings and errors only, if there is a share of these.
    fn reserve_warn(&self) -> Option<Reservation<'a>> {
        self.reserve_in(0..WARN_RINGS, true, |id| self.memory.pool.warn_pages(id))
    }

    /// A reservation in one of these shared rings, of which each may hold so many pages, and has a
    /// right to them if they are its `share`; 0: it isn't used.
    fn reserve_in(
        &self,
        rings: Range<u32>,
        share: bool,
        max: impl Fn(u32) -> u32,
    ) -> Option<Reservation<'a>> {
        let (count, who) = (rings.len() as u32, self.caller());
        (0..count.min(SHARED_TRIES)).find_map(|i| {
            let id = rings.start + who.cpu.wrapping_add(i) % count;
            let max = max(id);
            if max == 0 {
                return None;
            }
            let (ring, last) = self.memory.shared(id)?;
            let mode = self.mode();
            let mut pages = self.pages(mode);
            pages.least = if share { max } else { 0 };
            let who = (&who, last);
            // SAFETY: It is a live shared ring; the pool is the one of all of its pages.
            unsafe { ring.begin_shared(&pages, mode, max, self.bytes, clock::now, who) }
        })
    }

    fn mode(&self) -> Mode {
        if self.frozen {
            return Mode::Discard;
        }
        self.state.mode()
    }

    /// The pool, of a component of which full rings do this.
    fn pages(&self, mode: Mode) -> PagesOf<'_, impl Store> {
        let mut pages = self.memory.pool.pages(self.here.1, steals(mode));
        pages.closed = self.frozen;
        pages
    }

    /// Finds or makes the ring for the calling context.
    fn ring(&self) -> Option<&'a Ring> {
        let (context, cpu) = self.here;
        if context == Context::Task {
            return self.task_ring(cpu);
        }
        let place = self.memory.percpu_ring(cpu, context)?;
        // ORDERING: Acquire, though it was stored by this very context: costs nothing.
        let known = place.load(Acquire);
        // SAFETY: Only rings of this memory are put in.
        let kept = |ring: *mut Ring| unsafe { &*ring };
        if known != no_ring() {
            return Some(kept(known));
        }
        if self.frozen {
            // There would be no page for it.
            return None;
        }
        let keep = |ring| {
            let new = ptr::from_ref::<Ring>(ring).cast_mut();
            // ORDERING: Release: who finds the ring there finds it adopted.
            match place.compare_exchange(no_ring(), new, AcqRel, Acquire) {
                Ok(_) => Ok(()),
                Err(faster) => Err(kept(faster)),
            }
        };
        self.memory
            .ring_for(&self.caller(), cpu, steals(self.mode()), keep)
    }

    /// Finds or makes the ring for the current task, where the fast path finds it next time.
    fn task_ring(&self, cpu: u32) -> Option<&'a Ring> {
        let (task, steal) = (tasks::current(), steals(self.mode()));
        // SAFETY: It is the current task, and this is a log call of it, to this component. What
        // `add` gets is the task's, live, and in no list yet; what `show` gets is in the list.
        unsafe {
            if self.frozen && task::table(task).is_none() {
                // There would be neither a ring nor a page for it.
                return None;
            }
            let table = tables::get(task, self.memory, cpu, steal)?;
            // A task's only ring is in its place.
            let has_others = !table.is_empty();
            let known = has_others.then(|| self.memory.known(table.index));
            if let Some(ring) = known.flatten().filter(|ring| table.has(ring)) {
                table.cache(ring, self.way);
                return Some(ring);
            }
            let found = known.and_then(|_| table.find(self.state.slot().into()));
            let ring = match found {
                Some(ring) => ring,
                // There would be no page for it.
                None if self.frozen => return None,
                None => {
                    let owner = task_owner(u32::MAX);
                    (self.memory).ring_for(&owner, cpu, steal, |ring| table.add(ring))?
                }
            };
            if has_others {
                self.memory.know(table.index, ring);
            }
            table.cache(ring, self.way);
            Some(ring)
        }
    }

    fn caller(&self) -> Owner {
        match self.here {
            (Context::Task, cpu) => task_owner(cpu),
            (context, cpu) => Owner::new(context, cpu),
        }
    }
}

/// Whether other rings give up pages in this mode: what a component keeps that discards is kept
/// from its other rings, too.
fn steals(mode: Mode) -> bool {
    mode == Mode::Overwrite
}

/// The current task as the caller.
fn task_owner(cpu: u32) -> Owner {
    let facts = tasks::current_facts();
    Owner {
        pid: facts.pid,
        tgid: facts.tgid,
        comm: facts.comm(),
        life: (facts.start_time, facts.self_exec_id),
        ..Owner::new(Context::Task, cpu)
    }
}
