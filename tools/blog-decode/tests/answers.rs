// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! `spans` and `stats`: answers over many records.

#![allow(missing_docs)]

mod common;

use std::{
    fs,
    process::{Command, Output},
};

use blog_decode::sidetable::read_table;
use common::{
    image,
    snapshot::{Builder, Page, Ring, BOOT_ID},
};
use serde_json::{json, Value};

const US: u64 = 1000;
const START: &str = "read * sectors at 0x1";
const END: &str = "read * sectors at 0x2";

struct Rig {
    dir: tempfile::TempDir,
}

impl Rig {
    /// Records are (us, tag, what): tag and what are the arguments. `lost`: between two of them.
    fn new(task: &[(u64, u32, u64)], softirq: &[(u64, u32, u64)], lost: Option<u64>) -> Self {
        let this = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        this.add("snap", ("one", BOOT_ID), task, softirq, lost);
        this
    }

    /// A snapshot of a machine.
    fn add(
        &self,
        name: &str,
        (host, boot): (&str, [u8; 16]),
        task: &[(u64, u32, u64)],
        softirq: &[(u64, u32, u64)],
        lost: Option<u64>,
    ) {
        let dir = &self.dir;
        let ko = image::module(dir.path(), "test-mod.ko", "one");
        let id = read_table(&ko, |_| true).unwrap().unwrap().build_id;
        let mut b = Builder::new();
        b.system_of(host, boot)
            .clock(1, &[[0; 4], [20_000_000 * US; 4]])
            .images(&[(1, 4, &id, "test_mod")])
            .component(1, "disk");
        let rings = [Ring::task(1, 1, 7, "fio"), Ring::softirq(1, 2, 0)];
        for (mut ring, (id, records)) in rings.into_iter().zip([(1, task), (2, softirq)]) {
            let mut page = Page::new(id, 1, 0, 0);
            let mut lost = lost.filter(|_| id == 2);
            for (us, tag, what) in records {
                if let Some(at) = lost.take_if(|at| *at < *us) {
                    page.lost(at * US, 0, 1);
                }
                page.record(us * US, 1, (tag, what));
            }
            ring.records = page.records().into();
            b.ring(&ring).page(&ring, &page);
        }
        fs::write(dir.path().join(name), b.end()).unwrap();
    }

    fn run(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_blog-decode"))
            .args(args)
            .args(["--modules", "nowhere", "-s", "test-mod.ko", "snap"])
            .current_dir(self.dir.path())
            .output()
            .unwrap()
    }

    fn text(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The objects of this type.
    fn json(&self, args: &[&str], kind: &str) -> Vec<Value> {
        let text = self.text(&[args, &["--json"]].concat());
        let all = text.lines().map(|l| serde_json::from_str(l).unwrap());
        all.filter(|o: &Value| o["type"] == kind).collect()
    }
}

/// Tag n takes n us, from the task to the interrupt.
fn hundred() -> Rig {
    let starts: Vec<_> = (1..=100).map(|n| (n * 1000, n as u32, 1)).collect();
    let ends: Vec<_> = (1..=100).map(|n| (n * 1000 + n, n as u32, 2)).collect();
    Rig::new(&starts, &ends, None)
}

#[test]
fn spans_go_from_ring_to_ring() {
    let rig = hundred();
    let args = ["spans", "-k", "arg.count", START, END];
    let sums = rig.json(&args, "span-sum");
    assert_eq!(sums.len(), 1);
    for (key, ns) in [
        ("spans", 100),
        ("min_ns", 1000),
        ("max_ns", 100_000),
        ("mean_ns", 50_500),
    ] {
        assert_eq!(sums[0][key], ns, "{key}");
    }
    for (key, ns) in [("p50_ns", 50_000), ("p90_ns", 90_000), ("p99_ns", 99_000)] {
        let found = sums[0][key].as_u64().unwrap();
        assert!((ns..=ns + ns / 128).contains(&found), "{key}: {found}");
    }
    let octaves = rig.json(&args, "span-octave");
    let all: u64 = octaves.iter().map(|o| o["spans"].as_u64().unwrap()).sum();
    assert_eq!(all, 100);
    let slowest = rig.json(&[&args[..], &["-n", "3"]].concat(), "span");
    let of = |key: &str| slowest.iter().map(|s| s[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("ns"), [100_000, 99_000, 98_000]);
    let keys: Vec<_> = slowest.iter().map(|s| &s["key"]["arg.count"]).collect();
    assert_eq!(keys, [100, 99, 98]);
    assert_eq!(slowest[0]["start"]["context"], "task");
    assert_eq!(slowest[0]["end"]["context"], "softirq");
    let unpaired = rig.json(&args, "unpaired");
    assert_eq!(
        (&unpaired[0]["starts"], &unpaired[0]["ends"]),
        (&0.into(), &0.into())
    );
    let text = rig.text(&args);
    assert!(
        text.lines()
            .nth(1)
            .unwrap()
            .starts_with("        100   1.00us"),
        "{text}"
    );
    assert!(text.contains("\n100us for 100\n["), "{text}");
}

#[test]
fn spans_are_grouped() {
    let rig = hundred();
    let args = [
        "spans",
        "-k",
        "arg.0",
        "--by",
        "comm,arg.sector",
        START,
        END,
    ];
    let sums = rig.json(&args, "span-sum");
    assert_eq!(sums[1]["by"], json!({"comm": "fio", "arg.sector": 1}));
    assert_eq!((sums.len(), &sums[1]["spans"]), (2, &100.into()));
}

#[test]
fn what_has_no_other_half_is_counted() {
    // 1 has no end, 2 starts again, 3 has no start; something is lost at 25.
    let starts = [(10, 1, 1), (20, 2, 1), (30, 2, 1)];
    let ends = [(15, 3, 2), (32, 2, 2), (40, 4, 2)];
    let rig = Rig::new(&starts, &ends, Some(25));
    let args = ["spans", "-k", "arg.count", START, END];
    let unpaired = &rig.json(&args, "unpaired")[0];
    assert_eq!(unpaired["starts"], 2);
    assert_eq!(unpaired["starts_before_loss"], 2);
    assert_eq!(unpaired["ends"], 2);
    assert_eq!(unpaired["ends_after_loss"], 1);
    assert_eq!(rig.json(&args, "span-sum")[0]["max_ns"], 2000);
    let keyless = ["spans", "-k", "arg.nothing", START, END];
    let output = rig.run(&keyless);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("6 records have no such key"), "{text}");
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        told.contains("no call site has an argument \"nothing\""),
        "{told}"
    );
}

#[test]
fn without_a_key_a_span_is_of_one_thread() {
    let rig = Rig::new(&[(10, 1, 1), (17, 9, 2), (20, 1, 1)], &[(30, 1, 2)], None);
    let spans = rig.json(&["spans", START, END], "span");
    assert_eq!(spans.len(), 1);
    assert_eq!(
        (&spans[0]["ns"], &spans[0]["key"]),
        (&7000.into(), &json!({"pid": 7, "tgid": 7, "comm": "fio"}))
    );
    // From one to the next: each ends the one before and starts another.
    let spans = rig.json(&["spans", "read *", "read *"], "span");
    assert_eq!(spans.len(), 2);
}

#[test]
fn records_are_counted_by_any_field() {
    let rig = Rig::new(
        &[(10, 3, 1), (20, 4, 1), (1_000_010, 5, 1)],
        &[(30, 6, 2)],
        None,
    );
    let count = |args: &[&str]| {
        let rows = rig.json(&[&["stats"], args].concat(), "count");
        let row = |r: &Value| (r["records"].as_u64().unwrap(), r["by"].to_string());
        rows.iter().map(row).collect::<Vec<_>>()
    };
    assert_eq!(
        count(&["-n", "9"]),
        [(4, r#"{"file":"drivers/block/test.rs","format":"read {} sectors at {sector:#x}","line":11}"#.into())]
    );
    assert_eq!(
        count(&["--by", "context"]),
        [
            (3, r#"{"context":"task"}"#.into()),
            (1, r#"{"context":"softirq"}"#.into())
        ]
    );
    assert_eq!(
        count(&["--by", "comm"]),
        [
            (3, r#"{"comm":"fio"}"#.into()),
            (1, r#"{"comm":null}"#.into())
        ]
    );
    assert_eq!(count(&["--by", "context", "-n", "1"]).len(), 1);
    assert_eq!(count(&["--grep", "0x2"]).len(), 1);
    let per = rig.json(
        &[
            "stats",
            "--by",
            "context",
            "--per",
            "1",
            "--sum",
            "arg.count",
        ],
        "count",
    );
    let of = |key: &str| per.iter().map(|r| r[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("from_boot_ns"), [0, 0, 1_000_000_000]);
    assert_eq!(of("records"), [2, 1, 1]);
    assert_eq!(of("sum"), [7, 6, 5]);
    assert!(per.iter().all(|row| row.get("sum_text").is_none()));
    let text = rig.text(&["stats", "--by", "context"]);
    assert_eq!(
        text,
        "    records      %   rate/s context\n\
         \x20         3   75.0        3 task\n\
         \x20         1   25.0        1 softirq\n"
    );
    let text = rig.text(&["stats", "--by", "context", "-n", "1"]);
    assert!(
        text.ends_with("          1 more records, in 1 rows that -n hides\n"),
        "{text}"
    );
    // Any filter makes it count the records that pass.
    let rows = rig.json(&["stats", "--until", "0.5"], "count");
    assert_eq!(rows[0]["records"], 3);
    assert!(rig.text(&["stats", "-c", "disk"]).contains("complete s"));
    let bad = rig.run(&["stats", "--by", "size"]);
    assert_eq!(bad.status.code(), Some(2));
}

#[test]
fn both_answer_for_several_machines() {
    let rig = Rig::new(&[(10, 1, 1), (20, 2, 1)], &[(11, 1, 2), (22, 2, 2)], None);
    // A tag is a machine's own.
    rig.add(
        "other",
        ("two", [2; 16]),
        &[(15, 1, 1)],
        &[(18, 1, 2)],
        None,
    );
    let by = ["--by", "host", "other"];
    let args = ["spans", "-k", "arg.count", START, END];
    let sums = rig.json(&[&args[..], &by].concat(), "span-sum");
    let of = |key: &str| sums.iter().map(|s| s[key].clone()).collect::<Vec<_>>();
    let hosts = ["one", "two"].map(|host| json!({ "host": host }));
    assert_eq!(of("by"), [&[Value::Null][..], &hosts].concat());
    assert_eq!(of("spans"), [3, 2, 1]);
    assert_eq!(of("max_ns"), [3000, 2000, 3000]);
    let rows = rig.json(&[&["stats", "--per", "1"], &by[..]].concat(), "count");
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|r| r["from_wall_ns"].is_number()));
    assert_eq!(
        (&rows[0]["records"], &rows[1]["records"]),
        (&4.into(), &2.into())
    );
}

/// A thread: pid, name, and of each record the time in ms and the arguments.
type Thread<'a> = (i32, &'static str, &'a [(u64, u32, u64)]);

/// A snapshot of these threads.
fn of_threads(rig: &Rig, name: &str, threads: &[Thread<'_>]) {
    let ko = image::module(rig.dir.path(), "test-mod.ko", "one");
    let id = read_table(&ko, |_| true).unwrap().unwrap().build_id;
    let mut b = Builder::new();
    b.system(BOOT_ID)
        .clock(1, &[[0; 4], [20_000_000 * US; 4]])
        .images(&[(1, 4, &id, "test_mod")])
        .component(1, "disk");
    for (number, (pid, comm, records)) in (1..).zip(threads) {
        let mut ring = Ring::task(1, number, *pid, comm);
        let mut page = Page::new(number, 1, 0, 0);
        for (ms, count, sector) in *records {
            page.record(ms * 1000 * US, 1, (count, sector));
        }
        ring.records = page.records().into();
        b.ring(&ring).page(&ring, &page);
    }
    fs::write(rig.dir.path().join(name), b.end()).unwrap();
}

#[test]
fn a_thread_that_was_renamed_is_the_same_one() {
    let rig = Rig::new(&[], &[], None);
    of_threads(
        &rig,
        "snap",
        &[(7, "sh", &[(10, 1, 1)]), (7, "fio", &[(12, 1, 2)])],
    );
    let spans = rig.json(&["spans", START, END], "span");
    assert_eq!(spans.len(), 1);
    assert_eq!(
        (&spans[0]["ns"], &spans[0]["key"]),
        (
            &2_000_000.into(),
            &json!({"pid": 7, "tgid": 7, "comm": "sh"})
        )
    );
}

#[test]
fn keys_with_blanks_are_not_those_of_others() {
    let rig = Rig::new(&[], &[], None);
    let threads: &[Thread<'_>] = &[
        (7, "a 1", &[(10, 2, 1)]),
        (8, "a", &[(12, 12, 2)]),
        (9, "a", &[(13, 1, 1)]),
        (10, "a 1", &[(14, 2, 2)]),
    ];
    of_threads(&rig, "snap", threads);
    let spans = rig.json(&["spans", "-k", "comm,arg.count", START, END], "span");
    let keys: Vec<_> = spans.iter().map(|s| (&s["ns"], &s["key"])).collect();
    let key = json!({"comm": "a 1", "arg.count": 2});
    assert_eq!(keys, [(&4_000_000.into(), &key)]);
    let shown = rig.text(&["spans", "-k", "comm,arg.count", START, END]);
    assert!(shown.contains("\n4.00ms for \"a 1\" 2\n"), "{shown}");
    let rows = rig.json(&["stats", "--by", "comm,arg.count"], "count");
    assert_eq!(rows.len(), 3);
}

#[test]
fn the_times_of_a_pair_are_those_of_its_lines() {
    let rig = hundred();
    for args in [
        &["spans", "-t", "delta", "-k", "arg.0", "-n", "1", START, END][..],
        &["gaps", "-t", "delta", "-n", "1"],
    ] {
        let text = rig.text(args);
        let lines: Vec<&str> = text.lines().filter(|l| l.starts_with("[   ")).collect();
        assert!(lines[0].starts_with("[   +0.000000]"), "{text}");
        let second = match args[0] {
            "spans" => "[   +0.000100]",
            _ => "[   +0.001000]",
        };
        assert!(lines[1].starts_with(second), "{text}");
    }
}

#[test]
fn counts_are_exact_however_many_rows_there_are() {
    let rig = Rig::new(&[], &[], None);
    let mut many: Vec<(u64, u32, u64)> = (0..150).map(|n| (n, n as u32, n)).collect();
    many.extend([(500, 1, 77); 3]);
    of_threads(&rig, "snap", &[(7, "fio", &many)]);
    let top = rig.json(&["stats", "--by", "arg.sector", "-n", "2"], "count");
    assert_eq!(
        (&top[0]["records"], &top[0]["by"]["arg.sector"]),
        (&4.into(), &77.into())
    );
    let text = rig.text(&["stats", "--by", "arg.sector", "-n", "2"]);
    assert!(
        text.contains("148 more records, in 148 rows that -n hides"),
        "{text}"
    );
    let output = rig.run(&["stats", "--by", "comm,pid,comm"]);
    assert_eq!(output.status.code(), Some(2));
    // Intervals that are shorter than a millisecond have digits enough.
    let rows = rig.text(&["stats", "--by", "comm", "--per", "0.0005"]);
    let from: Vec<&str> = rows.lines().skip(1).map(|l| l[..18].trim()).collect();
    assert_eq!(from[..2], ["0.000000000", "0.001000000"]);
}

/// Programs round what has more than 64 bits, or give up on the file.
#[test]
fn no_number_has_more_bits_than_programs_read() {
    let most = i64::MAX as u64;
    for (values, sum, text) in [
        (&[most - 1, 1][..], Value::from(most), None),
        (&[most, 1], Value::Null, Some("9223372036854775808")),
        (
            &[u64::MAX, u64::MAX],
            Value::Null,
            Some("36893488147419103230"),
        ),
    ] {
        let task: Vec<_> = (1..).zip(values).map(|(us, n)| (us, 1, *n)).collect();
        let rig = Rig::new(&task, &[], None);
        let args = ["stats", "--by", "component", "--sum", "arg.sector"];
        let rows = rig.json(&args, "count");
        assert_eq!(rows[0]["sum"], sum);
        assert_eq!(rows[0].get("sum_text"), text.map(Value::from).as_ref());
    }
}

#[test]
fn a_value_that_no_signed_number_holds_is_text() {
    let most = i64::MAX as u64;
    let rig = Rig::new(&[(10, 1, most), (20, 1, most + 1)], &[], None);
    let rows = rig.json(&["stats", "--by", "arg.sector"], "count");
    let of = |key: &str| rows.iter().filter_map(|r| r.get(key)).collect::<Vec<_>>();
    let numbers = [json!({ "arg.sector": most }), json!({"arg.sector": null})];
    assert!(
        numbers.iter().all(|row| of("by").contains(&row)),
        "{rows:?}"
    );
    assert_eq!(
        of("by_text"),
        [&json!({"arg.sector": "9223372036854775808"})]
    );
}

/// A thread may be called as a value that isn't there is shown.
#[test]
fn nothing_and_a_dash_differ() {
    let rig = Rig::new(&[], &[(10, 1, 1)], None);
    of_threads(&rig, "dash", &[(7, "-", &[(10, 1, 1)])]);
    for (snapshot, comm) in [("snap", "-"), ("dash", "\"-\"")] {
        let output = Command::new(env!("CARGO_BIN_EXE_blog-decode"))
            .args(["stats", "--by", "comm", "-s", "test-mod.ko", snapshot])
            .current_dir(rig.dir.path())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.ends_with(&format!(" {comm}\n")), "{text}");
    }
}
