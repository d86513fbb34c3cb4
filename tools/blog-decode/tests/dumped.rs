// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! `sites` and `diff` on crash dumps: as on the snapshots that `extract` makes of them.

#![cfg(feature = "vmcore")]
#![allow(missing_docs)]

mod common;

use std::{
    fs,
    process::Command, //
};

use blog_decode::vmcore::extract;
use common::{
    snapshot::Page,
    vmcore::{
        elf,
        sample,
        Ring,
        ROOT, //
    },
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
