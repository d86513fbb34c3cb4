// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The format language of `std::fmt`, from text to [`Piece`]s.
//!
//! The macros find out by it which arguments a call needs, and by which trait; `blog-decode` has a
//! link to this file to print them. It accepts what `rustc_parse_format` accepts, knows
//! neither tokens nor types nor values, and never panics. It needs only `std`.

/// Part of a format string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Text, with `{{` and `}}` made single.
    Literal(String),
    /// A placeholder, `{…}`.
    Placeholder(Placeholder),
}

/// Which argument a placeholder means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Position {
    /// The next one, which is this.
    Next(usize),
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
    /// The value of an argument; of the next one by `.*`.
    Argument(Position),
}

/// What follows the flags: the trait that prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

impl Placeholder {
    /// The arguments that are its width and precision.
    pub fn counts(&self) -> impl Iterator<Item = &Position> {
        let counts = [&self.width, &self.precision].into_iter().flatten();
        counts.filter_map(|count| match count {
            Count::Literal(_) => None,
            Count::Argument(position) => Some(position),
        })
    }
}

/// Parses a whole format string. Of one that is wrong, the compiler says what, where it is written.
pub fn parse(format: &str) -> Result<Vec<Piece>, String> {
    pieces(format).ok_or_else(|| format!("`{format}` is no format string"))
}

fn pieces(format: &str) -> Option<Vec<Piece>> {
    let mut parser = Parser {
        rest: format,
        next: 0,
    };
    let mut pieces = Vec::new();
    let mut literal = String::new();
    while let Some(c) = parser.bump() {
        match c {
            '{' | '}' if parser.eat(c) => literal.push(c),
            '}' => return None,
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
    Some(pieces)
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
        self.skip(c.len_utf8());
        Some(c)
    }

    /// Takes what is up to `end`.
    fn skip(&mut self, end: usize) -> &'a str {
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        text
    }

    /// Takes what is made of such characters.
    fn take_while(&mut self, is: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !is(c)).unwrap_or(self.rest.len());
        self.skip(end)
    }

    fn eat(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        if found {
            self.bump();
        }
        found
    }

    fn take_next(&mut self) -> Position {
        self.next += 1;
        Position::Next(self.next - 1)
    }

    /// Parses what is between `{`, which is gone already, and `}`.
    fn placeholder(&mut self) -> Option<Placeholder> {
        let argument = self.position()?;
        self.take_while(char::is_whitespace);
        let mut p = Placeholder {
            argument: Position::Next(0),
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
        self.take_while(char::is_whitespace);
        self.eat('}').then_some(p)
    }

    /// Parses what comes after the `:`.
    fn spec(&mut self, p: &mut Placeholder) -> Option<()> {
        let mut ahead = self.rest.chars();
        if let (Some(fill), Some('<' | '^' | '>')) = (ahead.next(), ahead.next()) {
            p.flags.fill = fill;
            self.bump();
        }
        let aligns = [
            ('<', Align::Left),
            ('^', Align::Center),
            ('>', Align::Right),
        ];
        let mut aligns = aligns.into_iter();
        p.flags.align = aligns.find_map(|(c, align)| self.eat(c).then_some(align));
        p.flags.plus = self.eat('+');
        if !p.flags.plus {
            // Allowed, and without a meaning.
            self.eat('-');
        }
        p.flags.alternate = self.eat('#');
        // `0$` is the width of argument 0, not a flag.
        p.flags.zero = !self.rest.starts_with("0$") && self.eat('0');
        p.width = self.count()?;
        if self.eat('.') {
            p.precision = match self.eat('*') {
                true => Some(Count::Argument(self.take_next())),
                false => self.count()?,
            };
        }
        let hex = [("x?", DebugHex::Lower), ("X?", DebugHex::Upper)];
        for (text, hex) in hex.into_iter().chain([("?", DebugHex::Off)]) {
            if self.rest.starts_with(text) {
                self.skip(text.len());
                (p.print, p.flags.debug_hex) = (Trait::Debug, hex);
                return Some(());
            }
        }
        p.print = match self.word()? {
            "" => Trait::Display,
            "x" => Trait::LowerHex,
            "X" => Trait::UpperHex,
            "o" => Trait::Octal,
            "b" => Trait::Binary,
            "e" => Trait::LowerExp,
            "E" => Trait::UpperExp,
            "p" => Trait::Pointer,
            _ => return None,
        };
        Some(())
    }

    fn position(&mut self) -> Option<Option<Position>> {
        if let Some(n) = self.integer()? {
            return Some(Some(Position::Index(n.into())));
        }
        let word = self.word()?;
        Some((!word.is_empty()).then(|| Position::Name(word.into())))
    }

    fn count(&mut self) -> Option<Option<Count>> {
        if let Some(n) = self.integer()? {
            return Some(Some(match self.eat('$') {
                true => Count::Argument(Position::Index(n.into())),
                false => Count::Literal(n),
            }));
        }
        let before = self.rest;
        let word = self.word()?;
        if !word.is_empty() && self.eat('$') {
            return Some(Some(Count::Argument(Position::Name(word.into()))));
        }
        // It was the trait.
        self.rest = before;
        Some(None)
    }

    fn word(&mut self) -> Option<&'a str> {
        let starts = |c: char| c == '_' || c.is_alphabetic();
        if !self.peek().is_some_and(starts) {
            return Some("");
        }
        let word = self.take_while(|c| c == '_' || c.is_alphanumeric());
        (word != "_").then_some(word)
    }

    fn integer(&mut self) -> Option<Option<u16>> {
        match self.take_while(|c| c.is_ascii_digit()) {
            "" => Some(None),
            digits => digits.parse().ok().map(Some),
        }
    }
}
