// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! How much memory files need: not more for a longer one, so much for each ring, and so much for
//! each file.
//!
//! Counts what is allocated, so the figures are the same on every machine.

use std::{
    env, fs,
    ops::Range,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    common::{
        snapshot::{Builder, Page, Ring, BOOT_ID},
        stream::as_stream,
    },
    console, heap,
};
use blog_answers::sums::Sums;
use blog_decode_core::{
    boot,
    captures::Captures,
    decode::{Decoder, Filter},
    merge::{self, Stream},
    output::text::{Style, Text},
    sidetable::{SiteMap, Tables},
    words::Scan,
};
use blog_file::snapshot::Snapshot;
use blog_table::source::Source;
use blog_wire::words::Why;

const RECORDS: u64 = 3;

fn page(ring: u32, n: u64) -> Page {
    let mut page = Page::new(ring, n + 1, 1000 * n, RECORDS * n);
    for i in 0..RECORDS {
        page.record(1000 * n + 10 * i, 1, (&(n as u32), &n));
    }
    page
}

fn begin() -> Builder {
    let mut b = Builder::new();
    b.system(BOOT_ID)
        .clock(1, &[[0; 4], [1 << 40, 1 << 40, 1 << 40, 1 << 41]])
        .images(&[(1, 10, b"id", "test")])
        .component(1, "disk");
    b
}

/// A snapshot of so many rings, of so many pages each.
fn snapshot(rings: u32, pages: u64) -> Vec<u8> {
    let mut b = begin();
    for i in 1..=rings {
        let mut ring = Ring::task(1, i, 100 + i as i32, "task");
        ring.records = RECORDS * pages;
        b.ring(&ring);
        for n in 0..pages {
            b.page(&ring, &page(i, n));
        }
    }
    b.end()
}

/// The capture of a stream of one ring; sections of the ring and of clocks are between its pages.
fn capture(pages: u64) -> Vec<u8> {
    let mut b = begin();
    let mut ring = Ring::task(1, 1, 101, "task");
    for n in 0..pages {
        if n % 5 == 0 {
            let now = 1000 * n + 1;
            b.clock(1, &[[0; 4], [now, now, now, now + 1]]);
            ring.records = RECORDS * n;
            b.ring(&ring);
        }
        b.page(&ring, &page(1, n));
    }
    as_stream(b.bytes)
}

/// The capture of a stream of so many rings: in each pass, each of them has got a piece of a page.
fn passes(rings: u32, of: Range<u64>) -> Vec<u8> {
    let mut b = begin();
    let rings: Vec<_> = (1..=rings).map(|i| Ring::task(1, i, 100 + i as i32, "task")).collect();
    for ring in &rings {
        b.ring(ring);
    }
    for n in of {
        for ring in &rings {
            let mut piece = Page::new(ring.ring, n / 10 + 1, 1000 * n, RECORDS * n);
            for i in 0..RECORDS {
                piece.record(1000 * n + 10 * i, 1, (&(n as u32), &n));
            }
            b.page(ring, &piece);
        }
    }
    as_stream(b.bytes)
}

/// A snapshot of so many rings of one record, each of which begins when the one before has ended; or,
/// if they `overlap`, when the first one does.
fn short_rings(rings: u32, overlap: bool) -> Vec<u8> {
    let mut b = begin();
    for i in 1..=rings {
        let mut ring = Ring::task(1, i, 100 + i as i32, "task");
        ring.records = 1;
        b.ring(&ring);
        let clock = 1000 * u64::from(i);
        let base = if overlap { 1000 } else { clock };
        let mut page = Page::new(i, 1, base, 0);
        page.record(clock, 1, (&i, &clock));
        b.page(&ring, &page);
    }
    b.end()
}

/// The most memory that it takes to print a file, which has so many records.
fn most_to_print(dir: &Path, bytes: Vec<u8>, records: u64) -> usize {
    let path = dir.join("snap");
    fs::write(&path, bytes).unwrap();
    heap::most_of(|| {
        let files = [Snapshot::open(&path).unwrap()];
        let streams = merge::unite(&files, |_| true);
        print(&files, &streams, records);
    })
}

/// The most memory that it takes to count and to print a file, which has so many records.
fn most(dir: &Path, bytes: Vec<u8>, records: u64) -> usize {
    let path = dir.join("snap");
    fs::write(&path, bytes).unwrap();
    heap::most_of(|| count_and_print(&[path], records))
}

fn count_and_print(paths: &[PathBuf], records: u64) {
    let files: Vec<_> = paths.iter().map(|path| Snapshot::open(path).unwrap()).collect();
    assert!(files.iter().all(|file| !file.damage.any()));
    let boots = boot::from_files(&files);
    let streams = merge::unite(&files, |_| true);
    let sums = Sums::new(&files, &streams, &boots);
    let sum: u64 = sums.rings.iter().map(|ring| ring.sum.records).sum();
    assert_eq!(sum, records);
    print(&files, &streams, records);
}

fn print(files: &[Snapshot], streams: &[Stream], records: u64) {
    let boots = boot::from_files(files);
    let map = |file: &Snapshot| SiteMap::new(&file.images, &Tables::default());
    let maps: Vec<_> = files.iter().map(map).collect();
    let filter = Filter::default();
    let mut decoder = Decoder::new(files, streams, &boots, &maps, &filter);
    let (mut text, mut out) = (Text::new(Style::default()), Vec::new());
    let (mut lines, mut clock) = (0, 0);
    decoder
        .run(|entry| {
            out.clear();
            text.entry(entry, &mut out);
            lines += 1;
            assert!(entry.clock() >= clock);
            clock = entry.clock();
            Ok::<_, ()>(())
        })
        .unwrap();
    // No loss.
    assert_eq!(lines, records);
}

/// A snapshot of one boot, taken after so many seconds, with as many pairs of clocks as a kernel
/// keeps and the rings of two tasks: one that goes on in all files and is called otherwise in each
/// second one, and one that is in this file only.
fn of_one_boot(n: u64) -> Snapshot {
    const S: u64 = 1_000_000_000;
    let mut b = Builder::new();
    let pairs: Vec<_> = (n..n + 64).map(|at| [at * S; 4]).collect();
    b.system(BOOT_ID).clock(1, &pairs).component(1, "disk");
    let names = ["a", "b"];
    for (id, seq) in [(1, n), (2 + n as u32, 0)] {
        let mut ring = Ring::task(1, id, id as i32, names[n as usize % 2]);
        ring.records = RECORDS * (seq + 1);
        b.ring(&ring).page(&ring, &page(id, seq));
    }
    Snapshot::read(format!("{n}.snap"), Source::Memory(b.end())).unwrap()
}

/// A snapshot of a machine that was started from a saved state, as others were: what it has logged
/// since is its own.
fn of_saved_state(n: u64) -> Snapshot {
    let mut b = begin();
    let mut ring = Ring::task(1, 1, 1, "task");
    let mut page = Page::new(1, 1, 0, 0);
    for i in 0..RECORDS {
        page.record(10 * i, 1, (&(i as u32), &0u64));
    }
    page.record(1000 + n, 1, (&(n as u32), &n));
    ring.records = page.records().into();
    b.ring(&ring).page(&ring, &page);
    Snapshot::read(format!("{n}.snap"), Source::Memory(b.end())).unwrap()
}

/// A snapshot of so many components with a ring each.
fn components(count: u32) -> Snapshot {
    let mut b = Builder::new();
    b.system(BOOT_ID);
    for id in 1..=count {
        b.component(id, &format!("disk{id}"));
        let mut ring = Ring::task(id, 1, 1, "task");
        ring.records = RECORDS;
        b.ring(&ring).page(&ring, &page(1, 0));
    }
    Snapshot::read("snap".into(), Source::Memory(b.end())).unwrap()
}

/// Opens files as all commands do, and unites their rings.
fn open_all(files: Vec<Snapshot>, boots: usize) {
    let captures = Captures::new(files, &[], None);
    let first = captures.boots.iter().enumerate();
    let first = first.filter(|(file, boot)| *file == boot.index);
    assert_eq!(first.count(), boots);
    assert!(captures.streams(&[]).len() >= boots);
}

/// Twice as many take at most twice as much memory, and as much work by what is allocated in all.
fn is_linear(what: &str, files: impl Fn(u32) -> Vec<Snapshot>, boots: impl Fn(usize) -> usize) {
    let of = |count: u32| {
        let (mut most, mut all) = (0, 0);
        let made = files(count);
        let boots = boots(made.len());
        all += heap::all_of(|| most = heap::most_of(|| open_all(made, boots)));
        [most, all]
    };
    // What doesn't grow is in the first.
    let [few, many, most] = [100, 400, 800].map(of);
    for (unit, n) in [("bytes at a time", 0), ("bytes in all", 1)] {
        let (few, many, most) = (few[n], many[n], most[n]);
        println!("{what}: {few}, {many}, {most} {unit}");
        // By 300 more, by 400 more: tables that double may do so in either.
        assert!(most - many <= 2 * (many - few), "{what}: {few}, {many}, {most} {unit}");
    }
}

/// In a process of its own, as allocations of other tests would count.
#[test]
fn memory_is_that_of_the_rings_and_not_of_their_length() {
    const NAME: &str = "memory::memory_is_that_of_the_rings_and_not_of_their_length";
    const ALONE: &str = "BLOG_TEST_ALONE";
    if env::var_os(ALONE).is_none() {
        let mut alone = Command::new(env::current_exe().unwrap());
        let output = alone.args(["--exact", NAME, "--nocapture"]).env(ALONE, "1").output();
        let output = output.unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        println!("{said}{}", String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && said.contains("1 passed"));
        return;
    }
    // A line unpacks to a thousand times what it is, but no line of the kernel does.
    let bomb = console::line(Why::Hang, 1, (1, 1), &[0; 512 << 10]);
    let mut scan = Scan::default();
    let peak = heap::most_of(|| {
        scan.feed(bomb.as_bytes());
        scan.end();
    });
    assert!(peak < 128 << 10 && scan.damaged == 1, "{peak}");
    let each = |make: fn(u64) -> Snapshot| {
        move |count: u32| (0..count).map(|n| make(n.into())).collect::<Vec<_>>()
    };
    is_linear("files of one boot", each(of_one_boot), |_| 1);
    is_linear("machines of one saved state", each(of_saved_state), |n| n);
    let of_many = |count| vec![components(10 * count)];
    is_linear("components of one file", of_many, |_| 1);
    /// Buffers may grow once more.
    const ROOM: usize = 4 << 10;
    let dir = tempfile::tempdir().unwrap();
    let short_and_long = |rings: u32| {
        let of = |pages: u64| {
            let records = RECORDS * pages * u64::from(rings);
            most(dir.path(), snapshot(rings, pages), records)
        };
        let (short, long) = (of(300), of(3000));
        println!("{rings} rings: {short} bytes, {long} bytes for 10 times the length");
        assert!(long <= short + ROOM, "{rings} rings: {short}, {long}");
        long
    };
    let (one, many) = (short_and_long(1), short_and_long(16));
    // A page, a cursor and what is known of the ring.
    assert!(many <= one + 15 * (8 << 10), "{one}, {many}");
    // A million rings take less than 500 MiB.
    for overlap in [false, true] {
        let of = |rings| most_to_print(dir.path(), short_rings(rings, overlap), rings.into());
        // On either side of these, hash tables grow. Of so many, not all can be open at once.
        let (few, many) = (of(28_000), of(56_000));
        println!("rings of one record: {} bytes each", (many - few) / 28_000);
        assert!((many - few) / 28_000 < (500 << 20) / 1_000_000, "{overlap}: {few}, {many}");
    }
    let of = |pages| most(dir.path(), capture(pages), RECORDS * pages);
    let (short, long) = (of(300), of(3000));
    println!("a capture: {short} bytes, {long} bytes for 10 times the length");
    // A capture's pairs of clocks are kept, up to 4096 of them: here, one in five pages has one.
    let pairs = (3000 - 300) / 5 * 400;
    assert!(long <= short + ROOM + pairs, "{short}, {long}");

    /// So many bytes do places of pieces take in memory, or fewer, by where the file ends.
    const PLACES: usize = 256 << 10;
    // One that is alone, and two of a recording, of which the second goes on within a page.
    let rings = 16;
    for cut in [None, Some(755)] {
        let of = |passes_in_all: u64| {
            let ends: Vec<u64> = [0].into_iter().chain(cut).chain([passes_in_all]).collect();
            let parts: Vec<_> = ends.windows(2).map(|ends| ends[0]..ends[1]).collect();
            let path = |n| dir.path().join(format!("blog.{n:06}.stream"));
            let paths: Vec<_> = (1..=parts.len()).map(path).collect();
            for (path, part) in paths.iter().zip(parts) {
                fs::write(path, passes(rings, part)).unwrap();
            }
            let records = RECORDS * u64::from(rings) * passes_in_all;
            heap::most_of(|| count_and_print(&paths, records))
        };
        // All of these have so many pieces that not all places of them are in memory.
        let (short, long) = (of(3000), of(12_000));
        println!("pieces of {rings} rings: {short} bytes, {long} bytes for 4 times the length");
        assert!(long <= short + PLACES, "{cut:?}: {short}, {long}");
    }
}
