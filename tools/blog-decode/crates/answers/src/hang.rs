// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Who holds up whom, and since when: findings in words, the worst first, and the trees of tasks
//! that wait for each other.
//!
//! The kernel knows the owner of a mutex and of an rwsem that a writer has. Of a semaphore it knows
//! the last taker, and of readers one. So an answer differs between those who hold a lock and those
//! who may, and it names nobody where nothing is known.
//!
//! A task began to wait after its last record: it has waited at most as long as it is silent.

use std::{cmp::Reverse, collections::HashMap};

use blog_decode_core::{
    chain::Link,
    output::{json::list, text::escape_name},
};
use blog_file::snapshot::text;
use blog_wire::file::LockKind;

use crate::tasks::{History, State};

/// Names that a finding has at most.
const NAMES: usize = 4;
/// A shorter wait, in ns, may be an ordinary one.
const LONG: i128 = 1_000_000_000;

/// What is at a place of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// A task, by its index.
    Task(usize),
    /// Who held the lock of those below has ended.
    Ended,
    /// Who holds the lock of those below is not known.
    Unknown,
}

/// A line of a tree. Below it, and deeper, are those that wait for it.
#[derive(Clone, Debug)]
pub struct Branch {
    /// What is there.
    pub node: Node,
    /// How deep. Those at 0 wait for nobody, or for the next one of a ring.
    pub depth: usize,
    /// What it waits for.
    pub wait: Option<Link>,
    /// It is one of a ring: it waits for the next one of those, the last one for the first.
    pub ring: bool,
    /// Number of its tree.
    pub tree: usize,
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Tasks wait for each other.
    Deadlock,
    /// They do, if the last takers of their locks still have these.
    PerhapsDeadlock,
    /// A task holds locks for which others wait.
    HoldsUp,
    /// It may.
    MayHoldUp,
    /// Tasks wait for a lock whose holder has ended.
    HolderEnded,
    /// The machine crashed there.
    Crashed,
    /// Tasks wait for a lock whose holder is not known.
    HolderUnknown,
    /// Tasks are blocked, and nobody knows for what they wait.
    Blocked,
    /// No task is blocked.
    NoneBlocked,
    /// The file doesn't have the states of tasks.
    NotKnown,
}

impl Kind {
    /// Its name for programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deadlock => "deadlock",
            Self::PerhapsDeadlock => "perhaps-deadlock",
            Self::HoldsUp => "holds-up",
            Self::MayHoldUp => "may-hold-up",
            Self::HolderEnded => "holder-ended",
            Self::Crashed => "crashed",
            Self::HolderUnknown => "holder-unknown",
            Self::Blocked => "blocked",
            Self::NoneBlocked => "none-blocked",
            Self::NotKnown => "not-known",
        }
    }
}

/// A finding.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What it is.
    pub kind: Kind,
    /// Those who hold up others, or else those who wait, by index.
    pub tasks: Vec<usize>,
    /// How many others wait for them.
    pub held_up: usize,
    /// Of these, those of which that isn't certain.
    pub perhaps: usize,
    /// As long as that has gone on, in ns, at most; `None`: not known.
    pub at_most: Option<i128>,
    /// In words, in one sentence.
    pub text: String,
    /// What else there is to say, in sentences.
    pub more: Vec<String>,
}

/// How much of the machine a file shows.
#[derive(Clone, Copy, Debug)]
pub struct Sight {
    /// It has the states of tasks.
    pub has_states: bool,
    /// None of it is missing.
    pub is_whole: bool,
}

/// The answer.
#[derive(Clone, Debug, Default)]
pub struct Hang {
    /// The worst first; none if it is about others than those that are wanted.
    pub findings: Vec<Finding>,
    /// All trees, that of the worst finding first.
    pub rows: Vec<Branch>,
}

/// Of what those that wait are below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Above {
    Task(usize),
    /// By the lock, or the task itself if that isn't known.
    Ended(u64, i32),
    Unknown(u64, i32),
}

/// What is below a task, or waits for a lock.
#[derive(Clone, Copy, Debug, Default)]
struct Below {
    all: usize,
    certain: usize,
    longest: Option<i128>,
}

#[derive(Debug)]
struct Tree {
    above: Above,
    /// Those that wait for each other, in this order.
    ring: Vec<usize>,
    below: Below,
}

/// What is known while trees are made.
struct Forest<'a> {
    tasks: &'a [History],
    links: &'a HashMap<i32, Link>,
    /// The task that each waits for.
    parents: Vec<Option<usize>>,
    children: HashMap<Above, Vec<usize>>,
    below: HashMap<Above, Below>,
    in_ring: Vec<bool>,
}

impl<'a> Forest<'a> {
    fn new(tasks: &'a [History], links: &'a HashMap<i32, Link>) -> Self {
        let by_pid: HashMap<i32, usize> =
            alive(tasks).map(|(i, history)| (history.task.pid, i)).collect();
        let mut this = Self {
            tasks,
            links,
            parents: vec![None; tasks.len()],
            children: HashMap::new(),
            below: HashMap::new(),
            in_ring: vec![false; tasks.len()],
        };
        for (i, history) in alive(tasks) {
            let Some(link) = links.get(&history.task.pid) else {
                continue;
            };
            let of = if link.lock == 0 { link.pid } else { 0 };
            let holder = link.holder.and_then(|pid| by_pid.get(&pid));
            let above = match holder {
                Some(holder) => Above::Task(*holder),
                None if link.gone => Above::Ended(link.lock, of),
                None => Above::Unknown(link.lock, of),
            };
            this.parents[i] = holder.copied();
            this.children.entry(above).or_default().push(i);
        }
        // Each waits for one lock at most, so who comes back to himself is in a ring.
        let mut seen = vec![0; tasks.len()];
        for start in 0..tasks.len() {
            let mut at = Some(start).filter(|i| seen[*i] == 0);
            while let Some(i) = at.filter(|i| seen[*i] == 0) {
                seen[i] = start + 1;
                at = this.parents[i];
            }
            while let Some(i) = at.filter(|i| seen[*i] == start + 1 && !this.in_ring[*i]) {
                this.in_ring[i] = true;
                at = this.parents[i];
            }
        }
        this
    }

    fn link(&self, task: usize) -> Option<&'a Link> {
        self.links.get(&self.tasks[task].task.pid)
    }

    /// Those that wait for it and are not of its ring.
    fn below(&self, above: Above) -> impl Iterator<Item = usize> + '_ {
        let children = self.children.get(&above).into_iter().flatten().copied();
        children.filter(|i| !self.in_ring[*i])
    }

    fn trees(&mut self) -> Vec<Tree> {
        let mut roots: Vec<Above> = self.children.keys().copied().collect();
        let blocked = alive(self.tasks).filter(|(_, h)| h.task.state == State::Blocked);
        roots.extend(blocked.map(|(i, _)| Above::Task(i)));
        roots.retain(|above| match above {
            Above::Task(i) => self.in_ring[*i] || self.link(*i).is_none(),
            _ => true,
        });
        roots.sort_unstable();
        roots.dedup();
        let (mut trees, mut known) = (Vec::new(), vec![false; self.tasks.len()]);
        for above in roots {
            let mut ring = Vec::new();
            if let Above::Task(start) = above {
                let mut at = Some(start).filter(|i| self.in_ring[*i]);
                while let Some(i) = at.filter(|i| !known[*i]) {
                    known[i] = true;
                    ring.push(i);
                    at = self.parents[i];
                }
                if ring.is_empty() && self.in_ring[start] {
                    continue;
                }
            }
            let tops = if ring.is_empty() { vec![above] } else { Vec::new() };
            let tops = tops.into_iter().chain(ring.iter().map(|i| Above::Task(*i)));
            let mut below = Below::default();
            for top in tops {
                let of = self.sum(top);
                below.all += of.all;
                below.certain += of.certain;
                below.longest = below.longest.max(of.longest);
            }
            trees.push(Tree { above, ring, below });
        }
        trees
    }

    /// Counts all that are below.
    fn sum(&mut self, top: Above) -> Below {
        let (mut order, mut stack) = (Vec::new(), vec![top]);
        while let Some(above) = stack.pop() {
            stack.extend(self.below(above).map(Above::Task));
            order.push(above);
        }
        for above in order.into_iter().rev() {
            let mut sum = Below::default();
            for i in self.below(above) {
                let of = self.below.get(&Above::Task(i)).copied().unwrap_or_default();
                let is_certain = self.link(i).is_some_and(Link::is_certain);
                sum.all += 1 + of.all;
                sum.certain += if is_certain { 1 + of.certain } else { 0 };
                sum.longest = sum.longest.max(self.tasks[i].silence).max(of.longest);
            }
            self.below.insert(above, sum);
        }
        self.below[&top]
    }

    /// Appends a tree's rows.
    fn rows(&self, tree: &Tree, number: usize, rows: &mut Vec<Branch>) {
        let mut stack = match tree.ring.is_empty() {
            true => vec![(tree.above, 0)],
            false => tree.ring.iter().rev().map(|i| (Above::Task(*i), 0)).collect(),
        };
        while let Some((above, depth)) = stack.pop() {
            let (node, wait) = match above {
                Above::Task(i) => (Node::Task(i), self.link(i).cloned()),
                Above::Ended(..) => (Node::Ended, None),
                Above::Unknown(..) => (Node::Unknown, None),
            };
            let ring = matches!(above, Above::Task(i) if self.in_ring[i]);
            rows.push(Branch { node, depth, wait, ring, tree: number });
            let mut below: Vec<usize> = self.below(above).collect();
            let size = |i: &usize| self.below.get(&Above::Task(*i)).map_or(0, |b| b.all);
            below.sort_by_key(|i| (size(i), Reverse(self.tasks[*i].task.pid)));
            stack.extend(below.into_iter().map(|i| (Above::Task(i), depth + 1)));
        }
    }
}

/// Those that live.
fn alive(tasks: &[History]) -> impl Iterator<Item = (usize, &History)> {
    tasks.iter().enumerate().filter(|(_, history)| history.task.exit_clock == 0)
}

impl Hang {
    /// Makes the answer of tasks and what each waits for, by thread id. `wants`: only trees with
    /// such a task.
    pub fn new(
        tasks: &[History],
        links: &HashMap<i32, Link>,
        sight: Sight,
        wants: impl Fn(&History) -> bool,
    ) -> Self {
        let mut forest = Forest::new(tasks, links);
        let trees = forest.trees();
        let is_calm = trees.is_empty();
        let mut found: Vec<(Finding, Option<Tree>)> = Vec::new();
        let mut blocked = Vec::new();
        for tree in trees {
            let mut rows = Vec::new();
            forest.rows(&tree, 0, &mut rows);
            if !rows.iter().any(|row| matches!(row.node, Node::Task(i) if wants(&tasks[i]))) {
                continue;
            }
            match tree.above {
                Above::Task(i) if tree.ring.is_empty() && tree.below.all == 0 => {
                    blocked.push((i, tree));
                }
                _ => found.push((forest.finding(&tree, sight), Some(tree))),
            }
        }
        for (i, history) in tasks.iter().enumerate().filter(|(_, h)| h.task.crashed && wants(h)) {
            let cpu = history.task.cpu.map(|cpu| format!(", on CPU {cpu}")).unwrap_or_default();
            let text = format!("The machine crashed in {}{cpu}", name(history));
            found.push((Finding::new(Kind::Crashed, vec![i], text), None));
        }
        blocked.sort_by_key(|(i, _)| (Reverse(tasks[*i].silence), tasks[*i].task.pid));
        let (waiting, alone): (Vec<usize>, Vec<Tree>) = blocked.into_iter().unzip();
        if !waiting.is_empty() {
            found.push((blocked_finding(tasks, waiting), None));
        }
        found.sort_by_key(|(finding, _)| finding.rank());
        let (mut this, mut trees) = (Self::default(), Vec::new());
        for (finding, tree) in found {
            this.findings.push(finding);
            trees.extend(tree);
        }
        for (n, tree) in trees.iter().chain(&alone).enumerate() {
            forest.rows(tree, n, &mut this.rows);
        }
        // Of a panic, last words have the task alone that crashed.
        if is_calm && !tasks.iter().any(|h| h.task.crashed) {
            this.findings.push(nothing(sight));
        }
        this
    }

    /// Writes the findings as a list.
    pub fn json(&self, tasks: &[History], out: &mut Vec<u8>) {
        list(out, &self.findings, |finding, o| {
            o.text("kind", finding.kind.name());
            o.text("text", finding.text.as_str());
            o.text("more", Some(finding.more.join(" ").as_str()).filter(|more| !more.is_empty()));
            let pids = finding.tasks.iter().map(|task| tasks[*task].task.pid.to_string());
            let pids = pids.collect::<Vec<_>>().join(",");
            o.key("pids").extend_from_slice(format!("[{pids}]").as_bytes());
            o.number("held_up", finding.held_up as u64);
            o.number("perhaps", finding.perhaps as u64);
            o.maybe("at_most_ns", finding.at_most);
        });
    }
}

impl Finding {
    fn new(kind: Kind, tasks: Vec<usize>, text: String) -> Self {
        let more = Vec::new();
        Self { kind, tasks, held_up: 0, perhaps: 0, at_most: None, text, more }
    }

    /// What findings are sorted by.
    fn rank(&self) -> (u8, Reverse<usize>, Reverse<Option<i128>>) {
        // What isn't known may be long.
        let is_long = self.at_most.is_none_or(|ns| ns >= LONG);
        let class = match self.kind {
            Kind::Deadlock => 0,
            Kind::HoldsUp | Kind::HolderEnded if is_long => 1,
            Kind::PerhapsDeadlock | Kind::MayHoldUp if is_long => 2,
            Kind::Crashed => 3,
            Kind::HoldsUp | Kind::HolderEnded => 4,
            Kind::PerhapsDeadlock | Kind::MayHoldUp => 5,
            Kind::HolderUnknown => 6,
            Kind::Blocked => 7,
            Kind::NoneBlocked | Kind::NotKnown => 8,
        };
        (class, Reverse(self.held_up), Reverse(self.at_most))
    }
}

/// Those of which no more is known than that they are blocked.
fn blocked_finding(tasks: &[History], waiting: Vec<usize>) -> Finding {
    let at_most = waiting.iter().map(|i| tasks[*i].silence).max().flatten();
    let (subject, of) = match waiting.as_slice() {
        [task] => (format!("{} is blocked", name(&tasks[*task])), "it waits"),
        all => (format!("{} tasks are blocked", all.len()), "they wait"),
    };
    let text = format!("{subject}{}; no lock is known for which {of}", up_to(at_most));
    let mut more = Vec::new();
    if waiting.len() > 1 {
        more.push(format!("{}.", names(tasks, &waiting)));
    }
    more.push("The last record says what a task was doing.".into());
    Finding { at_most, more, ..Finding::new(Kind::Blocked, waiting, text) }
}

/// That nothing is found.
fn nothing(sight: Sight) -> Finding {
    let (kind, text) = match sight.has_states {
        true => (Kind::NoneBlocked, "No task is blocked"),
        false => (Kind::NotKnown, "Not known who is blocked: this file has no states of tasks"),
    };
    let mut finding = Finding::new(kind, Vec::new(), text.into());
    if sight.has_states && !sight.is_whole {
        finding.more.push("The file is damaged: there may be some that it has lost.".into());
    }
    finding
}

impl Forest<'_> {
    /// What a tree is.
    fn finding(&self, tree: &Tree, sight: Sight) -> Finding {
        let Below { all, certain, longest } = tree.below;
        let mut waiting: Vec<usize> = self.below(tree.above).collect();
        waiting.sort_by_key(|i| self.tasks[*i].task.pid);
        let links = || waiting.iter().filter_map(|i| self.link(*i));
        let lock = match links().next() {
            Some(first) if links().all(|link| link.kind == first.kind) => first.name(),
            Some(_) => "an rwsem",
            None => "a lock",
        };
        let finding = match tree.above {
            Above::Task(_) if !tree.ring.is_empty() => self.of_ring(tree),
            Above::Task(root) => self.of_root(root, tree.below, sight),
            Above::Ended(..) | Above::Unknown(..) => {
                let (kind, whose) = match tree.above {
                    Above::Ended(..) => (Kind::HolderEnded, "whose holder has ended"),
                    _ if links().any(|link| link.readers) => {
                        (Kind::HolderUnknown, "whose readers are not known")
                    }
                    _ => (Kind::HolderUnknown, "whose holder is not known"),
                };
                let one = waiting.first().map(|i| name(&self.tasks[*i])).unwrap_or_default();
                let who = match waiting.len() {
                    1 => format!("{one} waits"),
                    n => format!("{n} tasks wait"),
                };
                let text = format!("{who} for {lock} {whose}{}", up_to(longest));
                let mut finding = Finding::new(kind, waiting.clone(), text);
                if waiting.len() > 1 {
                    finding.more.push(format!("{}.", names(self.tasks, &waiting)));
                }
                finding
            }
        };
        let at_most = finding.at_most.or(longest);
        Finding { held_up: all, perhaps: all - certain, at_most, ..finding }
    }

    fn of_ring(&self, tree: &Tree) -> Finding {
        let ring = &tree.ring;
        let link = |i: &usize| self.link(*i).is_some_and(Link::is_certain);
        // One that runs, or is about to, may be about to get its lock.
        let moves =
            |i: &usize| matches!(self.tasks[*i].task.state, State::Running | State::Runnable);
        let is_certain = ring.iter().all(link) && !ring.iter().any(moves);
        // The last one to wait has closed it.
        let known: Option<Vec<i128>> = ring.iter().map(|i| self.tasks[*i].silence).collect();
        let at_most = known.and_then(|known| known.into_iter().min());
        let all: Vec<String> = ring.iter().take(NAMES).map(|i| name(&self.tasks[*i])).collect();
        let who = match all.as_slice() {
            [one] => match self.link(ring[0]) {
                Some(link) if !link.is_certain() => {
                    format!("{one} waits for {} that it was the last to take", link.name())
                }
                link => {
                    format!("{one} waits for {} that it holds itself", link.map_or("", Link::name))
                }
            },
            [one, other] => format!("{one} \u{21c4} {other}"),
            [first, ..] => {
                let rest = match ring.len() - all.len() {
                    0 => String::new(),
                    more => format!(" \u{2192} {more} more"),
                };
                format!("{}{rest} \u{2192} {first}", all.join(" \u{2192} "))
            }
            [] => String::new(),
        };
        let (kind, what) = match is_certain {
            true => (Kind::Deadlock, "Deadlock"),
            false => (Kind::PerhapsDeadlock, "Perhaps a deadlock"),
        };
        let text = format!("{what}: {who}{}", up_to(at_most));
        let mut more = Vec::new();
        if tree.below.all != 0 {
            let verb = if tree.below.all == 1 { "waits" } else { "wait" };
            more.push(format!("{} {verb} for them.", tasks(tree.below.all, "other ")));
        }
        let semaphore =
            |i: &usize| self.link(*i).is_some_and(|link| link.kind == Some(LockKind::Semaphore));
        if ring.iter().any(semaphore) {
            more.push("Of a semaphore, only the last taker is known: it need not hold it.".into());
        } else if !ring.iter().all(link) {
            more.push("Of several readers, only one is known.".into());
        } else if !is_certain {
            more.push("One of them was not asleep: it may have been about to get its lock.".into());
        }
        Finding { at_most, more, ..Finding::new(kind, ring.clone(), text) }
    }

    fn of_root(&self, root: usize, below: Below, sight: Sight) -> Finding {
        let history = &self.tasks[root];
        let who = name(history);
        let time = up_to(below.longest);
        let (kind, text) = match below.certain {
            0 => (Kind::MayHoldUp, format!("{who} may hold up {}{time}", tasks(below.all, ""))),
            n => (Kind::HoldsUp, format!("{who} holds up {}{time}", tasks(n, ""))),
        };
        let mut more = Vec::new();
        let unsure: Vec<&Link> = self
            .below(Above::Task(root))
            .filter_map(|i| self.link(i))
            .filter(|link| !link.is_certain())
            .collect();
        if below.certain != 0 && below.all > below.certain {
            more.push(format!("It may hold up {} more.", below.all - below.certain));
        }
        if unsure.iter().any(|link| link.kind == Some(LockKind::Semaphore)) {
            more.push("It was the last to take a semaphore, and need not hold it.".into());
        }
        if unsure.iter().any(|link| link.readers) {
            more.push("It was the last reader to take an rwsem; there may be others.".into());
        }
        more.push(match history.task.state {
            State::Running => match history.task.cpu {
                Some(cpu) => format!("It was running on CPU {cpu}."),
                None => "It was running.".into(),
            },
            State::Runnable => "It waited for a CPU.".into(),
            _ if !sight.is_whole || history.is_beyond => "What it waits for is not known.".into(),
            State::Blocked | State::Sleeping if history.last.is_some() => {
                "It waits for no lock that the kernel knows: its last record says where.".into()
            }
            State::Blocked | State::Sleeping => {
                "It waits for no lock that the kernel knows, and has no record.".into()
            }
            State::Stopped => "It is stopped.".into(),
            _ => "What it does is not known.".into(),
        });
        Finding { more, ..Finding::new(kind, vec![root], text) }
    }
}

/// `fio[42]`, in one line.
pub fn name(history: &History) -> String {
    let mut out = text(&history.task.comm).into_bytes();
    escape_name(&mut out, 0);
    format!("{}[{}]", String::from_utf8_lossy(&out), history.task.pid)
}

/// The names of some, if they are many.
fn names(tasks: &[History], of: &[usize]) -> String {
    let some: Vec<String> = of.iter().take(NAMES).map(|i| name(&tasks[*i])).collect();
    match of.len().saturating_sub(NAMES) {
        0 => some.join(", "),
        more => format!("{} and {more} more", some.join(", ")),
    }
}

fn tasks(n: usize, other: &str) -> String {
    format!("{n} {other}{}", if n == 1 { "task" } else { "tasks" })
}

fn up_to(ns: Option<i128>) -> String {
    ns.map(|ns| format!(", for up to {}", length(ns))).unwrap_or_default()
}

/// A length of time in three digits.
pub fn length(ns: i128) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1000, "\u{b5}s")];
    let found = units.into_iter().find(|(size, _)| ns * 10_000 >= 9995 * size);
    let Some((size, unit)) = found else {
        return format!("{ns} ns");
    };
    let digits = match ns * 1000 / size {
        0..9995 => 2,
        9995..99_950 => 1,
        _ => 0,
    };
    let scale = 10_i128.pow(2 - digits);
    let step = size * scale / 100;
    let rounded = (ns + step / 2) / step;
    match digits {
        0 => format!("{rounded} {unit}"),
        1 => format!("{}.{} {unit}", rounded / 10, rounded % 10),
        _ => format!("{}.{:02} {unit}", rounded / 100, rounded % 100),
    }
}

/// What is said of a lock beside the name of a task that waits for it.
pub fn edge(link: &Link) -> String {
    let of = match link.kind {
        Some(LockKind::Mutex) => "mutex",
        Some(LockKind::Semaphore) => "semaphore",
        Some(LockKind::RwsemRead) => "rwsem, to read",
        Some(LockKind::RwsemWrite) => "rwsem, to write",
        None => "lock of an unknown kind",
    };
    match link.kind {
        Some(LockKind::Semaphore) if link.holder.is_some() => format!("{of}, taken last by it"),
        _ if link.readers && link.holder.is_some() => format!("{of}, one of its readers"),
        _ => of.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_three_digits() {
        for (ns, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1000, "1.00 \u{b5}s"),
            (23_449_999, "23.4 ms"),
            (999_400_000, "999 ms"),
            (999_500_000, "1.00 s"),
            (3_719_000_000, "3.72 s"),
            (9_995_000_000, "10.0 s"),
            (99_949_999_999, "99.9 s"),
            (3_661_000_000_000, "3661 s"),
        ] {
            assert_eq!(length(ns), text);
        }
    }
}
