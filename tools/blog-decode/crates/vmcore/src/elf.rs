// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Checks the header of an ELF file for libkdumpfile, which trusts some of it: numbers and places
//! of program and section headers must make sense. At the end of a file that is cut off,
//! libkdumpfile reads zeros up to the end of the last page of the file, as if these were memory.

use std::{fs::File, ops::Range, os::unix::fs::FileExt};

use crate::{
    blogfmt::bytes::{u16_at, u64_at},
    error::Error,
};

const HEADER: u64 = 64;
const PROGRAM: u16 = 56;
const SECTION: u16 = 64;
/// Types of program headers: for memory, and for notes.
const LOAD: [u8; 4] = [1, 0, 0, 0];
const NOTE: [u8; 4] = [4, 0, 0, 0];
/// Notes are registers of CPUs and VMCOREINFO: this is enough for 8192 CPUs, some times over.
const MAX_NOTES: u64 = 64 << 20;
/// The number of program headers is elsewhere: `PN_XNUM`. It is in the first section header.
const MANY: u16 = 0xffff;
const SECTION_INFO: u64 = 44;
/// Of the file.
const PAGE: u64 = 4096;

/// A file that can be read, but is shorter than its headers say.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// What is wrong with it.
    pub(super) why: String,
    /// Physical memory of which zeros would be read.
    pub(super) zeros: Range<u64>,
}

/// Checks it. A file that isn't 64-bit ELF passes.
pub(super) fn check(file: &File) -> Result<Option<Cut>, Error> {
    let size = file.metadata()?.len();
    let mut header = [0; HEADER as usize];
    if file.read_exact_at(&mut header, 0).is_err() || !header.starts_with(b"\x7fELF\x02\x01") {
        return Ok(None);
    }
    let damaged =
        || Error::File("its ELF header is damaged, or it is cut off within its headers".into());
    if !makes_sense(&header, size) {
        return Err(damaged());
    }
    let programs = programs(file, &header, size).ok_or_else(damaged)?;
    if !notes_make_sense(&programs, size) {
        return Err(damaged());
    }
    let loads = programs.iter().filter(|p| p.starts_with(&LOAD));
    let whole = loads.clone().filter_map(|p| end(p)).max().unwrap_or(0);
    if whole <= size {
        return Ok(None);
    }
    let mut zeros = loads.filter_map(|p| {
        let from = size.checked_sub(u64_at(p, 8)?)?;
        let start = u64_at(p, 24)?.checked_add(from)?;
        let end = start.checked_add(size.next_multiple_of(PAGE) - size)?;
        (from < u64_at(p, 32)?).then_some(start..end)
    });
    Ok(Some(Cut {
        why: format!("it is cut off: {size} of {whole} bytes are there"),
        zeros: zeros.next().unwrap_or_default(),
    }))
}

/// The program headers; `None`: they can't be read.
fn programs(file: &File, header: &[u8], size: u64) -> Option<Vec<[u8; PROGRAM as usize]>> {
    let count = match u16_at(header, 56)? {
        MANY => {
            let mut info = [0; 4];
            let at = u64_at(header, 40)?.checked_add(SECTION_INFO)?;
            file.read_exact_at(&mut info, at).ok()?;
            u32::from_le_bytes(info)
        }
        n => n.into(),
    };
    let start = u64_at(header, 32)?;
    let end = start.checked_add(u64::from(count) * u64::from(PROGRAM))?;
    let mut programs = match end <= size {
        true => vec![[0; PROGRAM as usize]; count as usize],
        false => return None,
    };
    file.read_exact_at(programs.as_flattened_mut(), start).ok()?;
    Some(programs)
}

/// The end in the file of a program header's content.
fn end(program: &[u8]) -> Option<u64> {
    u64_at(program, 8)?.checked_add(u64_at(program, 32)?)
}

fn makes_sense(header: &[u8], size: u64) -> bool {
    let half = |at| u16_at(header, at).unwrap_or(0);
    let long = |at| u64_at(header, at).unwrap_or(0);
    let (programs, sections, names) = (half(56), half(60), half(62));
    let within = |at: u64, n: u16, len: u16| {
        let end = at.checked_add(u64::from(n) * u64::from(len));
        at >= HEADER && end.is_some_and(|end| end <= size)
    };
    let sections_fit = match sections {
        0 => long(40) == 0 && names == 0,
        n => half(58) == SECTION && names < n && within(long(40), n, SECTION),
    };
    let programs_fit = match programs {
        0 => false,
        MANY => sections != 0,
        n => within(long(32), n, PROGRAM),
    };
    half(54) == PROGRAM && programs_fit && sections_fit
}

/// Whether all notes are in the file, and no larger than notes are.
fn notes_make_sense(programs: &[[u8; PROGRAM as usize]], size: u64) -> bool {
    let mut notes = programs.iter().filter(|p| p.starts_with(&NOTE));
    notes.all(|p| {
        let len = u64_at(p, 32).unwrap_or(u64::MAX);
        len <= MAX_NOTES && end(p).is_some_and(|end| end <= size)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(fields: &[(usize, u64, usize)]) -> [u8; 64] {
        let mut header = [0; 64];
        for (at, n, len) in [(32, 64, 8), (54, 56, 2), (56, 3, 2)].iter().chain(fields) {
            header[*at..at + len].copy_from_slice(&u64::to_le_bytes(*n)[..*len]);
        }
        header
    }

    #[test]
    fn headers_are_within_the_file() {
        let with = |fields: &[(usize, u64, usize)]| makes_sense(&header(fields), 1000);
        assert!(with(&[]));
        let sections = [(40, 232, 8), (58, 64, 2), (60, 2, 2), (62, 1, 2)];
        assert!(with(&sections));
        for bad in [
            (32, 0, 8),
            (32, 900, 8),
            (32, u64::MAX, 8),
            (54, 57, 2),
            (56, 0, 2),
            (56, 17, 2),
            (56, 0xffff, 2),
            (40, 64, 8),
            (60, 1, 2),
            (62, 1, 2),
        ] {
            assert!(!with(&[bad]), "{bad:?}");
        }
        for bad in [(40, 900, 8), (58, 63, 2), (60, 13, 2), (62, 2, 2)] {
            assert!(!with(&[&sections[..], &[bad]].concat()), "{bad:?}");
        }
    }

    #[test]
    fn a_file_that_is_cut_off_is_noticed() {
        let mut bytes = header(&[(56, 1, 2)]).to_vec();
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes.extend([LOAD, [0; 4]].as_flattened());
        for n in [4096u64, 0, 0x7000, 1000, 8000, 0] {
            bytes.extend(n.to_le_bytes());
        }
        bytes.resize(4096 + 1000, 0);
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, &bytes).unwrap();
        assert_eq!(check(&file).unwrap(), None);
        file.set_len(4096 + 999).unwrap();
        let is_cut = |file: &File| {
            let cut = check(file).unwrap().unwrap();
            assert_eq!(cut.why, "it is cut off: 5095 of 5096 bytes are there");
            assert_eq!(cut.zeros, 0x7000 + 999..0x8000);
        };
        is_cut(&file);
        // The number of program headers is in a section header.
        let at = 200u64;
        for (field, bytes) in [
            (56, &MANY.to_le_bytes()[..]),
            (40, &at.to_le_bytes()),
            (58, &SECTION.to_le_bytes()),
            (60, &1u16.to_le_bytes()),
            (at + SECTION_INFO, &1u32.to_le_bytes()),
        ] {
            file.write_all_at(bytes, field).unwrap();
        }
        is_cut(&file);
        file.write_all_at(&u32::MAX.to_le_bytes(), at + SECTION_INFO).unwrap();
        assert!(check(&file).is_err());
    }
}
