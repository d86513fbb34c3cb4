// SPDX-License-Identifier: GPL-2.0

//! Parser of Rust's format strings, as `std::fmt` describes them.
//!
//! It gets the unescaped string and finds out which arguments it asks for, and by which trait.
//! [`super::log`] resolves them. It knows no tokens and no types, and never prints a value: that
//! is the decoder's part. It follows `rustc_parse_format` step by step, and needs only `std`.

use std::fmt::{
    self,
    Write, //
};

/// A part of a format string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Text, unescaped: a single `{` stands for `{{`.
    Text(String),
    /// A placeholder.
    Placeholder(Placeholder),
}

/// A placeholder: `{…}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placeholder {
    pub(crate) value: Position,
    pub(crate) flags: String,
    pub(crate) width: Count,
    pub(crate) precision: Count,
    pub(crate) kind: Kind,
}

/// Which argument is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Position {
    /// `{}`: the next one, resolved to its index.
    Next(usize),
    /// `{0}`.
    Index(usize),
    /// `{name}`.
    Name(String),
}

/// A width or precision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Count {
    /// None.
    Implied,
    /// `5`.
    Is(u16),
    /// `.*`: the next argument, resolved to its index.
    Star(usize),
    /// `1$` or `w$`.
    Arg(Position),
}

/// The format trait: what stands at the end of a placeholder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Display,
    Debug,
    DebugLowerHex,
    DebugUpperHex,
    LowerHex,
    UpperHex,
    Octal,
    Binary,
    LowerExp,
    UpperExp,
    Pointer,
}

impl Kind {
    /// As it is written in a placeholder.
    fn spec(self) -> &'static str {
        match self {
            Kind::Display => "",
            Kind::Debug => "?",
            Kind::DebugLowerHex => "x?",
            Kind::DebugUpperHex => "X?",
            Kind::LowerHex => "x",
            Kind::UpperHex => "X",
            Kind::Octal => "o",
            Kind::Binary => "b",
            Kind::LowerExp => "e",
            Kind::UpperExp => "E",
            Kind::Pointer => "p",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "" => Kind::Display,
            "o" => Kind::Octal,
            "b" => Kind::Binary,
            "e" => Kind::LowerExp,
            "E" => Kind::UpperExp,
            "p" => Kind::Pointer,
            _ => return None,
        })
    }

    /// The function of `kernel::blog::fmt` which checks a type for it.
    pub(crate) fn check(self) -> &'static str {
        match self {
            Kind::Display => "display",
            Kind::Debug | Kind::DebugLowerHex | Kind::DebugUpperHex => "debug",
            Kind::LowerHex => "lower_hex",
            Kind::UpperHex => "upper_hex",
            Kind::Octal => "octal",
            Kind::Binary => "binary",
            Kind::LowerExp => "lower_exp",
            Kind::UpperExp => "upper_exp",
            Kind::Pointer => "pointer",
        }
    }
}

/// What is wrong with a format string, in a user's words.
pub(crate) type Result<T> = std::result::Result<T, String>;

struct Parser {
    chars: Vec<char>,
    at: usize,
    next_arg: usize,
}

/// Parses a whole format string.
pub(crate) fn parse(format: &str) -> Result<Vec<Piece>> {
    let mut parser = Parser {
        chars: format.chars().collect(),
        at: 0,
        next_arg: 0,
    };
    let mut pieces = Vec::new();
    let mut text = String::new();
    while let Some(c) = parser.peek() {
        parser.at += 1;
        match c {
            '{' | '}' if parser.consume(c) => text.push(c),
            '{' => {
                if !text.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut text)));
                }
                pieces.push(Piece::Placeholder(parser.placeholder()?));
            }
            '}' => {
                return Err("unmatched `}` in format string; write `}}` for a `}`".into());
            }
            c => text.push(c),
        }
    }
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    Ok(pieces)
}

impl Parser {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn consume(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        self.at += usize::from(found);
        found
    }

    fn space(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
    }

    fn next_arg(&mut self) -> usize {
        self.next_arg += 1;
        self.next_arg - 1
    }

    /// Parses a placeholder, behind its `{`.
    fn placeholder(&mut self) -> Result<Placeholder> {
        let start = self.at;
        let value = self.position()?;
        self.space();

        let mut p = Placeholder {
            value: Position::Next(0),
            flags: String::new(),
            width: Count::Implied,
            precision: Count::Implied,
            kind: Kind::Display,
        };
        if self.consume(':') {
            self.spec(&mut p)?;
        }
        // Only now: a `.*` takes its argument before.
        p.value = value.unwrap_or_else(|| Position::Next(self.next_arg()));

        self.space();
        if !self.consume('}') {
            let text: String = self.chars[start..self.at].iter().collect();
            return Err(match self.peek() {
                Some(c) => format!("expected `}}` in format string behind `{{{text}`, found `{c}`"),
                None => format!("expected `}}` in format string behind `{{{text}`, but it ends"),
            });
        }
        Ok(p)
    }

    /// Parses what is behind the `:` of a placeholder.
    fn spec(&mut self, p: &mut Placeholder) -> Result<()> {
        if let (Some(fill), Some('<' | '>' | '^')) = (self.peek(), self.chars.get(self.at + 1)) {
            p.flags.push(fill);
            self.at += 1;
        }
        for choice in ["<>^", "+-", "#"] {
            if let Some(c) = self.peek().filter(|c| choice.contains(*c)) {
                p.flags.push(c);
                self.at += 1;
            }
        }

        // `0$` is a width, not a flag.
        if self.peek() == Some('0') && self.chars.get(self.at + 1) != Some(&'$') {
            p.flags.push('0');
            self.at += 1;
        }
        p.width = self.count()?;
        if self.consume('.') {
            p.precision = if self.consume('*') {
                Count::Star(self.next_arg())
            } else {
                self.count()?
            };
        }
        p.kind = self.kind()?;
        Ok(())
    }

    fn kind(&mut self) -> Result<Kind> {
        let debug = |p: &mut Self, yes, no| if p.consume('?') { yes } else { no };
        if self.consume('x') {
            let kind = debug(self, Kind::DebugLowerHex, Kind::LowerHex);
            return self.end_of_kind(kind);
        }
        if self.consume('X') {
            let kind = debug(self, Kind::DebugUpperHex, Kind::UpperHex);
            return self.end_of_kind(kind);
        }
        if self.consume('?') {
            return Ok(Kind::Debug);
        }
        let word = self.word()?;
        Kind::from_word(&word).ok_or_else(|| unknown_trait(&word))
    }

    /// Makes `{:xyz}` say that there is no trait `xyz`.
    fn end_of_kind(&mut self, kind: Kind) -> Result<Kind> {
        let rest = self.word()?;
        if rest.is_empty() {
            return Ok(kind);
        }
        Err(unknown_trait(&format!("{}{rest}", kind.spec())))
    }

    fn position(&mut self) -> Result<Option<Position>> {
        if let Some(i) = self.integer()? {
            return Ok(Some(Position::Index(i.into())));
        }
        let word = self.word()?;
        if word == "r" && self.peek() == Some('#') {
            return Err(
                "raw identifiers are not supported in format strings; omit the `r#`".into(),
            );
        }
        Ok((!word.is_empty()).then_some(Position::Name(word)))
    }

    fn count(&mut self) -> Result<Count> {
        if let Some(i) = self.integer()? {
            return Ok(if self.consume('$') {
                Count::Arg(Position::Index(i.into()))
            } else {
                Count::Is(i)
            });
        }
        let start = self.at;
        let word = self.word()?;
        if !word.is_empty() && self.consume('$') {
            return Ok(Count::Arg(Position::Name(word)));
        }
        // It was the format trait.
        self.at = start;
        Ok(Count::Implied)
    }

    fn word(&mut self) -> Result<String> {
        let mut word = String::new();
        while let Some(c) = self.peek() {
            let first = word.is_empty();
            if !(c == '_' || c.is_alphabetic() || (!first && c.is_alphanumeric())) {
                break;
            }
            word.push(c);
            self.at += 1;
        }
        if word == "_" {
            return Err("invalid argument name `_` in format string".into());
        }
        Ok(word)
    }

    fn integer(&mut self) -> Result<Option<u16>> {
        let start = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
        }
        if start == self.at {
            return Ok(None);
        }
        let digits: String = self.chars[start..self.at].iter().collect();
        match digits.parse() {
            Ok(n) => Ok(Some(n)),
            Err(_) => Err(format!("`{digits}` in format string is greater than 65535")),
        }
    }
}

fn unknown_trait(word: &str) -> String {
    format!(
        "unknown format trait `{word}`; known are ``, `?`, `x?`, `X?`, `x`, `X`, `o`, `b`, `e`, \
         `E` and `p`"
    )
}

/// Prints pieces as the format string that the decoder gets: the same language, without the
/// freedoms of white space.
pub(crate) fn normalised(pieces: &[Piece]) -> String {
    let mut out = String::new();
    for piece in pieces {
        match piece {
            Piece::Text(text) => out.push_str(&text.replace('{', "{{").replace('}', "}}")),
            // Writing into a `String` does not fail.
            Piece::Placeholder(p) => write!(out, "{p}").unwrap_or_default(),
        }
    }
    out
}

impl fmt::Display for Placeholder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{}", self.value)?;
        let mut spec = self.flags.clone();
        write!(spec, "{}", self.width)?;
        if self.precision != Count::Implied {
            write!(spec, ".{}", self.precision)?;
        }
        spec.push_str(self.kind.spec());
        if !spec.is_empty() {
            write!(f, ":{spec}")?;
        }
        f.write_str("}")
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Position::Next(_) => Ok(()),
            Position::Index(i) => write!(f, "{i}"),
            Position::Name(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Count::Implied => Ok(()),
            Count::Is(n) => write!(f, "{n}"),
            Count::Star(_) => f.write_str("*"),
            Count::Arg(position) => write!(f, "{position}$"),
        }
    }
}
