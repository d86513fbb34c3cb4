// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Snapshots of several machines, and lines of other logs between the records.

mod common;
#[path = "common/proto.rs"]
mod proto;

use std::{
    fs,
    path::Path,
    process::{
        Command,
        Output, //
    },
};

use blog_decode::sidetable::read_table;
use common::{
    image,
    snapshot::{
        Builder,
        Page,
        Ring, //
    },
    stream::SECOND, //
};
use proto::unpacked;
use serde_json::Value;

/// A machine that booted at `booted` (real time, in s) and logged at these seconds since.
fn machine(id: &[u8], host: &str, boot_id: u8, booted: u64, seconds: &[u64]) -> Vec<u8> {
    let mut b = Builder::new();
    b.system_of(host, [boot_id; 16]);
    // The ring's clock is not the one since boot.
    let at = |s: u64| {
        [
            s * SECOND,
            s * SECOND,
            (s + 100) * SECOND,
            (booted + s + 100) * SECOND,
        ]
    };
    b.clock(1, &[at(0), at(50)])
        .images(&[(1, 4, id, "test_mod")]);
    b.component(1, "disk");
    let ring = Ring::task(1, 1, 42, "dd");
    let mut p = Page::new(1, 1, 0, 0);
    for s in seconds {
        p.record(s * SECOND, 1, (&(*s as u32), &0u64));
    }
    b.ring(&ring).page(&ring, &p);
    b.end()
}

struct Rig(tempfile::TempDir);

fn rig() -> Rig {
    let dir = tempfile::tempdir().unwrap();
    let ko = image::module(dir.path(), "test-mod.ko", "one");
    let id = read_table(&ko, |_| true).unwrap().unwrap().build_id;
    let write = |name: &str, bytes: &[u8]| fs::write(dir.path().join(name), bytes).unwrap();
    write("a.snap", &machine(&id, "alpha", 1, 1000, &[1, 5]));
    write("b.snap", &machine(&id, "beta", 2, 1001, &[1, 3]));
    write("nameless.snap", &machine(&id, "", 3, 1002, &[1]));
    write(
        "dmesg",
        b"[  100.500000] before\n<3>[  103.000000] between\n more of it\n[  200.000000] after\n",
    );
    write(
        "trace",
        b"# tracer: nop\n  dd-42  [001] d..2.  101.500000: sched_switch: x\n  \
          fio-43  (   40) [003]  104.000000: block_rq_issue: y\n",
    );
    Rig(dir)
}

impl Rig {
    fn path(&self) -> &Path {
        self.0.path()
    }

    fn run(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_blog-decode"))
            .args(args)
            .args(["--modules", "nowhere", "-s", "test-mod.ko"])
            .current_dir(self.path())
            .output()
            .unwrap()
    }

    fn lines(&self, args: &[&str]) -> Vec<String> {
        let output = self.run(args);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {output:?}");
        assert!(output.stderr.is_empty(), "{args:?}: {output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(str::to_owned).collect()
    }
}

#[test]
fn rings_are_merged_by_time_over_breaks_of_the_clock() {
    let rig = rig();
    let id = read_table(&rig.path().join("test-mod.ko"), |_| true)
        .unwrap()
        .unwrap()
        .build_id;
    // At first a clock of 2 ticks a ns; a sleep of 100 s; then one of a tick a ns, which has begun
    // anew behind that.
    let turns = |n: u64| n << 36;
    let pairs = [
        [0, 0, 0, 0],
        [20 * SECOND, 10 * SECOND, 10 * SECOND, 10 * SECOND],
        [turns(1), 10 * SECOND, 110 * SECOND, 110 * SECOND],
        [
            turns(1) + 10 * SECOND,
            20 * SECOND,
            120 * SECOND,
            120 * SECOND,
        ],
    ];
    let mut b = Builder::new();
    b.system([1; 16])
        .clock(3, &pairs)
        .images(&[(1, 4, &id, "test_mod")])
        .component(1, "disk");
    for (n, seconds) in [(1, [2, 4, 111, 113]), (2, [1, 3, 112, 114])] {
        let ring = Ring::task(1, n, 40 + n as i32, "dd");
        let mut p = Page::new(n, 1, 0, 0);
        for s in seconds {
            let clock = match s {
                ..100 => 2 * s * SECOND,
                _ => turns(1) + (s - 110) * SECOND,
            };
            p.record(clock, 1, (&(s as u32), &0u64));
        }
        b.ring(&ring).page(&ring, &p);
    }
    fs::write(rig.path().join("slept.snap"), b.end()).unwrap();
    let times = |args: &[&str]| -> Vec<f64> {
        let lines = rig.lines(&[&["slept.snap"], args].concat());
        let seconds = lines.iter().map(|l| l[1..].split(']').next().unwrap());
        seconds.map(|s| s.trim().parse().unwrap()).collect()
    };
    assert_eq!(times(&[]), [1., 2., 3., 4., 111., 112., 113., 114.]);
    assert_eq!(times(&["-t", "mono"]), [1., 2., 3., 4., 11., 12., 13., 14.]);
}

#[test]
fn machines_are_merged_by_real_time_and_told_apart() {
    let rig = rig();
    let expected = [
        "1970-01-01T00:18:21.000000Z info  alpha disk dd[42]: read 1 sectors at 0x0",
        "1970-01-01T00:18:22.000000Z info  beta  disk dd[42]: read 1 sectors at 0x0",
        "1970-01-01T00:18:24.000000Z info  beta  disk dd[42]: read 3 sectors at 0x0",
        "1970-01-01T00:18:25.000000Z info  alpha disk dd[42]: read 5 sectors at 0x0",
    ];
    assert_eq!(rig.lines(&["a.snap", "b.snap"]), expected);
    assert_eq!(
        rig.lines(&["a.snap", "b.snap", "-w", "host == beta"]),
        expected[1..3]
    );
    // One machine needs no name.
    assert!(!rig.lines(&["a.snap"])[0].contains("alpha"));
    // The user's names, and the file's for one that has none.
    let hosts = |args: &[&str]| -> Vec<String> {
        let lines = rig.lines(&[&["--json"], args].concat());
        let host = |l: &String| serde_json::from_str::<Value>(l).unwrap()["host"].clone();
        lines
            .iter()
            .map(|l| host(l).as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        hosts(&[
            "nameless.snap",
            "--host",
            "x=a.snap",
            "b.snap",
            "--host",
            "y=b.snap"
        ]),
        ["x", "y", "nameless", "y", "x"]
    );
    let columns = |l: &String| l.split(',').map(str::to_owned).collect::<Vec<_>>();
    let csv: Vec<_> = rig
        .lines(&["a.snap", "--csv"])
        .iter()
        .map(columns)
        .collect();
    assert_eq!(csv[0][2..5], ["host", "boot_id", "source"]);
    assert_eq!(csv[1][2..5], ["alpha", &"01".repeat(16), "blog"]);
}

#[test]
fn lines_of_other_logs_stand_where_their_time_is() {
    let rig = rig();
    let all = ["a.snap", "--dmesg", "dmesg", "--ftrace", "trace"];
    let expected = [
        "[  100.500000]       dmesg: before",
        "[  101.000000] info  disk dd[42]: read 1 sectors at 0x0",
        "[  101.500000]       ftrace dd[42]: sched_switch: x",
        "[  103.000000] err   dmesg: between",
        "[  103.000000] err   dmesg:  more of it",
        "[  104.000000]       ftrace fio[43]: block_rq_issue: y",
        "[  105.000000] info  disk dd[42]: read 5 sectors at 0x0",
        "[  200.000000]       dmesg: after",
    ];
    assert_eq!(rig.lines(&all), expected);
    let some = |args: &[&str]| rig.lines(&[&all[..], args].concat());
    let chosen = |which: &[usize]| -> Vec<_> { which.iter().map(|&i| expected[i]).collect() };
    // What a line has is filtered by; what it doesn't have is not.
    assert_eq!(some(&["--pid", "43"]), chosen(&[0, 3, 4, 5, 7]));
    assert_eq!(some(&["--comm", "dd"]), chosen(&[0, 1, 2, 3, 4, 6, 7]));
    assert_eq!(some(&["--level", "err"]), chosen(&[0, 2, 3, 4, 5, 7]));
    assert_eq!(
        some(&["--since", "102", "--until", "104.5"]),
        chosen(&[3, 4, 5])
    );
    assert_eq!(some(&["--grep", "read 5|after"]), chosen(&[6, 7]));
    assert_eq!(
        some(&["-w", "component == dmesg && level <= err"]),
        chosen(&[3, 4])
    );
    // As context, too.
    assert_eq!(some(&["--grep", "block_rq", "-C", "1"]), chosen(&[4, 5, 6]));
    // Of several machines, they are the first one's, or that of the one that is named: beta booted
    // a second after alpha.
    let two = ["a.snap", "b.snap", "--dmesg", "beta=dmesg"];
    let lines = rig.lines(&two);
    assert_eq!(
        lines[1],
        "1970-01-01T00:18:21.500000Z       beta  dmesg: before"
    );
    assert_eq!(
        lines[6],
        "1970-01-01T00:18:25.000000Z info  alpha disk dd[42]: read 5 sectors at 0x0"
    );
    assert_eq!(
        rig.run(&["a.snap", "--dmesg", "gamma=dmesg"]).status.code(),
        Some(2)
    );
}

#[test]
fn each_output_says_what_a_line_is_from() {
    let rig = rig();
    let all = ["a.snap", "--dmesg", "dmesg", "--ftrace", "trace"];
    let json: Vec<Value> = rig
        .lines(&[&all[..], &["--json"]].concat())
        .iter()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let types: Vec<_> = json.iter().map(|o| o["type"].as_str().unwrap()).collect();
    let expected = [
        "dmesg", "record", "ftrace", "dmesg", "dmesg", "ftrace", "record", "dmesg",
    ];
    assert_eq!(types, expected);
    assert_eq!(json[3]["level"], "err");
    assert_eq!(json[3]["boot_ns"], 103 * SECOND);
    assert_eq!(json[3]["wall_ns"], 1103 * SECOND);
    assert_eq!((&json[5]["pid"], &json[5]["cpu"]), (&43.into(), &3.into()));
    let csv = rig.lines(&[&all[..], &["--csv"]].concat());
    let sources: Vec<_> = csv[1..]
        .iter()
        .map(|l| l.split(',').nth(4).unwrap())
        .collect();
    let expected = [
        "dmesg", "blog", "ftrace", "dmesg", "dmesg", "ftrace", "blog", "dmesg",
    ];
    assert_eq!(sources, expected);
    let form = "{time} {component} {level} {cpu} {comm} {message}";
    let lines = rig.lines(&[&all[..], &["--format", form]].concat());
    assert_eq!(lines[2], "101.500000000 ftrace - 1 dd sched_switch: x");
    assert_eq!(lines[3], "103.000000000 dmesg err - - between");
    for (form, out) in [("perfetto", "p"), ("html", "h"), ("ctf", "c")] {
        let out = rig.run(&[&["convert", "--to", form, "-o", out], &all[..]].concat());
        assert_eq!(out.status.code(), Some(0), "{out:?}");
    }
    let perfetto = unpacked(&fs::read(rig.path().join("p")).unwrap());
    for text in ["sched_switch: x", "between", "dmesg", "ftrace"] {
        assert!(
            perfetto.windows(text.len()).any(|w| w == text.as_bytes()),
            "{text}"
        );
    }
    if let Ok(out) = Command::new("babeltrace2")
        .arg(rig.path().join("c"))
        .output()
    {
        let text = String::from_utf8(out.stdout).unwrap();
        assert!(out.status.success() && text.lines().count() == 8, "{text}");
        assert!(text.contains("{ msg = \"between\" }"), "{text}");
    } else {
        println!("babeltrace2 is not installed: the CTF trace is not checked");
    }
}

#[test]
fn a_log_that_has_no_times_is_told_of() {
    let rig = rig();
    fs::write(rig.path().join("dates"), "[Sat Nov 21 10:13:09 2026] x\n").unwrap();
    let out = rig.run(&["a.snap", "--dmesg", "dates"]);
    assert_eq!(out.status.code(), Some(1));
    let err = String::from_utf8(out.stderr).unwrap();
    assert!(
        err.contains("dates: no line has a time in seconds since boot"),
        "{err}"
    );
    assert_eq!(
        rig.run(&["a.snap", "--dmesg", "missing"]).status.code(),
        Some(2)
    );
}
