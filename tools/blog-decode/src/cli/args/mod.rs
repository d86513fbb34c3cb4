// SPDX-License-Identifier: GPL-2.0

//! All commands and options, each defined once, with its help. The man page and the shells'
//! completions are made from here too.
//!
//! Here is the program itself and the list of its commands; beside it: what commands share
//! (`input`, `filters`, `output`), and each command's own options (`saved` for those of files,
//! `live` for those of a running system).

mod filters;
mod input;
mod live;
mod output;
mod saved;

use clap::{
    Parser,
    Subcommand, //
};

pub use self::{
    filters::{
        Around,
        Filters, //
    },
    input::{
        Input,
        Logs,
        TablePaths, //
    },
    live::{
        Control,
        Follow,
        Record, //
    },
    output::{
        Color,
        Form,
        Look,
        Output,
        TimeArg, //
    },
    saved::{
        Convert,
        Diff,
        Extract,
        Gaps,
        Show,
        Sites,
        Stats,
        Tasks, //
    }, //
};

/// Where the kernel has the files of BLog.
pub const DEBUGFS: &str = "/sys/kernel/debug/blog";

const AFTER_HELP: &str = "\
Side tables are found by the build ID of vmlinux and each module: first in what
--sidetable names (.blogfmt files, vmlinux, .ko files, or directories of them),
then in /lib/modules/*/blog and /usr/lib/debug/.build-id, then by debuginfod if
DEBUGINFOD_URLS is set. Images may be packed by gzip, zstd or xz. A table of another
build is refused. Records without a table are printed in hex, with the build ID that
is needed.

All filters must agree. TIME of --since and --until is one of:
  12.5                   seconds since boot, as in dmesg
  -30, -5m, -1h30m       so long before the snapshot was taken
  2026-11-21T10:13:09Z   date and time, UTC; with +02:00 instead of Z, of that offset;
                         without both, of the local time zone
  10:13                  on the day on which the snapshot was taken
  today, yesterday       that day and the one before; also 'yesterday 22:00'
  @1795255989            seconds since 1970

CONDITION of --where compares fields (component level context cpu pid tgid comm site
image module file line format message, and arguments as arg.NAME or arg.0) by
== != < <= > >= =~ !~, combined by && || ! and parentheses:
  arg.bytes >= 64k && level <= warn
  arg.e == EIO || message =~ 'time(d )?out'
A comparison with what a record doesn't have is false.

Lost records are shown where they are missing, as lines with '-----' (with --json:
objects of type \"lost\"). That the oldest records were overwritten is no error.

Examples:
  blog-decode snapshot.bin
  blog-decode --component rnull --level warn -l snapshot.bin
  blog-decode --sidetable vmlinux --sidetable rnull.ko snapshot.bin
  blog-decode --time wall --since -10 --grep 'errno|timeout' snapshot.bin
  blog-decode --where 'arg.bytes > 64k' -C 3 snapshot.bin
  blog-decode --format '{wall} {comm}[{pid}] {arg.sector}' snapshot.bin
  blog-decode --json --stats snapshot.bin | jq 'select(.type == \"ring\")'
  blog-decode --vmcore /var/crash/dump --component rnull
  ssh box cat /sys/kernel/debug/blog/snapshot | blog-decode -

Exit status:
  0  everything was decoded
  1  a partial result: damage, records without a side table, or a side table that
     was named and cannot be used; what it was is on standard error
  2  nothing could be decoded, or wrong usage";

/// Decode BLog snapshots to text, in the order of time.
#[derive(Parser, Debug)]
#[command(
    name = "blog-decode",
    version,
    about,
    after_help = AFTER_HELP,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_help_subcommand = true
)]
pub struct Cli {
    /// What to do; without it, the records are shown.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Options of `show`.
    #[command(flatten)]
    pub show: Show,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Print records in the order of time: what is done without a command
    Show(Box<Show>),
    /// Print records of a live system as they come, until it is interrupted
    Follow(Box<Follow>),
    /// Write what this system logs into a directory that can be decoded anywhere
    Record(Record),
    /// Switch components and call sites of this system, or show how they are switched
    Control(Control),
    /// Count records, bytes and losses: by component, ring and call site, with rates
    Stats(Stats),
    /// List call sites, and how many records each has
    Sites(Sites),
    /// Print what a snapshot has that an earlier one had not
    Diff(Box<Diff>),
    /// Write records into a trace for another program
    Convert(Box<Convert>),
    /// Print what each task did last, the one that is likely stuck first
    Tasks(Tasks),
    /// Print where threads were silent for the longest, and between which records
    Gaps(Box<Gaps>),
    /// Make a snapshot out of a crash dump
    Extract(Extract),
    /// Print a shell's completions
    Completions {
        /// The shell
        #[arg(value_name = "SHELL")]
        shell: clap_complete::Shell,
    },
    /// Print the man page
    Man,
    /// Print which versions of each format this program reads
    Versions,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn options_are_consistent() {
        Cli::command().debug_assert();
    }
}
