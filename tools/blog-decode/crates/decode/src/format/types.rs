// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! From type codes to [`Type`]s: what the bytes of an argument are.
//!
//! A side table's type descriptors may be hostile: a type may contain itself, or so much that
//! printing it would never end. Both are errors here, so that [`value`](super::value) can walk a
//! [`Type`] without a thought.

use std::{collections::HashMap, sync::Arc};

use crate::{
    blogfmt::descriptor::{self, Shape, TypeKind},
    error::Error,
    record::Version,
    wire::types::{self as codes, TypeCode, MAX_PAYLOAD, PRIVATE_HASH},
};

/// How often types may be nested.
const MAX_DEPTH: usize = 32;
/// How many scalars one value may print.
const MAX_LEAVES: usize = 4096;

/// What the bytes of an argument, or of a part of it, are.
#[derive(Clone, Debug)]
pub struct Type {
    /// What it is.
    pub kind: Kind,
    /// Bytes that are always stored, by [`WIRE_VERSION`](crate::wire::record::WIRE_VERSION).
    pub fixed: usize,
    /// Scalars that printing it can take, at most.
    leaves: usize,
}

/// The kinds of [`Type`].
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Kind {
    Uint,
    Int,
    Bool,
    Char,
    Str,
    Text,
    CStr,
    Bytes,
    Hex,
    Pointer,
    Error,
    Unit,
    ByteArray,
    Option(Box<Type>),
    Result(Box<Type>),
    Private(Box<Type>),
    Ipv4,
    Ipv6,
    Mac,
    Derived(Arc<Derived>),
}

/// A type with `#[derive(BlogArg)]`.
#[derive(Debug)]
pub struct Derived {
    /// Name without path.
    pub name: String,
    /// Whether a tag byte comes first.
    pub is_enum: bool,
    /// Variants by tag.
    pub variants: Vec<Variant>,
    fixed: usize,
    leaves: usize,
}

/// A variant of an enum, or all of a struct.
#[derive(Debug)]
pub struct Variant {
    /// Name; for a struct, the struct's.
    pub name: String,
    /// How it prints.
    pub shape: Shape,
    /// Names and types of the fields.
    pub fields: Vec<(String, Type)>,
}

impl Type {
    fn new(kind: Kind, fixed: usize) -> Self {
        Self { kind, fixed, leaves: fixed.max(1) }
    }

    /// Whether it has a tail.
    pub fn has_tail(&self) -> bool {
        match &self.kind {
            Kind::Str | Kind::Text | Kind::CStr | Kind::Bytes | Kind::Hex => true,
            Kind::Option(inner) | Kind::Result(inner) | Kind::Private(inner) => inner.has_tail(),
            _ => false,
        }
    }

    /// Bytes that records of a version always store.
    pub fn fixed_by(&self, version: Version) -> usize {
        match &self.kind {
            Kind::Str | Kind::Text | Kind::CStr | Kind::Bytes | Kind::Hex => version.length_size(),
            Kind::Option(inner) => 1 + inner.fixed_by(version),
            Kind::Result(inner) => 1 + inner.fixed_by(version).max(4),
            Kind::Private(inner) => 1 + inner.fixed_by(version).max(PRIVATE_HASH),
            _ => self.fixed,
        }
    }
}

/// The types of one image, resolved once.
pub struct Types<'a> {
    descriptors: HashMap<u64, &'a descriptor::Type>,
    /// Also what failed: a hostile table must not make it fail once for each site.
    done: HashMap<u64, Result<Arc<Derived>, Error>>,
    depth: usize,
}

impl<'a> Types<'a> {
    /// Starts with a table's descriptors.
    pub fn new(descriptors: &'a [descriptor::Type]) -> Self {
        Self {
            descriptors: descriptors.iter().map(|d| (d.code, d)).collect(),
            done: HashMap::new(),
            depth: 0,
        }
    }

    /// The type that a code stands for.
    pub fn resolve(&mut self, code: u64) -> Result<Type, Error> {
        self.depth += 1;
        let result = if self.depth > MAX_DEPTH {
            Err(Error::Site("types are nested too deep, or within themselves".into()))
        } else {
            self.resolve_one(TypeCode(code))
        };
        self.depth -= 1;
        result
    }

    fn resolve_one(&mut self, code: TypeCode) -> Result<Type, Error> {
        let unknown = || Error::Site(format!("type code {:#x} is unknown", code.0));
        if !code.is_valid() {
            return Err(unknown());
        }
        let kind = match code.kind() {
            codes::U8..=codes::USIZE => Kind::Uint,
            codes::I8..=codes::ISIZE | codes::PID | codes::INSTANT | codes::DELTA => Kind::Int,
            codes::BOOL => Kind::Bool,
            codes::CHAR => Kind::Char,
            _ if code == TypeCode::TEXT => Kind::Text,
            codes::STR => Kind::Str,
            codes::CSTR => Kind::CStr,
            codes::BYTES => Kind::Bytes,
            codes::HEX => Kind::Hex,
            codes::POINTER => Kind::Pointer,
            codes::ERROR => Kind::Error,
            codes::UNIT => Kind::Unit,
            codes::BYTE_ARRAY => Kind::ByteArray,
            codes::IPV4 => Kind::Ipv4,
            codes::IPV6 => Kind::Ipv6,
            codes::MAC => Kind::Mac,
            codes::OPTION => {
                let inner = self.resolve(code.inner().0)?;
                return Ok(Type {
                    fixed: 1 + inner.fixed,
                    leaves: inner.leaves,
                    kind: Kind::Option(Box::new(inner)),
                });
            }
            codes::RESULT => {
                let inner = self.resolve(code.inner().0)?;
                return Ok(Type {
                    fixed: 1 + inner.fixed.max(4),
                    leaves: inner.leaves,
                    kind: Kind::Result(Box::new(inner)),
                });
            }
            codes::PRIVATE => {
                let inner = self.resolve(code.inner().0)?;
                return Ok(Type {
                    fixed: 1 + inner.fixed.max(PRIVATE_HASH),
                    leaves: inner.leaves,
                    kind: Kind::Private(Box::new(inner)),
                });
            }
            codes::DERIVED => {
                let derived = self.derived(code.0)?;
                return Ok(Type {
                    fixed: derived.fixed,
                    leaves: derived.leaves,
                    kind: Kind::Derived(derived),
                });
            }
            _ => return Err(unknown()),
        };
        Ok(Type::new(kind, code.fixed_size().ok_or_else(unknown)?))
    }

    fn derived(&mut self, code: u64) -> Result<Arc<Derived>, Error> {
        if let Some(done) = self.done.get(&code) {
            return done.clone();
        }
        let result = self.describe(code);
        self.done.insert(code, result.clone());
        result
    }

    fn describe(&mut self, code: u64) -> Result<Arc<Derived>, Error> {
        let d = *self
            .descriptors
            .get(&code)
            .ok_or_else(|| Error::Site(format!("type {code:#x} is not in the side table")))?;
        let within = |e: Error| e.at(format!("type {}", d.name));
        let is_enum = d.kind == TypeKind::Enum;
        let (mut widest, mut leaves) = (0, 1);
        let mut variants = Vec::with_capacity(d.variants.len());
        for v in &d.variants {
            let (mut size, mut count) = (0usize, 1usize);
            let mut fields = Vec::with_capacity(v.fields.len());
            for f in &v.fields {
                let t = self.resolve(f.code).map_err(within)?;
                if TypeCode(f.code).has_tail() {
                    return Err(within(Error::Site("a field without a fixed size".into())));
                }
                size += t.fixed;
                count += t.leaves;
                if size > MAX_PAYLOAD || count > MAX_LEAVES {
                    return Err(within(Error::Site("larger than a record".into())));
                }
                fields.push((f.name.clone(), t));
            }
            widest = widest.max(size);
            leaves = leaves.max(count);
            variants.push(Variant { name: v.name.clone(), shape: v.shape, fields });
        }
        if !is_enum {
            if let Some(only) = variants.first_mut() {
                only.name.clone_from(&d.name);
            }
        }
        Ok(Arc::new(Derived {
            name: d.name.clone(),
            is_enum,
            variants,
            fixed: usize::from(is_enum) + widest,
            leaves,
        }))
    }

    /// A type code in Rust's words, for people and for JSON.
    pub fn name(&self, code: u64) -> String {
        let code = TypeCode(code);
        let plain = match code.kind() {
            codes::U8 => "u8",
            codes::U16 => "u16",
            codes::U32 => "u32",
            codes::U64 => "u64",
            codes::U128 => "u128",
            codes::USIZE => "usize",
            codes::I8 => "i8",
            codes::I16 => "i16",
            codes::I32 => "i32",
            codes::I64 => "i64",
            codes::I128 => "i128",
            codes::ISIZE => "isize",
            codes::BOOL => "bool",
            codes::CHAR => "char",
            _ if code == TypeCode::TEXT => "text",
            codes::STR => "str",
            codes::CSTR => "CStr",
            codes::BYTES => "[u8]",
            codes::HEX => "Hex",
            codes::POINTER => "pointer",
            codes::ERROR => "Error",
            codes::UNIT => "()",
            codes::PID => "pid",
            codes::INSTANT => "Instant",
            codes::DELTA => "Delta",
            codes::IPV4 => "Ipv4Addr",
            codes::IPV6 => "Ipv6Addr",
            codes::MAC => "Mac",
            codes::BYTE_ARRAY => return format!("[u8; {}]", code.array_len()),
            codes::OPTION => return format!("Option<{}>", self.name(code.inner().0)),
            codes::RESULT => return format!("Result<{}>", self.name(code.inner().0)),
            codes::PRIVATE => return format!("private {}", self.name(code.inner().0)),
            codes::DERIVED => match self.descriptors.get(&code.0) {
                Some(t) => return t.name.clone(),
                None => return format!("type {:#x}", code.0),
            },
            _ => return format!("type {:#x}", code.0),
        };
        plain.to_owned()
    }
}
