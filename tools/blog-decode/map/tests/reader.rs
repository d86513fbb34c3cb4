// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! A reader gets each record once, whatever it finds in memory, and counts what is missing.

#[allow(dead_code)]
mod image;

use std::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
};

use blog_map::{Error, Memory, Reader};
use image::{Image, HEADER, PAGE, ROOM};

/// A record that a reader has got: ring, pid, number, clock, payload.
type Got = (u32, i32, u64, u64, Vec<u8>);

/// What a reader gets of one pass, and the number of missing records.
fn pass(reader: &mut Reader, image: &Image) -> (Vec<Got>, u64) {
    let (mut got, mut missed) = (Vec::new(), 0);
    let passed = reader.pass(Memory::new(&image.0), |piece| {
        let word = |at: usize| u64::from_le_bytes(piece.page[at..at + 8].try_into().unwrap());
        let (mut at, mut base, mut number) = (HEADER, word(24), piece.first);
        assert_eq!((word(32), word(40)), (number, piece.records << 32 | piece.page.len() as u64));
        let mut told = 0;
        while at < piece.page.len() {
            let header = word(at);
            let (site, len) = (header >> 10 & 0x3_ffff, (header & 0x3ff) as usize);
            let payload = piece.page[at + 8..at + 8 + len].to_vec();
            match (site, payload.first()) {
                (0, Some(1)) => base = word(at + 12),
                (0, Some(2)) => told += word(at + 12),
                (0, _) => {}
                _ => {
                    let clock = base & !0xf_ffff_ffff | header >> 28;
                    got.push((piece.ring, piece.owner.pid, number, clock, payload));
                    number += 1;
                }
            }
            at += 8 + len;
        }
        assert_eq!((number - piece.first, told), (piece.records, piece.missed));
        missed += piece.missed;
    });
    passed.unwrap();
    (got, missed)
}

fn reader(image: &Image) -> Reader {
    Reader::new(Memory::new(&image.0)).unwrap()
}

fn numbers(got: &[Got]) -> Vec<u64> {
    got.iter().map(|record| record.2).collect()
}

#[test]
fn each_record_comes_once_with_its_time() {
    let image = Image::new(3);
    let mut reader = reader(&image);
    assert_eq!(pass(&mut reader, &image), (vec![], 0));
    image.adopt(4, 70, 0);
    let page = Image::at(1);
    image.begin(page, 4, 1, 0, 5 << 36);
    image.log(page, 7, 3, b"one");
    assert_eq!(pass(&mut reader, &image).0, [(4, 70, 0, 5 << 36 | 7, b"one".to_vec())]);
    assert_eq!(pass(&mut reader, &image), (vec![], 0));
    // The time from here on.
    let mut extend = vec![1, 0, 0, 0];
    extend.extend((6u64 << 36).to_le_bytes());
    image.log(page, 0, 0, &extend);
    image.log(page, 1, 3, b"two");
    assert_eq!(pass(&mut reader, &image).0, [(4, 70, 1, 6 << 36 | 1, b"two".to_vec())]);
    image.log(page, 2, 3, b"three");
    let next = Image::at(0);
    image.begin(next, 4, 2, 3, 6 << 36);
    image.log(next, 3, 3, b"four");
    let (got, missed) = pass(&mut reader, &image);
    assert_eq!((numbers(&got), missed), (vec![2, 3], 0));
    assert_eq!(got[0].3, 6 << 36 | 2);
}

#[test]
fn what_was_overwritten_is_counted() {
    let image = Image::new(1);
    let page = Image::at(0);
    image.adopt(0, 1, 0);
    // Before the first pass, nobody has missed anything.
    image.begin(page, 0, 5, 40, 0);
    image.log(page, 1, 3, b"");
    let mut reader = reader(&image);
    assert_eq!(pass(&mut reader, &image).1, 0);
    image.begin(page, 0, 9, 60, 0);
    image.log(page, 1, 3, b"");
    let (got, missed) = pass(&mut reader, &image);
    assert_eq!((numbers(&got), missed), (vec![60], 19));
    // Another owner begins anew.
    image.adopt(0, 2, 9);
    image.begin(page, 0, 11, 2, 0);
    image.log(page, 1, 3, b"");
    let (got, missed) = pass(&mut reader, &image);
    assert_eq!((got[0].1, numbers(&got), missed), (2, vec![2], 2));
}

#[test]
fn an_owner_that_changes_is_looked_at_again() {
    let image = Image::new(1);
    image.adopt(0, 1, 0);
    image.begin(Image::at(0), 0, 1, 0, 0);
    image.log(Image::at(0), 1, 3, b"");
    let mut reader = reader(&image);
    image.change(0);
    assert_eq!(pass(&mut reader, &image), (vec![], 0));
    image.change(0);
    assert_eq!(numbers(&pass(&mut reader, &image).0), [0]);
}

#[test]
fn a_ring_s_records_begin_in_its_own_page() {
    let image = Image::new(1);
    image.adopt(2, 1, 0);
    let room = Image::room(2);
    image.begin(room, 2, 1, 0, 0);
    image.log(room, 1, 3, b"first");
    let mut reader = reader(&image);
    assert_eq!(pass(&mut reader, &image).0[0].4, b"first");
    image.log(room, 2, 3, b"more");
    image.begin(Image::at(0), 2, 2, 2, 0);
    image.log(Image::at(0), 3, 3, b"");
    assert_eq!(numbers(&pass(&mut reader, &image).0), [1, 2]);
}

#[test]
fn what_a_driver_logs_is_no_header() {
    let (image, forged) = (Image::new(2), Image::new(1));
    image.adopt(0, 1, 0);
    let room = Image::room(0);
    forged.begin(room, 0, 9, 0, 0);
    forged.log(room, 1, 3, b"forged");
    let bytes: Vec<u8> =
        (0..ROOM / 8).flat_map(|n| forged.word(room + n * 8).to_le_bytes()).collect();
    let page = Image::at(1);
    image.begin(page, 0, 1, 0, 0);
    // The second record's payload is where a ring would have its own page.
    image.log(page, 1, 3, &vec![0; room % PAGE - HEADER - 16]);
    image.log(page, 1, 3, &bytes);
    let mut reader = reader(&image);
    assert_eq!(numbers(&pass(&mut reader, &image).0), [0, 1]);
}

#[test]
fn other_pages_and_none_are_noticed() {
    let image = Image::new(1);
    let mut reader = reader(&image);
    image.set_generation(8);
    let passed = |reader: &mut Reader| reader.pass(Memory::new(&image.0), |_| ());
    assert!(matches!(passed(&mut reader), Err(Error::Changed)));
    reader.go_on(Memory::new(&image.0)).unwrap();
    assert!(passed(&mut reader).is_ok());
    image.set_generation(0);
    assert!(matches!(passed(&mut reader), Err(Error::Gone)));
    assert!(matches!(reader.go_on(Memory::new(&image.0)), Err(Error::Gone)));
}

#[test]
fn a_damaged_meta_page_is_an_error() {
    let good = Image::new(1);
    let mut refused = 0;
    for at in 0..96 {
        for value in [0, 1, 0x7f, 0xff] {
            let image = Image::new(1);
            image.put(at, &[value]);
            image.adopt(0, 1, 0);
            image.begin(Image::at(0), 0, 1, 0, 0);
            match Reader::new(Memory::new(&image.0)) {
                Ok(mut reader) => {
                    let _ = reader.pass(Memory::new(&image.0), |_| ());
                }
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > 100, "{refused}");
    // Nor is less than a page a reason to die.
    for len in [0, 1, 13, PAGE / 8, PAGE / 8 + 1] {
        if let Ok(mut reader) = Reader::new(Memory::new(&good.0[..len])) {
            reader.pass(Memory::new(&good.0[..len]), |_| ()).unwrap();
        }
    }
}

/// A writer that goes round and round in its own page and a few others, as fast as it can.
#[test]
fn nothing_torn_comes_from_a_writer_that_never_stops() {
    const TOTAL: u64 = 400_000;
    let image = Image::new(3);
    image.adopt(1, 9, 0);
    let ends = AtomicBool::new(false);
    let (mut next, mut missed, mut read) = (0, 0, 0u64);
    thread::scope(|scope| {
        scope.spawn(|| {
            let places = [
                (Image::at(0), 600),
                (Image::room(1), ROOM),
                (Image::at(1), 600),
                (Image::at(2), 99),
            ];
            let (mut number, mut seq) = (0u64, 0);
            while number < TOTAL {
                let (at, size) = places[seq as usize % places.len()];
                seq += 1;
                image.begin(at, 1, seq, number, 0);
                let mut end = HEADER;
                while end + 21 <= size && number < TOTAL {
                    // Of an odd size, so that records cross words.
                    let mut payload = number.to_le_bytes().to_vec();
                    payload.resize(13, number as u8);
                    image.log(at, number, 3, &payload);
                    (number, end) = (number + 1, end + 21);
                }
            }
            ends.store(true, Relaxed);
        });
        let mut reader = reader(&image);
        let mut last = false;
        while !last {
            last = ends.load(Relaxed);
            let (got, more) = pass(&mut reader, &image);
            missed += more;
            for (_, _, number, clock, payload) in got {
                if read == 0 {
                    missed = number;
                }
                assert!(number >= next && clock == number);
                assert_eq!(payload[..8], number.to_le_bytes());
                assert!(payload[8..].iter().all(|byte| *byte == number as u8));
                (next, read) = (number + 1, read + 1);
            }
        }
    });
    assert_eq!(read + missed, TOTAL, "{read} read, {missed} missed");
    assert!(read > 100);
}
