// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Streams as they come: order, ends, losses, and the command `follow`.

use std::{
    collections::HashMap,
    fs,
    io::{BufRead, BufReader, Read, Write},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use crate::common::{
    image,
    snapshot::{Builder, Page, Ring},
    stream::{as_stream, begin, clock, piece, Rings, SECOND},
};
use blog_decode_core::{
    live::Live,
    merge::{Cause, EventKind},
    sidetable::read_table,
};
use blog_wire::record::Lost;
use proptest::prelude::*;
use rustix::time::{clock_gettime, ClockId};

/// What a stream gives, fed in pieces of `chunk` bytes: (pid, ordinal, clock) of each record.
fn live(bytes: &[u8], chunk: usize, idle: bool) -> Vec<(i32, u64, u64)> {
    let want = |_: &str| true;
    let mut live = Live::new(vec!["test".into()], &want);
    let mut all = Vec::new();
    let mut take = |live: &mut Live<'_>| {
        while live.advance() {
            let (event, _) = live.event().unwrap();
            if let EventKind::Record { ordinal, .. } = event.kind {
                all.push((event.writer.task.unwrap().pid, ordinal, event.clock));
            }
        }
    };
    for part in bytes.chunks(chunk) {
        live.feed(0, part).unwrap();
        take(&mut live);
        if idle {
            live.idle(0);
            take(&mut live);
        }
    }
    live.end(0);
    take(&mut live);
    assert!(!live.files[0].damage.any(), "{:?}", live.files[0].damage);
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A reader goes from ring to ring while all of them are written to; what it gives is in the
    /// order of time however the bytes are cut, and each record is there once.
    #[test]
    fn all_comes_once_and_in_order(
        rings in 1u32..6,
        logs in prop::collection::vec((0u32..6, 0u32..4), 1..400),
        chunk in 1usize..3000,
        every in 1usize..20,
    ) {
        let mut r = Rings::new(begin(&[b"id"], 1), rings);
        let (mut clock, mut at) = (1000, 0);
        let mut expected = Vec::new();
        let mut counts = vec![0u64; r.len()];
        for (i, (ring, step)) in logs.iter().enumerate() {
            clock += 1 + u64::from(*step);
            let ring = *ring as usize % r.len();
            r.log(ring, clock);
            expected.push((100 + ring as i32, counts[ring], clock));
            counts[ring] += 1;
            if i % every == 0 {
                // The reader gets to the next ring.
                r.read(at);
                at = (at + 1) % r.len();
            }
        }
        // It is on its way while nothing is logged any more.
        for i in at..at + r.len() {
            let i = i % r.len();
            r.read(i);
        }
        let bytes = as_stream(r.builder.bytes);
        prop_assert_eq!(live(&bytes, chunk, false), expected);
    }
}

#[test]
fn rings_that_change_hands_are_read_to_their_ends() {
    let mut b = begin(&[b"id"], 1);
    let mut expected = Vec::new();
    for (n, pid) in (0u64..).zip(200..230) {
        let mut ring = Ring::task(1, 3, pid, "task");
        ring.lost[0] = 1;
        b.ring(&ring);
        let clocks = [2000 + 10 * n, 2001 + 10 * n];
        b.page(&ring, &piece(3, 1 + n, 0, &clocks));
        expected.extend([(pid, 0, clocks[0]), (pid, 1, clocks[1])]);
    }
    let bytes = as_stream(b.bytes);
    assert_eq!(live(&bytes, 64, false), expected);
    assert_eq!(live(&bytes, bytes.len(), true), expected);
}

#[test]
fn what_is_damaged_is_passed_over() {
    let mut b = begin(&[b"id"], 1);
    let ring = Ring::task(1, 3, 7, "dd");
    b.ring(&ring).page(&ring, &piece(3, 1, 0, &[2000, 2001]));
    let from = b.bytes.len();
    b.page(&ring, &piece(3, 1, 2, &[2002]));
    let to = b.bytes.len();
    b.page(&ring, &piece(3, 1, 3, &[2003]));
    let mut bytes = as_stream(b.bytes);
    bytes[from..to].fill(0x55);
    let want = |_: &str| true;
    let mut live = Live::new(vec!["test".into()], &want);
    live.feed(0, &bytes).unwrap();
    live.end(0);
    let mut seen = Vec::new();
    while live.advance() {
        seen.push(match live.event().unwrap().0.kind {
            EventKind::Record { ordinal, .. } => ("record", ordinal),
            EventKind::Loss { count, .. } => ("lost", count),
            EventKind::Line { .. } => unreachable!(),
        });
    }
    assert_eq!(seen, [("record", 0), ("record", 1), ("lost", 1), ("record", 3)]);
    assert_eq!(live.files[0].damage.skipped_bytes, (to - from) as u64);
    assert_eq!(live.files[0].damage.lost_sections, 1);
}

/// The section of the page that is next says it: that stays in memory.
#[test]
fn what_the_reader_has_missed_counts_after_pages_are_dropped() {
    let mut b = begin(&[b"id"], 1);
    let rings = [3, 4].map(|id| Ring::task(1, id, 40 + id as i32, "fio"));
    b.ring(&rings[0]).ring(&rings[1]);
    // Each piece comes after 5 records that the reader has missed.
    let passes = 1000;
    for n in 0..passes {
        for ring in &rings {
            let clocks: Vec<u64> = (0..90).map(|i| 1000 * (n + 1) + i).collect();
            let page = piece(ring.ring, 1 + n, 95 * n + 5, &clocks);
            b.page_after(ring, &page, page.records(), 95 * n);
        }
    }
    let bytes = as_stream(b.bytes);
    // Memory is tidied several times.
    assert!(bytes.len() > 3 << 20);
    let want = |_: &str| true;
    let mut live = Live::new(vec!["test".into()], &want);
    let mut lost = HashMap::new();
    let mut take = |live: &mut Live<'_>| {
        while live.advance() {
            if let EventKind::Loss { cause, count, .. } = live.event().unwrap().0.kind {
                *lost.entry(format!("{cause:?}")).or_insert(0) += count;
            }
        }
    };
    for part in bytes.chunks(4096) {
        live.feed(0, part).unwrap();
        take(&mut live);
    }
    live.end(0);
    take(&mut live);
    let missed = format!("{:?}", Cause::Told(Lost::ReaderLag as u8));
    assert_eq!(lost, [(missed, 2 * 5 * passes)].into());
}

/// Each page of a stream whose pages come in the backward order of rings ends a pass. That has not
/// all rings gone through again.
#[test]
fn time_is_that_of_the_sections_whatever_their_order() {
    const RINGS: u32 = 10_000;
    let now = || {
        let now = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
    };
    let took = |id: &dyn Fn(u32) -> u32| {
        let mut b = begin(&[b"id"], 1);
        for n in 1..=RINGS {
            let ring = Ring::task(1, id(n), n as i32, "task");
            b.ring(&ring).page(&ring, &piece(id(n), 1, 0, &[u64::from(1000 + n)]));
        }
        let bytes = as_stream(b.bytes);
        let start = now();
        assert_eq!(live(&bytes, 512, false).len(), RINGS as usize);
        now() - start
    };
    let (forward, backward) = (took(&|n| n), took(&|n| RINGS - n));
    println!("{forward:?} forward, {backward:?} backward");
    assert!(backward < 8 * forward, "{forward:?}, {backward:?}");
}

struct Rig {
    dir: tempfile::TempDir,
    ko: PathBuf,
    id: Vec<u8>,
}

fn rig() -> Rig {
    let dir = tempfile::tempdir().unwrap();
    let ko = image::module(dir.path(), "test-mod.ko", "one");
    let id = read_table(&ko, |_| true).unwrap().unwrap().build_id;
    Rig { dir, ko, id }
}

impl Rig {
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_blog-decode"));
        command
            .args(args)
            .args(["--modules", "nowhere", "-s"])
            .arg(&self.ko)
            .current_dir(self.dir.path())
            .stdin(Stdio::null());
        command
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Rings that are read in passes, with losses and a second image.
fn capture(id: &[u8]) -> Vec<u8> {
    let mut r = Rings::new(begin(&[id], SECOND), 3);
    for n in 0..300u64 {
        r.log(n as usize % 3, SECOND + 1000 * n);
        if n % 50 == 49 {
            for i in 0..3 {
                r.read(i);
            }
            clock(&mut r.builder, SECOND + 1000 * n);
        }
    }
    let late = Ring::task(1, 9, 300, "late");
    let mut p = Page::new(9, 4, 2 * SECOND, 20);
    p.lost(2 * SECOND, 4, 5);
    p.record(2 * SECOND, 1, (&7u32, &8u64));
    r.builder.ring(&late).page(&late, &p);
    as_stream(r.builder.bytes)
}

#[test]
fn a_capture_is_followed_to_its_end_as_show_shows_it() {
    let rig = rig();
    fs::write(rig.path("capture"), capture(&rig.id)).unwrap();
    for args in [
        &[][..],
        &["--json"],
        &["--csv", "--pid", "101"],
        &["-w", "arg.0 > 90", "-B", "1"],
        &["--format", "{time} {message}", "--since", "1.0001"],
    ] {
        let show = rig.command(&[&["show", "capture"], args].concat()).output().unwrap();
        assert!(show.stdout.len() > 500, "{args:?}: {show:?}");
        let follow = rig.command(&[&["-f", "capture"], args].concat());
        let follow = { follow }.output().unwrap();
        assert_eq!(text(&follow.stdout), text(&show.stdout), "{args:?}");
        assert_eq!(follow.status.code(), Some(0));
        let summary = text(&follow.stderr);
        assert!(summary.contains(" of 301 records shown in "), "{summary}");
        assert!(summary.contains("lost: 5 reader-lag"), "{summary}");
    }
}

/// A program that follows a FIFO.
struct Following {
    child: Child,
    pipe: fs::File,
    lines: BufReader<std::process::ChildStdout>,
}

impl Following {
    fn new(rig: &Rig, name: &str, args: &[&str]) -> Self {
        let fifo = rig.path(name);
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let mut child = rig
            .command(&[&["-f", name], args].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Waits for the other end.
        let pipe = fs::OpenOptions::new().write(true).open(fifo).unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, pipe, lines }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line
    }

    /// The rest of its output, what it says at last, and its exit status.
    fn end(mut self) -> (String, String, Option<i32>) {
        let (mut out, mut err) = (String::new(), String::new());
        self.lines.read_to_string(&mut out).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        (out, err, self.child.wait().unwrap().code())
    }
}

fn sections(b: &mut Builder) -> Vec<u8> {
    std::mem::take(&mut b.bytes)
}

#[test]
fn records_are_there_as_they_come_and_a_signal_ends_it_cleanly() {
    let rig = rig();
    let mut f = Following::new(&rig, "fifo", &[]);
    let mut b = begin(&[&rig.id], SECOND);
    let ring = Ring::task(1, 3, 42, "dd");
    b.ring(&ring).page(&ring, &piece(3, 1, 0, &[SECOND]));
    f.pipe.write_all(&as_stream(sections(&mut b))).unwrap();
    // The pipe is open, and nothing more comes.
    assert_eq!(f.line(), "[    1.000000] info  disk dd[42]: read 0 sectors at 0x3b9aca00\n");
    // A module is loaded: its table is looked for now.
    b.images(&[(5, 4, &[9; 20], "new_mod")]);
    let mut page = piece(3, 1, 1, &[]);
    page.record(2 * SECOND, 5, ());
    b.page(&ring, &page);
    f.pipe.write_all(&sections(&mut b)).unwrap();
    let line = f.line();
    assert!(line.contains("site 0 of new_mod, no side table"), "{line}");
    // Half a section, and then a signal.
    b.page(&ring, &piece(3, 1, 2, &[3 * SECOND]));
    let rest = sections(&mut b);
    f.pipe.write_all(&rest[..rest.len() / 2]).unwrap();
    let pid = f.child.id().to_string();
    // By the shell's own command: a small system has no other.
    assert!(Command::new("sh").args(["-c", "kill -INT $0", &pid]).status().unwrap().success());
    let (out, err, status) = f.end();
    assert_eq!(out, "");
    assert!(err.contains("1 records of new_mod not decoded"), "{err}");
    assert!(err.contains("2 of 2 records shown"), "{err}");
    assert_eq!(status, Some(1));
}

#[test]
fn the_end_of_a_stream_is_no_error_and_only_new_records_are_new() {
    let rig = rig();
    let mut f = Following::new(&rig, "fifo", &["--new"]);
    let mut b = begin(&[&rig.id], 5 * SECOND);
    let ring = Ring::task(1, 3, 42, "dd");
    b.ring(&ring).page(&ring, &piece(3, 1, 0, &[SECOND, 6 * SECOND]));
    clock(&mut b, 7 * SECOND);
    b.page(&ring, &piece(3, 1, 2, &[7 * SECOND]));
    f.pipe.write_all(&as_stream(b.end())).unwrap();
    drop(std::mem::replace(&mut f.pipe, fs::File::open("/dev/null").unwrap()));
    let (out, err, status) = f.end();
    let times: Vec<_> = out.lines().map(|l| &l[..14]).collect();
    assert_eq!(times, ["[    6.000000]", "[    7.000000]"], "{err}");
    assert!(err.contains("2 of 3 records shown"), "{err}");
    assert_eq!(status, Some(0));
}

#[test]
fn it_ends_when_nobody_reads_it_any_more() {
    let rig = rig();
    let mut f = Following::new(&rig, "fifo", &[]);
    let mut b = begin(&[&rig.id], SECOND);
    let ring = Ring::task(1, 3, 42, "dd");
    b.ring(&ring).page(&ring, &piece(3, 1, 0, &[SECOND]));
    f.pipe.write_all(&as_stream(sections(&mut b))).unwrap();
    assert!(f.line().contains("read 0 sectors"));
    // As "head -1" does; the stream stays open, and nothing comes.
    drop(f.lines);
    let mut waited = 0;
    while f.child.try_wait().unwrap().is_none() {
        assert!(waited < 200, "it still waits");
        waited += 1;
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(f.child.wait().unwrap().code(), Some(0));
}
