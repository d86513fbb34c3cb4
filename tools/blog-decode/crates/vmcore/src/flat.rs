// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Puts a flattened dump in order.
//!
//! `makedumpfile -F` writes to a pipe what it would write to a file: pieces with their places in
//! it. Not every version of libkdumpfile reads that, nor all that is in it; so the pieces are
//! copied to their places in a temporary file without a name, in TMPDIR.

use std::{
    fs::File,
    io::{self, BufReader, Read, Seek, SeekFrom, Write},
};

use crate::error::Error;

/// How such a file starts.
pub(super) const SIGNATURE: &[u8] = b"makedump";

/// Size of its header.
const HEADER: u64 = 4096;
/// The rest of the signature, type and version, as big-endian numbers.
const REST: [u8; 24] = *b"file\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x01";
/// No dump is larger than this.
const MAX_SIZE: i64 = 1 << 47;

/// Rearranges it. Returns a file as makedumpfile would have written it, and what is wrong.
pub(super) fn rearrange(from: File) -> Result<(File, Option<String>), Error> {
    let out = tempfile::tempfile().map_err(|e| {
        let dir = std::env::temp_dir();
        Error::File(format!(
            "flattened: no temporary file to rearrange it in {}: {e}; \
             set TMPDIR, or use makedumpfile -R",
            dir.display()
        ))
    })?;
    copy(BufReader::with_capacity(1 << 20, from), out)
}

/// Copies all pieces to their places.
fn copy(mut from: impl Read, mut out: File) -> Result<(File, Option<String>), Error> {
    let mut header = [0; HEADER as usize];
    from.read_exact(&mut header)
        .map_err(|_| Error::File("flattened, and cut off in its header".into()))?;
    if header[8..32] != REST {
        return Err(Error::File("flattened, but of an unknown version".into()));
    }
    let mut at = HEADER;
    let mut problem = None;
    loop {
        let mut piece = [0; 16];
        if from.read_exact(&mut piece).is_err() {
            problem = Some(format!("flattened, and cut off at {at}"));
            break;
        }
        let number = |n: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&piece[n..n + 8]);
            i64::from_be_bytes(bytes)
        };
        let (offset, size) = (number(0), number(8));
        if (offset, size) == (-1, -1) {
            break;
        }
        let place = (0..MAX_SIZE).contains(&offset) && (1..MAX_SIZE).contains(&size);
        if !place {
            problem = Some(format!("flattened, and damaged at {at}"));
            break;
        }
        let size = size as u64;
        let copied = out
            .seek(SeekFrom::Start(offset as u64))
            .and_then(|_| io::copy(&mut (&mut from).take(size), &mut out))
            .map_err(|e| {
                Error::File(format!("flattened, and can't be rearranged in TMPDIR: {e}"))
            })?;
        if copied < size {
            problem = Some(format!("flattened, and cut off at {}", at + 16 + copied));
            break;
        }
        at += 16 + size;
    }
    out.flush().and_then(|()| out.rewind())?;
    Ok((out, problem))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flattened(pieces: &[(i64, &[u8])], ended: bool) -> Vec<u8> {
        let mut bytes = [SIGNATURE, &REST].concat();
        bytes.resize(HEADER as usize, 0);
        for (offset, data) in pieces {
            bytes.extend(offset.to_be_bytes());
            bytes.extend((data.len() as i64).to_be_bytes());
            bytes.extend(*data);
        }
        if ended {
            bytes.extend([0xff; 16]);
        }
        bytes
    }

    fn rearranged(bytes: &[u8]) -> Result<(Vec<u8>, bool), Error> {
        let out = tempfile::tempfile()?;
        let (mut file, problem) = copy(bytes, out)?;
        let mut all = Vec::new();
        file.read_to_end(&mut all)?;
        Ok((all, problem.is_some()))
    }

    #[test]
    fn pieces_go_to_their_places() {
        let file = flattened(&[(3, b"def"), (0, b"abc"), (8, b"i"), (1, b"B")], true);
        let expected = b"aBcdef\0\0i".to_vec();
        assert_eq!(rearranged(&file), Ok((expected, false)));
    }

    #[test]
    fn what_is_whole_of_a_cut_one_is_there() {
        let whole = flattened(&[(0, b"abcd"), (4, b"efgh")], true);
        for len in HEADER as usize..whole.len() {
            let (bytes, cut) = rearranged(&whole[..len]).expect("the header is whole");
            assert!(cut);
            assert!(b"abcdefgh".starts_with(bytes.as_slice()));
        }
        assert!(rearranged(&whole[..100]).is_err());
    }

    #[test]
    fn places_that_make_no_sense_are_damage() {
        for (offset, size) in [(-2, 4), (i64::MAX, 4), (0, -1), (0, 0), (-1, 4), (0, i64::MAX)] {
            let mut file = flattened(&[(0, b"abcd")], false);
            file.extend(offset.to_be_bytes());
            file.extend(size.to_be_bytes());
            file.extend(*b"efgh");
            assert_eq!(rearranged(&file), Ok((b"abcd".to_vec(), true)));
        }
    }
}
