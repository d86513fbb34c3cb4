// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Reads ELF, as far as vmlinux and a .ko need it, from untrusted bytes.
//!
//! `image.rs` asks for sections, symbols, relocations and notes by name. Every offset and length is
//! checked before it is used; nothing here panics, and no buffer is larger than the file. It knows
//! 64-bit little-endian ELF only, and says so.
//!
//! Needs only `std`; the crate `blog-table` links to this file.

use super::{
    bytes::{
        slice_at,
        u16_at,
        u32_at,
        u64_at,
        u8_at,
        until_nul, //
    },
    inflate::inflate,
    source::Source,
};

/// Relocatable file: a .ko or .o.
pub const ET_REL: u16 = 1;
/// Section holds nothing in the file.
pub const SHT_NOBITS: u32 = 8;
/// Section is a symbol table.
pub const SHT_SYMTAB: u32 = 2;
/// Section is a table of relocations with addends.
pub const SHT_RELA: u32 = 4;
/// Section holds notes.
pub const SHT_NOTE: u32 = 7;
/// Section is loaded.
pub const SHF_ALLOC: u64 = 2;
const SHF_COMPRESSED: u64 = 0x800;
/// How old tools compress sections, which have "ZLIB" and a big-endian size, and not the flag.
const ELFCOMPRESS_ZLIB: u32 = 1;

const EHDR_SIZE: u64 = 64;
const SHDR_SIZE: usize = 64;
const SYM_SIZE: usize = 24;
const CHDR_SIZE: usize = 24;
const RELA_SIZE: usize = 24;
/// More sections than any kernel image has.
const MAX_SECTIONS: u64 = 1 << 20;
/// Longest section that is read into memory.
const MAX_SECTION: u64 = 512 << 20;
/// More, and longer, notes than any kernel image has.
const MAX_NOTES: (usize, u64) = (256, 1 << 20);

/// A section header.
#[derive(Clone, Debug)]
pub struct Section {
    /// Name.
    pub name: String,
    /// `SHT_*`.
    pub kind: u32,
    /// `SHF_*`.
    pub flags: u64,
    /// Address.
    pub addr: u64,
    /// Offset in the file.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
    /// Related section.
    pub link: u32,
    /// More information.
    pub info: u32,
}

/// A symbol that was asked for.
#[derive(Clone, Copy, Debug)]
pub struct Symbol {
    /// Address, or offset in its section in a relocatable file.
    pub value: u64,
    /// Index of its section.
    pub section: u16,
}

/// What [`Elf::functions`] finds.
pub type Functions = (Vec<(Symbol, u64, u32)>, Vec<u8>);

/// A relocation with its symbol looked up.
#[derive(Clone, Copy, Debug)]
pub struct Relocation {
    /// Where it applies, as an offset in its section.
    pub offset: u64,
    /// Type, dependent on the machine.
    pub kind: u32,
    /// The symbol.
    pub symbol: Symbol,
    /// The addend.
    pub addend: i64,
}

/// An ELF file whose section headers have been read.
pub struct Elf {
    source: Source,
    /// `ET_*`.
    pub kind: u16,
    /// `EM_*`.
    pub machine: u16,
    /// Sections by index.
    pub sections: Vec<Section>,
}

/// Whether the bytes start as an ELF file does.
pub fn is_elf(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x7fELF")
}

impl Elf {
    /// Reads the headers.
    pub fn open(source: Source) -> Result<Self, String> {
        const CUT: &str = "the ELF header is cut off";
        let header = read(&source, 0, EHDR_SIZE, "the ELF header")?;
        if !is_elf(&header) {
            return Err("not an ELF file".into());
        }
        if u8_at(&header, 4) != Some(2) {
            return Err("not a 64-bit ELF file".into());
        }
        if u8_at(&header, 5) != Some(1) {
            return Err("not a little-endian ELF file".into());
        }
        let kind = u16_at(&header, 16).ok_or(CUT)?;
        let machine = u16_at(&header, 18).ok_or(CUT)?;
        let shoff = u64_at(&header, 40).ok_or(CUT)?;
        let shentsize = u16_at(&header, 58).ok_or(CUT)?;
        let shnum = u16_at(&header, 60).ok_or(CUT)?;
        let shstrndx = u16_at(&header, 62).ok_or(CUT)?;
        if shoff == 0 {
            return Err("no section headers".into());
        }
        if usize::from(shentsize) != SHDR_SIZE {
            return Err(format!("section headers of {shentsize} bytes"));
        }
        // Counts that do not fit into the ELF header are in the first section header.
        let first = read(&source, shoff, SHDR_SIZE as u64, "section headers")?;
        let count = match shnum {
            0 => u64_at(&first, 32).ok_or(CUT)?,
            n => u64::from(n),
        };
        let names_index = match shstrndx {
            0xffff => u32_at(&first, 40).ok_or(CUT)? as usize,
            n => usize::from(n),
        };
        if count == 0 || count > MAX_SECTIONS {
            return Err(format!("{count} sections"));
        }
        let raw = read(&source, shoff, count * SHDR_SIZE as u64, "section headers")?;
        let mut sections = Vec::with_capacity(count as usize);
        for h in raw.chunks_exact(SHDR_SIZE) {
            sections.push(parse_section(h).ok_or("a section header is cut off")?);
        }
        let mut elf = Self {
            source,
            kind,
            machine,
            sections,
        };
        let names = match elf.sections.get(names_index) {
            Some(s) => elf.data(s)?,
            None => return Err("no table of section names".into()),
        };
        for (s, h) in elf.sections.iter_mut().zip(raw.chunks_exact(SHDR_SIZE)) {
            let name_off = u32_at(h, 0).map_or(usize::MAX, |n| n as usize);
            let name = names.get(name_off..).unwrap_or_default();
            // No section that matters has a long name.
            let name = &name[..name.len().min(256)];
            let name = String::from_utf8_lossy(until_nul(name));
            // Old tools have a name of their own for what they compress.
            s.name = match name.strip_prefix(".zdebug") {
                Some(rest) => format!(".debug{rest}"),
                None => name.into_owned(),
            };
        }
        Ok(elf)
    }

    /// Index of the section with this name. Two of one name are an error.
    pub fn find(&self, name: &str) -> Result<Option<usize>, String> {
        let mut found = None;
        for (i, s) in self.sections.iter().enumerate() {
            if s.name == name && found.replace(i).is_some() {
                return Err(format!("two sections are called {name}"));
            }
        }
        Ok(found)
    }

    /// The bytes of a section.
    pub fn data(&self, s: &Section) -> Result<Vec<u8>, String> {
        if s.kind == SHT_NOBITS {
            return Err(format!("section {} has no bytes in the file", s.name));
        }
        let what = format!("section {}", s.name);
        let bytes = read(&self.source, s.offset, s.size, &what)?;
        let is_old = s.name.starts_with(".debug") && bytes.starts_with(b"ZLIB");
        let (kind, size, packed) = match (s.flags & SHF_COMPRESSED, is_old) {
            (0, false) => return Ok(bytes),
            (0, true) => (
                ELFCOMPRESS_ZLIB,
                u64_at(&bytes, 4).map(u64::swap_bytes),
                bytes.get(12..),
            ),
            _ => (
                u32_at(&bytes, 0).unwrap_or(0),
                u64_at(&bytes, 8),
                bytes.get(CHDR_SIZE..),
            ),
        };
        let size = size.filter(|n| *n <= MAX_SECTION);
        let size = size.ok_or_else(|| format!("{what} is compressed, and damaged"))?;
        inflate(kind, packed.unwrap_or_default(), size as usize).map_err(|e| format!("{what} {e}"))
    }

    /// The bytes of a section that may be missing: from a file with debug information, for example,
    /// which has the headers of all sections and the bytes of few.
    pub fn data_if_any(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        match self.find(name)?.map(|i| &self.sections[i]) {
            Some(s) if s.kind != SHT_NOBITS => self.data(s).map(Some),
            _ => Ok(None),
        }
    }

    /// The section with bytes at an address of a linked image, and the place in it.
    pub fn section_at(&self, addr: u64) -> Option<(&Section, u64)> {
        let s = self.sections.iter().find(|s| {
            s.flags & SHF_ALLOC != 0
                && s.kind != SHT_NOBITS
                && addr >= s.addr
                && addr - s.addr < s.size
        })?;
        Some((s, addr - s.addr))
    }

    /// The bytes at an address of a linked image, at most `max` of them.
    pub fn at_address(&self, addr: u64, max: u64) -> Option<Vec<u8>> {
        let (s, skip) = self.section_at(addr)?;
        let len = (s.size - skip).min(max);
        self.source
            .read(s.offset.checked_add(skip)?, len, max)
            .ok()?
    }

    /// Looks up symbols by name; the answers are in the order of the names.
    pub fn symbols<const N: usize>(&self, names: [&str; N]) -> Result<[Option<Symbol>; N], String> {
        let mut found = [None; N];
        let Some(table) = self.sections.iter().find(|s| s.kind == SHT_SYMTAB) else {
            return Ok(found);
        };
        let symbols = self.data(table)?;
        let strings = self.linked(table)?;
        for raw in symbols.chunks_exact(SYM_SIZE) {
            let Some(name_off) = u32_at(raw, 0) else {
                continue;
            };
            let rest = strings.get(name_off as usize..).unwrap_or_default();
            for (name, slot) in names.iter().zip(&mut found) {
                let n = name.len();
                if rest.get(..n) == Some(name.as_bytes()) && rest.get(n) == Some(&0) {
                    *slot = parse_symbol(raw).or(*slot);
                }
            }
        }
        Ok(found)
    }

    /// The functions: symbol, size, and where their names are in the second answer. None in a
    /// stripped file.
    pub fn functions(&self) -> Result<Functions, String> {
        const STT_FUNC: u8 = 2;
        let Some(table) = self.sections.iter().find(|s| s.kind == SHT_SYMTAB) else {
            return Ok(Default::default());
        };
        let function = |raw: &[u8]| {
            let is_one = u8_at(raw, 4)? & 0xf == STT_FUNC;
            is_one.then_some((parse_symbol(raw)?, u64_at(raw, 16)?, u32_at(raw, 0)?))
        };
        let symbols = self.data(table)?;
        let functions = symbols.chunks_exact(SYM_SIZE).filter_map(function);
        Ok((functions.collect(), self.linked(table)?))
    }

    /// The relocations that apply to section `index`, in the order of the file.
    pub fn relocations(&self, index: usize) -> Result<Vec<Relocation>, String> {
        let mut applying = self
            .sections
            .iter()
            .filter(|s| s.kind == SHT_RELA && s.info as usize == index);
        let Some(s) = applying.next() else {
            return Ok(Vec::new());
        };
        if applying.next().is_some() {
            return Err(format!("section {}: not the only one of its kind", s.name));
        }
        let table = self
            .sections
            .get(s.link as usize)
            .filter(|t| t.kind == SHT_SYMTAB)
            .ok_or_else(|| format!("section {} has no symbol table", s.name))?;
        let symbols = self.data(table)?;
        self.data(s)?
            .chunks_exact(RELA_SIZE)
            .map(|r| parse_relocation(r, &symbols))
            .collect::<Option<_>>()
            .ok_or_else(|| format!("section {}: no such symbol", s.name))
    }

    /// The GNU build ID.
    pub fn build_id(&self) -> Result<Option<Vec<u8>>, String> {
        let (count, size) = MAX_NOTES;
        let is_note = |s: &&Section| s.kind == SHT_NOTE && s.size <= size;
        for s in self.sections.iter().filter(is_note).take(count) {
            let notes = self.data(s)?;
            if let Some(id) = find_build_id(&notes) {
                return Ok(Some(id.to_vec()));
            }
        }
        Ok(None)
    }

    /// The bytes of the section that `s` links to.
    fn linked(&self, s: &Section) -> Result<Vec<u8>, String> {
        match self.sections.get(s.link as usize) {
            Some(t) => self.data(t),
            None => Err(format!("section {} links to no section", s.name)),
        }
    }
}

fn read(source: &Source, off: u64, len: u64, what: &str) -> Result<Vec<u8>, String> {
    match source.read(off, len, MAX_SECTION) {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) if len > MAX_SECTION => Err(format!("{what} is {len} bytes long")),
        Ok(None) => Err(format!("the file is cut off: {what} lies past its end")),
        Err(e) => Err(format!("reading {what}: {e}")),
    }
}

fn parse_section(h: &[u8]) -> Option<Section> {
    Some(Section {
        name: String::new(),
        kind: u32_at(h, 4)?,
        flags: u64_at(h, 8)?,
        addr: u64_at(h, 16)?,
        offset: u64_at(h, 24)?,
        size: u64_at(h, 32)?,
        link: u32_at(h, 40)?,
        info: u32_at(h, 44)?,
    })
}

fn parse_symbol(raw: &[u8]) -> Option<Symbol> {
    Some(Symbol {
        value: u64_at(raw, 8)?,
        section: u16_at(raw, 6)?,
    })
}

fn parse_relocation(r: &[u8], symbols: &[u8]) -> Option<Relocation> {
    let info = u64_at(r, 8)?;
    let symbol = slice_at(
        symbols,
        usize::try_from(info >> 32).ok()?.checked_mul(SYM_SIZE)?,
        SYM_SIZE,
    )?;
    Some(Relocation {
        offset: u64_at(r, 0)?,
        kind: info as u32,
        symbol: parse_symbol(symbol)?,
        addend: u64_at(r, 16)? as i64,
    })
}

fn find_build_id(mut notes: &[u8]) -> Option<&[u8]> {
    const NT_GNU_BUILD_ID: u32 = 3;
    loop {
        let name_len = u32_at(notes, 0)? as usize;
        let desc_len = u32_at(notes, 4)? as usize;
        let kind = u32_at(notes, 8)?;
        let name = slice_at(notes, 12, name_len)?;
        let desc_at = 12 + (name_len.checked_add(3)? & !3);
        let desc = slice_at(notes, desc_at, desc_len)?;
        if kind == NT_GNU_BUILD_ID && name == b"GNU\0" && !desc.is_empty() {
            return Some(desc);
        }
        let next = desc_at + (desc_len.checked_add(3)? & !3);
        notes = notes.get(next..)?;
    }
}
