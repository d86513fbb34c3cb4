// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Lines of other logs, which are put between the records by their time: dmesg and ftrace.
//!
//! A line without a time belongs to the line before; before the first time, and as a heading, to
//! the one after. In ftrace, it gets only the time, unless it is part of a stack, and so of the
//! same task. Only the time of a line is trusted; level, task and CPU are for filters. A line keeps
//! its time:
//!
//! - A kernel log is read as a whole, and its lines are sorted by their times if needed: parts of a
//!   panic in pstore, or messages of other programs, may be out of order. `transport/` finds date,
//!   machine and boot of a line. Lines of other machines are left out, lines of other boots come
//!   first. A boot begins at the kernel's first line or the journal's mark, where the time falls
//!   below that of all lines before, or where dates and times since boot don't go on alike. Of
//!   several boots, the snapshot's is the one with its id, or the last one whose dates agree with
//!   the snapshot's clock.
//! - A log of ftrace is read line by line, so its length doesn't matter. It stays in its own order.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::Path,
    vec,
};

use crate::{
    boot::Boot,
    clock::LogClock,
    error::Error,
    kind,
    merge::Stream,
    record::{Task, Writer},
    snapshot::{RingPages, Snapshot},
    transport::{self, Origin},
    unpack::{self, Lost},
    wire::file::{Kind, FILE_MAGIC},
};

/// A longer line is cut into several.
const LINE_MAX: u64 = 16 << 10;
/// A kernel log is no longer.
const KERNEL_LOG_MAX: u64 = 1 << 30;
/// As much is kept of what comes before the first line with a time.
const HEADING_MAX: usize = 64 << 10;
/// CPUs that log at once may disagree by so many ns on what came first.
const DISAGREE: u64 = 1_000_000;
/// A line that is earlier than all before, and by more than this many ns, is of another boot: of a
/// console that doesn't show the first line of a kernel, as with "quiet".
const OTHER_BOOT: u64 = 1_000_000_000;

/// A line of syslog that is earlier by so many ns than the one above it is of another boot: syslog
/// writes lines as they come.
const LATE: u64 = 100_000_000;
/// Lines that are earlier by so many ns may be of another boot, as far as anybody knows.
const FAR_BACK: u64 = 60_000_000_000;

/// No two time zones differ by more seconds.
const ZONES: i64 = 26 * 3600;
/// Between the lines of a boot, a clock is set, or put forward for the summer, by fewer seconds.
const CLOCK_SET: i64 = 2 * 3600;
/// Names of so many other machines are reported.
const MACHINES: usize = 4;

/// What wrote a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LogKind {
    /// printk: what dmesg, the console and `/dev/kmsg` show.
    Dmesg,
    /// The text of ftrace's `trace` files, and of `trace-cmd report`.
    Ftrace,
}

impl LogKind {
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
    /// ns by the log's clock.
    pub time: u64,
    /// Level, as those of records.
    pub level: Option<u8>,
    /// The writer.
    pub writer: Writer,
    /// The rest of it.
    pub message: Vec<u8>,
}

/// A log, at one of its lines.
pub struct Log {
    kind: LogKind,
    stream: Stream,
    boot: Boot,
    /// Of lines that are of an earlier boot.
    earlier: Boot,
    lines: Lines,
    line: Option<Line>,
    is_earlier: bool,
    /// Where the line stands among others: later than those before it.
    order: i128,
    told: LogProblems,
}

/// What to report about a log.
#[derive(Default)]
struct LogProblems {
    name: String,
    /// Lines with a time so far.
    timed: u64,
    /// Why there are no more.
    error: Option<io::Error>,
    lost: Option<String>,
    /// Lines that are earlier than one before, and which is the first one.
    back: u64,
    first_back: u64,
    /// Those that are so much earlier that they may be of another boot.
    far_back: u64,
    /// Lines of other boots, how that is known, and whether they are left out.
    earlier: u64,
    why_earlier: &'static str,
    are_left_out: bool,
    /// Lines of other machines, by their names.
    machines: BTreeMap<String, u64>,
    /// Lines that lack pieces.
    torn: u64,
    /// Lines before the first time that are left out.
    headings: u64,
    /// Lines with a time that is beyond all clocks, and with a date instead of one.
    beyond: u64,
    dated: u64,
    /// What its first bytes say that it is, or that there are none.
    kind: Option<&'static str>,
    is_empty: bool,
}

impl LogProblems {
    /// Counts a line without a time that says when it was written.
    fn untimed(&mut self, line: &Parsed<'_>, has_date: bool) {
        match line {
            Parsed::More(_) => self.dated += u64::from(has_date),
            Parsed::Beyond(_) => self.beyond += 1,
            Parsed::Line(_) | Parsed::Within(_) | Parsed::Comment => {}
        }
    }
}

impl Log {
    /// Opens a log of the machine and boot of snapshot number `file`: a text, or a saved snapshot that
    /// has one.
    pub fn open(
        kind: LogKind,
        path: &Path,
        clock: LogClock,
        file: usize,
        boot: &Boot,
    ) -> io::Result<Self> {
        let input: Box<dyn Read> = match path.as_os_str() == "-" {
            true => Box::new(io::stdin()),
            false => match saved(path)? {
                Some(log) => Box::new(io::Cursor::new(log)),
                None => Box::new(File::open(path)?),
            },
        };
        let mut this = Self::new(kind, input, clock, file, boot)?;
        this.told.name = path.display().to_string();
        Ok(this)
    }

    /// Starts at the first line of `input`, which may be packed.
    pub fn new(
        kind: LogKind,
        input: impl Read + 'static,
        clock: LogClock,
        file: usize,
        boot: &Boot,
    ) -> io::Result<Self> {
        let mut told = LogProblems { name: kind.name().to_owned(), ..LogProblems::default() };
        let mut text = Text::new(unpack::reader(input)?, &mut told)?;
        told.kind = kind::describe(text.input.buffer());
        told.is_empty = text.input.buffer().is_empty() && told.lost.is_none();
        let of_log = boot.of_log(clock);
        let lines = match kind {
            LogKind::Dmesg => {
                Lines::Sorted(Sorted::read(text, KERNEL_LOG_MAX, &of_log, &mut told)?)
            }
            LogKind::Ftrace => {
                text.at_start = true;
                Lines::AsTheyCome(Box::new(text))
            }
        };
        let mut of = of_log;
        of.is_one_of_host |= told.earlier > 0;
        let mut this = Self {
            kind,
            stream: Stream::new(kind.name().into(), file, RingPages::new((0, 0)).into(), 0),
            boot: of,
            earlier: boot.unknown(),
            lines,
            line: None,
            is_earlier: false,
            order: i128::MIN,
            told,
        };
        this.advance();
        Ok(this)
    }

    /// The line that it is at; `None` at its end.
    pub fn line(&self) -> Option<&Line> {
        self.line.as_ref()
    }

    /// The boot that the line is of, which converts its time.
    pub fn boot(&self) -> &Boot {
        match self.is_earlier {
            true => &self.earlier,
            false => &self.boot,
        }
    }

    /// Stands for the ring that a record would be from.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Where the line stands, by a time as [`Boot::axis`] has it.
    pub fn time(&self) -> Option<i128> {
        self.line.as_ref().map(|_| self.order)
    }

    /// Whether it has lines of other boots than the snapshot's.
    pub fn has_earlier(&self) -> bool {
        self.told.earlier > 0
    }

    /// Leaves out the lines of other boots, for outputs that have one time only.
    pub fn leave_out_earlier(&mut self) {
        self.told.are_left_out = true;
        while self.is_earlier && self.line.is_some() {
            self.advance();
        }
    }

    /// What is known of its order before the first line is shown, and is no problem.
    pub fn note(&self) -> Option<String> {
        let LogProblems { name, back, first_back, .. } = &self.told;
        (self.kind == LogKind::Dmesg && *back > 0).then(|| {
            format!(
                "{name}: lines that are earlier than one above them ({back}; line {first_back} is the \
                 first) are put in the order of their times"
            )
        })
    }

    /// What is wrong with it, once it is at its end.
    pub fn problems(&self) -> Vec<String> {
        let told = &self.told;
        let mut all = Vec::new();
        all.extend(told.lost.clone());
        all.extend(told.error.as_ref().map(io::Error::to_string));
        if told.timed == 0 && told.error.is_none() && told.machines.is_empty() {
            all.push(match told.kind {
                Some(what) => format!("this is {what}"),
                None if told.is_empty => "the file is empty".into(),
                None => "no line has a time in seconds since boot".into(),
            });
        }
        if told.earlier > 0 {
            let (n, why) = (told.earlier, told.why_earlier);
            let how = match told.are_left_out {
                true => "are left out",
                false => "come first, with the time since their own boot",
            };
            all.push(format!("{n} lines are of other boots than the snapshot ({why}): they {how}"));
        }
        if !told.machines.is_empty() {
            let n: u64 = told.machines.values().sum();
            let mut names: Vec<_> = told.machines.keys().map(String::as_str).collect();
            if names.len() > MACHINES {
                names.splice(MACHINES.., ["..."]);
            }
            all.push(format!(
                "{n} lines are of other machines ({}) than {}: they are left out; --host names the \
                 snapshot's machine",
                names.join(", "),
                self.boot.host
            ));
        }
        if told.torn > 0 {
            let n = told.torn;
            all.push(format!("{n} lines lack pieces, which netconsole sent one by one"));
        }
        if told.far_back > 0 {
            let n = told.far_back;
            all.push(format!(
                "{n} lines are earlier than one above them by more than a minute: they may be of \
                 another boot"
            ));
        }
        if self.kind == LogKind::Ftrace && told.back > 0 {
            let (n, first) = (told.back, told.first_back);
            all.push(format!(
                "{n} lines are earlier than one above them (line {first} is the first): they stand \
                 where they do in the file"
            ));
        }
        if told.headings > 0 {
            let n = told.headings;
            all.push(format!("{n} lines before the first with a time are left out"));
        }
        if told.beyond > 0 {
            let n = told.beyond;
            all.push(format!(
                "{n} lines have a time that isn't in seconds, or that no clock reaches: they stand with \
                 the line before"
            ));
        }
        if told.dated > 0 && told.timed > 0 {
            let n = told.dated;
            all.push(format!(
                "{n} lines have a date and no time since boot: they stand with the line before"
            ));
        }
        let told = |why| format!("{}: {why}", told.name);
        all.into_iter().map(told).collect()
    }

    /// Goes to the next line.
    pub fn advance(&mut self) {
        self.line = None;
        match &mut self.lines {
            Lines::Sorted(sorted) => {
                if let Some((line, is_earlier)) = sorted.next() {
                    (self.line, self.is_earlier) = (Some(line), is_earlier);
                }
            }
            Lines::AsTheyCome(text) => self.line = text.next(&mut self.told),
        }
        if let (Some(line), false) = (&self.line, self.is_earlier) {
            self.order = self.order.max(self.boot.axis(line.time));
        }
    }
}

/// The kernel log in a saved snapshot; `None`: the file is none, or has no kernel log.
fn saved(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut start = Vec::new();
    // A pipe is read once.
    if path.metadata()?.is_file() {
        let input = unpack::reader(File::open(path)?)?;
        // What can't be unpacked is reported with the log.
        let _ = input.take(FILE_MAGIC.len() as u64).read_to_end(&mut start);
    }
    if start != FILE_MAGIC {
        return Ok(None);
    }
    let told = |e: Error| io::Error::other(e.kind().clone());
    let all = Snapshot::open_all(path, &mut |_, _| {}).map_err(told)?;
    let logs = all.iter().map(|file| file.text(Kind::KernelLog));
    let log = logs.collect::<Result<Vec<_>, _>>().map_err(told)?.concat();
    Ok((!log.is_empty()).then_some(log))
}

enum Lines {
    Sorted(Sorted),
    AsTheyCome(Box<Text>),
}

/// The text of a log.
struct Text {
    input: BufReader<unpack::Reader<'static>>,
    raw: Vec<u8>,
    /// Which line it is at.
    number: u64,
    /// No line has had a time.
    at_start: bool,
    /// Lines before the first with a time; and that one, while they are given.
    headings: Vec<Vec<u8>>,
    first: Option<Line>,
    /// What the last line with a time said, and the latest time.
    last: Line,
    latest: u64,
}

impl Text {
    fn new(input: unpack::Reader<'static>, told: &mut LogProblems) -> io::Result<Self> {
        let mut this = Self {
            input: BufReader::with_capacity(64 << 10, input),
            raw: Vec::new(),
            number: 0,
            at_start: false,
            headings: Vec::new(),
            first: None,
            last: Line::default(),
            latest: 0,
        };
        if let Err(e) = this.input.fill_buf() {
            told.lost = Some(Lost::from_error(&e).map(Lost::to_string).ok_or(e)?);
        }
        Ok(this)
    }

    /// Reads up to the end of the line, or `LINE_MAX`. `false`: there is nothing more.
    fn read_line(&mut self, told: &mut LogProblems) -> bool {
        self.raw.clear();
        loop {
            let limited = self.input.by_ref().take(LINE_MAX);
            match { limited }.read_until(b'\n', &mut self.raw) {
                Ok(0) if self.raw.is_empty() => return false,
                Ok(_) => break,
                Err(e) => match Lost::from_error(&e) {
                    Some(lost) => {
                        told.lost.get_or_insert_with(|| lost.to_string());
                        if !self.raw.is_empty() {
                            // What follows is of another member.
                            break;
                        }
                    }
                    None => {
                        told.error = Some(e);
                        return false;
                    }
                },
            }
        }
        while let Some(b'\n' | b'\r') = self.raw.last() {
            self.raw.pop();
        }
        self.number += 1;
        true
    }

    /// The next line of a log that stays in its own order.
    fn next(&mut self, told: &mut LogProblems) -> Option<Line> {
        if let Some(first) = &self.first {
            return match self.headings.pop() {
                Some(message) => Some(Line { time: first.time, message, ..Line::default() }),
                None => self.first.take(),
            };
        }
        while self.read_line(told) {
            let parsed = ftrace(&self.raw);
            told.untimed(&parsed, transport::has_date(&self.raw));
            match parsed {
                Parsed::Line(line) | Parsed::Within(line) => {
                    told.timed += 1;
                    if line.time < self.latest {
                        told.back += 1;
                        if told.back == 1 {
                            told.first_back = self.number;
                        }
                    }
                    self.latest = self.latest.max(line.time);
                    self.last = Line { message: Vec::new(), ..line.clone() };
                    if std::mem::take(&mut self.at_start) && !self.headings.is_empty() {
                        self.headings.reverse();
                        self.first = Some(line);
                        return self.next(told);
                    }
                    return Some(line);
                }
                Parsed::More(message) | Parsed::Beyond(message) if self.at_start => {
                    let held: usize = self.headings.iter().map(|h| h.len() + 1).sum();
                    match held + message.len() <= HEADING_MAX {
                        true => self.headings.push(message.to_vec()),
                        false => told.headings += 1,
                    }
                }
                Parsed::More(message) | Parsed::Beyond(message) => {
                    let mut line = self.last.clone();
                    // A stack of this task is indented: " => schedule".
                    if !message.trim_ascii_start().starts_with(b"=>") {
                        line.writer = Writer::default();
                    }
                    line.message = message.to_vec();
                    return Some(line);
                }
                Parsed::Comment => {}
            }
        }
        None
    }
}

/// A kernel log, in the order of time.
struct Sorted {
    bytes: Vec<u8>,
    places: vec::IntoIter<LinePlace>,
    /// Which boots are the snapshot's.
    ours: Vec<bool>,
}

/// Where a line is, and what it is sorted by.
struct LinePlace {
    boot: u32,
    time: u64,
    line: Stored,
    /// The line with the time.
    of: Stored,
}

/// A line in the bytes of a log.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stored {
    start: u32,
    /// Where the logged part begins.
    at: u32,
    end: u32,
    priority: Option<u8>,
    is_syslog: bool,
}

/// What is known of a boot in a log.
#[derive(Default)]
struct Segment {
    has_lines: bool,
    /// By how many seconds dates are later than by the snapshot's clock, and whether they name a time
    /// zone.
    ahead: Option<i64>,
    has_zone: bool,
    /// Its id.
    id: Option<Vec<u8>>,
}

impl Segment {
    /// Whether a line is of the same boot, by ids or by dates; `None`: they don't say.
    fn has(&self, ahead: Option<i64>, id: Option<&Vec<u8>>) -> Option<bool> {
        if let Some((a, b)) = self.id.as_ref().zip(id) {
            return Some(a == b);
        }
        let (a, b) = self.ahead.zip(ahead)?;
        (a.abs_diff(b) > CLOCK_SET as u64).then_some(false)
    }

    /// Whether it may be the snapshot's boot.
    fn fits(&self, boot: &Boot) -> bool {
        let most = if self.has_zone { CLOCK_SET } else { ZONES };
        self.is_of(boot).unwrap_or(true) && self.ahead.is_none_or(|ahead| ahead.abs() <= most)
    }

    /// What its id says of that.
    fn is_of(&self, boot: &Boot) -> Option<bool> {
        let (id, own) = (self.id.as_ref()?, boot.id.as_ref()?);
        Some(own.as_bytes().starts_with(id))
    }
}

/// How many seconds later the date of a line is than by the snapshot's clock.
fn ahead(origin: &Origin, time: u64, boot: &Boot) -> Option<i64> {
    const NS: i128 = 1_000_000_000;
    let date = origin.date.filter(|_| boot.calibration.is_known())?;
    let real = i64::try_from(boot.calibration.real(time) / NS).ok()?;
    let is_set = transport::is_set(real);
    date.seconds(real).filter(|_| is_set)?.checked_sub(real)
}

/// Whether a machine has another name than the snapshot's. A name that many have says nothing.
fn is_other_machine(host: &[u8], boot: &Boot) -> bool {
    let short = |name: &str| {
        let short = name.split('.').next().unwrap_or_default();
        short.to_ascii_lowercase()
    };
    let Ok(host) = std::str::from_utf8(host) else {
        return false;
    };
    let is_name = host.bytes().any(|b| b.is_ascii_alphabetic()) && !host.contains(':');
    let mut names = boot.names.iter().filter(|name| !name.is_empty()).peekable();
    is_name
        && short(host) != "localhost"
        && names.peek().is_some()
        && names.all(|name| short(name) != short(host))
}

impl Sorted {
    fn read(mut text: Text, max: u64, of: &Boot, told: &mut LogProblems) -> io::Result<Self> {
        let mut this = Self { bytes: Vec::new(), places: Vec::new().into_iter(), ours: Vec::new() };
        let mut lines = transport::Lines::default();
        let mut places = Vec::<LinePlace>::new();
        let mut boots = vec![Segment::default()];
        // Lines that belong to the next one that has a time begin there.
        let mut heading = Some(0);
        // The latest time of this boot, and the earliest; and whether it has ended.
        let (mut latest, mut earliest, mut is_over) = (0, u64::MAX, false);
        // The last line was of another machine, and the next ones go on with it.
        let mut other = None;
        let (mut is_more, mut is_at_end) = (true, false);
        while !is_at_end {
            let Some(line) = lines.next() else {
                is_at_end = !is_more;
                is_more = is_more && text.read_line(told);
                match is_more {
                    true => lines.push(&text.raw),
                    false => lines.end(),
                }
                continue;
            };
            let (origin, at) = (&line.origin, this.bytes.len());
            let logged = (line.logged(), origin.priority, origin.is_syslog);
            let parsed = match dmesg(logged) {
                Parsed::Within(line) if line.time < latest && !is_over => Parsed::More(logged.0),
                parsed => parsed,
            };
            let is_own = matches!(parsed, Parsed::Line(_)) || line.at > 0;
            match &origin.host {
                Some(host) => {
                    let is_other = is_other_machine(host, of);
                    other = is_other.then(|| String::from_utf8_lossy(host).into_owned());
                }
                None if is_own => other = None,
                None => {}
            }
            if let Some(host) = &other {
                *told.machines.entry(host.clone()).or_default() += 1;
                continue;
            }
            if (at + line.text.len()) as u64 > max {
                return Err(io::Error::other(
                    "a kernel log of more than 1 GiB: give the part that matters",
                ));
            }
            // Below `max`.
            let stored = Stored {
                start: at as u32,
                at: (at + line.at) as u32,
                end: (at + line.text.len()) as u32,
                priority: origin.priority,
                is_syslog: origin.is_syslog,
            };
            let (time, with_time) = match &parsed {
                Parsed::Comment => continue,
                Parsed::Line(line) | Parsed::Within(line) => {
                    told.timed += 1;
                    let (ahead, id) = (ahead(origin, line.time, of), origin.boot.as_ref());
                    let is_same = boots.last().and_then(|boot| boot.has(ahead, id));
                    let mut is_new = is_same == Some(false);
                    if line.time < latest && !is_new {
                        let is_below = line.time.saturating_add(OTHER_BOOT) < earliest;
                        let is_appended = origin.date.is_some() && latest - line.time >= LATE;
                        let is_other = is_over || is_appended || is_below && heading.is_none();
                        is_new = is_same.is_none() && (is_boot(&line.message) || is_other);
                        if !is_new && latest - line.time >= DISAGREE {
                            told.back += 1;
                            if told.back == 1 {
                                told.first_back = text.number;
                            }
                            let is_far = heading.is_none() && latest - line.time >= FAR_BACK;
                            told.far_back += u64::from(is_far);
                        }
                    }
                    if is_new {
                        boots.push(Segment::default());
                        (latest, earliest) = (0, u64::MAX);
                    }
                    is_over = is_end(&line.message);
                    latest = latest.max(line.time);
                    earliest = earliest.min(line.time);
                    let number = boots.len() as u32 - 1;
                    if let Some(boot) = boots.last_mut() {
                        boot.has_lines = true;
                        boot.has_zone |= origin.date.is_some_and(|date| date.offset.is_some());
                        boot.ahead = ahead.or(boot.ahead);
                        boot.id = id.cloned().or(boot.id.take());
                    }
                    let first = heading.take().unwrap_or(places.len());
                    for place in &mut places[first..] {
                        (place.boot, place.time, place.of) = (number, line.time, stored);
                    }
                    (line.time, stored)
                }
                Parsed::More(raw) | Parsed::Beyond(raw) => {
                    told.untimed(&parsed, origin.date.is_some());
                    if let Some(id) = begins_boot(raw) {
                        if told.timed > 0 {
                            boots.push(Segment::default());
                            (latest, earliest) = (0, u64::MAX);
                            heading.get_or_insert(places.len());
                        }
                        if let Some(boot) = boots.last_mut() {
                            boot.id = id;
                        }
                    } else if is_part(raw) {
                        heading.get_or_insert(places.len());
                    }
                    match places.last() {
                        Some(last) => (last.time, last.of),
                        None => (0, stored),
                    }
                }
            };
            this.bytes.extend_from_slice(&line.text);
            places.push(LinePlace {
                boot: boots.len() as u32 - 1,
                time,
                line: stored,
                of: with_time,
            });
        }
        told.torn = lines.torn;
        if told.timed == 0 {
            places.clear();
        }
        // Those after the last time begin none.
        let last = boots.iter().rposition(|boot| boot.has_lines).unwrap_or(0);
        boots.truncate(last + 1);
        places.iter_mut().for_each(|place| place.boot = place.boot.min(last as u32));
        let is_named = |boot: &Segment| boot.is_of(of) == Some(true);
        let chosen = boots.iter().rposition(|boot| boot.fits(of));
        let is_ours = |(number, boot): (usize, &Segment)| match boots.iter().any(is_named) {
            true => is_named(boot),
            false => Some(number) == chosen,
        };
        this.ours = boots.iter().enumerate().map(is_ours).collect();
        let mut others = boots.iter().zip(&this.ours).filter(|(_, ours)| !**ours);
        told.why_earlier = match others.all(|(boot, _)| !boot.fits(of)) {
            true => "by their dates or boot ids",
            false => "the last boot of the log is taken for the snapshot's",
        };
        let is_ours = |place: &LinePlace| this.ours[place.boot as usize];
        told.earlier = places.iter().filter(|p| !is_ours(p)).count() as u64;
        places.sort_by_key(|p| (is_ours(p), p.boot, p.time));
        this.places = places.into_iter();
        Ok(this)
    }

    fn next(&mut self) -> Option<(Line, bool)> {
        let place = self.places.next()?;
        let bytes = |from: u32, to: u32| &self.bytes[from as usize..to as usize];
        let Stored { start, end, .. } = place.line;
        let of = place.of;
        let logged = (bytes(of.at, of.end), of.priority, of.is_syslog);
        let line = match dmesg(logged) {
            Parsed::Line(line) | Parsed::Within(line) if place.of == place.line => line,
            Parsed::Line(line) | Parsed::Within(line) => {
                Line { message: bytes(start, end).to_vec(), ..line }
            }
            Parsed::More(_) | Parsed::Beyond(_) | Parsed::Comment => {
                Line { message: bytes(start, end).to_vec(), ..Line::default() }
            }
        };
        Some((line, !self.ours[place.boot as usize]))
    }
}

/// The first line that a kernel prints.
fn is_boot(message: &[u8]) -> bool {
    const FIRST: &[u8] = b"Linux version ";
    message.windows(FIRST.len()).any(|text| text == FIRST)
}

/// The last line that a kernel prints.
fn is_end(message: &[u8]) -> bool {
    let ends: [&[u8]; 5] = [
        b"reboot: Restarting system",
        b"reboot: Power down",
        b"reboot: System halted",
        b"Starting new kernel",
        b"Rebooting in ",
    ];
    ends.iter().any(|end| message.windows(end.len()).any(|text| text == *end))
}

/// Whether it is a line of journalctl between two boots; and the id of the one that begins.
fn begins_boot(raw: &[u8]) -> Option<Option<Vec<u8>>> {
    const ID: usize = 32;
    if raw.starts_with(b"-- Reboot --") {
        return Some(None);
    }
    let id = split(raw.strip_prefix(b"-- Boot ")?, b' ').map(|(id, _)| id);
    let is_id = |id: &&[u8]| id.len() == ID && id.iter().all(u8::is_ascii_hexdigit);
    Some(id.filter(is_id).map(<[u8]>::to_ascii_lowercase))
}

/// The heading of a part that pstore has kept of a log, the last part first: "Panic#2 Part1".
fn is_part(raw: &[u8]) -> bool {
    let is_number = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let parsed = split(raw, b'#').and_then(|(why, rest)| Some((why, split(rest, b' ')?)));
    parsed.is_some_and(|(why, (count, part))| {
        why.iter().all(u8::is_ascii_alphabetic)
            && is_number(count)
            && part.strip_prefix(b"Part").is_some_and(is_number)
    })
}

enum Parsed<'a> {
    Line(Line),
    /// A time stands within it, which may be its own if time goes on.
    Within(Line),
    /// It has no time: it goes on with the one before.
    More(&'a [u8]),
    /// It has a time that isn't in seconds, or that no clock reaches.
    Beyond(&'a [u8]),
    Comment,
}

impl<'a> Parsed<'a> {
    /// A line at a time, if the clock reaches it.
    fn at(time: Time, raw: &'a [u8], line: impl FnOnce(u64) -> Line) -> Self {
        time.map_or(Self::Beyond(raw), |time| Self::Line(line(time)))
    }
}

/// A time in ns; `None`: no clock reaches it.
type Time = Option<u64>;

/// `12.345678`, with any number of decimals.
fn seconds(text: &[u8]) -> Option<Time> {
    let text = std::str::from_utf8(text).ok()?;
    let (whole, fraction) = text.split_once('.')?;
    let is_number = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let nanos: String = fraction.chars().chain("00000000".chars()).take(9).collect();
    let nanos = nanos.parse().ok()?;
    let whole = whole.parse::<u64>().ok();
    let time = whole.and_then(|whole| whole.checked_mul(1_000_000_000)?.checked_add(nanos));
    Some(time)
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

/// A line of a kernel log: the logged part, the level that the transport says, and whether a line
/// without the kernel's name is another program's.
fn dmesg((raw, priority, is_syslog): (&[u8], Option<u8>, bool)) -> Parsed<'_> {
    if raw.is_empty() {
        return Parsed::Comment;
    }
    if let Some((priority, time, text)) = kmsg(raw) {
        return Parsed::at(time, raw, |time| Line {
            time,
            level: Some(level(priority as u8)),
            writer: Writer::default(),
            message: transport::unescaped(text),
        });
    }
    let (mut rest, mut priority) = (raw, priority);
    if let Some((number, after)) = transport::priority(raw) {
        (rest, priority) = (after, Some(number));
    } else if let Some((facility, after)) = split(raw, b':') {
        // dmesg -x: "kern  :warn  : [    1.234567] text"; a facility may be "local0".
        let is_letter = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let is_word = facility.trim_ascii().iter().all(is_letter);
        if let Some((name, after)) = split(after, b':').filter(|_| is_word) {
            let found = transport::LEVELS.iter().position(|n| *n == name.trim_ascii());
            if let Some(number) = found {
                (rest, priority) = (after.trim_ascii_start(), Some(number as u8));
            }
        }
    }
    let line = |text: &[u8]| {
        let message = text.strip_prefix(b" ").unwrap_or(text).to_vec();
        move |time| Line { time, level: priority.map(level), writer: Writer::default(), message }
    };
    // Text that is quoted in a report is indented.
    if let Some((time, text)) = bracketed(rest.trim_ascii_start()) {
        return Parsed::at(time, raw, line(text));
    }
    match in_console(rest).filter(|_| !is_syslog) {
        Some(time) => Parsed::Within(line(raw)(time)),
        None => Parsed::More(raw),
    }
}

/// "[   12.345678] text"; in the brackets, `dmesg -d` also has the time since the line before.
fn bracketed(text: &[u8]) -> Option<(Time, &[u8])> {
    let (time, text) = split(text.strip_prefix(b"[")?, b']')?;
    let time = time.trim_ascii_start();
    let time = split(time, b' ').map_or(time, |(time, _)| time);
    Some((seconds(time)?, text))
}

/// A time after what else a console shows in the line, as a prompt: "login: [   35.123456] text".
/// Here it must look as printk writes it.
fn in_console(text: &[u8]) -> Option<u64> {
    const HEAD: usize = 256;
    const LEAST: usize = "12345.678901".len();
    if text.first().is_none_or(u8::is_ascii_whitespace) {
        return None;
    }
    let starts = (0..text.len().min(HEAD)).filter(|at| text[*at] == b'[');
    starts.map(|at| &text[at + 1..]).find_map(|rest| {
        let (time, _) = split(rest, b']')?;
        let (_, micros) = split(time, b'.')?;
        let is_time = time.len() >= LEAST && micros.len() == 6;
        is_time.then(|| seconds(time.trim_ascii_start())).flatten().flatten()
    })
}

/// Priority, time and text of a line of `/dev/kmsg`, which has µs: "6,339,5140900,-;text".
fn kmsg(raw: &[u8]) -> Option<(u64, Time, &[u8])> {
    let (head, text) = split(raw, b';')?;
    let mut fields = transport::without_release(head).split(|b| *b == b',');
    let priority = number(fields.next()?)?;
    number(fields.next()?)?;
    let us = number(fields.next()?)?;
    Some((priority, us.checked_mul(1000), text))
}

/// "    fio-1234    (   1230) [001] d..2.    12.345678: sched_switch: ..."
fn ftrace(raw: &[u8]) -> Parsed<'_> {
    if raw.is_empty() || raw.starts_with(b"#") {
        return Parsed::Comment;
    }
    task_line(raw).unwrap_or(Parsed::More(raw))
}

fn task_line(raw: &[u8]) -> Option<Parsed<'_>> {
    // The CPU is in brackets, which a task's name may have, too.
    let mut starts = raw.iter().enumerate().filter(|(_, b)| **b == b'[');
    starts.find_map(|(at, _)| {
        let (cpu, after) = split(&raw[at + 1..], b']')?;
        let is_number = !cpu.is_empty() && cpu.iter().all(u8::is_ascii_digit);
        let cpu = number(cpu).filter(|_| is_number)?;
        let task = task(&raw[..at])?;
        let (time, message) = time(after)?;
        Some(Parsed::at(time, raw, |time| Line {
            time,
            level: None,
            writer: Writer { context: None, cpu: u32::try_from(cpu).ok(), task: Some(task) },
            message: message.to_vec(),
        }))
    })
}

/// "fio-1234", and perhaps the process in parentheses.
fn task(text: &[u8]) -> Option<Task> {
    let mut task = text.trim_ascii();
    let mut tgid = None;
    if let Some(inner) = task.strip_suffix(b")") {
        let at = inner.iter().rposition(|b| *b == b'(')?;
        tgid = number(inner[at + 1..].trim_ascii());
        task = inner[..at].trim_ascii();
    }
    let dash = task.iter().rposition(|b| *b == b'-')?;
    let pid = i32::try_from(number(&task[dash + 1..])?).ok()?;
    // Of several files, or buffers, trace-cmd puts the name before that of the task: "one.dat:   fio".
    let name = task[..dash].windows(3).rposition(|w| w == b":  ");
    let name = &task[name.map_or(0, |at| at + 1)..dash];
    let mut comm = [0; 16];
    for (to, from) in comm.iter_mut().zip(name.trim_ascii()) {
        *to = *from;
    }
    let tgid = tgid.and_then(|n| i32::try_from(n).ok()).unwrap_or(pid);
    Some(Task { pid, tgid, comm })
}

/// Perhaps flags, then the time, then the rest.
fn time(text: &[u8]) -> Option<(Time, &[u8])> {
    let mut rest = text.trim_ascii_start();
    for _ in 0..2 {
        let end = rest.iter().position(|b| b.is_ascii_whitespace())?;
        let word = &rest[..end];
        rest = rest[end..].trim_ascii_start();
        let Some(word) = word.strip_suffix(b":") else {
            continue;
        };
        if let Some(time) = seconds(word) {
            return Some((time, rest));
        }
        // Ticks of some other clock.
        if number(word).is_some() {
            return Some((None, rest));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Calibration;

    #[test]
    fn a_kernel_log_is_bounded() {
        let read = |max| {
            let mut told = LogProblems::default();
            let input = unpack::reader(&b"[1.0] a\n[2.0] b\n"[..]).unwrap();
            let boot = Boot::alone("", Calibration::new(None, &[]));
            Sorted::read(Text::new(input, &mut told).unwrap(), max, &boot, &mut told)
        };
        assert!(read(14).is_ok());
        let error = read(13).err().unwrap().to_string();
        assert!(error.contains("more than 1 GiB"), "{error}");
    }
}
