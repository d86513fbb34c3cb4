// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Snapshots that are cut, damaged, of other content, or none. What whole ones show is in
//! `../commands/rings.txt`.

use crate::common::{
    fixture,
    snapshot::{Builder, Page, Ring, BOOT_ID, SECTION_MAGIC},
};
use blog_answers::accounts::Accounts;
use blog_decode_core::{
    boot,
    decode::{Decoder, Filter},
    merge,
    output::{
        json::Json,
        text::{Style, Text},
    },
    sidetable::{SiteMap, Tables},
};
use blog_file::snapshot::Snapshot;
use blog_table::{descriptor::Site, format::Table, source::Source};

const ID: &[u8] = b"build id of 20 bytes";

fn read(bytes: Vec<u8>) -> Result<Snapshot, String> {
    Ok(Snapshot::read("test".into(), Source::Memory(bytes))?)
}

/// Two rings with losses.
fn everything() -> Vec<u8> {
    let text = "clock mono 0 1099511627776; component 7 disk
                ring 1 task 42 fio records 114 lost no-page 9 told no-page 7
                page 5 from 100; call 1ms 1 1u32; lost 1500us no-page 7; call 3ms 2; call 5ms 1 2u32
                page 7 from 108; call 6ms 1 3u32; call 68719477736 1 4u32
                ring 2 softirq 3; page 1; call 2ms 3; call 4ms 3";
    fixture::compile(text, ID)
}

/// Decodes whatever it is, as text and as JSON, and counts it; the answer is the number of records,
/// or nothing.
fn survive(bytes: Vec<u8>) -> Option<(usize, bool)> {
    let files = [read(bytes).ok()?];
    let maps = [SiteMap::new(&files[0].images, &Tables::default())];
    let (boots, filter) = (boot::from_files(&files), Filter::default());
    let streams = merge::unite(&files, |_| true);
    let mut decoder = Decoder::new(&files, &streams, &boots, &maps, &filter);
    let mut text = Text::new(Style { raw: true, location: true, ..Style::default() });
    let (mut json, mut out, mut records) = (Json::new(true), Vec::new(), 0);
    for entry in &mut decoder {
        out.clear();
        text.entry(&entry, &mut out);
        json.entry(&entry, &mut out);
        records += usize::from(entry.is_record());
    }
    let (undecoded, shown) = (decoder.undecoded().clone(), decoder.shown());
    let counts = decoder.counts().copied().collect();
    let (files, boots, streams) = (&files[..], &boots, &streams);
    let stats = Accounts { files, boots, streams, counts, shown, undecoded: &undecoded };
    stats.write_json(&mut out);
    Some((records, files[0].damage.any()))
}

#[test]
fn a_cut_file_yields_all_that_is_whole() {
    let whole = everything();
    let (all, damage) = survive(whole.clone()).unwrap();
    assert!(!damage);
    let mut best = 0;
    for n in 0..whole.len() {
        match survive(whole[..n].to_vec()) {
            Some((records, damage)) => {
                assert!(damage, "cut at {n} unnoticed");
                assert!(records >= best, "cut at {n}: fewer than before");
                best = records;
            }
            None => assert_eq!(best, 0, "cut at {n}"),
        }
    }
    // Only the End section was missing in the end.
    assert_eq!(best, all);
}

#[test]
fn a_flipped_byte_costs_one_section_and_is_told() {
    let whole = everything();
    let (all, _) = survive(whole.clone()).unwrap();
    let header_ids = 12..24;
    for i in 0..whole.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[i] ^= flip;
            match survive(bytes) {
                // A page at most, of the three.
                Some((records, damage)) => {
                    assert!(records + 3 >= all, "byte {i}: {records} of {all}");
                    // Padding is in no checksum.
                    assert!(damage || records == all, "byte {i} unnoticed");
                }
                None => panic!("byte {i} ({header_ids:?}) made it unreadable"),
            }
        }
    }
}

#[test]
fn a_hole_costs_what_was_in_it() {
    let whole = everything();
    for (from, len) in [(40, 100), (500, 8), (700, 400), (33, 600)] {
        let mut bytes = whole.clone();
        bytes[from..from + len].fill(0x55);
        assert!(survive(bytes.clone()).unwrap().1);
        // A hole that moved what follows.
        bytes.drain(from..from + (len & !7));
        assert!(survive(bytes).unwrap().1);
    }
}

#[test]
fn huge_lengths_ask_for_no_memory() {
    for len in [u64::MAX, 1 << 60, 16 << 20, (16 << 20) + 1] {
        // Headers that each promise more than there is.
        let mut bytes = Builder::new().bytes;
        let mut header = Vec::new();
        header.extend(SECTION_MAGIC.to_le_bytes());
        header.extend([6, 0, 0, 0]);
        header.extend(len.to_le_bytes());
        header.extend([0; 12]);
        let crc = crc32fast::hash(&header);
        header.extend(crc.to_le_bytes());
        for _ in 0..100_000 {
            bytes.extend(&header);
        }
        assert!(survive(bytes).is_none());
    }
}

#[test]
fn other_files_are_refused_by_name() {
    let error = |bytes: &[u8]| read(bytes.to_vec()).err().unwrap();
    assert_eq!(error(b""), "the file is empty");
    assert_eq!(error(b"\x80ELF whatever"), "not a BLog snapshot");
    for (bytes, what) in [
        (&b"\x7fELF whatever"[..], "an ELF image, which goes with --sidetable"),
        (b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x04\0", "a crash dump, which goes with --vmcore"),
        (b"KDUMP   \x06", "a crash dump, which goes with --vmcore"),
        (b"makedumpfile\0", "a crash dump, which goes with --vmcore"),
        (b"BLOGFMT\0\x01", "a side table, which goes with --sidetable"),
        (b"\x04\x22\x4d\x18", "packed by lz4: unpack it first"),
        (b"BZh9", "packed by bzip2: unpack it first"),
        (b"LPKSHHRH", "a journal of systemd, of which \"journalctl -k -o short-monotonic\" makes text for --dmesg"),
        (b"\x17\x08\x44tracing6", "a binary trace, of which \"trace-cmd report\" makes text for --ftrace"),
    ] {
        assert_eq!(error(bytes), format!("not a BLog snapshot, but {what}"));
    }
    assert_eq!(error(&[0; 100_000]), "not a BLog snapshot");
    let with = |at: usize, n: u32, swap: bool| {
        let mut bytes = everything();
        bytes[at..at + 4].copy_from_slice(&n.to_le_bytes());
        let crc = crc32fast::hash(&bytes[..28]);
        let crc = if swap { crc.swap_bytes() } else { crc };
        bytes[28..32].copy_from_slice(&crc.to_le_bytes());
        error(&bytes)
    };
    let newer = "snapshot version 5, but this program reads 1 to 4";
    assert_eq!(with(8, 5, false), newer);
    let newer = "records of version 9, but this program reads 1 and 2";
    assert_eq!(with(16, 9, false), newer);
    assert!(with(12, 0x0403_0201, true).contains("big-endian"));
    assert!(with(12, 0x0403_0201, false).contains("big-endian"));
    assert!(with(12, 5, false).contains("byte order"));
}

#[test]
fn pages_of_hostile_content_end() {
    // Sound checksums, senseless content.
    let mut state = 0x1234_5678_9abc_def0u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for round in 0..2000 {
        let mut b = Builder::new();
        b.system(BOOT_ID).clock(1, &[[0; 4], [1 << 40; 4]]).images(&[(1, 10, ID, "test")]);
        b.component(1, "c");
        let mut ring = Ring::task(1, 1, random() as i32, "t");
        ring.context = random() as u8;
        ring.records = random();
        ring.lost = std::array::from_fn(|_| random());
        ring.told = std::array::from_fn(|_| random());
        b.ring(&ring);
        for _ in 0..3 {
            let mut page = Page::new(1, random() % 4, random(), random());
            for _ in 0..round % 200 {
                let n = random();
                page.bytes.extend((n & 0xff00_ffff_f000_0f1f).to_le_bytes());
            }
            b.page(&ring, &page);
        }
        survive(b.end()).unwrap();
    }
}

/// A snapshot with one record of a probe, and with these sections of side tables.
fn probed(tables: &[&[u8]]) -> Snapshot {
    let mut b = Builder::new();
    b.system(BOOT_ID).clock(1, &[[0, 0, 0, 0]]);
    for table in tables {
        b.section(10, table);
    }
    b.images(&[(1, 1, ID, "probe")]).component(0, "disk");
    let (ring, mut page) = (Ring::task(0, 0, 7, "t"), Page::new(0, 1, 5, 0));
    page.raw_record(5, 1, &77u32.to_le_bytes());
    read(b.ring(&ring).page(&ring, &page).end()).unwrap()
}

#[test]
fn a_file_brings_the_side_tables_of_probes() {
    let site = Site {
        line: 1,
        level: 3,
        codes: vec![0x03],
        format: "op %u".into(),
        names: vec!["op".into()],
        is_c: true,
        ..Site::default()
    };
    let table = |build_id: &[u8]| Table {
        build_id: build_id.to_vec(),
        name: "probe".into(),
        sites: vec![site.clone()],
        ..Table::default()
    };
    let good = table(ID).encode().unwrap();
    // Of another probe, cut, no table at all
    let others = [&table(b"another").encode().unwrap()[..], &good[..90], b"table"];
    let load = |file: &Snapshot| {
        let tables = Tables::load(file.images.iter(), file.tables.iter(), &[], &[], None);
        let map = SiteMap::new(&file.images, &tables);
        let found = map.find(1).and_then(|f| Some(f.site?.format.clone()));
        (found, tables.problems.len())
    };
    let file = probed(&[&good]);
    assert!(!file.damage.any());
    assert_eq!(load(&file), (Some("op %u".into()), 0));
    for other in others {
        let file = probed(&[other]);
        assert_eq!(load(&file).0, None);
        assert_eq!(load(&probed(&[other, &good])).0.as_deref(), Some("op %u"));
    }
    // No kernel has longer ones, nor more.
    let long = probed(&[&[0; 2049]]);
    assert!(long.damage.any() && long.tables.is_empty());
    let many = probed(&vec![&good[..]; 1025]);
    assert!(many.damage.any() && many.tables.len() == 1024);
}
