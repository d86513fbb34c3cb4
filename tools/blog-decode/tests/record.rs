// SPDX-License-Identifier: GPL-2.0

//! `record`, and the directories that it writes. Rotation of a real stream is tried in a guest, by
//! the suite `live`.

mod common;

use std::{
    fs,
    io::Write,
    path::{
        Path,
        PathBuf, //
    },
    process::{
        Command,
        Output,
        Stdio, //
    },
};

use blog_decode::sidetable::read_table;
use common::{
    image,
    snapshot::Ring,
    stream::{
        as_stream,
        begin,
        piece,
        SECOND, //
    },
};

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
    rig.record(&["a"]);
    // It goes on behind it.
    assert_eq!(
        rig.names("out")[..2],
        ["blog.000007.part", "blog.000008.stream"]
    );
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

#[test]
fn a_signal_ends_it_with_a_whole_file() {
    let rig = rig();
    assert!(Command::new("mkfifo")
        .arg(rig.path("fifo"))
        .status()
        .unwrap()
        .success());
    let args = ["record", "--modules", "lib", "-o", "out", "fifo"];
    let child = rig.command(&args).stderr(Stdio::piped()).spawn().unwrap();
    let mut pipe = fs::OpenOptions::new()
        .write(true)
        .open(rig.path("fifo"))
        .unwrap();
    let capture = rig.capture(0, &[SECOND]);
    pipe.write_all(&capture).unwrap();
    let part = rig.path("out/blog.000001.part");
    while !fs::metadata(&part).is_ok_and(|m| m.len() == capture.len() as u64) {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
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
fn a_full_disk_costs_the_oldest_files_first() {
    // A file system of a megabyte, if one may be mounted here.
    let rig = rig();
    fs::create_dir(rig.path("out")).unwrap();
    let script = "mount -t tmpfs -o size=1m none out && mkdir out/tables && \
                  for i in 1 2 3 4 5 6 7 8 9 10 11 12; do \"$0\" record --modules lib -o out big || exit; done && \
                  ls out && \"$0\" stats --modules nowhere out";
    fs::write(rig.path("big"), {
        let mut b = begin(&[&rig.id], SECOND);
        let ring = Ring::task(1, 3, 42, "dd");
        b.ring(&ring);
        for n in 0..60 {
            let clocks: Vec<u64> = (0..100).map(|i| SECOND + 100 * n + i).collect();
            b.page(&ring, &piece(3, 1 + n, 100 * n, &clocks));
        }
        as_stream(b.bytes)
    })
    .unwrap();
    let out = Command::new("unshare")
        .args(["-rm", "sh", "-c", script, env!("CARGO_BIN_EXE_blog-decode")])
        .current_dir(rig.dir.path())
        .output();
    let out = match out {
        Ok(out)
            if !text(&out.stderr).contains("unshare:") && !text(&out.stderr).contains("mount:") =>
        {
            out
        }
        out => return println!("SKIP: nothing can be mounted here: {out:?}"),
    };
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
    assert!(Path::new(&rig.path("out")).exists());
}
