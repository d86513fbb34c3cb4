// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Traces for other programs: what golden files and the texts in `../commands` don't have. That
//! babeltrace2, Perfetto's definitions and a browser take them is tested in
//! `tests/suites/test_convert.py`.

use std::{
    fs,
    io::{Read, Write},
    process::{Command, Stdio},
};

use crate::{
    common::{fixture, image, rig::Rig},
    proto::{fields, messages, texts, unpacked},
};
use blog_decode_core::sidetable::read_table;
use rustix::process::{kill_process, Pid, Signal};

/// A folder with a snapshot.
fn rig(text: &str) -> Rig {
    let rig = Rig::new();
    rig.write("snap", fixture::compile(text, &rig.build_id));
    rig
}

/// All that is in the folder, but for the module.
fn names(rig: &Rig) -> Vec<String> {
    let entries = fs::read_dir(rig.path("")).unwrap();
    let mut names: Vec<_> = entries
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with("test-mod"))
        .collect();
    names.sort();
    names
}

#[test]
fn a_signal_ends_it_and_leaves_nothing_behind() {
    let rig = rig("clock mono 0 10s; component 1 disk; ring 1 task 42 fio; page 1; read 1s 5s");
    let fifo = rig.path("fifo");
    let made = Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    for form in ["ctf", "html", "parquet", "perfetto"] {
        let args = ["convert", "--to", form, "-o", "out", "--dmesg", "fifo", "snap"];
        let mut command = rig.command(&args);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        // It is opened when the other end is.
        let mut log = fs::OpenOptions::new().write(true).open(&fifo).unwrap();
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        // It may have gone already.
        let _ = log.write_all(b"[    0.500000] one\n[    9.000000] two\n");
        drop(log);
        assert_eq!(child.wait().unwrap().code(), Some(2));
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(said.contains("interrupted"), "{said}");
        assert_eq!(names(&rig), ["fifo", "snap"], "{form}");
    }
}

#[test]
fn a_thread_with_the_id_of_one_that_has_ended_has_its_own_track() {
    // Two rings of one task, then two of another that got its id.
    let rig = rig("clock mono 0 1s; component 1 disk; component 2 net
         ring 1 task 42 old in 1 ended 3s; page 1; call 1s 4
         ring 2 task 42 old in 2 ended 2s; page 1; call 2s 4
         ring 3 task 42 new in 1; page 1; call 3s 4
         ring 4 task 42 new in 2; page 1; call 4s 4");
    rig.good(&["convert", "--to", "perfetto", "-o", "trace", "snap"]);
    let trace = fields(&unpacked(&fs::read(rig.path("trace")).unwrap()));
    let packets = messages(&trace, 1);
    let tracks = packets.iter().flat_map(|p| messages(p, 60));
    let tracks: Vec<_> = tracks
        .map(|d| {
            let of = |number, name| {
                let inner = messages(&d, number);
                inner.iter().map(|t| texts(t, name).concat()).collect()
            };
            let names: [String; 3] = [texts(&d, 2).concat(), of(3, 6), of(4, 5)];
            (names.concat(), texts(&d, 5).concat())
        })
        .collect();
    let tracks: Vec<_> = tracks.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    assert_eq!(
        tracks,
        [
            ("old", ""),
            ("old", "1"),
            ("disk", "2"),
            ("net", "2"),
            ("new", ""),
            ("new", "5"),
            ("disk", "6"),
            ("net", "6"),
        ]
    );
}

/// None takes the place of another, or of what the form has itself.
#[test]
fn arguments_keep_apart_whatever_they_are_called() {
    let rig = Rig::empty();
    let call = image::Call {
        line: 11,
        level: 3,
        format: "both {message} {msg} {}",
        args: &[("message", 0x03), ("msg", 0x03), ("message", 0x03)],
    };
    let ko = image::module_of(&rig.path(""), "test-mod.ko", "two", &[call]);
    let id = read_table(&ko, |_| true).unwrap().unwrap().build_id;
    let text = "clock mono 0 1s; image 1 1 test_mod; component 1 disk
                ring 1 task 42 fio; page 1; call 1s 1 1u32 2u32 3u32";
    rig.write("snap", fixture::compile(text, &id));
    for form in ["perfetto", "ctf", "otlp"] {
        rig.good(&["convert", "--to", form, "-o", form, "snap"]);
    }
    let trace = fields(&unpacked(&fs::read(rig.path("perfetto")).unwrap()));
    let interned = messages(&trace, 1)
        .into_iter()
        .flat_map(|p| messages(&p, 12))
        .flat_map(|data| messages(&data, 3));
    let names: Vec<_> = interned.map(|i| texts(&i, 2).concat()).collect();
    assert_eq!(names, ["message", "message'", "msg", "message''"]);
    let metadata = rig.read("ctf/metadata");
    for name in ["_msg;", "_message;", "_message_;"] {
        let of_site = metadata.split("test::inner:11").nth(1).unwrap();
        assert_eq!(of_site.matches(&format!(" {name}")).count(), 1, "{metadata}");
    }
    let log = rig.read("otlp");
    for name in ["message", "msg", "message'"] {
        assert_eq!(log.matches(&format!("\"blog.arg.{name}\"")).count(), 1, "{log}");
    }
}
