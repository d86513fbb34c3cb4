// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Lines of other logs, which are put between the records by their time: dmesg and ftrace.
//!
//! A [`Log`] reads one line after the other, so its length is of no matter. What has no time of its
//! own belongs to the line before. Nothing is believed of a line but its time; what else is
//! recognised (level, task, CPU) is there to filter by.

use std::{
    fs::File,
    io::{
        self,
        BufRead,
        BufReader,
        Read, //
    },
    path::Path, //
};

use crate::{
    boot::Boot,
    merge::Stream,
    record::{
        Task,
        Writer, //
    },
    snapshot::RingPages, //
};

/// A longer line is cut into several.
const LINE_MAX: u64 = 16 << 10;

/// What wrote a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// printk: what dmesg, the console and `/dev/kmsg` show.
    Dmesg,
    /// The text of ftrace's `trace` files, and of `trace-cmd report`.
    Ftrace,
}

impl Kind {
    /// Its name, which stands where records have their component's.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dmesg => "dmesg",
            Self::Ftrace => "ftrace",
        }
    }
}

/// A line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// ns since boot.
    pub boot: u64,
    /// Level, as those of records.
    pub level: Option<u8>,
    /// Who wrote it.
    pub writer: Writer,
    /// The rest of it.
    pub message: Vec<u8>,
}

/// A log, at one of its lines.
pub struct Log {
    kind: Kind,
    name: String,
    input: Box<dyn BufRead>,
    stream: Stream,
    boot: Boot,
    line: Option<Line>,
    /// Times of the lines don't go back: that would be the clocks of several CPUs.
    last: Line,
    /// Lines with a time so far, and why there are no more.
    timed: u64,
    error: Option<io::Error>,
    raw: Vec<u8>,
}

impl Log {
    /// Opens a log of the machine and boot of snapshot number `file`.
    pub fn open(kind: Kind, path: &Path, file: usize, boot: &Boot) -> io::Result<Self> {
        let input: Box<dyn BufRead> = match path.as_os_str() == "-" {
            true => Box::new(BufReader::new(io::stdin())),
            false => Box::new(BufReader::with_capacity(64 << 10, File::open(path)?)),
        };
        let mut this = Self::new(kind, input, file, boot);
        this.name = path.display().to_string();
        Ok(this)
    }

    /// Starts at the first line of `input`.
    pub fn new(kind: Kind, input: Box<dyn BufRead>, file: usize, boot: &Boot) -> Self {
        let mut this = Self {
            kind,
            name: kind.name().to_owned(),
            input,
            stream: Stream::new(kind.name().into(), file, RingPages::new((0, 0)).into(), 0),
            boot: boot.of_log(),
            line: None,
            last: Line::default(),
            timed: 0,
            error: None,
            raw: Vec::new(),
        };
        this.advance();
        this
    }

    /// The line that it is at; `None` at its end.
    pub fn line(&self) -> Option<&Line> {
        self.line.as_ref()
    }

    /// The boot that it is of, which converts the times of lines.
    pub fn boot(&self) -> &Boot {
        &self.boot
    }

    /// Stands for the ring that a record would be from.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The time of the line, as [`Boot::axis`] has it.
    pub fn time(&self) -> Option<i128> {
        Some(self.boot.axis(self.line.as_ref()?.boot))
    }

    /// What is wrong with it, once it is at its end.
    pub fn problem(&self) -> Option<String> {
        let name = &self.name;
        match (&self.error, self.timed) {
            (Some(e), _) => Some(format!("{name}: {e}")),
            (None, 0) => Some(format!("{name}: no line has a time in seconds since boot")),
            _ => None,
        }
    }

    /// Goes to the next line.
    pub fn advance(&mut self) {
        self.line = None;
        while self.read_line() {
            let parsed = match self.kind {
                Kind::Dmesg => dmesg(&self.raw),
                Kind::Ftrace => ftrace(&self.raw),
            };
            let mut line = match parsed {
                Parsed::Line(line) => {
                    self.timed += 1;
                    line
                }
                // What is before the first time is a heading.
                Parsed::More(message) if self.timed > 0 => Line {
                    message: message.to_vec(),
                    ..self.last.clone()
                },
                Parsed::More(_) | Parsed::Comment => continue,
            };
            line.boot = line.boot.max(self.last.boot);
            self.last = Line {
                message: Vec::new(),
                ..line.clone()
            };
            self.line = Some(line);
            return;
        }
    }

    /// Reads up to the end of the line, or `LINE_MAX`. `false`: there is nothing more.
    fn read_line(&mut self) -> bool {
        self.raw.clear();
        let limited = self.input.by_ref().take(LINE_MAX);
        match { limited }.read_until(b'\n', &mut self.raw) {
            Ok(0) => return false,
            Ok(_) => {}
            Err(e) => {
                self.error = Some(e);
                return false;
            }
        }
        while let Some(b'\n' | b'\r') = self.raw.last() {
            self.raw.pop();
        }
        true
    }
}

enum Parsed<'a> {
    Line(Line),
    /// It has no time: it goes on with the one before.
    More(&'a [u8]),
    Comment,
}

/// `12.345678`, with any number of decimals, in ns.
fn seconds(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let (whole, fraction) = text.split_once('.')?;
    let is_number = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let nanos: String = fraction.chars().chain("00000000".chars()).take(9).collect();
    let whole: u64 = whole.parse().ok()?;
    whole
        .checked_mul(1_000_000_000)?
        .checked_add(nanos.parse().ok()?)
}

/// A level of BLog for one of printk's.
fn level(priority: u8) -> u8 {
    match priority & 7 {
        0..=3 => 1,
        4 => 2,
        5 | 6 => 3,
        _ => 4,
    }
}

fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Splits at the first `byte`, which is left out.
fn split(text: &[u8], byte: u8) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|b| *b == byte)?;
    Some((&text[..at], &text[at + 1..]))
}

fn dmesg(raw: &[u8]) -> Parsed<'_> {
    if raw.is_empty() {
        return Parsed::Comment;
    }
    if let Some(line) = kmsg(raw) {
        return Parsed::Line(line);
    }
    let (mut rest, mut priority) = (raw, None);
    if let Some((n, after)) = raw.strip_prefix(b"<").and_then(|r| split(r, b'>')) {
        if let Some(n) = number(n) {
            (rest, priority) = (after, Some(level(n as u8)));
        }
    } else if let Some((facility, after)) = split(raw, b':') {
        // dmesg -x: "kern  :warn  : [    1.234567] text"
        const NAMES: [(&[u8], u8); 8] = [
            (b"emerg", 0),
            (b"alert", 1),
            (b"crit", 2),
            (b"err", 3),
            (b"warn", 4),
            (b"notice", 5),
            (b"info", 6),
            (b"debug", 7),
        ];
        let is_word = facility.trim_ascii().iter().all(u8::is_ascii_lowercase);
        if let Some((name, after)) = split(after, b':').filter(|_| is_word) {
            let found = NAMES.iter().find(|(n, _)| *n == name.trim_ascii());
            if let Some((_, n)) = found {
                (rest, priority) = (after.trim_ascii_start(), Some(level(*n)));
            }
        }
    }
    let timed = rest.strip_prefix(b"[").and_then(|r| split(r, b']'));
    let timed = timed.and_then(|(time, text)| Some((seconds(time.trim_ascii())?, text)));
    let Some((boot, text)) = timed else {
        return Parsed::More(raw);
    };
    Parsed::Line(Line {
        boot,
        level: priority,
        writer: Writer::default(),
        message: text.strip_prefix(b" ").unwrap_or(text).to_vec(),
    })
}

/// A line of `/dev/kmsg`: "6,339,5140900,-;text", time in µs.
fn kmsg(raw: &[u8]) -> Option<Line> {
    let (head, text) = split(raw, b';')?;
    let mut fields = head.split(|b| *b == b',');
    let priority = number(fields.next()?)?;
    number(fields.next()?)?;
    let us = number(fields.next()?)?;
    Some(Line {
        boot: us.saturating_mul(1000),
        level: Some(level(priority as u8)),
        writer: Writer::default(),
        message: text.to_vec(),
    })
}

/// "    fio-1234    (   1230) [001] d..2.    12.345678: sched_switch: ..."
fn ftrace(raw: &[u8]) -> Parsed<'_> {
    if raw.is_empty() || raw.starts_with(b"#") {
        return Parsed::Comment;
    }
    task_line(raw).map_or(Parsed::More(raw), Parsed::Line)
}

fn task_line(raw: &[u8]) -> Option<Line> {
    // The CPU, in brackets.
    let mut from = 0;
    let (before, cpu, after) = loop {
        let at = from + raw[from..].iter().position(|b| *b == b'[')?;
        let inside = &raw[at + 1..];
        let digits = inside.iter().take_while(|b| b.is_ascii_digit()).count();
        match (number(&inside[..digits]), &inside[digits..]) {
            (Some(cpu), [b']', after @ ..]) => break (&raw[..at], cpu, after),
            _ => from = at + 1,
        }
    };
    let mut task = before.trim_ascii();
    let mut tgid = None;
    if let Some(inner) = task.strip_suffix(b")") {
        let at = inner.iter().rposition(|b| *b == b'(')?;
        tgid = number(inner[at + 1..].trim_ascii());
        task = inner[..at].trim_ascii();
    }
    let dash = task.iter().rposition(|b| *b == b'-')?;
    let pid = i32::try_from(number(&task[dash + 1..])?).ok()?;
    let mut comm = [0; 16];
    for (to, from) in comm.iter_mut().zip(task[..dash].trim_ascii()) {
        *to = *from;
    }
    // Perhaps flags, then the time.
    let mut rest = after.trim_ascii_start();
    let mut boot = None;
    for _ in 0..2 {
        let end = rest.iter().position(|b| b.is_ascii_whitespace())?;
        let word = &rest[..end];
        rest = rest[end..].trim_ascii_start();
        boot = word.strip_suffix(b":").and_then(seconds);
        if boot.is_some() {
            break;
        }
    }
    Some(Line {
        boot: boot?,
        level: None,
        writer: Writer {
            context: None,
            cpu: u32::try_from(cpu).ok(),
            task: Some(Task {
                pid,
                tgid: tgid.and_then(|n| i32::try_from(n).ok()).unwrap_or(pid),
                comm,
            }),
        },
        message: rest.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Calibration;

    fn lines(kind: Kind, text: &'static str) -> Vec<Line> {
        let boot = Boot::alone("", Calibration::new(None, &[]));
        let mut log = Log::new(kind, Box::new(text.as_bytes()), 0, &boot);
        let mut all = Vec::new();
        while let Some(line) = log.line() {
            all.push(line.clone());
            log.advance();
        }
        all
    }

    #[test]
    fn dmesg_is_read_in_all_its_forms() {
        let all = lines(
            Kind::Dmesg,
            "heading\n[    1.000002] plain\n<4>[    2.5] raw\nkern  :err   : [    3.000000] decoded\n\
             6,339,4000005,-;kmsg\n SUBSYSTEM=x\n[2026-11-21] no time\n[    3.9] back\n",
        );
        let seen: Vec<_> = all
            .iter()
            .map(|l| (l.boot, l.level, std::str::from_utf8(&l.message).unwrap()))
            .collect();
        assert_eq!(
            seen,
            [
                (1_000_002_000, None, "plain"),
                (2_500_000_000, Some(2), "raw"),
                (3_000_000_000, Some(1), "decoded"),
                (4_000_005_000, Some(3), "kmsg"),
                (4_000_005_000, Some(3), " SUBSYSTEM=x"),
                (4_000_005_000, Some(3), "[2026-11-21] no time"),
                (4_000_005_000, None, "back"),
            ]
        );
    }

    #[test]
    fn ftrace_is_read_with_and_without_flags() {
        let all = lines(
            Kind::Ftrace,
            "# tracer: nop\n#\n  kworker/0:1-H-12    [003] d..2.    12.345678: sched_switch: a ==> b\n\
             CPU:1 [LOST 12 EVENTS]\n fio-99  (   98) [001] 13.000000001: block_rq_issue: [x]\n",
        );
        let seen: Vec<_> = all
            .iter()
            .map(|l| {
                let t = l.writer.task.unwrap();
                let comm = crate::snapshot::text(&t.comm);
                let message = std::str::from_utf8(&l.message).unwrap();
                (l.boot, l.writer.cpu, comm, t.pid, t.tgid, message)
            })
            .collect();
        let kworker = || "kworker/0:1-H".to_owned();
        assert_eq!(
            seen,
            [
                (
                    12_345_678_000,
                    Some(3),
                    kworker(),
                    12,
                    12,
                    "sched_switch: a ==> b"
                ),
                (
                    12_345_678_000,
                    Some(3),
                    kworker(),
                    12,
                    12,
                    "CPU:1 [LOST 12 EVENTS]"
                ),
                (
                    13_000_000_001,
                    Some(1),
                    "fio".into(),
                    99,
                    98,
                    "block_rq_issue: [x]"
                ),
            ]
        );
    }

    #[test]
    fn a_log_without_times_says_so() {
        let boot = Boot::alone("", Calibration::new(None, &[]));
        let text = b"[Sat Nov 21 10:13:09 2026] dmesg -T\n";
        let log = Log::new(Kind::Dmesg, Box::new(&text[..]), 0, &boot);
        assert!(log.line().is_none());
        assert!(log.problem().unwrap().contains("no line has a time"));
    }
}
