// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The program as a user runs it: options, output, exit status.

mod common;

use std::{
    env, fs,
    io::Write,
    os::unix::fs::{symlink, PermissionsExt},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use blog_decode::sidetable::read_table;
use common::{
    image,
    snapshot::{Builder, Page, Ring, BOOT_ID},
};
use ruzstd::encoding::CompressionLevel;
use serde_json::Value;

/// Texts with commands, below each of which stands what it says.
const COMMANDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/commands");

struct Rig {
    dir: tempfile::TempDir,
    ko: PathBuf,
    snapshot: PathBuf,
    build_id: String,
}

/// The pairs of the machine's clock.
const CLOCK: [[u64; 4]; 2] = [
    [0, 0, 0, 1_700_000_000_000_000_000],
    [
        100_000_000_000,
        100_000_000_000,
        100_000_000_000,
        1_700_000_100_000_000_000,
    ],
];

fn snapshot(build_id: &[u8]) -> Vec<u8> {
    let second = 1_000_000_000;
    let mut b = Builder::new();
    b.system(BOOT_ID)
        .clock(1, &CLOCK)
        .images(&[(1, 4, build_id, "test_mod")])
        .component_with_losses(1, "disk", 17, [0; 8]);
    let mut fio = Ring::task(1, 1, 42, "fio");
    fio.records = 5 + 3;
    b.ring(&fio);
    let mut p = Page::new(1, 2, second, 5);
    p.record(second, 1, (&8u32, &0x1000u64));
    // An error is stored as its negative number.
    p.record(2 * second, 2, ("queue\x1b[2J", &-5i32));
    // State::Busy { tag: 3 }
    p.record(3 * second, 3, (&1u8, &3u32));
    b.page(&fio, &p);
    let softirq = Ring::softirq(1, 2, 1);
    b.ring(&softirq);
    let mut p = Page::new(2, 1, second, 0);
    p.record(2 * second + 500, 4, ());
    b.page(&softirq, &p);
    b.component(2, "other");
    let task = Ring::task(2, 1, 7, "kworker/0:1");
    b.ring(&task);
    let mut p = Page::new(1, 1, second, 0);
    p.record(4 * second, 1, (&1u32, &2u64));
    b.page(&task, &p);
    b.end()
}

fn rig() -> Rig {
    let dir = tempfile::tempdir().unwrap();
    let ko = image::module(dir.path(), "test-mod.ko", "one");
    let table = read_table(&ko, |_| true).unwrap().unwrap();
    let path = dir.path().join("snap");
    fs::write(&path, snapshot(&table.build_id)).unwrap();
    // With no table beside it.
    fs::create_dir(dir.path().join("alone")).unwrap();
    fs::copy(&path, dir.path().join("alone/snap")).unwrap();
    Rig {
        ko,
        snapshot: path,
        build_id: table.build_id_hex(),
        dir,
    }
}

impl Rig {
    fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Runs with the side table of the module.
    fn run(&self, args: &[&str]) -> Output {
        let ko = self.ko.to_str().unwrap();
        match args.split_first() {
            Some((command, rest)) if ["stats", "sites", "diff"].contains(command) => {
                self.run_bare(&[&[*command, "--sidetable", ko], rest].concat())
            }
            _ => self.run_bare(&[&["--sidetable", ko], args].concat()),
        }
    }

    fn run_bare(&self, args: &[&str]) -> Output {
        // Options go after the command.
        let modules = ["--modules", "nowhere"];
        match args.split_first() {
            Some((command, rest)) if ["stats", "sites", "diff"].contains(command) => {
                self.run_exactly(&[&[*command], &modules[..], rest].concat())
            }
            _ => self.run_exactly(&[&modules[..], args].concat()),
        }
    }

    fn run_exactly(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_blog-decode"))
            .args(args)
            .current_dir(self.path())
            .output()
            .unwrap()
    }

    /// With this on standard input.
    fn piped(&self, bytes: &[u8]) -> Output {
        let mut child = Command::new(env!("CARGO_BIN_EXE_blog-decode"))
            .args(["-s", "test-mod.ko", "-"])
            .current_dir(self.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(bytes).unwrap();
        child.wait_with_output().unwrap()
    }

    fn lines(&self, args: &[&str]) -> Vec<String> {
        let output = self.run(args);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {output:?}");
        assert!(output.stderr.is_empty(), "{args:?}: {output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    fn json(&self, args: &[&str]) -> Vec<Value> {
        let lines = self.lines(&[&["--json"], args].concat());
        lines
            .iter()
            .map(|l| serde_json::from_str(l).unwrap())
            .collect()
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs the commands of a text in a shell, and puts below each what it says, and its status.
fn answered(text: &str) -> String {
    let rig = rig();
    let bin = rig.path().join("bin");
    fs::create_dir(&bin).unwrap();
    symlink(env!("CARGO_BIN_EXE_blog-decode"), bin.join("blog-decode")).unwrap();
    let path = format!("{}:{}", bin.display(), env::var("PATH").unwrap());
    let mut all = String::new();
    for line in text.lines().filter(|line| !line.starts_with(['>', '?'])) {
        all += &format!("{line}\n");
        let Some(command) = line.strip_prefix("$ ") else {
            continue;
        };
        let output = Command::new("sh")
            .args(["-c", &format!("exec 2>&1; {command}")])
            .current_dir(rig.path())
            .env("PATH", &path)
            .env("TZ", "UTC")
            .env_remove("DEBUGINFOD_URLS")
            .output()
            .unwrap();
        for line in String::from_utf8(output.stdout).unwrap().lines() {
            all += format!("> {line}").trim_end();
            all.push('\n');
        }
        match output.status.code() {
            Some(0) => {}
            status => all += &format!("? {}\n", status.unwrap_or(-1)),
        }
    }
    all
}

/// `BLOG_BLESS=1` writes them anew.
/// A snapshot of the module's component, so far without rings.
fn disk(rig: &Rig, clock: &[[u64; 4]]) -> Builder {
    let table = read_table(&rig.ko, |_| true).unwrap().unwrap();
    let mut b = Builder::new();
    b.system(BOOT_ID)
        .clock(1, clock)
        .images(&[(1, 4, &table.build_id, "test_mod")])
        .component(1, "disk");
    b
}

#[test]
fn commands_say_what_their_files_have() {
    let mut wrong = Vec::new();
    for file in fs::read_dir(COMMANDS).unwrap() {
        let path = file.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let now = answered(&text);
        if env::var_os("BLOG_BLESS").is_some() {
            fs::write(&path, &now).unwrap();
        } else if now != text {
            let lines = now
                .lines()
                .zip(text.lines().chain([""].into_iter().cycle()));
            let differs = lines.clone().find(|(new, old)| new != old);
            wrong.push((path, differs.map(|(new, old)| format!("{new}\nnot {old}"))));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_table_file_a_directory_and_an_installed_table_do_as_well() {
    let rig = rig();
    let expected = rig.lines(&["snap"]);
    let modules = rig.path().join("modules/7.3.4/blog");
    fs::create_dir_all(&modules).unwrap();
    let table = read_table(&rig.ko, |_| true).unwrap().unwrap();
    fs::write(modules.join("test_mod.blogfmt"), table.encode().unwrap()).unwrap();
    // One that doesn't matter, and is not even whole.
    fs::write(modules.join("broken.blogfmt"), b"BLOGFMT\0").unwrap();
    for args in [
        &["-s", "modules/7.3.4/blog/test_mod.blogfmt"][..],
        &["-s", "."],
        &["--modules", "modules"],
    ] {
        let args = [&["snap", "--modules"][..1], args].concat();
        let mut command = Command::new(env!("CARGO_BIN_EXE_blog-decode"));
        let output = command
            .args(&args)
            .current_dir(rig.path())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.lines().collect::<Vec<_>>(), expected, "{args:?}");
    }
}

#[test]
fn the_program_describes_itself() {
    let rig = rig();
    let text = |args: &[&str]| {
        let output = rig.run_exactly(args);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let dumps = format!("crash dumps: 3 and {}", blog_decode::wire::dump::VERSION);
    assert_eq!(text(&["versions"]).lines().nth(3), Some(&*dumps));
    let man = text(&["man"]);
    for part in [
        ".TH blog-decode 1",
        "\\-\\-where",
        "COMMAND SITES",
        "Exit status",
    ] {
        assert!(man.contains(part), "{part}");
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(
            text(&["completions", shell]).contains("sidetable"),
            "{shell}"
        );
    }
    for command in ["show", "stats", "sites", "diff"] {
        assert!(
            text(&[command, "--help"]).contains("--sidetable"),
            "{command}"
        );
    }
}

#[test]
fn a_newer_version_is_refused_by_both_versions() {
    let rig = rig();
    let versions = String::from_utf8(rig.run_exactly(&["versions"]).stdout).unwrap();
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
        fs::write(rig.path().join("newer"), &bytes).unwrap();
        let expected = format!(
            "blog-decode: newer: {what} {}, but this program reads {reads}\n",
            newest + 1
        );
        for command in ["show", "stats", "follow"] {
            let output = rig.run_exactly(&[command, "newer"]);
            assert_eq!(stderr(&output), expected, "{command}");
            assert_eq!(output.status.code(), Some(2), "{command}");
            assert!(output.stdout.is_empty(), "{command}");
        }
    }
    // A side table, of which the records could be printed in hex all the same.
    let reads = versions
        .lines()
        .find_map(|l| l.strip_prefix("side tables: "));
    let reads: u16 = reads.unwrap().parse().unwrap();
    let mut table = read_table(&rig.ko, |_| true).unwrap().unwrap().encode();
    let table = table.as_mut().unwrap();
    table[8..10].copy_from_slice(&(reads + 1).to_le_bytes());
    fs::write(rig.path().join("newer.blogfmt"), table).unwrap();
    let output = rig.run_exactly(&["show", "-s", "newer.blogfmt", "snap"]);
    let expected = format!("version {}, but this program reads {reads}", reads + 1);
    assert!(stderr(&output).contains(&expected), "{output:?}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn json_has_the_documented_keys() {
    let rig = rig();
    let all = rig.json(&["snap", "--stats"]);
    let lost = &all[0];
    assert_eq!(lost["type"], "lost");
    assert_eq!(lost["cause"], "overwritten");
    assert_eq!(lost["count"], 5);
    let r = &all[1];
    let keys: Vec<&str> = r.as_object().unwrap().keys().map(String::as_str).collect();
    let mut expected = vec![
        "type",
        "clock",
        "boot_ns",
        "mono_ns",
        "wall_ns",
        "time",
        "host",
        "boot_id",
        "level",
        "component",
        "context",
        "cpu",
        "pid",
        "tgid",
        "comm",
        "ring",
        "ordinal",
        "site",
        "image",
        "index",
        "module",
        "file",
        "line",
        "format",
        "message",
        "args",
    ];
    expected.sort_unstable();
    assert_eq!(keys, expected);
    assert_eq!(r["wall_ns"], 1_700_000_001_000_000_000u64);
    assert_eq!(r["ordinal"], 5);
    assert_eq!(r["args"][1]["name"], "sector");
    assert_eq!(r["args"][1]["type"], "u64");
    assert_eq!(r["args"][1]["value"], 0x1000);
    let e = &all[2]["args"];
    assert_eq!(e[0]["text"], "queue\x1b[2J");
    assert_eq!(
        (&e[1]["value"], &e[1]["text"]),
        (&(-5).into(), &"EIO".into())
    );
    let softirq = &all[3];
    assert_eq!(softirq["context"], "softirq");
    assert_eq!(softirq["cpu"], 1);
    assert!(softirq["pid"].is_null());
    let state = &all[4];
    assert_eq!(state["args"][0]["type"], "State");
    assert_eq!(state["args"][0]["text"], "Busy");
    assert_eq!(state["args"][0]["fields"][0]["name"], "tag");
    assert_eq!(state["args"][0]["fields"][0]["value"], 3);
    assert_eq!(state["message"], "state Busy {\n    tag: 3,\n}");
    let ring = all
        .iter()
        .find(|o| o["type"] == "ring" && o["pid"] == 42)
        .unwrap();
    assert_eq!(ring["decoded"], 3);
    assert_eq!(ring["taken"], 8);
    let component = all.iter().find(|o| o["type"] == "component").unwrap();
    assert_eq!(component["gone"], 17);
    assert_eq!(all.last().unwrap()["type"], "summary");
    let raw = rig.json(&["snap", "--raw"]);
    assert_eq!(raw[1]["raw"], "080000000010000000000000");
}

#[test]
fn a_table_of_another_build_is_refused_by_name() {
    let rig = rig();
    let other = image::module(rig.path(), "other.ko", "two");
    let other_id = read_table(&other, |_| true)
        .unwrap()
        .unwrap()
        .build_id_hex();
    let output = rig.run_bare(&["-s", "other.ko", "alone/snap"]);
    assert_eq!(output.status.code(), Some(1));
    let complaint = stderr(&output);
    assert!(complaint.contains(&other_id), "{complaint}");
    assert!(complaint.contains(&rig.build_id), "{complaint}");
    assert!(complaint.contains("refused"), "{complaint}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.contains("sectors"), "{text}");
    assert!(text.contains("no side table>"), "{text}");
    assert!(text.contains(" 08 00 00 00 00 10"), "{text}");
    // With the right one beside it the wrong one does no harm to the records.
    let output = rig.run(&["-s", "other.ko", "snap"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("read 8 sectors"));
}

#[test]
fn records_without_a_table_are_hex_with_the_build_id() {
    let rig = rig();
    let output = rig.run_bare(&["--json", "alone/snap"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains(&rig.build_id));
    let text = String::from_utf8(output.stdout).unwrap();
    let r: Value = serde_json::from_str(text.lines().nth(1).unwrap()).unwrap();
    assert_eq!(r["undecoded"], "no-table");
    assert_eq!(r["build_id"], rig.build_id.as_str());
    assert_eq!(r["raw"], "080000000010000000000000");
    assert_eq!(r["image"], "test_mod");
    assert!(r["level"].is_null());
}

#[test]
fn what_the_kernel_withholds_is_said_and_counted() {
    let rig = rig();
    let table = read_table(&rig.ko, |_| true).unwrap().unwrap();
    let mut b = Builder::new();
    b.system(BOOT_ID)
        .images(&[(1, 4, &table.build_id, "test_mod")])
        .component(1, "disk");
    let fio = Ring::task(1, 1, 42, "fio");
    b.ring(&fio);
    let mut p = Page::new(1, 1, 0, 0);
    p.record(1, 1, (&8u32, &0x1000u64));
    p.raw_record(2, 1, &[]);
    p.raw_record(3, 2, &[]);
    // A call without arguments has nothing that could be.
    p.record(4, 4, ());
    b.page(&fio, &p);
    fs::write(rig.path().join("withheld"), b.end()).unwrap();
    let output = rig.run(&["--json", "--stats", "withheld"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("2 records not decoded: they have addresses"));
    let text = String::from_utf8(output.stdout).unwrap();
    let records: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|r: &Value| r["type"] == "record")
        .collect();
    let why: Vec<_> = records.iter().map(|r| r["undecoded"].as_str()).collect();
    assert_eq!(why, [None, Some("withheld"), Some("withheld"), None]);
    assert!(records[1]["message"]
        .as_str()
        .unwrap()
        .ends_with(": withheld>"));
    assert_eq!(records[1]["raw"], "");
}

#[test]
fn a_reader_that_has_enough_is_no_error() {
    let rig = rig();
    let mut child = Command::new(env!("CARGO_BIN_EXE_blog-decode"))
        .args(["-s", "test-mod.ko", "snap"])
        .current_dir(rig.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
}

#[test]
fn all_files_in_one_file_are_read() {
    let rig = rig();
    let one = fs::read(&rig.snapshot).unwrap();
    let mut other = Builder::new();
    let second = 1_000_000_000;
    let table = read_table(&rig.ko, |_| true).unwrap().unwrap();
    other
        .system(BOOT_ID)
        .clock(1, &CLOCK)
        .images(&[(1, 4, &table.build_id, "test_mod")])
        .component(9, "third");
    let ring = Ring::task(9, 1, 9, "dd");
    other.ring(&ring);
    let mut page = Page::new(1, 1, second, 0);
    page.record(5 * second, 1, (&5u32, &6u64));
    other.page(&ring, &page);
    let other = other.end();
    let shown = |file: &str| {
        let output = rig.run(&[file]);
        let text = String::from_utf8(output.stdout).unwrap();
        (output.status.code(), text.lines().count(), text)
    };
    let alone = rig.lines(&["snap"]).len();
    fs::write(rig.path().join("both"), [&one[..], &other, &other].concat()).unwrap();
    let (status, lines, text) = shown("both");
    assert_eq!((status, lines), (Some(0), alone + 1), "{text}");
    assert!(text.contains("third dd[9]: read 5 sectors at 0x6"));
    // Where the first one is cut off, wherever that is, the other is there.
    for len in [one.len() - 3, one.len() - 100, one.len() / 2] {
        fs::write(rig.path().join("both"), [&one[..len], &other].concat()).unwrap();
        let (status, _, text) = shown("both");
        assert_eq!(status, Some(1));
        assert!(text.contains("third dd[9]: read 5 sectors at 0x6"), "{len}");
    }
    // From a pipe too.
    fs::write(rig.path().join("both"), [&one[..], &other].concat()).unwrap();
    let piped = rig.piped(&fs::read(rig.path().join("both")).unwrap());
    let text = String::from_utf8(piped.stdout).unwrap();
    assert_eq!(text.lines().count(), alone + 1);
    assert!(rig.lines(&["sites", "--used", "both"]).len() > 1);
}

#[test]
fn what_has_no_end_and_is_none_is_not_read() {
    let rig = rig();
    for path in ["/dev/zero", "/dev/urandom"] {
        let output = rig.run(&[path]);
        assert_eq!(output.status.code(), Some(2));
        assert!(
            stderr(&output).contains("not a BLog snapshot"),
            "{output:?}"
        );
    }
}

#[test]
fn nothing_in_a_log_acts_on_a_terminal_or_a_spreadsheet() {
    let rig = rig();
    let second = 1_000_000_000;
    let mut b = disk(&rig, &[[0; 4], [100 * second; 4]]);
    // A task's name is what a program says that it is.
    let names: [&'static [u8]; 4] = [
        b"=cmd()",
        b"a\nb\x1b[2J",
        "x\u{202e}y".as_bytes(),
        b"\x9b31m",
    ];
    for (i, name) in (1u32..).zip(names) {
        let mut ring = Ring::task(1, i, 40 + i as i32, "");
        ring.comm = name;
        b.ring(&ring);
        let mut page = Page::new(i, 1, second, 0);
        page.record(u64::from(i) * second, 1, (&8u32, &6u64));
        b.page(&ring, &page);
    }
    fs::write(rig.path().join("bad"), b.end()).unwrap();
    let safe = |text: &str| {
        let bad = |c: char| {
            c.is_control() && c != '\n' && c != '\t' || ('\u{202a}'..='\u{202e}').contains(&c)
        };
        assert_eq!(text.find(bad), None);
    };
    let lines = rig.lines(&["bad"]);
    let names: Vec<_> = lines
        .iter()
        .map(|l| l[26..].split(' ').next().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "=cmd()[41]:",
            "a\\x0ab\\x1b[2J[42]:",
            "x\\u{202e}y[43]:",
            "\u{fffd}31m[44]:"
        ],
        "{lines:#?}"
    );
    for args in [
        &["--csv", "bad"][..],
        &["--json", "bad"],
        &["--format", "{comm} {message}", "bad"],
        &["stats", "bad"],
        &["tasks", "--all", "-s", "test-mod.ko", "bad"],
        &["gaps", "-s", "test-mod.ko", "bad"],
        &[
            "convert",
            "--to",
            "html",
            "-o",
            "-",
            "-s",
            "test-mod.ko",
            "bad",
        ],
    ] {
        let output = match args[0] {
            "tasks" | "gaps" | "convert" => rig.run_exactly(args),
            _ => rig.run(args),
        };
        assert_eq!(output.status.code(), Some(0), "{args:?}: {output:?}");
        safe(&String::from_utf8(output.stdout).unwrap());
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
    let expected = rig.lines(&["snap"]);
    let snap = fs::read(&rig.snapshot).unwrap();
    let ko = fs::read(&rig.ko).unwrap();
    for form in ["gz", "zst", "xz"] {
        let modules = rig.path().join(form);
        fs::create_dir(&modules).unwrap();
        let module = modules.join(format!("test-mod.ko.{form}"));
        fs::write(&module, packed(&ko, form)).unwrap();
        // Is of no interest, and not unpacked.
        fs::write(modules.join(format!("other.ko.{form}")), b"nothing").unwrap();
        let file = format!("snap.{form}");
        fs::write(rig.path().join(&file), packed(&snap, form)).unwrap();
        for table in [module.to_str().unwrap(), form] {
            let output = rig.run_bare(&["-s", table, &file]);
            assert_eq!(output.status.code(), Some(0), "{output:?}");
            let text = String::from_utf8(output.stdout).unwrap();
            assert_eq!(text.lines().collect::<Vec<_>>(), expected, "{form}");
        }
        let piped = rig.piped(&packed(&snap, form));
        let text = String::from_utf8(piped.stdout).unwrap();
        assert_eq!(text.lines().collect::<Vec<_>>(), expected, "{form}");
        // Cut off, it is an error, and no more.
        let half = packed(&snap, form);
        fs::write(rig.path().join(&file), &half[..half.len() / 2]).unwrap();
        let output = rig.run(&[&file]);
        assert_ne!(output.status.code(), Some(0));
        assert!(
            stderr(&output).starts_with("blog-decode: snap."),
            "{output:?}"
        );
    }
}

#[test]
fn tables_are_found_by_build_id() {
    let rig = rig();
    let expected = rig.lines(&["snap"]);
    let (first, rest) = rig.build_id.split_at(2);
    let dir = rig.path().join("debug/.build-id").join(first);
    fs::create_dir_all(&dir).unwrap();
    let file = dir.join(format!("{rest}.debug"));
    fs::copy(&rig.ko, &file).unwrap();
    let output = rig.run_bare(&["-s", "debug", "alone/snap"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    // Another build of that name is none.
    let one = image::module(rig.path(), "other.ko", "two");
    fs::copy(one, &file).unwrap();
    assert_eq!(
        rig.run_bare(&["-s", "debug", "alone/snap"]).status.code(),
        Some(1)
    );

    // A link to a file, as debug packages have for vmlinux, is followed, but not into a tree of sources.
    for (name, to, status) in [
        ("test-mod.ko", rig.ko.as_path(), 0),
        ("build", rig.path(), 1),
    ] {
        let dir = rig.path().join(format!("linked-{status}/7.3.4"));
        fs::create_dir_all(&dir).unwrap();
        std::os::unix::fs::symlink(fs::canonicalize(to).unwrap(), dir.join(name)).unwrap();
        let modules = format!("linked-{status}");
        let output = rig.run_exactly(&["--modules", &modules, "alone/snap"]);
        assert_eq!(output.status.code(), Some(status), "{name}: {output:?}");
    }

    // What elfutils' program finds.
    let find = rig.path().join("debuginfod-find");
    let script = format!(
        "#!/bin/sh\n[ \"$1 $2\" = \"debuginfo {}\" ] && echo {}\n",
        rig.build_id,
        rig.ko.display()
    );
    fs::write(&find, script).unwrap();
    fs::set_permissions(&find, fs::Permissions::from_mode(0o755)).unwrap();
    let run = |urls: &str| {
        Command::new(env!("CARGO_BIN_EXE_blog-decode"))
            .args(["--modules", "nowhere", "alone/snap"])
            .env("DEBUGINFOD_URLS", urls)
            .env("PATH", rig.path())
            .current_dir(rig.path())
            .output()
            .unwrap()
    };
    let output = run("http://localhost:1");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    let output = run("");
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    let parts = [
        "test_mod",
        &rig.build_id,
        "nowhere/*/blog",
        "/usr/lib/debug/.build-id",
        "--sidetable",
    ];
    assert!(parts.iter().all(|part| said.contains(part)), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn times_are_of_the_zone_of_who_reads_and_of_the_day_of_the_snapshot() {
    let rig = rig();
    let count = |zone: &str, since: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_blog-decode"))
            .args(["-s", "test-mod.ko", "--json", "snap", "--since", since])
            .env("TZ", zone)
            .current_dir(rig.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        text.matches("\"type\":\"record\"").count()
    };
    // The first record is of 2023-11-14T22:13:21Z.
    for since in [
        "2023-11-14T22:13:22Z",
        "2023-11-14T22:13:22",
        "2023-11-15 00:13:22+02:00",
        "22:13:22",
        "today 22:13:22",
        "-1m38s",
    ] {
        assert_eq!(count("UTC", since), 4, "{since}");
    }
    assert_eq!(count("UTC-2", "2023-11-15T00:13:22"), 4);
    assert_eq!(count("UTC-2", "00:13:22"), 4);
    assert_eq!(count("UTC", "today"), 5);
    assert_eq!(count("UTC", "22:20"), 0);
    assert_eq!(count("UTC", "yesterday"), 5);
}

/// With their offset, so that what is shown can be given back in any zone.
#[test]
fn dates_are_shown_as_they_are_read() {
    let rig = rig();
    let first = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_blog-decode"))
            .args([&["-s", "test-mod.ko", "snap"], args].concat())
            .env("TZ", "IST-5:30")
            .current_dir(rig.path())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().nth(1).unwrap().to_owned()
    };
    let (local, utc) = (
        "2023-11-15T03:43:21.000000+05:30",
        "2023-11-14T22:13:21.000000Z",
    );
    assert!(first(&["-t", "wall"]).starts_with(&format!("{local} info ")));
    assert!(first(&["-t", "wall", "--utc"]).starts_with(&format!("{utc} info ")));
    assert_eq!(first(&["--format", "{wall}"]), local);
    let expected = first(&["-t", "raw", "--since", "2023-11-14T22:13:22Z"]);
    for (since, zone) in [
        ("2023-11-15T03:43:22", None),
        ("03:43:22", None),
        ("2023-11-14T22:13:22", Some("--utc")),
        ("22:13:22", Some("--utc")),
    ] {
        let args: Vec<_> = zone
            .into_iter()
            .chain(["-t", "raw", "--since", since])
            .collect();
        assert_eq!(first(&args), expected);
    }
}

#[test]
fn a_command_may_stand_behind_options_and_be_misspelt() {
    let rig = rig();
    let ko = rig.ko.to_str().unwrap();
    let output = rig.run_exactly(&["--modules", "nowhere", "-s", ko, "tasks", "--all", "snap"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(
        output.stdout,
        rig.run_exactly(&["tasks", "--all", "-s", ko, "snap"])
            .stdout
    );
    let output = rig.run_exactly(&["help", "gaps"]);
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("--longer"));
    for (args, text) in [
        (&["taks", "snap"][..], "there is a command tasks"),
        (
            &["snap", "tasks"],
            "tasks is a command: it goes before files",
        ),
    ] {
        let output = rig.run_exactly(args);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(text), "{output:?}");
    }
    // A file of that name is a file.
    fs::copy(&rig.snapshot, rig.path().join("taks")).unwrap();
    assert_eq!(rig.lines(&["taks"]), rig.lines(&["snap"]));
}

#[test]
fn without_a_file_it_is_the_log_of_this_system() {
    let rig = rig();
    fs::create_dir(rig.path().join("blog")).unwrap();
    fs::copy(&rig.snapshot, rig.path().join("blog/snapshot")).unwrap();
    assert_eq!(rig.lines(&["--blog", "blog"]), rig.lines(&["snap"]));
    let output = rig.run(&["stats", "--blog", "blog"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let output = rig.run(&["--blog", "nowhere"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("no SNAPSHOT is named, and nowhere/snapshot: "));
    // As "follow" does, which says how it was.
    let output = rig.run(&["-f", "snap", "-w", "level == err"]);
    assert!(
        stderr(&output).contains("1 of 5 records shown"),
        "{output:?}"
    );
}

#[test]
fn a_table_beside_the_snapshot_is_found() {
    let rig = rig();
    let expected = rig.lines(&["snap"]);
    let lines = |output: &Output| -> Vec<String> {
        let text = String::from_utf8_lossy(&output.stdout);
        text.lines().map(str::to_owned).collect()
    };
    let output = rig.run_bare(&["snap"]);
    assert_eq!((output.status.code(), lines(&output)), (Some(0), expected));
    // One line for a missing table, however many records it is wanted for.
    let output = rig.run_bare(&["alone/snap"]);
    assert_eq!(stderr(&output).matches(&rig.build_id).count(), 1);
    assert!(!lines(&output).iter().any(|l| l.contains(&rig.build_id)));
    // What is no image is no failure, nor is an image of something else.
    fs::write(rig.path().join("README.ko"), "x").unwrap();
    fs::write(rig.path().join("tutor.ko"), "\x7fELF, but not quite").unwrap();
    let output = rig.run_bare(&["-s", ".", "alone/snap"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn modules_are_found_where_they_are_installed() {
    let rig = rig();
    let dir = rig.path().join("modules/7.3.4/updates/dkms");
    fs::create_dir_all(&dir).unwrap();
    fs::copy(&rig.ko, dir.join("test-mod.ko")).unwrap();
    let run = || {
        let output = rig.run_exactly(&["--modules", "modules", "alone/snap"]);
        output.status.code()
    };
    assert_eq!(run(), Some(0));
    fs::rename(dir.join("test-mod.ko"), dir.join("test-mod.ko.debug")).unwrap();
    assert_eq!(run(), Some(0));
    // Not in the sources that a link leads to.
    let sources = rig.path().join("sources");
    fs::create_dir(&sources).unwrap();
    fs::rename(dir.join("test-mod.ko.debug"), sources.join("test-mod.ko")).unwrap();
    std::os::unix::fs::symlink(&sources, rig.path().join("modules/7.3.4/build")).unwrap();
    assert_eq!(run(), Some(1));
    fs::rename(sources.join("test-mod.ko"), dir.join("test-mod.ko.debug")).unwrap();
    // Only files with the image's name are opened.
    fs::rename(dir.join("test-mod.ko.debug"), dir.join("x.ko")).unwrap();
    assert_eq!(run(), Some(1));
}

/// Neither the list of tasks nor the ring has it.
#[test]
fn a_name_that_only_records_have_is_known() {
    let rig = rig();
    let mut b = Builder::new();
    b.system(BOOT_ID)
        .clock(1, &CLOCK)
        .component(1, "disk")
        .ring(&Ring::task(1, 1, 42, "fio"));
    let mut page = Page::new(1, 1, 0, 0);
    page.writer(0, 0, 0, (42, 42, "sh"));
    page.raw_record(0, 1, b"");
    b.page(&Ring::task(1, 1, 42, "fio"), &page);
    fs::write(rig.path().join("renamed"), b.end()).unwrap();
    for (name, count) in [("sh", "1\n"), ("bash", "0\n")] {
        let output = rig.run_exactly(&["--count", "--comm", name, "renamed"]);
        assert_eq!(output.stdout, count.as_bytes(), "{output:?}");
        let told = stderr(&output).contains("no task has this name");
        assert_eq!(told, name == "bash", "{output:?}");
    }
}

#[test]
fn a_dash_is_no_missing_value() {
    let rig = rig();
    let mut b = disk(&rig, &[[0; 4], [20; 4]]);
    let ring = Ring::task(1, 1, 42, "-");
    b.ring(&ring);
    let mut p = Page::new(1, 1, 0, 0);
    p.record(1, 4, ());
    b.page(&ring, &p);
    fs::write(rig.path().join("dash"), b.end()).unwrap();
    let lines = rig.lines(&["--csv", "--columns", "comm,arg.sector,pid", "dash"]);
    assert_eq!(lines[1], "\"'-\",,42");
    // A component is named with * too.
    assert_eq!(rig.lines(&["--csv", "-c", "d*k", "dash"]).len(), 2);
}

#[test]
fn a_damaged_clock_spoils_nothing_else() {
    let rig = rig();
    let pair = [
        1_000_000_000,
        1_000_000_000,
        1_000_000_000,
        1_700_000_000_000_000_000,
    ];
    let mut b = disk(&rig, &[[0, 0, 0, 1_699_999_999_000_000_000], pair]);
    let ring = Ring::task(1, 1, 42, "fio");
    b.ring(&ring);
    let mut p = Page::new(1, 1, 0, 0);
    p.record(1, 4, ());
    b.page(&ring, &p);
    let ring = Ring::task(1, 2, 43, "far");
    b.ring(&ring);
    let mut p = Page::new(2, 1, u64::MAX, 0);
    p.record(u64::MAX, 4, ());
    b.page(&ring, &p);
    fs::write(rig.path().join("far"), b.end()).unwrap();
    let text = rig.lines(&["--json", "far"]);
    let all: Vec<Value> = text
        .iter()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert_eq!(
        (&all[0]["boot_ns"], &all[1]["boot_ns"]),
        (&1.into(), &Value::Null)
    );
    assert_eq!(
        (&all[1]["wall_ns"], &all[1]["clock"], &all[1]["clock_text"]),
        (&Value::Null, &Value::Null, &u64::MAX.to_string().into())
    );
    for form in ["ctf", "otlp", "perfetto", "parquet"] {
        let output = rig.run(&["convert", "--to", form, "-o", form, "far"]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(
            stderr(&output).contains("1 records or losses left out"),
            "{output:?}"
        );
    }
    assert!(rig.path().join("ctf/metadata").exists());
    let dates = fs::read_dir(rig.path().join("parquet")).unwrap();
    let dates: Vec<_> = dates.map(|d| d.unwrap().file_name()).collect();
    assert_eq!(dates, ["date=2023-11-14"]);
    let text = fs::read_to_string(rig.path().join("otlp")).unwrap();
    let times = text.matches("timeUnixNano").count();
    let known = text
        .matches("\"timeUnixNano\":\"1699999999000000001\"")
        .count();
    assert_eq!((times, known), (1, 1), "{text}");
    // No number that is told of it has more than 64 bits either.
    for line in rig.lines(&["stats", "--json", "far"]) {
        let object: Value = serde_json::from_str(&line).unwrap();
        let mut values = object.as_object().unwrap().values();
        assert!(values.all(|value| !value.is_f64()), "{line}");
    }
}

/// A misspelt argument is reported, even if a table is missing: `!` of it is true of every record.
#[test]
fn unknown_names_are_told_of_without_all_tables() {
    let rig = rig();
    let table = read_table(&rig.ko, |_| true).unwrap().unwrap();
    let mut b = Builder::new();
    b.system(BOOT_ID)
        .clock(1, &CLOCK)
        .images(&[(1, 4, &table.build_id, "test_mod"), (5, 1, b"gone", "gone")])
        .component(1, "disk");
    let ring = Ring::task(1, 1, 42, "fio");
    let mut p = Page::new(1, 1, 1000, 0);
    p.record(2000, 1, (&8u32, &0x1000u64));
    b.ring(&ring).page(&ring, &p);
    fs::write(rig.path().join("some"), b.end()).unwrap();
    for (args, told) in [
        (
            ["--where", "!(arg.sectr == 1)"],
            "--where: no call site has an argument \"sectr\" (not all tables are there)",
        ),
        (
            ["--where", "arg.count != 'x'"],
            "(not all tables are there)",
        ),
        (
            ["--site", "9"],
            "--site 9: no call site has this id (not all tables are there)",
        ),
        (
            ["--format", "{arg.sectr}"],
            "--format: no call site has an argument \"sectr\" (not all tables are there)",
        ),
    ] {
        let output = rig.run(&[&args[..], &["some"]].concat());
        assert!(stderr(&output).contains(told), "{output:?}");
    }
    // Without any table, that is all that there is to be told.
    let output = rig.run_bare(&["--where", "!(arg.sectr == 1)", "alone/snap"]);
    assert!(!stderr(&output).contains("sectr"), "{output:?}");
}

/// A collector refuses all of a line that has a number which 64 bits with a sign don't hold.
#[test]
fn no_loss_is_too_large_for_a_collector() {
    let rig = rig();
    for (lost, expected) in [
        (i64::MAX as u64, r#"{"intValue":"9223372036854775807"}"#),
        (1 << 63, r#"{"stringValue":"9223372036854775808"}"#),
    ] {
        let mut b = disk(&rig, &CLOCK);
        let ring = Ring::task(1, 1, 42, "fio");
        let mut p = Page::new(1, 1, 1000, 0);
        p.lost(1000, 0, lost);
        p.record(2000, 4, ());
        b.ring(&ring).page(&ring, &p);
        fs::write(rig.path().join("lost"), b.end()).unwrap();
        let output = rig.run(&["convert", "--to", "otlp", "-o", "-", "lost"]);
        let text = String::from_utf8(output.stdout).unwrap();
        let count = format!(r#"{{"key":"blog.lost.count","value":{expected}}}"#);
        assert!(text.contains(&count), "{text}");
    }
}

/// Readers of a trace want times that don't go back. Where they do, that isn't silent.
#[test]
fn a_time_that_is_changed_is_told_of() {
    let rig = rig();
    let second = 1_000_000_000;
    let mut b = disk(&rig, &CLOCK);
    let ring = Ring::task(1, 1, 42, "fio");
    b.ring(&ring);
    for (seq, at) in [(1, 50), (2, 2), (3, 60)] {
        let mut p = Page::new(1, seq, at * second, seq - 1);
        p.record(at * second, 4, ());
        b.page(&ring, &p);
    }
    fs::write(rig.path().join("back"), b.end()).unwrap();
    for (form, status) in [("ctf", 1), ("html", 1), ("perfetto", 0), ("parquet", 0)] {
        let output = rig.run(&["convert", "--to", form, "-o", form, "back"]);
        assert_eq!(output.status.code(), Some(status), "{output:?}");
        let told = "1 records or losses have the time of the one before: theirs is earlier";
        assert_eq!(stderr(&output).contains(told), status == 1, "{output:?}");
    }
}

/// The hour that comes twice: the zone that is reported is of each time, not of the one before.
#[test]
fn the_end_of_summer_time_is_in_the_times() {
    let rig = rig();
    let table = read_table(&rig.ko, |_| true).unwrap().unwrap();
    let second = 1_000_000_000;
    // 2023-10-29T01:00:00Z is two seconds after boot.
    let real = 1_698_541_198 * second;
    let mut b = Builder::new();
    b.system(BOOT_ID)
        .clock(
            1,
            &[
                [0, 0, 0, real],
                [10 * second, 10 * second, 10 * second, real + 10 * second],
            ],
        )
        .images(&[(1, 4, &table.build_id, "test_mod")])
        .component(1, "disk");
    let ring = Ring::task(1, 1, 42, "fio");
    b.ring(&ring);
    let mut p = Page::new(1, 1, second, 0);
    p.record(second, 4, ());
    p.record(2 * second, 4, ());
    b.page(&ring, &p);
    fs::write(rig.path().join("autumn"), b.end()).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_blog-decode"))
        .args(["-t", "wall", "-s", "test-mod.ko", "autumn"])
        .env("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
        .current_dir(rig.path())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let times: Vec<&str> = text.lines().map(|l| l.split(' ').next().unwrap()).collect();
    let expected = [
        "2023-10-29T02:59:59.000000+02:00",
        "2023-10-29T02:00:00.000000+01:00",
    ];
    assert_eq!(times, expected);
}
