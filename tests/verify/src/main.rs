// SPDX-License-Identifier: GPL-2.0

//! Reports whether a run of BLog's torture module has lost or damaged anything. See the library.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use blog_file::snapshot::Snapshot;
use blog_torture_verify::{
    account::{forms, verify, Options},
    report::Report,
    truth::Truth,
};

const USAGE: &str = "\
usage: blog-torture-verify [OPTION]... DIRECTORY
DIRECTORY holds end.snap and end.truth of a run, and what else it left: *.snap
made before the end, *.truth of earlier runs, verdict (the kernel's log),
cleared, flipper.
  --sidetable PATH       a side table, a .ko, or a directory with such
  --whole COMPONENT      every record of it must be there
  --history NAME=PAGES   each full ring of it must have so many pages, less one
  --kinds A,B            there must be records of these kinds of writers
";

struct Args {
    directory: PathBuf,
    tables: Vec<PathBuf>,
    options: Options,
}

fn args() -> Result<Args, String> {
    let mut args = std::env::args().skip(1);
    let (mut directory, mut tables) = (None, Vec::new());
    let mut options = Options::default();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--sidetable" => tables.push(value()?.into()),
            "--whole" => options.whole.push(value()?),
            "--history" => {
                let value = value()?;
                let (name, pages) = value.split_once('=').ok_or("--history: NAME=PAGES")?;
                let pages = pages.parse().map_err(|_| "--history: not a number of pages")?;
                options.history.push((name.to_owned(), pages));
            }
            "--kinds" => options.kinds.extend(value()?.split(',').map(str::to_owned)),
            _ if arg.starts_with('-') || directory.is_some() => {
                return Err(format!("{arg} is not understood"));
            }
            _ => directory = Some(PathBuf::from(arg)),
        }
    }
    let directory = directory.ok_or("no directory")?;
    Ok(Args { directory, tables, options })
}

/// Files of a directory whose names end so, `end.` first last, others by name.
fn with_ending(directory: &Path, ending: &str) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(directory).map_err(|e| format!("{}: {e}", directory.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == ending));
    paths.sort_by_key(|p| (p.file_stem().is_some_and(|s| s == "end"), p.clone()));
    Ok(paths)
}

fn run(args: &mut Args, report: &mut Report) -> Result<(), String> {
    let directory = &args.directory;
    let read =
        |name: &Path| fs::read_to_string(name).map_err(|e| format!("{}: {e}", name.display()));
    let mut truth = Truth::default();
    for path in with_ending(directory, "truth")? {
        let text = read(&path)?;
        truth.add(&text).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    if let Ok(log) = read(&directory.join("verdict")) {
        truth.add_log(&log);
    }
    if let Ok(cleared) = read(&directory.join("cleared")) {
        args.options.cleared = cleared.lines().map(str::to_owned).collect();
    }
    args.options.flipped = directory.join("flipper").exists();
    let paths = with_ending(directory, "snap")?;
    if paths.last().and_then(|p| p.file_stem()).is_none_or(|stem| stem != "end") {
        return Err("there is no end.snap".into());
    }
    let files: Vec<Snapshot> =
        paths.iter().map(|path| Snapshot::open(path)).collect::<Result<_, _>>()?;
    let forms = forms(&files, &args.tables, report);
    let totals = verify(&files, &forms, &truth, &args.options, report);
    let kinds: Vec<String> = report.kinds.iter().map(|(k, n)| format!("{k} {n}")).collect();
    report.say(format!("decoded by kind: {}", kinds.join(", ")));
    report.say(format!(
        "{} attempted, {} decoded from {} snapshots, {} lost",
        totals.attempted,
        totals.decoded,
        files.len(),
        totals.lost
    ));
    Ok(())
}

fn main() -> ExitCode {
    let mut args = match args() {
        Ok(args) => args,
        Err(e) => {
            eprint!("blog-torture-verify: {e}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let mut report = Report::default();
    if let Err(e) = run(&mut args, &mut report) {
        report.fail("input", || e);
    }
    for line in report.lines.iter().chain(&report.failures()) {
        println!("{line}");
    }
    let verdict = if report.failed() == 0 { "SUCCESS" } else { "FAILURE" };
    println!("blog-torture-verify: {} failures: {verdict}", report.failed());
    ExitCode::from(u8::from(report.failed() != 0))
}
