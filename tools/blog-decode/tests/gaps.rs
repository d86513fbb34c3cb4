// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! `gaps`: where threads were silent.

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

const MS: u64 = 1_000_000;
const TASK: u8 = 0;

struct Rig {
    dir: tempfile::TempDir,
}

impl Rig {
    fn run(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_blog-decode"))
            .arg("gaps")
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

    /// Who, and how long.
    fn gaps(&self, args: &[&str]) -> Vec<String> {
        let text = self.text(args);
        let heads = text
            .lines()
            .filter(|l| l.ends_with(" s") && !l.starts_with('['));
        heads.map(str::to_owned).collect()
    }
}

fn page(ring: u32, times: &[u64]) -> Page {
    let mut page = Page::new(ring, 1, times[0] * MS, 0);
    for ms in times {
        page.record(ms * MS, 1, (&(*ms as u32), &0u64));
    }
    page
}

fn rig() -> Rig {
    let dir = tempfile::tempdir().unwrap();
    let ko = image::module(dir.path(), "test-mod.ko", "one");
    let id = read_table(&ko, |_| true).unwrap().unwrap().build_id;
    let mut b = Builder::new();
    b.system(BOOT_ID)
        .clock(1, &[[0; 4], [20_000 * MS; 4]])
        .images(&[(1, 4, &id, "test_mod")])
        .component(1, "disk")
        .component(2, "net");
    let mut add = |mut ring: Ring, page: Page| {
        ring.records = page.records().into();
        b.ring(&ring).page(&ring, &page);
    };
    // A thread that logs for two components.
    add(Ring::task(1, 1, 7, "two"), page(1, &[10_000, 11_000]));
    add(Ring::task(2, 1, 7, "two"), page(1, &[10_200]));
    // One that has lost records: between these two, nobody knows.
    let mut lossy = page(2, &[1_000]);
    lossy.lost(3_000 * MS, 0, 5);
    for ms in [5_000u64, 5_500] {
        lossy.record(ms * MS, 1, (&1u32, &0u64));
    }
    add(Ring::task(1, 2, 8, "lossy"), lossy);
    add(Ring::softirq(1, 3, 0), page(3, &[100, 9_000]));
    // Two that share a ring, in which records were lost of one of them.
    let mut shared = Page::new(4, 1, 2_000 * MS, 0);
    for (ms, pid, comm) in [
        (2_000, 9, "nine"),
        (2_500, 10, "ten"),
        (3_000, 0, ""),
        (6_000, 9, "nine"),
        (8_000, 10, "ten"),
        (8_300, 10, "ten"),
    ] {
        if pid == 0 {
            shared.lost(ms * MS, 0, 1);
            continue;
        }
        shared.writer(ms * MS, TASK, 0, (pid, 9, comm));
        shared.record(ms * MS, 1, (&(ms as u32), &0u64));
    }
    add(Ring::shared(1, 4, 0), shared);
    let bytes = b.end();
    fs::write(dir.path().join("snap"), bytes).unwrap();
    Rig { dir }
}

#[test]
fn the_largest_gaps_come_first() {
    let rig = rig();
    assert_eq!(
        rig.gaps(&[]),
        [
            "two[7]: 0.800000 s",
            "lossy[8]: 0.500000 s",
            "ten[10] of 9: 0.300000 s",
            "two[7]: 0.200000 s",
        ]
    );
    assert_eq!(
        rig.text(&["-n", "1", "-l"]),
        "two[7]: 0.800000 s\n\
         [   10.200000] info  net two[7] drivers/block/test.rs:11: read 10200 sectors at 0x0\n\
         [   11.000000] info  disk two[7] drivers/block/test.rs:11: read 11000 sectors at 0x0\n"
    );
    // The same file again is the same records, not more of them.
    assert_eq!(rig.text(&["snap"]), rig.text(&[]));
}

#[test]
fn gaps_are_between_records_that_are_chosen() {
    let rig = rig();
    assert_eq!(rig.gaps(&["-c", "disk", "-p", "7"]), ["two[7]: 1.000000 s"]);
    assert_eq!(rig.gaps(&["--longer", "0.5"]).len(), 2);
    assert_eq!(rig.gaps(&["--longer", "0.500001"]).len(), 1);
    assert!(rig.gaps(&["-n", "0"]).is_empty());
    let none = rig.run(&["--longer", "5"]);
    assert_eq!(none.status.code(), Some(0));
    assert!(none.stdout.is_empty());
    assert!(String::from_utf8_lossy(&none.stderr).contains("no such gap"));
}

/// A thread that has the id of one that has ended, in another ring or in the same one.
#[test]
fn an_id_that_is_used_again_is_another_thread() {
    let rig = rig();
    let ko = rig.dir.path().join("test-mod.ko");
    let id = read_table(&ko, |_| true).unwrap().unwrap().build_id;
    for (ring, seq, ended) in [(2, 1, true), (1, 5, true), (1, 5, false)] {
        let file = |taken: u64, rings: &[(Ring, Page)]| {
            let mut b = Builder::new();
            b.system(BOOT_ID)
                .clock(1, &[[0; 4], [taken * MS; 4]])
                .images(&[(1, 4, &id, "test_mod")])
                .component(1, "disk");
            for (ring, page) in rings {
                b.ring(ring).page(ring, page);
            }
            b.end()
        };
        let mut first = Ring::task(1, 1, 7, "first");
        let mut second = Ring::task(1, ring, 7, "second");
        (first.records, second.records) = (2, 2);
        let mut later = Page::new(ring, seq, 5_000 * MS, 0);
        later.record(5_000 * MS, 1, (&2000u32, &0u64));
        later.record(5_300 * MS, 1, (&5300u32, &0u64));
        let files = match ended {
            true => {
                first.exit_clock = 2_500 * MS;
                let both = [(first, page(1, &[1_000, 2_000])), (second, later)];
                vec![file(9_000, &both)]
            }
            // Nobody has seen it end.
            false => vec![
                file(3_000, &[(first, page(1, &[1_000, 2_000]))]),
                file(9_000, &[(second, later)]),
            ],
        };
        let names = ["snap", "snap2"];
        for (name, bytes) in names.iter().zip(&files) {
            fs::write(rig.dir.path().join(name), bytes).unwrap();
        }
        let more = &names[1..files.len()];
        let gaps = rig.gaps(more);
        let expected = ["first[7]: 1.000000 s", "second[7]: 0.300000 s"];
        assert_eq!(gaps, expected, "{ring} {seq} {ended}");
        let out = Command::new(env!("CARGO_BIN_EXE_blog-decode"))
            .args([
                "spans",
                "--json",
                "--modules",
                "nowhere",
                "-s",
                "test-mod.ko",
            ])
            .args(["read * sectors*", "read 2000 *"])
            .args(&names[..files.len()])
            .current_dir(rig.dir.path())
            .output()
            .unwrap();
        let text = String::from_utf8(out.stdout).unwrap();
        let spans: Vec<&str> = text.lines().filter(|l| l.contains("\"span\"")).collect();
        // From 1 s to 2 s; what begins at 2 s has no end.
        assert_eq!(spans.len(), 1, "{ring} {seq} {ended}: {text}");
        assert!(spans[0].contains("1000000000"), "{text}");
    }
}

#[test]
fn as_json_both_records_are_there() {
    let text = rig().text(&["--json", "-n", "2"]);
    let gaps: Vec<serde_json::Value> = text
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert_eq!(gaps.len(), 2);
    let gap = &gaps[0];
    assert_eq!(
        (&gap["type"], &gap["ns"]),
        (&"gap".into(), &(800 * MS).into())
    );
    assert_eq!((&gap["pid"], &gap["comm"]), (&7.into(), &"two".into()));
    assert_eq!(gap["before"]["component"], "net");
    assert_eq!(gap["after"]["boot_ns"], 11_000 * MS);
}
