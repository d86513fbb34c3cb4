// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Snapshots of several machines, and lines of other logs between the records.

use std::{fs, process::Command};

use crate::{
    common::{
        rig::{Rig, Said, CLOCK},
        snapshot::{Builder, Page, Ring},
        stream::SECOND,
        transports::{Logged, TRANSPORTS},
    },
    proto::unpacked,
};
use serde_json::Value;

/// The start of 2024-10-04, in s since 1970.
const DAY: u64 = 20_000 * 86_400;

/// A machine that booted at `booted` (real time, in s) and logged at these seconds since.
fn machine(id: &[u8], host: &str, boot_id: u8, booted: u64, seconds: &[u64]) -> Vec<u8> {
    let mut b = Builder::new();
    b.system_of(host, [boot_id; 16]);
    // The ring's clock is not the one since boot.
    let at = |s: u64| [s * SECOND, s * SECOND, (s + 100) * SECOND, (booted + s + 100) * SECOND];
    b.clock(1, &[at(0), at(50)]).images(&[(1, 4, id, "test_mod")]);
    b.component(1, "disk");
    let ring = Ring::task(1, 1, 42, "dd");
    let mut p = Page::new(1, 1, 0, 0);
    for s in seconds {
        p.record(s * SECOND, 1, (&(*s as u32), &0u64));
    }
    b.ring(&ring).page(&ring, &p);
    b.end()
}

/// What is said if a file doesn't have the clock of other logs.
const GUESSED: &str = " doesn't have the kernel log's clock: its lines, and ftrace's, go by \
                       CLOCK_MONOTONIC, which is near it: they may be off, after a sleep by a second";

fn rig() -> Rig {
    let rig = Rig::new();
    let id = &rig.build_id;
    rig.write("a.snap", machine(id, "alpha", 1, DAY + 1000, &[1, 5]));
    rig.write("b.snap", machine(id, "beta", 2, DAY + 1001, &[1, 3]));
    rig.write("nameless.snap", machine(id, "", 3, DAY + 1002, &[1]));
    rig.write(
        "dmesg",
        // The machine has slept for 100 s, which the kernel's clock doesn't count.
        b"[    0.500000] before\n<3>[    3.000000] between\n more of it\n[  100.000000] after\n",
    );
    rig.write(
        "trace",
        b"# tracer: nop\n  dd-42  [001] d..2.  1.500000: sched_switch: x\n  \
          fio-43  (   40) [003]  4.000000: block_rq_issue: y\n",
    );
    rig
}

/// Of the old files of these tests, that is all that there is to be said.
fn merged(rig: &Rig, args: &[&str]) -> Vec<String> {
    let Said { status, out, err } = rig.run(args);
    let is_known = |line: &str| args.contains(&"--dmesg") && line.ends_with(GUESSED);
    assert!(status == 0 && err.lines().all(is_known), "{args:?}: {err}");
    out.lines().map(str::to_owned).collect()
}

#[test]
fn rings_are_merged_by_time_over_breaks_of_the_clock() {
    let rig = rig();
    // At first a clock of 2 ticks a ns; a sleep of 100 s; then one of a tick a ns, which has begun
    // anew after that.
    let turns = |n: u64| n << 36;
    let pairs = [
        [0, 0, 0, 0],
        [20 * SECOND, 10 * SECOND, 10 * SECOND, 10 * SECOND],
        [turns(1), 10 * SECOND, 110 * SECOND, 110 * SECOND],
        [turns(1) + 10 * SECOND, 20 * SECOND, 120 * SECOND, 120 * SECOND],
    ];
    let mut b = Builder::new();
    b.system([1; 16])
        .clock(3, &pairs)
        .images(&[(1, 4, &rig.build_id, "test_mod")])
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
    rig.write("slept.snap", b.end());
    let times = |args: &[&str]| -> Vec<f64> {
        let lines = merged(&rig, &[&["slept.snap"], args].concat());
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
        "2024-10-04T00:18:21.000000Z info  alpha disk dd[42]: read 1 sectors at 0x0",
        "2024-10-04T00:18:22.000000Z info  beta  disk dd[42]: read 1 sectors at 0x0",
        "2024-10-04T00:18:24.000000Z info  beta  disk dd[42]: read 3 sectors at 0x0",
        "2024-10-04T00:18:25.000000Z info  alpha disk dd[42]: read 5 sectors at 0x0",
    ];
    assert_eq!(merged(&rig, &["a.snap", "b.snap"]), expected);
    assert_eq!(merged(&rig, &["a.snap", "b.snap", "-w", "host == beta"]), expected[1..3]);
    // One machine needs no name.
    assert!(!merged(&rig, &["a.snap"])[0].contains("alpha"));
    // The user's names, and the file's for one that has none.
    let hosts = |args: &[&str]| -> Vec<String> {
        let lines = merged(&rig, &[&["--json"], args].concat());
        let host = |l: &String| serde_json::from_str::<Value>(l).unwrap()["host"].clone();
        lines.iter().map(|l| host(l).as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(
        hosts(&["nameless.snap", "--host", "x=a.snap", "b.snap", "--host", "y=b.snap"]),
        ["x", "y", "nameless", "y", "x"]
    );
    let columns = |l: &String| l.split(',').map(str::to_owned).collect::<Vec<_>>();
    let csv: Vec<_> = merged(&rig, &["a.snap", "--csv"]).iter().map(columns).collect();
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
    assert_eq!(merged(&rig, &all), expected);
    let some = |args: &[&str]| merged(&rig, &[&all[..], args].concat());
    let chosen = |which: &[usize]| -> Vec<_> { which.iter().map(|&i| expected[i]).collect() };
    // What a line has is filtered by; what it doesn't have is not.
    assert_eq!(some(&["--pid", "43"]), chosen(&[0, 3, 4, 5, 7]));
    assert_eq!(some(&["--comm", "dd"]), chosen(&[0, 1, 2, 3, 4, 6, 7]));
    assert_eq!(some(&["--level", "err"]), chosen(&[0, 2, 3, 4, 5, 7]));
    assert_eq!(some(&["--since", "102", "--until", "104.5"]), chosen(&[3, 4, 5]));
    assert_eq!(some(&["--grep", "read 5|after"]), chosen(&[6, 7]));
    assert_eq!(some(&["-w", "component == dmesg && level <= err"]), chosen(&[3, 4]));
    // As context, too.
    assert_eq!(some(&["--grep", "block_rq", "-C", "1"]), chosen(&[4, 5, 6]));
    // Of several machines, they are the first one's, or that of the one that is named: beta booted
    // a second after alpha.
    let two = ["a.snap", "b.snap", "--dmesg", "beta=dmesg"];
    let lines = merged(&rig, &two);
    assert_eq!(lines[1], "2024-10-04T00:18:21.500000Z       beta  dmesg: before");
    assert_eq!(
        lines[6],
        "2024-10-04T00:18:25.000000Z info  alpha disk dd[42]: read 5 sectors at 0x0"
    );
    assert_eq!(rig.run(&["a.snap", "--dmesg", "gamma=dmesg"]).status, 2);
    // One that could be another's is reported; one that is named twice is read once.
    for (args, told) in [
        (["a.snap", "b.snap"], "dmesg: assuming this log is of alpha, as a.snap is; name another"),
        (["b.snap", "a.snap"], "dmesg: assuming this log is of beta, as b.snap is; name another"),
        (["a.snap", "a.snap"], ""),
    ] {
        let out = rig.run(&[&args[..], &["--dmesg", "dmesg", "--dmesg", "dmesg"]].concat());
        let said = out.err;
        assert!(said.contains(told), "{said}");
        assert_eq!(said.contains("assuming this log"), !told.is_empty(), "{said}");
        let lines = out.out;
        assert_eq!(lines.matches("dmesg: before").count(), 1, "{lines}");
    }
}

#[test]
fn each_output_says_what_a_line_is_from() {
    let rig = rig();
    let all = ["a.snap", "--dmesg", "dmesg", "--ftrace", "trace"];
    let json: Vec<Value> = merged(&rig, &[&all[..], &["--json"]].concat())
        .iter()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let types: Vec<_> = json.iter().map(|o| o["type"].as_str().unwrap()).collect();
    let expected = ["dmesg", "record", "ftrace", "dmesg", "dmesg", "ftrace", "record", "dmesg"];
    assert_eq!(types, expected);
    assert_eq!(json[3]["level"], "err");
    assert_eq!(json[3]["boot_ns"], 103 * SECOND);
    assert_eq!(json[3]["wall_ns"], (DAY + 1103) * SECOND);
    assert_eq!((&json[5]["pid"], &json[5]["cpu"]), (&43.into(), &3.into()));
    let csv = merged(&rig, &[&all[..], &["--csv"]].concat());
    let sources: Vec<_> = csv[1..].iter().map(|l| l.split(',').nth(4).unwrap()).collect();
    let expected = ["dmesg", "blog", "ftrace", "dmesg", "dmesg", "ftrace", "blog", "dmesg"];
    assert_eq!(sources, expected);
    let form = "{time} {component} {level} {cpu} {comm} {message}";
    let lines = merged(&rig, &[&all[..], &["--format", form]].concat());
    assert_eq!(lines[2], "101.500000000 ftrace - 1 dd sched_switch: x");
    assert_eq!(lines[3], "103.000000000 dmesg err - - between");
    for (form, out) in [("perfetto", "p"), ("html", "h"), ("ctf", "c")] {
        let out = rig.run(&[&["convert", "--to", form, "-o", out], &all[..]].concat());
        assert_eq!(out.status, 0, "{out:?}");
    }
    let perfetto = unpacked(&fs::read(rig.path("p")).unwrap());
    for text in ["sched_switch: x", "between", "dmesg", "ftrace"] {
        assert!(perfetto.windows(text.len()).any(|w| w == text.as_bytes()), "{text}");
    }
    if let Ok(out) = Command::new("babeltrace2").arg(rig.path("c")).output() {
        let text = String::from_utf8(out.stdout).unwrap();
        assert!(out.status.success() && text.lines().count() == 8, "{text}");
        assert!(text.contains("{ msg = \"between\" }"), "{text}");
    } else {
        println!("babeltrace2 is not installed: the CTF trace is not checked");
    }
}

#[test]
fn lines_of_the_kernel_are_read_whatever_transport_they_took() {
    let rig = rig();
    rig.write("snap", rig.disk(&CLOCK).end());
    let long = "word ".repeat(250);
    let lines: [Logged<'_>; 4] = [
        (4_500_000, "nvme0: path /dev/sda, a+b, flags=1F"),
        (5_000_000, long.trim()),
        (5_000_002, "nvme0: [12.5] reset > now; 3,4,5"),
        (6_000_000, "nvme0n1: done\t{ status=0 }"),
    ];
    for transport in TRANSPORTS {
        rig.write("log", (transport.file)(&lines));
        let args = ["snap", "--dmesg", "log", "--json", "--grep", "word|nvme0"];
        let said = rig.run(&args);
        let name = transport.name;
        let objects = said.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let seen: Vec<_> = objects
            .map(|o| {
                (o["boot_ns"].as_u64().unwrap() / 1000, o["message"].as_str().unwrap().to_owned())
            })
            .collect();
        let expected = lines.map(|(us, text)| (us, text.to_owned()));
        assert_eq!(seen, expected, "{name}: {}", said.err);
        let others = said.err.lines().filter(|line| !line.ends_with(GUESSED));
        assert_eq!((said.status, others.collect::<Vec<_>>()), (0, vec![]), "{name}");
    }
}

#[test]
fn what_has_no_time_that_counts_is_told_of() {
    let rig = rig();
    let with = |option: &str, text: &str| {
        rig.write("log", text);
        let out = rig.run(&["a.snap", option, "log"]);
        let err = out.err;
        (out.status, err, out.out)
    };
    let beyond = "1 lines have a time that isn't in seconds, or that no clock reaches";
    let dated = "3 lines have a date and no time since boot";
    for (option, text, expected) in [
        ("--dmesg", "[    0.5] a\n[99999999999999.0] b\n", beyond),
        ("--dmesg", "6,1,500000,-;a\n6,2,18446744073709552,-;b\n", beyond),
        (
            "--ftrace",
            " dd-42 [001] 1.500000: x: a\n dd-42 [001] 99999999999999.500000: x: b\n",
            beyond,
        ),
        (
            "--dmesg",
            "Nov 21 10:13:09 alpha kernel: [    0.5] a\nNov 21 12:13:09 alpha sshd[1]: b\n\
             2026-11-21T12:13:10.5+01:00 alpha sshd[1]: c\n[Sat Nov 21 10:13:09 2026] d\n",
            dated,
        ),
    ] {
        let (status, err, out) = with(option, text);
        assert_eq!(status, 1, "{err}");
        assert!(err.contains(expected), "{err}");
        // Nothing of it is left out.
        let shown = out.lines().filter(|l| l.contains("dmesg") || l.contains("ftrace"));
        assert_eq!(shown.count(), text.lines().count(), "{out}");
    }
    let (_, _, out) = with("--dmesg", "[    0.1] a\nlocal0:warn  : [    0.5] b\n");
    assert!(out.contains("[  100.500000] warn  dmesg: b"), "{out}");
    // What a console or an editor has put before a time doesn't hide it.
    for before in ["\x1b[32m", "\x1b[0m\x1b[1;31m", "\u{feff}"] {
        let (_, _, out) = with("--dmesg", &format!("[    0.1] a\n{before}[    0.5] b\n"));
        assert!(out.contains("[  100.500000]       dmesg: b"), "{out}");
    }
    // The names of several traces are no part of a task's.
    let trace =
        "  one.dat:       fio-42 [001]  1.5: x: a\n  two.dat:   a b: c-43 [001]  1.6: x: b\n";
    let (_, _, out) = with("--ftrace", trace);
    assert!(out.contains(" fio[42]: x: a") && out.contains(" a b: c[43]: x: b"), "{out}");
}

#[test]
fn a_log_that_has_no_times_is_told_of() {
    let rig = rig();
    rig.write("dates", "[Sat Nov 21 10:13:09 2026] x\n");
    let out = rig.run(&["a.snap", "--dmesg", "dates"]);
    assert_eq!(out.status, 1);
    let err = out.err;
    assert!(err.contains("dates: no line has a time in seconds since boot"), "{err}");
    assert_eq!(rig.run(&["a.snap", "--dmesg", "missing"]).status, 2);
}

/// A machine that logged a second before, and after, it slept for an hour at 10 s.
fn slept(id: &[u8]) -> Vec<u8> {
    let mut b = Builder::new();
    let hour = 3600 * SECOND;
    let at = |clock: u64, boot: u64| [clock, clock, boot, 1000 * SECOND + boot];
    b.system_of("alpha", [1; 16]).clock(
        1,
        &[
            at(0, 0),
            at(10 * SECOND, 10 * SECOND),
            at(10 * SECOND + 1, 10 * SECOND + 1 + hour),
            at(20 * SECOND, 20 * SECOND + hour),
        ],
    );
    b.images(&[(1, 4, id, "test_mod")]).component(1, "disk");
    let ring = Ring::task(1, 1, 42, "dd");
    let mut p = Page::new(1, 1, 0, 0);
    for s in [5, 11] {
        p.record(s * SECOND, 1, (&(s as u32), &0u64));
    }
    b.ring(&ring).page(&ring, &p);
    b.end()
}

#[test]
fn lines_stand_where_they_belong_after_a_sleep() {
    let rig = rig();
    rig.write("slept", slept(&rig.build_id));
    rig.write(
        "klog",
        b"[    5.000001] beside 5\n[    9.9] entry\n[   10.1] exit\n[   11.000001] beside 11\n",
    );
    rig.write("ftrace", b" dd-42 [001] 11.000002: x: beside 11\n");
    rig.write("booted", b" dd-42 [001] 3611.000002: x: beside 11\n");
    let all = ["slept", "--dmesg", "klog", "--ftrace", "ftrace"];
    let lines = merged(&rig, &all);
    let expected = [
        "[    5.000000] info  disk dd[42]: read 5 sectors at 0x0",
        "[    5.000001]       dmesg: beside 5",
        "[    9.900000]       dmesg: entry",
        "[ 3610.100000]       dmesg: exit",
        "[ 3611.000000] info  disk dd[42]: read 11 sectors at 0x0",
        "[ 3611.000001]       dmesg: beside 11",
        "[ 3611.000002]       ftrace dd[42]: x: beside 11",
    ];
    assert_eq!(lines, expected);
    let mono = merged(&rig, &[&all[..], &["-t", "mono"]].concat());
    let times: Vec<_> = mono.iter().map(|l| l[..14].trim_start_matches(['[', ' '])).collect();
    let expected =
        ["5.000000]", "5.000001]", "9.900000]", "10.100000]", "11.000000]", "11.000001]"];
    assert_eq!(times[..6], expected);
    // An option names ftrace's clock: nothing is guessed.
    let boot = ["slept", "--ftrace", "booted", "--ftrace-clock", "boot"];
    assert_eq!(merged(&rig, &boot)[2], "[ 3611.000002]       ftrace dd[42]: x: beside 11");
    let mono = ["slept", "--ftrace", "ftrace", "--ftrace-clock", "mono"];
    assert_eq!(merged(&rig, &mono)[2], "[ 3611.000002]       ftrace dd[42]: x: beside 11");
    // One line says of it that it is guessed, whatever number of logs there is.
    let said = rig.run(&all).err;
    assert_eq!(said, format!("blog-decode: slept{GUESSED}\n"));
}

#[test]
fn a_line_keeps_the_time_that_it_has() {
    let rig = rig();
    rig.write(
        "journal",
        "[    0.4] kernel: first\n[    1.5] systemd: between\n[    0.7] kernel: second\n",
    );
    rig.write("pstore", "Panic#1 Part1\n[    0.9] BUG\nPanic#1 Part2\n[    0.2] before\n");
    rig.write(
        "console",
        "[    0.0] Linux version 7\n[  900.0] old\n[    0.0] Linux version 7\n[    2.0] new\n",
    );
    let shown = |log: &str| {
        let out = rig.run(&["a.snap", "--dmesg", log, "-w", "component == dmesg"]);
        let text = out.out;
        let lines = text.lines().map(|l| l.split_once("       ").unwrap_or((l, "")));
        let lines: Vec<_> = lines.map(|(a, b)| format!("{a} {b}")).collect();
        (lines, out.err, out.status)
    };
    let (lines, said, status) = shown("journal");
    assert_eq!(
        lines,
        [
            "[  100.400000] dmesg: kernel: first",
            "[  100.700000] dmesg: kernel: second",
            "[  101.500000] dmesg: systemd: between"
        ]
    );
    assert!(said.contains("journal: lines that are earlier than one above"), "{said}");
    assert_eq!(status, 0);
    let (lines, said, _) = shown("pstore");
    assert_eq!(
        lines,
        [
            "[  100.200000] dmesg: Panic#1 Part2",
            "[  100.200000] dmesg: before",
            "[  100.900000] dmesg: Panic#1 Part1",
            "[  100.900000] dmesg: BUG"
        ]
    );
    assert!(said.contains("in the order of their times"), "{said}");
    let (lines, said, status) = shown("console");
    let boot = format!("-- boot {} of alpha -- ", "01".repeat(16));
    assert_eq!(
        lines,
        [
            "-- boot unknown of alpha -- ",
            "[    0.000000] dmesg: Linux version 7",
            "[  900.000000] dmesg: old",
            &boot,
            "[  100.000000] dmesg: Linux version 7",
            "[  102.000000] dmesg: new"
        ]
    );
    assert!(
        said.contains("console: 2 lines are of other boots than the snapshot (the last boot"),
        "{said}"
    );
    assert_eq!(status, 1);
    // What has one time only has no place for them.
    let out = rig.run(&["convert", "--to", "perfetto", "-o", "p", "a.snap", "--dmesg", "console"]);
    let said = out.err;
    assert!(
        said.contains("2 lines are of other boots") && said.contains("they are left out"),
        "{said}"
    );
    let perfetto = unpacked(&fs::read(rig.path("p")).unwrap());
    let has = |text: &str| perfetto.windows(text.len()).any(|w| w == text.as_bytes());
    assert!(has("new") && !has("old"));
}

#[test]
fn dates_are_right_on_both_sides_of_summer_time() {
    let rig = rig();
    // 2026-03-29T01:00:00Z, where the clock goes from 02:00 to 03:00.
    let change = 1_774_746_000;
    let file = machine(&rig.build_id, "alpha", 1, change - 100 - 10, &[9, 11]);
    rig.write("spring", file);
    let lines = |args: &[&str]| -> Vec<String> {
        let mut command = rig.command(&[&["spring", "-t", "wall"], args].concat());
        let text = Said::of(command.env("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")).out;
        let starts = text.lines().map(|l| l.split(' ').next().unwrap().to_owned());
        starts.collect()
    };
    let all = ["2026-03-29T01:59:59.000000+01:00", "2026-03-29T03:00:01.000000+02:00"];
    assert_eq!(lines(&[]), all);
    assert_eq!(lines(&["--since", "2026-03-29 03:00"]), all[1..]);
    assert_eq!(lines(&["--until", "2026-03-29 01:59:59"]), all[..1]);
    assert_eq!(lines(&["--since", "03:00"]), all[1..]);
}
