// SPDX-License-Identifier: GPL-2.0

//! Whether the header of an ELF file can be given to libkdumpfile, which takes some of it at its
//! word: numbers and places of program and section headers must make sense.

use std::{
    fs::File,
    os::unix::fs::FileExt, //
};

use crate::blogfmt::bytes::{
    u16_at,
    u64_at, //
};

use crate::error::Error;

const HEADER: u64 = 64;
const PROGRAM: u16 = 56;
const SECTION: u16 = 64;
/// Type of a program header for notes.
const NOTE: [u8; 4] = [4, 0, 0, 0];
/// Notes are registers of CPUs and VMCOREINFO: this is enough for 8192 CPUs, some times over.
const MAX_NOTES: u64 = 64 << 20;
/// The number of program headers is elsewhere: `PN_XNUM`.
const MANY: u16 = 0xffff;

/// Checks it. A file that isn't 64-bit ELF passes.
pub(super) fn check(file: &File) -> Result<(), Error> {
    let size = file.metadata()?.len();
    let mut header = [0; HEADER as usize];
    if file.read_exact_at(&mut header, 0).is_err() || !header.starts_with(b"\x7fELF\x02\x01") {
        return Ok(());
    }
    match makes_sense(&header, size) && notes_make_sense(file, &header, size) {
        true => Ok(()),
        false => Err(Error::File(
            "its ELF header is damaged, or it is cut off within its headers".into(),
        )),
    }
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
fn notes_make_sense(file: &File, header: &[u8], size: u64) -> bool {
    let half = |at| u16_at(header, at).unwrap_or(0);
    let (start, count) = (u64_at(header, 32).unwrap_or(0), half(56));
    if count == MANY {
        return true;
    }
    let mut programs = vec![0; usize::from(count) * usize::from(PROGRAM)];
    if file.read_exact_at(&mut programs, start).is_err() {
        return false;
    }
    programs.chunks_exact(PROGRAM.into()).all(|program| {
        let long = |at| u64_at(program, at).unwrap_or(0);
        let end = long(8).checked_add(long(32));
        !program.starts_with(&NOTE) || long(32) <= MAX_NOTES && end.is_some_and(|end| end <= size)
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
}
