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
//! With each task that is wanted come all who block it. [`Hang`] says who holds up whom.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    convert::Infallible,
    sync::Arc,
};

use blog_decode_core::{
    boot::Boot,
    captures::Captures,
    chain::{Chain, Link, Waits},
    decode::{Decoder, Entry, Filter, Outcome},
    filter::matches_glob,
    merge::{Cause, EventKind, Stream},
    output::{
        json::{list, Object},
        text,
    },
};
use blog_file::{
    record::{Item, Walk},
    snapshot::{run::end_of, Snapshot},
};
use blog_table::bytes::until_nul;
use blog_wire::{
    file::{Wait, COMM_LEN, TASK_CRASHED, TASK_HOLDER, TASK_KERNEL, TASK_RUNNING, WAIT_LINKS},
    record::Context,
};

use crate::hang::{edge, name, Branch, Hang, Node, Sight};

/// Of as many of a task's last records the times are kept.
const MARKS: usize = 50;

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
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Tasks in these states; with blocked ones, those that wait for a lock.
    pub states: Vec<State>,
    /// Only these threads or processes; empty is all. They are wanted in any state.
    pub pids: Vec<i32>,
    /// The same by name, in which `*` matches anything.
    pub comms: Vec<String>,
    /// Only these boots, by their index; `None` is all.
    pub boots: Option<Vec<usize>>,
    /// Whether they are wanted, and not only who holds up whom.
    pub lists: bool,
    /// As many records of each component.
    pub records: usize,
}

impl Wanted {
    /// Whether it names tasks.
    pub fn names(&self) -> bool {
        !self.pids.is_empty() || !self.comms.is_empty()
    }

    fn wants(&self, task: &Task, waits: bool) -> bool {
        if !self.names() {
            let is_blocked = waits && self.states.contains(&State::Blocked);
            return task.crashed || is_blocked || self.states.contains(&task.state);
        }
        let name = until_nul(&task.comm);
        let (pids, comms) = (&self.pids, &self.comms);
        (pids.is_empty() || pids.contains(&task.pid) || pids.contains(&task.tgid))
            && (comms.is_empty() || comms.iter().any(|comm| matches_glob(name, comm)))
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
#[derive(Clone, Debug)]
pub struct History {
    /// The task.
    pub task: Task,
    /// When it logged its last record, of any component, if that is there.
    pub last: Option<u64>,
    /// How long that was before the end, in ns, if none is missing since then.
    pub silence: Option<i128>,
    /// From then on, none of its records has been overwritten; `None`: none ever was.
    pub reach: Option<u64>,
    /// How many tasks wait for locks that it holds, or for others who do.
    pub blocks: usize,
    /// Whether it holds a lock, and nobody has looked what it waits for itself.
    pub is_beyond: bool,
    /// Whether it is one of those that were asked for, or blocks one of them.
    pub is_wanted: bool,
    /// Its last records, the newest last.
    pub records: Vec<Line>,
    /// Of a running task: the last records of interrupts on its CPU.
    pub interrupts: Vec<Line>,
    /// The times of its last records, whether they were asked for or not.
    pub marks: Vec<u64>,
    /// The last message, of any component.
    pub message: Vec<u8>,
}

impl History {
    /// Whether it blocks others and waits for nobody else, or for itself in the end.
    fn is_culprit(&self) -> bool {
        let chain = &self.task.chain;
        let waits_for_itself = chain.links.iter().any(|link| link.holder == Some(self.task.pid));
        self.blocks != 0 && (chain.links.is_empty() || waits_for_itself)
    }
}

/// What a file ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedBy {
    /// Somebody has read it.
    Snapshot,
    /// The machine crashed.
    Crash,
    /// Its boot.
    Boot,
}

impl EndedBy {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Snapshot => "snapshot",
            Self::Crash => "crash",
            Self::Boot => "end of the boot",
        }
    }
}

/// The tasks of a boot.
pub struct Answer {
    /// The file that has their states.
    pub file: usize,
    /// Those that were asked for, and all that the trees have; the likely culprit first.
    pub tasks: Vec<History>,
    /// How many there are in each state, asked for or not.
    pub states: HashMap<State, usize>,
    /// When the file ended.
    pub now: u64,
    /// Why.
    pub end: EndedBy,
    /// Who holds up whom.
    pub hang: Hang,
}

impl Answer {
    /// Those that were asked for.
    pub fn wanted(&self) -> impl Iterator<Item = &History> {
        self.tasks.iter().filter(|history| history.is_wanted)
    }

    /// For which lock a row's task waits; in a ring, also of whom.
    pub fn edge(&self, row: &Branch) -> String {
        let Some(link) = &row.wait else {
            return String::new();
        };
        let holder = |h: &&History| Some(h.task.pid) == link.holder && h.task.exit_clock == 0;
        match self.tasks.iter().find(holder).filter(|_| row.ring) {
            Some(holder) => format!("{} of {}", edge(link), name(holder)),
            None => edge(link),
        }
    }

    /// The name at a row.
    pub fn name(&self, row: &Branch) -> String {
        match row.node {
            Node::Task(i) => name(&self.tasks[i]),
            Node::Ended => "(a task that has ended)".into(),
            Node::Unknown => "(holder not known)".into(),
        }
    }

    /// Whether others wait for what is at a row.
    pub fn holds(&self, row: &Branch) -> bool {
        row.ring || !matches!(row.node, Node::Task(i) if self.tasks[i].blocks == 0)
    }

    /// Writes what a report shows of it: times are in ns before the end, whose own place is that of
    /// `boot`.
    pub fn page(&self, boot: &Boot, out: &mut Vec<u8>) {
        let c = &boot.calibration;
        let ago = |clock: u64| (c.boot(self.now) - c.boot(clock)).max(0);
        let mut o = Object::new(out);
        let host = boot.is_one_of_several.then(|| {
            let mut name = boot.name.clone().into_bytes();
            text::escape_name(&mut name, 0);
            String::from_utf8_lossy(&name).into_owned()
        });
        o.text("host", host.as_deref().unwrap_or_default());
        o.text("end", self.end.name());
        let end = if boot.is_one_of_several { c.real(self.now) } else { c.boot(self.now) };
        o.number("end_s", end.div_euclid(SECOND));
        o.number("end_ns", end.rem_euclid(SECOND));
        self.hang.json(&self.tasks, o.key("findings"));
        o.number("more", self.hang.rows.len().saturating_sub(ROWS) as u64);
        list(o.key("rows"), self.hang.rows.iter().take(ROWS), |row, o| {
            o.text("name", self.name(row).as_str());
            o.number("depth", row.depth as u64);
            o.number("tree", row.tree as u64);
            o.flag("ring", row.ring);
            o.flag("holds", self.holds(row));
            o.text("edge", self.edge(row).as_str());
            let Node::Task(i) = row.node else {
                return;
            };
            let history = &self.tasks[i];
            o.number("pid", history.task.pid);
            o.text("state", history.task.state.name());
            o.text("letter", char::from(history.task.letter.max(b' ')).to_string().as_str());
            o.maybe("silent_ns", history.silence);
            let message = String::from_utf8_lossy(&history.message);
            o.text("message", message.lines().next().unwrap_or_default());
            list(o.key("marks"), history.marks.iter(), |clock, o| o.number("ago_ns", ago(*clock)));
        });
        o.end();
    }
}

/// Rows of trees that a report has.
const ROWS: usize = 200;
const SECOND: i128 = 1_000_000_000;

/// A task by thread id and end.
type Key = (i32, u64);

/// All tasks of a boot: those that are alive in `file`, and the owners of rings.
fn tasks_of(file: &Snapshot, of: usize, streams: &[Stream]) -> HashMap<Key, Task> {
    let mut tasks: HashMap<Key, Task> = HashMap::new();
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
            chain: Chain::default(),
        };
        tasks.insert((t.pid, 0), task);
    }
    // Those that have ended; and all, if the section with the tasks is lost.
    for stream in streams {
        let (Some(ring), Some((pid, exit_clock))) = (stream.ring(), owner(stream)) else {
            continue;
        };
        let is_now = stream.file() == of;
        tasks.entry((pid, exit_clock)).or_insert(Task {
            tgid: ring.tgid,
            comm: ring.comm,
            state: match exit_clock {
                0 if is_now => State::from_letter(ring.task_state),
                0 => State::Unknown,
                _ => State::Exited,
            },
            letter: if is_now { ring.task_state } else { 0 },
            exit_clock,
            ..Task::unknown(pid)
        });
    }
    tasks
}

impl Task {
    /// One of which only the number is known.
    fn unknown(pid: i32) -> Self {
        Self {
            pid,
            tgid: pid,
            comm: [0; COMM_LEN],
            state: State::Unknown,
            letter: 0,
            cpu: None,
            kernel: false,
            crashed: false,
            exit_clock: 0,
            only_holds: false,
            chain: Chain::default(),
        }
    }
}

/// What tasks wait for. Adds those that are missing among the tasks.
fn waits_of(file: &Snapshot, tasks: &mut HashMap<Key, Task>) -> HashMap<i32, Link> {
    let is_awake = |pid: i32| {
        let task = tasks.get(&(pid, 0));
        task.is_some_and(|t| matches!(t.state, State::Running | State::Runnable))
    };
    // Who is awake and has the lock was just given it.
    let has = |wait: &Wait| wait.pid == wait.holder && is_awake(wait.pid);
    let waits: Vec<Wait> = file.waits.iter().filter(|wait| !has(wait)).copied().collect();
    let mut links = HashMap::new();
    for wait in &waits {
        let mut link = Link::of(wait);
        let holder = link.holder.and_then(|pid| tasks.get(&(pid, 0)));
        if holder.is_some_and(|task| task.state == State::Ending) {
            (link.holder, link.gone) = (None, true);
        }
        links.entry(wait.pid).or_insert(link);
    }
    for link in links.values() {
        for pid in [Some(link.pid), link.holder].into_iter().flatten() {
            let missing = Task { only_holds: true, ..Task::unknown(pid) };
            tasks.entry((pid, 0)).or_insert(missing);
        }
    }
    let chains = Waits::new(&waits);
    for pid in links.keys() {
        if let Some(task) = tasks.get_mut(&(*pid, 0)) {
            task.chain = chains.of(*pid);
        }
    }
    links
}

/// The tasks of which it is known whether they wait: the kernel looks so far from each with rings.
fn looked_at(tasks: &HashMap<Key, Task>, links: &HashMap<i32, Link>) -> HashSet<i32> {
    let mut looked = HashSet::new();
    for task in tasks.values().filter(|task| !task.only_holds && task.exit_clock == 0) {
        let mut next = Some(task.pid);
        for _ in 0..WAIT_LINKS {
            let Some(pid) = next else {
                break;
            };
            looked.insert(pid);
            next = links.get(&pid).and_then(|link| link.holder);
        }
    }
    looked
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

/// What there is of one task or interrupt context.
#[derive(Default)]
struct Lines {
    last: Option<u64>,
    /// Until when records are missing.
    lost: u64,
    /// The name that the last record's task had.
    comm: Option<[u8; COMM_LEN]>,
    marks: VecDeque<u64>,
    message: Vec<u8>,
    by_component: HashMap<Arc<str>, VecDeque<Line>>,
}

impl Lines {
    /// Takes in what the task did.
    fn see(&mut self, entry: &Entry<'_>) {
        if let EventKind::Loss { span, .. } = entry.event.kind {
            self.lost = self.lost.max(span.1);
        }
        if !entry.is_record() {
            return;
        }
        self.last = self.last.max(Some(entry.clock()));
        self.comm = entry.task().map(|t| t.comm);
        self.message.clone_from(&entry.message);
        if self.marks.len() == MARKS {
            self.marks.pop_front();
        }
        self.marks.push_back(entry.clock());
    }

    fn push(&mut self, entry: &Entry<'_>, most: usize, line: text::Line) {
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
    fn sorted(&mut self) -> Vec<Line> {
        let by_component = std::mem::take(&mut self.by_component);
        let mut lines: Vec<Line> = by_component.into_values().flatten().collect();
        lines.sort_by_key(|line| line.clock);
        lines
    }
}

/// The lines of tasks, and of interrupts on CPUs.
#[derive(Default)]
struct All {
    of_tasks: HashMap<Key, Lines>,
    of_cpus: HashMap<u32, Lines>,
}

/// Joins the tasks of each boot and their last records that `filter` lets pass; `keep` makes a line
/// of an entry. What could not be decoded, of the records that were looked at, is the second answer.
///
/// `filter` chooses no tasks and no boots: `wanted` does.
pub fn collect(
    captures: &Captures,
    filter: &Filter,
    wanted: &Wanted,
    mut keep: impl FnMut(&Entry<'_>) -> text::Line,
) -> (Vec<Answer>, Outcome) {
    let (files, boots) = (&captures.files, &captures.boots);
    // Without such tasks, nobody holds up others.
    let is_stuck = |file: &Snapshot| {
        let mut tasks = file.tasks.iter();
        !file.waits.is_empty()
            || tasks.any(|t| t.state == b'D' || t.flags & TASK_CRASHED != 0)
            || file.rings.iter().any(|r| r.ring.as_ref().is_some_and(|r| r.task_state == b'D'))
    };
    let mut rings: BTreeMap<usize, Vec<Stream>> = BTreeMap::new();
    if wanted.lists || files.iter().any(is_stuck) {
        for stream in captures.streams(&[]) {
            rings.entry(boots[stream.file()].index).or_default().push(stream);
        }
    }
    let mut latest: BTreeMap<usize, usize> = BTreeMap::new();
    let taken = |i: usize| (!files[i].tasks.is_empty(), files[i].last_pair().map(|p| p.boot));
    for (i, boot) in boots.iter().enumerate() {
        let file = latest.entry(boot.index).or_insert(i);
        if taken(i) > taken(*file) {
            *file = i;
        }
    }
    let mut outcome = Outcome::default();
    let wants_boot = |index: &usize| wanted.boots.as_ref().is_none_or(|all| all.contains(index));
    let latest = latest.into_iter().filter(|(index, _)| wants_boot(index));
    let answers = latest.map(|(index, file)| {
        let streams = rings.remove(&index).unwrap_or_default();
        let mut boot = OfBoot { captures, filter, wanted, file, streams };
        boot.answer(&mut keep, &mut outcome)
    });
    let answers = answers.collect();
    (answers, outcome)
}

/// A boot of which tasks are wanted.
struct OfBoot<'a> {
    captures: &'a Captures,
    filter: &'a Filter,
    wanted: &'a Wanted,
    /// The file that has the states.
    file: usize,
    streams: Vec<Stream>,
}

impl OfBoot<'_> {
    fn answer(
        &mut self,
        keep: &mut impl FnMut(&Entry<'_>) -> text::Line,
        outcome: &mut Outcome,
    ) -> Answer {
        let Self { captures, wanted, .. } = *self;
        let file = &captures.files[self.file];
        let mut tasks = tasks_of(file, self.file, &self.streams);
        let mut states = HashMap::new();
        for task in tasks.values().filter(|task| !task.only_holds) {
            *states.entry(task.state).or_insert(0) += 1;
        }
        let links = waits_of(file, &mut tasks);
        let looked = looked_at(&tasks, &links);
        let waits = |t: &Task| t.exit_clock == 0 && links.contains_key(&t.pid);
        let wants = |t: &Task| wanted.wants(t, waits(t));
        let (mut blocks, mut blockers) = (HashMap::<i32, usize>::new(), HashSet::<i32>::new());
        let mut in_tree: HashSet<i32> = links.keys().copied().collect();
        for task in tasks.values() {
            let holders = task.chain.links.iter().filter_map(|link| link.holder);
            let holders: HashSet<i32> = holders.filter(|pid| *pid != task.pid).collect();
            if wants(task) {
                blockers.extend(&holders);
            }
            in_tree.extend(&holders);
            for holder in holders {
                *blocks.entry(holder).or_default() += 1;
            }
        }
        let is_stuck = |t: &Task| {
            let is_blocked = t.state == State::Blocked || t.crashed;
            t.exit_clock == 0 && (is_blocked || in_tree.contains(&t.pid))
        };
        let is_asked = |t: &Task| wants(t) || t.exit_clock == 0 && blockers.contains(&t.pid);
        let chosen = |t: &Task| is_stuck(t) || wanted.lists && is_asked(t);
        let is_chosen = |key: &Key| tasks.get(key).is_some_and(chosen);
        let cpus: HashSet<u32> = tasks
            .values()
            .filter(|t| t.state == State::Running && wanted.lists && is_asked(t))
            .filter_map(|t| t.cpu)
            .collect();
        self.streams.retain(|stream| match (owner(stream), stream.cpu()) {
            (Some(key), _) => is_chosen(&key),
            (None, Some(cpu)) => cpus.contains(&cpu),
            // Anyone's.
            (None, None) => true,
        });
        let mut reaches: HashMap<Key, Option<u64>> = HashMap::new();
        for stream in &self.streams {
            if let Some(key) = owner(stream) {
                let of_task = reaches.entry(key).or_default();
                *of_task = reach(stream).max(*of_task);
            }
        }
        let mut all = self.read(&is_chosen, &cpus, keep, outcome);

        let calibration = &captures.boots[self.file].calibration;
        let taken = match file.tasks.is_empty() {
            true => calibration.taken(),
            false => file.last_pair().or(calibration.taken()),
        };
        let now = taken.map_or_else(|| last_record(file), |pair| pair.clock);
        let chosen = tasks.iter().filter(|(_, task)| chosen(task));
        let mut histories: Vec<History> = chosen
            .map(|(key, task)| {
                let mut lines = all.of_tasks.remove(key).unwrap_or_default();
                let mut task = task.clone();
                // A ring has its owner's first name.
                let is_current = key.1 == 0 && !file.tasks.is_empty();
                task.comm = lines.comm.filter(|_| !is_current).unwrap_or(task.comm);
                let cpu = task.cpu.filter(|_| task.state == State::Running);
                let interrupts = cpu.and_then(|cpu| all.of_cpus.get_mut(&cpu));
                let blocked = blocks.get(&task.pid).filter(|_| key.1 == 0);
                let reach = reaches.remove(key).flatten().map(|from| from.min(now));
                let last = lines.last;
                let whole_from = lines.lost.max(reach.unwrap_or(0));
                let ago = |clock| (calibration.boot(now) - calibration.boot(clock)).max(0);
                let records = lines.sorted();
                let interrupts = interrupts.map(Lines::sorted).unwrap_or_default();
                // Filters for records leave out those that have none that match.
                let has_some =
                    !self.filter.chooses() || !records.is_empty() || !interrupts.is_empty();
                History {
                    blocks: blocked.copied().unwrap_or(0),
                    is_beyond: task.only_holds && !looked.contains(&task.pid),
                    is_wanted: is_asked(&task) && has_some,
                    last,
                    silence: last.filter(|last| whole_from <= *last).map(ago),
                    reach,
                    records,
                    interrupts,
                    marks: lines.marks.into(),
                    message: lines.message,
                    task,
                }
            })
            .collect();
        histories.sort_by_key(|h| rank(h, now));
        let has_states = states.keys().any(|s| !matches!(s, State::Unknown | State::Exited));
        let sight = Sight { has_states, is_whole: !file.damage.any() };
        let hang = Hang::new(&histories, &links, sight, |h| {
            !wanted.names() || wanted.wants(&h.task, false)
        });
        let end = match file.tasks.iter().any(|t| t.flags & TASK_CRASHED != 0) {
            true => EndedBy::Crash,
            false if file.survived.is_some() => EndedBy::Boot,
            false => EndedBy::Snapshot,
        };
        Answer { file: self.file, tasks: histories, states, now, end, hang }
    }

    /// Reads what the tasks did last, and which of that was asked for.
    fn read(
        &mut self,
        is_chosen: &impl Fn(&Key) -> bool,
        cpus: &HashSet<u32>,
        keep: &mut impl FnMut(&Entry<'_>) -> text::Line,
        outcome: &mut Outcome,
    ) -> All {
        let Self { captures, filter, wanted, streams, .. } = self;
        let (files, boots, maps) = (&captures.files, &captures.boots, &captures.maps);
        let mut all = All::default();
        let mut take = |entry: &Entry<'_>, is_last: bool, is_asked: bool| {
            // That a ring has overwritten its oldest records is no news.
            let kind = &entry.event.kind;
            if let EventKind::Loss { cause: Cause::Overwritten | Cause::Elsewhere, .. } = kind {
                return Ok::<_, Infallible>(());
            }
            // In a shared ring, only a task that lives can be known by its number.
            let by_task = owner(entry.stream).or_else(|| Some((entry.task()?.pid, 0)));
            let lines = match (by_task, entry.writer().cpu) {
                (Some(key), _) if is_chosen(&key) => all.of_tasks.entry(key).or_default(),
                (None, Some(cpu)) if cpus.contains(&cpu) => all.of_cpus.entry(cpu).or_default(),
                _ => return Ok(()),
            };
            if is_last {
                lines.see(entry);
            }
            if is_asked && wanted.lists {
                lines.push(entry, wanted.records, keep(entry));
            }
            Ok(())
        };
        // What a filter lets pass may be anywhere in a ring.
        let by_record = wanted.lists && filter.is_by_record();
        if by_record {
            let some = streams.iter().filter(|s| filter.wants_component(&s.component));
            let mut decoder = Decoder::new(files, some, boots, maps, filter);
            match decoder.run(|entry| take(entry, false, true)) {
                Ok(()) => outcome.append(decoder.outcome()),
                Err(never) => match never {},
            }
        }
        for stream in streams.iter_mut().filter(|stream| stream.shared().is_none()) {
            cut(stream, files, wanted.records.max(MARKS));
        }
        let any = Filter::default();
        let mut decoder = Decoder::new(files, streams.iter(), boots, maps, &any);
        let result = decoder.run(|entry| {
            let is_asked = !by_record && filter.wants_component(&entry.stream.component);
            take(entry, true, is_asked)
        });
        match result {
            Ok(()) if !by_record => outcome.append(decoder.outcome()),
            Ok(()) => {}
            Err(never) => match never {},
        }
        all
    }
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
