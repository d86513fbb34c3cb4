// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! What tasks with rings were doing when the machine stopped; and the task in which it crashed.

use std::collections::{HashMap, HashSet};

use crate::{
    blogfmt::bytes::{array, u32_at, u64_at, u8_at},
    crashed::Crashed,
    layout::{self, RingLayout},
    memory::{self, Fault, Memory},
    problems::Problems,
    table::{at_addr, Walks},
    wire::{
        dump::{state_letter, Root, TaskNote, COMPONENTS, NO_FIELD},
        field::Field,
        file::{
            LockKind, Task, Wait, COMM_LEN, TASK_CRASHED, TASK_HOLDER, TASK_KERNEL, TASK_RUNNING,
            WAIT_GONE, WAIT_LINKS, WAIT_READERS,
        },
    },
};

const PLACE: &str = "tasks";
/// `PF_KTHREAD`.
const PF_KTHREAD: u32 = 0x0020_0000;

/// For how many things in a table a task counts, and each of its rings: they are kept.
const COSTS: u32 = 4;

/// All tasks that have rings.
#[derive(Default)]
pub(super) struct Tasks {
    /// The tasks.
    pub(super) list: Vec<Task>,
    /// Index into `list` by address of a ring.
    by_ring: HashMap<u64, usize>,
    /// The task that crashed.
    crashed: Option<Crashed>,
    /// What was noted of tasks, by their address.
    notes: HashMap<u64, TaskNote>,
    /// What they wait for.
    pub(super) waits: Vec<Wait>,
    /// Their addresses.
    found: HashSet<u64>,
}

impl Tasks {
    /// Reads them.
    pub(super) fn read(
        memory: &impl Memory,
        root: &Root,
        crashed: Option<Crashed>,
        walks: &Walks,
        problems: &mut Problems,
    ) -> Self {
        let crash = &root.crash;
        let noted = (crash.noted == 1).then_some(Crashed { cpu: crash.cpu, task: crash.task });
        let mut this = Self {
            crashed: noted.or(crashed),
            notes: notes(memory, root, problems),
            ..Self::default()
        };
        if !layout::tls_fits(&root.tls) || !layout::task_fits(&root.task) {
            problems.grave(PLACE, "the layout of tasks is damaged", String::new);
            return this;
        }
        let size = root.tls.size;
        walks.each(memory, &root.tables, size, PLACE, problems, |_, addr, table, problems| {
            this.table(memory, root, walks, (addr, table), problems)
        });
        this.add_crashed(memory, root, problems);
        let with_rings: Vec<u64> = this.found.iter().copied().collect();
        for at in with_rings {
            this.chain(memory, root, walks, at, problems);
        }
        this.waits.sort_by_key(|wait| wait.pid);
        this.waits.dedup();
        this
    }

    /// Follows who waits for whom, from the task at this address on. Adds those that have no rings.
    fn chain(
        &mut self,
        memory: &impl Memory,
        root: &Root,
        walks: &Walks,
        mut at: u64,
        problems: &mut Problems,
    ) {
        for _ in 0..WAIT_LINKS {
            if !walks.more(COSTS, PLACE, problems) {
                return;
            }
            let Some((wait, holder)) = self.wait(memory, root, at) else {
                return;
            };
            let new = !self.waits.contains(&wait);
            self.waits.push(wait);
            let Some(holder) = holder.filter(|_| new) else {
                return;
            };
            at = holder;
        }
    }

    /// What the task at this address waits for, and the address of who holds that.
    fn wait(&mut self, memory: &impl Memory, root: &Root, at: u64) -> Option<(Wait, Option<u64>)> {
        let (offset, locks) = (root.task.blocker, &root.locks);
        // A kernel before these fields.
        if offset == NO_FIELD || offset == 0 || (locks.semaphore, locks.rwsem) == (0, 0) {
            return None;
        }
        let blocker = memory::word(memory, at.wrapping_add(offset.into())).ok()?;
        if blocker == 0 {
            return None;
        }
        let (lock, kind) = (blocker & !3, LockKind::from_u32((blocker & 3) as u32 + 1)?);
        let (pid, ..) = name(&self.raw(memory, root, at).ok()?.0, root)?;
        let mut wait = Wait { lock, pid, holder: 0, kind: kind as u32, flags: 0 };
        let owner = match kind {
            LockKind::Mutex => locks.mutex,
            LockKind::Semaphore => locks.semaphore,
            LockKind::RwsemRead | LockKind::RwsemWrite => locks.rwsem,
        };
        let has =
            (owner != NO_FIELD).then(|| memory::word(memory, lock.wrapping_add(owner.into())));
        let Some(Ok(word)) = has else {
            return Some((wait, None));
        };
        if matches!(kind, LockKind::RwsemRead | LockKind::RwsemWrite) && word & 1 != 0 {
            wait.flags |= WAIT_READERS;
        }
        let holder = word & !7;
        if holder == 0 {
            return Some((wait, None));
        }
        let read = self.raw(memory, root, holder).ok();
        let task = read.and_then(|(raw, lacks)| self.made(root, holder, &raw, lacks.is_none()));
        let Some(mut task) = task.filter(|task| task.pid > 0 && !b"XZ".contains(&task.state))
        else {
            wait.flags |= WAIT_GONE;
            return Some((wait, None));
        };
        wait.holder = task.pid;
        if self.found.insert(holder) {
            task.flags |= TASK_HOLDER;
            self.list.push(task);
        }
        Some((wait, Some(holder)))
    }

    /// The task whose fields are in `raw`; `known`: its state is.
    fn made(&self, root: &Root, at: u64, raw: &[u8], known: bool) -> Option<Task> {
        let l = &root.task;
        let has = |offset: u32| (offset != NO_FIELD).then_some(offset as usize);
        let number = |offset: u32| has(offset).and_then(|o| u32_at(raw, o));
        let (pid, tgid, comm) = name(raw, root)?;
        let mut flags = 0;
        if has(l.on_cpu).and_then(|o| u8_at(raw, o)) == Some(1) {
            flags |= TASK_RUNNING;
        }
        if number(l.flags).is_some_and(|f| f & PF_KTHREAD != 0) {
            flags |= TASK_KERNEL;
        }
        if self.crashed.is_some_and(|crashed| crashed.task == at) {
            flags |= TASK_CRASHED;
        }
        let state = number(l.state).map(|s| state_letter(s, number(l.exit_state).unwrap_or(0)));
        Some(Task {
            pid,
            tgid,
            comm,
            state: state.filter(|_| known).unwrap_or(0),
            flags,
            reserved: 0,
            cpu: number(l.cpu).filter(|_| known).unwrap_or(u32::MAX),
        })
    }

    /// Adds the task that the machine crashed in, should it have no ring.
    fn add_crashed(&mut self, memory: &impl Memory, root: &Root, problems: &mut Problems) {
        let Some(crashed) = self.crashed else {
            return;
        };
        if self.list.iter().any(|t| t.flags & TASK_CRASHED != 0) {
            return;
        }
        let (pid, tgid, comm) = match &root.crash {
            crash if crash.noted == 1 => (crash.pid, crash.tgid, crash.comm),
            _ => match self.raw(memory, root, crashed.task) {
                Ok((raw, _)) => name(&raw, root).unwrap_or((-1, -1, [0; COMM_LEN])),
                Err(e) => {
                    let place = || format!("CPU {}, {}", crashed.cpu, at_addr(crashed.task, &e));
                    problems.grave(PLACE, "the task that crashed can't be read", place);
                    return;
                }
            },
        };
        self.list.push(Task {
            pid,
            tgid,
            comm,
            state: b'R',
            flags: TASK_RUNNING | TASK_CRASHED,
            reserved: 0,
            cpu: crashed.cpu,
        });
    }

    /// Takes in a task's table of rings.
    fn table(
        &mut self,
        memory: &impl Memory,
        root: &Root,
        walks: &Walks,
        (addr, table): (u64, &[u8]),
        problems: &mut Problems,
    ) {
        let Some(at) = u64_at(table, root.tls.task as usize).filter(|at| *at != 0) else {
            return;
        };
        if !walks.more(COSTS, PLACE, problems) {
            return;
        }
        let (raw, lacks) = match self.raw(memory, root, at) {
            Ok(raw) => raw,
            Err(e) => {
                problems.grave(PLACE, "a task can't be read", || at_addr(at, &e));
                return;
            }
        };
        let l = &root.task;
        let has = |offset: u32| (offset != NO_FIELD).then_some(offset as usize);
        // The task says so itself, but for the moment in which it gets or loses its table.
        if has(l.blog_tls).is_some_and(|o| u64_at(&raw, o) != Some(addr)) {
            problems.note(false, PLACE, "a task was just getting or losing its rings", || {
                format!("{at:#x}")
            });
            return;
        }
        let Some(task) = self.made(root, at, &raw, lacks.is_none()) else {
            return;
        };
        let pid = task.pid;
        if let Some(e) = &lacks {
            problems.grave(PLACE, "the state of a task can't be read", || {
                format!("pid {pid}, {}", at_addr(at, e))
            });
        }
        let mut ring = u64_at(table, root.tls.first as usize).unwrap_or(0);
        for n in 0.. {
            if ring == 0 || !walks.more(COSTS, PLACE, problems) {
                break;
            }
            let next =
                memory::word(memory, ring.wrapping_add(RingLayout::from_root(root).next.into()));
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
                format!("pid {pid}: {damage}")
            });
            break;
        }
        self.found.insert(at);
        self.list.push(task);
    }

    /// The fields of a task, in their places; and why its state and CPU are not there, if so.
    fn raw(
        &self,
        memory: &impl Memory,
        root: &Root,
        at: u64,
    ) -> Result<(Vec<u8>, Option<Fault>), Fault> {
        let l = &root.task;
        let mut raw = vec![0; l.size as usize];
        let mut lacks = None;
        let fields = layout::task_fields(l);
        for (n, (offset, len)) in fields.into_iter().enumerate() {
            if offset == NO_FIELD {
                continue;
            }
            let to = &mut raw[offset as usize..(offset + len) as usize];
            match memory.read(at.wrapping_add(offset.into()), to) {
                Ok(()) => {}
                // What is noted, too.
                Err(e) if (3..8).contains(&n) => lacks = Some(e),
                Err(e) => return Err(e),
            }
        }
        let Some(note) = self.notes.get(&at).filter(|_| lacks.is_some()) else {
            return Ok((raw, lacks));
        };
        let noted = [note.state, note.exit_state, note.flags, note.on_cpu, note.cpu];
        for ((offset, len), value) in fields[3..8].iter().zip(noted) {
            if *offset != NO_FIELD {
                raw[*offset as usize..][..*len as usize]
                    .copy_from_slice(&value.to_le_bytes()[..*len as usize]);
            }
        }
        Ok((raw, None))
    }

    /// Whose the ring at this address is.
    pub(super) fn owner(&self, ring: u64) -> Option<&Task> {
        self.list.get(*self.by_ring.get(&ring)?)
    }
}

/// Notes that there may be.
const MAX_NOTES: u32 = 1 << 16;

/// What was noted of tasks, by their address.
fn notes(memory: &impl Memory, root: &Root, problems: &mut Problems) -> HashMap<u64, TaskNote> {
    let mut notes = HashMap::new();
    let size = u64::from(root.task_note_size);
    let len = match root.task_notes {
        0 => 0,
        _ => root.task_notes_len.min(MAX_NOTES),
    };
    for n in 0..u64::from(len) {
        let at = root.task_notes.wrapping_add(n * size);
        let mut raw = [0; TaskNote::SIZE];
        let within = raw.len().min(size as usize);
        if let Err(e) = memory.read(at, &mut raw[..within]) {
            problems.grave(PLACE, "notes of tasks can't be read", || at_addr(at, &e));
            break;
        }
        let note = TaskNote::get(&raw);
        notes.insert(note.task, note);
    }
    notes
}

/// Its thread id, process id and name.
fn name(raw: &[u8], root: &Root) -> Option<(i32, i32, [u8; COMM_LEN])> {
    let number = |offset: u32| u32_at(raw, offset as usize).map(|n| n as i32);
    let comm = array(raw, root.task.comm as usize)?;
    Some((number(root.task.pid)?, number(root.task.tgid)?, comm))
}
