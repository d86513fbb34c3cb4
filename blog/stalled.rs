// SPDX-License-Identifier: GPL-2.0

//! Who logs, and who has stopped: the file `tasks`, and the line after a report of a stuck task.
//!
//! The file is read in process context. [`hint`] is called by the hung-task and the soft-lockup
//! detector, through hook.c: in a kernel thread, or in a timer interrupt of the CPU that is stuck.
//! Neither makes a log call wait.

use kernel::{
    bindings,
    blog::{
        record::Context,
        ring::{
            Info,
            State as RingState, //
        },
        snapshot::{
            Task,
            NAME_MAX,
            TASK_RUNNING, //
        }, //
    },
    fmt,
    page::PAGE_SIZE,
    prelude::*,
    str::BStr, //
};

use crate::{
    clock,
    component::{
        Inner,
        State, //
    },
    glue,
    images::{
        name_bytes,
        name_field, //
    },
    piece,
    registry,
    snapshot::info_of,
    sort::sort_by_key,
    stats::put,
    task, //
};

/// A line of the file.
pub(crate) struct Line {
    slot: u8,
    pub(crate) name: [u8; NAME_MAX],
    ring: u32,
    pub(crate) info: Info,
    /// The task, as long as it has the ring.
    pub(crate) task: Option<Task>,
    /// When it logged last, in the ring's clock; `None`: its pages are gone.
    pub(crate) last: Option<u64>,
    /// Milliseconds since then.
    pub(crate) silent_ms: Option<u64>,
    pub(crate) stalled: bool,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, owner) = (BStr::from_bytes(name_bytes(&self.name)), &self.info.owner);
        let ended = self.info.state == RingState::Retired;
        put!(
            f,
            "{name} ring {} pid {} tgid {} ended {} pages {} records {} lost {}",
            self.ring,
            owner.pid,
            owner.tgid,
            u8::from(ended),
            self.info.pages,
            self.info.records,
            self.info.lost.iter().fold(0u64, |n, m| n.wrapping_add(*m)),
        )?;
        if let Some(task) = &self.task {
            let running = u8::from(task.flags & TASK_RUNNING != 0);
            let state = char::from(task.state);
            f.write_fmt(fmt!(
                " state {state} cpu {} running {running}",
                task.cpu as i32
            ))?;
        }
        if let Some(ms) = self.silent_ms {
            put!(f, " silent_ms {ms}")?;
        }
        let comm = self.task.map_or(owner.comm, |task| task.comm);
        put!(
            f,
            " stalled {} comm {}",
            u8::from(self.stalled),
            BStr::from_bytes(name_bytes(&comm)),
        )
    }
}

/// Lists the rings of tasks in a component.
fn list(state: &State, inner: &Inner, lines: &mut KVVec<Line>) -> Result {
    let Some((memory, owned)) = inner.memory() else {
        return Ok(());
    };
    let writers = task::writers(state.slot())?;

    let first = lines.len();
    for id in 0..owned.rings() {
        let Some(info) = info_of(memory, id) else {
            continue;
        };
        if info.owner.context != Context::Task {
            continue;
        }
        let task = match info.state {
            RingState::Live => writers.binary_search_by_key(&id, |writer| writer.ring).ok(),
            _ => None,
        };
        let line = Line {
            slot: state.slot(),
            name: name_field(state.name().to_bytes()),
            ring: id,
            info,
            task: task
                .and_then(|at| writers.get(at))
                .map(|writer| writer.task),
            last: None,
            silent_ms: None,
            stalled: false,
        };
        lines.push(line, GFP_KERNEL)?;
    }

    // The last record is in the page with the highest position: one look at each page there is.
    let lines = lines.get_mut(first..).unwrap_or(&mut []);
    let mut copy = KVVec::from_elem(0u8, PAGE_SIZE, GFP_KERNEL)?;
    memory.for_each_page(|index, page| {
        let (ring, seq) = (page.ring(), page.seq());
        let Ok(at) = lines.binary_search_by_key(&ring, |line| line.ring) else {
            return;
        };
        let Some(line) = lines.get_mut(at).filter(|line| seq >= line.info.last_seq) else {
            return;
        };
        if seq < line.info.first_seq {
            return;
        }
        let Some(len) = memory.copy(index, seq, &mut copy) else {
            return;
        };
        if piece::ring_of(&copy) == Some(ring) {
            let last = copy.get(..len).and_then(piece::last_time);
            line.last = line.last.max(last);
        }
    });
    Ok(())
}

/// Says which lines are of tasks that have stopped, `limit` ms ago at least.
fn judge(lines: &mut [Line], limit: u64) {
    let (now, hz) = (clock::now(), clock::section().hz.max(1000));
    for line in lines {
        let silent = line.last.map(|last| now.saturating_sub(last) / (hz / 1000));
        line.silent_ms = silent;
        let blocked = line.task.is_some_and(|task| task.state == b'D');
        // What isn't known was long ago.
        line.stalled = blocked && silent.is_none_or(|ms| ms >= limit);
    }
}

/// Lists all rings of tasks; those come first that have stopped, `limit` ms ago at least.
pub(crate) fn collect(limit: u64) -> Result<KVVec<Line>> {
    let (mut lines, mut slot) = (KVVec::new(), 0);
    while let Some(state) = registry::component_from(slot) {
        state.with(|inner| list(&state, inner, &mut lines))?;
        slot = usize::from(state.slot()) + 1;
    }
    judge(&mut lines, limit);
    sort_by_key(&mut lines, |line| (!line.stalled, line.slot, line.ring));
    Ok(lines)
}

/// The file `tasks`: one line for each ring of a task; those that are stalled come first.
pub(crate) fn show_tasks(f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let limit = u64::from(glue::param_stalled_secs()).saturating_mul(1000);
    match collect(limit) {
        Ok(lines) => lines.iter().try_for_each(|line| put!(f, "{line}\n")),
        Err(e) => put!(f, "no memory to list them: {e:?}\n"),
    }
}

/// The file to look into.
const SNAPSHOT: &str = "/sys/kernel/debug/blog/snapshot";

/// Components that a hint names.
const HINTS: usize = 8;

/// What a task has logged to one component.
#[derive(Clone, Copy)]
struct Hint {
    name: [u8; NAME_MAX],
    records: u64,
    held: u32,
}

/// The components that a task has logged to.
pub(crate) struct Hints {
    who: Task,
    list: [Option<Hint>; HINTS],
    more: u32,
}

impl fmt::Display for Hints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (comm, pid) = (BStr::from_bytes(name_bytes(&self.who.comm)), self.who.pid);
        put!(f, "{comm}:{pid} has logged to ")?;
        for (i, hint) in self.list.iter().flatten().enumerate() {
            let (name, comma) = (name_bytes(&hint.name), if i > 0 { ", " } else { "" });
            put!(
                f,
                "{comma}{} ({} records, {} bytes kept)",
                BStr::from_bytes(name),
                hint.records,
                hint.held,
            )?;
        }
        if self.more > 0 {
            put!(f, ", and {} more", self.more)?;
        }
        put!(f, ": blog-decode --pid {pid} {SNAPSHOT}")
    }
}

/// What a task has logged; `None`: nothing.
///
/// # Safety
///
/// `task` is valid. Any context but NMI, and not in a log call.
pub(crate) unsafe fn hints_of(task: *mut bindings::task_struct) -> Option<Hints> {
    let (mut list, mut more) = ([None; HINTS], 0);
    let add = |state: &State, info: &Info| {
        let hint = Hint {
            name: name_field(state.name().to_bytes()),
            records: info.records,
            held: info.held,
        };
        match list.iter_mut().find(|place| place.is_none()) {
            Some(place) => *place = Some(hint),
            None => more += 1,
        }
    };
    // SAFETY: By this function's requirement.
    let who = unsafe { task::for_each_ring_of(task, add) }?;
    list[0].is_some().then_some(Hints { who, list, more })
}

/// Says in one line what a task that is stuck has logged, if it has, and how to read it.
///
/// # Safety
///
/// As for [`hints_of`].
unsafe extern "C" fn hint(task: *mut bindings::task_struct) {
    if !glue::param_stuck_hint() {
        return;
    }
    // SAFETY: By this function's requirement.
    if let Some(hints) = unsafe { hints_of(task) } {
        pr_warn!("{hints}\n");
    }
}

/// Has [`hint`] called.
pub(crate) fn init() {
    // SAFETY: `stop` ends that before this code goes.
    unsafe { glue::set_stuck_hook(Some(hint)) };
}

/// Ends that; no call runs any more on return.
pub(crate) fn stop() {
    // SAFETY: There is no function.
    unsafe { glue::set_stuck_hook(None) };
}
