// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! `sites` and `diff` on crash dumps: as on the snapshots that `extract` makes of them.

#![cfg(feature = "vmcore")]
#![allow(missing_docs)]

mod common;

use std::{fs, process::Command};

use blog_decode::vmcore::extract;
use common::{
    snapshot::Page,
    vmcore::{elf, flattened, kdump, sample, Ring, ROOT},
};

struct Rig(tempfile::TempDir);

impl Rig {
    /// Status, standard output, standard error.
    fn run(&self, args: &[&str]) -> (i32, String, String) {
        let out = Command::new(env!("CARGO_BIN_EXE_blog-decode"))
            .args(args)
            .current_dir(self.0.path())
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (
            out.status.code().unwrap(),
            text(out.stdout),
            text(out.stderr),
        )
    }

    fn good(&self, args: &[&str]) -> String {
        let (status, stdout, stderr) = self.run(args);
        assert_eq!((status, stderr.as_str()), (0, ""), "{args:?}: {stdout}");
        stdout
    }
}

/// `snap` and `old` are the same; `new` is a dump of later.
fn rig() -> Rig {
    let dir = tempfile::tempdir().unwrap();
    let ram = sample().finish();
    let mut snapshot = Vec::new();
    extract(&ram, ROOT, &mut snapshot).unwrap();
    let mut later = sample();
    let mut page = Page::new(0, 1, 99_950, 0);
    page.record(99_950, 4, ());
    let ring = Ring {
        context: 0,
        cpu: u32::MAX,
        task: Some(0),
        exit_clock: 0,
        pages: vec![page],
    };
    later.component("late", &[ring]);
    for (name, bytes) in [
        ("snap", snapshot),
        ("old", elf(&ram, 4)),
        ("new", elf(&later.finish(), 4)),
    ] {
        fs::write(dir.path().join(name), bytes).unwrap();
    }
    Rig(dir)
}

#[test]
fn sites_are_listed_from_dumps() {
    let rig = rig();
    let sites = rig.good(&["sites", "--vmcore", "old"]);
    assert_eq!(sites, rig.good(&["sites", "snap"]));
    // Their numbers of records, by id.
    let rows: Vec<Vec<&str>> = sites
        .lines()
        .map(|l| l.split_whitespace().collect())
        .collect();
    let counts: Vec<&str> = rows[1..].iter().map(|row| row[1]).collect();
    assert_eq!(counts, ["1", "1", "0", "0", "9"]);
    let both = rig.good(&["sites", "snap", "--vmcore", "new", "--used"]);
    assert_eq!(both.lines().count(), 1 + 4);
    let (status, stdout, stderr) = rig.run(&["sites", "--vmcore", "snap"]);
    assert_eq!((status, stdout.as_str()), (2, ""));
    assert!(stderr.starts_with("blog-decode: snap: "), "{stderr}");
}

#[test]
fn differences_to_dumps_are_found() {
    let rig = rig();
    let diff = |args: &[&str]| {
        let args = [&["diff", "--format", "{component} {pid} {site}"], args].concat();
        let (_, stdout, stderr) = rig.run(&args);
        assert!(!stderr.contains("boot"), "{stderr}");
        stdout
    };
    assert_eq!(diff(&["snap", "--vmcore", "new"]), "late 10 4\n");
    assert_eq!(diff(&["--vmcore", "old", "--vmcore", "new"]), "late 10 4\n");
    assert_eq!(diff(&["--vmcore", "new", "--vmcore", "old"]), "");
    assert_eq!(diff(&["snap", "--vmcore", "old"]), "");
    for wrong in [
        &["diff", "--vmcore", "new"][..],
        &["diff", "snap", "snap", "--vmcore", "new"],
        &["diff", "snap"],
    ] {
        let (status, stdout, _) = rig.run(wrong);
        assert_eq!((status, stdout.as_str()), (2, ""), "{wrong:?}");
    }
}

#[test]
fn parts_of_a_dump_are_one() {
    let rig = rig();
    let expected = rig.good(&["sites", "--vmcore", "old"]);
    let ram = sample().finish();
    let write = |name: &str, bytes: &[u8]| fs::write(rig.0.path().join(name), bytes).unwrap();
    write("kdump", &kdump(&ram, 4, 1)[0]);
    assert_eq!(rig.good(&["sites", "--vmcore", "kdump"]), expected);
    let parts = kdump(&ram, 4, 3);
    let names: Vec<String> = (0..3).map(|n| format!("part{n}")).collect();
    for (name, bytes) in names.iter().zip(&parts) {
        write(name, bytes);
    }
    // In any order, beside others, and also as OLD and NEW.
    let args = |order: &[usize]| -> Vec<&str> {
        order
            .iter()
            .flat_map(|&n| ["--vmcore", &names[n]])
            .collect()
    };
    for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
        assert_eq!(
            rig.good(&[&["sites"], &args(&order)[..]].concat()),
            expected
        );
    }
    let (status, said, _) = rig.run(&[&["diff", "snap"], &args(&[2, 1, 0])[..]].concat());
    assert_eq!((status, said.as_str()), (0, ""));
    let out = [&["extract", "-o", "out"], &args(&[0, 1, 2])[..]].concat();
    assert!(rig.good(&out).starts_with("out: "));
    // One of them is not the dump, whatever is found in it.
    for order in [&[0][..], &[1], &[2], &[0, 1], &[0, 2], &[1, 2]] {
        let (status, _, said) = rig.run(&[&["sites"], &args(order)[..]].concat());
        assert_ne!(status, 0);
        let first = format!(
            "blog-decode: {}: it is a part of a dump that was split: ",
            names[order[0]]
        );
        assert!(said.starts_with(&first), "{order:?}: {said}");
    }
    let other = ["extract", "-o", "x", "--vmcore", "old", "--vmcore", "new"];
    assert_eq!(rig.run(&other).0, 2);
}

#[test]
fn a_dump_that_is_cut_is_never_whole() {
    let rig = rig();
    let ram = sample().finish();
    let write = |name: &str, bytes: &[u8]| fs::write(rig.0.path().join(name), bytes).unwrap();
    let whole = kdump(&ram, 4, 1).remove(0);
    let len = whole.len();
    for end in [len - 1, len - 4096, len / 2, 4 * 4096 + 100, 3 * 4096] {
        write("cut", &whole[..end]);
        let (status, _, said) = rig.run(&["tasks", "--vmcore", "cut"]);
        assert_ne!(status, 0);
        let why = format!("blog-decode: cut: it is cut off: {end} of at least ");
        assert!(said.starts_with(&why), "{end}: {said}");
    }
    let mut noted = whole.clone();
    noted[424] |= 8;
    write("noted", &noted);
    let (status, _, said) = rig.run(&["sites", "--vmcore", "noted"]);
    assert_eq!(status, 1);
    assert!(
        said.contains("noted: it is incomplete, as makedumpfile has noted"),
        "{said}"
    );
    // Of an ELF dump that can't be opened any more, too.
    let old = elf(&ram, 4);
    write("cut", &old[..old.len() - 4096]);
    let (_, _, said) = rig.run(&["sites", "--vmcore", "cut"]);
    assert!(
        said.starts_with("blog-decode: cut: it is cut off: "),
        "{said}"
    );
}

#[test]
fn dumps_may_be_packed() {
    use std::io::Write;
    let rig = rig();
    let expected = rig.good(&["sites", "--vmcore", "old"]);
    let ram = sample().finish();
    let packed = |bytes: &[u8]| {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    };
    let write = |name: &str, bytes: &[u8]| fs::write(rig.0.path().join(name), bytes).unwrap();
    let parts = kdump(&ram, 4, 2);
    for (name, bytes) in [
        ("elf.gz", elf(&ram, 4)),
        ("flat.gz", flattened(&elf(&ram, 4))),
        ("a.gz", parts[0].clone()),
        ("b.gz", parts[1].clone()),
    ] {
        write(name, &packed(&bytes));
    }
    for name in ["elf.gz", "flat.gz"] {
        assert_eq!(rig.good(&["sites", "--vmcore", name]), expected);
    }
    let both = ["sites", "--vmcore", "a.gz", "--vmcore", "b.gz"];
    assert_eq!(rig.good(&both), expected);
    let whole = packed(&elf(&ram, 4));
    write("cut.gz", &whole[..whole.len() / 2]);
    let (status, _, said) = rig.run(&["sites", "--vmcore", "cut.gz"]);
    assert_ne!(status, 0);
    assert!(
        said.starts_with("blog-decode: cut.gz: packed by gzip, and cut off after"),
        "{said}"
    );
}

#[test]
fn what_is_no_dump_is_said_first() {
    let rig = rig();
    let write = |name: &str, bytes: &[u8]| fs::write(rig.0.path().join(name), bytes).unwrap();
    write("table", b"BLOGFMT\0and so on");
    let (status, _, said) = rig.run(&["sites", "--vmcore", "table"]);
    assert_eq!(status, 2);
    let why = "blog-decode: table: this is a side table, which goes with --sidetable";
    assert!(said.starts_with(why), "{said}");
}
