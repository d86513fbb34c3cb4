// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! `tasks`: what each task did last, to standard output.

use super::{
    args::{Jobs, Tasks},
    print::{has_color, Printer},
    report::{print_all, Failure, Status},
    session::{tell, tell_none, End, Session},
};
use crate::{
    blogfmt::bytes::until_nul,
    boot::{self, Boot},
    calendar::push_local,
    chain::Chain,
    clock::Calibration,
    hang::{length, Branch, Kind, Node},
    output::{
        json::{line, list},
        put,
        text::escape_name,
    },
    snapshot::{text, Snapshot},
    tasks::{collect, Answer, History, Line, State, Wanted},
};

/// Lines of trees that are printed.
const ROWS: usize = 50;
/// Deeper lines are no further to the right.
const DEEP: usize = 16;
/// As much is shown of a message beside a tree, and of what is before it.
const MESSAGE: usize = 60;
const LABEL: usize = 48;

const RED: &str = "\x1b[1;31m";
const YELLOW: &str = "\x1b[33m";
const RESET: &str = "\x1b[0m";

/// Prints tasks.
pub fn tasks(args: &Tasks) -> Result<Status, Failure> {
    let mut session = Session::open(&args.input, &args.filters, false, Jobs::default())?;
    // Lines have them.
    session.tells_losses = false;
    let filter = &mut session.filter;
    let wanted = Wanted {
        states: states(args),
        pids: std::mem::take(&mut filter.pids),
        comms: std::mem::take(&mut filter.comms),
        boots: filter.boots.take(),
        lists: true,
        records: args.records,
    };
    let input = &session.input;
    let mut printer = Printer::beside(&args.look, boot::width(&input.boots));
    let (answers, outcome) =
        collect(&input.captures, &session.filter, &wanted, |entry| printer.kept(entry));
    let End { mut status, is_empty } = match session.filter.is_by_record() {
        true => session.end(&outcome),
        false => End { status: tell(&outcome, &input.tables.searched), is_empty: false },
    };
    let chooses = args.blocked || args.running || wanted.names() || session.filter.chooses();
    let color = has_color(&args.look);
    print_all(|out| {
        for (n, answer) in answers.iter().enumerate() {
            let (file, boot) = (&input.files[answer.file], &input.boots[answer.file]);
            let page = Page { file, boot, answer, color };
            if args.look.json {
                page.json(out);
                continue;
            }
            out.extend_from_slice(if n == 0 { b"" } else { b"\n" });
            page.text(&mut printer, out);
            if answer.wanted().next().is_none() && !chooses && !args.all {
                out.extend_from_slice(b"--all shows all tasks\n");
            }
        }
        Ok(())
    })?;
    let none = answers.iter().all(|answer| answer.wanted().next().is_none());
    if none && chooses {
        if !is_empty {
            let all = answers.iter().map(|answer| answer.states.values().sum::<usize>());
            tell_none(all.sum::<usize>() as u64, "task", "");
        }
        status = status.max(Status::Partial);
    }
    Ok(input.status().max(status))
}

/// States that are asked for.
fn states(args: &Tasks) -> Vec<State> {
    if args.all {
        return State::ALL.to_vec();
    }
    let mut states = Vec::new();
    if args.blocked {
        states.push(State::Blocked);
    }
    if args.running {
        states.push(State::Running);
    }
    if states.is_empty() {
        states = vec![State::Running, State::Blocked, State::Runnable];
    }
    states
}

/// What is printed of a boot.
struct Page<'a> {
    file: &'a Snapshot,
    boot: &'a Boot,
    answer: &'a Answer,
    color: bool,
}

impl Page<'_> {
    fn calibration(&self) -> &Calibration {
        &self.boot.calibration
    }

    /// Nanoseconds from `clock` to the end.
    fn ago(&self, clock: u64) -> i128 {
        let c = self.calibration();
        (c.boot(self.answer.now) - c.boot(clock)).max(0)
    }

    fn count(&self, state: State) -> usize {
        self.answer.states.get(&state).copied().unwrap_or(0)
    }

    fn text(&self, printer: &mut Printer<'_>, out: &mut Vec<u8>) {
        let (c, now) = (self.calibration(), self.answer.now);
        let start = out.len();
        if self.boot.is_one_of_several {
            put(out, format_args!("{} {}, ", self.boot.name, self.boot.release));
        } else if let Some(system) = &self.file.system {
            put(out, format_args!("{} {}, ", text(&system.host), text(&system.release)));
        }
        put(out, format_args!("{} s after boot", seconds(c.boot(now))));
        if c.is_known() {
            out.extend_from_slice(b", ");
            push_local(out, c.real(now), false);
        }
        let counts: Vec<String> = State::ALL
            .into_iter()
            .filter(|state| self.count(*state) != 0)
            .map(|state| format!("{} {}", self.count(state), state.name()))
            .collect();
        let all: usize = self.answer.states.values().sum();
        let tasks = if all == 1 { "task" } else { "tasks" };
        put(out, format_args!(": {all} {tasks} with records"));
        if all != 0 {
            put(out, format_args!(": {}", counts.join(", ")));
        }
        escape_name(out, start);
        out.push(b'\n');
        self.hang(out);
        for history in self.answer.wanted() {
            out.push(b'\n');
            self.task(history, printer, out);
        }
    }

    /// Appends `what`, in a colour if there are any.
    fn put(&self, color: &str, what: &str, out: &mut Vec<u8>) {
        match self.color && !color.is_empty() {
            true => put(out, format_args!("{color}{what}{RESET}")),
            false => out.extend_from_slice(what.as_bytes()),
        }
    }

    /// What is found, and who waits for whom.
    fn hang(&self, out: &mut Vec<u8>) {
        let hang = &self.answer.hang;
        out.extend_from_slice(if hang.findings.is_empty() { b"" } else { b"\n" });
        for finding in &hang.findings {
            let color = match finding.kind {
                Kind::NoneBlocked | Kind::NotKnown => "",
                Kind::Blocked | Kind::HolderUnknown => YELLOW,
                _ => RED,
            };
            self.put(color, &finding.text, out);
            out.push(b'\n');
            for more in &finding.more {
                put(out, format_args!("  {more}\n"));
            }
        }
        let rows = &hang.rows[..hang.rows.len().min(ROWS)];
        if rows.is_empty() {
            return;
        }
        out.push(b'\n');
        let lines = tree(&hang.rows);
        let labels = rows.iter().zip(lines).map(|(row, line)| (line, self.answer.name(row)));
        let labels: Vec<(String, String)> = labels.collect();
        let width = |line: &str| line.chars().count();
        let widest = labels.iter().map(|(line, name)| width(line) + width(name)).max();
        let widest = widest.unwrap_or(0).min(LABEL);
        let edges: Vec<String> = rows.iter().map(|row| self.answer.edge(row)).collect();
        let edge_width = edges.iter().map(|edge| width(edge)).max().unwrap_or(0);
        for (row, ((line, name), edge)) in rows.iter().zip(labels.iter().zip(&edges)) {
            out.extend_from_slice(line.as_bytes());
            let is_top = row.depth == 0 && self.answer.holds(row);
            let color = if is_top { RED } else { YELLOW };
            self.put(color, name, out);
            let left = widest.saturating_sub(width(line) + width(name));
            let Node::Task(i) = row.node else {
                out.push(b'\n');
                continue;
            };
            let history = &self.answer.tasks[i];
            let letter = match history.task.letter {
                0 => '?',
                letter => char::from(letter),
            };
            put(out, format_args!("{:left$}  {letter}", ""));
            if edge_width != 0 {
                put(out, format_args!("  {edge:edge_width$}"));
            }
            match (history.silence, history.last) {
                (Some(ns), _) => put(out, format_args!("  silent {}", length(ns))),
                (None, Some(_)) => out.extend_from_slice(b"  newer records are missing"),
                (None, None) => {}
            }
            if history.last.is_some() {
                let message = String::from_utf8_lossy(&history.message);
                let first = message.lines().next().unwrap_or_default();
                let start = out.len();
                put(out, format_args!(": {}", first.chars().take(MESSAGE).collect::<String>()));
                escape_name(out, start);
                let is_cut = first.chars().count() > MESSAGE || message.lines().count() > 1;
                out.extend_from_slice(if is_cut { " \u{2026}".as_bytes() } else { b"" });
            }
            while out.last() == Some(&b' ') {
                out.pop();
            }
            out.push(b'\n');
        }
        match hang.rows.len() - rows.len() {
            0 => {}
            more => put(out, format_args!("and {more} more\n")),
        }
    }

    fn task(&self, h: &History, printer: &mut Printer<'_>, out: &mut Vec<u8>) {
        let t = &h.task;
        if self.color {
            out.extend_from_slice(b"\x1b[1m");
        }
        let start = out.len();
        out.extend_from_slice(until_nul(&t.comm));
        put(out, format_args!("[{}]", t.pid));
        if t.tgid != t.pid {
            put(out, format_args!(" of {}", t.tgid));
        }
        let letter = char::from(match t.letter {
            0 => b'?',
            letter => letter,
        });
        match (t.state, t.cpu) {
            (State::Running, Some(cpu)) => put(out, format_args!(": running on CPU {cpu}")),
            (State::Exited, _) => {
                let ago = seconds(self.ago(t.exit_clock));
                put(out, format_args!(": exited {ago} s ago"));
            }
            (state, Some(cpu)) => {
                put(out, format_args!(": {} ({letter}), last on CPU {cpu}", state.name()))
            }
            (state, None) => put(out, format_args!(": {} ({letter})", state.name())),
        }
        if t.crashed {
            out.extend_from_slice(b", where the machine crashed");
        }
        match h.last {
            Some(last) => put(out, format_args!(", last record {} s ago", seconds(self.ago(last)))),
            None => out.extend_from_slice(b", no record"),
        }
        if let Some(reach) = h.reach {
            let ago = seconds(self.ago(reach));
            put(out, format_args!(", overwritten up to {ago} s ago"));
        }
        if h.blocks != 0 {
            let tasks = if h.blocks == 1 { "task" } else { "tasks" };
            put(out, format_args!(", blocks {} {tasks}", h.blocks));
        }
        escape_name(out, start);
        if self.color {
            out.extend_from_slice(b"\x1b[0m");
        }
        out.push(b'\n');
        let mut lines: Vec<&Line> = h.records.iter().chain(&h.interrupts).collect();
        lines.sort_by_key(|line| line.clock);
        printer.group([], out);
        for line in lines {
            let ago = seconds(self.ago(line.clock));
            put(out, format_args!("{ago:>14} s ago "));
            printer.put(&line.line, out);
        }
    }

    /// The name of a task that lives.
    fn comm(&self, pid: i32) -> Option<&[u8]> {
        let mut tasks = self.answer.tasks.iter().map(|h| &h.task);
        let task = tasks.find(|t| t.pid == pid && t.exit_clock == 0)?;
        Some(until_nul(&task.comm))
    }

    fn json(&self, out: &mut Vec<u8>) {
        let (c, now) = (self.calibration(), self.answer.now);
        line(out, "tasks", |o| {
            let system = self.file.system.as_ref();
            o.text("release", system.map(|s| text(&s.release)).as_deref());
            o.text("host", system.map(|s| text(&s.host)).as_deref());
            o.text("boot_id", self.boot.id.as_deref());
            o.number("clock", now);
            o.number("boot_ns", c.boot(now));
            o.number("wall_ns", c.real(now));
            o.text("end", self.answer.end.name());
            for state in State::ALL {
                o.number(state.name(), self.count(state) as u64);
            }
            self.answer.hang.json(&self.answer.tasks, o.key("findings"));
        });
        for h in self.answer.wanted() {
            self.json_task(h, out);
        }
    }

    fn json_chain(&self, out: &mut Vec<u8>, chain: &Chain) {
        list(out, &chain.links, |link, o| {
            o.number("pid", link.pid);
            o.text("kind", link.kind_name());
            o.text("lock", format!("{:016x}", link.lock).as_str());
            o.maybe("holder", link.holder);
            let comm = link.holder.and_then(|pid| self.comm(pid));
            o.text("holder_comm", comm.map(|comm| String::from_utf8_lossy(comm)).as_deref());
            o.flag("readers", link.readers);
            o.flag("ended", link.gone);
        });
    }

    fn json_task(&self, h: &History, out: &mut Vec<u8>) {
        let t = &h.task;
        line(out, "task", |o| {
            o.text("boot_id", self.boot.id.as_deref());
            o.number("pid", t.pid);
            o.number("tgid", t.tgid);
            o.text("comm", text(&t.comm).as_str());
            o.text("state", t.state.name());
            let letter = char::from(t.letter).to_string();
            o.text("letter", Some(letter.as_str()).filter(|_| t.letter != 0));
            o.maybe("cpu", t.cpu);
            o.flag("kernel_thread", t.kernel);
            o.flag("crashed", t.crashed);
            o.maybe("silent_ns", h.last.map(|last| self.ago(last)));
            let exited = (t.exit_clock != 0).then(|| self.ago(t.exit_clock));
            o.maybe("exited_ns", exited);
            o.maybe("reach_ns", h.reach.map(|from| self.ago(from)));
            o.number("blocks", h.blocks as u64);
            o.flag("deadlock", t.chain.deadlock);
            self.json_chain(o.key("waits"), &t.chain);
            lines(o.key("records"), &h.records);
            lines(o.key("interrupts"), &h.interrupts);
        });
    }
}

/// The lines that lead to each row of trees: along the left of a ring, and from those above.
fn tree(rows: &[Branch]) -> Vec<String> {
    let mut lines = vec![String::new(); rows.len()];
    // Whether one at this depth follows further below.
    let mut follows: Vec<bool> = Vec::new();
    for (row, line) in rows.iter().zip(&mut lines).rev() {
        let depth = row.depth.min(DEEP);
        follows.resize(depth + 1, false);
        for follows in follows.iter().take(depth).skip(1) {
            *line += if *follows { "\u{2502}  " } else { "   " };
        }
        if depth != 0 {
            *line += if follows[depth] { "\u{251c}\u{2500} " } else { "\u{2514}\u{2500} " };
        }
        follows[depth] = depth != 0;
    }
    let mut rest = lines.as_mut_slice();
    for tree in rows.chunk_by(|a, b| a.tree == b.tree) {
        let (these, others) = rest.split_at_mut(tree.len());
        rest = others;
        let Some(last) = tree.iter().rposition(|row| row.ring) else {
            continue;
        };
        for (n, (row, line)) in tree.iter().zip(these).enumerate() {
            let rail = match n {
                0 if last == 0 => "\u{25b8} ",
                0 => "\u{250c}\u{25b8} ",
                _ if n == last => "\u{2514}\u{2500} ",
                _ if n > last => "   ",
                _ if row.ring => "\u{251c}\u{2500} ",
                _ => "\u{2502}  ",
            };
            line.insert_str(0, rail);
        }
    }
    lines
}

/// Lines, each of which is an object, as a list.
fn lines(out: &mut Vec<u8>, lines: &[Line]) {
    out.push(b'[');
    for (n, line) in lines.iter().enumerate() {
        if n != 0 {
            out.push(b',');
        }
        out.extend_from_slice(line.line.text.trim_ascii_end());
    }
    out.push(b']');
}

/// `12.345678`.
fn seconds(ns: i128) -> String {
    let us = ns.unsigned_abs() / 1000;
    let sign = if ns < 0 { "-" } else { "" };
    format!("{sign}{}.{:06}", us / 1_000_000, us % 1_000_000)
}
