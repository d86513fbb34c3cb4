// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Entries as lines of text.
//!
//! ```text
//! [   12.345678] info  rnull fio[1234]: read 8 sectors at 4096
//! [   12.345901] debug rnull softirq/3 drivers/block/rnull/rnull.rs:71: done
//! [   12.346000] ----- rnull fio[1234]: 120 records lost here (no-page)
//! ```
//!
//! A message is data from a driver, which may have it from anywhere: control characters are shown
//! as `\x1b`, and further lines are indented, so that none can pass for a line of its own.

use regex::bytes::Regex;

use super::{context, level_name, put, time_of, Contexts, Time};
use crate::{
    calendar::push_local,
    decode::Entry,
    digits::{self, SHORT},
    merge::EventKind,
};

/// How lines look.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// The clock.
    pub time: Time,
    /// Show nanoseconds, not microseconds.
    pub ns: bool,
    /// Show file and line.
    pub location: bool,
    /// Show each payload in hex.
    pub raw: bool,
    /// Show the name of the machine, or of its boot, of at least this width.
    pub host: Option<usize>,
    /// Use colours.
    pub color: bool,
}

/// Writes lines.
pub struct Text {
    style: Style,
    previous: Option<i128>,
    host_width: usize,
    /// What stands between time and message, or call site.
    contexts: Contexts,
    /// Of the entry that is printed.
    text: Vec<u8>,
    /// The last time.
    last: Last,
    /// What stands out in messages.
    matches: Option<Regex>,
}

/// A line that may be printed later.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line {
    /// Its time, if it is still to be printed: it counts from the line before.
    time: Option<i128>,
    /// All else.
    pub text: Vec<u8>,
}

/// A time that was printed up to its fraction, and the ns of its whole seconds.
#[derive(Default)]
struct Last {
    text: [u8; SHORT],
    /// 0: it is longer.
    len: usize,
    second: u64,
}

/// A longer name of a machine stands out.
const HOST_MAX: usize = 24;

/// What stands for the level of a loss, and of a line that has none.
const LOSS: u8 = u8::MAX;
const NONE: u8 = u8::MAX - 1;

const RESET: &str = "\x1b[0m";
const GREEN: &str = "\x1b[32m";
const YELLOW: &str = "\x1b[33m";
const RED: &str = "\x1b[31m";
const BOLD_RED: &str = "\x1b[1;31m";
const DIM: &str = "\x1b[2m";
const MATCH: &str = "\x1b[1;31m";

impl Text {
    /// Starts before the first line.
    pub fn new(style: Style) -> Self {
        Self {
            style,
            previous: None,
            host_width: style.host.unwrap_or(0).min(HOST_MAX),
            contexts: Contexts::default(),
            text: Vec::new(),
            last: Last::default(),
            matches: None,
        }
    }

    /// Lets what matches stand out, if colours are used.
    pub fn with_matches(mut self, matches: Option<Regex>) -> Self {
        self.matches = matches.filter(|_| self.style.color);
        self
    }

    /// Appends an entry's line.
    pub fn entry(&mut self, entry: &Entry<'_>, out: &mut Vec<u8>) {
        let time = self.time_of(entry);
        self.time(time, time_of(time, entry.clock(), entry.boot), out);
        self.rest(entry, out);
    }

    /// Makes an entry's line, which may be printed later or not at all.
    pub fn keep(&mut self, entry: &Entry<'_>, line: &mut Line) {
        line.text.clear();
        line.time = None;
        let time = self.time_of(entry);
        let ns = time_of(time, entry.clock(), entry.boot);
        match time {
            Time::Delta => line.time = Some(ns),
            _ => self.time(time, ns, &mut line.text),
        }
        self.rest(entry, &mut line.text);
    }

    /// Appends a line that was kept.
    pub fn put(&mut self, line: &Line, out: &mut Vec<u8>) {
        if let Some(ns) = line.time {
            self.time(Time::Delta, ns, out);
        }
        out.extend_from_slice(&line.text);
    }

    /// The next line is the first one, also for times that count from the line before.
    pub fn restart(&mut self) {
        self.previous = None;
    }

    fn rest(&mut self, entry: &Entry<'_>, out: &mut Vec<u8>) {
        let level = match entry.event.kind {
            EventKind::Record { .. } => entry.level().unwrap_or(0),
            EventKind::Loss { .. } => LOSS,
            EventKind::Line { level } => level.unwrap_or(NONE),
        };
        let (style, host_width) = (&self.style, &mut self.host_width);
        let context = self.contexts.get(entry, level, |text| {
            style.context(entry, level, host_width, text);
        });
        out.extend_from_slice(context);
        if self.style.location {
            if let Some(site) = entry.site() {
                let start = out.len();
                out.push(b' ');
                out.extend_from_slice(site.file.as_bytes());
                out.push(b':');
                digits::push(out, site.line.into());
                escape_name(out, start);
            }
            out.extend_from_slice(b": ");
        }
        if entry.is_loss() {
            self.style.color(RED, out);
            entry.print(out);
            self.style.color(RESET, out);
        } else if entry.is_plain && self.matches.is_none() {
            entry.print(out);
        } else {
            self.text.clear();
            entry.print(&mut self.text);
            self.message(out);
        }
        if self.style.raw && entry.is_record() && entry.raw.is_none() {
            out.extend_from_slice(b" |");
            digits::push_hex(out, entry.payload(), b" ");
        }
        out.push(b'\n');
    }

    /// The clock of an entry's time. Without its real time, that since boot is shown.
    fn time_of(&self, entry: &Entry<'_>) -> Time {
        match self.style.time {
            Time::Wall if !entry.boot.calibration.is_known() => Time::Boot,
            time => time,
        }
    }

    /// Appends a time, in ns of its clock.
    fn time(&mut self, time: Time, ns: i128, out: &mut Vec<u8>) {
        self.style.color(GREEN, out);
        match time {
            Time::Wall => push_local(out, ns, self.style.ns),
            Time::Raw => put(out, format_args!("[{ns:>18}]")),
            Time::Boot | Time::Mono => self.seconds(ns, out),
            Time::Delta => {
                let delta = ns - self.previous.replace(ns).unwrap_or(ns);
                seconds(delta, "+", self.style.ns, out);
            }
        }
        self.style.color(RESET, out);
    }

    /// As [`seconds`] without a sign; most are in the same second as the last one.
    fn seconds(&mut self, ns: i128, out: &mut Vec<u8>) {
        let with_ns = self.style.ns;
        let Ok(ns) = u64::try_from(ns) else {
            return seconds(ns, "", with_ns, out);
        };
        let last = &mut self.last;
        let fraction = ns.wrapping_sub(last.second);
        if fraction < NS && last.len != 0 {
            digits::push_short(out, &last.text, last.len);
            digits::push_six(out, fraction / 1000);
            if with_ns {
                digits::push_three(out, fraction % 1000);
            }
            return out.push(b']');
        }
        let start = out.len();
        seconds(ns.into(), "", with_ns, out);
        let text = &out[start..];
        let text = &text[..text.iter().position(|b| *b == b'.').map_or(0, |dot| dot + 1)];
        (last.second, last.len) = (ns - ns % NS, 0);
        if let Some(to) = last.text.get_mut(..text.len()) {
            to.copy_from_slice(text);
            last.len = text.len();
        }
    }

    /// Appends the message in `text`, with what matches standing out.
    fn message(&self, out: &mut Vec<u8>) {
        let text = trimmed(&self.text);
        let mut done = 0;
        for found in self.matches.iter().flat_map(|regex| regex.find_iter(text)) {
            // A match of bytes may begin or end within a character.
            let (before, at) = (&text[done..found.start()], found.as_bytes());
            if at.is_empty() || std::str::from_utf8(at).is_err() {
                continue;
            }
            escaped(before, out);
            out.extend_from_slice(MATCH.as_bytes());
            escaped(at, out);
            out.extend_from_slice(RESET.as_bytes());
            done = found.end();
        }
        escaped(&text[done..], out);
    }
}

const NS: u64 = 1_000_000_000;

impl Style {
    /// Level, machine, component and context, up to the message if nothing else is before that.
    fn context(&self, entry: &Entry<'_>, level: u8, host_width: &mut usize, out: &mut Vec<u8>) {
        let (color, word) = match level {
            LOSS => (RED, "-----"),
            NONE => ("", ""),
            0 => (RED, "?"),
            1 => (BOLD_RED, level_name(1)),
            2 => (YELLOW, level_name(2)),
            3 => ("", level_name(3)),
            n => (DIM, level_name(n)),
        };
        out.push(b' ');
        self.color(color, out);
        out.extend_from_slice(word.as_bytes());
        out.extend_from_slice(&b"     "[word.len().min(5)..]);
        if !color.is_empty() {
            self.color(RESET, out);
        }
        out.push(b' ');
        if self.host.is_some() {
            // Names of machines line up as far as they were seen.
            let (host, start) = (&entry.boot.name, out.len());
            out.extend_from_slice(host.as_bytes());
            escape_name(out, start);
            let len = host.chars().count();
            *host_width = (*host_width).max(len.min(HOST_MAX));
            out.resize(out.len() + host_width.saturating_sub(len) + 1, b' ');
        }
        let start = out.len();
        out.extend_from_slice(entry.stream.component.as_bytes());
        out.push(b' ');
        let empty = out.len();
        context(entry, out);
        if out.len() == empty {
            out.pop();
        }
        escape_name(out, start);
        if !self.location {
            out.extend_from_slice(b": ");
        }
    }

    #[inline]
    fn color(&self, color: &str, out: &mut Vec<u8>) {
        if self.color {
            out.extend_from_slice(color.as_bytes());
        }
    }
}

/// `[   12.345678]`, cut to microseconds as dmesg does it, or `[   12.345678901]`.
fn seconds(ns: i128, plus: &str, with_ns: bool, out: &mut Vec<u8>) {
    let sign = if ns < 0 { "-" } else { plus };
    out.push(b'[');
    // No clock that there is counts beyond u64.
    let ns = u64::try_from(ns.unsigned_abs()).unwrap_or(u64::MAX);
    let (whole, fraction) = (ns / NS, ns % NS);
    if sign.is_empty() {
        digits::push_padded(out, whole, 5, b' ');
    } else {
        let digits = whole.checked_ilog10().unwrap_or(0) as usize + 1;
        out.extend_from_slice(&b"    "[digits.min(4)..]);
        out.extend_from_slice(sign.as_bytes());
        digits::push(out, whole);
    }
    out.push(b'.');
    match with_ns {
        true => digits::push_padded(out, fraction, 9, b'0'),
        false => digits::push_padded(out, fraction / 1000, 6, b'0'),
    }
    out.push(b']');
}

/// A message without the ends of lines at its end.
fn trimmed(mut text: &[u8]) -> &[u8] {
    while let [rest @ .., b'\n'] = text {
        text = rest;
    }
    text
}

fn escaped(text: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(text);
    escape_from(out, start);
}

/// Makes a message that was appended since `start` safe for a terminal and for line-wise tools.
pub fn escape_from(out: &mut Vec<u8>, start: usize) {
    escape(out, start, Lines::Indent);
}

/// The same of a message whose lines stay as they are, as quotes or tables keep them together.
pub fn escape_lines(out: &mut Vec<u8>, start: usize) {
    escape(out, start, Lines::Keep);
}

/// The same of names, which have no lines.
pub fn escape_name(out: &mut Vec<u8>, start: usize) {
    escape(out, start, Lines::Escape);
}

/// What becomes of the ends of lines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lines {
    Indent,
    Keep,
    Escape,
}

fn escape(out: &mut Vec<u8>, start: usize, lines: Lines) {
    // Bytes beyond ASCII may be no UTF-8, or what `is_unsafe` says. All of it, as that is done for
    // many bytes at once.
    let is_plain = |b: u8| (0x20..0x7f).contains(&b);
    if out[start..].iter().fold(true, |all, &b| all & is_plain(b)) {
        return;
    }
    let raw = out.split_off(start);
    for c in String::from_utf8_lossy(&raw).chars() {
        match c {
            '\n' if lines == Lines::Indent => out.extend_from_slice(b"\n    "),
            '\n' | '\t' if lines != Lines::Escape => out.push(c as u8),
            c if c.is_control() => put(out, format_args!("\\x{:02x}", u32::from(c))),
            c if is_unsafe(c) => put(out, format_args!("\\u{{{:x}}}", u32::from(c))),
            c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

/// Whether a character controls a terminal, or makes text appear in another order or in other lines
/// than it has.
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(s: &str) -> String {
        let mut out = s.as_bytes().to_vec();
        escape_from(&mut out, 0);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn no_message_can_pass_for_a_line_or_move_the_cursor() {
        assert_eq!(escaped("plain \u{e9}\u{a0}"), "plain \u{e9}\u{a0}");
        assert_eq!(escaped("a\n[    1.0] err"), "a\n    [    1.0] err");
        assert_eq!(escaped("\x1b[2J\r\x7f\u{9b}1m"), "\\x1b[2J\\x0d\\x7f\\x9b1m");
        assert_eq!(escaped("\u{202e}x\u{2066}\u{2028}"), "\\u{202e}x\\u{2066}\\u{2028}");
        let mut out = b"\x9b1m\xe2".to_vec();
        escape_from(&mut out, 0);
        assert_eq!(String::from_utf8(out).unwrap(), "\u{fffd}1m\u{fffd}");
        let mut out = b"a\nb\tc".to_vec();
        escape_name(&mut out, 0);
        assert_eq!(out, b"a\\x0ab\\x09c");
    }
}
