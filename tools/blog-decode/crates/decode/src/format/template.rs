// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! A format string compiled for one call site, and the cutting of payloads into arguments.
//!
//! [`sidetable`](crate::sidetable) compiles one [`Template`] for each site, once. For each record,
//! [`Template::cut`] finds the arguments and [`Template::print`] writes the text; neither
//! allocates once its buffers have grown.

use std::{mem, ops::Range};

use super::{
    cprint,
    parse::{self, Count, Flags, Piece, Placeholder, Position, Trait},
    print::{Printer, Spec},
    types::{Kind, Type},
    value::{Value, View},
};
use crate::{
    blogfmt::{
        bytes::{array, u64_at},
        printf,
    },
    digits::{self, SHORT},
    error::Error,
    record::Version,
    wire::types::{
        take_tail, Privacy, TypeCode, I64, I8, LONG, LONG_SIZE, MAX_TAIL, POINTER, PRIVATE, RESULT,
        U64, U8,
    },
};

/// A compiled format string.
#[derive(Debug)]
pub struct Template {
    steps: Vec<Step>,
    types: Vec<Type>,
    names: Vec<String>,
    /// How a payload is cut, by version; `None` if there is none of such records.
    plans: [Option<Plan>; 2],
    is_plain: bool,
    /// What is printed, if all arguments are integers of at most 64 bits without padding.
    program: Option<Vec<Part>>,
}

/// A part of a text: some bytes, then a number that is at a place in the payload.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    text: [u8; SHORT],
    len: usize,
    number: Option<(usize, usize, Simple)>,
}

/// What prints these steps, if nothing depends on what the arguments are.
fn program(steps: &[Step], types: &[Type]) -> Option<Vec<Part>> {
    let (mut parts, mut part, mut ends) = (Vec::new(), Part::default(), Vec::new());
    for ty in types {
        if !matches!((&ty.kind, ty.fixed), (Kind::Uint | Kind::Int, 1 | 2 | 4 | 8)) {
            return None;
        }
        ends.push(ends.last().unwrap_or(&0) + ty.fixed);
    }
    for step in steps {
        match step {
            Step::Literal(text) => {
                for &b in text.as_bytes() {
                    if part.len == SHORT {
                        parts.push(mem::take(&mut part));
                    }
                    part.text[part.len] = b;
                    part.len += 1;
                }
            }
            Step::Argument(Argument { index, simple: Some(simple), .. }) => {
                let end = ends[*index];
                part.number = Some((end - types[*index].fixed, end, *simple));
                parts.push(mem::take(&mut part));
            }
            _ => return None,
        }
    }
    // More is cut off at a limit.
    parts.extend((part.len > 0).then_some(part));
    (parts.len() <= LONG_PROGRAM).then_some(parts)
}

/// As many parts are no longer than any text may be.
const LONG_PROGRAM: usize = 1 << 12;

/// How the payloads of a version are cut.
#[derive(Debug)]
struct Plan {
    /// Fixed bytes of each argument.
    fixed: Vec<usize>,
    /// Bytes that tails may have in all.
    budget: usize,
    /// Where the arguments are and where they end, if none of them has a tail.
    slots: Option<(Vec<ArgumentSlot>, usize)>,
}

impl Plan {
    fn new(types: &[Type], version: Version) -> Option<Self> {
        let fixed: Vec<usize> = types.iter().map(|t| t.fixed_by(version)).collect();
        let tails = types.iter().filter(|t| t.has_tail()).count();
        let least = fixed.iter().sum::<usize>() + tails * version.long_size();
        let budget = version.max_payload().checked_sub(least)?;
        let mut end = 0;
        let slots = fixed.iter().map(|&fixed| {
            let at = end as u32;
            end += fixed;
            ArgumentSlot { at, fixed: fixed as u32, tail_at: end as u32, ..ArgumentSlot::default() }
        });
        let slots: Vec<ArgumentSlot> = slots.collect();
        Some(Self { fixed, budget, slots: (tails == 0).then_some((slots, end)) })
    }
}

#[derive(Debug)]
enum Step {
    Literal(String),
    Argument(Argument),
    Conversion(Conversion),
}

/// A conversion of a C format; the numbers are indices of stored arguments.
#[derive(Debug)]
struct Conversion {
    says: printf::Conversion,
    width: Option<usize>,
    precision: Option<usize>,
    value: usize,
}

#[derive(Debug)]
struct Argument {
    index: usize,
    flags: Flags,
    print: Trait,
    width: Option<Number>,
    precision: Option<Number>,
    simple: Option<Simple>,
}

/// What most arguments are: an integer of at most 64 bits, without padding.
#[derive(Clone, Copy, Debug)]
enum Simple {
    Unsigned,
    Signed,
    /// With or without `0x`.
    Hex(bool),
}

impl Simple {
    fn new(ty: &Type, p: &Placeholder) -> Option<Self> {
        let flags = Flags { alternate: false, ..p.flags };
        let is_bare = flags == Flags::NONE && p.width.is_none() && p.precision.is_none();
        if !is_bare || !matches!(ty.fixed, 1 | 2 | 4 | 8) {
            return None;
        }
        match (&ty.kind, p.print) {
            (Kind::Uint, Trait::Display | Trait::Debug) => Some(Self::Unsigned),
            (Kind::Int, Trait::Display | Trait::Debug) => Some(Self::Signed),
            (Kind::Uint, Trait::LowerHex) => Some(Self::Hex(p.flags.alternate)),
            _ => None,
        }
    }

    #[inline]
    fn print(self, fixed: &[u8], out: &mut Vec<u8>) {
        let (n, unused) = match *fixed {
            [n] => (n.into(), 56),
            [a, b] => (u16::from_le_bytes([a, b]).into(), 48),
            [a, b, c, d] => (u32::from_le_bytes([a, b, c, d]).into(), 32),
            _ => (u64_at(fixed, 0).unwrap_or(0), 0),
        };
        match self {
            Self::Unsigned => digits::push(out, n),
            Self::Signed => {
                let n = (n << unused) as i64 >> unused;
                if n < 0 {
                    out.push(b'-');
                }
                digits::push(out, n.unsigned_abs());
            }
            Self::Hex(with_prefix) => {
                if with_prefix {
                    out.extend_from_slice(b"0x");
                }
                digits::push_base16(out, n);
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Number {
    Literal(u16),
    /// Index of the argument.
    Argument(usize),
}

/// Where the bytes of one argument are in a payload.
#[derive(Clone, Copy, Debug, Default)]
pub struct ArgumentSlot {
    at: u32,
    fixed: u32,
    tail_at: u32,
    stored: u32,
    /// Length that the tail had, stored or not.
    whole: u32,
}

impl ArgumentSlot {
    fn fixed(self, payload: &[u8]) -> Option<&[u8]> {
        payload.get(self.at as usize..(self.at + self.fixed) as usize)
    }

    fn tail(self, payload: &[u8]) -> Option<&[u8]> {
        payload.get(self.tail_at as usize..(self.tail_at + self.stored) as usize)
    }
}

impl Template {
    /// Compiles `format` for stored arguments of these names and types.
    pub fn new(format: &str, names: Vec<String>, types: Vec<Type>) -> Result<Self, Error> {
        let count = types.len().min(names.len());
        let find = |position: &Position| match position {
            Position::Next(i) | Position::Index(i) if *i < count => Ok(*i),
            Position::Next(i) | Position::Index(i) => {
                Err(Error::Site(format!("the format string asks for argument {i}")))
            }
            // Named arguments come after positional ones, which are known by their source text.
            Position::Name(name) => names
                .iter()
                .rposition(|n| n == name)
                .filter(|i| *i < count)
                .ok_or_else(|| Error::Site(format!("the format string asks for {name:?}"))),
        };
        let number = |count: Option<Count>| match count {
            None => Ok(None),
            Some(Count::Literal(n)) => Ok(Some(Number::Literal(n))),
            Some(Count::Argument(position)) => {
                let i = find(&position)?;
                match types[i].kind {
                    Kind::Uint => Ok(Some(Number::Argument(i))),
                    _ => Err(Error::Site("a width or precision that is no usize".into())),
                }
            }
        };
        let mut steps = Vec::new();
        for piece in parse::parse(format).map_err(Error::Site)? {
            steps.push(match piece {
                Piece::Literal(s) => Step::Literal(s),
                Piece::Placeholder(p) => {
                    let index = find(&p.argument)?;
                    let p = match types[index].kind {
                        // What the placeholder says was done before it was stored.
                        Kind::Text => Placeholder {
                            flags: Flags::NONE,
                            width: None,
                            precision: None,
                            print: Trait::Display,
                            ..p
                        },
                        _ => p,
                    };
                    Step::Argument(Argument {
                        index,
                        flags: p.flags,
                        print: p.print,
                        simple: Simple::new(&types[index], &p),
                        width: number(p.width)?,
                        precision: number(p.precision)?,
                    })
                }
            });
        }
        Self::with_steps(steps, names, types)
    }

    /// Compiles a C format for stored arguments of these names, type codes and types.
    pub fn new_c(
        format: &str,
        names: Vec<String>,
        codes: &[u64],
        types: Vec<Type>,
    ) -> Result<Self, Error> {
        let is_private = |_, stored: usize| {
            let code = codes.get(stored).copied().map(TypeCode);
            code.is_some_and(|code| code.kind() == PRIVATE)
        };
        let compiled = printf::compile_with(format, &is_private).map_err(Error::Site)?;
        let mut pairs = compiled.types.iter().zip(codes);
        if compiled.types.len() != codes.len() || !pairs.all(|(says, code)| fits(*says, *code)) {
            return Err(Error::Site("the arguments are not those of the format".into()));
        }
        let steps = compiled.steps.into_iter().map(|step| match step {
            printf::Step::Text(text) => Step::Literal(text),
            printf::Step::Value { conversion, width, precision, value } => {
                Step::Conversion(Conversion { says: conversion, width, precision, value })
            }
        });
        Self::with_steps(steps.collect(), names, types)
    }

    fn with_steps(steps: Vec<Step>, names: Vec<String>, types: Vec<Type>) -> Result<Self, Error> {
        let plans = [Version::One, Version::Two].map(|version| Plan::new(&types, version));
        if plans.iter().all(Option::is_none) {
            return Err(Error::Site("the arguments are larger than a record".into()));
        }
        let is_plain = steps.iter().all(|step| match step {
            Step::Literal(s) => is_plain(s.as_bytes()),
            Step::Argument(a) => a.simple.is_some(),
            Step::Conversion(_) => false,
        });
        let program = program(&steps, &types);
        Ok(Self { is_plain, program, steps, plans, types, names })
    }

    /// Finds the arguments in a payload, unless they are at the same places in all. `false`: it is
    /// too short for them.
    #[inline]
    pub fn locate_arguments(
        &self,
        payload: &[u8],
        version: Version,
        slots: &mut Vec<ArgumentSlot>,
    ) -> bool {
        slots.clear();
        let Some(plan) = &self.plans[version as usize] else {
            return false;
        };
        match &plan.slots {
            Some((_, end)) => payload.len() >= *end,
            None => self.locate_tails(plan, payload, version, slots),
        }
    }

    fn locate_tails(
        &self,
        plan: &Plan,
        payload: &[u8],
        version: Version,
        slots: &mut Vec<ArgumentSlot>,
    ) -> bool {
        let mut budget = plan.budget;
        let mut at = 0;
        for (ty, &fixed_len) in self.types.iter().zip(&plan.fixed) {
            let mut tail_at = at + fixed_len;
            let Some(fixed) = payload.get(at..tail_at) else {
                return false;
            };
            let mut whole = Value::tail_len(ty, fixed, version.length_size()).unwrap_or(0);
            if version == Version::Two && whole == LONG {
                let Some(long) = array(payload, tail_at) else {
                    return false;
                };
                whole = u16::from_le_bytes(long).into();
                tail_at += LONG_SIZE;
            }
            let stored = take_tail(&mut budget, whole);
            if tail_at + stored > payload.len() {
                return false;
            }
            // None is more than MAX_TAIL.
            slots.push(ArgumentSlot {
                at: at as u32,
                fixed: fixed_len as u32,
                tail_at: tail_at as u32,
                stored: stored as u32,
                whole: whole as u32,
            });
            at = tail_at + stored;
        }
        true
    }

    /// Types of the stored arguments.
    pub fn types(&self) -> &[Type] {
        &self.types
    }

    /// Names of the stored arguments.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// What [`Template::cut`] has found.
    fn slots<'a>(&'a self, found: &'a [ArgumentSlot]) -> &'a [ArgumentSlot] {
        // Without tails, all versions have them at the same places.
        match &self.plans {
            [.., Some(Plan { slots: Some((slots, _)), .. })] => slots,
            [Some(Plan { slots: Some((slots, _)), .. }), _] => slots,
            _ => found,
        }
    }

    /// The argument in a slot.
    fn value<'a>(
        &'a self,
        i: usize,
        payload: &'a [u8],
        slots: &[ArgumentSlot],
    ) -> Option<Value<'a>> {
        let (ty, slot) = (self.types.get(i)?, slots.get(i)?);
        Some(Value { ty, fixed: slot.fixed(payload)?, tail: slot.tail(payload)? })
    }

    /// Whether an argument is private.
    pub fn has_private(&self) -> bool {
        self.types.iter().any(|ty| matches!(ty.kind, Kind::Private(_)))
    }

    /// Takes the values of private arguments out of a payload, whose length stays: a text that was
    /// kept becomes as many asterisks.
    pub fn hide_private(&self, payload: &mut [u8], slots: &[ArgumentSlot]) {
        let all = self.types.iter().zip(self.slots(slots));
        for (_, slot) in all.filter(|(ty, _)| matches!(ty.kind, Kind::Private(_))) {
            let range = |at: u32, len: u32| at as usize..(at + len) as usize;
            if slot.whole > 0 {
                payload[range(slot.tail_at, slot.stored)].fill(b'*');
            } else if let [tag, rest @ ..] = &mut payload[range(slot.at, slot.fixed)] {
                *tag = Privacy::Omit as u8;
                rest.fill(0);
            }
        }
    }

    /// Names and values of all arguments, and how many bytes of each were not stored.
    pub fn arguments<'a>(
        &'a self,
        payload: &'a [u8],
        slots: &'a [ArgumentSlot],
    ) -> impl Iterator<Item = (&'a str, Value<'a>, usize)> {
        let slots = self.slots(slots);
        slots.iter().enumerate().filter_map(move |(i, slot)| {
            let value = self.value(i, payload, slots)?;
            let missing = (slot.whole - slot.stored) as usize;
            Some((self.names.get(i)?.as_str(), value, missing))
        })
    }

    /// Whether the text is such as [`is_plain`] says, whatever the arguments are.
    pub fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// Appends the text. `slots` are from [`Template::cut`] of the same payload.
    pub fn print(&self, payload: &[u8], slots: &[ArgumentSlot], out: &mut Vec<u8>) {
        let Some(program) = &self.program else {
            return self.print_parts(payload, slots, out, |_, _| {});
        };
        for Part { text, len, number } in program {
            digits::push_short(out, text, *len);
            if let Some((at, end, simple)) = *number {
                if let Some(fixed) = payload.get(at..end) {
                    simple.print(fixed, out);
                }
            }
        }
    }

    /// The same; tells where in `out` each argument is, and which one.
    pub fn print_parts(
        &self,
        payload: &[u8],
        slots: &[ArgumentSlot],
        out: &mut Vec<u8>,
        mut part: impl FnMut(usize, Range<usize>),
    ) {
        let slots = self.slots(slots);
        let mut p = Printer::new(out);
        for step in &self.steps {
            let from = p.len();
            let a = match step {
                Step::Literal(s) => {
                    p.text(s);
                    continue;
                }
                Step::Conversion(c) => {
                    self.print_conversion(c, payload, slots, &mut p);
                    part(c.value, from..p.len());
                    continue;
                }
                Step::Argument(a) => a,
            };
            if let Some(simple) = a.simple {
                if let Some(fixed) = slots.get(a.index).and_then(|s| s.fixed(payload)) {
                    p.raw(|out| simple.print(fixed, out));
                }
                part(a.index, from..p.len());
                continue;
            }
            let Some(value) = self.value(a.index, payload, slots) else {
                continue;
            };
            let number = |n: Option<Number>| match n? {
                Number::Literal(n) => Some(n),
                Number::Argument(i) => match self.value(i, payload, slots)?.view() {
                    // More than Rust's limit panics there; it cannot have been logged.
                    View::Uint(n) => Some(n.min(u16::MAX.into()) as u16),
                    _ => None,
                },
            };
            let spec = Spec {
                flags: a.flags,
                width: number(a.width),
                precision: number(a.precision),
                print: a.print,
            };
            value.print(&spec, &mut p);
            if let Some(slot) = slots.get(a.index).filter(|s| s.stored < s.whole) {
                print_cut(slot, value, &spec, &mut p);
            }
            part(a.index, from..p.len());
        }
        if p.is_full() {
            out.extend_from_slice("\u{2026}[too long]".as_bytes());
        }
    }

    fn print_conversion(
        &self,
        c: &Conversion,
        payload: &[u8],
        slots: &[ArgumentSlot],
        p: &mut Printer<'_>,
    ) {
        let Some(value) = self.value(c.value, payload, slots) else {
            return;
        };
        let number = |count, stored: Option<usize>| match (count, stored) {
            (printf::Count::Is(n), _) => Some(n),
            (_, Some(i)) => match self.value(i, payload, slots)?.view() {
                View::Int(n) => Some(n as i32),
                _ => None,
            },
            _ => None,
        };
        let width = number(c.says.width, c.width);
        let precision = number(c.says.precision, c.precision);
        cprint::print(&c.says, width, precision, value, p);
        if let Some(slot) = slots.get(c.value).filter(|s| s.stored < s.whole) {
            push_missing((slot.whole - slot.stored) as usize, slot.whole as usize, p);
        }
    }
}

/// Whether what is stored is what a conversion of C says. Of a probe, a number may be of another size,
/// and be the result of a look into memory.
fn fits(says: u64, code: u64) -> bool {
    let plain = match TypeCode(code) {
        code if code.kind() == RESULT => code.inner(),
        code => code,
    };
    let is_number = |code: TypeCode| matches!(code.0 as u8, U8..=U64 | I8..=I64 | POINTER);
    let are_numbers = [TypeCode(says), plain].into_iter().all(|c| c.0 <= 0xff && is_number(c));
    says == code || are_numbers && (says == u64::from(POINTER)) == (plain.0 == u64::from(POINTER))
}

/// Whether a text is printable ASCII that nothing has to escape.
pub fn is_plain(text: &[u8]) -> bool {
    // All of it, as that is done for many bytes at once.
    let is_plain = |b: u8| (0x20..0x7f).contains(&b) & (b != b'"') & (b != b'\\');
    text.iter().fold(true, |all, &b| all & is_plain(b))
}

/// Shows that an argument was cut, unless its precision would have cut it even more.
fn print_cut(slot: &ArgumentSlot, value: Value<'_>, spec: &Spec, p: &mut Printer<'_>) {
    let (mut shown, whole) = (slot.stored as usize, slot.whole as usize);
    if let View::Str(bytes) = value.view() {
        if let Err(e) = std::str::from_utf8(bytes) {
            // A character that is not whole isn't shown.
            if e.error_len().is_none() {
                shown = e.valid_up_to();
            }
        }
        let precision = spec.precision.filter(|_| spec.print == Trait::Display);
        if let Some(max) = precision {
            let text = String::from_utf8_lossy(&bytes[..shown]);
            if text.chars().count() >= usize::from(max) {
                return;
            }
        }
    }
    push_missing(whole - shown, whole, p);
}

/// Says that as many bytes of so many are not stored.
pub fn push_missing(missing: usize, whole: usize, p: &mut Printer<'_>) {
    match whole {
        MAX_TAIL => p.std(format_args!("\u{2026}[more]")),
        _ => p.std(format_args!("\u{2026}[+{missing} bytes]")),
    }
}
