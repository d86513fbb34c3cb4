// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! From a snapshot to lines: order, time, losses, damage.

use crate::common::snapshot::{Builder, Page, Ring, BOOT_ID, SECTION_MAGIC};
use blog_answers::accounts::Accounts;
use blog_decode_core::{
    boot,
    decode::{Decoder, Filter},
    merge,
    output::{
        json::Json,
        text::{Style, Text},
        Time,
    },
    sidetable::{SiteMap, Tables},
};
use blog_file::snapshot::Snapshot;
use blog_table::{descriptor::Site, format::Table, source::Source};

const ID: &[u8] = b"build id of 20 bytes";

fn read(bytes: Vec<u8>) -> Result<Snapshot, String> {
    Ok(Snapshot::read("test".into(), Source::Memory(bytes))?)
}

/// All lines, and the statistics as JSON.
fn decode_all(files: &[Snapshot], style: Style, filter: &Filter) -> (Vec<String>, Vec<String>) {
    let tables = Tables::default();
    let maps: Vec<_> = files.iter().map(|f| SiteMap::new(&f.images, &tables)).collect();
    let boots = boot::of(files);
    let streams = merge::unite(files, |c| filter.wants_component(c));
    let mut decoder = Decoder::new(files, &streams, &boots, &maps, filter);
    let (mut text, mut out, mut ignored) = (Text::new(style), Vec::new(), Vec::new());
    let mut json = Json::new(true);
    decoder
        .run(|entry| {
            text.entry(entry, &mut out);
            json.entry(entry, &mut ignored);
            ignored.clear();
            Ok::<_, ()>(())
        })
        .unwrap();
    let (undecoded, shown) = (decoder.undecoded().clone(), decoder.shown());
    let stats = Accounts {
        files,
        boots: &boots,
        streams: &streams,
        counts: decoder.counts().copied().collect(),
        shown,
        undecoded: &undecoded,
    };
    let mut json = Vec::new();
    stats.write_json(&mut json);
    // Names of tasks are passed on as they are: any bytes.
    let lines = |bytes: Vec<u8>| -> Vec<String> {
        String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect()
    };
    (lines(out), lines(json))
}

fn lines(bytes: Vec<u8>) -> Vec<String> {
    let files = [read(bytes).unwrap()];
    assert!(!files[0].damage.any(), "{:?}", files[0].damage);
    decode_all(&files, Style::default(), &Filter::default()).0
}

fn start() -> Builder {
    let mut b = Builder::new();
    b.system(BOOT_ID)
        .clock(1, &[[0, 0, 0, 1_000], [1 << 40, 1 << 40, 1 << 40, 1 << 41]])
        // One that is gone has no ids any more.
        .images(&[(2, 0, &[7; 20], "gone"), (1, 10, ID, "test")]);
    b
}

/// What a record of site `n` prints as without a side table.
fn raw(n: u32, payload: &str) -> String {
    format!("<site {n} of test, no side table>{payload}")
}

/// Two rings whose records interleave, with all kinds of loss.
fn everything() -> Vec<u8> {
    let mut b = start();
    b.component(7, "disk");
    let mut task = Ring::task(7, 1, 42, "fio");
    task.records = 100 + 3 + 5 + 2 + 4;
    task.lost[0] = 7 + 2;
    task.told[0] = 7;
    b.ring(&task);
    let mut p = Page::new(1, 5, 1_000_000, 100);
    p.record(1_000_000, 1, (&1u32,));
    p.lost(1_500_000, 0, 7);
    p.record(3_000_000, 2, ());
    p.control(3_500_000, 77, &[1; 16]);
    p.record(5_000_000, 1, (&2u32,));
    b.page(&task, &p);
    // Five records went missing with their page.
    let mut p = Page::new(1, 7, 6_000_000, 108);
    p.record(6_000_000, 1, (&3u32,));
    // The low 36 bits wrap.
    p.record((1 << 36) + 1_000, 1, (&4u32,));
    b.page(&task, &p);
    let softirq = Ring::softirq(7, 2, 3);
    b.ring(&softirq);
    let mut p = Page::new(2, 1, 2_000_000, 0);
    p.record(2_000_000, 3, ());
    p.record(4_000_000, 3, ());
    b.page(&softirq, &p);
    b.end()
}

#[test]
fn all_rings_come_in_the_order_of_time_with_losses_in_place() {
    let expected = [
        "[    0.001000] ----- disk fio[42]: 100 older records overwritten".to_owned(),
        format!("[    0.001000] ?     disk fio[42]: {}", raw(0, " 01 00 00 00")),
        "[    0.001500] ----- disk fio[42]: 7 records lost here (no-page)".to_owned(),
        format!("[    0.002000] ?     disk softirq/3: {}", raw(2, "")),
        format!("[    0.003000] ?     disk fio[42]: {}", raw(1, "")),
        format!("[    0.004000] ?     disk softirq/3: {}", raw(2, "")),
        format!("[    0.005000] ?     disk fio[42]: {}", raw(0, " 02 00 00 00")),
        "[    0.006000] ----- disk fio[42]: 5 records missing here (not in the snapshot)"
            .to_owned(),
        format!("[    0.006000] ?     disk fio[42]: {}", raw(0, " 03 00 00 00")),
        format!("[   68.719477] ?     disk fio[42]: {}", raw(0, " 04 00 00 00")),
        "[   68.719477] ----- disk fio[42]: 4 records missing here (not in the snapshot)"
            .to_owned(),
        "[   68.719477] ----- disk fio[42]: 2 records lost here (no-page)".to_owned(),
    ];
    assert_eq!(lines(everything()), expected);
}

#[test]
fn losses_whose_records_are_overwritten_are_still_shown() {
    let mut b = start();
    b.component(7, "disk");
    let mut task = Ring::task(7, 1, 42, "fio");
    task.records = 101;
    task.lost[0] = 7;
    task.told[0] = 7;
    task.lost[5] = 100;
    task.told[5] = 90;
    b.ring(&task);
    let mut p = Page::new(1, 5, 1_000_000, 100);
    p.lost(1_000_000, 5, 30);
    p.record(1_000_000, 1, ());
    b.page(&task, &p);
    let none = Ring { ring: 2, pid: 43, ..task };
    b.ring(&none);
    let got: Vec<_> = lines(b.end()).into_iter().filter(|l| l.contains("-----")).collect();
    let expected = [
        "[    0.000000] ----- disk fio[43]: 101 older records overwritten",
        "[    0.000000] ----- disk fio[43]: 7 records lost here (no-page)",
        "[    0.000000] ----- disk fio[43]: 100 records lost here (full)",
        "[    0.001000] ----- disk fio[42]: 100 older records overwritten",
        "[    0.001000] ----- disk fio[42]: 7 records lost here (no-page)",
        "[    0.001000] ----- disk fio[42]: 60 records lost here (full)",
        "[    0.001000] ----- disk fio[42]: 30 records lost here (full)",
        "[    0.001000] ----- disk fio[42]: 10 records lost here (full)",
    ];
    assert_eq!(got, expected);
}

#[test]
fn statistics_account_for_every_record() {
    let files = [read(everything()).unwrap()];
    let (_, stats) = decode_all(&files, Style::default(), &Filter::default());
    let stats: Vec<serde_json::Value> =
        stats.iter().map(|s| serde_json::from_str(s).unwrap()).collect();
    let ring = &stats[0];
    let n = |key: &str| ring[key].as_u64().unwrap();
    assert_eq!(n("taken"), n("decoded") + n("overwritten") + n("missing"));
    assert_eq!((n("decoded"), n("overwritten"), n("missing")), (5, 100, 9));
    assert_eq!(ring["lost"]["no-page"], 9);
    let summary = stats.last().unwrap();
    assert_eq!(summary["type"], "summary");
    assert_eq!(summary["decoded"], 7);
    assert_eq!(summary["lost"], 9);
    assert_eq!(summary["undecoded"], 7);
    assert!(summary["damage"].is_null());
}

/// They count among the page's records, so what follows has its own number and nothing is missing.
#[test]
fn records_that_were_not_chosen_for_the_reader_are_counted_and_not_missing() {
    let mut b = start();
    b.component(7, "disk");
    let mut task = Ring::task(7, 1, 42, "fio");
    task.records = 10;
    b.ring(&task);
    let mut p = Page::new(1, 1, 1_000_000, 0);
    p.record(1_000_000, 1, (&1u32,));
    p.left(1_500_000, 5);
    p.record(2_000_000, 1, (&2u32,));
    p.left(3_000_000, 3);
    b.page(&task, &p);
    let files = [read(b.end()).unwrap()];
    let (lines, stats) = decode_all(&files, Style::default(), &Filter::default());
    assert_eq!(lines.len(), 2, "{lines:?}");
    let ring: serde_json::Value = serde_json::from_str(&stats[0]).unwrap();
    let n = |key: &str| ring[key].as_u64().unwrap();
    assert_eq!((n("taken"), n("decoded"), n("left_out")), (10, 2, 8));
    assert_eq!((n("missing"), n("damaged"), n("overwritten")), (0, 0, 0));
    // Who asks for silence learns where there may have been none.
    let filter = Filter { with_left_out: true, ..Filter::default() };
    let (lines, _) = decode_all(&files, Style::default(), &filter);
    assert!(lines[1].ends_with("5 records left out here"), "{lines:?}");
}

#[test]
fn every_clock_can_be_shown() {
    let mut b = start();
    b.component(1, "c");
    let ring = Ring::task(1, 1, 9, "t");
    b.ring(&ring);
    let mut p = Page::new(1, 1, 0, 0);
    p.record(1_500_000, 1, ());
    p.record(3_000_000, 1, ());
    b.page(&ring, &p);
    let files = [read(b.end()).unwrap()];
    for (time, starts) in [
        (Time::Boot, ["[    0.001500]", "[    0.003000]"]),
        (Time::Mono, ["[    0.001500]", "[    0.003000]"]),
        (Time::Raw, ["[           1500000]", "[           3000000]"]),
        (Time::Delta, ["[   +0.000000]", "[   +0.001500]"]),
        (Time::Wall, ["1970-01-01T00:18:19.513127Z", "1970-01-01T00:18:19.514627Z"]),
    ] {
        let style = Style { time, ..Style::default() };
        let (lines, _) = decode_all(&files, style, &Filter::default());
        for (line, start) in lines.iter().zip(starts) {
            assert!(line.starts_with(start), "{time:?}: {line}");
        }
    }
}

/// Pages `from..to` of a ring with three records each.
fn part(boot_id: [u8; 16], from: u64, to: u64) -> Vec<u8> {
    let mut b = Builder::new();
    b.system(boot_id)
        .clock(1, &[[0, 0, 0, 0], [1 << 40, 1 << 40, 1 << 40, 1 << 40]])
        .images(&[(1, 10, ID, "test")])
        .component(u32::try_from(from).unwrap(), "c");
    let mut ring = Ring::task(u32::try_from(from).unwrap(), 1, 9, "t");
    ring.records = 3 * to;
    b.ring(&ring);
    for seq in from..to {
        let mut p = Page::new(1, seq, seq * 3000, seq * 3);
        for i in 0..3 {
            let n = seq * 3 + i;
            p.record(n * 1000, 1, (&n,));
        }
        b.page(&ring, &p);
    }
    b.end()
}

#[test]
fn snapshots_of_one_boot_are_united() {
    let numbers = |files: &[Snapshot]| -> Vec<String> {
        let (lines, _) = decode_all(files, Style::default(), &Filter::default());
        lines
            .iter()
            .map(|l| match l.split_once("no side table> ") {
                Some((_, payload)) => payload[..2].to_owned(),
                None => l.split_once(": ").unwrap().1.to_owned(),
            })
            .collect()
    };
    // Overlapping, in any order; what the second lost at its start the first has.
    let files = [read(part(BOOT_ID, 3, 6)).unwrap(), read(part(BOOT_ID, 0, 4)).unwrap()];
    let all: Vec<String> = (0..18).map(|n| format!("{n:02x}")).collect();
    assert_eq!(numbers(&files), all);
    // With a gap between them.
    let files = [read(part(BOOT_ID, 0, 1)).unwrap(), read(part(BOOT_ID, 2, 3)).unwrap()];
    assert_eq!(
        numbers(&files),
        ["00", "01", "02", "3 records missing here (not in the snapshot)", "06", "07", "08"]
    );
    // Of two boots: nothing is the same, and nothing gets lost.
    let files = [read(part(BOOT_ID, 0, 1)).unwrap(), read(part([3; 16], 0, 1)).unwrap()];
    assert_eq!(numbers(&files), ["00", "00", "01", "01", "02", "02"]);
}

#[test]
fn what_was_cleared_between_snapshots_counts_once() {
    // `clear` hides what was before it and counts ordinals anew, in the middle of page 1.
    let file = |taken: u64, records: u64, pages: &[(u64, u64, std::ops::Range<u64>)]| {
        let mut b = Builder::new();
        b.system(BOOT_ID)
            .clock(1, &[[0, 0, 0, 0], [taken, taken, taken, taken]])
            .images(&[(1, 10, ID, "test")])
            .component(1, "c");
        let mut ring = Ring::task(1, 1, 9, "t");
        ring.records = records;
        b.ring(&ring);
        for (seq, first, numbers) in pages {
            let mut p = Page::new(1, *seq, numbers.start * 1000, *first);
            for n in numbers.clone() {
                p.record(n * 1000, 1, (&n,));
            }
            b.page(&ring, &p);
        }
        read(b.end()).unwrap()
    };
    let before = file(1 << 30, 6, &[(0, 0, 0..3), (1, 3, 3..6)]);
    let after = file(1 << 31, 4, &[(1, 0, 5..6), (2, 1, 6..9)]);
    let files = [before, after];
    let (lines, _) = decode_all(&files, Style::default(), &Filter::default());
    assert!(lines.iter().all(|l| !l.contains("-----")), "{lines:#?}");
    assert_eq!(lines.len(), 9, "{lines:#?}");
}

#[test]
fn what_is_older_than_a_clear_is_left_out() {
    let file = |taken: u64, cleared: u64, records: std::ops::Range<u64>| {
        let mut b = Builder::new();
        b.system(BOOT_ID)
            .clock(1, &[[0, 0, 0, 0], [taken, taken, taken, taken]])
            .images(&[(1, 10, ID, "test")])
            .cleared_component(1, "c", cleared);
        let mut ring = Ring::task(1, 1, 9, "t");
        ring.records = records.end;
        ring.lost[0] = 5;
        ring.told[0] = 5;
        b.ring(&ring);
        let mut p = Page::new(1, 3, 2000, 2);
        p.lost(2000, 0, 5);
        for n in records {
            p.record(n * 1000, 1, (&n,));
        }
        b.page(&ring, &p);
        read(b.end()).unwrap()
    };
    let shown = |files: &[Snapshot]| {
        let (lines, json) = decode_all(files, Style::default(), &Filter::default());
        let ring: serde_json::Value = serde_json::from_str(&json[0]).unwrap();
        let count = |key: &str| ring[key].as_u64().unwrap();
        assert_eq!(count("decoded") + count("overwritten"), count("taken"));
        (lines, count("decoded"))
    };
    // Two older ones are in no page, and two in this one; a loss among them, too.
    let (lines, decoded) = shown(&[file(1 << 30, 4000, 2..7)]);
    assert_eq!((lines.len(), decoded), (3, 3), "{lines:#?}");
    assert!(lines[0].ends_with(" 04 00 00 00 00 00 00 00"), "{lines:#?}");
    // All of it: such a ring says nothing.
    assert_eq!(shown(&[file(1 << 30, 7000, 2..7)]), (vec![], 0));
    // Never cleared.
    assert_eq!(shown(&[file(1 << 30, 0, 2..7)]).1, 5);
    // What a file from before the clear has is there.
    assert_eq!(shown(&[file(1 << 30, 0, 2..5), file(1 << 31, 6000, 2..7)]).1, 5);
}

#[test]
fn a_ring_goes_forward_even_where_its_clock_does_not() {
    let mut b = start();
    b.component(1, "c");
    let (one, two) = (Ring::task(1, 1, 1, "a"), Ring::task(1, 2, 2, "b"));
    b.ring(&one);
    let mut p = Page::new(1, 1, 0, 0);
    for clock in [1_000_000, 9_000_000, 2_000_000] {
        p.record(clock, 1, (&clock,));
    }
    b.page(&one, &p);
    b.ring(&two);
    let mut p = Page::new(2, 1, 0, 0);
    p.record(5_000_000, 2, ());
    b.page(&two, &p);
    let lines = lines(b.end());
    let times: Vec<&str> = lines.iter().map(|l| &l[..14]).collect();
    assert_eq!(times, ["[    0.001000]", "[    0.005000]", "[    0.009000]", "[    0.002000]"]);
}

/// Decodes whatever it is; the answer is the number of records, or nothing.
fn survive(bytes: Vec<u8>) -> Option<(usize, bool)> {
    let files = [read(bytes).ok()?];
    let style = Style { raw: true, location: true, ..Style::default() };
    let (lines, _) = decode_all(&files, style, &Filter::default());
    let records = lines.iter().filter(|l| !l.contains("-----")).count();
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
        let mut b = start();
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
