// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The command line: from arguments to output, and the exit status.
//!
//! `main.rs` calls [`main`]; everything that decodes is in the other modules of the crate.
//!
//! ```text
//! args/      commands and options
//! time.rs    forms of TIME
//! here.rs    why a file of this system's BLog can't be read
//! input.rs   opens snapshots and side tables, and reports what is wrong with them
//! session.rs what all commands over records do: open, settle, run, report what is missing
//! console.rs console: last words in kernel logs
//! extract.rs extract, and --vmcore of others: snapshots out of crash dumps
//! new.rs     output files and directories, which appear when they are complete
//! progress.rs progress, on a terminal
//! pager.rs   a pager on the terminal
//! print.rs   entries to standard output, in all forms
//! show.rs    show, diff: records to standard output
//! follow.rs  follow: records as they come
//! control.rs control: switches components and call sites
//! probe.rs   probe: records of functions and tracepoints
//! record.rs  record: streams or snapshots into a directory
//! poll.rs    waits for input and for signals
//! convert.rs convert: files for other programs
//! tasks.rs   tasks: what each task did last
//! spans.rs   spans: the times from one record to another
//! count.rs   stats by fields: how many records have the same values
//! gaps.rs    gaps: where threads were silent for long
//! stats.rs   stats: records, bytes and time by component, ring and site
//! sites.rs   sites: call sites
//! check.rs   check: whether files add up
//! ```

pub mod args;
pub mod check;
pub mod console;
pub mod control;
pub mod convert;
pub mod count;
pub mod extract;
pub mod follow;
pub mod gaps;
pub mod here;
pub mod input;
pub mod new;
pub mod pager;
pub mod poll;
pub mod print;
pub mod probe;
pub mod progress;
pub mod record;
pub mod session;
pub mod show;
pub mod sites;
pub mod spans;
pub mod stats;
pub mod tasks;
pub mod time;

use std::io::Write;

use clap::{CommandFactory, Parser};

use self::{
    args::{command_first, misplaced, Cli, Command},
    pager::Pager,
};
use crate::{
    blogfmt::format, error::Error, output::text::is_unsafe, record::Version, snapshot::VERSIONS,
    vmcore,
};

/// Everything was decoded.
pub const OK: u8 = 0;
/// Something is damaged, missing or could not be decoded; the rest was printed.
pub const PARTIAL: u8 = 1;
/// Nothing could be decoded, or wrong usage.
pub const FAILED: u8 = 2;

/// Why a command has no result; nothing, if that was already printed.
#[derive(Debug)]
pub struct Failed(Option<String>);

impl From<String> for Failed {
    fn from(why: String) -> Self {
        Self(Some(why))
    }
}

impl From<Error> for Failed {
    fn from(why: Error) -> Self {
        Self(Some(why.into()))
    }
}

impl From<&str> for Failed {
    fn from(why: &str) -> Self {
        Self(Some(why.into()))
    }
}

/// Runs the program; returns its exit status.
pub fn main(args: impl IntoIterator<Item = std::ffi::OsString>) -> u8 {
    let args = command_first(args.into_iter().collect());
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(e) => {
            // Also --help and --version, to standard output.
            let printed = e.print();
            if e.use_stderr() {
                return FAILED;
            }
            return written(printed).unwrap_or_else(|why| {
                complain(&why);
                FAILED
            });
        }
    };
    if cli.utc {
        std::env::set_var("TZ", "UTC");
    }
    let command = match cli.command {
        Some(command) => command,
        None => {
            if let Some(why) = cli.show.input.snapshots.iter().find_map(|f| misplaced(f)) {
                complain(&why);
                return FAILED;
            }
            Command::Show(Box::new(cli.show))
        }
    };
    let mut command = match command {
        Command::Show(show) if show.follow => Command::Follow(Box::new((*show).into())),
        command => command,
    };
    let pager = match &mut command {
        Command::Show(args) => Pager::start(args),
        _ => None,
    };
    let result = match &command {
        Command::Show(args) => show::show(args),
        Command::Follow(args) => follow::follow(args),
        Command::Record(args) => record::record(args),
        Command::Control(args) => control::control(args),
        Command::Probe(args) => probe::probe(args),
        Command::Diff(args) => show::diff(args),
        Command::Stats(args) => stats::stats(args),
        Command::Sites(args) => sites::sites(args),
        Command::Convert(args) => convert::convert(args),
        Command::Tasks(args) => tasks::tasks(args),
        Command::Gaps(args) => gaps::gaps(args),
        Command::Spans(args) => spans::spans(args),
        Command::Check(args) => check::check(args),
        Command::Console(args) => console::console(args),
        Command::Extract(args) => extract::extract(args).map_err(Failed::from),
        Command::Completions { shell } => print_all(|out| {
            clap_complete::generate(*shell, &mut Cli::command(), "blog-decode", out);
            Ok(())
        }),
        Command::Man => print_all(man),
        Command::Versions => print_all(|out| {
            let (first, last) = (VERSIONS.start(), VERSIONS.end());
            writeln!(out, "snapshot and stream files: {first} to {last}")?;
            writeln!(out, "records and pages: {}", Version::READS)?;
            writeln!(out, "side tables: {}", format::VERSION)?;
            let [first, last] = vmcore::READS;
            writeln!(out, "crash dumps: {first} and {last}")
        }),
    };
    let status = result.unwrap_or_else(|Failed(why)| {
        if let Some(why) = why {
            complain(&why);
        }
        FAILED
    });
    drop(pager);
    status
}

/// The man page: that of the program, then those of its commands.
fn man(out: &mut Vec<u8>) -> std::io::Result<()> {
    let mut command = Cli::command();
    command.build();
    let page = clap_mangen::Man::new(command.clone());
    page.render(out)?;
    for sub in command.get_subcommands().filter(|c| c.get_name() != "help") {
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

/// Prints a message on standard error.
pub(crate) fn complain(what: &str) {
    progress::clear();
    // Names in it can come from a hostile file.
    let what: String =
        without_number(what).chars().map(|c| if is_unsafe(c) { '?' } else { c }).collect();
    // In one write: what else goes to that file must not come in between.
    let line = format!("blog-decode: {what}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// The text of a system error without the number that Rust appends.
fn without_number(what: &str) -> String {
    let mut parts = what.split(" (os error ");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(')') {
            Some((number, rest)) if number.bytes().all(|b| b.is_ascii_digit()) => {
                text.push_str(rest);
            }
            _ => text.extend([" (os error ", part]),
        }
    }
    text
}

/// Prints what `fill` makes to standard output.
fn print_all(fill: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> Result<u8, Failed> {
    let mut fill = Some(fill);
    print_each(|out| match fill.take() {
        Some(fill) => fill(out).map(|()| false),
        None => Ok(false),
    })
}

/// Prints piece by piece what `more` makes, until it says that this was all.
fn print_each(more: impl FnMut(&mut Vec<u8>) -> std::io::Result<bool>) -> Result<u8, Failed> {
    let (mut more, mut out) = (more, Vec::new());
    let mut stdout = std::io::stdout().lock();
    loop {
        out.clear();
        let goes_on = more(&mut out).map_err(|e| e.to_string())?;
        match stdout.write_all(&out).and_then(|()| stdout.flush()) {
            Ok(()) if goes_on => {}
            result => return Ok(written(result)?),
        }
    }
}

/// The result of writing to standard output.
fn written(result: std::io::Result<()>) -> Result<u8, String> {
    match result {
        // The reader has enough.
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(format!("standard output: {e}"))
        }
        _ => Ok(OK),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_no_numbers() {
        for (what, told) in [
            ("x: No such file (os error 2)", "x: No such file"),
            ("a (os error 13), b (os error 2): c", "a, b: c"),
            ("(os error", "(os error"),
            ("x (os error y)", "x (os error y)"),
        ] {
            assert_eq!(without_number(what), told);
        }
    }
}
