// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Memory that is mapped, and changes while it is read.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use blog_map::{Error, Memory, Reader};

use crate::image::{Image, PAGE};

/// Bytes of a change: number of a word, and its value.
const CHANGE: usize = 12;
/// The longest page, and what may be put before its records.
const PIECE: usize = 65536 + 56;

/// A number of changes, these, and memory. A reader passes over it, and again after each change.
pub fn map(bytes: &[u8]) {
    let Some((&count, rest)) = bytes.split_first() else {
        return;
    };
    let (changes, rest) = rest.split_at(rest.len().min(usize::from(count) % 32 * CHANGE));
    let word = |bytes: &[u8]| AtomicU64::new(u64::from_le_bytes(bytes.try_into().unwrap()));
    let words: Vec<_> = rest.chunks_exact(8).map(word).collect();
    let memory = Memory::new(&words);
    let Ok(mut reader) = Reader::new(memory) else {
        return;
    };
    pass(&mut reader, memory, rest.len());
    for change in changes.chunks_exact(CHANGE) {
        let (at, value) = change.split_at(4);
        let at = u32::from_le_bytes(at.try_into().unwrap());
        if let Some(word) = words.get(at as usize) {
            word.store(u64::from_le_bytes(value.try_into().unwrap()), Relaxed);
        }
        if !pass(&mut reader, memory, rest.len()) {
            return;
        }
    }
}

/// Whether there may be more.
fn pass(reader: &mut Reader, memory: Memory<'_>, len: usize) -> bool {
    let mut pieces = 0;
    let passed = reader.pass(memory, |piece| {
        pieces += 1;
        let commit = u64::from_le_bytes(piece.page[40..48].try_into().unwrap());
        assert_eq!(commit as u32 as usize, piece.page.len());
        assert!(piece.page.len() <= PIECE);
        assert!(!piece.owner.comm.is_empty());
    });
    // Each has a header.
    assert!(pieces <= len / 48);
    match passed {
        Ok(()) => true,
        Err(Error::Changed) => reader.go_on(memory).is_ok(),
        Err(_) => false,
    }
}

/// A ring's own page and another one, to which records come between passes.
pub fn seed() -> Vec<u8> {
    let image = Image::new(2);
    image.adopt(1, 7, 0);
    for (seq, at) in (1..).zip([Image::room(1), Image::at(0)]) {
        image.begin(at, 1, seq, 3 * (seq - 1), 1);
        for n in 0..3 {
            image.log(at, n, 3, &[n as u8; 11][..n as usize * 5]);
        }
    }
    let words = |image: &Image| (0..4 * PAGE / 8).map(|n| image.word(n * 8)).collect::<Vec<_>>();
    let before = words(&image);
    image.log(Image::at(0), 9, 3, &[5; 32]);
    image.adopt(1, 8, 2);
    image.set_generation(8);
    let changes = before.iter().zip(words(&image)).enumerate();
    let changes: Vec<_> = changes.filter(|(_, (before, now))| *before != now).collect();
    let mut input = vec![changes.len() as u8];
    for (at, (_, now)) in changes {
        input.extend((at as u32).to_le_bytes());
        input.extend(now.to_le_bytes());
    }
    input.extend(before.iter().flat_map(|word| word.to_le_bytes()));
    input
}
