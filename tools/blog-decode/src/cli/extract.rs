// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! A crash dump becomes a snapshot: a file for `convert --to snapshot`, in memory for others.

use std::{
    io::{self, Write},
    path::PathBuf,
};

use super::{
    args::Convert,
    atomic_output,
    progress::{Progress, Unit},
    report::{complain, Failure, Status},
};
use crate::{
    blogfmt::source::Source,
    error::Error,
    open::is_dump,
    snapshot::Snapshot,
    vmcore::{self, Extracted},
};

/// Makes a snapshot file of a dump.
pub fn extract(args: &Convert) -> Result<Status, Failure> {
    let name = args.output.to_string_lossy();
    let (dumps, others) = with_dumps(&args.input.snapshots, &args.input.sources.vmcore);
    let is_plain = others.is_empty() && args.input.host.is_empty() && args.what.logs.is_empty();
    let dumps = vmcore::dumps(&dumps);
    let [dump] = &dumps[..] else {
        return Err("--to snapshot: give one crash dump, or all parts of one".into());
    };
    let has_filters = args.what.filters.choose() || !args.what.filters.components().is_empty();
    if !is_plain || has_filters || !args.what.spans.span.is_empty() {
        return Err("--to snapshot takes all of one crash dump, and nothing else".into());
    }
    let (extracted, is_whole) =
        atomic_output::file(&args.output, args.what.force, |out| read(dump, out))?;
    let Extracted { components, rings, pages, records, tasks, .. } = extracted;
    let said = format!(
        "{components} components, {tasks} tasks, {rings} rings, {pages} pages, {records} records"
    );
    if args.output.as_os_str() == "-" {
        complain(&said);
    } else {
        // Without a reader, nobody needs this line.
        let _ = writeln!(io::stdout(), "{}: {said}", name.escape_default());
    }
    Ok(if is_whole { Status::Whole } else { Status::Partial })
}

/// The crash dumps among files, with others that are named as such; and the rest of the files.
pub fn with_dumps(files: &[PathBuf], vmcore: &[PathBuf]) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (mut dumps, rest): (Vec<_>, _) = files.iter().cloned().partition(|path| is_dump(path));
    dumps.extend_from_slice(vmcore);
    (dumps, rest)
}

/// Adds a snapshot of each dump; what can't be read is reported.
pub fn add(paths: &[PathBuf], files: &mut Vec<Snapshot>) -> Status {
    let mut status = Status::Whole;
    for dump in vmcore::dumps(paths) {
        match snapshot(&dump) {
            Ok((file, is_whole)) => {
                files.push(file);
                status = status.max(if is_whole { Status::Whole } else { Status::Partial });
            }
            Err(e) => {
                complain(&e);
                status = Status::Partial;
            }
        }
    }
    status
}

fn snapshot(dump: &[PathBuf]) -> Result<(Snapshot, bool), String> {
    let mut bytes = Vec::new();
    let (_, is_whole) = read(dump, &mut bytes)?;
    let snapshot = Snapshot::read(name(dump), Source::Memory(bytes))?;
    Ok((snapshot, is_whole))
}

/// What a dump is called: as its first file.
pub fn name(dump: &[PathBuf]) -> String {
    let first = dump.first();
    first.map_or_else(String::new, |path| path.display().to_string())
}

/// Extracts to `out`, and reports what was wrong.
pub fn read(dump: &[PathBuf], out: &mut dyn Write) -> Result<(Extracted, bool), String> {
    let name = name(dump);
    let core = vmcore::open(dump).map_err(|e| format!("{name}: {e}"))?;
    if let Some(problem) = &core.problem {
        complain(&format!("{name}: {problem}"));
    }
    let mut progress = Progress::new("extracting", Unit::Pages, false);
    let mut tick = |done, all| progress.at(done, Some(all));
    let extracted = vmcore::extract_with(&core.memory, core.root, core.crashed, out, &mut tick);
    drop(progress);
    let extracted = extracted.map_err(|e| match e {
        // By the writer, which says it itself
        Error::Io(e) if e.get_ref().is_some() => e.to_string(),
        Error::Io(e) => format!("the snapshot can't be written: {e}"),
        e => format!("{name}: {e}"),
    })?;
    for problem in &extracted.problems.0 {
        complain(&format!("{name}: {problem}"));
    }
    let is_whole = core.problem.is_none() && !extracted.problems.any_grave();
    Ok((extracted, is_whole))
}
