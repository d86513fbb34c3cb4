// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Undoes what happened to the lines of a log on their way to a file.
//!
//! Console servers and syslog write a date in front of each line, mail quotes and breaks lines,
//! netconsole cuts them, the journal and `dmesg --json` make objects of them. [`Lines`] takes a file
//! line by line and gives lines as they were logged, with what the transport says of them: date,
//! machine and boot. Both readers of logs use it: `foreign.rs` for lines of the kernel, `words.rs` for
//! last words.
//!
//! Nothing of a line is dropped that may be a part of its text: what stands in front of the logged text
//! stays in [`Line::text`], before [`Line::at`].
//!
//! ```text
//! mod.rs     joins what was broken or cut, in an order that undoes the last step first
//! json.rs    objects, each of which has a line
//! prefix.rs  what stands in front of a line
//! date.rs    dates
//! ```

mod date;
mod json;
mod prefix;

use std::collections::VecDeque;

use json::Json;
use prefix::{begins_a_line, prefixed, JOINED_MAX};

pub use date::{has_date, is_set};
pub use prefix::{priority, Line, Origin, LEVELS};

/// Lines of a file, as they were logged.
#[derive(Default)]
pub struct Lines {
    ready: VecDeque<Line>,
    /// The start of a line that quoted-printable has broken, and whether such a line was seen.
    soft: Vec<u8>,
    is_quoted: bool,
    json: Option<Json>,
    fragment: Option<Fragment>,
    /// Lines that lack pieces.
    pub torn: u64,
}

impl Lines {
    /// Takes a line of the file, without its end.
    pub fn push(&mut self, raw: &[u8]) {
        let mut line = without_escapes(raw);
        let goes_on = is_soft(&line);
        if !self.soft.is_empty() {
            let start = std::mem::take(&mut self.soft);
            match begins_a_line(&line) {
                // It was no break, but the end of a line.
                true => self.unbroken([&start[..], b"="].concat()),
                false => line.splice(..0, start).for_each(drop),
            }
        }
        if goes_on && line.len() < JOINED_MAX {
            line.truncate(line.trim_ascii_end().len() - 1);
            (self.soft, self.is_quoted) = (line, true);
            return;
        }
        self.is_quoted |= line.eq_ignore_ascii_case(QUOTED);
        if self.is_quoted {
            match printable(&line) {
                Some(text) => line = text,
                None => self.is_quoted = false,
            }
        }
        self.unbroken(line);
    }

    /// The file is at its end.
    pub fn end(&mut self) {
        if !self.soft.is_empty() {
            let line = std::mem::take(&mut self.soft);
            self.unbroken(line);
        }
        if let Some(json) = self.json.take() {
            self.as_it_is(json);
        }
        if let Some(fragment) = self.fragment.take() {
            self.torn += 1;
            self.done(fragment.line);
        }
    }

    /// Takes a line that is not broken.
    fn unbroken(&mut self, mut line: Vec<u8>) {
        line.drain(..quoted(&line));
        if let Some(json) = self.json.take() {
            return self.object(json, &line);
        }
        let line = prefixed(line);
        let logged = line.logged().trim_ascii_start();
        match logged.starts_with(b"{") || logged.starts_with(b"[{") {
            true => self.object(Json::new(line.origin.clone()), &line.text[line.at..]),
            false => self.piece(line),
        }
    }

    /// Takes a line in which an object begins, or goes on.
    fn object(&mut self, mut json: Json, text: &[u8]) {
        let mut rest = text;
        while let Some(end) = json.read(rest) {
            let origin = json.origin.clone();
            self.made(std::mem::take(&mut json.made));
            if json.raw.iter().any(u8::is_ascii_alphanumeric) {
                self.as_it_is(json);
            }
            rest = rest[end..].trim_ascii_start();
            rest = rest.strip_prefix(b",").unwrap_or(rest).trim_ascii_start();
            if rest.is_empty() {
                return;
            }
            json = Json::new(origin);
        }
        self.made(std::mem::take(&mut json.made));
        match json.is_bad {
            // It is other text that begins like an object.
            true => self.as_it_is(json),
            false => self.json = Some(json),
        }
    }

    fn made(&mut self, lines: Vec<Line>) {
        lines.into_iter().for_each(|line| self.piece(line));
    }

    /// Takes the text of what is no object of a log.
    fn as_it_is(&mut self, json: Json) {
        for text in json.raw.split(|b| *b == b'\n').filter(|text| !text.is_empty()) {
            self.piece(prefixed(text.to_vec()));
        }
    }

    /// Takes a line that may be a piece of one that netconsole has cut.
    fn piece(&mut self, line: Line) {
        let cut = Cut::parse(line.logged());
        if let Some(mut fragment) = self.fragment.take() {
            let is_next = |cut: &&Cut| cut.id == fragment.id && cut.from == fragment.len;
            if let Some(cut) = cut.as_ref().filter(is_next) {
                fragment.line.text.extend_from_slice(&cut.text);
                fragment.len += cut.text.len();
                return self.joined(fragment);
            }
            self.torn += 1;
            self.done(fragment.line);
        }
        let Some(cut) = cut else {
            return self.done(line);
        };
        self.torn += u64::from(cut.from > 0);
        let text = [&line.text[..line.at], &cut.id, b"-;", &cut.text].concat();
        self.joined(Fragment {
            line: Line { text, ..line },
            id: cut.id,
            len: cut.from + cut.text.len(),
            whole: cut.whole,
        });
    }

    fn joined(&mut self, fragment: Fragment) {
        match fragment.len >= fragment.whole {
            true => self.done(fragment.line),
            false => self.fragment = Some(fragment),
        }
    }

    /// A line is whole. Blanks at its end are those of a screen, or of a terminal's width.
    fn done(&mut self, mut line: Line) {
        let end = line.text.trim_ascii_end().len();
        line.text.truncate(end.max(line.at));
        self.ready.push_back(line);
    }
}

impl Iterator for Lines {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        self.ready.pop_front()
    }
}

/// The start of a line that netconsole has cut.
struct Fragment {
    line: Line,
    /// Level, number and time of the line, as they are written.
    id: Vec<u8>,
    /// Length of its text so far, and of the whole one.
    len: usize,
    whole: usize,
}

/// A piece of a line: "6,416,1758426,-,ncfrag=0/33;text", perhaps with the kernel's release in front.
struct Cut {
    id: Vec<u8>,
    from: usize,
    whole: usize,
    text: Vec<u8>,
}

impl Cut {
    fn parse(text: &[u8]) -> Option<Self> {
        const PART: &[u8] = b",ncfrag=";
        let end = text.iter().position(|b| *b == b';')?;
        let (head, mut body) = (&text[..end], &text[end + 1..]);
        let at = head.windows(PART.len()).position(|w| w == PART)?;
        let (from, whole) = std::str::from_utf8(&head[at + PART.len()..]).ok()?.split_once('/')?;
        let whole = whole.split(',').next()?.parse::<usize>().ok()?;
        let (from, mut text) = (from.parse::<usize>().ok()?, Vec::new());
        // Without the flags, in which only the first piece says that it begins a line.
        let fields = &head[..at];
        let flags = fields.iter().rposition(|b| *b == b',')?;
        let id = without_release(&fields[..flags + 1]);
        // Where the pieces came as packets, nothing is between them: the next header is in the text.
        let next = &fields[..flags + 1];
        while let Some(at) = body.windows(next.len()).position(|w| w == next) {
            let rest = &body[at..];
            let Some(end) = rest.iter().position(|b| *b == b';') else {
                break;
            };
            text.extend_from_slice(&body[..at]);
            body = &rest[end + 1..];
        }
        text.extend_from_slice(body);
        (whole <= JOINED_MAX && from <= whole).then(|| Self { id: id.to_vec(), from, whole, text })
    }
}

/// A header of `/dev/kmsg` without the release of the kernel, which netconsole may put in front.
pub fn without_release(head: &[u8]) -> &[u8] {
    let comma = head.iter().position(|b| *b == b',');
    match comma {
        Some(at) if head[..at].contains(&b'.') => &head[at + 1..],
        _ => head,
    }
}

/// Text of `/dev/kmsg` as it was logged: there, bytes are escaped as `\x1b`.
pub fn unescaped(text: &[u8]) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::with_capacity(text.len()), text);
    while let [first, after @ ..] = rest {
        match after {
            [b'x', high, low, tail @ ..] if *first == b'\\' => match hex(*high, *low) {
                Some(byte) => {
                    out.push(byte);
                    rest = tail;
                    continue;
                }
                None => out.push(*first),
            },
            _ => out.push(*first),
        }
        rest = after;
    }
    out
}

fn hex(high: u8, low: u8) -> Option<u8> {
    let digit = |b: u8| char::from(b).to_digit(16);
    Some((digit(high)? * 16 + digit(low)?) as u8)
}

/// A line without escape sequences of terminals, zeros (as UTF-16 has them) and the mark of UTF-8 or
/// UTF-16.
fn without_escapes(raw: &[u8]) -> Vec<u8> {
    #[derive(Clone, Copy, PartialEq)]
    enum In {
        Text,
        /// After ESC.
        Start,
        /// After ESC and `[`.
        Parameters,
    }
    let marks: [&[u8]; 3] = [b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"];
    let raw = marks.iter().find_map(|mark| raw.strip_prefix(*mark)).unwrap_or(raw);
    // Consoles end lines by a line feed and a carriage return, too.
    let returns = raw.iter().take_while(|b| **b == b'\r').count();
    let raw = &raw[returns..];
    let (mut out, mut state) = (Vec::with_capacity(raw.len()), In::Text);
    for &byte in raw {
        state = match (state, byte) {
            (_, 0x1b) => In::Start,
            (In::Start, b'[') => In::Parameters,
            (In::Parameters, b' '..=b'?') => In::Parameters,
            (In::Start | In::Parameters, b' '..=b'~') => In::Text,
            (_, 0) => state,
            _ => {
                out.push(byte);
                In::Text
            }
        };
    }
    out
}

/// What a mail says of the lines that follow.
const QUOTED: &[u8] = b"Content-Transfer-Encoding: quoted-printable";

/// Whether quoted-printable has broken a line after this piece of it. A shorter line that ends so is
/// one that was not broken.
fn is_soft(piece: &[u8]) -> bool {
    let piece = piece.trim_ascii_end();
    (70..=76).contains(&piece.len()) && piece.ends_with(b"=")
}

/// What quoted-printable stands for; `None`: it is other text.
fn printable(line: &[u8]) -> Option<Vec<u8>> {
    let mut parts = line.split(|b| *b == b'=');
    let mut out = parts.next()?.to_vec();
    for part in parts {
        let &[high, low, ref rest @ ..] = part else {
            return None;
        };
        out.push(hex(high, low)?);
        out.extend_from_slice(rest);
    }
    Some(out)
}

/// How much of a line is a mail's quoting, or what separates objects.
fn quoted(line: &[u8]) -> usize {
    let marks: [&[u8]; 3] = [b"> ", b">", b"\x1e"];
    let mut rest = line;
    while let Some(after) = marks.iter().find_map(|mark| rest.strip_prefix(*mark)) {
        rest = after;
    }
    line.len() - rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8]) -> Vec<String> {
        let mut lines = Lines::default();
        text.split(|b| *b == b'\n').for_each(|line| lines.push(line));
        lines.end();
        let text = |line: Line| String::from_utf8_lossy(line.logged()).into_owned();
        lines.map(text).filter(|text| !text.is_empty()).collect()
    }

    #[test]
    fn other_text_stays_as_it_is() {
        for text in [
            "{\n  tag: 3,\n}",
            "{]}\n}",
            "{\"a\": 1, \"b\": {\"c\": \"d\"}}",
            "[{\"level\":\"info\",\"n\":3}]",
            "{\"a\": {\n\"b",
            "[{ 1 2 : }",
            "6,1,2,-,ncfrag=x/y;z",
            "a line of 76 letters that ends so, and after which another one begins ok =\n[    1.0] b",
            "flags=1F, =C3=A9",
            "Loading kernel: foo",
            "12:34:56.a",
            "Nov 32 10:00:00 x",
        ] {
            let expected: Vec<&str> = text.split('\n').collect();
            let seen = lines(text.as_bytes());
            let starts = expected.iter().zip(&seen).all(|(text, seen)| text.ends_with(&**seen));
            assert!(starts && seen.len() == expected.len(), "{text}: {seen:?}");
        }
    }

    #[test]
    fn objects_in_a_line_of_the_log_are_none_of_it() {
        let text = b"{\"MESSAGE\":\"a \\\"b\\\" \\ud83e\\udd80\\n{\",\"x\":{\"y\":[1,{\"z\":2}]},\"PRIORITY\":\"3\"} {\"msg\":\"c\"}";
        assert_eq!(lines(text), ["a \"b\" \u{1f980}", "{", "c"]);
    }

    #[test]
    fn many_objects_in_a_line_take_no_stack() {
        let text = "{\"log\":\"x\"},".repeat(6000);
        assert_eq!(lines(text.as_bytes()), vec!["x"; 6000]);
        assert_eq!(lines(&b"{".repeat(100_000)).len(), 1);
        assert_eq!(lines(&b"[{".repeat(100_000)).len(), 1);
    }

    #[test]
    fn pieces_that_are_missing_are_counted() {
        let piece = |from: usize, text: &str| format!("6,1,5,-,ncfrag={from}/9;{text}");
        let read = |all: &[String]| {
            let mut lines = Lines::default();
            all.iter().for_each(|line| lines.push(line.as_bytes()));
            lines.end();
            (
                lines.torn,
                lines.map(|line| String::from_utf8(line.text).unwrap()).collect::<Vec<_>>(),
            )
        };
        let [a, b, c] = [piece(0, "abc"), piece(3, "d f"), piece(6, "ghi")];
        let whole = vec!["6,1,5,-;abcd fghi".to_owned()];
        assert_eq!(read(&[a.clone(), b.clone(), c.clone()]), (0, whole.clone()));
        assert_eq!(read(&[format!("{a}{b}{c}")]), (0, whole));
        let one = |text: &str| format!("6,1,5,-;{text}");
        assert_eq!(read(&[a.clone(), b.clone()]), (1, vec![one("abcd f")]));
        assert_eq!(read(&[b.clone(), c.clone()]), (1, vec![one("d fghi")]));
        assert_eq!(read(&[a, c]), (2, vec![one("abc"), one("ghi")]));
    }
}
