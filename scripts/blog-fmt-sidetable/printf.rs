// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! C format strings, as the kernel's `vsnprintf()` understands them.
//!
//! [`parse`] takes a format apart, [`compile`] says how a call's arguments are stored: in
//! codes for the writer, and in type codes for readers. `image.rs` compiles the format of each C
//! call site, so that what can't be stored is an error of the build; `blog-decode` parses the same
//! format to print by it. `Documentation/core-api/printk-formats.rst` is the language.
//!
//! Needs `std` and the kernel's definitions of records; the crate `blog-table` links to this file.

use crate::wire::{
    pack::{
        self,
        Codes,
        CALL_ARGS, //
    },
    types::{
        self,
        TypeCode,
        MAX_PAYLOAD, //
    }, //
};

/// What is between the percent sign and the width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Flags {
    /// `-`
    pub left: bool,
    /// `+`
    pub plus: bool,
    /// A space.
    pub space: bool,
    /// `#`
    pub special: bool,
    /// `0`
    pub zero: bool,
}

/// A width or precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// There is none.
    None,
    /// In the format, within what is printed.
    Is(i32),
    /// An argument before the value: `*`.
    Argument,
}

/// What a conversion prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// An integer.
    Integer {
        /// 8, 10 or 16.
        base: u64,
        /// Whether it can be negative.
        signed: bool,
        /// Whether digits are capitals.
        upper: bool,
        /// Bytes: 1, 2, 4 or 8.
        size: usize,
    },
    /// `%c`
    Char,
    /// `%s`
    Str,
    /// `%p` and the letters and digits that follow.
    Pointer(String),
}

/// A conversion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversion {
    /// Flags.
    pub flags: Flags,
    /// Width.
    pub width: Count,
    /// Precision.
    pub precision: Count,
    /// What is printed.
    pub what: What,
}

/// A part of a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Text, with `%%` made single.
    Text(String),
    /// A conversion.
    Conversion(Conversion),
}

/// A part of a format, with the place of its value among what is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Text.
    Text(String),
    /// A conversion.
    Value {
        /// What the format says.
        conversion: Conversion,
        /// Which stored argument is the width.
        width: Option<usize>,
        /// Which one is the precision.
        precision: Option<usize>,
        /// Which one is the value.
        value: usize,
    },
}

/// How the arguments of a call are stored, and printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// For the writer.
    pub codes: Codes,
    /// Type codes of what is stored.
    pub types: Vec<u64>,
    /// Which of the call's arguments each of these is.
    pub sources: Vec<usize>,
    /// How many arguments the call passes.
    pub count: usize,
    /// For who prints.
    pub steps: Vec<Step>,
}

/// Takes a format apart. What the kernel doesn't print either is an error.
pub fn parse(format: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        text.push_str(&rest[..at]);
        let mut cursor = Cursor(&rest[at + 1..]);
        match cursor.conversion() {
            Ok(Some(conversion)) => {
                if !text.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut text)));
                }
                pieces.push(Piece::Conversion(conversion));
            }
            Ok(None) => text.push('%'),
            Err(e) => {
                let end = (rest.len() - cursor.0.len()).min(rest.len());
                return Err(format!("\"{}\": {e}", &rest[at..end]));
            }
        }
        rest = cursor.0;
    }
    text.push_str(rest);
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    Ok(pieces)
}

/// What follows a percent sign.
struct Cursor<'a>(&'a str);

impl Cursor<'_> {
    fn peek(&self) -> Option<u8> {
        self.0.bytes().next()
    }

    fn take(&mut self, c: u8) -> bool {
        let there = self.peek() == Some(c);
        if there {
            self.0 = &self.0[1..];
        }
        there
    }

    fn while_ascii(&mut self, which: impl Fn(&u8) -> bool) -> &str {
        let n = self
            .0
            .bytes()
            .take_while(|b| b.is_ascii() && which(b))
            .count();
        let (found, rest) = self.0.split_at(n);
        self.0 = rest;
        found
    }

    fn number(&mut self, max: u32) -> Option<i32> {
        let max = max as i32;
        let digits = self.while_ascii(u8::is_ascii_digit);
        if digits.is_empty() {
            return None;
        }
        Some(digits.parse().unwrap_or(max).min(max))
    }

    /// `None`: a percent sign.
    fn conversion(&mut self) -> Result<Option<Conversion>, String> {
        let mut flags = Flags::default();
        loop {
            let flag = match self.peek() {
                Some(b'-') => &mut flags.left,
                Some(b'+') => &mut flags.plus,
                Some(b' ') => &mut flags.space,
                Some(b'#') => &mut flags.special,
                Some(b'0') => &mut flags.zero,
                _ => break,
            };
            *flag = true;
            self.0 = &self.0[1..];
        }
        let width = match self.number(pack::WIDTH_MAX) {
            Some(n) => Count::Is(n),
            None if self.take(b'*') => Count::Argument,
            None => Count::None,
        };
        let mut precision = Count::None;
        if self.take(b'.') {
            precision = match self.number(pack::PRECISION_MAX) {
                Some(n) => Count::Is(n),
                None if self.take(b'*') => Count::Argument,
                None => Count::None,
            };
        }
        let size = self.size();
        let integer = |base, signed, upper| What::Integer {
            base,
            signed,
            upper,
            size,
        };
        let Some(letter) = self.0.chars().next() else {
            return Err("ends in the middle of a conversion".into());
        };
        self.0 = &self.0[letter.len_utf8()..];
        let what = match letter {
            'd' | 'i' => integer(10, true, false),
            'u' => integer(10, false, false),
            'o' => integer(8, false, false),
            'x' => integer(16, false, false),
            'X' => integer(16, false, true),
            'c' => What::Char,
            's' => What::Str,
            'p' => What::Pointer(self.while_ascii(u8::is_ascii_alphanumeric).to_owned()),
            '%' if width != Count::Argument && precision != Count::Argument => return Ok(None),
            'n' => return Err("%n stores into memory and is not for logs".into()),
            c => return Err(format!("vsnprintf() knows no conversion {c:?}")),
        };
        Ok(Some(Conversion {
            flags,
            width,
            precision,
            what,
        }))
    }

    /// The size of an integer by its length modifier.
    fn size(&mut self) -> usize {
        let (once, twice) = match self.peek() {
            Some(b'l') => (8, Some(8)),
            Some(b'L' | b'z' | b't') => (8, None),
            Some(b'h') => (2, Some(1)),
            Some(b'H') => (1, None),
            _ => return 4,
        };
        let modifier = self.0.as_bytes()[0];
        self.take(modifier);
        match twice {
            Some(size) if self.take(modifier) => size,
            _ => once,
        }
    }
}

/// Says how the arguments of a call with this format are stored.
pub fn compile(format: &str) -> Result<Compiled, String> {
    compile_with(format, &|_, _| false)
}

/// The same; `is_private` is asked for each argument that is stored: which one of the call's it is,
/// and which one of those that are stored.
pub fn compile_with(
    format: &str,
    is_private: &dyn Fn(usize, usize) -> bool,
) -> Result<Compiled, String> {
    let mut compiler = Compiler {
        is_private,
        codes: Vec::new(),
        types: Vec::new(),
        sources: Vec::new(),
        count: 0,
    };
    let mut steps = Vec::new();
    for piece in parse(format)? {
        steps.push(match piece {
            Piece::Text(text) => Step::Text(text),
            Piece::Conversion(c) => compiler.conversion(c)?,
        });
    }
    compiler.finish(steps)
}

struct Compiler<'a> {
    is_private: &'a dyn Fn(usize, usize) -> bool,
    codes: Vec<u8>,
    types: Vec<u64>,
    sources: Vec<usize>,
    count: usize,
}

impl Compiler<'_> {
    /// The next argument is stored as this; returns which one of those that are stored it is.
    fn store(&mut self, ty: TypeCode) -> usize {
        self.types.push(ty.0);
        self.sources.push(self.count);
        self.count += 1;
        self.types.len() - 1
    }

    fn number(&mut self, code: u8, kind: u8) -> usize {
        self.codes.push(code);
        self.store(TypeCode::plain(kind))
    }

    fn conversion(&mut self, c: Conversion) -> Result<Step, String> {
        let sized = matches!(&c.what, What::Pointer(ext) if ext.starts_with(['h', 'b', 'E']));
        if sized && c.precision == Count::Argument {
            return Err("a precision means nothing to this pointer".into());
        }
        let mut width = None;
        if c.width == Count::Argument {
            width = Some(match &c.what {
                What::Pointer(ext) if sized => {
                    let code = match ext.as_bytes().first() {
                        Some(b'b') => pack::BITS,
                        Some(b'h') => pack::BYTES,
                        _ => pack::RAW,
                    };
                    self.number(code, types::I32)
                }
                _ => self.number(pack::W4, types::I32),
            });
        }
        let mut precision = None;
        if c.precision == Count::Argument && c.what != What::Str {
            precision = Some(self.number(pack::W4, types::I32));
        }
        let start = self.codes.len();
        let value = match &c.what {
            What::Integer { signed, size, .. } => {
                let (code, unsigned_kind, signed_kind) = match size {
                    1 => (pack::W1, types::U8, types::I8),
                    2 => (pack::W2, types::U16, types::I16),
                    4 => (pack::W4, types::U32, types::I32),
                    _ => (pack::W8, types::U64, types::I64),
                };
                self.number(code, if *signed { signed_kind } else { unsigned_kind })
            }
            What::Char => self.number(pack::W1, types::U8),
            What::Str => self.string(c.precision),
            What::Pointer(ext) => self.pointer(&c, ext)?,
        };
        self.hide(start, value)?;
        Ok(Step::Value {
            conversion: c,
            width,
            precision,
            value,
        })
    }

    /// Makes an argument private if it is, whose codes begin at `start`.
    fn hide(&mut self, start: usize, value: usize) -> Result<(), String> {
        if !(self.is_private)(self.sources[value], value) {
            return Ok(());
        }
        if !matches!(self.codes[start], pack::W1..=pack::W8 | pack::STR..=pack::STR_MAX) {
            return Err("only numbers, addresses and strings can be private".into());
        }
        self.codes.insert(start, pack::PRIVATE);
        self.types[value] = TypeCode(self.types[value]).wrapped(types::PRIVATE).0;
        Ok(())
    }

    fn string(&mut self, precision: Count) -> usize {
        match precision {
            Count::Argument => {
                self.codes.push(pack::STR_ARG);
                // What is stored is no longer than that: nobody needs it any more.
                self.count += 1;
            }
            Count::Is(n) if n as usize <= pack::STR_MAX_MAX => {
                let nibble = |shift: u32| (n >> shift & 15) as u8;
                let max = [nibble(0), nibble(4), nibble(8)];
                self.codes.push(pack::STR_MAX);
                self.codes.extend(max);
            }
            // More is never stored.
            Count::Is(_) | Count::None => self.codes.push(pack::STR),
        }
        self.store(TypeCode::plain(types::CSTR))
    }

    /// What is pointed to, or an error if nothing is.
    fn pointed(&mut self, ty: TypeCode) -> Result<usize, String> {
        match ty.wrapped(types::RESULT) {
            TypeCode::TOO_DEEP => Err("nested too deep".into()),
            ty => Ok(self.store(ty)),
        }
    }

    /// What an object is called.
    fn text(&mut self, kind: u8) -> usize {
        self.codes.extend([pack::TEXT, kind]);
        self.store(TypeCode::plain(types::CSTR))
    }

    /// A value that is pointed to, whose size the format knows.
    fn memory(&mut self, ty: TypeCode) -> Result<usize, String> {
        let size = ty.fixed_size().filter(|&n| n <= pack::MEM_MAX);
        let size = size.ok_or_else(|| format!("longer than {} bytes", pack::MEM_MAX))?;
        let nibbles = [(size & 15) as u8, (size >> 4) as u8];
        self.codes.push(pack::MEM);
        self.codes.extend(nibbles);
        self.pointed(ty)
    }

    fn sockaddr(&mut self, ext: &str) -> Result<usize, String> {
        let letters = socket_letters(ext);
        let bits = [('p', pack::PORT), ('f', pack::FLOW), ('s', pack::SCOPE)];
        let prints = bits.iter().filter(|(c, _)| letters.contains(*c));
        let prints = prints.fold(0, |sum, (_, bit)| sum | bit);
        self.part(&[pack::SOCKADDR, prints], pack::SOCKADDR_SIZE)
    }

    /// So many bytes, of which only those are stored that are printed, as these codes say.
    fn part(&mut self, codes: &[u8], size: usize) -> Result<usize, String> {
        let ty = TypeCode::byte_array(size).filter(|_| size <= pack::MEM_MAX);
        self.codes.extend(codes);
        self.pointed(ty.ok_or_else(|| format!("longer than {} bytes", pack::MEM_MAX))?)
    }

    fn bytes(&mut self, size: usize) -> Result<usize, String> {
        self.memory(TypeCode::byte_array(size).ok_or("longer than a record")?)
    }

    fn pointer(&mut self, c: &Conversion, ext: &str) -> Result<usize, String> {
        let width = c.width;
        let letter = |i| ext.as_bytes().get(i).copied().unwrap_or(0);
        match (letter(0), letter(1), letter(2)) {
            (b'h' | b'b' | b'E', ..) if width == Count::Argument => {
                self.pointed(TypeCode::plain(types::HEX))
            }
            (b'h', ..) => match width {
                Count::Is(n) => self.bytes((n as usize).min(pack::BYTES_MAX as usize)),
                _ => self.bytes(1),
            },
            (b'E', ..) => match width {
                Count::Is(n) => self.bytes(n as usize),
                _ => self.bytes(1),
            },
            (b'd', depth, _) => Ok(self.text(pack::DENTRY + parents(depth))),
            (b'D', depth, _) => Ok(self.text(pack::FILE + parents(depth))),
            (b'g', ..) if (width, c.precision) != (Count::None, Count::None) => {
                Err("a width or precision of %pg can't be printed as printk does".into())
            }
            (b'g', ..) => Ok(self.text(pack::BDEV)),
            (b'G', b'p', _) => Ok(self.text(pack::FLAGS_PAGE)),
            (b'G', b'v', _) => Ok(self.text(pack::FLAGS_VMA)),
            (b'G', b'g', _) => Ok(self.text(pack::FLAGS_GFP)),
            (b'r', b'a', _) => self.bytes(16),
            // Without what comes after struct resource's flags.
            (b'r' | b'R', ..) => self.part(&[pack::PART, pack::RESOURCE], 32),
            // Without what comes after struct rtc_time's year.
            (b't', b'R', b'd') => self.part(&[pack::PART, pack::DATE], 24),
            (b't', b'R', b't') => self.part(&[pack::PART, pack::TIME], 24),
            (b't', b'R', _) => self.bytes(24),
            (b't', b'T', _) => self.bytes(8),
            (b't', b'S', _) => self.bytes(16),
            (b'I' | b'i', b'S', _) => self.sockaddr(ext),
            (b'b', ..) => match width {
                Count::Is(n) => {
                    let nibbles = [0, 4, 8].map(|shift| (n >> shift & 15) as u8);
                    let codes = [&[pack::PART, pack::BITMAP][..], &nibbles].concat();
                    self.part(&codes, 8 * (n as usize).div_ceil(64))
                }
                _ => self.bytes(0),
            },
            (b'M' | b'm', b'R', _) => self.bytes(6),
            (b'M' | b'm', ..) => self.memory(TypeCode::plain(types::MAC)),
            (b'I' | b'i', b'4', b'h' | b'l') => self.bytes(4),
            (b'I' | b'i', b'4', _) => self.memory(TypeCode::plain(types::IPV4)),
            (b'I' | b'i', b'6', _) => self.memory(TypeCode::plain(types::IPV6)),
            (b'U', ..) => self.bytes(16),
            (b'a', ..) | (b'N', b'F', _) => self.memory(TypeCode::plain(types::U64)),
            (b'4', b'c', b'h' | b'l' | b'b' | b'c') => self.memory(TypeCode::plain(types::U32)),
            (b'V', ..) => Err(format!(
                "%p{ext} is the format and the arguments of another call, which can't be stored"
            )),
            (b'A', ..) => Err(format!("%p{ext} is for the kernel's Rust code only")),
            (b'O' | b'f', ..) => Err(format!(
                "%p{ext} asks the firmware's tables, which can't be done wherever one logs"
            )),
            (b'C', ..) => Err(format!(
                "%p{ext} asks the clock framework, which can't be done wherever one logs"
            )),
            (b'k' | b'u', ..) => Err(format!("%p{ext} is for BPF programs only")),
            (b'I' | b'i' | b'N' | b'4' | b't' | b'G', ..) => {
                Err(format!("vsnprintf() knows no %p{ext}"))
            }
            (b'S', b'b', _) | (b'S', b'R', b'b') | (b'B', b'b', _) => Err(format!(
                "%p{ext} has the build ID of a symbol's module, which can't be stored"
            )),
            (b'S', ..) => Ok(self.text(pack::SYMBOL)),
            (b's', ..) => Ok(self.text(pack::SYMBOL_NAME)),
            (b'B', ..) => Ok(self.text(pack::SYMBOL_CALL)),
            // Plain addresses, and errors in place of one.
            _ => Ok(self.number(pack::W8, types::POINTER)),
        }
    }

    fn finish(self, steps: Vec<Step>) -> Result<Compiled, String> {
        if self.count > CALL_ARGS {
            return Err(format!(
                "{} arguments, of {CALL_ARGS} that one call can log",
                self.count
            ));
        }
        let sizes = self.types.iter().map(|&ty| TypeCode(ty));
        let bytes: usize = sizes
            .map(|ty| ty.fixed_size().unwrap_or(0) + ty.long_size())
            .sum();
        let codes = codes(self.count, &self.codes).filter(|_| bytes <= MAX_PAYLOAD);
        Ok(Compiled {
            codes: codes.ok_or("these are more arguments than one call can log")?,
            types: self.types,
            sources: self.sources,
            count: self.count,
            steps,
        })
    }
}

/// Those of a call that passes `count` arguments. `None`: more than two words can say.
fn codes(count: usize, codes: &[u8]) -> Option<Codes> {
    let numbers = pack::W1..=pack::W8;
    let are_numbers = codes.len() == count && codes.iter().all(|code| numbers.contains(code));
    if are_numbers && count <= pack::NUMBERS_MAX {
        let ends = codes.iter().scan(0, |end, code| {
            *end += 1 << (code - pack::W1);
            Some(*end)
        });
        let mut bytes = [ends.clone().last().unwrap_or(0); 16];
        bytes[0] = count as u8;
        // Each number but the first one starts where the one before ends.
        bytes[2..]
            .iter_mut()
            .zip(ends)
            .for_each(|(place, end)| *place = end);
        return Some(Codes(u128::from_le_bytes(bytes)));
    }
    let kind = match codes.len() {
        0..=15 => 0,
        16..=31 => pack::TWO_WORDS,
        _ => return None,
    };
    let codes = codes.iter().rev().chain([&kind]);
    Some(Codes(
        codes.fold(0, |all, code| all << 4 | u128::from(code & 15)),
    ))
}

/// The letters after `IS`, which say what is printed of a socket's address.
pub fn socket_letters(ext: &str) -> &str {
    let rest = ext.get(2..).unwrap_or("");
    let end = rest.find(|c: char| !c.is_ascii_alphabetic());
    &rest[..end.unwrap_or(rest.len())]
}

/// How many parents are named with a dentry, by the digit in the format.
fn parents(depth: u8) -> u8 {
    match depth {
        b'2'..=b'4' => depth - b'1',
        _ => 0,
    }
}

/// The strings of a C string literal, or of several next to each other, as the source has them.
pub fn literal(source: &str) -> Result<String, String> {
    let mut out = Vec::new();
    let mut rest = source.trim();
    while !rest.is_empty() {
        // Escapes have no quotes in them, but for \".
        let body = rest
            .strip_prefix('"')
            .ok_or("the format is not a string literal")?;
        let mut end = None;
        let mut escaped = false;
        for (i, b) in body.bytes().enumerate() {
            match b {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => {
                    end = Some(i);
                    break;
                }
                _ => {}
            }
        }
        let end = end.ok_or("the format has no end")?;
        unescape(&body.as_bytes()[..end], &mut out)?;
        rest = body[end + 1..].trim_start();
    }
    // A source in another encoding than UTF-8 is no reason to lose its records.
    let text = String::from_utf8_lossy(&out);
    match text.contains('\0') {
        false => Ok(text.into_owned()),
        true => Err("the format has a NUL".into()),
    }
}

fn unescape(body: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
    let mut bytes = body.iter().copied().peekable();
    while let Some(b) = bytes.next() {
        if b != b'\\' {
            out.push(b);
            continue;
        }
        let escape = bytes.next().ok_or("an escape without an end")?;
        out.push(match escape {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'a' => 7,
            b'b' => 8,
            b'f' => 12,
            b'v' => 11,
            b'e' | b'E' => 27,
            b'0'..=b'7' => {
                let mut value = u32::from(escape - b'0');
                for _ in 0..2 {
                    match bytes.next_if(|b| (b'0'..=b'7').contains(b)) {
                        Some(b) => value = value * 8 + u32::from(b - b'0'),
                        None => break,
                    }
                }
                value as u8
            }
            b'x' => {
                let mut value = 0u32;
                while let Some(b) = bytes.next_if(u8::is_ascii_hexdigit) {
                    let digit = char::from(b).to_digit(16).unwrap_or(0);
                    value = value << 4 | digit;
                }
                value as u8
            }
            b'\\' | b'"' | b'\'' | b'?' => escape,
            c => return Err(format!("the escape \\{} is unknown", char::from(c))),
        });
    }
    Ok(())
}

/// The source text of each argument, out of the text of all of them.
pub fn arguments(source: &str) -> Vec<String> {
    let mut all = Vec::new();
    let (mut depth, mut quote, mut escaped) = (0usize, None, false);
    let mut start = 0;
    for (i, c) in source.char_indices() {
        match (quote, c) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(q), _) if q == c => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                all.push(name(&source[start..i]));
                start = i + 1;
            }
            _ => {}
        }
    }
    if !source.trim().is_empty() {
        all.push(name(&source[start..]));
    }
    all
}

/// At most so many characters of an argument's source text are kept.
const NAME_MAX: usize = 80;

fn name(source: &str) -> String {
    // What separates names can't be in one.
    let mut name = source.trim().replace(char::is_control, " ");
    if let Some((end, _)) = name.char_indices().nth(NAME_MAX) {
        name.truncate(end);
        name.push('…');
    }
    name
}
