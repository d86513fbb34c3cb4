// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Captures of streams: they may stop anywhere, their sections come again, and their rings change hands.

use crate::common::{
    snapshot::{Builder, Page, Ring, BOOT_ID},
    stream::as_stream,
};
use blog_file::snapshot::{Damage, Snapshot};
use blog_table::source::Source;

fn read(bytes: &[u8]) -> Result<Snapshot, String> {
    Ok(Snapshot::read("test".into(), Source::Memory(bytes.to_vec()))?)
}

fn piece(ring: u32, seq: u64, first: u64, records: u64) -> Page {
    let mut page = Page::new(ring, seq, 1000, first);
    for n in first..first + records {
        page.record(1000 + n, 1, (&(n as u32),));
    }
    page
}

/// A ring in three pieces of two pages, and the offsets at which its sections end.
fn capture() -> (Vec<u8>, Vec<usize>) {
    let mut b = Builder::new();
    let ring = Ring::task(1, 3, 7, "dd");
    let mut ends = Vec::new();
    b.system(BOOT_ID)
        .clock(1, &[[0; 4], [1 << 40; 4]])
        .images(&[(1, 10, b"id", "test")])
        .component(1, "c")
        .ring(&ring);
    ends.push(b.bytes.len());
    for page in [piece(3, 1, 0, 4), piece(3, 1, 4, 1), piece(3, 2, 5, 9)] {
        b.page(&ring, &page);
        ends.push(b.bytes.len());
    }
    (as_stream(b.bytes), ends)
}

#[test]
fn pairs_of_clocks_add_up_and_are_read_in_either_version() {
    let clocks = |file: Snapshot| -> Vec<_> {
        let pairs = file.pairs.iter();
        pairs.map(|p| [p.clock, p.mono, p.boot, p.real, p.local]).collect()
    };
    let mut b = Builder::new();
    b.clock(2, &[[10, 1, 2, 3, 4], [20, 5, 6, 7, 8]])
        .clock(3, &[[30, 9, 9, 9, 9]])
        .clock(3, &[[20, 5, 6, 7, 8], [25, 6, 7, 8, 9]]);
    let file = read(&as_stream(b.bytes)).unwrap();
    assert!(!file.damage.any());
    assert_eq!(file.clock.map(|clock| clock.kind), Some(3));
    assert_eq!(
        clocks(file),
        [[10, 1, 2, 3, 4], [20, 5, 6, 7, 8], [25, 6, 7, 8, 9], [30, 9, 9, 9, 9]]
    );
    let mut b = Builder::of_version(1);
    b.clock(2, &[[10, 1, 2, 3]]).clock(2, &[[10, 1, 2, 3], [20, 5, 6, 7]]);
    let file = read(&as_stream(b.bytes)).unwrap();
    assert_eq!(clocks(file), [[10, 1, 2, 3, 0], [20, 5, 6, 7, 0]]);
}

#[test]
fn of_very_many_pairs_those_that_are_kept_cover_all_of_the_time() {
    let mut b = Builder::new();
    for n in 0..100u64 {
        let pairs: Vec<_> = (100 * n..100 * n + 100).map(|t| [t + 1; 5]).collect();
        b.clock(2, &pairs);
    }
    let clocks: Vec<_> =
        (read(&as_stream(b.bytes)).unwrap().pairs.iter()).map(|pair| pair.clock).collect();
    assert!((1000..=4096).contains(&clocks.len()));
    assert_eq!((clocks.first(), clocks.last()), (Some(&1), Some(&10_000)));
    assert!(clocks.windows(2).all(|w| w[0] < w[1] && w[1] - w[0] < 20));
}

#[test]
fn a_capture_may_stop_anywhere() {
    let (bytes, ends) = capture();
    for len in ends[0]..=bytes.len() {
        let file = read(&bytes[..len]).unwrap();
        assert!(file.stream);
        let start = ends.iter().filter(|end| **end <= len).max().unwrap();
        let torn = Damage { torn: (len - start) as u64, ..Damage::default() };
        assert_eq!(file.damage, torn, "{len}");
        // What is whole is there. Padding may be missing.
        let whole = ends[1..].iter().filter(|end| **end <= len + 7).count();
        let pieces = file.rings[0].pages() as usize;
        assert!(pieces <= whole);
        assert!(pieces >= ends[1..].iter().filter(|end| **end <= len).count());
    }
    // In a snapshot, that is damage.
    let mut snapshot = bytes;
    snapshot[24..28].fill(0);
    let crc = crc32fast::hash(&snapshot[..28]);
    snapshot[28..32].copy_from_slice(&crc.to_le_bytes());
    let file = read(&snapshot).unwrap();
    assert!(!file.stream && file.damage.cut_off);
}

/// `cat` puts them into one file.
#[test]
fn what_is_behind_a_capture_that_is_cut_is_read() {
    let (bytes, ends) = capture();
    let file = tempfile::NamedTempFile::new().unwrap();
    for len in ends[0]..=bytes.len() {
        std::fs::write(file.path(), [&bytes[..len], &bytes].concat()).unwrap();
        let parts = Snapshot::open_all(file.path(), &mut |_, _| {}).unwrap();
        let start = ends.iter().filter(|end| **end <= len).max().unwrap();
        let torn: Vec<_> = parts.iter().map(|p| p.damage.torn).collect();
        assert_eq!(torn, [(len - start) as u64, 0], "{len}");
        assert_eq!(parts[1].rings[0].pages(), 3);
        assert!(!parts[1].damage.any());
    }
}

#[test]
fn damage_in_the_middle_of_a_capture_is_damage() {
    let (bytes, ends) = capture();
    for at in ends[0]..ends[2] {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x20;
        let file = read(&bytes).unwrap();
        let padding = file.rings[0].pages() == 3;
        assert_eq!(file.damage.any(), !padding, "{at}");
    }
    // So are bytes at its end that no section starts with.
    let mut bytes = bytes;
    bytes.extend([0xff; 9]);
    assert_eq!(read(&bytes).unwrap().damage.skipped_bytes, 9);
}

#[test]
fn the_last_section_of_a_ring_counts() {
    let mut b = Builder::new();
    let mut ring = Ring::task(1, 3, 7, "dd");
    b.system(BOOT_ID).component(1, "c").ring(&ring);
    b.page(&ring, &piece(3, 1, 0, 4));
    ring.lost[0] = 5;
    ring.records = 4;
    b.ring(&ring).page(&ring, &piece(3, 1, 4, 2));
    let file = read(&as_stream(b.bytes)).unwrap();
    assert_eq!(file.rings.len(), 1);
    assert_eq!(file.rings[0].ring.as_ref().unwrap().lost()[0], 5);
    assert_eq!(file.rings[0].pages(), 2);
}

#[test]
fn a_ring_that_changes_hands_is_another_ring() {
    let mut b = Builder::new();
    b.system(BOOT_ID).component(1, "c");
    let mut owners = Vec::new();
    for (pid, records) in [(7, 2), (8, 3), (9, 1)] {
        let ring = Ring::task(1, 3, pid, "task");
        b.ring(&ring);
        b.page(&ring, &piece(3, 1 + owners.len() as u64, 0, records));
        owners.push((pid, records));
    }
    let file = read(&as_stream(b.bytes)).unwrap();
    let found: Vec<_> = file
        .rings
        .iter()
        .map(|r| (r.ring.as_ref().unwrap().pid, u64::from(r.runs[0].first.records)))
        .collect();
    assert_eq!(found, owners);
    assert!(file.rings.iter().all(|r| r.id == (1, 3) && r.pages() == 1));
}
