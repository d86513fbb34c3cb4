// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Descriptors: the data of log calls and of `#[derive(BlogArg)]` in `.debug.blog`.
//!
//! `image.rs` parses them out of an ELF section, `format.rs` writes them into a side table and
//! reads them back: the same bytes, except that the reference to the site's entry has become the
//! site's index. This file neither looks at type codes nor at format strings.
//!
//! ```text
//! site: off 0  u32 magic "BLFD"      4  u32 length of all of it, a multiple of 8
//!       8  u64 reference to the .blog_sites entry (in a side table: the site's index)
//!       16 u32 line   20 u8 level   21 u8 argc   22 u8 version   23 u8 flags
//!       24 u16 format length, u16 file length, u16 module path length, u16 names length
//!       32 u64 type code, argc times
//!       then format, file, module path and names (joined by 0x1f), zero padding to 8
//!       Version 2 is with flags: 1, the format is one of C. Version 1 is without.
//!
//! C site, in images only: `image.rs` makes a site of it
//!       off 0  u32 magic "BLFC"      4  u32 length of all of it, a multiple of 8
//!       8  u64 reference to the .blog_sites entry
//!       16 u64 reference to the words of codes
//!       24 u32 line   28 u8 level   29 u8 version = 3   30 u16 flags
//!       32 u16 format length, u16 file length, u16 module length, u16 arguments length
//!       40 then these, format and arguments as in the source, zero padding to 8
//!       Flags: 1, a captured message, whose format need not be one that can be stored; 2, there
//!       are two words of codes, else one. In version 1, the word has other codes.
//!
//! place: off 0 u32 magic "BLFP"      4  u32 length of all of it, a multiple of 8
//!       8  u64 reference to the .blog_sites entry (in a side table: the site's index)
//!       16 u64 reference to the site's code (in a side table: 0)
//!       24 u16 function length, u16 class length, 4 pad, then these, zero padding to 8
//!       In an image, the function is empty: `image.rs` finds it by the code.
//!
//! type: off 0  u32 magic "BLFT"      4  u32 length of all of it, a multiple of 8
//!       8  u64 type code   16 u32 kind (1 struct, 2 enum)   20 u32 number of variants
//!       24 u16 name length, 6 pad, name, padding to 8
//!       per variant: u16 name length, u16 field count, u8 shape (0 unit, 1 tuple, 2 named),
//!                    3 pad, name, padding to 8
//!         per field: u64 type code, u16 name length, 6 pad, name, padding to 8
//! ```
//!
//! Needs only `std`; the crate `blog-table` links to this file.

use super::bytes::{
    pad8,
    round8,
    slice_at,
    u16_at,
    u32_at,
    u64_at,
    u8_at, //
};

/// First word of a site descriptor.
pub const SITE_MAGIC: u32 = u32::from_le_bytes(*b"BLFD");
/// First word of a type descriptor.
pub const TYPE_MAGIC: u32 = u32::from_le_bytes(*b"BLFT");
/// First word of a C site's descriptor.
pub const C_SITE_MAGIC: u32 = u32::from_le_bytes(*b"BLFC");
/// First word of the descriptor of a site's place.
pub const PLACE_MAGIC: u32 = u32::from_le_bytes(*b"BLFP");
/// Version of site descriptors without flags.
pub const VERSION: u8 = 1;
/// Version of those with flags.
pub const VERSION_FLAGS: u8 = 2;
/// The format is one of C.
pub const FLAG_C: u8 = 1;
/// Version of C sites' descriptors.
pub const C_VERSION: u8 = 3;
/// The call is captured.
pub const C_FLAG_CAPTURED: u16 = 1;
/// There are two words of codes.
pub const C_FLAG_MANY: u16 = 2;
/// Stands between two argument names.
pub const NAME_SEPARATOR: char = '\x1f';

/// One call site.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Site {
    /// Line of the call.
    pub line: u32,
    /// Level, 1 to 5.
    pub level: u8,
    /// Type code of each stored argument.
    pub codes: Vec<u64>,
    /// The format string as in the source.
    pub format: String,
    /// The source file.
    pub file: String,
    /// The module path.
    pub module: String,
    /// Name or source text of each stored argument.
    pub names: Vec<String>,
    /// Whether the format is one of C.
    pub is_c: bool,
    /// Where it is.
    pub place: Place,
}

/// Where a call site is, beside file and line.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Place {
    /// The symbol of the function that has its code; empty: not known.
    pub function: String,
    /// What its subsystem calls its kind, a category or facility; empty: nothing.
    pub class: String,
}

/// One C call site, as the compiler saw it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct CSite {
    /// Version of its descriptor.
    pub version: u8,
    /// Line of the call.
    pub line: u32,
    /// Level, 1 to 5.
    pub level: u8,
    /// Source text of the format: string literals.
    pub format: String,
    /// The source file.
    pub file: String,
    /// The module.
    pub module: String,
    /// Source text of the arguments.
    pub arguments: String,
    /// Whether it is captured: it may have a format that can't be stored.
    pub is_captured: bool,
    /// Whether it has two words of codes.
    pub has_many: bool,
}

/// What a derived type is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeKind {
    /// A struct: one variant, without a tag.
    Struct,
    /// An enum: a tag byte, then the variant.
    Enum,
}

/// How the fields of a variant are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `Name`
    Unit,
    /// `Name(a, b)`
    Tuple,
    /// `Name { a: 1 }`
    Named,
}

/// One field of a variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Type code.
    pub code: u64,
    /// Name; empty in a tuple.
    pub name: String,
}

/// One variant of an enum, or all of a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Name.
    pub name: String,
    /// How it is written.
    pub shape: Shape,
    /// Fields, in the order in which they are stored.
    pub fields: Vec<Field>,
}

/// A type with `#[derive(BlogArg)]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    /// Type code.
    pub code: u64,
    /// Name without path.
    pub name: String,
    /// Struct or enum.
    pub kind: TypeKind,
    /// Variants by tag.
    pub variants: Vec<Variant>,
}

/// A descriptor of either kind. `reference_at` is where its site reference lies, counted from
/// the start of all the bytes; a relocation of a .ko applies there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Descriptor {
    /// A site, the offset of its reference, and the reference itself.
    Site {
        /// What it says.
        site: Site,
        /// Where the reference lies.
        reference_at: usize,
        /// The reference.
        reference: u64,
    },
    /// A type.
    Type(Type),
    /// The place of a site, with its references, to its entry and to its code, and where they lie.
    Place {
        /// What it says.
        place: Place,
        /// Where the references lie.
        references_at: [usize; 2],
        /// The references.
        references: [u64; 2],
    },
    /// A C site, with its references, to its entry and to its words of codes, and where they lie.
    C {
        /// What it says.
        site: CSite,
        /// Where the references lie.
        references_at: [usize; 2],
        /// The references.
        references: [u64; 2],
    },
}

/// Goes through descriptors that stand one after the other, with zeros between them.
pub struct Walk<'a> {
    bytes: &'a [u8],
    pos: usize,
}

impl<'a> Walk<'a> {
    /// Starts at the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, pos: 0 }
    }

    fn step(&mut self) -> Result<Option<Descriptor>, String> {
        loop {
            let start = self.pos;
            if start >= self.bytes.len() {
                return Ok(None);
            }
            let at = |what: &str| format!("descriptor at offset {start:#x}: {what}");
            let magic = u32_at(self.bytes, start).ok_or_else(|| at("cut off"))?;
            if magic == 0 {
                // Alignment padding between the sections of two object files.
                self.pos = start + 4;
                continue;
            }
            let len = u32_at(self.bytes, start + 4).ok_or_else(|| at("cut off"))? as usize;
            if len % 8 != 0 || len < 32 {
                return Err(at(&format!("impossible length {len}")));
            }
            let body = slice_at(self.bytes, start, len)
                .ok_or_else(|| at(&format!("length {len} reaches past the end")))?;
            self.pos = start + len;
            let references_at = [start + 8, start + 16];
            let parsed = match magic {
                SITE_MAGIC => parse_site(body).map(|(site, reference)| Descriptor::Site {
                    site,
                    reference_at: start + 8,
                    reference,
                }),
                C_SITE_MAGIC => parse_c_site(body).map(|(site, references)| Descriptor::C {
                    site,
                    references_at,
                    references,
                }),
                PLACE_MAGIC => parse_place(body).map(|(place, references)| Descriptor::Place {
                    place,
                    references_at,
                    references,
                }),
                TYPE_MAGIC => parse_type(body).map(Descriptor::Type),
                _ => Err(format!("unknown magic {magic:#010x}")),
            };
            return parsed.map(Some).map_err(|e| at(&e));
        }
    }
}

impl Iterator for Walk<'_> {
    type Item = Result<Descriptor, String>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.step().transpose();
        if matches!(item, Some(Err(_))) {
            self.pos = self.bytes.len();
        }
        item
    }
}

const CUT: &str = "cut off";

fn text(bytes: &[u8], pos: &mut usize, len: usize, what: &str) -> Result<String, String> {
    let raw = slice_at(bytes, *pos, len).ok_or(CUT)?;
    *pos += len;
    // A source in another encoding than UTF-8 is no reason to have no table.
    let text = String::from_utf8_lossy(raw);
    match text.contains('\0') {
        false => Ok(text.into_owned()),
        true => Err(format!("{what} is not text")),
    }
}

fn parse_site(b: &[u8]) -> Result<(Site, u64), String> {
    let reference = u64_at(b, 8).ok_or(CUT)?;
    let line = u32_at(b, 16).ok_or(CUT)?;
    let level = u8_at(b, 20).ok_or(CUT)?;
    let argc = usize::from(u8_at(b, 21).ok_or(CUT)?);
    let version = u8_at(b, 22).ok_or(CUT)?;
    let flags = match version {
        VERSION => 0,
        VERSION_FLAGS => u8_at(b, 23).ok_or(CUT)?,
        _ => {
            return Err(format!(
                "version {version}, but this program reads up to {VERSION_FLAGS}"
            ));
        }
    };
    if flags & !FLAG_C != 0 {
        return Err(format!("flags {flags:#x} are unknown"));
    }
    check_level(level)?;
    let lens = lengths(b, 24)?;
    let mut pos = 32;
    let mut codes = Vec::with_capacity(argc);
    for _ in 0..argc {
        codes.push(u64_at(b, pos).ok_or(CUT)?);
        pos += 8;
    }
    let format = text(b, &mut pos, lens[0], "format string")?;
    let file = text(b, &mut pos, lens[1], "file name")?;
    let module = text(b, &mut pos, lens[2], "module path")?;
    let names = text(b, &mut pos, lens[3], "list of argument names")?;
    let names: Vec<String> = if argc == 0 && names.is_empty() {
        Vec::new()
    } else {
        names.split(NAME_SEPARATOR).map(str::to_owned).collect()
    };
    if names.len() != argc {
        return Err(format!("{} names for {argc} arguments", names.len()));
    }
    check_length(round8(pos), pos, b)?;
    let site = Site {
        line,
        level,
        codes,
        format,
        file,
        module,
        names,
        is_c: flags & FLAG_C != 0,
        place: Place::default(),
    };
    Ok((site, reference))
}

fn check_level(level: u8) -> Result<(), String> {
    match level {
        1..=5 => Ok(()),
        _ => Err(format!("level {level} is not in 1 to 5")),
    }
}

/// Whether a descriptor is as long as its content, of `pos` bytes, is with its padding.
fn check_length(end: Option<usize>, pos: usize, b: &[u8]) -> Result<(), String> {
    match end == Some(b.len()) {
        true => Ok(()),
        false => Err(format!("length {} for {pos} bytes of content", b.len())),
    }
}

/// The lengths of the four texts.
fn lengths(b: &[u8], at: usize) -> Result<[usize; 4], String> {
    let mut lens = [0; 4];
    for (i, len) in lens.iter_mut().enumerate() {
        *len = usize::from(u16_at(b, at + 2 * i).ok_or(CUT)?);
    }
    Ok(lens)
}

fn parse_c_site(b: &[u8]) -> Result<(CSite, [u64; 2]), String> {
    let references = [u64_at(b, 8).ok_or(CUT)?, u64_at(b, 16).ok_or(CUT)?];
    let line = u32_at(b, 24).ok_or(CUT)?;
    let level = u8_at(b, 28).ok_or(CUT)?;
    let version = u8_at(b, 29).ok_or(CUT)?;
    if !(1..=C_VERSION).contains(&version) {
        return Err(format!(
            "version {version}, but this program reads {C_VERSION}"
        ));
    }
    check_level(level)?;
    let flags = u16_at(b, 30).ok_or(CUT)?;
    if flags & !(C_FLAG_CAPTURED | C_FLAG_MANY) != 0 {
        return Err(format!("flags {flags:#x} are unknown"));
    }
    let lens = lengths(b, 32)?;
    let mut pos = 40;
    let site = CSite {
        line,
        level,
        version,
        is_captured: flags & C_FLAG_CAPTURED != 0,
        has_many: flags & C_FLAG_MANY != 0,
        format: text(b, &mut pos, lens[0], "format string")?,
        file: text(b, &mut pos, lens[1], "file name")?,
        module: text(b, &mut pos, lens[2], "module name")?,
        arguments: text(b, &mut pos, lens[3], "list of arguments")?,
    };
    check_length(round8(pos), pos, b)?;
    Ok((site, references))
}

fn parse_place(b: &[u8]) -> Result<(Place, [u64; 2]), String> {
    let references = [u64_at(b, 8).ok_or(CUT)?, u64_at(b, 16).ok_or(CUT)?];
    let len = |at| u16_at(b, at).map(usize::from).ok_or(CUT);
    let (function, class) = (len(24)?, len(26)?);
    let mut pos = 32;
    let place = Place {
        function: text(b, &mut pos, function, "name of a function")?,
        class: text(b, &mut pos, class, "class")?,
    };
    check_length(round8(pos), pos, b)?;
    Ok((place, references))
}

fn name(b: &[u8], pos: &mut usize, len: usize) -> Result<String, String> {
    let s = text(b, pos, len, "name")?;
    *pos = round8(*pos).ok_or(CUT)?;
    Ok(s)
}

fn parse_type(b: &[u8]) -> Result<Type, String> {
    let code = u64_at(b, 8).ok_or(CUT)?;
    let kind = match u32_at(b, 16).ok_or(CUT)? {
        1 => TypeKind::Struct,
        2 => TypeKind::Enum,
        n => return Err(format!("kind {n} of a type is unknown")),
    };
    let count = u32_at(b, 20).ok_or(CUT)?;
    if count > 256 || (kind == TypeKind::Struct && count != 1) {
        return Err(format!("{count} variants"));
    }
    let len = usize::from(u16_at(b, 24).ok_or(CUT)?);
    let mut pos = 32;
    let type_name = name(b, &mut pos, len)?;
    let mut variants = Vec::new();
    for _ in 0..count {
        let len = usize::from(u16_at(b, pos).ok_or(CUT)?);
        let field_count = u16_at(b, pos + 2).ok_or(CUT)?;
        let shape = match u8_at(b, pos + 4).ok_or(CUT)? {
            0 => Shape::Unit,
            1 => Shape::Tuple,
            2 => Shape::Named,
            n => return Err(format!("shape {n} of a variant is unknown")),
        };
        pos += 8;
        let variant_name = name(b, &mut pos, len)?;
        let mut fields = Vec::new();
        for _ in 0..field_count {
            let code = u64_at(b, pos).ok_or(CUT)?;
            let len = usize::from(u16_at(b, pos + 8).ok_or(CUT)?);
            pos += 16;
            fields.push(Field {
                code,
                name: name(b, &mut pos, len)?,
            });
        }
        if shape == Shape::Unit && !fields.is_empty() {
            return Err("a unit variant with fields".into());
        }
        variants.push(Variant {
            name: variant_name,
            shape,
            fields,
        });
    }
    check_length(Some(pos), pos, b)?;
    Ok(Type {
        code,
        name: type_name,
        kind,
        variants,
    })
}

fn len16(n: usize, what: &str) -> Result<[u8; 2], String> {
    match u16::try_from(n) {
        Ok(n) => Ok(n.to_le_bytes()),
        Err(_) => Err(format!("{what} is {n} bytes long")),
    }
}

fn finish(out: &mut Vec<u8>, start: usize) -> Result<(), String> {
    pad8(out);
    let len = u32::try_from(out.len() - start).map_err(|_| "descriptor too long")?;
    out[start + 4..start + 8].copy_from_slice(&len.to_le_bytes());
    Ok(())
}

impl Site {
    /// Appends the descriptor, with `reference` in the place of the reference. `out` must end on
    /// a multiple of 8.
    pub fn write(&self, reference: u64, out: &mut Vec<u8>) -> Result<(), String> {
        let start = out.len();
        let names = self.names.join("\x1f");
        let argc = u8::try_from(self.codes.len()).map_err(|_| "too many arguments")?;
        out.extend(SITE_MAGIC.to_le_bytes());
        out.extend([0; 4]);
        out.extend(reference.to_le_bytes());
        out.extend(self.line.to_le_bytes());
        let (version, flags) = match self.is_c {
            false => (VERSION, 0),
            true => (VERSION_FLAGS, FLAG_C),
        };
        out.extend([self.level, argc, version, flags]);
        out.extend(len16(self.format.len(), "format string")?);
        out.extend(len16(self.file.len(), "file name")?);
        out.extend(len16(self.module.len(), "module path")?);
        out.extend(len16(names.len(), "list of argument names")?);
        for code in &self.codes {
            out.extend(code.to_le_bytes());
        }
        for s in [&self.format, &self.file, &self.module, &names] {
            out.extend(s.as_bytes());
        }
        finish(out, start)?;
        match self.place == Place::default() {
            true => Ok(()),
            false => self.place.write(reference, out),
        }
    }
}

impl Place {
    fn write(&self, reference: u64, out: &mut Vec<u8>) -> Result<(), String> {
        let start = out.len();
        out.extend(PLACE_MAGIC.to_le_bytes());
        out.extend([0; 4]);
        out.extend(reference.to_le_bytes());
        out.extend([0; 8]);
        out.extend(len16(self.function.len(), "name of a function")?);
        out.extend(len16(self.class.len(), "class")?);
        out.extend([0; 4]);
        out.extend(self.function.as_bytes());
        out.extend(self.class.as_bytes());
        finish(out, start)
    }
}

impl Type {
    /// Appends the descriptor. `out` must end on a multiple of 8.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), String> {
        let start = out.len();
        let kind: u32 = match self.kind {
            TypeKind::Struct => 1,
            TypeKind::Enum => 2,
        };
        let count = u32::try_from(self.variants.len()).map_err(|_| "too many variants")?;
        out.extend(TYPE_MAGIC.to_le_bytes());
        out.extend([0; 4]);
        out.extend(self.code.to_le_bytes());
        out.extend(kind.to_le_bytes());
        out.extend(count.to_le_bytes());
        out.extend(len16(self.name.len(), "type name")?);
        out.extend([0; 6]);
        out.extend(self.name.as_bytes());
        pad8(out);
        for v in &self.variants {
            out.extend(len16(v.name.len(), "variant name")?);
            out.extend(len16(v.fields.len(), "list of fields")?);
            let shape = match v.shape {
                Shape::Unit => 0,
                Shape::Tuple => 1,
                Shape::Named => 2,
            };
            out.extend([shape, 0, 0, 0]);
            out.extend(v.name.as_bytes());
            pad8(out);
            for f in &v.fields {
                out.extend(f.code.to_le_bytes());
                out.extend(len16(f.name.len(), "field name")?);
                out.extend([0; 6]);
                out.extend(f.name.as_bytes());
                pad8(out);
            }
        }
        finish(out, start)
    }
}
