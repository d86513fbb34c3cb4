// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! A log of any size: many records of two scalars, as a driver under load writes them. The test
//! makes a small one and counts it. With `BLOG_BIG_LOG="RECORDS RINGS DIR"` it makes that one, and
//! leaves it there as `log.snap` with its table `log.ko`, for benchmarks and viewers of traces. With
//! `BLOG_FLEET="SNAPSHOTS HOSTS DIR"` it makes small ones, each of another boot of one of several
//! machines, half a day apart.

mod common;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use blog_decode::sidetable::read_table;
use common::{
    image,
    snapshot::{Builder, Page, Ring, BOOT_ID},
};

/// ns between two records of one ring.
const STEP: u64 = 1000;

/// Writes `log.snap` and `log.ko` into `dir`.
fn make(records: u64, rings: u32, dir: &Path) {
    let ko = image::module(dir, "log.ko", "one");
    let table = read_table(&ko, |_| true).unwrap().unwrap();
    let mut b = Builder::new();
    let (second, real) = (1_000_000_000, 1_790_000_000_000_000_000);
    b.system(BOOT_ID)
        .clock(
            1,
            &[
                [0, 0, 0, real],
                [
                    1000 * second,
                    1000 * second,
                    1000 * second,
                    real + 1000 * second,
                ],
            ],
        )
        .images(&[(1, 4, &table.build_id, "test_mod")])
        .component(1, "disk");
    for i in 0..rings {
        let count =
            records / u64::from(rings) + u64::from(u64::from(i) < records % u64::from(rings));
        let mut ring = Ring::task(1, i + 1, 1000 + i as i32, "fio");
        ring.records = count;
        b.ring(&ring);
        let (mut n, mut seq) = (0, 0);
        while n < count {
            let mut page = Page::new(i + 1, seq, n * STEP + u64::from(i), n);
            while page.bytes.len() < 4050 && n < count {
                page.record(n * STEP + u64::from(i), 1, (&(n as u32 % 256), &(n * 8)));
                n += 1;
            }
            b.page(&ring, &page);
            seq += 1;
        }
    }
    fs::write(dir.join("log.snap"), b.end()).unwrap();
}

/// Writes so many snapshots of so many machines, and `log.ko`, into `dir`: `hostN.snap`, and
/// `hostN-B.snap` of further boots. In each, every second record ends what the one before has begun:
/// on each machine, it took one more microsecond than on the one before.
fn make_fleet(snapshots: u64, hosts: u64, dir: &Path) {
    let ko = image::module(dir, "log.ko", "one");
    let table = read_table(&ko, |_| true).unwrap().unwrap();
    for n in 0..snapshots {
        let (boot, host) = (n / hosts, n % hosts);
        let real = 1_790_000_000_000_000_000 + n * 43_200_000_000_000;
        let mut id = [1; 16];
        id[..8].copy_from_slice(&n.to_le_bytes());
        let mut b = Builder::new();
        b.system_of(&format!("host{host}"), id)
            .clock(1, &[[0, 0, 0, real]])
            .images(&[(1, 4, &table.build_id, "test_mod")])
            .component(1, "disk");
        let mut page = Page::new(1, 0, 0, 0);
        for n in 0..20 + host % 60 {
            let start = n * 1000 * STEP;
            page.record(start, 1, (&0u32, &n));
            page.record(start + (host + 1) * STEP, 1, (&1u32, &n));
        }
        page.record(3_600_000 * STEP, 2, ("sda \"1\"", &-5i32));
        page.lost(3_600_001 * STEP, 0, host + 1);
        let mut ring = Ring::task(1, 1, 1000, "fio");
        ring.records = page.records().into();
        b.ring(&ring).page(&ring, &page);
        let name = match boot {
            0 => format!("host{host}.snap"),
            boot => format!("host{host}-{boot}.snap"),
        };
        fs::write(dir.join(name), b.end()).unwrap();
    }
}

fn are_the_same_by_any_number_of_threads(records: u64, run: &dyn Fn(&[&str]) -> Output) {
    let named: &[&str] = &["-s", "log.ko"];
    for (table, form) in [
        (named, "--ns"),
        (named, "--location"),
        (named, "--json"),
        (named, "--csv"),
        (named, "--format={clock} {message}"),
        (named, "--time=delta"),
        (named, "--grep=sectors at 0x.*8"),
        (named, "--last=7"),
        (&[], "--raw"),
    ] {
        let by = |jobs| run(&[&["show", form, "--jobs", jobs, "log.snap"], table].concat());
        let one = by("1");
        let lines = one.stdout.iter().filter(|b| **b == b'\n').count() as u64;
        match form {
            "--last=7" => assert_eq!(lines, 7),
            "--csv" => assert_eq!(lines, records + 1),
            form if form.starts_with("--grep") => assert!((2..records).contains(&lines)),
            _ => assert_eq!(lines, records, "{form}"),
        }
        for jobs in ["2", "3", "9"] {
            let several = by(jobs);
            assert!(several == one, "{form} --jobs {jobs}");
        }
    }
}

/// All files in a directory, or the one that it is.
fn files(path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let (mut all, mut todo) = (Vec::new(), vec![path.to_owned()]);
    while let Some(next) = todo.pop() {
        match fs::read_dir(&next) {
            Ok(dir) => todo.extend(dir.map(|e| e.unwrap().path())),
            Err(_) => {
                let name = next.strip_prefix(path).unwrap();
                all.push((name.to_owned(), fs::read(&next).unwrap()));
            }
        }
    }
    all.sort();
    all
}

fn answers_and_files_are_the_same(dir: &Path, run: &dyn Fn(&[&str]) -> Output) {
    let spans = ["spans", "read 1 *", "read 4 *", "-n", "40"];
    for args in [
        &spans[..],
        &[&spans[..], &["--json", "--by", "comm"]].concat(),
        &[&spans[..], &["-k", "component", "--time", "delta"]].concat(),
        &["gaps", "-n", "30"],
        &["gaps", "--json", "--grep", "read [17] "],
        &["stats", "--by", "comm,arg.0", "--sum", "arg.1"],
        &["show", "--grep", "read 7 ", "-C", "2"],
    ] {
        let by = |jobs| run(&[args, &["-s", "log.ko", "log.snap", "--jobs", jobs]].concat());
        let one = by("1");
        assert!(
            one.status.success() && one.stdout.len() > 1000,
            "{args:?} {one:?}"
        );
        for jobs in ["2", "3", "9"] {
            assert!(by(jobs) == one, "{args:?} --jobs {jobs}");
        }
    }
    for form in ["ctf", "html", "otlp", "parquet", "perfetto"] {
        let by = |jobs: &str| {
            let out = format!("{form}-{jobs}");
            let args = ["convert", "--to", form, "-o", &out, "--jobs", jobs];
            let output = run(&[&args[..], &["-s", "log.ko", "log.snap"]].concat());
            assert!(output.status.success(), "{output:?}");
            files(&dir.join(out))
        };
        let one = by("1");
        for jobs in ["2", "3"] {
            assert!(by(jobs) == one, "{form} --jobs {jobs}");
        }
    }
}

#[test]
fn a_log_of_any_size_is_decoded() {
    if let Ok(wanted) = env::var("BLOG_FLEET") {
        let wanted: Vec<_> = wanted.splitn(3, ' ').collect();
        let [snapshots, hosts, dir] = wanted[..] else {
            panic!("BLOG_FLEET=\"SNAPSHOTS HOSTS DIR\"")
        };
        return make_fleet(
            snapshots.parse().unwrap(),
            hosts.parse().unwrap(),
            Path::new(dir),
        );
    }
    let wanted = env::var("BLOG_BIG_LOG").ok();
    let temporary = tempfile::tempdir().unwrap();
    let (records, rings, dir) = match &wanted {
        // Batches of other threads begin in the middle of a microsecond.
        None => (20_003, 3, temporary.path().to_owned()),
        Some(wanted) => {
            let mut words = wanted.splitn(3, ' ');
            let mut word = || words.next().expect("BLOG_BIG_LOG=\"RECORDS RINGS DIR\"");
            let (records, rings) = (word().parse().unwrap(), word().parse().unwrap());
            (records, rings, PathBuf::from(word()))
        }
    };
    make(records, rings, &dir);
    let run = |args: &[&str]| {
        let mut program = Command::new(env!("CARGO_BIN_EXE_blog-decode"));
        program.args(args).current_dir(&dir).output().unwrap()
    };
    let output = run(&["stats", "--json", "-s", "log.ko", "log.snap"]);
    assert!(output.status.success(), "{output:?}");
    if wanted.is_none() {
        are_the_same_by_any_number_of_threads(records, &run);
        answers_and_files_are_the_same(&dir, &run);
    }
    let text = String::from_utf8(output.stdout).unwrap();
    let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(first["records"], records, "{first}");
}
