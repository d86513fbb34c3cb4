// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Pages that are only known by the first and the last of their kind: they are found again, united
//! over files, and missed when the file isn't what it was.

use std::fs::{self, OpenOptions};

use crate::common::snapshot::{Builder, Page, Ring, BOOT_ID};
use blog_decode_core::merge::{self, each_event, EventKind, Stream};
use blog_file::snapshot::Snapshot;
use blog_table::source::Source;
use proptest::prelude::*;

/// Page `n` of a ring, of 3 records.
fn page(n: u64) -> Page {
    let mut page = Page::new(1, n + 1, 1000 * n, 3 * n);
    for i in 0..3 {
        page.record(1000 * n + i, 1, (&(n as u32),));
    }
    page
}

/// A ring that has taken so many records, with these pages.
fn snapshot(records: u64, pages: impl IntoIterator<Item = u64>) -> Vec<u8> {
    let mut b = Builder::new();
    b.system(BOOT_ID).component(1, "disk");
    let mut ring = Ring::task(1, 1, 42, "fio");
    ring.records = records;
    b.ring(&ring);
    for n in pages {
        b.page(&ring, &page(n));
    }
    b.end()
}

fn read(bytes: Vec<u8>) -> Snapshot {
    Snapshot::read("test".into(), Source::Memory(bytes)).unwrap()
}

/// Numbers of all pages of a ring.
fn numbers(files: &[Snapshot], stream: &Stream) -> Vec<u64> {
    let pages = stream.pages(files);
    pages.map(|(_, page)| page.seq - 1).collect()
}

/// Of the records of a ring: how many, and how many are missing or damaged.
fn counts(files: &[Snapshot], stream: &Stream) -> (u64, u64, u64) {
    let mut clocks = Vec::new();
    let c = each_event(files, stream, |event| {
        if let EventKind::Record { .. } = event.kind {
            clocks.push(event.clock);
        }
    });
    assert!(clocks.is_sorted());
    (c.decoded, c.missing + c.overwritten, c.damaged)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn files_with_some_of_the_same_pages_are_united(of in prop::collection::vec(0u8..4, 1..40)) {
        // Which of two files has each page: bit 0 and bit 1.
        let has = |bit: u8| {
            let of = of.iter().zip(0u64..);
            of.filter(move |(which, _)| *which & bit != 0).map(|(_, n)| n)
        };
        let files = [1, 2].map(|bit| read(snapshot(120, has(bit))));
        let all: Vec<u64> = has(3).collect();
        let streams = merge::unite(&files, |_| true);
        prop_assert_eq!(streams.len(), 1);
        prop_assert_eq!(numbers(&files, &streams[0]), &all[..]);
        let decoded = 3 * all.len() as u64;
        let expected = (decoded, 120 - decoded, 0);
        prop_assert_eq!(counts(&files, &streams[0]), expected);
        // What the second has after the last page of the first.
        let last = has(1).last();
        let new: Vec<u64> = has(2).filter(|n| last.is_none_or(|last| *n > last)).collect();
        let streams = merge::newer(&files, 1, |_| true).unwrap();
        prop_assert_eq!(numbers(&files, &streams[0]), new);
    }
}

#[test]
fn what_is_torn_from_an_open_file_is_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("snap");
    let bytes = snapshot(30, 0..10);
    let section = bytes.windows(4).rposition(|w| w == b"BLSE").unwrap();
    let page = (section - bytes.len() / 2) / 5;
    for cut in [section - page / 2, section - 3 * page, section / 2] {
        fs::write(&path, &bytes).unwrap();
        let files = [Snapshot::open(&path).unwrap()];
        assert_eq!(files[0].rings[0].pages(), 10);
        let streams = merge::unite(&files, |_| true);
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(cut as u64).unwrap();
        let (decoded, missing, damaged) = counts(&files, &streams[0]);
        assert!(damaged > 0 && decoded < 30, "{cut}");
        assert_eq!((decoded + damaged, missing), (30, 0), "{cut}");
    }
    // Another file in its place.
    fs::write(&path, &bytes).unwrap();
    let files = [Snapshot::open(&path).unwrap()];
    let streams = merge::unite(&files, |_| true);
    let other: Vec<u64> = (0..5).chain([7, 8, 9, 10, 11]).collect();
    fs::write(&path, snapshot(30, other)).unwrap();
    assert_eq!(counts(&files, &streams[0]), (15, 0, 15));
}

#[test]
fn pages_with_damage_between_them_are_no_run() {
    let bytes = snapshot(18, 0..6);
    let starts: Vec<usize> =
        (0..bytes.len() - 4).filter(|at| bytes[*at..].starts_with(b"BLSE")).collect();
    // Sections: system, component, ring, then pages. In the header, and in the page.
    for at in [starts[5] + 8, starts[5] + 60] {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1;
        let files = [read(bytes)];
        assert!(files[0].damage.any());
        assert_eq!(files[0].rings[0].runs.len(), 2);
        let streams = merge::unite(&files, |_| true);
        assert_eq!(numbers(&files, &streams[0]), [0, 1, 3, 4, 5]);
        assert_eq!(counts(&files, &streams[0]), (15, 3, 0));
    }
}
