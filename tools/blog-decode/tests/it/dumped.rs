// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! `sites` and `diff` on crash dumps: as on the snapshots that `extract` makes of them.

use crate::common::{
    rig::{Rig, Said},
    snapshot::Page,
    vmcore::{elf, flattened, kdump, sample, Ring, ROOT},
};
use blog_vmcore::extract;

/// `snap` and `old` are the same; `new` is a dump of later.
fn rig() -> Rig {
    let rig = Rig::empty();
    let ram = sample().finish();
    let mut snapshot = Vec::new();
    extract(&ram, ROOT, &mut snapshot).unwrap();
    let mut later = sample();
    let mut page = Page::new(0, 1, 99_950, 0);
    page.record(99_950, 4, ());
    let ring = Ring { context: 0, cpu: u32::MAX, task: Some(0), exit_clock: 0, pages: vec![page] };
    later.component("late", &[ring]);
    rig.write("snap", snapshot);
    rig.write("old", elf(&ram, 4));
    rig.write("new", elf(&later.finish(), 4));
    rig
}

#[test]
fn sites_are_listed_from_dumps() {
    let rig = rig();
    let sites = rig.good(&["sites", "--vmcore", "old"]);
    assert_eq!(sites, rig.good(&["sites", "snap"]));
    // Their numbers of records, by id.
    let rows: Vec<Vec<&str>> = sites.lines().map(|l| l.split_whitespace().collect()).collect();
    let counts: Vec<&str> = rows[1..].iter().map(|row| row[1]).collect();
    assert_eq!(counts, ["1", "1", "0", "0", "9"]);
    let both = rig.good(&["sites", "snap", "--vmcore", "new", "--used"]);
    assert_eq!(rig.good(&["sites", "snap", "new", "--used"]), both);
    assert_eq!(both.lines().count(), 1 + 4);
    let said = rig.run(&["sites", "--vmcore", "snap"]);
    assert_eq!((said.status, &*said.out), (2, ""));
    assert!(said.err.starts_with("blog-decode: snap: "), "{said:?}");
}

#[test]
fn differences_to_dumps_are_found() {
    let rig = rig();
    let diff = |args: &[&str]| {
        let args = [&["--format", "{component} {pid} {site}", "--newer-than"], args].concat();
        let Said { out, err, .. } = rig.run(&args);
        assert!(!err.contains("boot"), "{err}");
        out
    };
    assert_eq!(diff(&["snap", "--vmcore", "new"]), "late 10 4\n");
    assert_eq!(diff(&["old", "new"]), "late 10 4\n");
    assert_eq!(diff(&["new", "--vmcore", "old"]), "");
    assert_eq!(diff(&["snap", "--vmcore", "old"]), "");
    // The command of the version before.
    let said = rig.run(&["diff", "snap", "new", "--format", "{component} {pid} {site}"]);
    assert_eq!(said.out, "late 10 4\n");
    assert!(said.err.contains("diff will go: use show --newer-than"), "{said:?}");
}

#[test]
fn parts_of_a_dump_are_one() {
    let rig = rig();
    let expected = rig.good(&["sites", "--vmcore", "old"]);
    let ram = sample().finish();
    rig.write("kdump", &kdump(&ram, 4, 1)[0]);
    assert_eq!(rig.good(&["sites", "--vmcore", "kdump"]), expected);
    let parts = kdump(&ram, 4, 3);
    let names: Vec<String> = (0..3).map(|n| format!("part{n}")).collect();
    for (name, bytes) in names.iter().zip(&parts) {
        rig.write(name, bytes);
    }
    // In any order, beside others, and also as OLD and NEW.
    let args = |order: &[usize]| -> Vec<&str> {
        order.iter().flat_map(|&n| ["--vmcore", &names[n]]).collect()
    };
    for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
        assert_eq!(rig.good(&[&["sites"], &args(&order)[..]].concat()), expected);
    }
    let said = rig.run(&[&["--newer-than", "snap"], &args(&[2, 1, 0])[..]].concat());
    assert_eq!((said.status, &*said.out), (0, ""));
    let out = [&["convert", "--to", "snapshot", "-o", "out"], &args(&[0, 1, 2])[..]].concat();
    assert!(rig.good(&out).starts_with("out: "));
    // One of them is not the dump, whatever is found in it.
    for order in [&[0][..], &[1], &[2], &[0, 1], &[0, 2], &[1, 2]] {
        let Said { status, err, .. } = rig.run(&[&["sites"], &args(order)[..]].concat());
        assert_ne!(status, 0);
        let first =
            format!("blog-decode: {}: it is a part of a dump that was split: ", names[order[0]]);
        assert!(err.starts_with(&first), "{order:?}: {err}");
    }
    // One dump, and no choice of records.
    let convert = ["convert", "--to", "snapshot", "-o", "x"];
    for wrong in [&["old", "new"][..], &[], &["old", "snap"], &["old", "-c", "late"], &["snap"]] {
        let said = rig.run(&[&convert[..], wrong].concat());
        assert_eq!((said.status, &*said.out), (2, ""), "{wrong:?}");
        assert!(!rig.path("x").exists());
    }
}

#[test]
fn a_dump_that_is_cut_is_never_whole() {
    let rig = rig();
    let ram = sample().finish();
    let whole = kdump(&ram, 4, 1).remove(0);
    let len = whole.len();
    for end in [len - 1, len - 4096, len / 2, 4 * 4096 + 100, 3 * 4096] {
        rig.write("cut", &whole[..end]);
        let Said { status, err, .. } = rig.run(&["tasks", "--vmcore", "cut"]);
        assert_ne!(status, 0);
        let why = format!("blog-decode: cut: it is cut off: {end} of at least ");
        assert!(err.starts_with(&why), "{end}: {err}");
    }
    let mut noted = whole.clone();
    noted[424] |= 8;
    rig.write("noted", &noted);
    let Said { status, err, .. } = rig.run(&["sites", "--vmcore", "noted"]);
    assert_eq!(status, 1);
    assert!(err.contains("noted: it is incomplete, as makedumpfile has noted"), "{err}");
    // Of an ELF dump that can't be opened any more, too.
    let old = elf(&ram, 4);
    rig.write("cut", &old[..old.len() - 4096]);
    let Said { err, .. } = rig.run(&["sites", "--vmcore", "cut"]);
    assert!(err.starts_with("blog-decode: cut: it is cut off: "), "{err}");
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
    let parts = kdump(&ram, 4, 2);
    for (name, bytes) in [
        ("elf.gz", elf(&ram, 4)),
        ("flat.gz", flattened(&elf(&ram, 4))),
        ("a.gz", parts[0].clone()),
        ("b.gz", parts[1].clone()),
    ] {
        rig.write(name, packed(&bytes));
    }
    for name in ["elf.gz", "flat.gz"] {
        assert_eq!(rig.good(&["sites", "--vmcore", name]), expected);
    }
    let both = ["sites", "--vmcore", "a.gz", "--vmcore", "b.gz"];
    assert_eq!(rig.good(&both), expected);
    let whole = packed(&elf(&ram, 4));
    rig.write("cut.gz", &whole[..whole.len() / 2]);
    let Said { status, err, .. } = rig.run(&["sites", "--vmcore", "cut.gz"]);
    assert_ne!(status, 0);
    assert!(err.starts_with("blog-decode: cut.gz: packed by gzip, and cut off after"), "{err}");
}

#[test]
fn what_is_no_dump_is_said_first() {
    let rig = rig();
    rig.write("table", b"BLOGFMT\0and so on");
    let Said { status, err, .. } = rig.run(&["sites", "--vmcore", "table"]);
    assert_eq!(status, 2);
    let why = "blog-decode: table: this is a side table, which goes with --sidetable";
    assert!(err.starts_with(why), "{err}");
}
