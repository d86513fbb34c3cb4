// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The format language of `std::fmt`, from text to [`Piece`]s.
//!
//! [`template`](super::template) calls it once for each call site. It accepts all that rustc
//! accepts, knows neither types nor values, and never panics.

use crate::error::Error;

/// Part of a format string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Text, with `{{` and `}}` made single.
    Literal(String),
    /// A placeholder, `{…}`.
    Placeholder(Placeholder),
}

/// Which argument a placeholder means. `{}` has become an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Position {
    /// By position.
    Index(usize),
    /// By name.
    Name(String),
}

/// Width or precision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Count {
    /// A number.
    Literal(u16),
    /// The value of an argument.
    Argument(Position),
}

/// What follows the flags: the trait that prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trait {
    /// `{}`
    Display,
    /// `{:?}`, `{:x?}` and `{:X?}`
    Debug,
    /// `{:x}`
    LowerHex,
    /// `{:X}`
    UpperHex,
    /// `{:o}`
    Octal,
    /// `{:b}`
    Binary,
    /// `{:e}`
    LowerExp,
    /// `{:E}`
    UpperExp,
    /// `{:p}`
    Pointer,
}

/// Where padding goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// `<`
    Left,
    /// `^`
    Center,
    /// `>`
    Right,
}

/// How integers in `{:?}` print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DebugHex {
    /// `{:?}`
    Off,
    /// `{:x?}`
    Lower,
    /// `{:X?}`
    Upper,
}

/// The flags of a placeholder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flags {
    /// Character of the padding.
    pub fill: char,
    /// Alignment, if given.
    pub align: Option<Align>,
    /// `+`
    pub plus: bool,
    /// `#`
    pub alternate: bool,
    /// `0`
    pub zero: bool,
    /// `x?` and `X?`
    pub debug_hex: DebugHex,
}

impl Flags {
    /// No flags.
    pub const NONE: Self = Self {
        fill: ' ',
        align: None,
        plus: false,
        alternate: false,
        zero: false,
        debug_hex: DebugHex::Off,
    };
}

/// A placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placeholder {
    /// The argument.
    pub argument: Position,
    /// Flags.
    pub flags: Flags,
    /// Width, if given.
    pub width: Option<Count>,
    /// Precision, if given.
    pub precision: Option<Count>,
    /// Trait.
    pub print: Trait,
}

/// Parses a whole format string.
pub fn parse(format: &str) -> Result<Vec<Piece>, Error> {
    let mut parser = Parser {
        rest: format,
        next: 0,
    };
    let mut pieces = Vec::new();
    let mut literal = String::new();
    while let Some(c) = parser.bump() {
        match c {
            '{' | '}' if parser.eat(c) => literal.push(c),
            '}' => return Err(Error::Site("a lone } in the format string".into())),
            '{' => {
                if !literal.is_empty() {
                    pieces.push(Piece::Literal(std::mem::take(&mut literal)));
                }
                pieces.push(Piece::Placeholder(parser.placeholder()?));
            }
            c => literal.push(c),
        }
    }
    if !literal.is_empty() {
        pieces.push(Piece::Literal(literal));
    }
    Ok(pieces)
}

struct Parser<'a> {
    rest: &'a str,
    /// What the next `{}` or `.*` takes.
    next: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn eat(&mut self, c: char) -> bool {
        match self.rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn spaces(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn take_next(&mut self) -> Position {
        self.next += 1;
        Position::Index(self.next - 1)
    }

    /// Everything between `{` (already gone) and `}`.
    fn placeholder(&mut self) -> Result<Placeholder, Error> {
        self.spaces();
        let argument = self.position();
        self.spaces();
        let mut p = Placeholder {
            argument: Position::Index(0),
            flags: Flags::NONE,
            width: None,
            precision: None,
            print: Trait::Display,
        };
        if self.eat(':') {
            self.spec(&mut p)?;
        }
        // After the spec: in `{:.*}` the precision takes its argument first.
        p.argument = argument.unwrap_or_else(|| self.take_next());
        self.spaces();
        if !self.eat('}') {
            return Err(Error::Site("a { without } in the format string".into()));
        }
        Ok(p)
    }

    fn spec(&mut self, p: &mut Placeholder) -> Result<(), Error> {
        let mut ahead = self.rest.chars();
        if let (Some(fill), Some('<' | '^' | '>')) = (ahead.next(), ahead.next()) {
            p.flags.fill = fill;
            self.bump();
        }
        p.flags.align = match self.peek() {
            Some('<') => Some(Align::Left),
            Some('^') => Some(Align::Center),
            Some('>') => Some(Align::Right),
            _ => None,
        };
        if p.flags.align.is_some() {
            self.bump();
        }
        p.flags.plus = self.eat('+');
        if !p.flags.plus {
            // Allowed, and without a meaning.
            self.eat('-');
        }
        p.flags.alternate = self.eat('#');
        // `0$` is the width of argument 0, not a flag.
        if self.rest.starts_with('0') && !self.rest.starts_with("0$") {
            self.bump();
            p.flags.zero = true;
        }
        p.width = self.count()?;
        if self.eat('.') {
            p.precision = if self.eat('*') {
                Some(Count::Argument(self.take_next()))
            } else {
                self.count()?
            };
        }
        if let Some(rest) = self.rest.strip_prefix("x?") {
            self.rest = rest;
            p.flags.debug_hex = DebugHex::Lower;
            p.print = Trait::Debug;
        } else if let Some(rest) = self.rest.strip_prefix("X?") {
            self.rest = rest;
            p.flags.debug_hex = DebugHex::Upper;
            p.print = Trait::Debug;
        } else if self.eat('?') {
            p.print = Trait::Debug;
        } else {
            p.print = match self.word() {
                "" => Trait::Display,
                "x" => Trait::LowerHex,
                "X" => Trait::UpperHex,
                "o" => Trait::Octal,
                "b" => Trait::Binary,
                "e" => Trait::LowerExp,
                "E" => Trait::UpperExp,
                "p" => Trait::Pointer,
                word => return Err(Error::Site(format!("unknown format trait {word:?}"))),
            };
        }
        Ok(())
    }

    fn position(&mut self) -> Option<Position> {
        if let Some(n) = self.integer() {
            return Some(Position::Index(n));
        }
        match self.word() {
            "" => None,
            word => Some(Position::Name(word.to_owned())),
        }
    }

    fn count(&mut self) -> Result<Option<Count>, Error> {
        let before = self.rest;
        if let Some(n) = self.integer() {
            if self.eat('$') {
                return Ok(Some(Count::Argument(Position::Index(n))));
            }
            let n = u16::try_from(n)
                .map_err(|_| Error::Site(format!("width or precision {n} is too large")))?;
            return Ok(Some(Count::Literal(n)));
        }
        let word = self.word();
        if !word.is_empty() && self.eat('$') {
            return Ok(Some(Count::Argument(Position::Name(word.to_owned()))));
        }
        // It was the trait.
        self.rest = before;
        Ok(None)
    }

    fn integer(&mut self) -> Option<usize> {
        let end = self
            .rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(self.rest.len());
        if end == 0 {
            return None;
        }
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        // Too large is as wrong as any index that doesn't exist.
        Some(digits.parse().unwrap_or(usize::MAX))
    }

    fn word(&mut self) -> &'a str {
        let is_word =
            |(i, c): (usize, char)| c == '_' || c.is_alphabetic() || (i > 0 && c.is_alphanumeric());
        let end = self
            .rest
            .char_indices()
            .find(|&ic| !is_word(ic))
            .map_or(self.rest.len(), |(i, _)| i);
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(format: &str) -> Placeholder {
        match parse(format).unwrap().pop() {
            Some(Piece::Placeholder(p)) => p,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn braces_in_pairs_are_text() {
        assert_eq!(
            parse("a{{b}}c"),
            Ok(vec![Piece::Literal("a{b}c".to_owned())])
        );
    }

    #[test]
    fn zero_is_a_flag_or_an_argument() {
        assert!(one("{:05}").flags.zero);
        let p = one("{:0$}");
        assert!(!p.flags.zero);
        assert_eq!(p.width, Some(Count::Argument(Position::Index(0))));
        let p = one("{:00$}");
        assert!(p.flags.zero);
        assert_eq!(p.width, Some(Count::Argument(Position::Index(0))));
    }

    #[test]
    fn star_takes_its_argument_before_the_value() {
        let p = one("{:.*}");
        assert_eq!(p.precision, Some(Count::Argument(Position::Index(0))));
        assert_eq!(p.argument, Position::Index(1));
        let p = one("{x:.*}");
        assert_eq!(p.precision, Some(Count::Argument(Position::Index(0))));
        assert_eq!(p.argument, Position::Name("x".into()));
    }

    #[test]
    fn any_character_fills() {
        assert_eq!(one("{:}<5}").flags.fill, '}');
        assert_eq!(one("{:<<5}").flags.fill, '<');
        assert_eq!(one("{:\u{1f980}^5}").flags.fill, '\u{1f980}');
        assert_eq!(one("{:<5}").flags.fill, ' ');
    }

    #[test]
    fn trait_is_no_width() {
        let p = one("{:x$x}");
        assert_eq!(p.width, Some(Count::Argument(Position::Name("x".into()))));
        assert_eq!(p.print, Trait::LowerHex);
        assert_eq!(one("{:x}").width, None);
        assert_eq!(one("{:#06X?}").flags.debug_hex, DebugHex::Upper);
    }

    #[test]
    fn wrong_strings_are_errors() {
        for s in [
            "{",
            "}",
            "{:",
            "{:}}",
            "a}b",
            "{:q}",
            "{0",
            "{:99999}",
            "{:.99999}",
        ] {
            assert!(parse(s).is_err(), "{s}");
        }
    }
}
