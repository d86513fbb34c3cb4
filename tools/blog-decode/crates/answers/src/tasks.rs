// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! What each task did last, the likely culprit first.
//!
//! A snapshot has the states of tasks with rings when it was taken, or when the machine stopped.
//! [`collect`] joins these with the last records of each task. It reads only the ends of the rings
//! in question.
//!
//! # Who comes first
//!
//! 1. The task that was running on the CPU that crashed.
//! 2. Tasks that hold a lock for which others wait, and don't wait for one themselves; and those
//!    that wait for each other. The one first that blocks most others.
//! 3. Tasks that are running or blocked, the one with the oldest last record first: a task that
//!    makes progress logs, a stuck one doesn't. Of two that are alike, the blocked one.
//! 4. Tasks that wait for a CPU, in the same order.
//! 5. All others: sleeping, then ended ones; the latest record first.
//!
//! With each task that is wanted come all who block it.

use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
};

use blog_decode_core::{
    boot::Boot,
    chain::{Chain, Waits},
    decode::{Decoder, Entry, Filter, Outcome},
    merge::{Cause, EventKind, Stream},
    output::text,
    sidetable::SiteMap,
};
use blog_file::{
    record::{Item, Walk},
    snapshot::{run::end_of, Snapshot},
};
use blog_wire::{
    file::{COMM_LEN, TASK_CRASHED, TASK_HOLDER, TASK_KERNEL, TASK_RUNNING},
    record::Context,
};

/// What a task was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// On a CPU.
    Running,
    /// Waits uninterruptibly: D.
    Blocked,
    /// Waits for a CPU: R.
    Runnable,
    /// Waits: S; or for work, as a kernel thread: I.
    Sleeping,
    /// Stopped, traced or parked: T, t, P.
    Stopped,
    /// Has ended, but is still there: X, Z.
    Ending,
    /// Has ended.
    Exited,
    /// Not known: the section with the tasks is lost.
    Unknown,
}

impl State {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Running,
        Self::Blocked,
        Self::Runnable,
        Self::Sleeping,
        Self::Stopped,
        Self::Ending,
        Self::Exited,
        Self::Unknown,
    ];

    /// From the letter that ps shows.
    fn from_letter(letter: u8) -> Self {
        match letter {
            b'R' => Self::Runnable,
            b'D' => Self::Blocked,
            b'S' | b'I' => Self::Sleeping,
            b'T' | b't' | b'P' => Self::Stopped,
            b'X' | b'Z' => Self::Ending,
            _ => Self::Unknown,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Blocked => "blocked",
            Self::Runnable => "runnable",
            Self::Sleeping => "sleeping",
            Self::Stopped => "stopped",
            Self::Ending => "ending",
            Self::Exited => "exited",
            Self::Unknown => "unknown",
        }
    }
}

/// A task.
#[derive(Clone, Debug)]
pub struct Task {
    /// Thread id.
    pub pid: i32,
    /// Process id.
    pub tgid: i32,
    /// Name, NUL padded.
    pub comm: [u8; COMM_LEN],
    /// What it was doing.
    pub state: State,
    /// The same as ps shows it, 0: not known.
    pub letter: u8,
    /// CPU that it ran on, then or before.
    pub cpu: Option<u32>,
    /// It is a kernel thread.
    pub kernel: bool,
    /// The machine crashed on its CPU while it was running.
    pub crashed: bool,
    /// When it ended, in the ring's clock; 0: it lives.
    pub exit_clock: u64,
    /// It has no rings, but holds a lock.
    pub only_holds: bool,
    /// The lock that it waits for, and who blocks it in the end.
    pub chain: Chain,
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Tasks in these states.
    pub states: Vec<State>,
    /// Only these threads or processes; empty is all. They are wanted in any state.
    pub pids: Vec<i32>,
    /// As many records of each component.
    pub records: usize,
}

impl Wanted {
    fn wants(&self, task: &Task) -> bool {
        match self.pids.as_slice() {
            [] => task.crashed || self.states.contains(&task.state),
            pids => pids.contains(&task.pid) || pids.contains(&task.tgid),
        }
    }
}

/// A record, or a loss, in the form that was asked for.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its time.
    pub clock: u64,
    /// It.
    pub line: text::Line,
}

/// A task and its last records.
pub struct History {
    /// The task.
    pub task: Task,
    /// When it logged its last record, if that is there.
    pub last: Option<u64>,
    /// From then on, none of its records has been overwritten; `None`: none ever was.
    pub reach: Option<u64>,
    /// How many tasks wait for locks that it holds, or for others who do.
    pub blocks: usize,
    /// Its last records, the newest last.
    pub records: Vec<Line>,
    /// Of a running task: the last records of interrupts on its CPU.
    pub interrupts: Vec<Line>,
}

impl History {
    /// Whether it blocks others and waits for nobody else, or for itself in the end.
    fn is_culprit(&self) -> bool {
        let chain = &self.task.chain;
        let waits_for_itself = chain.links.iter().any(|link| link.holder == Some(self.task.pid));
        self.blocks != 0 && (chain.links.is_empty() || waits_for_itself)
    }
}

/// All tasks.
pub struct Histories {
    /// Those that were asked for, the likely culprit first.
    pub tasks: Vec<History>,
    /// How many there are in each state, asked for or not.
    pub states: HashMap<State, usize>,
    /// When the snapshot was taken, or the machine stopped.
    pub now: u64,
    /// What could not be decoded, of the records that were looked at.
    pub outcome: Outcome,
}

/// A task by thread id and end.
type Key = (i32, u64);

/// All tasks of a file.
fn tasks_of(file: &Snapshot) -> HashMap<Key, Task> {
    let mut tasks: HashMap<Key, Task> = HashMap::new();
    let waits = Waits::new(&file.waits);
    for t in &file.tasks {
        let holds = t.flags & TASK_HOLDER != 0;
        if holds && tasks.contains_key(&(t.pid, 0)) {
            continue;
        }
        let running = t.flags & TASK_RUNNING != 0;
        let task = Task {
            pid: t.pid,
            tgid: t.tgid,
            comm: t.comm,
            state: match running {
                true => State::Running,
                false => State::from_letter(t.state),
            },
            letter: t.state,
            cpu: (t.cpu != u32::MAX).then_some(t.cpu),
            kernel: t.flags & TASK_KERNEL != 0,
            crashed: t.flags & TASK_CRASHED != 0,
            exit_clock: 0,
            only_holds: holds,
            chain: waits.of(t.pid),
        };
        tasks.insert((t.pid, 0), task);
    }
    // Those that have ended; and all, if the section with the tasks is lost.
    for ring in file.rings.iter().filter_map(|r| r.ring.as_ref()) {
        if ring.context != Context::Task as u8 {
            continue;
        }
        let exit_clock = match ring.retired {
            0 => 0,
            _ => ring.exit_clock.max(1),
        };
        tasks.entry((ring.pid, exit_clock)).or_insert(Task {
            pid: ring.pid,
            tgid: ring.tgid,
            comm: ring.comm,
            state: match exit_clock {
                0 => State::from_letter(ring.task_state),
                _ => State::Exited,
            },
            letter: ring.task_state,
            cpu: None,
            kernel: false,
            crashed: false,
            exit_clock,
            only_holds: false,
            chain: Chain::default(),
        });
    }
    tasks
}

/// Whose a ring is.
fn owner(stream: &Stream) -> Option<Key> {
    let ring = stream.ring()?;
    (ring.context == Context::Task as u8).then_some(match ring.retired {
        0 => (ring.pid, 0),
        _ => (ring.pid, ring.exit_clock.max(1)),
    })
}

/// From when on a ring has all its records, by the ordinals of its pages. `None`: it has all.
fn reach(stream: &Stream) -> Option<u64> {
    let (mut expected, mut from) = (stream.from, None);
    for (_, run) in stream.runs() {
        if run.first.first > expected {
            from = Some(run.first.base.max(stream.cleared().unwrap_or(0)));
        }
        expected = end_of(&run.last);
    }
    // What is missing at the end may have been logged until now.
    let is_short = stream.ring().is_some_and(|r| r.records > expected);
    from.max(is_short.then_some(u64::MAX))
}

/// Leaves of a ring its last `records` records.
fn cut(stream: &mut Stream, files: &[Snapshot], records: usize) {
    let mut left = records as u64;
    let runs = stream.runs_mut();
    let mut from = runs.len();
    while from > 0 && left > 0 {
        from -= 1;
        let (file, run) = &mut runs[from];
        let until = end_of(&run.last).saturating_sub(left);
        left = left.saturating_sub(run.records());
        if left == 0 {
            // It has some for each page that is left.
            *run = run.skip(&files[*file], |p| end_of(p) <= until).unwrap_or(*run);
        }
    }
    // Of a page that another file has more of, or that is in pieces, all pieces are needed; they
    // are few.
    runs.drain(..from);
    if let Some(first) = runs.first().map(|(_, run)| run.first.first) {
        stream.from = stream.from.max(first);
    }
}

/// Lines of one task or interrupt context, by component.
#[derive(Default)]
struct Lines {
    last: Option<u64>,
    /// The name that the last record's task had.
    comm: Option<[u8; COMM_LEN]>,
    by_component: HashMap<Arc<str>, VecDeque<Line>>,
}

impl Lines {
    fn push(&mut self, entry: &Entry<'_>, most: usize, line: text::Line) {
        if entry.is_record() {
            self.last = self.last.max(Some(entry.clock()));
            self.comm = entry.task().map(|t| t.comm);
        }
        let lines = match self.by_component.get_mut(&entry.stream.component) {
            Some(lines) => lines,
            None => self.by_component.entry(entry.stream.component.clone()).or_default(),
        };
        lines.push_back(Line { clock: entry.clock(), line });
        if lines.len() > most {
            lines.pop_front();
        }
    }

    /// All lines in the order of time.
    fn sorted(self) -> Vec<Line> {
        let mut lines: Vec<Line> = self.by_component.into_values().flatten().collect();
        lines.sort_by_key(|line| line.clock);
        lines
    }
}

/// Joins tasks and their last records. `streams` are all rings of `file`, of components that are
/// asked for; `keep` makes a line of an entry.
pub fn collect(
    file: &[Snapshot; 1],
    mut streams: Vec<Stream>,
    (boots, maps): (&[Boot], &[SiteMap]),
    wanted: &Wanted,
    mut keep: impl FnMut(&Entry<'_>) -> text::Line,
) -> Histories {
    let tasks = tasks_of(&file[0]);
    let mut states = HashMap::new();
    for task in tasks.values().filter(|task| !task.only_holds) {
        *states.entry(task.state).or_insert(0) += 1;
    }
    let mut blocks: HashMap<i32, usize> = HashMap::new();
    let mut blockers: HashSet<i32> = HashSet::new();
    for task in tasks.values() {
        let holders = task.chain.links.iter().filter_map(|link| link.holder);
        let holders: HashSet<i32> = holders.filter(|pid| *pid != task.pid).collect();
        if wanted.wants(task) {
            blockers.extend(&holders);
        }
        for holder in holders {
            *blocks.entry(holder).or_default() += 1;
        }
    }
    let wants = |t: &Task| wanted.wants(t) || t.exit_clock == 0 && blockers.contains(&t.pid);
    let cpus: Vec<u32> = tasks
        .values()
        .filter(|t| t.state == State::Running && wants(t))
        .filter_map(|t| t.cpu)
        .collect();
    let is_wanted = |key: &Key| tasks.get(key).is_some_and(wants);
    streams.retain(|stream| match (owner(stream), stream.cpu()) {
        (Some(key), _) => is_wanted(&key),
        (None, Some(cpu)) => cpus.contains(&cpu),
        // Anyone's.
        (None, None) => true,
    });
    let mut reaches: HashMap<Key, Option<u64>> = HashMap::new();
    for stream in &mut streams {
        if let Some(key) = owner(stream) {
            let of_task = reaches.entry(key).or_default();
            *of_task = reach(stream).max(*of_task);
        }
        if stream.shared().is_none() {
            cut(stream, file, wanted.records);
        }
    }

    let mut of_tasks: HashMap<Key, Lines> = HashMap::new();
    let mut of_cpus: HashMap<u32, Lines> = HashMap::new();
    let taken = boots.first().and_then(|b| b.calibration.taken());
    let now = taken.map_or_else(|| last_record(&file[0]), |pair| pair.clock);
    let filter = Filter::default();
    let mut decoder = Decoder::new(file, &streams, boots, maps, &filter);
    let result = decoder.run(|entry| {
        // That a ring has overwritten its oldest records is no news.
        let kind = &entry.event.kind;
        if let EventKind::Loss { cause: Cause::Overwritten | Cause::Elsewhere, .. } = kind {
            return Ok::<_, std::convert::Infallible>(());
        }
        let by_task = owner(entry.stream).or_else(|| {
            // In a shared ring, only a task that lives can be known by its number.
            let key = (entry.task()?.pid, 0);
            is_wanted(&key).then_some(key)
        });
        let lines = match (by_task, entry.writer().cpu) {
            (Some(key), _) => of_tasks.entry(key).or_default(),
            (None, Some(cpu)) if cpus.contains(&cpu) => of_cpus.entry(cpu).or_default(),
            _ => return Ok(()),
        };
        lines.push(entry, wanted.records, keep(entry));
        Ok(())
    });
    match result {
        Ok(()) => {}
        Err(never) => match never {},
    }
    let outcome = decoder.outcome();

    let chosen = tasks.into_iter().filter(|(_, task)| wants(task));
    let mut histories: Vec<History> = chosen
        .map(|(key, mut task)| {
            let lines = of_tasks.remove(&key).unwrap_or_default();
            // A ring has its owner's first name.
            let is_current = key.1 == 0 && !file[0].tasks.is_empty();
            task.comm = lines.comm.filter(|_| !is_current).unwrap_or(task.comm);
            let cpu = task.cpu.filter(|_| task.state == State::Running);
            let interrupts = cpu.and_then(|cpu| of_cpus.remove(&cpu));
            let blocked = blocks.get(&task.pid).filter(|_| key.1 == 0);
            History {
                blocks: blocked.copied().unwrap_or(0),
                task,
                last: lines.last,
                reach: reaches.remove(&key).flatten().map(|from| from.min(now)),
                records: lines.sorted(),
                interrupts: interrupts.map(Lines::sorted).unwrap_or_default(),
            }
        })
        .collect();
    histories.sort_by_key(|h| rank(h, now));
    Histories { tasks: histories, states, now, outcome }
}

/// When the last record of all rings was logged: the end of a file that doesn't say when it was
/// taken.
fn last_record(file: &Snapshot) -> u64 {
    let (mut last, mut bytes) = (0, Vec::new());
    for run in file.rings.iter().filter_map(|ring| ring.runs.last()) {
        if file.read_page(&run.last, &mut bytes).is_err() {
            continue;
        }
        let mut walk = Walk::new(&run.last.info(), bytes.len(), file.version);
        while let Some(item) = walk.next(&bytes) {
            if let Item::Record { clock, .. } = item {
                last = last.max(clock);
            }
        }
    }
    last
}

/// What histories are sorted by: see the top of this file.
fn rank(h: &History, now: u64) -> (u8, Reverse<u64>, State, i32, u64) {
    let silence = h.last.map(|last| now.saturating_sub(last));
    let (class, by) = match h.task.state {
        _ if h.task.crashed => (0, 0),
        _ if h.is_culprit() => (1, h.blocks as u64),
        // A task without a record is no more suspicious than one that has just logged.
        State::Running | State::Blocked => (2, silence.unwrap_or(0)),
        State::Runnable => (3, silence.unwrap_or(0)),
        State::Sleeping | State::Stopped | State::Unknown => {
            (4, u64::MAX - silence.unwrap_or(u64::MAX))
        }
        State::Ending | State::Exited => (5, u64::MAX - silence.unwrap_or(u64::MAX)),
    };
    let state = match h.task.state {
        State::Blocked => State::Running,
        State::Running => State::Blocked,
        other => other,
    };
    (class, Reverse(by), state, h.task.pid, h.task.exit_clock)
}
