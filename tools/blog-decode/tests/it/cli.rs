// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The program as a user runs it. What a command and its output show is in `commands`.

use std::{
    fs,
    io::Write,
    process::{Command, Output, Stdio},
};

use crate::common::{
    rig::{snapshot, Rig},
    snapshot::{Page, Ring},
};
use blog_decode_core::sidetable::read_table;
use ruzstd::encoding::CompressionLevel;

fn rig() -> Rig {
    let rig = Rig::new();
    rig.write("snap", snapshot(&rig.build_id));
    rig
}

/// With this on standard input.
fn piped(rig: &Rig, bytes: &[u8]) -> Output {
    let mut command = rig.command(&["-s", "test-mod.ko", "-"]);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn the_program_describes_itself() {
    let rig = rig();
    let text = |args: &[&str]| rig.good(args);
    let dumps = format!("crash dumps: 3 to {}", blog_wire::dump::VERSION);
    assert_eq!(text(&["--version", "--verbose"]).lines().nth(4), Some(&*dumps));
    let man = text(&["man"]);
    for part in [".TH blog-decode 1", "\\-\\-where", "COMMAND SITES", "Exit status"] {
        assert!(man.contains(part), "{part}");
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(text(&["completions", shell]).contains("sidetable"), "{shell}");
    }
    for command in ["show", "stats", "sites"] {
        assert!(text(&[command, "--help"]).contains("--sidetable"), "{command}");
    }
}

#[test]
fn a_newer_version_is_refused_by_both_versions() {
    let rig = rig();
    let versions = rig.good(&["--version", "--verbose"]);
    for (at, name, what) in [
        (8, "snapshot and stream files: ", "snapshot version"),
        (16, "records and pages: ", "records of version"),
    ] {
        let reads = versions.lines().find_map(|l| l.strip_prefix(name));
        let reads = reads.unwrap();
        let newest: u32 = reads.split(' ').next_back().unwrap().parse().unwrap();
        let mut bytes = snapshot(b"id");
        bytes[at..at + 4].copy_from_slice(&(newest + 1).to_le_bytes());
        let crc = crc32fast::hash(&bytes[..28]);
        bytes[28..32].copy_from_slice(&crc.to_le_bytes());
        rig.write("newer", &bytes);
        let expected =
            format!("blog-decode: newer: {what} {}, but this program reads {reads}\n", newest + 1);
        for command in [&["show"][..], &["stats"], &["show", "--follow"]] {
            let said = rig.run(&[command, &["newer"]].concat());
            assert_eq!((said.err, said.status), (expected.clone(), 2), "{command:?}");
            assert!(said.out.is_empty(), "{command:?}");
        }
    }
    // A side table, of which the records could be printed in hex all the same.
    let reads = versions.lines().find_map(|l| l.strip_prefix("side tables: "));
    let reads: u16 = reads.unwrap().parse().unwrap();
    let table = read_table(&rig.path("test-mod.ko"), |_| true).unwrap();
    let mut table = table.unwrap().encode().unwrap();
    table[8..10].copy_from_slice(&(reads + 1).to_le_bytes());
    rig.write("newer.blogfmt", table);
    rig.write("alone/snap", snapshot(&rig.build_id));
    let said = rig.run(&["-s", "newer.blogfmt", "alone/snap"]);
    let expected = format!("version {}, but this program reads {reads}", reads + 1);
    assert!(said.err.contains(&expected), "{said:?}");
    assert_eq!(said.status, 1);
}

#[test]
fn nothing_in_a_log_acts_on_a_terminal_or_a_spreadsheet() {
    let rig = rig();
    let second = 1_000_000_000;
    let mut b = rig.disk(&[[0; 4], [100 * second; 4]]);
    // A task's name is what a program says that it is.
    let names: [&'static [u8]; 4] =
        [b"=cmd()", b"a\nb\x1b[2J", "x\u{202e}y".as_bytes(), b"\x9b31m"];
    for (i, name) in (1u32..).zip(names) {
        let mut ring = Ring::task(1, i, 40 + i as i32, "");
        ring.comm = name.into();
        b.ring(&ring);
        let mut page = Page::new(i, 1, second, 0);
        for at in [i, i + 10] {
            page.record(u64::from(at) * second, 1, (&8u32, &6u64));
        }
        b.page(&ring, &page);
    }
    rig.write("bad", b.end());
    let safe = |text: &str| {
        let bad = |c: char| {
            c.is_control() && c != '\n' && c != '\t' || ('\u{202a}'..='\u{202e}').contains(&c)
        };
        assert_eq!(text.find(bad), None);
    };
    let lines = rig.lines(&["bad"]);
    let names: Vec<_> = lines[..4].iter().map(|l| l[26..].split(' ').next().unwrap()).collect();
    assert_eq!(
        names,
        ["=cmd()[41]:", "a\\x0ab\\x1b[2J[42]:", "x\\u{202e}y[43]:", "\u{fffd}31m[44]:"],
        "{lines:#?}"
    );
    for args in [
        &["--csv", "bad"][..],
        &["--json", "bad"],
        &["--format", "{comm} {message}", "bad"],
        &["stats", "bad"],
        &["tasks", "--all", "bad"],
        &["spans", "*", "*", "bad"],
        &["convert", "--to", "html", "-o", "-", "bad"],
    ] {
        safe(&rig.good(args));
    }
    let csv = rig.lines(&["--csv", "bad"]);
    assert!(csv[1].contains(",41,41,\"'=cmd()\",1,"), "{csv:#?}");
}

fn packed(bytes: &[u8], form: &str) -> Vec<u8> {
    match form {
        "gz" => {
            let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            out.write_all(bytes).unwrap();
            out.finish().unwrap()
        }
        "zst" => {
            // Two frames, as zstd reads them too.
            let (a, b) = bytes.split_at(bytes.len() / 2);
            let pack = |b| ruzstd::encoding::compress_to_vec(b, CompressionLevel::Fastest);
            [pack(a), pack(b)].concat()
        }
        _ => {
            // As the kernel's build packs modules.
            let mut xz = Command::new("xz")
                .args(["--check=crc32", "--lzma2=dict=1MiB"])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut input = xz.stdin.take().unwrap();
            std::thread::scope(|scope| {
                scope.spawn(move || input.write_all(bytes).unwrap());
                xz.wait_with_output().unwrap().stdout
            })
        }
    }
}

#[test]
fn packed_files_are_read_like_others() {
    let rig = rig();
    let expected = rig.good(&["snap"]);
    let snap = snapshot(&rig.build_id);
    let ko = fs::read(rig.path("test-mod.ko")).unwrap();
    for form in ["gz", "zst", "xz"] {
        let module = format!("{form}/test-mod.ko.{form}");
        rig.write(&module, packed(&ko, form));
        // Is of no interest, and not unpacked.
        rig.write(&format!("{form}/other.ko.{form}"), b"nothing");
        let file = format!("alone/snap.{form}");
        rig.write(&file, packed(&snap, form));
        for table in [&module, form] {
            assert_eq!(rig.good(&["-s", table, &file]), expected, "{form}");
        }
        let text = piped(&rig, &packed(&snap, form)).stdout;
        assert_eq!(text, expected.as_bytes(), "{form}");
        // Cut off, it is an error, and no more.
        let half = packed(&snap, form);
        rig.write(&file, &half[..half.len() / 2]);
        let said = rig.run(&[&file]);
        assert_ne!(said.status, 0);
        assert!(said.err.starts_with(&format!("blog-decode: {file}")), "{said:?}");
    }
}
