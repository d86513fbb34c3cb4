// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Conditions on a record, for `--where`.
//!
//! ```text
//! condition   = and { "||" and }
//! and         = not { "&&" not }
//! not         = "!" not | "(" condition ")" | comparison
//! comparison  = operand [ ( "==" | "!=" | "<" | "<=" | ">" | ">=" | "=~" | "!~" ) operand ]
//! operand     = number | string | field | word
//! number      = [ "-" ] digits [ k | M | G ]      0x, 0o, 0b and _ as in Rust; k is 1024
//! string      = "…" or '…'                        \\ \" \' \n \t as in Rust
//! field       = host | boot_id | component | level | context | cpu | pid | tgid | comm | site
//!             | image | module | function | class | file | line | format | message | arg.NAME
//!             | arg.INDEX
//! ```
//!
//! `arg.NAME` is an argument by its name in the format string, `arg.0` by its place; more steps
//! lead to fields of derived types: `arg.op.fua`. Any other word is a string: `comm == fio`,
//! `arg.e == EIO`. Levels compare by number: `level <= warn`. `=~` takes a regular expression.
//! A variant of an enum compares by its name, an error by its (negative) number, also if it is named.
//!
//! A comparison with a field that a record doesn't have, or with a value of another type, is false,
//! with `!=` and `!~` too; `!(a == b)` is true then. A field alone is true if the record has it,
//! and it is not false, 0 or empty.
//!
//! [`Expr::parse`] is for the command line, [`Expr::is_true`] for each record. It allocates nothing
//! but where an argument is no plain number or string.

mod parse;
mod types;

use std::{borrow::Cow, cmp::Ordering};

use regex::bytes::Regex;

use crate::{
    decode::Entry,
    field::{Selector, Val},
    format::errno,
    output::{level_name, level_named},
    sidetable::Site,
};

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
    Match { of: Operand, regex: Regex, wanted: bool },
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
    fn is_order(self) -> bool {
        !matches!(self, Self::Eq | Self::Ne)
    }

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
    /// Larger than that.
    Big(u128),
    Text(String),
    Field(Selector),
}

impl Val<'_> {
    fn is_true(&self) -> bool {
        match self {
            Self::Number(n) => *n != 0,
            Self::Big(_) => true,
            Self::Text(t) => !t.is_empty(),
            Self::Bool(b) => *b,
            Self::Errno(_) | Self::Level(_) | Self::Seconds(_) | Self::Date(_) => true,
        }
    }

    /// `None`: they can't be compared.
    fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => Some(a.cmp(b)),
            (Self::Big(a), Self::Big(b)) => Some(a.cmp(b)),
            (Self::Big(_), Self::Number(_)) => Some(Ordering::Greater),
            (Self::Number(_), Self::Big(_)) => Some(Ordering::Less),
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
                // By their numbers, as not every error has a name.
                let b = errno::number(std::str::from_utf8(b).ok()?)?;
                Some(b.cmp(&a.unsigned_abs()))
            }
            (Self::Level(a), Self::Level(b)) => Some(a.cmp(b)),
            (Self::Level(a), Self::Number(b)) => Some(i128::from(*a).cmp(b)),
            (Self::Level(a), Self::Text(b)) => {
                let level = level_named(std::str::from_utf8(b).ok()?)?;
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
    fn value<'a>(&'a self, e: &'a Entry<'_>) -> Option<Val<'a>> {
        match self {
            Self::Number(n) => Some(Val::Number(*n)),
            Self::Big(n) => Some(Val::Big(*n)),
            Self::Text(t) => Some(Val::Text(Cow::Borrowed(t.as_bytes()))),
            Self::Field(selector) => selector.value(e),
        }
    }

    fn is_constant(&self) -> bool {
        !matches!(self, Self::Field(_))
    }
}

impl Node {
    fn is_true(&self, e: &Entry<'_>) -> bool {
        match self {
            Self::Any(all) => all.iter().any(|a| a.is_true(e)),
            Self::All(all) => all.iter().all(|a| a.is_true(e)),
            Self::Not(a) => !a.is_true(e),
            Self::Compare(a, op, b) => {
                let values = a.value(e).zip(b.value(e));
                let order = values.and_then(|(a, b)| a.compare(&b));
                order.is_some_and(|o| op.allows(o))
            }
            Self::Match { of, regex, wanted } => match of.value(e) {
                Some(Val::Text(t)) => regex.is_match(&t) == *wanted,
                Some(Val::Level(n)) => regex.is_match(level_name(n).as_bytes()) == *wanted,
                Some(Val::Errno(n)) => {
                    let is = match errno::name(n.unsigned_abs()) {
                        Some(name) => regex.is_match(name.as_bytes()),
                        None => regex.is_match(n.to_string().as_bytes()),
                    };
                    is == *wanted
                }
                _ => false,
            },
            Self::Truth(a) => a.value(e).is_some_and(|v| v.is_true()),
        }
    }
}

impl Node {
    fn fields<'a>(&'a self, all: &mut Vec<&'a Selector>) {
        let mut of = |operand: &'a Operand| {
            if let Operand::Field(selector) = operand {
                all.push(selector);
            }
        };
        match self {
            Self::Any(nodes) | Self::All(nodes) => nodes.iter().for_each(|a| a.fields(all)),
            Self::Not(a) => a.fields(all),
            Self::Compare(a, _, b) => [a, b].into_iter().for_each(of),
            Self::Match { of: a, .. } | Self::Truth(a) => of(a),
        }
    }
}

impl Expr {
    /// Whether [`Entry::message`] is looked at.
    pub(crate) fn needs_message(&self) -> bool {
        self.needs_message
    }

    /// The fields that it asks for.
    pub fn fields(&self) -> Vec<&Selector> {
        let mut all = Vec::new();
        self.root.fields(&mut all);
        all
    }

    /// Says which of its comparisons are never true at any of these call sites.
    pub(crate) fn unfit(&self, sites: &[&Site]) -> Vec<String> {
        let mut all = Vec::new();
        types::unfit(&self.root, sites, &mut all);
        all
    }

    /// Whether it is true of a record.
    pub(crate) fn is_true(&self, entry: &Entry<'_>) -> bool {
        self.root.is_true(entry)
    }
}
