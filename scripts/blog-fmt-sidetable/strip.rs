// SPDX-License-Identifier: GPL-2.0

//! Takes `.blog_fmt` and its relocations out of a .ko.
//!
//! The file is laid out anew without the two sections; whatever refers to sections by index
//! (headers, symbols, groups) is renumbered. Symbols stay, so symbol indices in relocations stay
//! right; one that stood in a section that went becomes an absolute zero. What follows the
//! sections in the file, a module signature, would no longer be true: such a file is refused.
//!
//! Needs only `std`.

use super::{
    bytes::{
        pad8,
        slice_at,
        u16_at,
        u32_at, //
    },
    elf::{
        align_up,
        Elf,
        Section,
        ET_REL,
        SHN_LORESERVE,
        SHT_NOBITS,
        SHT_RELA,
        SHT_SYMTAB, //
    },
    image::is_descriptor_section,
};

const SHN_ABS: u16 = 0xfff1;
const SHT_GROUP: u32 = 17;
const SHT_SYMTAB_SHNDX: u32 = 18;
const SHT_REL: u32 = 9;
const SHF_INFO_LINK: u64 = 0x40;
const SYM_SIZE: usize = 24;

/// The file without descriptors; `None` if it has none. `tail` is the file's last bytes.
pub fn strip(elf: &Elf, tail: &[u8]) -> Result<Option<Vec<u8>>, String> {
    if elf.kind != ET_REL {
        return Err("only relocatable files (.ko, .o) can be stripped of descriptors".into());
    }
    if tail.ends_with(b"~Module signature appended~\n") {
        return Err("the module is signed already; strip it before".into());
    }
    if !elf.sections.iter().any(is_descriptor_section) {
        return Ok(None);
    }
    if elf.sections.len() >= usize::from(SHN_LORESERVE)
        || elf.sections.iter().any(|s| s.kind == SHT_SYMTAB_SHNDX)
    {
        return Err("too many sections".into());
    }

    // New index of each section that stays.
    let mut map = Vec::with_capacity(elf.sections.len());
    let mut kept = 0u16;
    for s in &elf.sections {
        if is_descriptor_section(s) {
            map.push(None);
        } else {
            map.push(Some(kept));
            kept += 1;
        }
    }
    let moved = |index: u32| map.get(index as usize).copied().flatten();

    let mut out = elf.header.clone();
    let mut headers = Vec::new();
    for (i, s) in elf.sections.iter().enumerate() {
        if map[i].is_none() {
            continue;
        }
        let mut new = s.clone();
        new.link = moved(s.link).map_or(0, u32::from);
        if s.kind == SHT_RELA || s.kind == SHT_REL || s.flags & SHF_INFO_LINK != 0 {
            new.info = moved(s.info)
                .ok_or_else(|| format!("section {} applies to no section", s.name))?
                .into();
        }
        if i != 0 {
            let start = align_up(out.len(), s.align).filter(|&o| o - out.len() < 1 << 16);
            let start = start.ok_or_else(|| format!("section {}: alignment", s.name))?;
            if s.kind != SHT_NOBITS {
                out.resize(start, 0);
                let mut data = elf.data(s)?;
                match s.kind {
                    SHT_SYMTAB => renumber_symbols(&mut data, &map),
                    SHT_GROUP => {
                        data = renumber_group(&data, &map)?;
                        new.size = data.len() as u64;
                    }
                    _ => {}
                }
                out.extend(data);
                // Sections that share bytes could multiply the size.
                if out.len() as u64 > 2 * elf.size() + (1 << 20) {
                    return Err("sections overlap".into());
                }
            }
            new.offset = start as u64;
        }
        write_header(&new, &mut headers);
    }
    pad8(&mut out);
    let names = u32::try_from(elf.names_index).ok().and_then(moved);
    let names = names.ok_or("no table of section names")?;
    let shoff = out.len() as u64;
    out[40..48].copy_from_slice(&shoff.to_le_bytes());
    out[60..62].copy_from_slice(&kept.to_le_bytes());
    out[62..64].copy_from_slice(&names.to_le_bytes());
    out.extend(headers);
    Ok(Some(out))
}

fn renumber_symbols(data: &mut [u8], map: &[Option<u16>]) {
    for symbol in data.chunks_exact_mut(SYM_SIZE) {
        let Some(old) = u16_at(symbol, 6) else {
            continue;
        };
        if old >= SHN_LORESERVE {
            continue;
        }
        let new = match map.get(usize::from(old)).copied().flatten() {
            Some(new) => new,
            None => {
                // No longer a section symbol, nor of any size.
                symbol[4] &= 0xf0;
                symbol[8..24].fill(0);
                SHN_ABS
            }
        };
        symbol[6..8].copy_from_slice(&new.to_le_bytes());
    }
}

fn renumber_group(data: &[u8], map: &[Option<u16>]) -> Result<Vec<u8>, String> {
    let mut out = slice_at(data, 0, 4).ok_or("empty section group")?.to_vec();
    for member in data[4..].chunks_exact(4) {
        let old = u32_at(member, 0).unwrap_or_default();
        if let Some(new) = map.get(old as usize).copied().flatten() {
            out.extend(u32::from(new).to_le_bytes());
        }
    }
    Ok(out)
}

fn write_header(s: &Section, out: &mut Vec<u8>) {
    out.extend(s.name_off.to_le_bytes());
    out.extend(s.kind.to_le_bytes());
    for n in [s.flags, s.addr, s.offset, s.size] {
        out.extend(n.to_le_bytes());
    }
    out.extend(s.link.to_le_bytes());
    out.extend(s.info.to_le_bytes());
    out.extend(s.align.to_le_bytes());
    out.extend(s.entsize.to_le_bytes());
}
