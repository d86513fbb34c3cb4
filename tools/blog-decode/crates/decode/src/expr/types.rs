// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Checks which values can be compared. A condition that can never be true is refused: with fields
//! it is an error, with arguments it is reported as soon as the call sites are known.

use super::{Node, Operand, Operator};
use crate::{
    error::Error,
    field::{classes, Class, Field, Selector},
    format::errno,
    output::level_named,
    sidetable::Site,
    wire::record::Context,
};

/// Refuses what can't be compared with each other.
pub(super) fn check(a: &Operand, op: Operator, b: &Operand) -> Result<(), Error> {
    let context = Operand::Field(Selector::Field(Field::Context));
    if op.is_order() && (*a == context || *b == context) {
        return Err(syntax("contexts have no order: == and != compare them".into()));
    }
    match (a, b) {
        (Operand::Field(Selector::Field(a)), Operand::Field(Selector::Field(b))) => {
            let is_like =
                a.is_number() == b.is_number() && (*a == Field::Level) == (*b == Field::Level);
            is_like
                .then_some(())
                .ok_or_else(|| syntax(format!("{} can't be compared with {}", name(*a), name(*b))))
        }
        (Operand::Field(Selector::Field(field)), other)
        | (other, Operand::Field(Selector::Field(field))) => constant(*field, other),
        _ => Ok(()),
    }
}

/// Refuses to match what is no text.
pub(super) fn check_match(a: &Operand) -> Result<(), Error> {
    match a {
        Operand::Field(Selector::Field(field)) if field.is_number() => {
            Err(syntax(format!("{} is a number, which no text matches", name(*field))))
        }
        Operand::Field(_) => Ok(()),
        _ => Err(syntax("a field of a record is expected before =~ and !~".into())),
    }
}

fn syntax(what: String) -> Error {
    Error::Syntax(what)
}

fn name(field: Field) -> String {
    Selector::Field(field).to_string()
}

fn constant(field: Field, value: &Operand) -> Result<(), Error> {
    let of = name(field);
    let why = match (field, value) {
        (_, Operand::Field(_)) => return Ok(()),
        (Field::Level, Operand::Text(text)) if level_named(text).is_none() => {
            format!("{text:?} is no level: there are err, warn, info, debug, trace, and 1 to 5")
        }
        (Field::Context, Operand::Text(text)) if !contexts().any(|name| name == text) => {
            let all: Vec<&str> = contexts().collect();
            format!("{text:?} is no context: there are {}", all.join(", "))
        }
        (field, Operand::Text(text)) if field.is_number() => {
            format!("{of} is a number, {text:?} is none")
        }
        (Field::Level, _) => return Ok(()),
        (field, Operand::Number(_) | Operand::Big(_)) if !field.is_number() => {
            format!("{of} is text: it goes with a string in quotes")
        }
        _ => return Ok(()),
    };
    Err(syntax(why))
}

fn contexts() -> impl Iterator<Item = &'static str> {
    (0..=3).filter_map(Context::from_u8).map(Context::name)
}

/// Says which comparisons of arguments are never true at any of these call sites.
pub(super) fn unfit(node: &Node, sites: &[&Site], all: &mut Vec<String>) {
    match node {
        Node::Any(nodes) | Node::All(nodes) => {
            nodes.iter().for_each(|node| unfit(node, sites, all));
        }
        Node::Not(node) => unfit(node, sites, all),
        Node::Compare(Operand::Field(a), op, b) | Node::Compare(b, op, Operand::Field(a)) => {
            if op.is_order() && is_variant(a, sites) {
                all.push(format!(
                    "{a} is a variant of an enum: < and > compare its name by letters"
                ));
            }
            let fits = |class: &Class<'_>| fits(*class, b);
            all.extend(told(a, sites, fits, || match b {
                Operand::Text(text) => format!("{text:?}"),
                Operand::Number(n) => n.to_string(),
                Operand::Big(n) => n.to_string(),
                Operand::Field(other) => other.to_string(),
            }));
        }
        Node::Match { of, .. } => {
            if let Operand::Field(a) = of {
                let is_text = |class: &Class<'_>| !matches!(class, Class::Number | Class::Bool);
                let what = told(a, sites, is_text, || "a regular expression".into());
                all.extend(what);
            }
        }
        Node::Compare(..) | Node::Truth(_) => {}
    }
}

fn is_variant(selector: &Selector, sites: &[&Site]) -> bool {
    let Selector::Argument(path) = selector else {
        return false;
    };
    let mut found = sites.iter().flat_map(|site| classes(path, site));
    found.any(|class| matches!(class, Class::Variant(_)))
}

fn told(
    selector: &Selector,
    sites: &[&Site],
    fits: impl Fn(&Class<'_>) -> bool,
    other: impl FnOnce() -> String,
) -> Option<String> {
    let Selector::Argument(path) = selector else {
        return None;
    };
    let mut found: Vec<Class<'_>> = sites.iter().flat_map(|site| classes(path, site)).collect();
    if found.is_empty() || found.iter().any(fits) {
        return None;
    }
    found.truncate(1);
    let is = match found[0] {
        Class::Number => "a number",
        Class::Text => "text",
        Class::Bool => "true or false",
        Class::Errno => "an error",
        Class::Variant(_) => "a variant of an enum",
    };
    Some(format!("{selector} is {is}: it never compares with {}", other()))
}

fn fits(class: Class<'_>, value: &Operand) -> bool {
    match (class, value) {
        (_, Operand::Field(_)) => true,
        (Class::Number | Class::Errno, Operand::Number(_) | Operand::Big(_)) => true,
        (Class::Text, Operand::Text(_)) => true,
        (Class::Bool, Operand::Text(text)) => text == "true" || text == "false",
        (Class::Errno, Operand::Text(text)) => errno::number(text).is_some(),
        (Class::Variant(name), Operand::Text(text)) => name == text,
        _ => false,
    }
}
