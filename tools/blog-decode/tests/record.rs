// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! `record`, and the directories that it writes. Rotation of a real stream is tried in a guest, by
//! the suite `live`.

mod common;

use std::{
    env, fs,
    io::Write,
    os::unix::fs::{symlink, PermissionsExt},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use blog_decode::sidetable::read_table;
use common::{
    image,
    snapshot::Ring,
    stream::{as_stream, begin, piece, SECOND},
};
use rustix::fs::{flock, FlockOperation};

struct Rig {
    dir: tempfile::TempDir,
    id: Vec<u8>,
}

fn rig() -> Rig {
    let dir = tempfile::tempdir().unwrap();
    let tables = dir.path().join("lib/7.3.4/blog");
    fs::create_dir_all(&tables).unwrap();
    let ko = image::module(dir.path(), "test-mod.ko", "one");
    let table = read_table(&ko, |_| true).unwrap().unwrap();
    fs::write(tables.join("test_mod.blogfmt"), table.encode().unwrap()).unwrap();
    // Nothing is beside what is read.
    fs::remove_file(ko).unwrap();
    Rig {
        dir,
        id: table.build_id,
    }
}

impl Rig {
    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_blog-decode"));
        command
            .args(args)
            .current_dir(self.dir.path())
            .stdin(Stdio::null());
        command
    }

    fn record(&self, args: &[&str]) -> Output {
        let all = [&["record", "--modules", "lib", "-o", "out"], args].concat();
        self.command(&all).output().unwrap()
    }

    /// Records of which the ordinals and clocks are these.
    fn capture(&self, first: u64, clocks: &[u64]) -> Vec<u8> {
        let mut b = begin(&[&self.id], SECOND);
        let ring = Ring::task(1, 3, 42, "dd");
        b.ring(&ring).page(&ring, &piece(3, 1, first, clocks));
        as_stream(b.bytes)
    }

    fn names(&self, dir: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(dir)).unwrap();
        let mut names: Vec<_> = entries
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_recording_decodes_where_there_are_no_tables() {
    let rig = rig();
    fs::write(rig.path("a"), rig.capture(0, &[SECOND, SECOND + 1])).unwrap();
    // The next one has what the first has, and more.
    fs::write(
        rig.path("b"),
        rig.capture(0, &[SECOND, SECOND + 1, SECOND + 2]),
    )
    .unwrap();
    for file in ["a", "b"] {
        let out = rig.record(&[file]);
        assert_eq!(out.status.code(), Some(0), "{out:?}");
        assert!(text(&out.stderr).contains("1 files, "), "{out:?}");
    }
    let names = ["blog.000001.stream", "blog.000002.stream", "tables"];
    assert_eq!(rig.names("out"), names);
    assert_eq!(rig.names("out/tables").len(), 1);
    fs::rename(rig.path("out"), rig.path("elsewhere")).unwrap();
    let run = |args: &[&str]| rig.command(args).output().unwrap();
    let out = run(&["--modules", "nowhere", "elsewhere"]);
    assert_eq!(out.status.code(), Some(0), "{out:?}");
    let lines: Vec<_> = text(&out.stdout).lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines[2].contains("dd[42]: read 2 sectors at"), "{lines:?}");
    let out = run(&["stats", "--modules", "nowhere", "elsewhere"]);
    assert!(
        text(&out.stdout).contains("disk                 1           3"),
        "{out:?}"
    );
}

#[test]
fn what_a_dead_machine_was_writing_is_used() {
    let rig = rig();
    rig.record(&["/dev/null"]);
    assert_eq!(rig.names("out"), ["tables"]);
    let capture = rig.capture(0, &[SECOND]);
    fs::write(
        rig.path("out/blog.000007.part"),
        &capture[..capture.len() - 3],
    )
    .unwrap();
    fs::write(rig.path("a"), rig.capture(1, &[2 * SECOND])).unwrap();
    // One in which nothing is, half of a snapshot, and a table that wasn't finished
    fs::write(rig.path("out/blog.000003.part"), &capture[..20]).unwrap();
    let mut snapshot = begin(&[&rig.id], SECOND).end();
    snapshot.truncate(snapshot.len() - 5);
    fs::write(rig.path("out/blog.000004.part"), snapshot).unwrap();
    fs::write(rig.path("out/tables/5a.part"), "half").unwrap();
    rig.record(&["a"]);
    // It goes on after it.
    assert_eq!(
        rig.names("out")[..3],
        [
            "blog.000004.snapshot",
            "blog.000007.stream",
            "blog.000008.stream"
        ]
    );
    assert_eq!(rig.names("out/tables").len(), 1);
    let out = rig
        .command(&["--modules", "nowhere", "out"])
        .output()
        .unwrap();
    assert!(text(&out.stdout).contains("read 1 sectors"), "{out:?}");
}

#[test]
fn a_table_that_is_missing_is_told_of() {
    let rig = rig();
    fs::write(rig.path("a"), rig.capture(0, &[SECOND])).unwrap();
    let args = ["record", "--modules", "nowhere", "-o", "out", "a"];
    let out = rig.command(&args).output().unwrap();
    assert_eq!(out.status.code(), Some(1));
    assert!(
        text(&out.stderr).contains("no side table of build ID"),
        "{out:?}"
    );
}

#[test]
fn snapshots_are_taken_until_the_limit_and_the_oldest_go() {
    let rig = rig();
    let clocks: Vec<u64> = (0..90).map(|n| SECOND + n).collect();
    let mut b = begin(&[&rig.id], SECOND);
    let ring = Ring::task(1, 3, 42, "dd");
    b.ring(&ring).page(&ring, &piece(3, 1, 0, &clocks));
    let snapshot = b.end();
    fs::write(rig.path("snap"), &snapshot).unwrap();
    let limit = (snapshot.len() * 3 + 100).to_string();
    let args = [
        "snap",
        "--every",
        "0.02",
        "--duration",
        "0.5",
        "--size",
        &limit,
    ];
    let out = rig.record(&args);
    assert_eq!(out.status.code(), Some(0), "{out:?}");
    let names = rig.names("out");
    // How many there were depends on the machine. On the slowest, there was one.
    let taken: Vec<_> = names.iter().filter(|n| n.ends_with(".snapshot")).collect();
    assert!((1..=3).contains(&taken.len()), "{names:?}");
    for name in taken {
        assert_eq!(fs::read(rig.path("out").join(name)).unwrap(), snapshot);
    }
    // One that alone is larger is an error; what was there before goes.
    let out = rig.record(&["snap", "--every", "1", "--size", "1k"]);
    assert_eq!(out.status.code(), Some(2), "{out:?}");
    assert!(
        text(&out.stderr).contains("a single file is larger than --size"),
        "{out:?}"
    );
}

/// Starts to record from a pipe, and waits until what was written to that is in a file.
fn record_from_pipe(rig: &Rig, bytes: &[u8], args: &[&str]) -> (Child, fs::File) {
    assert!(Command::new("mkfifo")
        .arg(rig.path("fifo"))
        .status()
        .unwrap()
        .success());
    let all = [&["record", "--modules", "lib", "-o", "out", "fifo"], args].concat();
    let child = rig.command(&all).stderr(Stdio::piped()).spawn().unwrap();
    let mut pipe = fs::OpenOptions::new()
        .write(true)
        .open(rig.path("fifo"))
        .unwrap();
    pipe.write_all(bytes).unwrap();
    let part = rig.path("out/blog.000001.part");
    while !fs::metadata(&part).is_ok_and(|m| m.len() == bytes.len() as u64) {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    (child, pipe)
}

/// Nothing is closed: the tables are there, and nobody else can read anything.
#[test]
fn what_was_written_before_it_was_killed_decodes() {
    let rig = rig();
    let capture = rig.capture(0, &[SECOND, SECOND + 1]);
    let (mut child, _pipe) = record_from_pipe(&rig, &capture, &[]);
    // Nobody else records to the same directory meanwhile.
    let out = rig.record(&["/dev/null"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("another program is recording"));
    child.kill().unwrap();
    child.wait().unwrap();
    let mode = |name: &str| fs::metadata(rig.path(name)).unwrap().permissions().mode() & 0o777;
    let table = format!("out/tables/{}", rig.names("out/tables")[0]);
    assert_eq!(["out", "out/tables"].map(mode), [0o700; 2]);
    assert_eq!(["out/blog.000001.part", &table].map(mode), [0o600; 2]);
    let out = rig
        .command(&["--modules", "nowhere", "out"])
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(0), "{out:?}");
    assert_eq!(text(&out.stdout).lines().count(), 2);
    // The next one takes its file over, and counts it.
    fs::write(rig.path("a"), rig.capture(2, &[SECOND + 2])).unwrap();
    let out = rig.record(&["a", "--size", &(capture.len() + 10).to_string()]);
    assert_eq!(out.status.code(), Some(0), "{out:?}");
    assert_eq!(rig.names("out"), ["blog.000002.stream", "tables"]);
}

/// A file that ends within a section is reported, but not while a recorder may yet write the rest.
#[test]
fn what_is_cut_off_is_told_unless_it_is_still_written() {
    let rig = rig();
    let whole = rig.capture(0, &[SECOND, SECOND + 1]);
    fs::create_dir(rig.path("out")).unwrap();
    let part = rig.path("out/000001.part");
    fs::write(&part, [&whole[..], &whole[32..62]].concat()).unwrap();
    let shown = |path: &str| {
        let out = rig
            .command(&["-s", "lib/7.3.4/blog", path])
            .output()
            .unwrap();
        assert_eq!(text(&out.stdout).lines().count(), 2, "{out:?}");
        (out.status.code(), text(&out.stderr))
    };
    let told = "blog-decode: out/000001.part: cut off: its last 30 bytes are of a section that is \
                not whole\n";
    for path in ["out", "out/000001.part"] {
        assert_eq!(shown(path), (Some(1), told.into()));
    }
    let lock = fs::File::open(rig.path("out")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    for path in ["out", "out/000001.part"] {
        assert_eq!(shown(path), (Some(0), String::new()));
    }
    fs::copy(&part, rig.path("out/000001.stream")).unwrap();
    fs::remove_file(part).unwrap();
    assert_eq!(shown("out").0, Some(1));
    // One that ends between sections is not cut, for all that can be known.
    fs::write(rig.path("out/000001.stream"), whole).unwrap();
    assert_eq!(shown("out"), (Some(0), String::new()));
}

/// Each file of a stream that is cut decodes alone, and together they have all of it once.
#[test]
fn a_pipe_is_cut_into_files() {
    let rig = rig();
    let (first, second) = (Ring::task(1, 3, 42, "dd"), Ring::task(1, 4, 43, "cp"));
    let mut b = begin(&[&rig.id], SECOND);
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
    let mut child = rig
        .command(&[
            "record",
            "--modules",
            "lib",
            "-o",
            "out",
            "--file-size",
            "2k",
            "-",
        ])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    for bytes in capture.chunks(100) {
        pipe.write_all(bytes).unwrap();
        pipe.flush().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    drop(pipe);
    assert!(child.wait().unwrap().success());
    let names = rig.names("out");
    let files: Vec<_> = names.iter().filter(|n| n.ends_with(".stream")).collect();
    assert!(files.len() > 3, "{names:?}");
    let show = |path: &Path| {
        let path = path.to_str().unwrap();
        let args = [
            "--modules",
            "nowhere",
            "-s",
            "out/tables",
            "--format",
            "{pid} {message}",
            path,
        ];
        let out = rig.command(&args).output().unwrap();
        assert_eq!(out.status.code(), Some(0), "{out:?}");
        assert!(out.stderr.is_empty(), "{out:?}");
        let lines = text(&out.stdout);
        let records = lines.lines().filter(|l| l.contains(" read "));
        records.map(str::to_owned).collect::<Vec<_>>()
    };
    fs::write(rig.path("whole"), &capture).unwrap();
    let whole = show(Path::new("whole"));
    assert_eq!(whole.len(), 400);
    assert_eq!(show(Path::new("out")), whole);
    let alone: Vec<_> = files
        .iter()
        .flat_map(|f| show(&Path::new("out").join(f)))
        .collect();
    assert_eq!(alone, whole);
}

/// The search for a table is given up; the records are there.
#[test]
fn a_search_that_takes_too_long_is_given_up() {
    let rig = rig();
    let capture = rig.capture(0, &[SECOND]);
    fs::write(rig.path("a"), &capture).unwrap();
    let find = rig.path("debuginfod-find");
    fs::write(&find, "#!/bin/sh\nexec sleep 60\n").unwrap();
    fs::set_permissions(&find, fs::Permissions::from_mode(0o755)).unwrap();
    let path = env::var("PATH").unwrap();
    let mut command = rig.command(&["record", "--modules", "nowhere", "-o", "out", "a"]);
    command
        .env("DEBUGINFOD_URLS", "http://nowhere")
        .env("PATH", format!("{}:{path}", rig.dir.path().display()));
    let out = command.output().unwrap();
    assert_eq!(out.status.code(), Some(1));
    let said = text(&out.stderr);
    assert!(said.contains("given up after 10 s"), "{said}");
    assert_eq!(
        fs::read(rig.path("out/blog.000001.stream")).unwrap(),
        capture
    );
}

/// Directories with links to themselves: a search that follows them comes to nine to the power of
/// 12, and never ends.
#[test]
fn tables_are_found_where_links_lead_in_circles() {
    let rig = rig();
    for n in 0..9 {
        symlink(".", rig.path("lib/7.3.4/blog").join(format!("loop{n}"))).unwrap();
    }
    fs::write(rig.path("a"), rig.capture(0, &[SECOND])).unwrap();
    assert_eq!(rig.record(&["a"]).status.code(), Some(0));
    // Where the table isn't, all is searched.
    fs::remove_file(rig.path("lib/7.3.4/blog/test_mod.blogfmt")).unwrap();
    fs::remove_dir_all(rig.path("out")).unwrap();
    assert_eq!(rig.record(&["a"]).status.code(), Some(1));
}

#[test]
fn a_signal_ends_it_with_a_whole_file() {
    let rig = rig();
    let capture = rig.capture(0, &[SECOND]);
    let (child, _pipe) = record_from_pipe(&rig, &capture, &[]);
    let pid = child.id().to_string();
    // By the shell's own command: a small system has no other.
    assert!(Command::new("sh")
        .args(["-c", "kill -TERM $0", &pid])
        .status()
        .unwrap()
        .success());
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(0), "{out:?}");
    assert_eq!(
        fs::read(rig.path("out/blog.000001.stream")).unwrap(),
        capture
    );
    assert_eq!(rig.names("out/tables").len(), 1);
}

#[test]
#[ignore = "mounts: tests/suites/test_host.py runs it where that is allowed"]
fn a_full_disk_costs_the_oldest_files_first() {
    // A file system of a megabyte, where this makes a namespace in which it may be mounted
    let unshare = env::var("BLOG_UNSHARE").unwrap();
    let rig = rig();
    fs::create_dir(rig.path("out")).unwrap();
    let script = "mount -t tmpfs -o size=1m none out && mkdir out/tables && \
                  for i in 1 2 3 4 5 6 7 8 9 10 11 12; do \"$0\" record --modules lib -o out big || exit; done && \
                  ls out && \"$0\" stats --modules nowhere out && rm out/blog.* && \
                  ! \"$0\" record --modules lib -o out huge && \
                  \"$0\" --modules nowhere out | grep -c sectors";
    for (name, pages) in [("big", 60), ("huge", 1000)] {
        let mut b = begin(&[&rig.id], SECOND);
        let ring = Ring::task(1, 3, 42, "dd");
        b.ring(&ring);
        for n in 0..pages {
            let clocks: Vec<u64> = (0..100).map(|i| SECOND + 100 * n + i).collect();
            b.page(&ring, &piece(3, 1 + n, 100 * n, &clocks));
        }
        fs::write(rig.path(name), as_stream(b.bytes)).unwrap();
    }
    let out = Command::new("unshare")
        .args(unshare.split(' '))
        .args(["sh", "-c", script, env!("CARGO_BIN_EXE_blog-decode")])
        .current_dir(rig.dir.path())
        .output()
        .unwrap();
    assert!(out.status.success(), "{out:?}");
    assert!(
        text(&out.stderr).contains("the disk is full: the oldest file is removed"),
        "{out:?}"
    );
    let shown = text(&out.stdout);
    assert!(
        shown.contains("blog.000012.stream") && !shown.contains("blog.000001.stream"),
        "{shown}"
    );
    assert!(
        shown.contains("disk                 1        6000"),
        "{shown}"
    );
    // What had room of one that is larger than the disk decodes, and nothing of it is damaged.
    let decoded: u64 = shown.lines().last().unwrap().parse().unwrap();
    assert!((30_000..60_000).contains(&decoded), "{shown}");
    assert!(!text(&out.stderr).contains("damaged"), "{out:?}");
}

#[test]
fn what_is_no_stream_is_told_by_name_and_leaves_no_file() {
    let rig = rig();
    fs::write(rig.path("long"), [b'x'; 100]).unwrap();
    fs::write(rig.path("short"), "no stream").unwrap();
    fs::write(rig.path("cut"), &rig.capture(0, &[SECOND])[..20]).unwrap();
    for every in [&[][..], &["--every", "1"]] {
        for (file, what) in [
            ("long", "long: not a BLog snapshot"),
            ("short", "short: not a BLog snapshot"),
            ("cut", "cut: cut off: nothing in it is whole"),
        ] {
            let out = rig.record(&[&[file], every].concat());
            assert_eq!(out.status.code(), Some(2), "{out:?}");
            // Before how much there is.
            let first = format!("blog-decode: {what}");
            assert!(text(&out.stderr).starts_with(&first), "{out:?}");
            assert_eq!(rig.names("out"), ["tables"]);
        }
    }
}

#[test]
fn a_table_beside_what_is_read_is_found() {
    let rig = rig();
    let capture = rig.path("capture");
    fs::create_dir(&capture).unwrap();
    fs::write(capture.join("a"), rig.capture(0, &[SECOND])).unwrap();
    let table = rig.path("lib/7.3.4/blog/test_mod.blogfmt");
    fs::rename(table, capture.join("one.blogfmt")).unwrap();
    for args in [&["follow"][..], &["-f"]] {
        let args = [args, &["--modules", "nowhere", "capture/a"]].concat();
        let out = rig.command(&args).output().unwrap();
        assert_eq!(out.status.code(), Some(0), "{out:?}");
    }
    let args = ["record", "--modules", "nowhere", "-o", "out", "capture/a"];
    let out = rig.command(&args).output().unwrap();
    assert_eq!(out.status.code(), Some(0), "{out:?}");
    assert_eq!(rig.names("out/tables").len(), 1);
}
