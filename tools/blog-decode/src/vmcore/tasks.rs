// SPDX-License-Identifier: GPL-2.0

//! What the tasks that have rings were doing when the machine stopped; and the one in which it
//! crashed.

use std::collections::HashMap;

use super::{
    layout,
    memory::{
        self,
        Memory, //
    },
    problems::Problems,
    table::{
        at_addr,
        Walks, //
    }, //
};
use crate::{
    blogfmt::bytes::{
        array,
        u32_at,
        u64_at,
        u8_at, //
    },
    wire::{
        dump::{
            state_letter,
            Root,
            COMPONENTS,
            NO_FIELD, //
        },
        file::{
            Task,
            TASK_CRASHED,
            TASK_KERNEL,
            TASK_RUNNING, //
        }, //
    }, //
};

const PLACE: &str = "tasks";
/// `PF_KTHREAD`.
const PF_KTHREAD: u32 = 0x0020_0000;

/// All tasks that have rings.
#[derive(Default)]
pub(super) struct Tasks {
    /// The tasks.
    pub(super) list: Vec<Task>,
    /// Index into `list` by address of a ring.
    by_ring: HashMap<u64, usize>,
}

impl Tasks {
    /// Reads them.
    pub(super) fn read(
        memory: &impl Memory,
        root: &Root,
        walks: &Walks,
        problems: &mut Problems,
    ) -> Self {
        let mut this = Self::default();
        if !layout::tls_fits(&root.tls) || !layout::task_fits(&root.task) {
            problems.grave(PLACE, "the layout of tasks is damaged", String::new);
            return this;
        }
        let size = root.tls.size;
        walks.each(
            memory,
            &root.tables,
            size,
            PLACE,
            problems,
            |_, addr, table, problems| this.table(memory, root, addr, table, problems),
        );
        this.add_crashed(root);
        this
    }

    /// Adds the task that the machine crashed in, should it have no ring.
    fn add_crashed(&mut self, root: &Root) {
        let crash = &root.crash;
        if crash.noted != 1 || self.list.iter().any(|t| t.flags & TASK_CRASHED != 0) {
            return;
        }
        self.list.push(Task {
            pid: crash.pid,
            tgid: crash.tgid,
            comm: crash.comm,
            state: b'R',
            flags: TASK_RUNNING | TASK_CRASHED,
            reserved: 0,
            cpu: crash.cpu,
        });
    }

    /// Takes in a task's table of rings.
    fn table(
        &mut self,
        memory: &impl Memory,
        root: &Root,
        addr: u64,
        table: &[u8],
        problems: &mut Problems,
    ) {
        let Some(at) = u64_at(table, root.tls.task as usize).filter(|at| *at != 0) else {
            return;
        };
        let mut raw = vec![0; root.task.size as usize];
        if let Err(e) = memory.read(at, &mut raw) {
            problems.grave(PLACE, "a task can't be read", || at_addr(at, &e));
            return;
        }
        let l = &root.task;
        let has = |offset: u32| (offset != NO_FIELD).then_some(offset as usize);
        // The task says so itself, but for the moment in which it gets or loses its table.
        if has(l.blog_tls).is_some_and(|o| u64_at(&raw, o) != Some(addr)) {
            problems.note(
                false,
                PLACE,
                "a task was just getting or losing its rings",
                || format!("{at:#x}"),
            );
            return;
        }
        let number = |offset: u32| has(offset).and_then(|o| u32_at(&raw, o));
        let (Some(pid), Some(tgid), Some(comm)) =
            (number(l.pid), number(l.tgid), array(&raw, l.comm as usize))
        else {
            return;
        };
        let mut flags = 0;
        if has(l.on_cpu).and_then(|o| u8_at(&raw, o)) == Some(1) {
            flags |= TASK_RUNNING;
        }
        if number(l.flags).is_some_and(|f| f & PF_KTHREAD != 0) {
            flags |= TASK_KERNEL;
        }
        if root.crash.noted == 1 && root.crash.task == at {
            flags |= TASK_CRASHED;
        }
        let state = number(l.state).map(|s| state_letter(s, number(l.exit_state).unwrap_or(0)));
        let mut ring = u64_at(table, root.tls.first as usize).unwrap_or(0);
        for n in 0.. {
            if ring == 0 {
                break;
            }
            let next = memory::word(memory, ring.wrapping_add(root.ring.next.into()));
            let known = self.by_ring.insert(ring, self.list.len());
            let damage = match next {
                _ if n == COMPONENTS || known == Some(self.list.len()) => "they have no end".into(),
                Err(e) => at_addr(ring, &e),
                Ok(next) => {
                    ring = next;
                    continue;
                }
            };
            problems.grave(PLACE, "the rings of a task can't be followed", || {
                format!("pid {}: {damage}", pid as i32)
            });
            break;
        }
        self.list.push(Task {
            pid: pid as i32,
            tgid: tgid as i32,
            comm,
            state: state.unwrap_or(0),
            flags,
            reserved: 0,
            cpu: number(l.cpu).unwrap_or(u32::MAX),
        });
    }

    /// Whose the ring at this address is.
    pub(super) fn owner(&self, ring: u64) -> Option<&Task> {
        self.list.get(*self.by_ring.get(&ring)?)
    }
}
