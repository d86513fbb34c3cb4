// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Checks the header of an ELF file for libkdumpfile, which trusts some of it: numbers and places
//! of program and section headers must make sense. At the end of a file that is cut off,
//! libkdumpfile reads zeros up to the end of the last page of the file, as if these were memory.

use std::{fs::File, ops::Range};

use object::{
    elf::{FileHeader64, ProgramHeader64, PT_LOAD, PT_NOTE},
    read::elf::{FileHeader, ProgramHeader},
    LittleEndian as LE, ReadCache,
};

use crate::error::Error;

/// Bytes of the file's header.
const HEADER: u64 = 64;
/// Notes are registers of CPUs and VMCOREINFO: this is enough for 8192 CPUs, some times over.
const MAX_NOTES: u64 = 64 << 20;
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
    let bytes = ReadCache::new(file);
    let header = FileHeader64::<LE>::parse(&bytes).ok();
    let Some(header) = header.filter(|header| header.endian().is_ok()) else {
        return Ok(None);
    };
    let programs = programs(header, &bytes, size).ok_or_else(|| {
        Error::File("its ELF header is damaged, or it is cut off within its headers".into())
    })?;
    let loads = programs.iter().filter(|p| p.p_type(LE) == PT_LOAD);
    let whole = loads.clone().filter_map(end).max().unwrap_or(0);
    if whole <= size {
        return Ok(None);
    }
    let mut zeros = loads.filter_map(|p| {
        let from = size.checked_sub(p.p_offset(LE))?;
        let start = p.p_paddr(LE).checked_add(from)?;
        let end = start.checked_add(size.next_multiple_of(PAGE) - size)?;
        (from < p.p_filesz(LE)).then_some(start..end)
    });
    Ok(Some(Cut {
        why: format!("it is cut off: {size} of {whole} bytes are there"),
        zeros: zeros.next().unwrap_or_default(),
    }))
}

/// The program headers, if they and the section headers are in the file, and so are all notes, which
/// are no larger than notes are.
fn programs<'a>(
    header: &FileHeader64<LE>,
    bytes: &'a ReadCache<&File>,
    size: u64,
) -> Option<&'a [ProgramHeader64<LE>]> {
    let sections = header.section_headers(LE, bytes).ok()?;
    let programs = header.program_headers(LE, bytes).ok()?;
    let (at, count, names) = (header.e_shoff(LE), header.e_shnum(LE), header.e_shstrndx(LE));
    let sections_fit = match count {
        0 => at == 0 && names == 0,
        _ => at >= HEADER && sections.len() == usize::from(count) && names < count,
    };
    let programs_fit = header.e_phoff(LE) >= HEADER && !programs.is_empty();
    let mut notes = programs.iter().filter(|p| p.p_type(LE) == PT_NOTE);
    let notes_fit =
        notes.all(|p| p.p_filesz(LE) <= MAX_NOTES && end(p).is_some_and(|end| end <= size));
    (sections_fit && programs_fit && notes_fit).then_some(programs)
}

/// The end in the file of a program header's content.
fn end(program: &ProgramHeader64<LE>) -> Option<u64> {
    program.p_offset(LE).checked_add(program.p_filesz(LE))
}

#[cfg(test)]
mod tests {
    use std::{io::Write, os::unix::fs::FileExt};

    use super::*;

    /// A file of so many bytes, with these fields: place, number and size.
    fn file(size: u64, fields: &[(u64, u64, usize)]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"\x7fELF\x02\x01\x01").unwrap();
        file.set_len(size).unwrap();
        for (at, n, len) in [(32, 64, 8), (54, 56, 2), (56, 3, 2)].iter().chain(fields) {
            file.write_all_at(&n.to_le_bytes()[..*len], *at).unwrap();
        }
        file
    }

    #[test]
    fn headers_are_within_the_file() {
        let with = |fields: &[_]| check(&file(1000, fields)).is_ok();
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
        let words = [4096, 0, 0x7000, 1000, 8000];
        let load = (72..).step_by(8).zip(words).map(|(at, n)| (at, n, 8));
        let fields = [(56, 1, 2), (64, PT_LOAD.into(), 4)].into_iter().chain(load);
        let file = file(4096 + 1000, &fields.collect::<Vec<_>>());
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
            (56, &0xffffu16.to_le_bytes()[..]),
            (40, &at.to_le_bytes()),
            (58, &64u16.to_le_bytes()),
            (60, &1u16.to_le_bytes()),
            (at + 44, &1u32.to_le_bytes()),
        ] {
            file.write_all_at(bytes, field).unwrap();
        }
        is_cut(&file);
        file.write_all_at(&u32::MAX.to_le_bytes(), at + 44).unwrap();
        assert!(check(&file).is_err());
    }
}
