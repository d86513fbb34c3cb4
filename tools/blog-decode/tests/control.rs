// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! `control` on a directory that looks like debugfs. The real one is tried in a guest, by the suite
//! `control`.

mod common;

use std::{
    fs,
    path::PathBuf,
    process::{Command, Output},
};

use blog_decode::sidetable::read_table;
use common::image;

struct Rig {
    dir: tempfile::TempDir,
    ko: PathBuf,
}

fn rig() -> Rig {
    let dir = tempfile::tempdir().unwrap();
    let ko = image::module(dir.path(), "test-mod.ko", "one");
    let id = read_table(&ko, |_| true).unwrap().unwrap().build_id_hex();
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write(
        "blog/control",
        &format!(
            "module test_mod site 11-14 loaded 1 on 0 off 0 build_id {id}\n\
             module other site 20-29 loaded 1 on 1 off 2 build_id 0123456789abcdef\n\
             module gone site 30-39 loaded 0 on 0 off 0 build_id fedcba9876543210\n"
        ),
    );
    for name in ["disk", "disk2", "net"] {
        for (key, value) in [
            ("enable", "1"),
            ("level", "info"),
            ("mode", "overwrite"),
            ("size_kb", "1024"),
            ("ring_kb", "64"),
            ("clear", ""),
        ] {
            write(&format!("blog/{name}/{key}"), &format!("{value}\n"));
        }
    }
    write("parameters/max_kb", "4096\n");
    Rig { dir, ko }
}

impl Rig {
    fn run(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_blog-decode"))
            .arg("control")
            .args([
                "--blog",
                "blog",
                "--parameters",
                "parameters",
                "--modules",
                "nowhere",
                "-s",
            ])
            .arg(&self.ko)
            .args(args)
            .current_dir(self.dir.path())
            .output()
            .unwrap()
    }

    fn content(&self, name: &str) -> String {
        fs::read_to_string(self.dir.path().join(name)).unwrap()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn settings_are_written_and_what_was_is_shown() {
    let rig = rig();
    let before = rig.content("blog/disk/level");
    let dry = rig.run(&["--dry-run", "component disk* level=debug off"]);
    let expected = "disk: level info -> debug\ndisk: enable 1 -> 0\n\
                    disk2: level info -> debug\ndisk2: enable 1 -> 0\n";
    assert_eq!(text(&dry.stdout), expected);
    assert_eq!(rig.content("blog/disk/level"), before);
    let out = rig.run(&[
        "component disk* level=debug off",
        "component net clear; max_kb=8192",
    ]);
    assert_eq!(out.status.code(), Some(0), "{out:?}");
    let more = "net: clear\nblog: max_kb 4096 -> 8192\n";
    assert_eq!(text(&out.stdout), format!("{expected}{more}"));
    for (name, content) in [
        ("disk/level", "debug"),
        ("disk2/level", "debug"),
        ("disk/enable", "0\n"),
        ("net/level", "info\n"),
        ("net/clear", "1"),
        ("../parameters/max_kb", "8192\n"),
    ] {
        assert_eq!(rig.content(&format!("blog/{name}")), content, "{name}");
    }
}

#[test]
fn sites_are_found_by_their_side_tables() {
    let rig = rig();
    let out = rig.run(&["--dry-run", "module test_mod file test.rs line 20-40 +p"]);
    assert_eq!(out.status.code(), Some(0), "{out:?}");
    let lines = text(&out.stdout);
    let start: Vec<_> = lines.lines().map(|l| l[..24].to_owned()).collect();
    assert_eq!(
        start,
        ["on            12 err   d", "on            13 debug d"],
        "{lines}"
    );
    assert!(
        lines.contains("drivers/block/test.rs:22 \"failed: {e:?} in {:?}\""),
        "{lines}"
    );
    // Another image may have such sites, too, but has no table.
    let out = rig.run(&["--dry-run", "format failed -p"]);
    assert_eq!(out.status.code(), Some(1), "{out:?}");
    assert!(
        text(&out.stdout).starts_with("off           12 err"),
        "{out:?}"
    );
    let err = text(&out.stderr);
    assert!(
        err.contains("no side table of other (build ID 0123456789abcdef)"),
        "{err}"
    );
    assert!(!err.contains("gone"), "{err}");
    // What the kernel knows itself needs none.
    let out = rig.run(&["--dry-run", "module other level debug =_"]);
    assert_eq!(out.status.code(), Some(0), "{out:?}");
    assert_eq!(
        text(&out.stdout),
        "by level what fits of other (build ID 0123456789abcdef)\n"
    );
}

#[test]
fn the_state_is_shown_without_commands() {
    let out = rig().run(&[]);
    let shown = text(&out.stdout);
    assert!(
        shown.contains("disk2            yes info   overwrite       1024       64"),
        "{shown}"
    );
    assert!(
        shown.contains("other                              20-29       1       2"),
        "{shown}"
    );
    assert_eq!(out.status.code(), Some(0));
}

#[test]
fn nothing_is_written_if_anything_is_wrong() {
    let rig = rig();
    fs::remove_file(rig.dir.path().join("blog/disk2/mode")).unwrap();
    for (args, what) in [
        (
            &["component disk off", "func x +p"][..],
            "names of functions",
        ),
        (
            &["component disk off", "file no.rs +p"],
            "no call site is like that",
        ),
        (
            &["component disk off", "component no on"],
            "there is no component no",
        ),
        (&["component disk2 off mode=discard"], "mode: No such file"),
        (&["component disk loud"], "none of on, off"),
    ] {
        let out = rig.run(args);
        assert_eq!(out.status.code(), Some(2), "{args:?}");
        assert!(text(&out.stderr).contains(what), "{args:?}: {out:?}");
    }
    assert_eq!(rig.content("blog/disk/enable"), "1\n");
}
