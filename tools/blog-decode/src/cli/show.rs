// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! `show` and `diff`: records to standard output.

use std::{
    io::{
        self,
        Write, //
    },
    num::NonZero,
    path::PathBuf,
    thread, //
};

use super::{
    args::{
        self,
        Diff,
        Output,
        Show, //
    },
    complain,
    input::{
        tell_undecoded,
        Input, //
    },
    print::{
        Ends,
        Out, //
    },
    progress::{
        Progress,
        Unit, //
    },
    OK,
    PARTIAL, //
};
use crate::{
    accounts::Accounts, //
    boot,
    captures::Captures,
    decode::{
        Decoder,
        Filter, //
    },
    foreign::Log,
    merge,
    vmcore,
};

/// Prints records.
pub fn show(args: &Show) -> Result<u8, String> {
    args.around.check(&args.filters)?;
    let mut filter = args.filters.build()?;
    let context = args.around.numbers();
    filter.with_context = context != (0, 0);
    let mut input = match Input::open(&args.input) {
        Ok(input) => input,
        Err(status) => return Ok(status),
    };
    input.settle(&args.filters, &mut filter, !args.logs.is_empty())?;
    let streams = input.streams(&filter.components);
    let logs = input.logs(&args.logs)?;
    let how = How {
        output: &args.output,
        context,
        with_stats: args.stats,
        ends: Ends {
            last: args.last,
            reverse: args.reverse,
        },
        count: args.count,
        looks_for: args.filters.looks_for(),
        jobs: args.jobs,
    };
    print(&input, &streams, &filter, logs, &how)
}

/// Prints what is new.
pub fn diff(args: &Diff) -> Result<u8, String> {
    let mut filter = args.filters.build()?;
    let named = args.old.iter().chain(&args.new);
    let named = named.map(|path| (vec![path.clone()], false));
    // A dump comes behind a snapshot: what has crashed makes no more of them.
    let dumps = vmcore::dumps(&args.vmcore).into_iter();
    let all: Vec<_> = named.chain(dumps.map(|dump| (dump, true))).collect();
    if all.len() != 2 {
        return Err("two are compared: OLD and NEW, OLD and --vmcore, or two of --vmcore".into());
    }
    let (mut files, mut old, mut tables, mut status) = (Vec::new(), 0, args.tables.clone(), OK);
    for (paths, is_dump) in all {
        let paths = |is_wanted: bool| match is_wanted {
            true => paths.clone(),
            false => Vec::new(),
        };
        let read = Input::read(&args::Input {
            snapshots: paths(!is_dump),
            vmcore: paths(is_dump),
            tables,
            host: Vec::new(),
            blog: PathBuf::new(),
        });
        let (more, with_beside, so_far) = match read {
            Ok(read) => read,
            Err(status) => return Ok(status),
        };
        old = files.len();
        files.extend(more);
        (tables, status) = (with_beside, status.max(so_far));
    }
    let input = Input::new(files, &tables, status);
    input.settle(&args.filters, &mut filter, false)?;
    if input
        .boots
        .iter()
        .any(|b| b.is_one_of_several || b.id.is_none())
    {
        return Err("they are of different boots: everything is new".into());
    }
    let wanted = |name: &str| filter.wants_component(name);
    let streams = merge::newer(&input.files, old, wanted)?;
    let how = How {
        output: &args.output,
        context: (0, 0),
        with_stats: false,
        ends: Ends::default(),
        count: false,
        looks_for: args.filters.looks_for(),
        jobs: None,
    };
    print(&input, &streams, &filter, Vec::new(), &how)
}

/// How records are printed.
struct How<'a> {
    output: &'a Output,
    /// How many before and after those that match.
    context: (usize, usize),
    with_stats: bool,
    ends: Ends,
    /// Only how many there are.
    count: bool,
    /// Whether it is an answer that there are none.
    looks_for: bool,
    /// Threads that decode.
    jobs: Option<NonZero<usize>>,
}

/// With fewer records, other threads aren't worth it; with more threads, those that decode would
/// wait for the one that merges.
const FEW: u64 = 50_000;
const JOBS_MAX: usize = 4;

fn print(
    input: &Input,
    streams: &[merge::Stream],
    filter: &Filter,
    logs: Vec<Log>,
    how: &How<'_>,
) -> Result<u8, String> {
    let Captures {
        files, maps, boots, ..
    } = &input.captures;
    let has_logs = !logs.is_empty();
    let decoder = Decoder::new(files, streams, boots, maps, filter);
    let mut progress = Progress::new("decoding", Unit::Records, true);
    let all = Some(merge::records(streams));
    let decoder = decoder.with_tick(move |done| progress.at(done, all));
    let mut decoder = decoder.with_logs(logs);
    if let Some(columns) = &how.output.columns {
        input.tell_unknown("--columns", columns.arguments());
    }
    if let Some(template) = &how.output.format {
        input.tell_unknown("--format", template.arguments());
    }
    let mut out = Out::new(how.output, how.context, boot::width(boots), how.ends);
    let mut matches = 0u64;
    let threads = threads(how, has_logs, merge::records(streams));
    let others = out.others(boots).filter(|_| threads > 1);
    let mut written = match others {
        Some(printer) => {
            let written = decoder.print(threads, printer, |bytes| out.bytes(bytes));
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
        // Whoever reads has enough.
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => return Ok(input.status),
        Err(e) => return Err(format!("standard output: {e}")),
    }
    let mut status = input.status();
    if how.looks_for && matches == 0 {
        status = status.max(PARTIAL);
    }
    drop(out);
    let undecoded = decoder.undecoded();
    let stats = Accounts {
        files,
        boots,
        streams,
        counts: decoder.counts().copied().collect(),
        shown: decoder.shown(),
        undecoded,
    };
    if stats.counts.iter().any(|c| c.damaged != 0) {
        complain("some records are damaged; they are marked in the output");
        status = status.max(PARTIAL);
    }
    for problem in decoder.log_problems() {
        complain(&problem);
        status = status.max(PARTIAL);
    }
    if undecoded.any() {
        tell_undecoded(undecoded, &input.tables.searched);
        status = status.max(PARTIAL);
    }
    if how.with_stats {
        if let Err(e) = write_stats(how.output.json, &stats) {
            complain(&format!("--stats: {e}"));
        }
    }
    Ok(status)
}

/// How many threads decode.
fn threads(how: &How<'_>, has_logs: bool, records: u64) -> usize {
    if how.count || has_logs {
        return 1;
    }
    how.jobs.map_or_else(
        || match records < FEW {
            true => 1,
            false => thread::available_parallelism().map_or(1, |n| n.get().min(JOBS_MAX)),
        },
        NonZero::get,
    )
}

fn write_stats(as_json: bool, stats: &Accounts<'_>) -> io::Result<()> {
    let mut out = Vec::new();
    if as_json {
        stats.write_json(&mut out);
        io::stdout().write_all(&out)?;
        io::stdout().flush()
    } else {
        stats.write_text(&mut out)?;
        io::stderr().write_all(&out)
    }
}
