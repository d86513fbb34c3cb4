// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! What console servers, containers and syslog put in front of a line.

use super::{
    date::{dated, Date},
    without_release,
};

/// A longer line is not joined from pieces, and a longer object is none of a log.
pub const JOINED_MAX: usize = 64 << 10;

/// A line as it was logged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// All of it, without quoting and escapes.
    pub text: Vec<u8>,
    /// Where in the text the logged part begins.
    pub at: usize,
    /// What its transport says of it.
    pub origin: Origin,
}

impl Line {
    /// The part that was logged.
    pub fn logged(&self) -> &[u8] {
        &self.text[self.at..]
    }
}

/// What a transport says of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The level, as printk has it, and perhaps a facility.
    pub priority: Option<u8>,
    /// When it was written.
    pub date: Option<Date>,
    /// Whether syslog wrote the date: then a line without the kernel's name is another program's.
    pub is_syslog: bool,
    /// The name of the machine.
    pub host: Option<Vec<u8>>,
    /// The id of the boot, in hex.
    pub boot: Option<Vec<u8>>,
}

/// Splits off what console servers, containers and syslog have put in front of a line.
pub fn prefixed(text: Vec<u8>) -> Line {
    /// A date of a console server may stand before one of syslog.
    const DATES: usize = 3;
    let (mut at, mut origin) = (0, Origin::default());
    if let Some((priority, rest)) = priority(&text) {
        let rest = rest.strip_prefix(b"1 ").unwrap_or(rest);
        if dated(rest).is_some() {
            (at, origin.priority) = (text.len() - rest.len(), Some(priority));
        }
    }
    for _ in 0..DATES {
        let Some((len, date, is_bare)) = dated(&text[at..]) else {
            break;
        };
        at += len;
        (origin.date, origin.is_syslog) = (date.or(origin.date), is_bare && date.is_some());
    }
    // A bar, or a dash, may stand after a date.
    let is_mark = |b: &&u8| matches!(b, b'|' | b'-' | b'>' | b' ' | b'\t');
    let marks = text[at..].iter().take_while(is_mark).count();
    if at > 0 && text[at + marks..].starts_with(b"[") {
        at += marks;
    }
    let streams: [&[u8]; 4] = [b"stdout F ", b"stderr F ", b"stdout P ", b"stderr P "];
    let stream = streams.iter().find(|stream| text[at..].starts_with(stream));
    at += stream.map_or(0, |stream| stream.len());
    at += named(&text[at..], &mut origin);
    Line { text, at, origin }
}

/// "<6>text"
pub fn priority(text: &[u8]) -> Option<(u8, &[u8])> {
    let end = text.iter().take(5).position(|b| *b == b'>')?;
    let digits = text[..end].strip_prefix(b"<")?;
    let number: u16 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some((number as u8, &text[end + 1..]))
}

/// How long the names of a machine and of the kernel are at the start of a line of syslog: "host kernel: ".
/// Another program's line has its own names, "host app[5]: ".
fn named(text: &[u8], origin: &mut Origin) -> usize {
    const HEAD: usize = 128;
    let kernels: [&[u8]; 2] = [b" kernel: ", b" kernel - - - "];
    let is_word = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_alphanumeric());
    if !is_word(text.first()) {
        return 0;
    }
    let head = &text[..text.len().min(HEAD)];
    let ends = kernels.iter().filter_map(|kernel| {
        let at = head.windows(kernel.len()).position(|w| w == *kernel)?;
        Some((at, at + kernel.len()))
    });
    if let Some((at, end)) = ends.min() {
        let mut words = head[..at].rsplit(|b| *b == b' ').peekable();
        // As busybox has it: "host kern.info kernel: ".
        let level = |word: &&[u8]| {
            let name = word.strip_prefix(b"kern.")?;
            LEVELS.iter().position(|level| *level == name)
        };
        if let Some(level) = words.peek().and_then(level) {
            origin.priority = Some(level as u8);
            words.next();
        }
        if origin.is_syslog && text[end..].trim_ascii_start().starts_with(b"[") {
            origin.host = words.next().map(<[u8]>::to_vec);
        }
        return end;
    }
    let mut words = head.split(|b| *b == b' ');
    let (host, program) = (words.next(), words.next());
    let is_name = |word: &&[u8]| !word.ends_with(b":") && !word.contains(&b';');
    let Some(host) = host.filter(|word| origin.is_syslog && is_name(word)) else {
        return 0;
    };
    let after = host.len() + 1;
    let is_packet = text.get(after..).is_some_and(is_printk);
    if is_packet || program.is_some_and(|word| word.ends_with(b"]:")) {
        origin.host = Some(host.to_vec());
    }
    if is_packet {
        after
    } else {
        0
    }
}

/// Whether a text begins as printk writes it, "[    1.5", or netconsole, "6,300,": when syslog takes
/// its packets, it finds no name of a program in them.
fn is_printk(text: &[u8]) -> bool {
    let (text, mark) = match text {
        [b'[', rest @ ..] => (rest.trim_ascii_start(), b'.'),
        _ => (without_release(text), b','),
    };
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    digits > 0 && text.get(digits) == Some(&mark)
}

/// Whether a line can't be the rest of a broken one.
pub fn begins_a_line(line: &[u8]) -> bool {
    matches!(line.first(), Some(b'[' | b'<')) || dated(line).is_some()
}

/// Names of levels, as `dmesg -x` and `dmesg --json` have them.
pub const LEVELS: [&[u8]; 8] =
    [b"emerg", b"alert", b"crit", b"err", b"warn", b"notice", b"info", b"debug"];
