// SPDX-License-Identifier: GPL-2.0

//! Who logs, and who has stopped: the file `tasks`. Process context.

use core::mem;
use kernel::{
    blog::{
        ring::{
            Info,
            State as RingState, //
        },
        wire::{
            file::{
                Task,
                NAME_MAX,
                TASK_RUNNING, //
            },
            page::PageInfo,
            record::Context, //
        }, //
    },
    fmt,
    page::PAGE_SIZE,
    prelude::*,
    str::BStr, //
};

use crate::{
    read::{
        piece,
        snapshot::info_of, //
    },
    registry::{
        self,
        names::{
            name_bytes,
            name_field, //
        },
        state::State, //
    },
    sys::{
        clock,
        glue,
        room::{
            fill,
            Room, //
        },
        sort::sort_by_key,
        text::put, //
    },
    write::tables, //
};

/// A line of the file.
pub(crate) struct Line {
    slot: u16,
    pub(crate) name: [u8; NAME_MAX],
    ring: u32,
    pub(crate) info: Info,
    /// The task, as long as it has the ring.
    pub(crate) task: Option<Task>,
    /// When it logged last, in the ring's clock; `None`: its pages are gone.
    pub(crate) last: Option<u64>,
    /// Milliseconds since then, but for those in which the machine slept.
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

/// Lists the rings of tasks in a component; returns its generation.
fn list(state: &State, lines: &mut Room<'_, Line>) -> u64 {
    state.with(|inner| {
        let Some((memory, owned)) = inner.memory() else {
            return inner.generation;
        };
        for id in 0..owned.rings_end() {
            let Some(info) = info_of(memory, id) else {
                continue;
            };
            if info.owner.context == Context::Task {
                lines.push(Line {
                    slot: state.slot(),
                    name: name_field(state.name().to_bytes()),
                    ring: id,
                    info,
                    task: None,
                    last: None,
                    silent_ms: None,
                    stalled: false,
                });
            }
        }
        inner.generation
    })
}

/// Looks for what the tasks of these lines are doing, and when they logged last. `copy` has room
/// for a page.
fn look(state: &State, generation: u64, lines: &mut [Line], copy: &mut [u8]) -> Result {
    let writers = tables::writers(state.slot())?;
    for line in lines.iter_mut() {
        let Ok(at) = writers.binary_search_by_key(&line.ring, |writer| writer.ring) else {
            continue;
        };
        // The ring may have another owner by now.
        let task = writers.get(at).map(|writer| writer.task);
        line.task = task
            .filter(|task| line.info.state == RingState::Live && task.pid == line.info.owner.pid);
    }

    // The last record is in the page with the highest position: one look at each page there is.
    state.with(|inner| {
        let Some((memory, _)) = inner.memory().filter(|_| inner.generation == generation) else {
            return;
        };
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
            let Some(len) = memory.copy(index, seq, copy) else {
                return;
            };
            if PageInfo::read(copy).map(|page| page.ring) == Some(ring) {
                let last = copy.get(..len).and_then(piece::last_time);
                line.last = line.last.max(last);
            }
        });
    });
    Ok(())
}

/// Says which lines are of tasks that have stopped, `limit` ms ago at least.
fn judge(lines: &mut [Line], limit: u64) -> Result {
    let pairs = clock::pairs()?;
    for line in lines {
        let silent = line.last.map(|last| clock::ms_since(&pairs, last));
        line.silent_ms = silent;
        let blocked = line.task.is_some_and(|task| task.state == b'D');
        // What isn't known was long ago.
        line.stalled = blocked && silent.is_none_or(|ms| ms >= limit);
    }
    Ok(())
}

/// Lists all rings of tasks; those come first that have stopped, `limit` ms ago at least.
pub(crate) fn collect(limit: u64) -> Result<KVVec<Line>> {
    let mut all = KVVec::new();
    let mut lines = KVVec::new();
    let mut copy = KVVec::from_elem(0u8, PAGE_SIZE, GFP_KERNEL)?;
    for state in registry::components() {
        let generation = fill(&mut lines, |room| list(&state, room))?;
        look(&state, generation, &mut lines, &mut copy)?;
        all.reserve(lines.len(), GFP_KERNEL)?;
        for line in mem::take(&mut lines) {
            all.push(line, GFP_KERNEL)?;
        }
    }
    let mut lines = all;
    judge(&mut lines, limit)?;
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
