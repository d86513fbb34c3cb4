// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Puts a side table into a module, as a section that no loader loads and no strip takes for debug
//! information.
//!
//! The content of the file stays where it is. The table comes after it, then the names of sections
//! with one more, and the section headers with one more. At last the ELF header gets the new place
//! of these. So the module is whole at any time.

use std::{
    fs::{
        File,
        OpenOptions, //
    },
    io,
    os::unix::fs::FileExt,
    path::Path, //
};

use super::{
    bytes::{
        u16_at,
        u64_at, //
    },
    elf::{
        Elf,
        ET_REL, //
    },
    image::TABLE_SECTION,
    source::Source,
};

const EHDR_SIZE: usize = 64;
const SHDR_SIZE: usize = 64;
/// A type for applications (`SHT_LOUSER`). Linkers copy such a section, and modpost, which warns of
/// unknown sections that aren't loaded, looks at those of type `SHT_PROGBITS` alone.
const SHT_TABLE: u32 = 0x8000_0000;
/// The last bytes of a signed module.
const SIGNED: &[u8] = b"~Module signature appended~\n";
/// Places in the ELF header.
const E_SHOFF: usize = 40;
const E_SHNUM: usize = 60;
const E_SHSTRNDX: usize = 62;
/// Places in a section header.
const SH_OFFSET: usize = 24;
const SH_SIZE: usize = 32;
const SH_ALIGN: usize = 48;
/// More sections than that are counted elsewhere; no module has as many.
const MANY: u16 = 0xff00;

/// Puts a table into a module. What is no module, as vmlinux, stays as it is.
pub fn embed(path: &Path, table: &[u8]) -> Result<(), String> {
    let told = |e: io::Error| e.to_string();
    let elf = Elf::open(Source::open(path).map_err(told)?)?;
    if elf.kind != ET_REL
        || elf
            .data_if_any(TABLE_SECTION)?
            .is_some_and(|old| old == table)
    {
        return Ok(());
    }
    if is_signed(path).map_err(told)? {
        return Err("is signed already: the table can't be put into the module".into());
    }
    let known = elf.find(TABLE_SECTION)?;
    let file = OpenOptions::new().read(true).write(true).open(path);
    let file = file.map_err(told)?;
    let mut header = [0; EHDR_SIZE];
    file.read_exact_at(&mut header, 0).map_err(told)?;
    let count = u16_at(&header, E_SHNUM).unwrap_or(0);
    let names = usize::from(u16_at(&header, E_SHSTRNDX).unwrap_or(0));
    if count == 0 || count >= MANY || names >= usize::from(count) {
        return Err(format!(
            "{count} sections: the table can't be put into the module"
        ));
    }
    let shoff = u64_at(&header, E_SHOFF).unwrap_or(0);
    let mut headers = vec![0; usize::from(count) * SHDR_SIZE];
    file.read_exact_at(&mut headers, shoff).map_err(told)?;

    let mut end = Tail::new(&file).map_err(told)?;
    let table_at = end.append(table).map_err(told)?;
    let at = match known {
        Some(section) => section * SHDR_SIZE,
        None => {
            let mut text = elf.data(&elf.sections[names])?;
            let name = text.len() as u32;
            text.extend_from_slice(TABLE_SECTION.as_bytes());
            text.push(0);
            let text_at = end.append(&text).map_err(told)?;
            place(&mut headers[names * SHDR_SIZE..], text_at, text.len());
            let at = headers.len();
            headers.resize(at + SHDR_SIZE, 0);
            put(&mut headers[at..], 0, &name.to_le_bytes());
            put(&mut headers[at..], 4, &SHT_TABLE.to_le_bytes());
            put(&mut headers[at..], SH_ALIGN, &1u64.to_le_bytes());
            at
        }
    };
    place(&mut headers[at..], table_at, table.len());
    let headers_at = end.append(&headers).map_err(told)?;
    put(&mut header, E_SHOFF, &headers_at.to_le_bytes());
    let count = (headers.len() / SHDR_SIZE) as u16;
    put(&mut header, E_SHNUM, &count.to_le_bytes());
    file.write_all_at(&header, 0).map_err(told)
}

/// Whether a signature is at the end, and covers all that is before it.
fn is_signed(path: &Path) -> io::Result<bool> {
    let source = Source::open(path)?;
    let mut end = [0; SIGNED.len()];
    let at = source.size().saturating_sub(SIGNED.len() as u64);
    let n = source.read_some(at, &mut end)?;
    Ok(&end[..n] == SIGNED)
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

fn place(header: &mut [u8], at: u64, len: usize) {
    put(header, SH_OFFSET, &at.to_le_bytes());
    put(header, SH_SIZE, &(len as u64).to_le_bytes());
}

/// The end of a file.
struct Tail<'a> {
    file: &'a File,
    at: u64,
}

impl<'a> Tail<'a> {
    fn new(file: &'a File) -> io::Result<Self> {
        let at = file.metadata()?.len();
        Ok(Self { file, at })
    }

    /// Appends bytes, at a multiple of 8; the answer is where.
    fn append(&mut self, bytes: &[u8]) -> io::Result<u64> {
        let at = self.at.next_multiple_of(8);
        self.file.write_all_at(bytes, at)?;
        self.at = at + bytes.len() as u64;
        Ok(at)
    }
}
