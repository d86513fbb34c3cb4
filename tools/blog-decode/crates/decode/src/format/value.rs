// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! A stored argument, and how each type prints.
//!
//! [`template`](super::template) cuts a payload into [`Value`]s and prints each one by its spec.
//! A combination that Rust would not have compiled prints as by `{:?}`; nothing here fails.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::{
    errno,
    parse::Trait,
    print::{Printer, Spec},
    types::{Derived, Kind, Type, Variant},
};
use crate::{
    blogfmt::descriptor::Shape,
    wire::types::{Privacy, PRIVATE_HASH},
};

/// The first byte of a private value.
const HASH: u8 = Privacy::Hash as u8;
const OMIT: u8 = Privacy::Omit as u8;
const KEEP: u8 = Privacy::Keep as u8;

/// A stored argument.
#[derive(Clone, Copy)]
pub struct Value<'a> {
    /// Its type.
    pub ty: &'a Type,
    /// Its fixed bytes: [`Type::fixed`] of them.
    pub fixed: &'a [u8],
    /// As much of its tail as is stored.
    pub tail: &'a [u8],
}

/// What a value is, one layer deep: for printers of other forms, like JSON.
#[allow(missing_docs)]
pub enum View<'a> {
    Uint(u128),
    Int(i128),
    Bool(bool),
    Char(Result<char, u32>),
    Str(&'a [u8]),
    CStr(&'a [u8]),
    Bytes(&'a [u8]),
    Pointer(u64),
    /// The number as stored, negative.
    Error(i32),
    Unit,
    Option(Option<Value<'a>>),
    Result(Result<Value<'a>, i32>),
    Ipv4(Ipv4Addr),
    Ipv6(Ipv6Addr),
    Mac([u8; 6]),
    Derived(&'a Derived, &'a Variant, Fields<'a>),
    /// A private value that was not kept: its hash, if that was stored.
    Private(Option<u64>),
    /// A tag that this type doesn't have: the type's name, and the tag.
    BadTag(&'a str, u8),
}

/// What stands for a private value that was not kept.
pub fn private(hash: Option<u64>) -> String {
    match hash {
        Some(hash) => format!("<private {hash:016x}>"),
        None => "<private>".into(),
    }
}

/// The fields of a derived type, in order.
#[derive(Clone)]
pub struct Fields<'a> {
    fields: std::slice::Iter<'a, (String, Type)>,
    bytes: &'a [u8],
}

impl<'a> Iterator for Fields<'a> {
    type Item = (&'a str, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, ty) = self.fields.next()?;
        let (fixed, rest) = split_short(self.bytes, ty.fixed);
        self.bytes = rest;
        let value = Value { ty, fixed, tail: &[] };
        Some((name, value))
    }
}

fn split_short(bytes: &[u8], at: usize) -> (&[u8], &[u8]) {
    bytes.split_at(at.min(bytes.len()))
}

/// The first bytes as an integer; what is missing is zero.
fn uint(bytes: &[u8]) -> u128 {
    match *bytes {
        // The usual ones, without a copy.
        [n] => n.into(),
        [a, b] => u16::from_le_bytes([a, b]).into(),
        [a, b, c, d] => u32::from_le_bytes([a, b, c, d]).into(),
        [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]).into(),
        _ => u128::from_le_bytes(array(&bytes[..bytes.len().min(16)])),
    }
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut raw = [0; N];
    let n = bytes.len().min(N);
    raw[..n].copy_from_slice(&bytes[..n]);
    raw
}

fn sign_extend(value: u128, bytes: usize) -> i128 {
    let unused = 128 - 8 * bytes.clamp(1, 16) as u32;
    ((value << unused) as i128) >> unused
}

impl<'a> Value<'a> {
    /// The tail's length as the fixed bytes have it, in a field of `size` bytes. `None`: it has no
    /// tail.
    pub fn tail_len(ty: &Type, fixed: &[u8], size: usize) -> Option<usize> {
        match (&ty.kind, fixed.split_first()) {
            (Kind::Str | Kind::Text | Kind::CStr | Kind::Bytes | Kind::Hex, _) => {
                Some(uint(split_short(fixed, size).0) as usize)
            }
            (Kind::Option(inner), Some((1, rest)))
            | (Kind::Result(inner), Some((0, rest)))
            | (Kind::Private(inner), Some((&KEEP, rest))) => Self::tail_len(inner, rest, size),
            _ => None,
        }
    }

    /// The value in a private one that was kept; else this one.
    fn kept(self) -> Self {
        match (&self.ty.kind, self.fixed.split_first()) {
            (Kind::Private(inner), Some((&KEEP, rest))) => self.inner(inner, rest).kept(),
            _ => self,
        }
    }

    /// An integer that 64 bits with a sign hold.
    #[inline]
    pub(crate) fn small(&self) -> Option<i64> {
        let (is_int, bytes) = (matches!(self.ty.kind, Kind::Int), self.ty.fixed);
        if !is_int && !matches!(self.ty.kind, Kind::Uint) || !(1..=8).contains(&bytes) {
            return None;
        }
        let n = uint(self.fixed) as u64;
        match is_int {
            true => Some(sign_extend(n.into(), bytes) as i64),
            false => i64::try_from(n).ok(),
        }
    }

    /// Looks one layer deep.
    pub fn view(self) -> View<'a> {
        let this = self.kept();
        let fixed = this.fixed;
        match &this.ty.kind {
            Kind::Uint => View::Uint(uint(fixed)),
            Kind::Int => View::Int(sign_extend(uint(fixed), this.ty.fixed)),
            Kind::Bool => match uint(fixed) {
                0 => View::Bool(false),
                1 => View::Bool(true),
                n => View::BadTag("bool", n as u8),
            },
            Kind::Char => {
                let n = uint(fixed) as u32;
                View::Char(char::from_u32(n).ok_or(n))
            }
            Kind::Str | Kind::Text => View::Str(this.tail),
            Kind::CStr => View::CStr(this.tail),
            Kind::Bytes | Kind::Hex => View::Bytes(this.tail),
            Kind::ByteArray => View::Bytes(fixed),
            Kind::Pointer => View::Pointer(uint(fixed) as u64),
            Kind::Error => View::Error(uint(fixed) as i32),
            Kind::Unit => View::Unit,
            Kind::Ipv4 => View::Ipv4(Ipv4Addr::from(array::<4>(fixed))),
            Kind::Ipv6 => View::Ipv6(Ipv6Addr::from(array::<16>(fixed))),
            Kind::Mac => View::Mac(array(fixed)),
            Kind::Option(inner) => {
                let (tag, rest) = split_short(fixed, 1);
                match uint(tag) {
                    0 => View::Option(None),
                    1 => View::Option(Some(this.inner(inner, rest))),
                    n => View::BadTag("Option", n as u8),
                }
            }
            Kind::Result(inner) => {
                let (tag, rest) = split_short(fixed, 1);
                match uint(tag) {
                    0 => View::Result(Ok(this.inner(inner, rest))),
                    1 => View::Result(Err(i32::from_le_bytes(array(rest)))),
                    n => View::BadTag("Result", n as u8),
                }
            }
            Kind::Private(_) => {
                let (tag, rest) = split_short(fixed, 1);
                match uint(tag) as u8 {
                    HASH => View::Private(Some(uint(split_short(rest, PRIVATE_HASH).0) as u64)),
                    OMIT => View::Private(None),
                    n => View::BadTag("private", n),
                }
            }
            Kind::Derived(d) => {
                let (tag, rest) = split_short(fixed, usize::from(d.is_enum));
                let tag = uint(tag) as u8;
                match d.variants.get(usize::from(tag)) {
                    Some(variant) => {
                        let fields = Fields { fields: variant.fields.iter(), bytes: rest };
                        View::Derived(d, variant, fields)
                    }
                    None => View::BadTag(&d.name, tag),
                }
            }
        }
    }

    fn inner(self, ty: &'a Type, rest: &'a [u8]) -> Self {
        Self { ty, fixed: split_short(rest, ty.fixed).0, tail: self.tail }
    }

    /// Prints the value by its spec.
    pub fn print(self, spec: &Spec, p: &mut Printer<'_>) {
        let debug = spec.print != Trait::Display;
        let this = self.kept();
        match this.view() {
            View::Uint(n) => p.integer(spec, n, 8 * this.ty.fixed as u32, false),
            View::Int(_) => p.integer(spec, uint(this.fixed), 8 * this.ty.fixed as u32, true),
            View::Bool(b) => p.pad(spec, if b { "true" } else { "false" }),
            View::Char(Ok(c)) if debug => p.std(format_args!("{c:?}")),
            View::Char(Ok(c)) => p.pad(spec, c.encode_utf8(&mut [0; 4])),
            View::Char(Err(n)) => p.std(format_args!("<no char: {n:#x}>")),
            View::Str(bytes) => print_str(bytes, spec, debug, p),
            View::CStr(bytes) if debug => debug_cstr(bytes, p),
            View::CStr(bytes) => {
                for &b in bytes {
                    match b {
                        0x20..=0x7e => p.text(char::from(b).encode_utf8(&mut [0; 4])),
                        _ => p.std(format_args!("\\x{b:02x}")),
                    }
                }
            }
            View::Bytes(bytes) if matches!(this.ty.kind, Kind::Hex) => {
                for (i, b) in bytes.iter().enumerate() {
                    p.text(if i == 0 { "" } else { " " });
                    p.std(format_args!("{b:02x}"));
                }
            }
            View::Bytes(bytes) => p.debug_list(spec, bytes.iter(), |p, &b| {
                p.integer(&as_debug(spec), b.into(), 8, false);
            }),
            View::Pointer(address) => p.pointer(spec, address),
            View::Error(n) => print_error(n, spec, p),
            View::Unit => p.pad(spec, "()"),
            View::Ipv4(a) => print_address(a, spec, p),
            View::Ipv6(a) => print_address(a, spec, p),
            View::Mac(bytes) => {
                let mut text = [b':'; 17];
                for (out, b) in text.chunks_mut(3).zip(bytes) {
                    for (slot, digit) in out.iter_mut().zip([b >> 4, b & 15]) {
                        *slot = b"0123456789abcdef"[usize::from(digit)];
                    }
                }
                p.pad(spec, std::str::from_utf8(&text).unwrap_or_default());
            }
            View::Option(None) => p.text("None"),
            View::Option(Some(v)) => print_tuple("Some", [v], spec, p),
            View::Result(Ok(v)) => print_tuple("Ok", [v], spec, p),
            View::Result(Err(n)) => {
                let spec = as_debug(spec);
                p.debug_tuple(&spec, "Err", [n].into_iter(), |p, n| {
                    print_error(n, &spec, p);
                });
            }
            View::Derived(_, variant, fields) => match variant.shape {
                Shape::Unit => p.text(&variant.name),
                Shape::Tuple => print_tuple(&variant.name, fields.map(|(_, v)| v), spec, p),
                Shape::Named => {
                    let spec = as_debug(spec);
                    p.debug_struct(&spec, &variant.name, fields, |p, v| v.print(&spec, p));
                }
            },
            View::Private(hash) => p.text(&private(hash)),
            View::BadTag(name, tag) => p.std(format_args!("<{name}: tag {tag}>")),
        }
    }
}

/// The spec for what is inside of another value.
fn as_debug(spec: &Spec) -> Spec {
    Spec { print: Trait::Debug, ..*spec }
}

fn print_tuple<'a>(
    name: &str,
    fields: impl IntoIterator<Item = Value<'a>>,
    spec: &Spec,
    p: &mut Printer<'_>,
) {
    let spec = as_debug(spec);
    p.debug_tuple(&spec, name, fields.into_iter(), |p, v| v.print(&spec, p));
}

/// As much of a cut string as is whole; damaged bytes become U+FFFD.
fn print_str(bytes: &[u8], spec: &Spec, debug: bool, p: &mut Printer<'_>) {
    let text = match std::str::from_utf8(bytes) {
        Ok(s) => std::borrow::Cow::Borrowed(s),
        Err(e) if e.error_len().is_none() => String::from_utf8_lossy(&bytes[..e.valid_up_to()]),
        Err(_) => String::from_utf8_lossy(bytes),
    };
    if debug {
        p.std(format_args!("{text:?}"));
    } else {
        p.pad(spec, &text);
    }
}

/// `{:?}` of a `CStr`, without the need for a NUL.
fn debug_cstr(bytes: &[u8], p: &mut Printer<'_>) {
    p.text("\"");
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\0' => p.text("\\0"),
                '\x01'..='\x7f' => p.std(format_args!("{}", (c as u8).escape_ascii())),
                _ => p.std(format_args!("{}", c.escape_debug())),
            }
        }
        p.std(format_args!("{}", chunk.invalid().escape_ascii()));
    }
    p.text("\"");
}

/// The kernel's `Error`: its name, or `Error(n)` where it has none.
fn print_error(stored: i32, spec: &Spec, p: &mut Printer<'_>) {
    let n = stored.unsigned_abs();
    match errno::name(n) {
        Some(name) => p.text(name),
        None => {
            let spec = as_debug(spec);
            p.debug_tuple(&spec, "Error", [n].into_iter(), |p, n| {
                // The positive number is an i32, whatever was stored.
                p.integer(&spec, n.into(), 32, true);
            });
        }
    }
}

/// An IP address: `std` writes it, and pads it as a string.
fn print_address(address: impl std::fmt::Display, spec: &Spec, p: &mut Printer<'_>) {
    if spec.width.is_none() && spec.precision.is_none() {
        p.std(format_args!("{address}"));
    } else {
        p.pad(spec, &address.to_string());
    }
}
