// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The command line: from arguments to output, and the exit status.
//!
//! `main.rs` calls [`main`]; everything that decodes is in the other modules of the crate.
//!
//! ```text
//! args/      commands and options
//! report.rs  messages and the exit status
//! time.rs    forms of TIME
//! local_system.rs why a file of this system's BLog can't be read
//! input.rs   opens snapshots and side tables, and reports what is wrong with them
//! session.rs what all commands over records do: open, settle, run, report what is missing
//! extract.rs snapshots out of crash dumps
//! atomic_output.rs output files and directories, which appear when they are complete
//! progress.rs progress, on a terminal
//! pager.rs   a pager on the terminal
//! print.rs   entries to standard output, in all forms
//! show.rs    show: records to standard output
//! follow.rs  show --follow: records as they come
//! record.rs  record: streams or snapshots into a directory
//! poll.rs    waits for input and for signals
//! save.rs    save: one file that any machine can decode
//! convert.rs convert: files for other programs
//! tasks.rs   tasks: what each task did last
//! spans.rs   spans: the times from one record to another
//! count.rs   stats by fields: how many records have the same values
//! stats.rs   stats: records, bytes and time by component, ring and site
//! sites.rs   sites: call sites
//! check.rs   check: whether files add up
//! ```

pub mod args;
mod atomic_output;
mod check;
mod convert;
mod count;
mod extract;
mod follow;
mod input;
pub mod local_system;
pub mod pager;
pub mod poll;
mod print;
mod progress;
mod record;
pub mod report;
mod save;
mod session;
mod show;
mod sites;
mod spans;
mod stats;
mod tasks;
mod time;

use std::{
    io::{self, Write},
    os::unix::process::CommandExt,
    process,
};

use clap::{CommandFactory, FromArgMatches};

use self::{
    args::{as_ours, command_first, grouped, misplaced, moved, replaced, Cli, Command},
    pager::{usage, Pager},
    print::settle_color,
    report::{complain, print_all, Failure, Status},
};
use crate::{blogfmt::format, record::Version, snapshot::VERSIONS, vmcore};

/// Runs the program; returns its exit status.
pub fn main(args: impl IntoIterator<Item = std::ffi::OsString>) -> Status {
    let args = command_first(as_ours(args.into_iter().collect()));
    if let Some((old, new)) = moved(&args) {
        complain(&format!("{old} is a program of its own: use {}", new.join(" ")));
        let error = process::Command::new(new[0]).args(&new[1..]).args(&args[2..]).exec();
        complain(&format!("{}: {error}", new[0]));
        return Status::Failed;
    }
    let (args, hint) = replaced(args);
    if let Some(hint) = hint {
        complain(&hint);
    }
    let cli = grouped().try_get_matches_from(args);
    let cli = match cli.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(e) => return usage(e),
    };
    if cli.utc {
        std::env::set_var("TZ", "UTC");
    }
    if cli.version {
        return print_all(|out| versions(cli.verbose, out)).unwrap_or_else(Failure::tell);
    }
    let command = match cli.command {
        Some(command) => command,
        None => {
            if let Some(why) = cli.show.input.snapshots.iter().find_map(|f| misplaced(f)) {
                complain(&why);
                return Status::Failed;
            }
            Command::Show(Box::new(cli.show))
        }
    };
    settle_color(cli.color);
    let pager = (!cli.no_pager && command.is_long()).then(Pager::start).flatten();
    let result = match &command {
        Command::Show(args) if args.follow => follow::follow(args),
        Command::Show(args) if args.about => save::about(args),
        Command::Show(args) => show::show(args),
        Command::Record(args) => record::record(args),
        Command::Stats(args) => stats::stats(args),
        Command::Sites(args) => sites::sites(args),
        Command::Convert(args) => convert::convert(args),
        Command::Save(args) => save::save(args),
        Command::Tasks(args) => tasks::tasks(args),
        Command::Report(args) => convert::report(args),
        Command::Spans(args) => spans::spans(args),
        Command::Check(args) => check::check(args),
        Command::Completions { shell } => print_all(|out| {
            clap_complete::generate(*shell, &mut Cli::command(), "blog-decode", out);
            Ok(())
        }),
        Command::Man => print_all(|out| man(Cli::command(), out)),
    };
    let status = result.unwrap_or_else(Failure::tell);
    drop(pager);
    status
}

/// The program's version; and `verbose`, those of the files that it reads.
fn versions(verbose: bool, out: &mut Vec<u8>) -> io::Result<()> {
    writeln!(out, "blog-decode {}", env!("CARGO_PKG_VERSION"))?;
    if verbose {
        let (first, last) = (VERSIONS.start(), VERSIONS.end());
        writeln!(out, "snapshot and stream files: {first} to {last}")?;
        writeln!(out, "records and pages: {}", Version::READS)?;
        writeln!(out, "side tables: {}", format::VERSION)?;
        let (first, last) = (vmcore::READS.start(), vmcore::READS.end());
        writeln!(out, "crash dumps: {first} to {last}")?;
    }
    Ok(())
}

/// The man page: that of a program, then those of its commands.
pub fn man(mut command: clap::Command, out: &mut Vec<u8>) -> io::Result<()> {
    command.build();
    let page = clap_mangen::Man::new(command.clone());
    page.render(out)?;
    let is_shown = |c: &&clap::Command| c.get_name() != "help" && !c.is_hide_set();
    for sub in command.get_subcommands().filter(is_shown) {
        let page = clap_mangen::Man::new(sub.clone());
        let name = sub.get_name().to_uppercase();
        writeln!(out, ".SH \"COMMAND {name}\"")?;
        page.render_description_section(out)?;
        if sub.get_name() != "show" {
            page.render_options_section(out)?;
        }
    }
    Ok(())
}
