// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! `show`: records to standard output.

use std::{
    io::{self, Write},
    path::Path,
};

use super::{
    args::{self, Output, Show},
    input::Input,
    print::{Ends, Out},
    report::{complain, Failure, Status},
    session::Session,
};
use crate::{accounts::Accounts, boot, foreign::Log, merge};

/// Prints records.
pub fn show(args: &Show) -> Result<Status, Failure> {
    args.around.check(&args.filters)?;
    let has_logs = !args.logs.is_empty();
    let mut session = match &args.newer_than {
        Some(old) => newer(args, old)?,
        None => Session::open(&args.input, &args.filters, has_logs, args.jobs)?,
    };
    let context = args.around.numbers();
    session.filter.with_context = context != (0, 0);
    let logs = session.input.logs(&args.logs)?;
    let how = How {
        output: &args.output,
        context,
        with_stats: args.stats,
        ends: Ends { last: args.last, reverse: args.reverse },
        count: args.count,
    };
    print(session, logs, &how)
}

/// What is newer than `old`.
fn newer(args: &Show, old: &Path) -> Result<Session, Failure> {
    let filter = args.filters.build()?;
    let (mut files, tables, so_far) = Input::read(&args.input.with_files(vec![old.to_owned()]))?;
    let old = files.len();
    let (more, tables, status) = Input::read(&args::InputArgs { tables, ..args.input.clone() })?;
    files.extend(more);
    let input = Input::new(files, &tables, status.max(so_far));
    let mut session = Session::new(input, filter, &args.filters, false)?;
    let input = &session.input;
    if input.boots.iter().any(|b| b.is_one_of_several || b.id.is_none()) {
        return Err(
            "--newer-than: the files are of different boots, so there is nothing to compare".into(),
        );
    }
    let wanted = |name: &str| session.filter.wants_component(name);
    session.streams = merge::newer(&input.files, old, wanted)?;
    Ok(session)
}

/// How records are printed.
struct How<'a> {
    output: &'a Output,
    /// Records before and after those that match.
    context: (usize, usize),
    with_stats: bool,
    ends: Ends,
    /// Only how many there are.
    count: bool,
}

fn print(mut session: Session, logs: Vec<Log>, how: &How<'_>) -> Result<Status, Failure> {
    session.tells_losses = how.count || !how.output.has_losses();
    let session = &session;
    let (input, boots) = (&session.input, &session.input.boots);
    if let Some(columns) = &how.output.columns {
        input.tell_unknown("--columns", columns.fields());
    }
    if let Some(template) = &how.output.format {
        input.tell_unknown("--format", template.fields());
    }
    let is_by_others = logs.is_empty() && !how.count;
    let mut decoder = session.decoder("decoding", true).with_logs(logs);
    let width = boot::width(boots);
    let mut out = Out::new(how.output, &session.filter, how.context, width, how.ends);
    let mut matches = 0u64;
    let others = out.others(boots).filter(|_| is_by_others);
    let mut written = match others {
        Some(printer) => {
            // Without context, all records that are shown match.
            let written = decoder.run_by(session.threads, printer, |bytes| {
                let written = out.bytes(bytes);
                bytes.clear();
                written
            });
            matches = decoder.shown();
            written
        }
        None => decoder.run(|entry| {
            matches += u64::from(entry.is_match);
            match how.count {
                true => Ok(()),
                false => out.entry(entry),
            }
        }),
    };
    if how.count && written.is_ok() {
        written = out.bytes(format!("{matches}\n").as_bytes());
    }
    match written.and_then(|()| out.end()) {
        Ok(()) => {}
        // The reader has enough.
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => return Ok(input.status),
        Err(e) => return Err(format!("standard output: {e}").into()),
    }
    let hidden = std::mem::take(&mut out.hidden);
    drop(out);
    if let (Some(last), false) = (how.ends.last, hidden.is_empty()) {
        complain(&format!(
            "records that may be among the last {last} are missing: {}",
            hidden.by_cause()
        ));
    }
    let status = session.end(&decoder.outcome()).status;
    if how.with_stats {
        let stats = Accounts {
            files: &input.files,
            boots,
            streams: &session.streams,
            counts: decoder.counts().copied().collect(),
            shown: decoder.shown(),
            undecoded: decoder.undecoded(),
        };
        if let Err(e) = write_stats(&stats) {
            complain(&format!("--stats: {e}"));
        }
    }
    Ok(status)
}

fn write_stats(stats: &Accounts<'_>) -> io::Result<()> {
    let mut out = Vec::new();
    stats.write_json(&mut out);
    io::stdout().write_all(&out)?;
    io::stdout().flush()
}
