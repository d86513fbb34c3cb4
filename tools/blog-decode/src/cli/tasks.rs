// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! `tasks`: what each task did last, to standard output.

use std::io::Write;

use super::{
    args::Tasks,
    input::Input,
    print::{has_color, Printer},
    report::{print_all, Failure, Status},
    session::{tell, tell_none},
};
use crate::{
    blogfmt::bytes::until_nul,
    calendar::push_local,
    chain::Chain,
    clock::Calibration,
    output::{json::Object, text::escape_name},
    snapshot::{text, Snapshot},
    tasks::{collect, Histories, History, Line, State, Wanted},
};

/// Prints tasks.
pub fn tasks(args: &Tasks) -> Result<Status, Failure> {
    let input = Input::open(&args.input)?;
    let [file] = input.files.as_slice() else {
        return Err("tasks are those of one snapshot, or of one crash dump".into());
    };
    let file = std::slice::from_ref(file);
    let Ok(file) = <&[Snapshot; 1]>::try_from(file) else {
        return Err("there is no snapshot".into());
    };
    let wanted = Wanted { states: states(args), pids: args.pid.clone(), records: args.records };
    let mut printer = Printer::beside(&args.look, None);
    let streams = input.streams(&args.component);
    let has_none = !args.component.is_empty() && streams.is_empty();
    let how = (input.boots.as_slice(), input.maps.as_slice());
    let histories = collect(file, streams, how, &wanted, |entry| printer.kept(entry));
    let mut status = tell(&histories.outcome, &input.tables.searched);
    let page = Page {
        file: &file[0],
        calibration: &input.boots[0].calibration,
        histories: &histories,
        color: has_color(&args.look),
    };
    let is_empty = histories.tasks.is_empty();
    let chooses = args.blocked || args.running || !args.pid.is_empty();
    print_all(|out| {
        match args.look.json {
            true => page.json(out),
            false => page.text(&mut printer, out),
        }
        if is_empty && !chooses && !args.all && !args.look.json {
            put(out, format_args!("none of them is running or blocked; --all shows them\n"));
        }
        Ok(())
    })?;
    if is_empty && chooses || has_none {
        tell_none(page.all() as u64, "task", "");
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

/// What is printed.
struct Page<'a> {
    file: &'a Snapshot,
    calibration: &'a Calibration,
    histories: &'a Histories,
    color: bool,
}

impl Page<'_> {
    /// Nanoseconds from `clock` to the end.
    fn ago(&self, clock: u64) -> i128 {
        let c = self.calibration;
        (c.boot(self.histories.now) - c.boot(clock)).max(0)
    }

    fn count(&self, state: State) -> usize {
        self.histories.states.get(&state).copied().unwrap_or(0)
    }

    /// How many tasks there are, asked for or not.
    fn all(&self) -> usize {
        self.histories.states.values().sum()
    }

    fn text(&self, printer: &mut Printer<'_>, out: &mut Vec<u8>) {
        let (c, now) = (self.calibration, self.histories.now);
        let start = out.len();
        if let Some(system) = &self.file.system {
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
        let all = self.all();
        let tasks = if all == 1 { "task" } else { "tasks" };
        put(out, format_args!(": {all} {tasks} with records"));
        if all != 0 {
            put(out, format_args!(": {}", counts.join(", ")));
        }
        escape_name(out, start);
        out.push(b'\n');
        for history in &self.histories.tasks {
            out.push(b'\n');
            self.task(history, printer, out);
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
        self.chain(&t.chain, out);
        let mut lines: Vec<&Line> = h.records.iter().chain(&h.interrupts).collect();
        lines.sort_by_key(|line| line.clock);
        printer.group([], out);
        for line in lines {
            let ago = seconds(self.ago(line.clock));
            put(out, format_args!("{ago:>14} s ago "));
            printer.put(&line.line, out);
        }
    }

    /// Who blocks it.
    fn chain(&self, chain: &Chain, out: &mut Vec<u8>) {
        for (n, link) in chain.links.iter().enumerate() {
            let start = out.len();
            let waits = if n == 0 { "waits" } else { "which waits" };
            put(out, format_args!("      {waits} for {}", link.name()));
            match link.holder {
                Some(pid) => {
                    out.extend_from_slice(b", held by ");
                    out.extend_from_slice(self.comm(pid).unwrap_or_default());
                    put(out, format_args!("[{pid}]"));
                }
                None if link.gone => out.extend_from_slice(b", held by a task that has ended"),
                None => out.extend_from_slice(b", whose holder isn't known"),
            }
            if link.readers {
                out.extend_from_slice(b" and perhaps other readers");
            }
            if chain.deadlock && n + 1 == chain.links.len() {
                out.extend_from_slice(b": a deadlock");
            }
            escape_name(out, start);
            out.push(b'\n');
        }
    }

    /// The name of a task that lives.
    fn comm(&self, pid: i32) -> Option<&[u8]> {
        let mut tasks = self.histories.tasks.iter().map(|h| &h.task);
        let task = tasks.find(|t| t.pid == pid && t.exit_clock == 0)?;
        Some(until_nul(&task.comm))
    }

    fn json(&self, out: &mut Vec<u8>) {
        let (c, now) = (self.calibration, self.histories.now);
        let mut o = Object::new(out);
        o.text("type", "tasks");
        let system = self.file.system.as_ref();
        o.text("release", system.map(|s| text(&s.release)).as_deref());
        o.text("host", system.map(|s| text(&s.host)).as_deref());
        o.number("clock", now);
        o.number("boot_ns", c.boot(now));
        o.number("wall_ns", c.real(now));
        for state in State::ALL {
            o.number(state.name(), self.count(state) as u64);
        }
        o.end();
        out.push(b'\n');
        for h in &self.histories.tasks {
            self.json_task(h, out);
        }
    }

    fn json_chain(&self, out: &mut Vec<u8>, chain: &Chain) {
        out.push(b'[');
        for (n, link) in chain.links.iter().enumerate() {
            if n != 0 {
                out.push(b',');
            }
            let mut o = Object::new(out);
            o.number("pid", link.pid);
            o.text("kind", link.kind.map(|kind| format!("{kind:?}")).as_deref());
            o.text("lock", format!("{:016x}", link.lock).as_str());
            o.maybe("holder", link.holder);
            let comm = link.holder.and_then(|pid| self.comm(pid));
            o.text("comm", comm.map(|comm| String::from_utf8_lossy(comm)).as_deref());
            o.flag("readers", link.readers);
            o.flag("gone", link.gone);
            o.end();
        }
        out.push(b']');
    }

    fn json_task(&self, h: &History, out: &mut Vec<u8>) {
        let t = &h.task;
        let mut o = Object::new(out);
        o.text("type", "task");
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
        list(o.key("records"), &h.records);
        list(o.key("interrupts"), &h.interrupts);
        o.end();
        out.push(b'\n');
    }
}

/// Lines, each of which is an object, as a list.
fn list(out: &mut Vec<u8>, lines: &[Line]) {
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

fn put(out: &mut Vec<u8>, args: std::fmt::Arguments<'_>) {
    // Writing to a Vec doesn't fail.
    let _ = out.write_fmt(args);
}
