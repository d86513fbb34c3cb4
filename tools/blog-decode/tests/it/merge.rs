// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Lines of other logs in traces, and whatever transport they took; `../commands/merge.txt` has all
//! else about logs beside records.

use std::{fs, process::Command};

use crate::{
    common::{
        fixture,
        rig::{Rig, CLOCK},
        transports::{Logged, TRANSPORTS},
    },
    proto::unpacked,
};
use serde_json::Value;

/// What is said if a file doesn't have the clock of other logs.
const GUESSED: &str = " doesn't have the kernel log's clock: its lines, and ftrace's, go by \
                       CLOCK_MONOTONIC, which is near it: they may be off, after a sleep by a second";

/// A snapshot with a record.
fn rig() -> Rig {
    let rig = Rig::new();
    let text = "clock mono 0 100s; component 1 disk; ring 1 task 42 dd; page 1; read 2s";
    rig.write("snap", fixture::compile(text, &rig.build_id));
    rig
}

#[test]
fn lines_of_other_logs_are_in_traces() {
    let rig = rig();
    // Those of another boot have no place in what has one time only.
    rig.write(
        "dmesg",
        "[    0.0] Linux version 7\n[  9.0] old\n[    0.0] Linux version 7\n[    3.0] new\n",
    );
    rig.write("trace", " dd-42 [001] 1.500000: sched_switch: x\n");
    for (form, out) in [("perfetto", "p"), ("html", "h"), ("ctf", "c")] {
        let args = ["convert", "--to", form, "-o", out, "snap", "--dmesg", "dmesg"];
        let said = rig.run(&[&args[..], &["--ftrace", "trace"]].concat());
        assert!(said.err.contains("2 lines are of other boots"), "{said:?}");
        assert!(said.err.contains("they are left out"), "{said:?}");
    }
    let perfetto = unpacked(&fs::read(rig.path("p")).unwrap());
    let has = |text: &str| perfetto.windows(text.len()).any(|w| w == text.as_bytes());
    for text in ["sched_switch: x", "new", "dmesg", "ftrace"] {
        assert!(has(text), "{text}");
    }
    assert!(!has("old"));
    if let Ok(out) = Command::new("babeltrace2").arg(rig.path("c")).output() {
        let text = String::from_utf8(out.stdout).unwrap();
        assert!(out.status.success() && text.lines().count() == 4, "{text}");
        assert!(text.contains("{ msg = \"new\" }"), "{text}");
    } else {
        println!("babeltrace2 is not installed: the CTF trace is not checked");
    }
}

#[test]
fn lines_of_the_kernel_are_read_whatever_transport_they_took() {
    let rig = Rig::new();
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
