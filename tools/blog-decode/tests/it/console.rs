// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Last words in texts: whatever is around their lines, and whatever is lost of them.

use std::io::Write;

use crate::common::{
    rig::{Rig, Said, CLOCK},
    snapshot::{Builder, Page, Ring},
    stream::as_stream,
    transports::{Logged, BREAKS, TRANSPORTS},
};
use blog_decode_core::words::Scan;
use blog_wire::words::{self, Head, Why, LINE_MAX, RAW_MAX};
use flate2::{write::DeflateEncoder, Compression};
use proptest::prelude::*;

/// As the kernel leaves numbers and checksums of sections out.
fn unsealed(data: &[u8]) -> Vec<u8> {
    let mut data = data.to_vec();
    let mut at = 32 * usize::from(data.starts_with(b"BLOGSNAP"));
    while at + 32 <= data.len() {
        let len = u64::from_le_bytes(data[at + 8..at + 16].try_into().unwrap()) as usize;
        data[at + 16..at + 20].fill(0);
        data[at + 24..at + 32].fill(0);
        at += 32 + len.next_multiple_of(8);
    }
    data
}

pub(crate) fn line(why: Why, tag: u32, (number, count): (usize, usize), data: &[u8]) -> String {
    let mut deflate = DeflateEncoder::new(Vec::new(), Compression::best());
    deflate.write_all(&unsealed(data)).unwrap();
    let packed = deflate.finish().unwrap();
    let head = Head { why, number: number as u8, count: count as u8, tag };
    let mut to = [0; LINE_MAX];
    let len = words::write(&mut to, &head, &packed, crc32fast::hash);
    String::from_utf8(to[..len].to_vec()).unwrap()
}

/// A stream of a ring of `pieces` with 10 records each: what comes before them, and each of them.
fn stream(rig: &Rig, pieces: u64) -> (Vec<u8>, Vec<Vec<u8>>) {
    let mut b = rig.disk(&CLOCK);
    let mut ring = Ring::task(1, 3, 44, "sh");
    ring.records = 100 + 10 * pieces;
    b.ring(&ring);
    let head = as_stream(std::mem::take(&mut b.bytes));
    let mut all = Vec::new();
    for n in 0..pieces {
        let mut page = Page::new(3, 7 + n / 2, 1_000_000 * (n + 1), 100 + 10 * n);
        for i in 0..10u64 {
            page.record(1_000_000 * (n + 1) + i, 1, (&((10 * n + i) as u32), &(n << 9)));
        }
        b.page(&ring, &page);
        all.push(std::mem::take(&mut b.bytes));
    }
    (head, all)
}

/// A head without its first section, the one that the kernel writes only once.
fn without_system(head: &[u8]) -> Vec<u8> {
    let (file, sections) = head.split_at(32);
    let len = u64::from_le_bytes(sections[8..16].try_into().unwrap()) as usize;
    [file, &sections[32 + len.next_multiple_of(8)..]].concat()
}

/// The lines of an event, as the kernel makes them: each has the head, the newest piece is first.
fn event(rig: &Rig, why: Why, tag: u32) -> Vec<String> {
    let (head, mut pieces) = stream(rig, 4);
    pieces.reverse();
    let others = without_system(&head);
    let count = pieces.len();
    let of = |(n, piece): (usize, &Vec<u8>)| {
        let head = if n == 0 { &head } else { &others };
        line(why, tag, (n + 1, count), &[head, &piece[..]].concat())
    };
    pieces.iter().enumerate().map(of).collect()
}

const FORMAT: [&str; 4] = ["-s", ".", "--format", "{clock} {comm} {arg.count} {message}"];

fn console(rig: &Rig, text: impl AsRef<[u8]>) -> Said {
    rig.write("text", text);
    rig.run(&[&["text"][..], &FORMAT].concat())
}

/// What all records are when printed.
fn records(rig: &Rig) -> String {
    let (head, pieces) = stream(rig, 4);
    rig.write("stream", [head, pieces.concat()].concat());
    let out = rig.good(&[&["show", "stream"][..], &FORMAT].concat());
    // And those from before.
    assert_eq!(out.lines().count(), 41);
    out
}

#[test]
fn lines_are_found_in_any_text() {
    let rig = Rig::new();
    let (lines, expected) = (event(&rig, Why::Panic, 0xabcd), records(&rig));
    let each = |f: &dyn Fn(usize, &str) -> String| -> String {
        lines.iter().enumerate().map(|(n, line)| f(n, line)).collect()
    };
    // As a terminal breaks lines.
    let broken = |width: usize, end: &str| {
        each(&|n, line| {
            let text = format!("[   12.34567{n}] {line}");
            let parts: Vec<_> = text.as_bytes().chunks(width).collect();
            let parts = parts.iter().map(|part| String::from_utf8_lossy(part) + end);
            parts.collect()
        })
    };
    let reversed: Vec<_> = lines.iter().rev().cloned().collect();
    for text in [
        lines.join("\n"),
        reversed.join("\n"),
        each(&|n, line| format!("[   12.34567{n}] {line}\r\n")),
        each(&|_, line| format!("<3>[   12.345678][    T1] {line}\nother: words\n")),
        each(&|_, line| format!("Nov 27 18:00:01 host kernel: {line}\n")),
        each(&|_, line| format!("{{\"MESSAGE\":\"{line}\",\"PRIORITY\":\"3\"}}\n")),
        each(&|_, line| format!("\u{1b}[32m[    1.2] \u{1b}[0m\u{1b}[33m{line}\u{1b}[0m\n")),
        each(&|_, line| format!("3,1021,12345678,-;{line}\n SUBSYSTEM=acpi\n")),
        each(&|_, line| format!("blog-wordsblog-words:{line}\n"))
            .replace("blog-words:blog-words:", "blog-words blog-words:"),
        each(&|_, line| format!("{line}\n{line}\n")),
        broken(80, "\n"),
        broken(132, "\r\n"),
        format!("\0\u{fffd}\n{}\n", lines.join("\n\u{1b}[2J\u{1b}[1;1H")),
    ] {
        let said = console(&rig, &text);
        assert_eq!((said.status, &*said.err), (0, ""), "{text}");
        assert_eq!(said.out, expected, "{text}");
    }
}

#[test]
fn lines_are_found_whatever_transport_they_took() {
    let rig = Rig::new();
    let (lines, expected) = (event(&rig, Why::Panic, 0xabcd), records(&rig));
    let before = (12_000_000, "nvme0: I/O 17 QID 4 timeout, aborting req_op:READ(0) size:65536");
    let words = lines.iter().map(|line| (12_345_678, line.as_str()));
    let lines: Vec<Logged<'_>> = [before].into_iter().chain(words).chain([before]).collect();
    for transport in TRANSPORTS.iter().chain(BREAKS) {
        let said = console(&rig, (transport.file)(&lines));
        let name = transport.name;
        assert_eq!((said.status, &*said.err), (0, ""), "{name}");
        assert_eq!(said.out, expected, "{name}");
    }
}

#[test]
fn what_has_not_arrived_is_counted() {
    let rig = Rig::new();
    let (lines, expected) = (event(&rig, Why::Oops, 7), records(&rig));
    for lost in 0..lines.len() {
        let mut left = lines.clone();
        left.remove(lost);
        let said = console(&rig, left.join("\n"));
        assert_eq!(said.status, 1);
        assert!(said.err.contains("text: oops 00000007: 1 of 4 lines is missing"), "{}", said.err);
        let shown: Vec<_> = said.out.lines().filter(|l| l.contains("read")).collect();
        assert_eq!(shown.len(), 30, "{lost}: {}", said.out);
        assert!(shown.iter().all(|line| expected.contains(line)));
        // What is missing has its place, unless it is older than all others.
        let is_shown = (0..3).contains(&lost);
        assert_eq!(said.out.contains("10 records missing"), is_shown, "{}", said.out);
    }
    // Within the data, and before the checksum, for which the next line is taken then.
    for len in [200, lines[0].len() - 8] {
        let cut = format!("{}\n{}", &lines[0][..len], lines[1..].join("\n"));
        let said = console(&rig, cut);
        assert!(said.err.contains("1 of 4 lines is missing, 1 damaged line\n"), "{}", said.err);
    }
    let said = console(&rig, "nothing\nat all");
    assert_eq!((said.status, &*said.out), (2, ""));
    assert!(said.err.contains("text: not a BLog snapshot"), "{}", said.err);
}

/// As a line of one event and many, and as one that unpacks to more than the kernel packs.
#[test]
fn lines_that_no_kernel_writes_are_damaged() {
    for (number, data) in [((3, 2), vec![]), ((1, 1), vec![0; RAW_MAX + 1])] {
        let mut scan = Scan::default();
        scan.feed(line(Why::Hang, 1, number, &data).as_bytes());
        scan.end();
        assert_eq!((scan.events.len(), scan.damaged), (0, 1), "{number:?}");
    }
}

#[test]
fn a_text_has_several_events_and_boots() {
    let rig = Rig::new();
    let mut b = Builder::new();
    let a_day_later =
        CLOCK.map(|[clock, mono, boot, real]| [clock, mono, boot, real + 86_400_000_000_000]);
    b.system([9; 16])
        .clock(1, &a_day_later)
        .images(&[(1, 4, &rig.build_id, "test_mod")])
        .component(1, "disk");
    let ring = Ring::task(1, 1, 9, "other");
    let mut page = Page::new(1, 1, 5, 0);
    page.record(5, 1, (&99u32, &0u64));
    b.ring(&ring).page(&ring, &page);
    let other = line(Why::Hang, 1, (1, 1), &as_stream(b.bytes));
    let (first, second) = (event(&rig, Why::Oops, 1), event(&rig, Why::Panic, 2));
    // Two events of a boot have the same records, which are shown once; and their lines mix.
    let mixed: Vec<_> = first.iter().zip(&second).flat_map(|(a, b)| [&**a, b]).collect();
    let text = format!("{}\n[0.000000] Linux version\n{other}\n", mixed.join("\n"));
    let said = console(&rig, text);
    assert_eq!((said.status, &*said.err), (0, ""));
    let of = |comm: &str| said.out.lines().filter(|line| line.contains(comm)).count();
    assert_eq!((of(" sh "), of(" other 99 ")), (41, 1), "{}", said.out);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// A line is taken as it was written, or not at all; and pieces may be of any size.
    #[test]
    fn damage_is_noticed(at in 0usize..10_000, to in any::<u8>(), chunk in 1usize..50) {
        let data = b"some bytes of some sections";
        let good = line(Why::Hang, 0x1234, (2, 3), data);
        let mut bytes = [b"[ 1.0] ", good.as_bytes(), b"\n"].concat();
        let at = at % bytes.len();
        let is_same = bytes[at] == to || at < 7 || at == bytes.len() - 1;
        bytes[at] = to;
        let mut scan = Scan::default();
        bytes.chunks(chunk).for_each(|part| scan.feed(part));
        scan.end();
        prop_assert!(scan.events.len() as u64 + scan.damaged <= 1);
        // In place of a letter of the line, what is no letter is left out, and misses.
        if !is_same {
            prop_assert!(scan.events.is_empty(), "{}", String::from_utf8_lossy(&bytes));
        }
    }

    #[test]
    fn any_text_does_no_harm(
        parts in prop::collection::vec(prop_oneof![
            Just(b"blog-words:".to_vec()), Just(b"panic:1/5:0000abcd:".to_vec()),
            Just(b"\n".to_vec()), Just(b"\x1b[".to_vec()), Just(b":".to_vec()),
            prop::collection::vec(any::<u8>(), 0..40), Just(b"A".repeat(2000)),
        ], 0..60),
    ) {
        let mut scan = Scan::default();
        parts.iter().for_each(|part| scan.feed(part));
        scan.end();
        for event in &scan.events {
            event.stream();
        }
    }
}
