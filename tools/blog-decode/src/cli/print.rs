// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Entries to standard output, in the chosen form, with the context of matches.

use std::{
    collections::{HashSet, VecDeque},
    io::{self, IsTerminal, StdoutLock, Write},
    sync::OnceLock,
};

use regex::bytes::Regex;

use super::args::{Color, Look, Output, TimeArg};
use crate::{
    batch::Work,
    boot::Boot,
    decode::{Entry, Missing},
    filter::Filter,
    merge::{Cause, EventKind},
    output::{
        csv::Csv,
        json::Json,
        template::Template,
        text::{escape_from, Line, Style, Text},
        Time,
    },
};

/// As much is collected before it is written.
const BUFFER: usize = 64 << 10;

/// Standard output, with the state of the form in which entries are printed.
pub struct Out<'a> {
    args: &'a Output,
    style: Style,
    /// What stands out in messages.
    matches: Option<Regex>,
    stdout: StdoutLock<'static>,
    buffer: Vec<u8>,
    printer: Printer<'a>,
    window: Window,
    ends: Ends,
    /// The last entries, if only these are printed, or the last one first.
    kept: VecDeque<Kept>,
    /// Losses that were dropped as older than these, which may have gone on.
    dropped: Vec<Loss>,
    /// Of the dropped ones: records that may be later than the first entry that was kept.
    pub hidden: Missing,
    /// Records that match, of those that were given to it and not dropped as older than the last.
    pub shown: u64,
}

/// An entry that may be printed later.
#[derive(Default)]
struct Kept {
    is_match: bool,
    time: i128,
    loss: Option<Loss>,
    line: Line,
}

/// Records that are missing until this time.
struct Loss {
    cause: Cause,
    count: u64,
    until: i128,
}

/// As many losses are looked through at once, to forget those that have ended.
const LOSSES: usize = 1024;

/// Which entries are printed of all that there are, and in which order.
#[derive(Clone, Copy, Default)]
pub struct Ends {
    /// Only as many, the last ones.
    pub last: Option<usize>,
    /// The last one first.
    pub reverse: bool,
}

impl<'a> Out<'a> {
    /// Starts before the first entry. `context` is how many records before and after those that
    /// match `filter` are printed, too; `host`: how wide the names of boots are, if there are several.
    pub fn new(
        args: &'a Output,
        filter: &Filter,
        context: (usize, usize),
        host: Option<usize>,
        ends: Ends,
    ) -> Self {
        let stdout = io::stdout().lock();
        let mut buffer = Vec::with_capacity(2 * BUFFER);
        let style = Style {
            time: time(args.time, host),
            ns: args.ns,
            location: args.location,
            raw: args.raw,
            host,
            color: use_color(),
        };
        let matches = filter.grep.clone().filter(|_| !filter.invert);
        let printer = Printer::new(args, style, matches.clone());
        if let Printer::Csv(csv) = &printer {
            csv.header(&mut buffer);
        }
        let separator: &[u8] = match printer {
            Printer::Text(_) | Printer::Template(_) => b"--\n",
            Printer::Json(_) | Printer::Csv(_) => b"",
        };
        Self {
            args,
            style,
            matches,
            stdout,
            buffer,
            printer,
            window: Window::new(context, separator),
            ends,
            kept: VecDeque::new(),
            dropped: Vec::new(),
            hidden: Missing::default(),
            shown: 0,
        }
    }

    /// Prints an entry.
    pub fn entry(&mut self, entry: &Entry<'_>) -> io::Result<()> {
        if self.ends.last.is_some() || self.ends.reverse {
            self.keep(entry);
            return Ok(());
        }
        self.shown += u64::from(entry.is_match);
        self.window.entry(entry, &mut self.printer, &mut self.buffer);
        if self.buffer.len() >= BUFFER {
            self.write()?;
        }
        Ok(())
    }

    /// What prints entries as [`Out::entry`] does, for other threads; `None` if how a line looks, or
    /// whether it is printed, depends on those before it.
    pub fn others(&self, boots: &[Boot]) -> Option<impl Fn() -> Printer<'a>> {
        let (args, style, matches) = (self.args, self.style, self.matches.clone());
        let depends = self.ends.last.is_some()
            || self.ends.reverse
            || (self.window.before, self.window.after) != (0, 0)
            || style.time == Time::Delta
            || boots.iter().any(|b| b.is_one_of_host);
        (!depends).then_some(move || Printer::new(args, style, matches.clone()))
    }

    /// Prints what is no entry, or what others have printed.
    pub fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write()?;
        self.stdout.write_all(bytes)
    }

    fn keep(&mut self, entry: &Entry<'_>) {
        let max = self.ends.last.unwrap_or(usize::MAX);
        let mut kept = match self.kept.len() >= max {
            true => self.kept.pop_front().unwrap_or_default(),
            false => Kept::default(),
        };
        self.shown -= u64::from(kept.is_match);
        self.dropped.extend(kept.loss.take());
        if self.dropped.len() % LOSSES == LOSSES - 1 {
            self.forget();
        }
        self.printer.keep(entry, &mut kept.line);
        kept.is_match = entry.is_match;
        kept.time = entry.boot.axis(entry.clock());
        if let EventKind::Loss { cause, count, span } = entry.event.kind {
            let until = entry.boot.axis(span.1);
            kept.loss = Some(Loss { cause, count, until });
        }
        if max != 0 {
            self.shown += u64::from(entry.is_match);
            self.kept.push_back(kept);
        }
    }

    /// Forgets losses that had ended before the first entry that is kept.
    fn forget(&mut self) {
        let first = self.kept.front().map_or(i128::MAX, |kept| kept.time);
        self.dropped.retain(|loss| loss.until > first);
    }

    fn write(&mut self) -> io::Result<()> {
        let result = self.stdout.write_all(&self.buffer);
        self.buffer.clear();
        result
    }

    /// Writes what was printed so far.
    pub fn flush(&mut self) -> io::Result<()> {
        self.write()?;
        self.stdout.flush()
    }

    /// Prints what has waited to the end, and writes everything.
    pub fn end(&mut self) -> io::Result<()> {
        self.window.end(&mut self.printer, &mut self.buffer);
        self.forget();
        for Loss { cause, count, .. } in self.dropped.drain(..) {
            self.hidden.add(cause, count);
        }
        if self.ends.reverse {
            self.kept.make_contiguous().reverse();
        }
        self.release()
    }

    /// Prints the last entries so far, and all that come from now on.
    pub fn release(&mut self) -> io::Result<()> {
        self.ends.last = None;
        while let Some(Kept { line, .. }) = self.kept.pop_front() {
            self.printer.put(&line, &mut self.buffer);
            if self.buffer.len() >= BUFFER {
                self.write()?;
            }
        }
        self.flush()
    }
}

/// A form of output with its state.
#[allow(missing_docs)]
pub enum Printer<'a> {
    Text(Box<Text>),
    Json(Json),
    Csv(Csv),
    Template(&'a Template),
}

impl Work<'_> for Printer<'_> {
    type Made = Vec<u8>;

    fn needs_messages(&self) -> bool {
        matches!(self, Self::Csv(_) | Self::Template(_))
    }

    fn entry(&mut self, entry: &mut Entry<'_>, out: &mut Vec<u8>) {
        self.print(entry, out);
    }
}

impl Printer<'_> {
    /// Appends an entry.
    fn print(&mut self, entry: &Entry<'_>, out: &mut Vec<u8>) {
        match self {
            Self::Text(text) => text.entry(entry, out),
            Self::Json(json) => json.entry(entry, out),
            Self::Csv(csv) => csv.entry(entry, out),
            Self::Template(template) => template.entry(entry, out),
        }
    }

    /// Prints records beside what a command is about; `host` as for [`Out::new`].
    pub fn beside(look: &Look, host: Option<usize>) -> Self {
        match look.json {
            true => Self::Json(Json::default()),
            false => Self::Text(Box::new(Text::new(style(look, host)))),
        }
    }

    /// Makes an entry's line, which may be printed later.
    pub fn keep(&mut self, entry: &Entry<'_>, line: &mut Line) {
        match self {
            Self::Text(text) => text.keep(entry, line),
            _ => {
                line.text.clear();
                self.print(entry, &mut line.text);
            }
        }
    }

    /// The same, as a new one.
    pub fn kept(&mut self, entry: &Entry<'_>) -> Line {
        let mut line = Line::default();
        self.keep(entry, &mut line);
        line
    }

    /// Prints a line that was kept.
    pub fn put(&mut self, line: &Line, out: &mut Vec<u8>) {
        match self {
            Self::Text(text) => text.put(line, out),
            _ => out.extend_from_slice(&line.text),
        }
    }

    /// Prints lines that belong together, and to none before them.
    pub fn group<'l>(&mut self, lines: impl IntoIterator<Item = &'l Line>, out: &mut Vec<u8>) {
        if let Self::Text(text) = self {
            text.restart();
        }
        lines.into_iter().for_each(|line| self.put(line, out));
    }
}

impl<'a> Printer<'a> {
    fn new(args: &'a Output, style: Style, matches: Option<Regex>) -> Self {
        if args.json {
            Self::Json(Json::new(args.raw))
        } else if args.csv {
            Self::Csv(Csv::new(args.columns.clone().unwrap_or_default()))
        } else if let Some(template) = &args.format {
            Self::Template(template)
        } else {
            Self::Text(Box::new(Text::new(style).with_matches(matches)))
        }
    }
}

/// The style of records beside what a command is about; `host` as for [`Out::new`].
fn style(look: &Look, host: Option<usize>) -> Style {
    Style {
        time: time(look.time, host),
        ns: look.ns,
        location: look.location,
        raw: false,
        host,
        color: has_color(look),
    }
}

/// Whether what stands beside these records has colours, too.
pub(super) fn has_color(look: &Look) -> bool {
    !look.json && use_color()
}

/// The clock that is shown. Times since several boots say nothing of what came first.
fn time(asked: Option<TimeArg>, host: Option<usize>) -> Time {
    match (asked, host) {
        (Some(time), _) => time.into(),
        (None, Some(_)) => Time::Wall,
        (None, None) => Time::Boot,
    }
}

/// Whether to use colours, once it is settled.
static COLOR: OnceLock<bool> = OnceLock::new();

/// Settles whether to use colours. If that goes by the terminal, it must be the one of now.
pub(super) fn settle_color(when: Color) {
    let _ = COLOR.set(match when {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            let no_color = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
            io::stdout().is_terminal() && !no_color && is_able()
        }
    });
}

/// Whether to use colours.
fn use_color() -> bool {
    COLOR.get().is_some_and(|color| *color)
}

/// Whether a terminal can do more than print: by `TERM`, which one that is able sets.
pub(super) fn is_able() -> bool {
    std::env::var_os("TERM").is_some_and(|t| !t.is_empty() && t != "dumb")
}

/// Records around those that match, as with grep.
struct Window {
    before: usize,
    after: usize,
    separator: &'static [u8],
    /// Lines that were not printed yet, at most `before`; with `true` those of losses, which are
    /// printed in any case.
    waiting: VecDeque<(bool, Option<Mark>, Line)>,
    /// Buffers for further ones.
    spare: Vec<Line>,
    /// Records after a match that are still to be printed.
    left: usize,
    /// Whether something was printed, and something after it was not.
    has_printed: bool,
    has_gap: bool,
    /// Boots that have begun, by their indices.
    begun: HashSet<usize>,
}

/// The line where a boot begins, of a machine that has several, and the boot's index.
type Mark = (usize, Vec<u8>);

fn mark(boot: &Boot) -> Mark {
    let id = boot.id.as_deref().unwrap_or("unknown");
    let mut line = format!("-- boot {id} of {} --", boot.host).into_bytes();
    escape_from(&mut line, 0);
    line.push(b'\n');
    (boot.index, line)
}

impl Window {
    fn new((before, after): (usize, usize), separator: &'static [u8]) -> Self {
        Self {
            before,
            after,
            separator,
            waiting: VecDeque::new(),
            spare: Vec::new(),
            left: 0,
            has_printed: false,
            has_gap: false,
            begun: HashSet::new(),
        }
    }

    fn entry(&mut self, entry: &Entry<'_>, printer: &mut Printer<'_>, out: &mut Vec<u8>) {
        let boot = entry.boot;
        let is_new =
            !self.separator.is_empty() && boot.is_one_of_host && !self.begun.contains(&boot.index);
        let mark = is_new.then(|| mark(boot));
        if self.before == 0 && self.after == 0 {
            self.mark(mark, out);
            return printer.print(entry, out);
        }
        let is_loss = entry.is_loss();
        if entry.is_match {
            self.separate(out);
            while let Some((_, mark, line)) = self.waiting.pop_front() {
                self.mark(mark, out);
                printer.put(&line, out);
                self.spare.push(line);
            }
            self.left = self.after;
            self.mark(mark, out);
            return printer.print(entry, out);
        }
        if self.left > 0 || is_loss && self.waiting.is_empty() {
            self.separate(out);
            self.left = self.left.saturating_sub(usize::from(!is_loss));
            self.mark(mark, out);
            return printer.print(entry, out);
        }
        let mut line = if self.waiting.len() >= self.before {
            match self.waiting.pop_front() {
                Some(oldest) => self.drop_or_print(oldest, printer, out),
                None => {
                    self.has_gap = true;
                    return;
                }
            }
        } else {
            self.spare.pop().unwrap_or_default()
        };
        printer.keep(entry, &mut line);
        self.waiting.push_back((is_loss, mark, line));
    }

    /// Says that a boot begins.
    fn mark(&mut self, mark: Option<Mark>, out: &mut Vec<u8>) {
        if let Some((_, line)) = mark.filter(|(index, _)| self.begun.insert(*index)) {
            out.extend_from_slice(&line);
        }
    }

    /// What goes before lines that follow a gap.
    fn separate(&mut self, out: &mut Vec<u8>) {
        if self.has_gap && self.has_printed {
            out.extend_from_slice(self.separator);
        }
        self.has_gap = false;
        self.has_printed = true;
    }

    fn drop_or_print(
        &mut self,
        (keep, mark, line): (bool, Option<Mark>, Line),
        printer: &mut Printer<'_>,
        out: &mut Vec<u8>,
    ) -> Line {
        if keep {
            self.separate(out);
            self.mark(mark, out);
            printer.put(&line, out);
        } else {
            self.has_gap = true;
        }
        line
    }

    /// Prints what has waited to the end.
    fn end(&mut self, printer: &mut Printer<'_>, out: &mut Vec<u8>) {
        while let Some(waiting) = self.waiting.pop_front() {
            self.drop_or_print(waiting, printer, out);
        }
    }
}
