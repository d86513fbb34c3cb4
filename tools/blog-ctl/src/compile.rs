// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Probes, as users write them, become lines for the kernel: see Documentation/blog/probes.rst.
//!
//! ```text
//! f:ceph_handle_caps "caps op %u of %llx" op ino->i_ino
//! ```
//!
//! [`Text::parse`] takes that apart. [`compile`] finds names and offsets by BTF, and makes the side
//! table of the one site. The sign of a number is that of its conversion, its size that of its type.

use std::fmt::Write;

use blog_table::{
    bytes::hex,
    descriptor::{Place as Where, Site},
    format::Table,
    printf::{self, Conversion, Count, Piece, What},
};
use blog_wire::{
    record::Level,
    types::{self, TypeCode, MAX_ARGS},
};

use crate::btf::{Btf, Function, Id, Type};

/// More isn't taken by the kernel.
pub const LINE_MAX: usize = 4095;
/// Arguments of a function in registers.
const REGISTERS: usize = 6;
/// Words that a tracepoint passes at most.
const WORDS: usize = 11;

/// What is probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A function, so many bytes after its start.
    Place(u32),
    /// The return of a function.
    Return,
    /// A tracepoint.
    Tracepoint,
}

/// A probe as it was written.
#[derive(Debug, PartialEq, Eq)]
pub struct Text<'a> {
    /// Where, as the kernel reads it, too.
    pub place: &'a str,
    /// What that is.
    pub kind: Kind,
    /// The function's or the tracepoint's name.
    pub symbol: &'a str,
    /// The format, and the arguments; `None`: all that there are.
    pub message: Option<(String, Vec<&'a str>)>,
}

impl<'a> Text<'a> {
    /// Takes it apart.
    pub fn parse(text: &'a str) -> Result<Self, String> {
        let text = text.trim();
        let (place, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let wrong = || {
            format!("'{place}' is neither f:FUNCTION[+OFFSET], f:FUNCTION%return nor t:TRACEPOINT")
        };
        // A name alone is that of a function.
        let (kind, name) = place.split_once(':').unwrap_or(("f", place));
        let (kind, symbol) = match (kind, name.strip_suffix("%return"), name.split_once('+')) {
            ("f", Some(symbol), _) => (Kind::Return, symbol),
            ("f", None, Some((symbol, offset))) => {
                (Kind::Place(offset.parse().map_err(|_| wrong())?), symbol)
            }
            ("f", None, None) => (Kind::Place(0), name),
            ("t", None, None) => (Kind::Tracepoint, name),
            _ => return Err(wrong()),
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':' | '$');
        if symbol.is_empty() || !symbol.chars().all(is_name) {
            return Err(wrong());
        }
        let rest = rest.trim();
        let message = match rest.is_empty() {
            true => None,
            false => {
                let (format, end) = quoted(rest)?;
                let arguments = rest[end..].split_whitespace().collect();
                Some((format, arguments))
            }
        };
        Ok(Self { place, kind, symbol, message })
    }
}

/// The string in quotes that a text starts with, and where it ends.
fn quoted(text: &str) -> Result<(String, usize), String> {
    let mut chars = text.char_indices();
    if !matches!(chars.next(), Some((_, '"'))) {
        return Err("after the place comes a format in double quotes".into());
    }
    let mut string = String::new();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Ok((string, at + 1)),
            '\\' => match chars.next() {
                Some((_, c @ ('"' | '\\'))) => string.push(c),
                _ => return Err("a backslash stands only before \" and \\".into()),
            },
            c => string.push(c),
        }
    }
    Err("the format has no quote at its end".into())
}

/// Where an argument is to be had.
struct Fetch<'b> {
    base: String,
    offsets: Vec<i64>,
    /// Its type, where that is known.
    ty: Option<(&'b Btf, Id)>,
}

/// What an argument is, for its conversion.
enum Value {
    Number(usize),
    String,
}

impl Fetch<'_> {
    fn type_name(&self) -> &'static str {
        match self.ty.map(|(btf, id)| btf.ty(id)) {
            Some(Type::Pointer(_)) => "a pointer",
            Some(Type::Struct(_)) => "a struct or union",
            Some(Type::Array(..)) => "an array",
            Some(Type::Number(_)) => "a number",
            Some(Type::Other) | None => "of a type that isn't known",
        }
    }

    /// Goes on to a member, which is in a struct, or in what a pointer leads to.
    fn member(&mut self, name: &str, follows: bool) -> Result<(), String> {
        let (btf, id) = self.ty.ok_or("its type isn't known, so it has no members")?;
        let of = match (btf.ty(id), follows) {
            (Type::Pointer(of), true) => of,
            (Type::Struct(_), false) if !self.offsets.is_empty() => id,
            _ => {
                let how = if follows { "->" } else { "." };
                return Err(format!("'{how}{name}' of what is {}", self.type_name()));
            }
        };
        let member = btf.member(of, name);
        let member = member.ok_or_else(|| format!("there is no member '{name}'"))?;
        if member.is_bitfield {
            return Err(format!("'{name}' is a bitfield, which can't be recorded"));
        }
        if follows {
            self.offsets.push(0);
        }
        if let Some(last) = self.offsets.last_mut() {
            *last += i64::from(member.bits / 8);
        }
        self.ty = Some((btf, member.ty));
        Ok(())
    }

    /// What is stored for a conversion that takes so many bytes, if nothing else is known.
    fn value(&mut self, c: &Conversion, size: usize) -> Result<Value, String> {
        let is_string = matches!(c.what, What::Str);
        let Some((btf, id)) = self.ty else {
            return Ok(if is_string { Value::String } else { Value::Number(size) });
        };
        let is_byte = |id| btf.ty(id) == Type::Number(1);
        match btf.ty(id) {
            Type::Number(size) if !is_string && matches!(size, 1 | 2 | 4 | 8) => {
                Ok(Value::Number(size))
            }
            Type::Pointer(_) if !is_string => Ok(Value::Number(8)),
            Type::Pointer(of) if is_byte(of) || btf.size(of).is_none() => {
                if !self.offsets.is_empty() {
                    self.offsets.push(0);
                }
                Ok(Value::String)
            }
            Type::Array(of, _) if is_string && is_byte(of) && !self.offsets.is_empty() => {
                Ok(Value::String)
            }
            _ => Err(format!("it is {}, which this conversion doesn't print", self.type_name())),
        }
    }

    fn line(&self, size: &str) -> String {
        let mut line = self.base.clone();
        for offset in &self.offsets {
            // Writing to a string never fails.
            let _ = write!(line, "{offset:+}");
        }
        line + ":" + size
    }
}

/// An argument as it was written: a name or `$argN`, and members.
fn fetch<'b>(
    text: &str,
    kind: Kind,
    function: Option<&(&'b Btf, Function)>,
) -> Result<Fetch<'b>, String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let end = text.find(|c| !is_name(c)).unwrap_or(text.len());
    let (name, mut rest) = text.split_at(end);
    let arguments = function.map_or(&[][..], |(_, function)| &function.arguments);
    let typed = |ty| function.map(|(btf, _)| (*btf, ty));
    let (base, ty) = match (name, name.strip_prefix("$arg"), kind) {
        ("comm" | "$comm", ..) => ("$comm".into(), None),
        ("$retval", _, Kind::Return) => {
            ("$retval".into(), function.map(|(btf, f)| (*btf, f.returns)))
        }
        ("$retval", ..) => return Err("only a return has a value: f:FUNCTION%return".into()),
        (.., Kind::Return) => return Err("at a return, there are only $retval and comm".into()),
        (_, Some(n), _) => {
            let n: usize = n.parse().map_err(|_| format!("'{name}' is no argument"))?;
            let is_start = !matches!(kind, Kind::Place(1..));
            let known = arguments.get(n.wrapping_sub(1)).filter(|_| is_start);
            (format!("$arg{n}"), known.and_then(|(_, ty)| typed(*ty)))
        }
        (_, None, Kind::Place(1..)) => {
            return Err("arguments have names only at the start of a function".into())
        }
        _ => {
            let at = arguments.iter().position(|(known, _)| known == name);
            let at = at.ok_or_else(|| match function {
                None => format!("'{name}' needs the kernel's types, of which there are none here: $argN doesn't"),
                Some(_) => {
                    let names: Vec<_> = arguments.iter().map(|(name, _)| name.as_str()).collect();
                    format!("there is no argument '{name}', but: {}", names.join(" "))
                }
            })?;
            (format!("$arg{}", at + 1), typed(arguments[at].1))
        }
    };
    if let Some(n) = base.strip_prefix("$arg").and_then(|n| n.parse::<usize>().ok()) {
        let most = if kind == Kind::Tracepoint { WORDS } else { REGISTERS };
        if !(1..=most).contains(&n) {
            return Err(format!("only arguments 1 to {most} can be had"));
        }
        // What takes two registers, or is on the stack, shifts those after it.
        let size = |(btf, _): &(&Btf, Function), ty| btf.size(ty).unwrap_or(8);
        let before = arguments.iter().take(n);
        if function.is_some_and(|f| before.clone().any(|(_, ty)| size(f, *ty) > 8)) {
            return Err(
                "this argument, or one before it, has more than 8 bytes, which isn't supported"
                    .into(),
            );
        }
    }
    let mut new = Fetch { base, offsets: Vec::new(), ty };
    while !rest.is_empty() {
        let (follows, after) = match (rest.strip_prefix("->"), rest.strip_prefix('.')) {
            (Some(after), _) => (true, after),
            (_, Some(after)) => (false, after),
            _ => return Err(format!("unknown word '{rest}'")),
        };
        let end = after.find(|c| !is_name(c)).unwrap_or(after.len());
        let (name, more) = after.split_at(end);
        new.member(name, follows)?;
        rest = more;
    }
    Ok(new)
}

/// The type code of a number of so many bytes, as a conversion prints it.
fn number(c: &Conversion, size: usize) -> Option<u8> {
    let all = match &c.what {
        What::Integer { signed: true, .. } => [types::I8, types::I16, types::I32, types::I64],
        What::Integer { .. } | What::Char => [types::U8, types::U16, types::U32, types::U64],
        What::Pointer(more) if more.is_empty() || more == "x" => [types::POINTER; 4],
        _ => return None,
    };
    let fits = match &c.what {
        What::Integer { .. } => true,
        What::Pointer(_) => size == 8,
        _ => size == 1,
    };
    fits.then(|| all[size.trailing_zeros() as usize])
}

/// All arguments, or what is returned, if the user names none.
fn everything(text: &Text<'_>, function: Option<&(&Btf, Function)>) -> (String, Vec<String>) {
    let mut format = text.symbol.to_owned();
    let mut arguments = Vec::new();
    let Some((btf, function)) = function.filter(|_| !matches!(text.kind, Kind::Place(1..))) else {
        return (format, arguments);
    };
    let conversion = |ty| match btf.ty(ty) {
        Type::Number(_) => Some("%d"),
        Type::Pointer(of) if btf.ty(of) == Type::Number(1) => Some("%s"),
        Type::Pointer(_) => Some("%p"),
        _ => None,
    };
    if text.kind == Kind::Return {
        if let Some(c) = conversion(function.returns) {
            format += &format!(" = {c}");
            arguments.push("$retval".into());
        }
        return (format, arguments);
    }
    let most = if text.kind == Kind::Tracepoint { WORDS } else { REGISTERS };
    for (i, (name, ty)) in function.arguments.iter().take(most).enumerate() {
        let Some(c) = conversion(*ty) else { break };
        format += &format!(" {name}={c}");
        arguments.push(format!("$arg{}", i + 1));
    }
    (format, arguments)
}

/// FNV-1a: two probes with one build ID would be taken for the same.
fn build_id(bytes: &[u8]) -> Vec<u8> {
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for byte in bytes {
        hash = (hash ^ u128::from(*byte)).wrapping_mul((1 << 88) | 0x13b);
    }
    let mut id = hash.to_le_bytes();
    // The kernel knows how long it is by its last bytes.
    id[15] |= 1;
    id.to_vec()
}

/// The line for the kernel, and its side table. `types` are those of the kernel in which it is made, or
/// none, of this `release`.
pub fn compile(
    text: &Text<'_>,
    level: Level,
    types: Option<&Btf>,
    release: &str,
) -> Result<(String, Table), String> {
    let function = types.and_then(|btf| {
        let symbol = text.symbol.rsplit(':').next().unwrap_or_default();
        let known = match text.kind {
            Kind::Tracepoint => btf.tracepoint(symbol),
            _ => btf.function(symbol),
        };
        Some((btf, known?))
    });
    let function = function.as_ref();
    let (format, written) = match &text.message {
        Some((format, written)) => {
            (format.clone(), written.iter().map(|name| (*name).to_owned()).collect())
        }
        None => everything(text, function),
    };
    let mut site = Site {
        line: match text.kind {
            Kind::Place(offset) => offset,
            _ => 0,
        },
        level: level as u8,
        format,
        file: text.place.to_owned(),
        is_c: true,
        place: Where { function: text.symbol.to_owned(), class: String::new() },
        ..Site::default()
    };
    let mut line = String::new();
    let mut names = written.into_iter();
    for piece in printf::parse(&site.format)? {
        let Piece::Conversion(c) = piece else {
            continue;
        };
        if c.width == Count::Argument || c.precision == Count::Argument {
            return Err("a probe's format has no *".into());
        }
        let name =
            names.next().ok_or("the format has more conversions than there are arguments")?;
        let at = |e: String| format!("{name}: {e}");
        let mut fetch = fetch(&name, text.kind, function).map_err(at)?;
        let size = match &c.what {
            What::Integer { size, .. } => *size,
            What::Char => 1,
            _ => 8,
        };
        let value = match (&fetch.base[..], &c.what) {
            ("$comm", What::Str) => Value::String,
            ("$comm", _) => return Err(at("it is a string".into())),
            _ => fetch.value(&c, size).map_err(at)?,
        };
        let (code, size) = match value {
            Value::String => (TypeCode::plain(types::CSTR), "s".into()),
            Value::Number(size) => {
                let kind = number(&c, size);
                let kind = kind.ok_or_else(|| at("the conversion does not fit its type".into()))?;
                let code = TypeCode::plain(kind);
                match fetch.offsets.is_empty() {
                    true => (code, size.to_string()),
                    false => (code.wrapped(types::RESULT), size.to_string()),
                }
            }
        };
        line += " ";
        line += &fetch.line(&size);
        site.codes.push(code.0);
        site.names.push(name);
    }
    if names.next().is_some() {
        return Err("there are more arguments than the format has conversions".into());
    }
    if site.codes.len() > MAX_ARGS {
        return Err(format!("a probe records at most {MAX_ARGS} arguments"));
    }
    let mut table = Table {
        build_id: vec![0; 16],
        release: release.to_owned(),
        arch: "x86_64".into(),
        name: "probe".into(),
        types: Vec::new(),
        sites: vec![site],
    };
    table.build_id = build_id(&[&table.encode()?[..], line.as_bytes()].concat());
    let digits = hex(&table.encode()?);
    let line = format!("{} {} {digits}{line}", text.place, level.name());
    match line.len() {
        ..=LINE_MAX => Ok((line, table)),
        _ => Err("the format and the names are too long together".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blog_decode_core::sidetable::Sites;
    use blog_file::record::Version;

    use crate::btf::tests::kernel;

    /// What the kernel is given for a probe after its table.
    fn fetches(text: &str) -> Result<String, String> {
        let mut btf = Btf::default();
        btf.add(&kernel())?;
        let (line, table) = compile(&Text::parse(text)?, Level::Info, Some(&btf), "7.3")?;
        // What is made can be decoded.
        let site = Sites::new(table, "probe".into()).sites.remove(0);
        site.template.map_err(|e| e.to_string())?;
        let mut words = line.splitn(4, ' ');
        Ok(words.nth(3).unwrap_or_default().to_owned())
    }

    #[test]
    fn names_and_members_become_offsets() {
        for (text, want) in [
            (r#"f:do_read "%d" op"#, "$arg2:4"),
            // The size is that of the type.
            (r#"f:do_read "%llx" op"#, "$arg2:4"),
            (r#"f:do_read "%u %s" file->pos comm"#, "$arg1+0:8 $comm:s"),
            (r#"f:do_read "%d" file->inode->i_ino"#, "$arg1+8+0:4"),
            (r#"f:do_read "%s" file->inode->name"#, "$arg1+8+4:s"),
            (r#"f:do_read "%lu" file->inode->bytes"#, "$arg1+8+24:8"),
            (r#"f:do_read "%s" file->inode->label"#, "$arg1+8+32+0:s"),
            (r#"f:do_read "%s %p" label file->inode"#, "$arg3:s $arg1+8:8"),
            (r#"f:do_read "%s %p" $arg4 $arg1"#, "$arg4:s $arg1:8"),
            (r#"f:do_read+4 "%u %lx" $arg2 $arg1"#, "$arg2:4 $arg1:8"),
            (r#"f:do_read%return "%ld" $retval"#, "$retval:8"),
            (r#"t:read "%d" ino->i_ino"#, "$arg2+0:4"),
            (r#"t:old "%d %p" $arg1->i_ino $arg1"#, "$arg1+0:4 $arg1:8"),
            (r#"f:unknown "%u %llu %s" $arg1 $arg2 $arg3"#, "$arg1:4 $arg2:8 $arg3:s"),
            (r#"f:do_read "a \"quote\"""#, ""),
            ("f:do_read", "$arg1:8 $arg2:4 $arg3:s $arg4:8"),
            ("f:do_read%return", "$retval:8"),
            ("f:unknown", ""),
        ] {
            assert_eq!(fetches(text).as_deref(), Ok(want), "{text}");
        }
    }

    #[test]
    fn what_was_read_in_memory_prints_as_the_format_says() {
        let mut btf = Btf::default();
        btf.add(&kernel()).unwrap();
        let text =
            r#"f:do_read "%d|%-8x|%p|%u|%5d" file->inode->i_ino op file->inode op file->pos"#;
        let text = Text::parse(text).unwrap();
        let (_, table) = compile(&text, Level::Info, Some(&btf), "7.3").unwrap();
        let site = Sites::new(table, "probe".into()).sites.remove(0);
        let template = site.template.unwrap();
        let payload = [
            &[0][..],
            &(-7i32).to_le_bytes(),
            &255u32.to_le_bytes(),
            &[1, 0, 0, 0, 0, 0, 0, 0, 0],
            &3u32.to_le_bytes(),
            &[1],
            &(-14i64).to_le_bytes(),
        ]
        .concat();
        let (mut slots, mut out) = (Vec::new(), Vec::new());
        assert!(template.locate_arguments(&payload, Version::Two, &mut slots));
        template.print(&payload, &slots, &mut out);
        let out = String::from_utf8(out).unwrap();
        assert_eq!(out, "-7|ff      |(null)|3|(efault)");
    }

    #[test]
    fn what_cannot_be_recorded_is_an_error() {
        for (text, why) in [
            ("x:do_read", "neither"),
            ("f:do_read+x", "neither"),
            ("f:a b", "double quotes"),
            (r#"f:do_read "%d"#, "no quote"),
            (r#"f:do_read "%d""#, "more conversions"),
            (r#"f:do_read "x" op"#, "more arguments"),
            (r#"f:do_read "%*d" op op"#, "no *"),
            (r#"f:do_read "%d" none"#, "file op label at"),
            (r#"f:do_read "%d" file->none"#, "no member 'none'"),
            (r#"f:do_read "%d" op->x"#, "a number"),
            (r#"f:do_read "%d" file.pos"#, "a pointer"),
            (r#"f:do_read "%d" file->inode->few"#, "bitfield"),
            (r#"f:do_read "%d" file->inode->name"#, "an array"),
            (r#"f:do_read "%s" op"#, "a number"),
            (r#"f:do_read "%pI4" file"#, "does not fit its type"),
            (r#"f:do_read "%d" $retval"#, "only a return"),
            (r#"f:do_read%return "%d" op"#, "only $retval"),
            (r#"f:do_read+4 "%d" op"#, "only at the start"),
            (r#"f:do_read "%d" $arg7"#, "arguments 1 to 6"),
            (r#"f:do_read "%d" comm"#, "it is a string"),
            (r#"f:by_value "%d" n"#, "more than 8 bytes"),
            (r#"f:unknown "%d" op"#, "$argN doesn't"),
        ] {
            let error = fetches(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn the_same_probe_has_the_same_build_id() {
        let id = |text| {
            let text = Text::parse(text).unwrap();
            compile(&text, Level::Info, None, "7.3").unwrap().1.build_id
        };
        assert_eq!(id("f:a \"%u\" $arg1"), id(" f:a  \"%u\"  $arg1 "));
        assert_ne!(id("f:a \"%u\" $arg1"), id("f:a \"%u\" $arg2"));
    }
}
