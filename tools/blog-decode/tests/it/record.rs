// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! `record` while something else happens; `../commands/record.txt` has what it writes. Rotation of
//! a real stream is tried in a guest, by the suite `live`.

use std::{
    env, fs,
    io::Write,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Child, Command, Stdio},
};

use crate::common::{
    rig::{Rig, Said},
    snapshot::{Builder, Page, Ring, BOOT_ID},
    stream::{as_stream, begin, clock, piece, SECOND},
};
use blog_decode_core::sidetable::read_table;
use blog_file::snapshot::{split::Split, Snapshot};
use blog_table::{descriptor::Site, format::Table, source::Source};
use blog_wire::{
    file::Kind,
    record::{Lost, LOST_CAUSES},
};

fn rig() -> Rig {
    let rig = Rig::new();
    let ko = rig.path("test-mod.ko");
    let table = read_table(&ko, |_| true).unwrap().unwrap();
    rig.write(TABLE, table.encode().unwrap());
    // Nothing is beside what is read.
    fs::remove_file(ko).unwrap();
    rig
}

const TABLE: &str = "lib/7.3.4/blog/test_mod.blogfmt";

fn record(rig: &Rig, args: &[&str]) -> Said {
    rig.run(&[&["record", "--modules", "lib", "-o", "out"], args].concat())
}

/// Records of which the ordinals and clocks are these.
fn captured(rig: &Rig, first: u64, clocks: &[u64]) -> Vec<u8> {
    let mut b = begin(&[&rig.build_id], SECOND);
    let ring = Ring::task(1, 3, 42, "dd");
    b.ring(&ring).page(&ring, &piece(3, 1, first, clocks));
    as_stream(b.bytes)
}

fn names(rig: &Rig, dir: &str) -> Vec<String> {
    let entries = fs::read_dir(rig.path(dir)).unwrap();
    let mut names: Vec<_> =
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The table of a probe comes with its records.
#[test]
fn the_table_of_a_probe_is_not_missed() {
    let rig = rig();
    let site = Site { line: 1, level: 3, format: "called".into(), is_c: true, ..Site::default() };
    let table = Table {
        build_id: b"probe's".to_vec(),
        name: "probe".into(),
        sites: vec![site],
        ..Table::default()
    };
    let mut b = Builder::new();
    b.system(BOOT_ID);
    clock(&mut b, SECOND);
    b.section(10, &table.encode().unwrap());
    b.images(&[(1, 1, b"probe's", "probe")]).component(1, "disk");
    let ring = Ring::task(1, 3, 42, "dd");
    let mut page = Page::new(3, 1, SECOND, 0);
    page.record(SECOND, 1, ());
    b.ring(&ring).page(&ring, &page);
    rig.write("a", as_stream(b.bytes));
    let out = record(&rig, &["a"]);
    assert_eq!(out.status, 0, "{out:?}");
    assert!(!out.err.contains("table"), "{out:?}");
    assert!(rig.good(&["--modules", "nowhere", "out"]).contains("dd[42]: called"));
    // A recording, in which the table comes later, is recorded again.
    let again = ["record", "--modules", "nowhere", "-o", "again", "out/blog.000001.stream"];
    let out = rig.run(&again);
    assert_eq!(out.status, 0, "{out:?}");
}

#[test]
fn snapshots_are_taken_until_the_limit_and_the_oldest_go() {
    let rig = rig();
    let clocks: Vec<u64> = (0..90).map(|n| SECOND + n).collect();
    let mut b = begin(&[&rig.build_id], SECOND);
    let ring = Ring::task(1, 3, 42, "dd");
    b.ring(&ring).page(&ring, &piece(3, 1, 0, &clocks));
    let snapshot = b.end();
    rig.write("snap", &snapshot);
    let table = fs::metadata(rig.path(TABLE)).unwrap().len() as usize;
    let limit = ((snapshot.len() + table) * 3 + 300).to_string();
    let args = ["snap", "--every", "0.02", "--duration", "0.5", "--size", &limit];
    let out = record(&rig, &args);
    assert_eq!(out.status, 0, "{out:?}");
    let names = names(&rig, "out");
    // How many there were depends on the machine. On the slowest, there was one.
    let taken: Vec<_> = names.iter().filter(|n| n.ends_with(".snapshot")).collect();
    assert!((1..=3).contains(&taken.len()), "{names:?}");
    for name in taken {
        let out = rig.run(&["--modules", "nowhere", "--count", &format!("out/{name}")]);
        assert_eq!((out.status, &*out.out), (0, "90\n"), "{out:?}");
    }
    // One that alone is larger is an error; what was there before goes.
    let out = record(&rig, &["snap", "--every", "1", "--size", "1k"]);
    assert_eq!(out.status, 2, "{out:?}");
    assert!(out.err.contains("a single file is larger than --size"), "{out:?}");
}

/// Starts to record from a pipe, and waits until what was written to that is in a file.
fn record_from_pipe(rig: &Rig, bytes: &[u8], args: &[&str]) -> (Child, fs::File) {
    assert!(Command::new("mkfifo").arg(rig.path("fifo")).status().unwrap().success());
    let all = [&["record", "--modules", "lib", "-o", "out", "fifo"], args].concat();
    let child = rig.command(&all).stderr(Stdio::piped()).spawn().unwrap();
    let mut pipe = fs::OpenOptions::new().write(true).open(rig.path("fifo")).unwrap();
    pipe.write_all(bytes).unwrap();
    let part = rig.path("out/blog.000001.part");
    while !fs::metadata(&part).is_ok_and(|m| m.len() > bytes.len() as u64) {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    (child, pipe)
}

/// Nothing is closed: the tables are there, and nobody else can read anything.
#[test]
fn what_was_written_before_it_was_killed_decodes() {
    let rig = rig();
    let capture = captured(&rig, 0, &[SECOND, SECOND + 1]);
    let (mut child, _pipe) = record_from_pipe(&rig, &capture, &[]);
    // Nobody else records to the same directory meanwhile.
    let out = record(&rig, &["/dev/null"]);
    assert_eq!(out.status, 2);
    assert!(out.err.contains("another program is recording"));
    child.kill().unwrap();
    child.wait().unwrap();
    let mode = |name: &str| fs::metadata(rig.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(["out", "out/blog.000001.part"].map(mode), [0o700, 0o600]);
    let out = rig.run(&["--modules", "nowhere", "out"]);
    assert_eq!(out.status, 0, "{out:?}");
    assert_eq!(out.out.lines().count(), 2);
    // The next one takes its file over, and counts it.
    rig.write("a", captured(&rig, 2, &[SECOND + 2]));
    let table = fs::metadata(rig.path(TABLE)).unwrap().len() as usize;
    let out = record(&rig, &["a", "--size", &(capture.len() + table + 100).to_string()]);
    assert_eq!(out.status, 0, "{out:?}");
    assert_eq!(names(&rig, "out"), ["blog.000002.stream"]);
}

/// Each file of a stream that is cut decodes alone, and together they have all of it once.
#[test]
fn a_pipe_is_cut_into_files() {
    let rig = rig();
    let (first, second) = (Ring::task(1, 3, 42, "dd"), Ring::task(1, 4, 43, "cp"));
    let mut b = begin(&[&rig.build_id], SECOND);
    b.ring(&first).ring(&second);
    for n in 0..40u64 {
        let clocks: Vec<u64> = (0..10).map(|i| SECOND + 10 * n + i).collect();
        let ring = if n % 2 == 0 { &first } else { &second };
        b.page(ring, &piece(ring.ring, 1 + n / 12, 10 * (n / 2), &clocks));
        if n == 20 {
            // Another task gets the ring.
            b.ring(&Ring::task(1, 4, 44, "mv"));
        }
    }
    let capture = as_stream(b.bytes);
    let recorded = |out, limit: &[&str]| {
        let args = [&["record", "--modules", "lib", "-o", out], limit, &["-"]].concat();
        let mut child = rig.command(&args).stdin(Stdio::piped()).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        for bytes in capture.chunks(100) {
            pipe.write_all(bytes).unwrap();
            pipe.flush().unwrap();
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        drop(pipe);
        assert!(child.wait().unwrap().success());
        names(&rig, out)
    };
    // A file of which there is one can't go: none takes more than half of what all may.
    let left = recorded("small", &["--size", "10k"]);
    assert!(!left.iter().any(|name| name == "blog.000001.stream"), "{left:?}");
    let names = recorded("out", &["--file-size", "2k"]);
    let files: Vec<_> = names.iter().filter(|n| n.ends_with(".stream")).collect();
    // Of what comes at once, one file is made: on a busy machine, that is more.
    assert!(files.len() > 1, "{names:?}");
    let show = |path: &Path| {
        let path = path.to_str().unwrap();
        let mut args = vec!["--modules", "nowhere", "--format", "{pid} {message}", path];
        // Nothing else has one.
        args.extend(if path == "whole" { vec!["-s", TABLE] } else { vec![] });
        let out = rig.run(&args);
        assert_eq!(out.status, 0, "{out:?}");
        assert!(out.err.is_empty(), "{out:?}");
        let lines = out.out;
        let records = lines.lines().filter(|l| l.contains(" read "));
        records.map(str::to_owned).collect::<Vec<_>>()
    };
    rig.write("whole", &capture);
    let whole = show(Path::new("whole"));
    assert_eq!(whole.len(), 400);
    assert_eq!(show(Path::new("out")), whole);
    let alone: Vec<_> = files.iter().flat_map(|f| show(&Path::new("out").join(f))).collect();
    assert_eq!(alone, whole);
}

/// Of a stream that is cut into two files: what the second says of rings that were taken from their
/// tasks, wherever the cut is.
#[test]
fn a_further_file_counts_nothing_that_earlier_ones_have() {
    let gone = |bytes: &[u8]| {
        let source = Source::Memory(bytes.to_vec());
        let file = Snapshot::read("test".into(), source).unwrap();
        assert!(!file.damage.any());
        let component = &file.components[&1];
        (component.gone_records, component.lost)
    };
    let lost = |full: u64, lag: u64| {
        let mut lost = [0; LOST_CAUSES];
        (lost[Lost::Full as usize], lost[Lost::ReaderLag as usize]) = (full, lag);
        lost
    };
    let mut b = Builder::new();
    b.system(BOOT_ID);
    clock(&mut b, SECOND);
    // Before the stream began, 10 records had gone, and 4 were lost.
    b.component_of(1, "disk", 10, lost(4, 0), 0);
    let mut ring = Ring::task(1, 3, 42, "dd");
    ring.lost = lost(3, 0);
    b.ring(&ring).page(&ring, &piece(3, 1, 0, &[SECOND, SECOND + 1]));
    let mut cuts = vec![(b.bytes.len(), (10, lost(4, 0)))];
    b.released(1, 3, 2);
    cuts.push((b.bytes.len(), (10, lost(4, 0))));
    // Of 7 records that have gone since, 5 are in no ring of the stream; of 4 losses, one isn't.
    b.component_of(1, "disk", 17, lost(8, 0), 0);
    cuts.push((b.bytes.len(), (10, lost(5, 5))));
    let second = Ring::task(1, 3, 43, "cp");
    b.ring(&second).page(&second, &piece(3, 2, 0, &[2 * SECOND]));
    cuts.push((b.bytes.len(), (10, lost(5, 5))));
    b.released(1, 3, 1).component_of(1, "disk", 18, lost(8, 0), 0);
    let stream = as_stream(b.bytes);
    assert_eq!(gone(&stream), (10, lost(5, 5)));
    for (cut, expected) in cuts {
        let (mut split, mut first) = (Split::default(), Vec::new());
        split.feed(&stream[..cut], &mut first).unwrap();
        assert_eq!(first, stream[..cut]);
        let mut second = split.next_file();
        assert_eq!(gone(&second), expected, "{cut}");
        split.feed(&stream[cut..], &mut second).unwrap();
        assert_eq!(gone(&second), gone(&stream), "{cut}");
    }
}

/// A snapshot whose table is found while it is read has an end.
#[test]
fn a_table_in_front_of_the_end_cuts_nothing_off() {
    let mut b = begin(&[&[7; 20]], SECOND);
    let whole = b.end();
    for cut in (0..whole.len()).step_by(8) {
        let (mut split, mut held) = (Split::default(), Vec::new());
        split.feed(&whole[..cut], &mut held).unwrap();
        if split.has_begun() {
            split.add(Kind::SideTable, b"table", &mut held).unwrap();
        }
        split.feed(&whole[cut..], &mut held).unwrap();
        assert!(!split.end().unwrap().1.any(), "{cut}");
        let file = Snapshot::read("held".into(), Source::Memory(held)).unwrap();
        assert!(!file.damage.any(), "{cut}: {:?}", file.damage);
    }
}

/// The search for a table is given up; the records are there.
#[test]
fn a_search_that_takes_too_long_is_given_up() {
    let rig = rig();
    let capture = captured(&rig, 0, &[SECOND]);
    rig.write("a", &capture);
    let find = rig.path("debuginfod-find");
    fs::write(&find, "#!/bin/sh\nexec sleep 60\n").unwrap();
    fs::set_permissions(&find, fs::Permissions::from_mode(0o755)).unwrap();
    let path = env::var("PATH").unwrap();
    let mut command = rig.command(&["record", "--modules", "nowhere", "-o", "out", "a"]);
    command
        .env("DEBUGINFOD_URLS", "http://nowhere")
        .env("PATH", format!("{}:{path}", rig.path("").display()));
    let out = Said::of(&mut command);
    assert_eq!(out.status, 1);
    let said = out.err;
    assert!(said.contains("given up after 10 s"), "{said}");
    assert_eq!(fs::read(rig.path("out/blog.000001.stream")).unwrap(), capture);
}

#[test]
fn a_signal_ends_it_with_a_whole_file() {
    let rig = rig();
    let capture = captured(&rig, 0, &[SECOND]);
    let (child, _pipe) = record_from_pipe(&rig, &capture, &[]);
    let pid = child.id().to_string();
    // By the shell's own command: a small system has no other.
    assert!(Command::new("sh").args(["-c", "kill -TERM $0", &pid]).status().unwrap().success());
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(0), "{out:?}");
    let out = rig.run(&["--modules", "nowhere", "--count", "out"]);
    assert_eq!((out.status, &*out.out), (0, "1\n"), "{out:?}");
}

#[test]
#[ignore = "mounts: tests/suites/test_host.py runs it where that is allowed"]
fn a_full_disk_costs_the_oldest_files_first() {
    // A file system of a megabyte, where this makes a namespace in which it may be mounted
    let unshare = env::var("BLOG_UNSHARE").unwrap();
    let rig = rig();
    fs::create_dir(rig.path("out")).unwrap();
    let script = "mount -t tmpfs -o size=1m none out && \
                  for i in 1 2 3 4 5 6 7 8 9 10 11 12; do \"$0\" record --modules lib -o out big || exit; done && \
                  ls out && \"$0\" stats --modules nowhere out && rm out/blog.* && \
                  ! \"$0\" record --modules lib -o out huge && \
                  \"$0\" --modules nowhere out | grep -c sectors";
    for (name, pages) in [("big", 60), ("huge", 1000)] {
        let mut b = begin(&[&rig.build_id], SECOND);
        let ring = Ring::task(1, 3, 42, "dd");
        b.ring(&ring);
        for n in 0..pages {
            let clocks: Vec<u64> = (0..100).map(|i| SECOND + 100 * n + i).collect();
            b.page(&ring, &piece(3, 1 + n, 100 * n, &clocks));
        }
        rig.write(name, as_stream(b.bytes));
    }
    let mut command = Command::new("unshare");
    let command = command
        .args(unshare.split(' '))
        .args(["sh", "-c", script, env!("CARGO_BIN_EXE_blog-decode")])
        .current_dir(rig.path(""));
    let out = Said::of(command);
    assert_eq!(out.status, 0, "{out:?}");
    assert!(out.err.contains("the disk is full: the oldest file is removed"), "{out:?}");
    let shown = &out.out;
    assert!(
        shown.contains("blog.000012.stream") && !shown.contains("blog.000001.stream"),
        "{shown}"
    );
    assert!(shown.contains("disk              1     6000"), "{shown}");
    // What had room of one that is larger than the disk decodes, and nothing of it is damaged.
    let decoded: u64 = shown.lines().last().unwrap().parse().unwrap();
    assert!((30_000..60_000).contains(&decoded), "{shown}");
    assert!(!out.err.contains("damaged"), "{out:?}");
}
