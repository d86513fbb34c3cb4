// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! What each output looks like, to the byte: the files in `golden/expected` are what the program
//! makes of two small snapshots there, and of two of each later version of the file in a folder of
//! its own. What such a folder lacks is as for the version before. `BLOG_BLESS=1 cargo test -p
//! blog-decode golden` makes all of them anew; look at the difference before you commit it.
//!
//! That the traces are right for those who read them is tested elsewhere (`tests/suites/test_convert.py`).

mod log;

use std::{
    env,
    fmt::Write,
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use crate::{common::image, proto::unpacked};
use base64::{engine::general_purpose::STANDARD, Engine as _};
use blog_decode_core::sidetable::read_table;
use flate2::read::GzDecoder;
use parquet::{
    file::reader::{FileReader, SerializedFileReader},
    schema::printer::print_schema,
};

const OLD: &str = "old.snap";
const NEW: &str = "new.snap";
const TABLE: &str = "golden_mod.blogfmt";
/// The folders with snapshots, and the version of these. No file has version 2.
const SETS: [(&str, u32); 3] = [("", 1), ("version-3", 3), ("version-4", 4)];
const FORMAT: &str =
    "{time:>12} {level:<5}|{component:^6}|{context}|{cpu}|{comm}[{pid}/{tgid}] {file}:{line} \
     {args} {arg.sector}\\t{message}";

fn expected() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/expected")
}

fn bless() -> bool {
    env::var_os("BLOG_BLESS").is_some()
}

/// Makes the snapshots and their side table when asked for; else they are there.
fn make() {
    static MADE: std::sync::Once = std::sync::Once::new();
    let dir = expected();
    MADE.call_once(|| {
        let table = dir.join(TABLE);
        if bless() && !table.exists() {
            fs::create_dir_all(&dir).unwrap();
            let temporary = tempfile::tempdir().unwrap();
            let ko = image::module_of(temporary.path(), "golden-mod.ko", "one", log::CALLS);
            let made = read_table(&ko, |_| true).unwrap().unwrap();
            fs::write(&table, made.encode().unwrap()).unwrap();
        }
        let id = read_table(&table, |_| true).unwrap().unwrap().build_id;
        for (set, version) in SETS {
            for (name, late) in [(OLD, false), (NEW, true)] {
                check_bytes(set, name, &log::snapshot(&id, late, version));
            }
        }
    });
}

/// The folders that may have a golden file of this set, in the order in which they are looked at.
fn places(set: &str) -> Vec<&str> {
    let known = SETS.iter().position(|(known, _)| *known == set);
    known.map_or(vec![set], |at| SETS[..=at].iter().rev().map(|(set, _)| *set).collect())
}

/// Compares with the golden file, or makes it where the version before has another one.
fn check_bytes(set: &str, name: &str, got: &[u8]) {
    let files: Vec<_> = places(set).iter().map(|set| expected().join(set).join(name)).collect();
    if bless() {
        let before = files[1..].iter().find_map(|path| fs::read(path).ok());
        if before.as_deref() == Some(got) {
            let _ = fs::remove_file(&files[0]);
        } else {
            fs::create_dir_all(files[0].parent().unwrap()).unwrap();
            fs::write(&files[0], got).unwrap();
        }
        return;
    }
    let path = files.iter().find(|path| path.exists()).unwrap_or(&files[0]);
    let want = fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    if want != got {
        // Beside the target, for a closer look.
        let seen =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{set}-{name}").replace('/', "-"));
        fs::write(&seen, got).unwrap();
        let at = want.iter().zip(got).take_while(|(a, b)| a == b).count();
        let line = 1 + want[..at].iter().filter(|b| **b == b'\n').count();
        panic!(
            "{name} is not as it was, from byte {at} (line {line}) on: compare {} and {}. If it is \
             better now: BLOG_BLESS=1 cargo test -p blog-decode golden",
            path.display(),
            seen.display()
        );
    }
}

/// Runs it where a set's snapshots are; the side table is in `expected`.
fn run(set: &str, args: &[&str]) -> Output {
    make();
    // Where all messages are printed, the result is partial: those of gone_mod have no table.
    let is_whole = ["stats", "sites", "--newer-than", "check"].contains(&args[0])
        && args[1] != "--by"
        || args.contains(&"-p");
    let table = match set {
        "" => TABLE.to_owned(),
        _ => format!("../{TABLE}"),
    };
    run_with(i32::from(!is_whole), &expected().join(set), args, &table)
}

fn run_with(status: i32, dir: &Path, args: &[&str], table: &str) -> Output {
    let tables: &[&str] = match args[0] {
        "check" => &[],
        _ => &["-s", table, "--modules", "nowhere"],
    };
    let output = Command::new(env!("CARGO_BIN_EXE_blog-decode"))
        .args(args)
        .args(tables)
        .current_dir(dir)
        .env_remove("NO_COLOR")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(status), "{args:?}: {output:?}");
    output
}

/// Compares standard output, and what all of them complain of, for each set.
fn check(name: &str, args: &[&str]) {
    // By one thread and by several.
    let all: &[&[&str]] = match args[0] {
        "show" => &[&["--jobs", "1"], &["--jobs", "3"]],
        _ => &[&[]],
    };
    for (set, _) in SETS {
        for jobs in all {
            let output = run(set, &[args, jobs].concat());
            check_bytes(set, name, &output.stdout);
            if !output.status.success() {
                check_bytes(set, "stderr.txt", &output.stderr);
            }
        }
    }
}

/// Takes a golden file's bytes from the output.
type Bytes = fn(&Path) -> Vec<u8>;

/// Converts into a file or directory of a temporary directory, and compares golden files with it.
fn convert(form: &str, files: &[(&str, Bytes)]) {
    convert_with(form, &[], files);
}

fn convert_with(form: &str, args: &[&str], files: &[(&str, Bytes)]) {
    for (set, _) in SETS {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().join("made");
        let to = ["convert", "--to", form, "-o", path.to_str().unwrap(), NEW];
        let output = run(set, &[&to, args].concat());
        assert!(output.stdout.is_empty(), "{output:?}");
        for (name, read) in files {
            check_bytes(set, name, &read(&path));
        }
    }
}

#[test]
fn text() {
    check("text.txt", &["show", "-l", NEW]);
}

#[test]
fn colours() {
    check("color.txt", &["show", "--color", "always", NEW]);
}

#[test]
fn templates() {
    check("format.txt", &["show", "--format", FORMAT, NEW]);
}

#[test]
fn clocks() {
    for clock in ["wall", "mono", "raw", "delta"] {
        let name = format!("time-{clock}.txt");
        check(&name, &["show", "-t", clock, "-p", "4242", NEW]);
    }
}

#[test]
fn json() {
    check("json.txt", &["show", "--json", "--stats", NEW]);
}

#[test]
fn csv() {
    check("csv.txt", &["show", "--csv", NEW]);
}

#[test]
fn stats() {
    check("stats.txt", &["stats", NEW]);
    check("stats-json.txt", &["stats", "--json", NEW]);
    check("count.txt", &["stats", "--by", "component,level", NEW]);
    check("count-json.txt", &["stats", "--by", "component,level", "--json", NEW]);
}

#[test]
fn sites() {
    check("sites.txt", &["sites", NEW]);
    check("sites-json.txt", &["sites", "--json", NEW]);
}

#[test]
fn tasks() {
    check("tasks.txt", &["tasks", NEW]);
    check("tasks-json.txt", &["tasks", "--json", NEW]);
}

#[test]
fn spans() {
    check("spans.txt", &["spans", "read*", "state*", NEW]);
    check("spans-json.txt", &["spans", "--json", "read*", "state*", NEW]);
}

#[test]
fn accounts() {
    check("check.txt", &["check", NEW]);
    check("check-json.txt", &["check", "--json", NEW]);
}

#[test]
fn diff() {
    check("diff.txt", &["--newer-than", OLD, NEW]);
}

/// Files with records of version 1, as they were written then, say the same; also where the
/// header that names the version is damaged. So do files that say they have version 2.
#[test]
fn versions_without_a_writer() {
    make();
    let old = |dir: &str| (fs::read(expected().join(dir).join(NEW)).unwrap(), dir.to_owned());
    let temporary = tempfile::tempdir().unwrap();
    let check = |(bytes, dir): (Vec<u8>, String), forms: &[(&str, &str)]| {
        let table = expected().join(dir).join(TABLE);
        fs::copy(table, temporary.path().join(TABLE)).unwrap();
        fs::write(temporary.path().join(NEW), &bytes).unwrap();
        for (name, form) in forms {
            let output = run_with(1, temporary.path(), &["show", form, NEW], TABLE);
            let want = fs::read(expected().join(name)).unwrap();
            let got = output.stdout;
            assert!(got == want, "{}", String::from_utf8_lossy(&got));
        }
    };
    let (mut bytes, dir) = old("records-1");
    assert_eq!(bytes[16], 1);
    for version in [1, 2] {
        bytes[16] = version;
        check((bytes.clone(), dir.clone()), &[("text.txt", "-l"), ("csv.txt", "--csv")]);
    }
    let (mut bytes, dir) = old("");
    bytes[8] = 2;
    let crc = crc32fast::hash(&bytes[..28]);
    bytes[28..32].copy_from_slice(&crc.to_le_bytes());
    check((bytes, dir), &[("text.txt", "-l"), ("csv.txt", "--csv")]);
}

/// What all traces have, and the classes of call sites.
fn metadata(path: &Path) -> [Vec<u8>; 2] {
    let text = fs::read_to_string(path.join("metadata")).unwrap();
    // After those of lines and of losses.
    let (at, _) = text.match_indices("\nevent {").nth(2).unwrap();
    let (all, sites) = text.split_at(at);
    [all.into(), sites.into()]
}

#[test]
fn ctf() {
    let all = |path: &Path| metadata(path)[0].clone();
    let events = |path: &Path| metadata(path)[1].clone();
    let records = |path: &Path| fs::read(path.join("records")).unwrap();
    let files: [(&str, Bytes); 3] =
        [("ctf/metadata", all), ("ctf/events", events), ("ctf/records", records)];
    convert("ctf", &files);
}

#[test]
fn perfetto() {
    convert("perfetto", &[("perfetto.pb", |path| unpacked(&fs::read(path).unwrap()))]);
}

#[test]
fn html() {
    let spans = ["--span", "read *", "state *", "--span", "read *", "nothing*", "-k", "component"];
    convert_with("html", &spans, &[("html.txt", report)]);
}

#[test]
fn otlp() {
    convert("otlp", &[("otlp.txt", |path| fs::read(path).unwrap())]);
}

#[test]
fn parquet() {
    convert("parquet", &[("parquet.txt", rows)]);
}

/// Parquet files: their names, columns and rows.
fn rows(path: &Path) -> Vec<u8> {
    let mut out = Vec::new();
    let mut entries: Vec<_> = fs::read_dir(path).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for entry in entries {
        out.extend(entry.file_name().unwrap().as_encoded_bytes());
        out.push(b'\n');
        if entry.is_dir() {
            out.extend(rows(&entry));
            continue;
        }
        let file = SerializedFileReader::new(File::open(entry).unwrap()).unwrap();
        print_schema(&mut out, file.metadata().file_metadata().schema());
        let mut text = String::new();
        for row in file.get_row_iter(None).unwrap() {
            writeln!(text, "{}", row.unwrap()).unwrap();
        }
        out.extend(text.into_bytes());
    }
    out
}

/// Two machines, one of which boots again: all outputs have the one time of all of them.
#[test]
fn boots() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path();
    make();
    let table = expected().join(TABLE);
    fs::copy(&table, dir.join(TABLE)).unwrap();
    let id = read_table(&table, |_| true).unwrap().unwrap().build_id;
    let names = log::BOOTS.map(|boot| {
        fs::write(dir.join(boot.file), log::boot(&id, &boot)).unwrap();
        boot.file
    });
    let check = |name: &str, args: &[&str]| {
        let output = run_with(0, dir, &[args, &names].concat(), TABLE);
        assert!(output.stderr.is_empty(), "{output:?}");
        check_bytes("boots", name, &output.stdout);
    };
    check("text.txt", &["show"]);
    check("around.txt", &["show", "-g", "0xa201", "-C", "1"]);
    check("delta.txt", &["show", "-t", "delta", "-c", "disk"]);
    check("boot.txt", &["show", "-t", "boot", "--since", "-0.001"]);
    check("format.txt", &["show", "--format", "{time} {boot} {host} {boot_id} {message}"]);
    check("json.txt", &["show", "--json", "--stats"]);
    check("csv.txt", &["show", "--csv"]);
    check("stats.txt", &["stats"]);
    check("stats-json.txt", &["stats", "--json"]);
    check("silences.txt", &["spans", "*", "*"]);
    for form in ["ctf", "perfetto", "html"] {
        let args = ["convert", "--to", form, "-o", form];
        let output = run_with(0, dir, &[&args[..], &names].concat(), TABLE);
        assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
    }
    check_bytes("boots", "html.txt", &report(&dir.join("html")));
    check_bytes("boots", "perfetto.pb", &unpacked(&fs::read(dir.join("perfetto")).unwrap()));
    for file in ["metadata", "records"] {
        let made = fs::read(dir.join("ctf").join(file)).unwrap();
        check_bytes("boots", &format!("ctf-{file}"), &made);
    }
}

/// The data of a report, in lines.
fn report(path: &Path) -> Vec<u8> {
    let page = fs::read_to_string(path).unwrap();
    // The page is that of the source. Only the data in it are golden, unpacked.
    let source = include_str!("../../crates/export/src/report.html")
        .replace("@STYLE@", include_str!("../../crates/export/src/report.css"))
        .replace("@SCRIPT@", include_str!("../../crates/export/src/report.js"));
    let mut rest = page.as_str();
    let mut data = Vec::new();
    let places = ["@TEXT@", "@COLUMNS@", "@ABOUT@"];
    let mut left = source.as_str();
    for place in places {
        let (before, after) = left.split_once(place).unwrap();
        rest = rest.strip_prefix(before).unwrap();
        let next = places.iter().filter_map(|p| after.find(p)).min();
        let until = &after[..next.unwrap_or(after.len())];
        let (found, _) = rest.split_once(until).unwrap();
        data.push(found);
        rest = &rest[found.len()..];
        left = after;
    }
    assert_eq!(rest, left);
    let unpack = |packed: &str| {
        let mut raw = Vec::new();
        let packed = STANDARD.decode(packed).unwrap();
        GzDecoder::new(&packed[..]).read_to_end(&mut raw).unwrap();
        raw
    };
    columns(data[2], &unpack(data[0]), &unpack(data[1]))
}

/// The report's data, a record in each line: the places of its arguments are before the message.
fn columns(about: &str, text: &[u8], raw: &[u8]) -> Vec<u8> {
    let parsed: serde_json::Value = serde_json::from_str(about).unwrap();
    let n = parsed["records"].as_u64().unwrap() as usize;
    let count = |kind: &serde_json::Value| kind["count"].as_u64().unwrap() as usize;
    let spans: usize = parsed["spans"].as_array().unwrap().iter().map(count).sum();
    let (times, rest) = raw.split_at(8 * n);
    let (lengths, rest) = rest.split_at(8 * spans);
    let (ends, rest) = rest.split_at(4 * n);
    let (places, rest) = rest.split_at(3 * 4 * spans);
    let (lanes, sites) = rest.split_at(2 * n.next_multiple_of(2));
    let short = |list: &[u8], i: usize| u16::from_le_bytes([list[2 * i], list[2 * i + 1]]);
    let double = |bytes: &[u8]| f64::from_le_bytes(bytes.try_into().unwrap());
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
    let lengths: Vec<_> = lengths.chunks(8).map(double).collect();
    let places: Vec<_> = places.chunks(4).map(word).collect();
    let mut out =
        format!("{about}\nspans {lengths:?} {places:?}\ntime lane site arguments message\n");
    let mut start = 0;
    for i in 0..n {
        let time = double(&times[8 * i..8 * i + 8]);
        let end = word(&ends[4 * i..4 * i + 4]) as usize;
        let (lane, site) = (short(lanes, i), short(sites, i));
        let count = parsed["sites"][usize::from(site)]["args"].as_array().map_or(0, Vec::len);
        let (places, message) = text[start..end].split_at(2 * count);
        let message = String::from_utf8_lossy(message);
        out += &format!("{time} {lane} {site} {places:?} {message:?}\n");
        start = end;
    }
    assert_eq!(start, text.len());
    out.into_bytes()
}
