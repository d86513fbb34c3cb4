// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Entries by the user's template, for `--format`.
//!
//! Text, and fields in braces: those of [`COLUMNS`](crate::field::COLUMNS), and arguments. A width
//! pads as in Rust: `{level:<5}`, `{pid:>6}`, `{comm:^16}`. `{{` and `}}` are braces, `\n` and
//! `\t` as usual. What a record doesn't have is `-`.

use super::text::{escape_from, escape_name};
use crate::{
    decode::Entry,
    error::Error,
    field::{Field, Selector},
};

/// A compiled template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Literal(String),
    Value(Selector, Option<(Align, usize)>),
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
        for piece in &self.0 {
            match piece {
                Piece::Literal(s) => out.extend_from_slice(s.as_bytes()),
                Piece::Value(field, pad) => {
                    let start = out.len();
                    if !field.print(entry, out) {
                        out.push(b'-');
                    }
                    match field {
                        Selector::Field(Field::Message) => escape_from(out, start),
                        _ => escape_name(out, start),
                    }
                    if let Some((align, width)) = pad {
                        pad_from(out, start, *align, *width);
                    }
                }
            }
        }
    }

    /// The fields that it asks for.
    pub fn fields(&self) -> impl Iterator<Item = &Selector> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Value(selector, _) => Some(selector),
            _ => None,
        })
    }
}

fn value(inner: &str) -> Result<Piece, Error> {
    let (name, pad) = inner.split_once(':').unwrap_or((inner, ""));
    let field = Selector::of_output(name)?;
    let (align, width) = match pad.chars().next() {
        Some('<') => (Align::Left, &pad[1..]),
        Some('^') => (Align::Center, &pad[1..]),
        Some('>') => (Align::Right, &pad[1..]),
        _ => (Align::Left, pad),
    };
    let width = match (pad, width.parse::<usize>()) {
        ("", _) => return Ok(Piece::Value(field, None)),
        (_, Ok(n)) if n <= MAX_WIDTH => n,
        _ => return Err(Error::Syntax(format!("{pad:?} is no width"))),
    };
    Ok(Piece::Value(field, Some((align, width))))
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
