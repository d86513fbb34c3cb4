// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! A log of many records, which any number of threads decode to the same.

#[allow(clippy::duplicate_mod)] // The example has its own.
#[path = "../../examples/biglog.rs"]
mod example;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

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
        &[&spans[..], &["--json"]].concat(),
        &[&spans[..], &["-k", "component", "--time", "delta"]].concat(),
        &["spans", "*", "*", "-n", "30"],
        &["spans", "*", "*", "--json", "--grep", "read [17] "],
        &["stats", "--by", "comm,arg.0", "--sum", "arg.1"],
        &["show", "--grep", "read 7 ", "-C", "2"],
    ] {
        let by = |jobs| run(&[args, &["-s", "log.ko", "log.snap", "--jobs", jobs]].concat());
        let one = by("1");
        assert!(one.status.success() && one.stdout.len() > 1000, "{args:?} {one:?}");
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
fn a_big_log_is_decoded() {
    let temporary = tempfile::tempdir().unwrap();
    // Batches of other threads begin in the middle of a microsecond.
    let records = 20_003;
    example::make(records, 3, temporary.path());
    let run = |args: &[&str]| {
        let mut program = Command::new(env!("CARGO_BIN_EXE_blog-decode"));
        let program = program.args(args).current_dir(temporary.path());
        program.output().unwrap()
    };
    let output = run(&["stats", "--json", "-s", "log.ko", "log.snap"]);
    assert!(output.status.success(), "{output:?}");
    are_the_same_by_any_number_of_threads(records, &run);
    answers_and_files_are_the_same(temporary.path(), &run);
    let text = String::from_utf8(output.stdout).unwrap();
    let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(first["records"], records, "{first}");
}
