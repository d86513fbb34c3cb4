// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Entries as comma-separated values (RFC 4180, lines end with LF), for spreadsheets and databases.
//!
//! What isn't known is empty. Bytes that are no UTF-8 become U+FFFD.

use std::ops::Range;

use super::{text::escape_lines, Contexts};
use crate::{
    decode::Entry,
    error::Error,
    field::{Field, Selector, Val},
    merge::EventKind,
};

/// The columns, if the user names none, and what they are called.
const STANDARD: [(&str, Field); 17] = [
    ("boot_ns", Field::BootNs),
    ("wall_ns", Field::WallNs),
    ("host", Field::Host),
    ("boot_id", Field::BootId),
    ("source", Field::Source),
    ("level", Field::ShownLevel),
    ("component", Field::Driver),
    ("context", Field::Context),
    ("cpu", Field::Cpu),
    ("pid", Field::Pid),
    ("tgid", Field::Tgid),
    ("comm", Field::Comm),
    ("ring", Field::Ring),
    ("module", Field::Module),
    ("file", Field::File),
    ("line", Field::Line),
    ("message", Field::Message),
];

/// Columns, with their names: what [`Csv`] prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns(Vec<(String, Selector)>);

impl Default for Columns {
    fn default() -> Self {
        Self(STANDARD.map(|(name, field)| (name.into(), Selector::Field(field))).into())
    }
}

impl Columns {
    /// Reads names with commas between them.
    pub fn parse(names: &str) -> Result<Self, Error> {
        let column = |name: &str| Ok((name.to_owned(), Selector::of_output(name)?));
        names.split(',').map(column).collect::<Result<_, _>>().map(Self)
    }

    /// The fields that it asks for.
    pub fn fields(&self) -> impl Iterator<Item = &Selector> {
        self.0.iter().map(|(_, field)| field)
    }
}

/// Writes lines.
pub struct Csv {
    columns: Columns,
    /// Columns whose values all records of a ring with the same level and writer have.
    of_ring: Range<usize>,
    contexts: Contexts,
}

impl Csv {
    /// Starts before the first line.
    pub fn new(columns: Columns) -> Self {
        let is_of_ring = |(_, field): &(_, Selector)| match field {
            Selector::Field(field) => field.is_of_ring(),
            Selector::Argument(_) => false,
        };
        let all = &columns.0;
        let start = all.iter().position(is_of_ring).unwrap_or(all.len());
        let len = all[start..].iter().take_while(|column| is_of_ring(column)).count();
        Self { of_ring: start..start + len, columns, contexts: Contexts::default() }
    }

    /// Appends the header line.
    pub fn header(&self, out: &mut Vec<u8>) {
        for (i, (name, _)) in self.columns.0.iter().enumerate() {
            out.extend_from_slice(if i == 0 { b"" } else { b"," });
            field(name.as_bytes(), out);
        }
        out.push(b'\n');
    }

    /// Appends an entry's line.
    pub fn entry(&mut self, entry: &Entry<'_>, out: &mut Vec<u8>) {
        let (all, Range { start, end }) = (&self.columns.0, self.of_ring.clone());
        cells(&all[..start], entry, out);
        let kind = match entry.event.kind {
            EventKind::Record { .. } => 0,
            EventKind::Loss { .. } => 1 << 3,
            EventKind::Line { .. } => 1 << 4,
        };
        let level = kind | entry.level().unwrap_or(0);
        let known = self.contexts.get(entry, level, |out| cells(&all[start..end], entry, out));
        out.extend_from_slice(known);
        cells(&all[end..], entry, out);
        // What comes after the last one.
        out.pop();
        out.push(b'\n');
    }
}

/// Appends cells, each with a comma after it.
fn cells(columns: &[(String, Selector)], entry: &Entry<'_>, out: &mut Vec<u8>) {
    for (_, column) in columns {
        match column {
            Selector::Field(of) => match of.value(entry) {
                Some(Val::Text(text)) => field(&text, out),
                // A negative number is no formula.
                Some(value) => value.print(out),
                None => {}
            },
            argument => {
                let mut value = Vec::new();
                argument.print(entry, &mut value);
                match is_number(&value) {
                    true => out.extend_from_slice(&value),
                    false => field(&value, out),
                }
            }
        }
        out.push(b',');
    }
}

fn is_number(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    !digits.is_empty() && digits.iter().all(|b| b.is_ascii_digit() || *b == b'.')
}

/// A cell of text. One that a spreadsheet would take for a formula gets an apostrophe in front.
fn field(bytes: &[u8], out: &mut Vec<u8>) {
    let is_plain = |b: &u8| matches!(b, b' '..=b'~') && *b != b'"' && *b != b',';
    let is_formula = bytes.first().is_some_and(|b| b"=+-@\t".contains(b));
    if bytes.iter().all(is_plain) && !is_formula {
        return out.extend_from_slice(bytes);
    }
    let mut text = bytes.to_vec();
    escape_lines(&mut text, 0);
    out.extend_from_slice(if is_formula { b"\"'" } else { b"\"" });
    for b in text {
        out.extend_from_slice(if b == b'"' { b"\"" } else { b"" });
        out.push(b);
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        for (bytes, expected) in [
            (&b"plain text"[..], "plain text"),
            (b"a,b", "\"a,b\""),
            (b"say \"x\"", "\"say \"\"x\"\"\""),
            (b"two\nlines", "\"two\nlines\""),
            (b"=1+1", "\"'=1+1\""),
            (b"@x", "\"'@x\""),
            (b"+x", "\"'+x\""),
            (b"-x", "\"'-x\""),
            (b"\x1b[2J\r\xe2\x80\xae", "\"\\x1b[2J\\x0d\\u{202e}\""),
            (b"\xff", "\"\u{fffd}\""),
            (b"", ""),
        ] {
            let mut out = Vec::new();
            field(bytes, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
