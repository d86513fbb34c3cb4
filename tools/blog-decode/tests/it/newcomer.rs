// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! What Documentation/blog/first-five-minutes.rst tells a newcomer to type gives what it says there,
//! over the snapshot that it was written with; and so do the hangs of README.md and post-mortem.rst.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output},
};

const PAGE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../Documentation/blog/first-five-minutes.rst");
const HANGS: [&str; 2] = [
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md"),
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../Documentation/blog/post-mortem.rst"),
];
const HANG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hang");
const SNAPSHOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/newcomer");

/// A command of the page, and what stands below it.
struct Step {
    command: String,
    output: Vec<String>,
}

/// Commands are after `$` in literal blocks; those after `#` want the machine itself.
fn steps(page: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut step: Option<Step> = None;
    for line in page.lines() {
        let text = line.strip_prefix("  ");
        let command = text.and_then(|t| t.strip_prefix("$ "));
        let ends = text.is_none_or(|t| t.starts_with("# ")) && !line.is_empty();
        if command.is_some() || ends {
            steps.extend(step.take());
        }
        match (&mut step, command) {
            (_, Some(command)) => {
                step = Some(Step { command: command.to_owned(), output: Vec::new() });
            }
            (Some(step), None) => step.output.push(text.unwrap_or_default().to_owned()),
            (None, None) => {}
        }
    }
    steps.extend(step);
    for step in &mut steps {
        while step.output.last().is_some_and(String::is_empty) {
            step.output.pop();
        }
    }
    steps
}

/// Whether lines are as the page has them; `...` there stands for any number of lines.
fn agree(page: &[String], lines: &[&str]) -> bool {
    match page.split_first() {
        None => lines.is_empty(),
        Some((dots, rest)) if dots == "..." => (0..=lines.len()).any(|n| agree(rest, &lines[n..])),
        Some((line, rest)) => {
            lines.first().is_some_and(|l| l.trim_end() == line) && agree(rest, &lines[1..])
        }
    }
}

/// Has a folder with the snapshot, and the program as it is where the tables are installed.
fn machine() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::copy(format!("{SNAPSHOT}/snap"), dir.path().join("snap")).unwrap();
    let program = dir.path().join("blog-decode");
    let real = env!("CARGO_BIN_EXE_blog-decode");
    let script = format!("#!/bin/sh\nexec '{real}' \"$@\" --modules '{SNAPSHOT}/tables'\n");
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    dir
}

fn run(command: &str, dir: &Path) -> Output {
    let path = std::env::var("PATH").unwrap_or_default();
    Command::new("sh")
        .args(["-c", command])
        .current_dir(dir)
        .env("PATH", format!("{}:{path}", dir.display()))
        .output()
        .unwrap()
}

#[test]
fn the_page_says_what_the_commands_give() {
    let page = fs::read_to_string(PAGE).unwrap();
    let steps = steps(&page);
    assert!(steps.len() >= 6, "only {} commands", steps.len());
    for command in ["stats", "spans", "tasks", "-w", "-A", "report"] {
        let has = |s: &Step| s.command.split(' ').any(|word| word == command);
        assert!(steps.iter().any(has), "no {command} on the page");
    }
    let dir = machine();
    check(&steps, dir.path());
    assert!(dir.path().join("report.html").exists());
}

/// Runs commands, and compares what they print with the page.
fn check(steps: &[Step], dir: &Path) {
    let mut wrong = Vec::new();
    for Step { command, output } in steps {
        let got = run(command, dir);
        let text = String::from_utf8(got.stdout).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        if !got.status.success() || !got.stderr.is_empty() || !agree(output, &lines) {
            let stderr = String::from_utf8_lossy(&got.stderr).into_owned();
            wrong.push(format!("$ {command}\n{text}{stderr}({})", got.status));
        }
    }
    assert!(wrong.is_empty(), "not as on the page:\n{}", wrong.join("\n\n"));
}

#[test]
fn hangs_on_pages_are_those_of_their_snapshots() {
    let dir = machine();
    for file in ["abba.snap", "blame.snap", "blog_crash.blogfmt"] {
        fs::copy(format!("{HANG}/{file}"), dir.path().join(file)).unwrap();
    }
    for (page, least) in HANGS.into_iter().zip([1, 2]) {
        let text = fs::read_to_string(page).unwrap();
        // As in the other pages, which have no fences.
        let mut is_code = false;
        let blocks: String = text
            .lines()
            .map(|line| {
                is_code ^= line.starts_with("```");
                if is_code {
                    format!("  {line}\n")
                } else {
                    format!("{line}\n")
                }
            })
            .collect();
        let mut steps = steps(&blocks);
        steps.retain(|step| step.command.contains(".snap"));
        assert!(steps.len() >= least, "{page}: {} commands", steps.len());
        check(&steps, dir.path());
    }
}

#[test]
fn a_page_that_is_wrong_is_noticed() {
    let text = "::\n\n  # not run\n  $ echo a; echo b; echo c\n  a\n  ...\n\n  $ true\n\nEnd\n";
    let steps = steps(text);
    let outputs: Vec<_> = steps.iter().map(|s| s.output.join("|")).collect();
    assert_eq!(outputs, ["a|...", ""]);
    let page = |lines: &[&str]| lines.iter().map(|&l| l.to_owned()).collect::<Vec<_>>();
    let lines = ["a", "b", "c"];
    for good in [&["a", "b", "c"][..], &["...", "c"], &["a", "...", "c"], &["..."]] {
        assert!(agree(&page(good), &lines), "{good:?}");
    }
    for bad in [&["a", "b"][..], &["a", "...", "b"], &["b", "..."], &[]] {
        assert!(!agree(&page(bad), &lines), "{bad:?}");
    }
}
