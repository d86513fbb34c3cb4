// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Entries by the user's template, for `--format`.
//!
//! Text, and fields in braces: those of [`field`](crate::field), `boot` (seconds since boot), `time`
//! (the same, or `wall` if there are several boots), `mono`, `wall`, `clock`, and `args` (all
//! arguments as `name=value`). A width pads as in Rust: `{level:<5}`, `{pid:>6}`, `{comm:^16}`. `{{` and `}}` are braces, `\n` and `\t` as usual.
//! What a record doesn't have is `-`. Of a loss, `level` is `lost` and `message` says what is lost.

use super::{
    csv,
    text::{escape_from, escape_name, loss},
};
use crate::{
    calendar::push_local,
    decode::{Content, Entry},
    digits,
    error::Error,
    field::{Field, Selector, Subject},
    format::print::{Printer, Spec},
};

/// A compiled template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Literal(String),
    Value(What, Option<(Align, usize)>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    Time,
    Boot,
    Mono,
    Wall,
    Clock,
    Arguments,
    Field(Selector),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Align {
    Left,
    Center,
    Right,
}

/// Widest field.
const MAX_WIDTH: usize = 1000;

impl Template {
    /// Reads a template.
    pub fn parse(source: &str) -> Result<Self, Error> {
        let (mut pieces, mut literal) = (Vec::new(), String::new());
        let mut chars = source.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '{' | '}' if chars.peek() == Some(&c) => {
                    chars.next();
                    literal.push(c);
                }
                '{' => {
                    let mut inner = String::new();
                    loop {
                        match chars.next() {
                            Some('}') => break,
                            Some(c) => inner.push(c),
                            None => return Err(Error::Syntax("a \"{\" without \"}\"".into())),
                        }
                    }
                    if !literal.is_empty() {
                        pieces.push(Piece::Literal(std::mem::take(&mut literal)));
                    }
                    pieces.push(value(&inner)?);
                }
                '}' => {
                    return Err(Error::Syntax(
                        "a \"}\" without \"{\"; write \"}}\" for a brace".into(),
                    ))
                }
                '\\' => match chars.next() {
                    Some('n') => literal.push('\n'),
                    Some('t') => literal.push('\t'),
                    Some('\\') => literal.push('\\'),
                    _ => return Err(Error::Syntax("a \"\\\" without n, t or \\ after it".into())),
                },
                c => literal.push(c),
            }
        }
        literal.push('\n');
        pieces.push(Piece::Literal(literal));
        Ok(Self(pieces))
    }

    /// Appends an entry.
    pub fn entry(&self, entry: &Entry<'_>, out: &mut Vec<u8>) {
        with_subject(entry, |subject| {
            for piece in &self.0 {
                match piece {
                    Piece::Literal(s) => out.extend_from_slice(s.as_bytes()),
                    Piece::Value(what, pad) => {
                        let start = out.len();
                        if !print(what, entry, subject, out) {
                            out.push(b'-');
                        }
                        match what {
                            What::Field(Selector::Field(Field::Message)) => escape_from(out, start),
                            _ => escape_name(out, start),
                        }
                        if let Some((align, width)) = pad {
                            pad_from(out, start, *align, *width);
                        }
                    }
                }
            }
        });
    }

    /// The fields that it asks for.
    pub fn fields(&self) -> impl Iterator<Item = &Selector> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Value(What::Field(selector), _) => Some(selector),
            _ => None,
        })
    }
}

/// Columns of comma-separated values, by the names of fields: what `--columns` takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns(Vec<(String, What)>);

impl Columns {
    /// Reads names with commas between them.
    pub fn parse(names: &str) -> Result<Self, Error> {
        let column = |name: &str| Ok((name.to_owned(), what(name)?));
        names.split(',').map(column).collect::<Result<_, _>>().map(Self)
    }

    /// Appends the header line.
    pub fn header(&self, out: &mut Vec<u8>) {
        for (i, (name, _)) in self.0.iter().enumerate() {
            out.extend_from_slice(if i == 0 { b"" } else { b"," });
            csv::field(name.as_bytes(), out);
        }
        out.push(b'\n');
    }

    /// Appends an entry's line. What a record doesn't have is empty.
    pub fn entry(&self, entry: &Entry<'_>, out: &mut Vec<u8>) {
        let mut value = Vec::new();
        with_subject(entry, |subject| {
            for (i, (_, what)) in self.0.iter().enumerate() {
                out.extend_from_slice(if i == 0 { b"" } else { b"," });
                value.clear();
                if !print(what, entry, subject, &mut value) {
                    continue;
                }
                match value.as_slice() {
                    // A negative number is no formula.
                    number if is_number(number) => out.extend_from_slice(number),
                    text => csv::field(text, out),
                }
            }
        });
        out.push(b'\n');
    }

    /// The fields that it asks for.
    pub fn fields(&self) -> impl Iterator<Item = &Selector> {
        self.0.iter().filter_map(|(_, what)| match what {
            What::Field(selector) => Some(selector),
            _ => None,
        })
    }
}

fn is_number(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    !digits.is_empty() && digits.iter().all(|b| b.is_ascii_digit() || *b == b'.')
}

/// Calls `show` with the entry as the subject of fields.
fn with_subject(entry: &Entry<'_>, show: impl FnOnce(&Subject<'_>)) {
    if let Content::Loss { cause, count, .. } = entry.content {
        let mut message = Vec::new();
        loss(cause, count, &mut message);
        show(&Subject {
            stream: entry.stream,
            boot: entry.boot,
            writer: entry.writer,
            level: None,
            id: 0,
            found: None,
            payload: &[],
            slots: &[],
            message: &message,
        });
    } else if let Some(subject) = entry.subject() {
        show(&subject);
    }
}

/// The field of this name.
fn what(name: &str) -> Result<What, Error> {
    Ok(match name {
        "time" => What::Time,
        "boot" => What::Boot,
        "mono" => What::Mono,
        "wall" => What::Wall,
        "clock" => What::Clock,
        "args" => What::Arguments,
        name => match Selector::parse(name)? {
            Some(selector) => What::Field(selector),
            None => {
                let names: Vec<&str> = Selector::names().collect();
                return Err(Error::Syntax(format!(
                    "no field {name:?}; there are: time boot mono wall clock args arg.NAME {}",
                    names.join(" ")
                )));
            }
        },
    })
}

fn value(inner: &str) -> Result<Piece, Error> {
    let (name, pad) = inner.split_once(':').unwrap_or((inner, ""));
    let what = what(name)?;
    let (align, width) = match pad.chars().next() {
        Some('<') => (Align::Left, &pad[1..]),
        Some('^') => (Align::Center, &pad[1..]),
        Some('>') => (Align::Right, &pad[1..]),
        _ => (Align::Left, pad),
    };
    let width = match (pad, width.parse::<usize>()) {
        ("", _) => return Ok(Piece::Value(what, None)),
        (_, Ok(n)) if n <= MAX_WIDTH => n,
        _ => return Err(Error::Syntax(format!("{pad:?} is no width"))),
    };
    Ok(Piece::Value(what, Some((align, width))))
}

/// Appends what a field is; `false`: the entry doesn't have it.
fn print(what: &What, entry: &Entry<'_>, subject: &Subject<'_>, out: &mut Vec<u8>) -> bool {
    let (clock, c) = (entry.clock, &entry.boot.calibration);
    match what {
        What::Time if !entry.boot.is_one_of_several || !c.is_known() => {
            seconds(c.boot(clock), out);
        }
        What::Boot => seconds(c.boot(clock), out),
        What::Mono => seconds(c.mono(clock), out),
        What::Wall if !c.is_known() => return false,
        What::Time | What::Wall => push_local(out, c.real(clock), false),
        What::Clock => digits::push(out, clock),
        What::Arguments => arguments(subject, out),
        What::Field(Selector::Field(Field::Level))
            if matches!(entry.content, Content::Loss { .. }) =>
        {
            out.extend_from_slice(b"lost");
        }
        What::Field(Selector::Field(Field::Site)) if subject.id == 0 => return false,
        What::Field(selector) => return selector.print(subject, out),
    }
    true
}

fn arguments(subject: &Subject<'_>, out: &mut Vec<u8>) {
    let site = subject.found.and_then(|f| f.site);
    let Some(Ok(template)) = site.map(|s| s.template.as_ref()) else {
        return;
    };
    let all = template.arguments(subject.payload, subject.slots);
    for (i, (name, value, _)) in all.enumerate() {
        out.extend_from_slice(if i == 0 { b"" } else { b" " });
        out.extend_from_slice(name.as_bytes());
        out.push(b'=');
        value.print(&Spec::DISPLAY, &mut Printer::new(out));
    }
}

/// Seconds with all nine digits.
fn seconds(ns: i128, out: &mut Vec<u8>) {
    if ns < 0 {
        out.push(b'-');
    }
    let ns = ns.unsigned_abs();
    digits::push_wide(out, ns / 1_000_000_000);
    out.push(b'.');
    digits::push_padded(out, (ns % 1_000_000_000) as u64, 9, b'0');
}

fn pad_from(out: &mut Vec<u8>, start: usize, align: Align, width: usize) {
    let has = String::from_utf8_lossy(&out[start..]).chars().count();
    let missing = width.saturating_sub(has);
    let before = match align {
        Align::Left => 0,
        Align::Center => missing / 2,
        Align::Right => missing,
    };
    out.resize(out.len() + missing, b' ');
    out[start..].rotate_right(before);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_templates_are_refused() {
        for (source, what) in [
            ("{", "without"),
            ("}", "without"),
            ("{mesage}", "no field \"mesage\""),
            ("{pid:x}", "no width"),
            ("{pid:>99999}", "no width"),
            ("{arg.}", "name of an argument"),
            ("\\q", "without n, t"),
        ] {
            let e = Template::parse(source).unwrap_err();
            assert!(e.to_string().contains(what), "{source}: {e}");
        }
    }

    #[test]
    fn padding_counts_characters() {
        for (align, expected) in [
            (Align::Left, "x\u{e9}\u{e9}   |"),
            (Align::Center, "x \u{e9}\u{e9}  |"),
            (Align::Right, "x   \u{e9}\u{e9}|"),
        ] {
            let mut out = "x\u{e9}\u{e9}".as_bytes().to_vec();
            pad_from(&mut out, 1, align, 5);
            out.push(b'|');
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
