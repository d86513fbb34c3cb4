// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Rings that many write to, rings of chunks, and pages that came in pieces.

use crate::common::snapshot::{Builder, Page, Ring, BOOT_ID};
use blog_decode_core::{
    boot,
    decode::{Decoder, Filter},
    merge::{self, Counts},
    output::{
        json::Json,
        text::{Style, Text},
    },
    sidetable::{SiteMap, Tables},
};
use blog_file::snapshot::Snapshot;
use blog_table::source::Source;
use serde_json::Value;

const LAG: u8 = 4;

fn start() -> Builder {
    let mut b = Builder::new();
    b.system(BOOT_ID)
        .clock(1, &[[0, 0, 0, 0], [1 << 40, 1 << 40, 1 << 40, 1 << 40]])
        .images(&[(1, 10, b"id", "test")])
        .component(1, "c");
    b
}

struct Decoded {
    lines: Vec<String>,
    json: Vec<Value>,
    counts: Vec<Counts>,
}

fn decode(files: Vec<Vec<u8>>, filter: &Filter) -> Decoded {
    let files: Vec<_> = files
        .into_iter()
        .map(|bytes| Snapshot::read("test".into(), Source::Memory(bytes)).unwrap())
        .collect();
    let maps: Vec<_> = files.iter().map(|f| SiteMap::new(&f.images, &Tables::default())).collect();
    let boots = boot::of(&files);
    let streams = merge::unite(&files, |_| true);
    let mut decoder = Decoder::new(&files, &streams, &boots, &maps, filter);
    let mut text = Text::new(Style::default());
    let mut as_json = Json::default();
    let (mut lines, mut json) = (Vec::new(), Vec::new());
    decoder
        .run(|entry| {
            let mut out = Vec::new();
            text.entry(entry, &mut out);
            lines.push(String::from_utf8(out).unwrap());
            let mut out = Vec::new();
            as_json.entry(entry, &mut out);
            json.push(serde_json::from_slice(&out).unwrap());
            Ok::<_, ()>(())
        })
        .unwrap();
    let counts = decoder.counts().copied().collect();
    Decoded { lines, json, counts }
}

/// Where each entry was written, and the first byte of its payload or what was lost.
fn brief(decoded: &Decoded) -> Vec<String> {
    let of = |(line, json): (&String, &Value)| {
        let context = line.split(" c ").nth(1).unwrap().split(": ").next().unwrap();
        match &json["raw"] {
            Value::String(raw) => format!("{context} {}", raw.get(..2).unwrap_or_default()),
            _ => format!("{context} {}x{}", json["cause"].as_str().unwrap(), json["count"]),
        }
    };
    decoded.lines.iter().zip(&decoded.json).map(of).collect()
}

/// An overflow ring with two pages, of which the second lacks its task record.
fn overflow() -> Vec<u8> {
    let mut b = start();
    let mut ring = Ring::shared(1, 1, 2);
    ring.records = 6;
    b.ring(&ring);
    let mut p = Page::of_size(512, 1, 1, 1000, 0);
    p.writer(1000, 0, 3, (10, 10, "one"));
    p.record(1000, 1, (&1u32,));
    p.record(1100, 1, (&2u32,));
    p.writer(2000, 1, 3, (-1, -1, ""));
    p.record(2000, 1, (&3u32,));
    p.writer(3000, 0, 1, (21, 20, "two"));
    p.lost(3000, 0, 7);
    p.record(3000, 1, (&4u32,));
    b.page(&ring, &p);
    let mut p = Page::new(1, 2, 4000, 4);
    p.record(4000, 1, (&5u32,));
    p.writer(5000, 3, 0, (-1, -1, ""));
    p.record(5000, 1, (&6u32,));
    b.page(&ring, &p);
    b.end()
}

#[test]
fn a_shared_ring_names_the_writer_of_each_record() {
    let all = decode(vec![overflow()], &Filter::default());
    assert_eq!(
        brief(&all),
        [
            "one[10] 01",
            "one[10] 02",
            "softirq/3 03",
            // Nobody knows whose they were.
            "shared/2 no-pagex7",
            "two[21] 04",
            // The page says at its start who writes. This one is damaged, and doesn't.
            "unknown@shared/2 05",
            "nmi/0 06",
        ]
    );
    let of = |i: usize, key: &str| all.json[i][key].clone();
    for (i, context, cpu, pid, tgid, comm) in [
        (0, "task".into(), 3.into(), 10.into(), 10.into(), "one".into()),
        (2, "softirq".into(), 3.into(), Value::Null, Value::Null, Value::Null),
        (3, Value::Null, Value::Null, Value::Null, Value::Null, Value::Null),
        (4, "task".into(), 1.into(), 21.into(), 20.into(), "two".into()),
        (5, Value::Null, Value::Null, Value::Null, Value::Null, Value::Null),
        (6, "nmi".into(), 0.into(), Value::Null, Value::Null, Value::Null),
    ] {
        let expected = [context, cpu, pid, tgid, comm, 2.into()];
        let got = ["context", "cpu", "pid", "tgid", "comm", "shared"].map(|key| of(i, key));
        assert_eq!(got, expected, "{i}");
    }
}

#[test]
fn a_task_is_found_in_a_shared_ring() {
    let filter = Filter { pids: vec![20], ..Filter::default() };
    // The losses may have been its own.
    let two = decode(vec![overflow()], &filter);
    assert_eq!(brief(&two), ["shared/2 no-pagex7", "two[21] 04"]);
}

/// A page of ring 1 that holds the records `from..to`, of a page that has begun with record 100. Its
/// records go by the time of the page.
fn piece(from: u64, to: u64, lag: u64) -> Page {
    piece_since(100, from, to, lag)
}

/// The same, of a page that has given the time again with record `since`.
fn piece_since(since: u64, from: u64, to: u64, lag: u64) -> Page {
    let mut p = Page::new(1, 5, since * 1000, from);
    if lag > 0 {
        p.lost(from * 1000, LAG, lag);
    }
    for n in from..to {
        p.record(n * 1000, 1, (&(n as u32),));
    }
    p
}

fn file(taken: u64, pieces: &[Page]) -> Vec<u8> {
    let mut b = Builder::new();
    b.system(BOOT_ID)
        .clock(1, &[[0, 0, 0, 0], [taken, taken, taken, taken]])
        .images(&[(1, 10, b"id", "test")])
        .component(1, "c");
    let mut ring = Ring::task(1, 1, 9, "t");
    ring.records = 130;
    b.ring(&ring);
    for p in pieces {
        b.page(&ring, p);
    }
    b.end()
}

fn numbers(from: u8, to: u8) -> Vec<String> {
    (from..to).map(|n| format!("t[9] {n:02x}")).collect()
}

#[test]
fn pieces_of_a_page_go_on_where_the_one_before_has_ended() {
    let pieces = [piece(100, 105, 0), piece(105, 106, 0), piece(106, 130, 0)];
    let all = decode(vec![file(1 << 30, &pieces)], &Filter::default());
    let mut expected = numbers(100, 130);
    expected.insert(0, "t[9] overwrittenx100".into());
    assert_eq!(brief(&all), expected);
    // Again from a snapshot that was taken in between, in either order.
    let snapshot = file(1 << 29, &[piece(100, 120, 0)]);
    let capture = file(1 << 30, &pieces);
    for files in [vec![snapshot.clone(), capture.clone()], vec![capture, snapshot]] {
        assert_eq!(brief(&decode(files, &Filter::default())), expected);
    }
}

#[test]
fn pieces_of_a_page_are_united_over_the_files_that_record_has_cut() {
    let mut expected = numbers(100, 130);
    expected.insert(0, "t[9] overwrittenx100".into());
    for since in [100, 110] {
        let pieces = [
            piece(100, 104, 0),
            piece(104, 110, 0),
            piece_since(since, 110, 117, 0),
            piece_since(since, 117, 130, 0),
        ];
        let files = pieces.map(|p| file((1 << 29) + p.first, &[p]));
        let [a, b, c, d] = files;
        for files in [vec![a.clone(), b.clone(), c.clone(), d.clone()], vec![c, a, d, b]] {
            assert_eq!(brief(&decode(files, &Filter::default())), expected);
        }
    }
}

#[test]
fn a_lag_of_the_streams_reader_is_shown_once() {
    let pieces = [piece(100, 105, 0), piece(112, 120, 7), piece(124, 130, 4)];
    let all = decode(vec![file(1 << 30, &pieces)], &Filter::default());
    let mut expected = vec!["t[9] overwrittenx100".to_owned()];
    expected.extend(numbers(100, 105));
    expected.push("t[9] reader-lagx7".into());
    expected.extend(numbers(112, 120));
    expected.push("t[9] reader-lagx4".into());
    expected.extend(numbers(124, 130));
    assert_eq!(brief(&all), expected);
    let c = all.counts[0];
    assert_eq!((c.decoded, c.overwritten, c.lagged), (19, 100, 11));
    assert_eq!((c.missing, c.damaged), (0, 0));
}

#[test]
fn what_one_file_lacks_another_may_have() {
    // The snapshot has what the first lag has cost, and a part of the second.
    let capture = file(1 << 30, &[piece(100, 105, 0), piece(112, 115, 7), piece(124, 130, 9)]);
    let snapshot = file(1 << 29, &[piece(100, 121, 0)]);
    let all = decode(vec![capture, snapshot], &Filter::default());
    let mut expected = vec!["t[9] overwrittenx100".to_owned()];
    expected.extend(numbers(100, 121));
    expected.push("t[9] reader-lagx3".into());
    expected.extend(numbers(124, 130));
    assert_eq!(brief(&all), expected);
}

#[test]
fn a_component_that_was_made_again_is_another_one() {
    let mut b = start();
    b.component(2, "c");
    for component in [1, 2] {
        let mut ring = Ring::task(component, 1, 9, "t");
        ring.records = 1;
        b.ring(&ring);
        let mut p = Page::new(1, 1, 1000, 0);
        p.record(u64::from(component) * 1000, 1, (&component,));
        b.page(&ring, &p);
    }
    let all = decode(vec![b.end()], &Filter::default());
    assert_eq!(brief(&all), ["t[9] 01", "t[9] 02"]);
}
