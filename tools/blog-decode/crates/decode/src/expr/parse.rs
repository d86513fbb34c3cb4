// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The text of a condition becomes an [`Expr`]. By hand: a library of parsers would need as many lines,
//! and could say less of what is wrong.

use super::{
    types::{check, check_match},
    Expr, Node, Operand, Operator,
};
use crate::{error::Error, field::Selector, filter::parse_regex};

/// As deep may conditions be nested.
const MAX_DEPTH: usize = 64;
/// A condition has no more regular expressions: one may take 10 MB and more.
const MAX_REGEXES: usize = 16;

impl Expr {
    /// Reads a condition. The error says where it is wrong.
    pub fn parse(source: &str) -> Result<Self, Error> {
        let mut p = Parser { source, at: 0, depth: 0, regexes: 0, needs_message: false };
        let root = p.or().and_then(|root| match p.rest() {
            "" => Ok(root),
            _ => Err(Error::Syntax("\"&&\", \"||\" or the end is expected".into())),
        });
        match root {
            Ok(root) => Ok(Self { root, needs_message: p.needs_message }),
            Err(e) => {
                let before = source.get(..p.at).unwrap_or_default().chars().count();
                Err(Error::Syntax(format!("{e}, at character {} of {source:?}", before + 1)))
            }
        }
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
    regexes: usize,
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

    fn or(&mut self) -> Result<Node, Error> {
        let mut all = vec![self.and()?];
        while self.take("||") {
            all.push(self.and()?);
        }
        Ok(one_or(all, Node::Any))
    }

    fn and(&mut self) -> Result<Node, Error> {
        let mut all = vec![self.not()?];
        while self.take("&&") {
            all.push(self.not()?);
        }
        Ok(one_or(all, Node::All))
    }

    fn not(&mut self) -> Result<Node, Error> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Error::Syntax("nested too deep".into()));
        }
        let node = if self.take("(") {
            let node = self.or()?;
            if !self.take(")") {
                return Err(Error::Syntax("\")\" is expected".into()));
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

    fn comparison(&mut self) -> Result<Node, Error> {
        let start = self.at;
        let a = self.operand()?;
        for (sign, wanted) in [("=~", true), ("!~", false)] {
            if self.take(sign) {
                self.rest();
                let (from, start) = (start, self.at);
                let Operand::Text(pattern) = self.operand()? else {
                    self.at = start;
                    return Err(Error::Syntax(format!(
                        "{sign} takes a regular expression in quotes"
                    )));
                };
                let place = std::mem::replace(&mut self.at, from);
                self.rest();
                check_match(&a)?;
                self.at = place;
                self.regexes += 1;
                if self.regexes > MAX_REGEXES {
                    self.at = start;
                    return Err(Error::Syntax("too many regular expressions".into()));
                }
                let regex = parse_regex(&pattern).inspect_err(|_| self.at = start)?;
                return Ok(Node::Match { of: a, regex, wanted });
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
                    return Err(Error::Syntax(
                        "neither side is a field of a record: an argument is arg.NAME".into(),
                    ));
                }
                let end = std::mem::replace(&mut self.at, start);
                self.rest();
                check(&a, op, &b)?;
                self.at = end;
                return Ok(Node::Compare(a, op, b));
            }
        }
        if self.rest().starts_with('=') {
            return Err(Error::Syntax("\"==\" is expected".into()));
        }
        if a.is_constant() {
            self.at = start;
            self.rest();
            return Err(Error::Syntax("a field of a record is expected".into()));
        }
        Ok(Node::Truth(a))
    }

    fn operand(&mut self) -> Result<Operand, Error> {
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
            _ => Err(Error::Syntax("a field, a number or a string is expected".into())),
        }
    }

    fn string(&mut self, quote: char) -> Result<Operand, Error> {
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
        Err(Error::Syntax("this string does not end".into()))
    }

    fn number(&mut self) -> Result<Operand, Error> {
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
            Some(b'k' | b'K') => (&word_digits[..word_digits.len() - 1], 1u128 << 10),
            Some(b'M') => (&word_digits[..word_digits.len() - 1], 1 << 20),
            Some(b'G') => (&word_digits[..word_digits.len() - 1], 1 << 30),
            _ => (word_digits, 1),
        };
        let n = u128::from_str_radix(&plain.replace('_', ""), radix).ok();
        let n = n.and_then(|n| n.checked_mul(scale));
        let n = n.and_then(|n| match i128::try_from(n) {
            Ok(n) => Some(Operand::Number(if negative { -n } else { n })),
            Err(_) => (!negative).then_some(Operand::Big(n)),
        });
        let n = n.ok_or_else(|| Error::Syntax("not a number".into()))?;
        self.at += usize::from(negative) + word.len();
        Ok(n)
    }
}
