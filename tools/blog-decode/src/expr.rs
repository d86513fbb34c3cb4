// SPDX-License-Identifier: GPL-2.0

//! Conditions on a record: what `--where` takes.
//!
//! ```text
//! condition   = and { "||" and }
//! and         = not { "&&" not }
//! not         = "!" not | "(" condition ")" | comparison
//! comparison  = operand [ ( "==" | "!=" | "<" | "<=" | ">" | ">=" | "=~" | "!~" ) operand ]
//! operand     = number | string | field | word
//! number      = [ "-" ] digits [ k | M | G ]      0x, 0o, 0b and _ as in Rust; k is 1024
//! string      = "…" or '…'                        \\ \" \' \n \t as in Rust
//! field       = component | level | context | cpu | pid | tgid | comm | site | image | module
//!             | file | line | format | message | arg.NAME | arg.INDEX
//! ```
//!
//! `arg.NAME` is an argument by its name in the format string, `arg.0` by its place; more steps
//! lead to fields of derived types: `arg.op.fua`. Any other word is a string: `comm == fio`,
//! `arg.e == EIO`. Levels compare by number: `level <= warn`. `=~` takes a regular expression.
//! A variant of an enum compares by its name, an error by its name or its (negative) number.
//!
//! A comparison with what a record doesn't have, or with a value of another type, is false, with
//! `!=` and `!~` too; `!(a == b)` is true then. A field alone is true if it is there and neither
//! false, 0 nor empty.
//!
//! [`Expr::parse`] is for the command line, [`Expr::is_true`] for each record. It allocates nothing
//! but where an argument is no plain number or string.

use std::{
    borrow::Cow,
    cmp::Ordering, //
};

use regex::bytes::Regex;

use crate::{
    field::{
        Selector,
        Subject,
        Val, //
    },
    format::errno,
    wire::record::Level, //
};

/// As deep may conditions be nested.
const MAX_DEPTH: usize = 64;

/// A condition.
#[derive(Debug)]
pub struct Expr {
    root: Node,
    needs_message: bool,
}

#[derive(Debug)]
enum Node {
    Any(Vec<Node>),
    All(Vec<Node>),
    Not(Box<Node>),
    Compare(Operand, Operator, Operand),
    Match {
        of: Operand,
        regex: Regex,
        wanted: bool,
    },
    Truth(Operand),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Operator {
    fn allows(self, o: Ordering) -> bool {
        match self {
            Self::Eq => o.is_eq(),
            Self::Ne => o.is_ne(),
            Self::Lt => o.is_lt(),
            Self::Le => o.is_le(),
            Self::Gt => o.is_gt(),
            Self::Ge => o.is_ge(),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Operand {
    Number(i128),
    Text(String),
    Field(Selector),
}

impl Val<'_> {
    fn is_true(&self) -> bool {
        match self {
            Self::Number(n) => *n != 0,
            Self::Text(t) => !t.is_empty(),
            Self::Bool(b) => *b,
            Self::Errno(_) | Self::Level(_) => true,
        }
    }

    /// `None`: they can't be compared.
    fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => Some(a.cmp(b)),
            (Self::Text(a), Self::Text(b)) => Some(a.cmp(b)),
            (Self::Bool(a), Self::Bool(b)) => Some(a.cmp(b)),
            (Self::Bool(a), Self::Text(b)) => match &**b {
                b"true" => Some(a.cmp(&true)),
                b"false" => Some(a.cmp(&false)),
                _ => None,
            },
            (Self::Errno(a), Self::Errno(b)) => Some(a.cmp(b)),
            (Self::Errno(a), Self::Number(b)) => Some(i128::from(*a).cmp(b)),
            (Self::Errno(a), Self::Text(b)) => {
                let name = errno::name(a.unsigned_abs())?;
                Some(name.as_bytes().cmp(b))
            }
            (Self::Level(a), Self::Level(b)) => Some(a.cmp(b)),
            (Self::Level(a), Self::Number(b)) => Some(i128::from(*a).cmp(b)),
            (Self::Level(a), Self::Text(b)) => {
                let level = Level::ALL
                    .into_iter()
                    .find(|l| l.name().as_bytes() == &**b)?;
                Some(a.cmp(&(level as u8)))
            }
            (Self::Number(_) | Self::Text(_), Self::Errno(_) | Self::Level(_) | Self::Bool(_)) => {
                other.compare(self).map(Ordering::reverse)
            }
            _ => None,
        }
    }
}

impl Operand {
    fn value<'a>(&'a self, s: &'a Subject<'a>) -> Option<Val<'a>> {
        match self {
            Self::Number(n) => Some(Val::Number(*n)),
            Self::Text(t) => Some(Val::Text(Cow::Borrowed(t.as_bytes()))),
            Self::Field(selector) => selector.value(s),
        }
    }

    fn is_constant(&self) -> bool {
        !matches!(self, Self::Field(_))
    }
}

impl Node {
    fn is_true(&self, s: &Subject<'_>) -> bool {
        match self {
            Self::Any(all) => all.iter().any(|a| a.is_true(s)),
            Self::All(all) => all.iter().all(|a| a.is_true(s)),
            Self::Not(a) => !a.is_true(s),
            Self::Compare(a, op, b) => {
                let values = a.value(s).zip(b.value(s));
                let order = values.and_then(|(a, b)| a.compare(&b));
                order.is_some_and(|o| op.allows(o))
            }
            Self::Match { of, regex, wanted } => match of.value(s) {
                Some(Val::Text(t)) => regex.is_match(&t) == *wanted,
                Some(Val::Errno(n)) => errno::name(n.unsigned_abs())
                    .is_some_and(|name| regex.is_match(name.as_bytes()) == *wanted),
                _ => false,
            },
            Self::Truth(a) => a.value(s).is_some_and(|v| v.is_true()),
        }
    }
}

impl Expr {
    /// Reads a condition. The error says where it is wrong.
    pub fn parse(source: &str) -> Result<Self, String> {
        let mut p = Parser {
            source,
            at: 0,
            depth: 0,
            needs_message: false,
        };
        let root = p.or().and_then(|root| match p.rest() {
            "" => Ok(root),
            _ => Err("\"&&\", \"||\" or the end is expected".to_owned()),
        });
        match root {
            Ok(root) => Ok(Self {
                root,
                needs_message: p.needs_message,
            }),
            Err(e) => {
                let before = source.get(..p.at).unwrap_or_default().chars().count();
                Err(format!("{e}, at character {} of {source:?}", before + 1))
            }
        }
    }

    /// Whether [`Subject::message`] is looked at.
    pub fn needs_message(&self) -> bool {
        self.needs_message
    }

    /// Whether it is true of a record.
    pub fn is_true(&self, subject: &Subject<'_>) -> bool {
        self.root.is_true(subject)
    }
}

fn one_or(mut all: Vec<Node>, many: fn(Vec<Node>) -> Node) -> Node {
    match all.pop() {
        Some(one) if all.is_empty() => one,
        last => {
            all.extend(last);
            many(all)
        }
    }
}

struct Parser<'a> {
    source: &'a str,
    at: usize,
    depth: usize,
    needs_message: bool,
}

impl<'a> Parser<'a> {
    /// What is left, without white space before it.
    fn rest(&mut self) -> &'a str {
        let rest = self.source[self.at..].trim_start();
        self.at = self.source.len() - rest.len();
        rest
    }

    fn take(&mut self, what: &str) -> bool {
        let found = self.rest().starts_with(what);
        if found {
            self.at += what.len();
        }
        found
    }

    fn or(&mut self) -> Result<Node, String> {
        let mut all = vec![self.and()?];
        while self.take("||") {
            all.push(self.and()?);
        }
        Ok(one_or(all, Node::Any))
    }

    fn and(&mut self) -> Result<Node, String> {
        let mut all = vec![self.not()?];
        while self.take("&&") {
            all.push(self.not()?);
        }
        Ok(one_or(all, Node::All))
    }

    fn not(&mut self) -> Result<Node, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("nested too deep".into());
        }
        let node = if self.take("(") {
            let node = self.or()?;
            if !self.take(")") {
                return Err("\")\" is expected".into());
            }
            node
        } else if self.take("!") {
            Node::Not(Box::new(self.not()?))
        } else {
            self.comparison()?
        };
        self.depth -= 1;
        Ok(node)
    }

    fn comparison(&mut self) -> Result<Node, String> {
        let start = self.at;
        let a = self.operand()?;
        for (sign, wanted) in [("=~", true), ("!~", false)] {
            if self.take(sign) {
                self.rest();
                let start = self.at;
                let Operand::Text(pattern) = self.operand()? else {
                    self.at = start;
                    return Err(format!("{sign} takes a regular expression in quotes"));
                };
                let regex = Regex::new(&pattern).map_err(|e| {
                    self.at = start;
                    let e = e.to_string();
                    format!(
                        "bad regular expression ({})",
                        e.lines().last().unwrap_or(&e)
                    )
                })?;
                return Ok(Node::Match {
                    of: a,
                    regex,
                    wanted,
                });
            }
        }
        // Longer ones first.
        for (sign, op) in [
            ("==", Operator::Eq),
            ("!=", Operator::Ne),
            ("<=", Operator::Le),
            (">=", Operator::Ge),
            ("<", Operator::Lt),
            (">", Operator::Gt),
        ] {
            if self.take(sign) {
                let b = self.operand()?;
                if a.is_constant() && b.is_constant() {
                    self.at = start;
                    self.rest();
                    return Err("neither side is a field of a record".into());
                }
                return Ok(Node::Compare(a, op, b));
            }
        }
        if a.is_constant() {
            self.at = start;
            self.rest();
            return Err("a field of a record is expected".into());
        }
        Ok(Node::Truth(a))
    }

    fn operand(&mut self) -> Result<Operand, String> {
        let rest = self.rest();
        match rest.chars().next() {
            Some(quote @ ('"' | '\'')) => self.string(quote),
            Some('0'..='9' | '-') => self.number(),
            Some(c) if c.is_alphabetic() || c == '_' => {
                let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '/');
                let word = &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())];
                self.at += word.len();
                Ok(match Selector::parse(word)? {
                    Some(selector) => {
                        self.needs_message |= selector.needs_message();
                        Operand::Field(selector)
                    }
                    None => Operand::Text(word.to_owned()),
                })
            }
            _ => Err("a field, a number or a string is expected".into()),
        }
    }

    fn string(&mut self, quote: char) -> Result<Operand, String> {
        let rest = self.rest();
        let mut text = String::new();
        let mut chars = rest.char_indices().skip(1);
        while let Some((i, c)) = chars.next() {
            match c {
                c if c == quote => {
                    self.at += i + c.len_utf8();
                    return Ok(Operand::Text(text));
                }
                '\\' => match chars.next() {
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, 't')) => text.push('\t'),
                    Some((_, c @ ('\\' | '"' | '\''))) => text.push(c),
                    // For regular expressions.
                    Some((_, c)) => text.extend(['\\', c]),
                    None => break,
                },
                c => text.push(c),
            }
        }
        Err("this string does not end".into())
    }

    fn number(&mut self) -> Result<Operand, String> {
        let rest = self.rest();
        let (negative, digits) = match rest.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, rest),
        };
        let end = digits.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let word = &digits[..end.unwrap_or(digits.len())];
        let (word_digits, radix) = match word.get(..2) {
            Some("0x") => (&word[2..], 16),
            Some("0o") => (&word[2..], 8),
            Some("0b") => (&word[2..], 2),
            _ => (word, 10),
        };
        let (plain, scale) = match word_digits.as_bytes().last() {
            Some(b'k' | b'K') => (&word_digits[..word_digits.len() - 1], 1i128 << 10),
            Some(b'M') => (&word_digits[..word_digits.len() - 1], 1 << 20),
            Some(b'G') => (&word_digits[..word_digits.len() - 1], 1 << 30),
            _ => (word_digits, 1),
        };
        let n = i128::from_str_radix(&plain.replace('_', ""), radix).ok();
        let n = n.and_then(|n| n.checked_mul(scale)).ok_or("not a number")?;
        self.at += usize::from(negative) + word.len();
        Ok(Operand::Number(if negative { -n } else { n }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        format::{
            template::Template,
            types::Types, //
        },
        merge::Stream,
        record::{
            Task,
            Writer, //
        },
        sidetable::{
            Found,
            ImageSites,
            Site, //
        },
        wire::record::Context, //
    };

    fn check(source: &str) -> bool {
        // A u32, a string, an i32 and an error.
        let codes = [0x03, 0x22, 0x13, 0x26];
        let mut types = Types::new(&[]);
        let types: Vec<_> = codes.iter().map(|&c| types.resolve(c).unwrap()).collect();
        let names = ["len", "name", "delta", "e"].map(str::to_owned).to_vec();
        let format = "{len} {name} {delta} {e:?}";
        let template = Template::new(format, names, types).unwrap();
        let mut payload = 8192u32.to_le_bytes().to_vec();
        payload.extend([3, 0]);
        payload.extend(b"sda");
        payload.extend((-7i32).to_le_bytes());
        payload.extend((-5i32).to_le_bytes());
        payload.resize(payload.len().next_multiple_of(4), 0);
        let mut slots = Vec::new();
        assert!(template.cut(&payload, &mut slots));
        let site = Site {
            level: 2,
            line: 71,
            file: "drivers/x.rs".into(),
            module: "x::y".into(),
            format: format.into(),
            types: Vec::new(),
            template: Ok(template),
        };
        let image = ImageSites {
            name: "x".into(),
            build_id: String::new(),
            sites: None,
        };
        let found = Found {
            image_index: 0,
            image: &image,
            index: 3,
            site: Some(&site),
        };
        let stream = Stream {
            component: "disk".into(),
            id: 1,
            ring: None,
            file: 0,
            runs: Vec::new(),
            from: 0,
            since: 0,
        };
        let mut comm = [0; 16];
        comm[..3].copy_from_slice(b"fio");
        let writer = Writer {
            context: Some(Context::Task),
            cpu: None,
            task: Some(Task {
                pid: 42,
                tgid: 40,
                comm,
            }),
        };
        Expr::parse(source).unwrap().is_true(&Subject {
            stream: &stream,
            host: "box",
            writer: &writer,
            level: None,
            id: 9,
            found: Some(&found),
            payload: &payload,
            slots: &slots,
            message: b"8192 sda -7 EIO",
        })
    }

    #[test]
    fn true_ones_are_true_and_false_ones_false() {
        for source in [
            "arg.len > 4096 && component == \"disk\"",
            "arg.len == 8k",
            "host == box",
            "arg.len == 0x2000",
            "arg.0 >= 8_192",
            "arg.delta < 0 && arg.delta == -7",
            "arg.name == sda",
            "arg.name =~ '^sd[a-z]$'",
            "arg.name !~ \"nvme\"",
            "arg.e == EIO",
            "arg.e == -5",
            "EIO == arg.e",
            "arg.e != ENOMEM",
            "level == warn && level <= info && level > err",
            "level <= 2",
            "context == task && comm == fio && pid == 42 && tgid == 40",
            "site == 9 && line == 71 && file =~ 'x\\.rs$' && module == 'x::y' && image == x",
            "message =~ '\\bsda\\b'",
            "arg.len",
            "!arg.nothing",
            "!(cpu == 0)",
            "false == component || (pid==1||pid==42)&&!(comm!=fio)",
        ] {
            assert!(check(source), "{source}");
        }
        for source in [
            "arg.len < 8192",
            "arg.nothing == 1",
            "arg.nothing != 1",
            "cpu == 0",
            "cpu != 0",
            "arg.name == 3",
            "arg.name != 3",
            "arg.len.x == 1",
            "comm == fi",
            "arg.e == ENOMEM",
            "pid == 1 || pid == 2",
            "pid == 42 && pid == 2",
            "!component",
        ] {
            assert!(!check(source), "{source}");
        }
    }

    #[test]
    fn wrong_ones_are_refused_with_the_place() {
        for (source, what, at) in [
            ("", "a field, a number or a string", 1),
            ("pid ==", "a field, a number or a string", 7),
            ("pid == 1 &&", "a field, a number or a string", 12),
            ("pid == 1 comm == 2", "\"&&\"", 10),
            ("(pid == 1", "\")\"", 10),
            ("compnent == 'x'", "neither side is a field", 1),
            ("fio", "a field of a record", 1),
            ("message =~ 4", "=~ takes", 12),
            ("message =~ '('", "bad regular expression", 12),
            ("comm == 'fio", "does not end", 9),
            ("pid == 4x", "not a number", 8),
            ("arg. == 4", "name of an argument", 5),
            (
                "pid == 99999999999999999999999999999999999999999999",
                "not a number",
                8,
            ),
        ] {
            let e = Expr::parse(source).unwrap_err();
            assert!(e.contains(what), "{source}: {e}");
            assert!(e.contains(&format!("at character {at} ")), "{source}: {e}");
        }
        assert!(Expr::parse(&"(".repeat(100_000)).is_err());
        assert!(Expr::parse(&"!".repeat(100_000)).is_err());
    }
}
