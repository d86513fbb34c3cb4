// SPDX-License-Identifier: GPL-2.0

//! `extract`: a crash dump becomes a snapshot. `--vmcore` of other commands: in memory.

use std::{
    fs::{
        self,
        OpenOptions, //
    },
    io::{
        self,
        BufWriter,
        Write, //
    },
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use super::{
    args::Extract,
    complain,
    progress::{
        Progress,
        Unit, //
    },
    FAILED,
    OK,
    PARTIAL, //
};
use crate::{
    blogfmt::source::Source,
    snapshot::Snapshot,
    vmcore::{
        self,
        Error,
        Extracted, //
    },
};

/// Makes a snapshot file.
pub fn extract(args: &Extract) -> Result<u8, String> {
    let name = args.output.display();
    let create = || {
        let mut options = OpenOptions::new();
        let options = options.write(true).create_new(true).mode(0o600);
        let file = options.open(&args.output);
        file.map_err(|e| format!("{name}: {e}"))
    };
    let mut created = false;
    let result = read(&args.vmcore, || {
        let file = create()?;
        created = true;
        Ok(BufWriter::new(file))
    });
    let (extracted, is_whole) = match result {
        Ok((extracted, is_whole, _)) => (extracted, is_whole),
        Err(e) => {
            complain(&e);
            if created {
                // Half of a file is of no use to anybody.
                let _ = fs::remove_file(&args.output);
            }
            return Ok(FAILED);
        }
    };
    let Extracted {
        components,
        rings,
        pages,
        records,
        tasks,
        ..
    } = extracted;
    // Whoever doesn't listen doesn't care.
    let _ = writeln!(
        io::stdout(),
        "{name}: {components} components, {tasks} tasks, {rings} rings, {pages} pages, \
             {records} records"
    );
    Ok(if is_whole { OK } else { PARTIAL })
}

/// Makes a snapshot, and says whether it is whole.
pub fn snapshot(path: &Path) -> Result<(Snapshot, bool), String> {
    let (_, is_whole, bytes) = read(path, || Ok(Vec::new()))?;
    let snapshot = Snapshot::read(path.display().to_string(), Source::Memory(bytes))?;
    Ok((snapshot, is_whole))
}

/// Extracts to what `to` makes, and tells what was wrong.
fn read<W: Write>(
    path: &Path,
    to: impl FnOnce() -> Result<W, String>,
) -> Result<(Extracted, bool, W), String> {
    let name = path.display();
    let core = vmcore::open(path).map_err(|e| format!("{name}: {e}"))?;
    if let Some(problem) = &core.problem {
        complain(&format!("{name}: {problem}"));
    }
    let mut out = to()?;
    let mut progress = Progress::new("extracting", Unit::Pages, false);
    let mut tick = |done, all| progress.at(done, Some(all));
    let extracted = vmcore::extract_with(&core.memory, core.root, &mut out, &mut tick);
    drop(progress);
    let extracted = extracted.map_err(|e| match e {
        Error::Root(why) => format!("{name}: {why}"),
        Error::Write(e) => format!("the snapshot can't be written: {e}"),
    })?;
    for problem in &extracted.problems.0 {
        complain(&format!("{name}: {problem}"));
    }
    let is_whole = core.problem.is_none() && !extracted.problems.any_grave();
    Ok((extracted, is_whole, out))
}
