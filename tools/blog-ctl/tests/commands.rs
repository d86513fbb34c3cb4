// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The texts in `commands` have commands, and below each what it prints, and its status.

#[path = "../../blog-decode/tests/common/mod.rs"]
mod common;

use common::{commands, rig::Rig};

/// A directory that looks like debugfs. The suite `control` tries the real one, in a guest.
fn debugfs(rig: &Rig) {
    rig.write(
        "debugfs/control",
        format!(
            "module test_mod site 11-14 loaded 1 on 0 off 0 build_id {}\n\
             module other site 20-29 loaded 1 on 1 off 2 build_id 0123456789abcdef\n\
             module gone site 30-39 loaded 0 on 0 off 0 build_id fedcba9876543210\n",
            rig.id()
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
            rig.write(&format!("debugfs/{name}/{key}"), format!("{value}\n"));
        }
    }
    rig.write("parameters/max_kb", "4096\n");
}

#[test]
fn commands_say_what_their_files_have() {
    commands::check(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/commands"), debugfs);
}

#[test]
fn the_program_describes_itself() {
    let rig = Rig::empty();
    let man = rig.good(&["man"]);
    for part in [".TH blog-ctl 1", "COMMAND PROBE", "Exit status"] {
        assert!(man.contains(part), "{part}");
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(rig.good(&["completions", shell]).contains("dry-run"), "{shell}");
    }
    assert!(rig.good(&["probe", "--help"]).contains("tracepoint of vmlinux"));
    assert!(rig.good(&["--help"]).contains("trigger NAME CONDITION"));
}
