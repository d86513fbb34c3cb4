// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Commands for files: snapshots, side tables, crash dumps.

use std::path::PathBuf;

use clap::Args;

use super::{
    filters::{parse_level, parse_pid},
    place, Around, Filters, Follow, Form, Input, Jobs, Logs, Look, Output, SpanArgs, TablePaths,
};
use crate::filter::{parse_regex, SitePattern};

/// Options of `show`.
#[derive(Args, Debug)]
pub struct Show {
    #[command(flatten)]
    pub input: Input,

    #[command(flatten)]
    pub filters: Filters,

    #[command(flatten)]
    pub around: Around,

    #[command(flatten)]
    pub logs: Logs,

    #[command(flatten)]
    pub output: Output,

    /// Only the last N lines; with --follow, the last N lines in the rings at the start
    #[arg(short = 'n', long, value_name = "N", conflicts_with_all = ["after", "before", "around"])]
    pub last: Option<usize>,

    /// The last line first; holds all of them in memory
    #[arg(short, long, conflicts_with_all = ["after", "before", "around"])]
    pub reverse: bool,

    /// Only print how many records there are
    #[arg(long, conflicts_with_all = ["json", "csv", "format", "last", "reverse"])]
    pub count: bool,

    /// Go on with new records, as the command follow does
    #[arg(
        short,
        long,
        conflicts_with_all = [
            "vmcore", "host", "dmesg", "ftrace", "stats", "reverse", "count"
        ]
    )]
    pub follow: bool,

    /// Don't start a pager: on a terminal, $PAGER or less shows the records
    #[arg(long)]
    pub no_pager: bool,

    /// At the end, print an object for each ring, with the records decoded and lost
    #[arg(long, requires = "json")]
    pub stats: bool,

    #[command(flatten)]
    pub jobs: Jobs,
}

impl From<Show> for Follow {
    fn from(show: Show) -> Self {
        Self {
            streams: show.input.snapshots,
            blog: show.input.blog,
            new: false,
            last: show.last,
            tables: show.input.tables,
            filters: show.filters,
            around: show.around,
            output: show.output,
        }
    }
}

/// Options of `sites`.
#[derive(Args, Debug)]
pub struct Sites {
    /// Snapshots, side tables or ELF images; sites of a snapshot are listed with their records
    #[arg(required_unless_present = "vmcore", value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Crash dump, from which a snapshot is extracted first (repeatable)
    #[arg(long, value_name = "FILE")]
    pub vmcore: Vec<PathBuf>,

    #[command(flatten)]
    pub tables: TablePaths,

    /// Only sites of this level and of more important ones
    #[arg(long, value_name = "LEVEL", value_parser = parse_level)]
    pub level: Option<u8>,

    /// Only these call sites: FILE, FILE:LINE, FILE:FIRST-LAST or a site id (repeatable)
    #[arg(long, value_name = "SITE", value_parser = SitePattern::parse)]
    pub site: Vec<SitePattern>,

    /// Only format strings that match this regular expression
    #[arg(short, long, value_name = "REGEX", value_parser = parse_regex)]
    pub grep: Option<regex::bytes::Regex>,

    /// Only sites that have records in a snapshot
    #[arg(long)]
    pub used: bool,

    /// Print JSON, one object a line
    #[arg(short, long)]
    pub json: bool,
}

/// Options of `console`.
#[derive(Args, Debug)]
#[command(after_help = CONSOLE_HELP)]
pub struct Console {
    /// Texts: a console, the output of dmesg or journalctl, files of pstore, what a reader of QR codes
    /// makes of the screen after a panic; - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    #[command(flatten)]
    pub tables: TablePaths,

    #[command(flatten)]
    pub filters: Filters,

    #[command(flatten)]
    pub output: Output,
}

const CONSOLE_HELP: &str = "\
The lines are found in any text: other lines between them, timestamps, colours and broken
lines do no harm. Missing lines are reported.

Examples:
  blog-decode console /var/lib/systemd/pstore/*/dmesg.txt
  journalctl -k -b -1 | blog-decode console -
  zbarimg --raw -q photo.png | blog-decode console -

Exit status:
  0  all lines of all events are there, and were decoded
  1  a partial result, or no record matches; standard error has more
  2  there are no such lines, or wrong usage";

/// Options of `diff`.
#[derive(Args, Debug)]
pub struct Diff {
    /// The earlier snapshot
    #[arg(value_name = "OLD", required_unless_present = "vmcore")]
    pub old: Option<PathBuf>,

    /// The later snapshot
    #[arg(value_name = "NEW", required_unless_present = "vmcore")]
    pub new: Option<PathBuf>,

    /// Crash dump instead of NEW; given twice, dumps instead of OLD and NEW
    #[arg(long, value_name = "FILE")]
    pub vmcore: Vec<PathBuf>,

    #[command(flatten)]
    pub tables: TablePaths,

    #[command(flatten)]
    pub filters: Filters,

    #[command(flatten)]
    pub output: Output,
}

/// Options of `convert`.
#[derive(Args, Debug)]
#[command(after_help = CONVERT_HELP)]
pub struct Convert {
    #[command(flatten)]
    pub input: Input,

    /// The format
    #[arg(long, value_name = "FORM")]
    pub to: Form,

    /// The file or directory to write; it must not exist yet
    #[arg(short, long, value_name = "PATH")]
    pub output: PathBuf,

    #[command(flatten)]
    pub spans: SpanArgs,

    #[command(flatten)]
    pub filters: Filters,

    #[command(flatten)]
    pub logs: Logs,

    #[command(flatten)]
    pub jobs: Jobs,
}

const CONVERT_HELP: &str = "\
Examples:
  blog-decode convert --to html -o report.html snapshot
  blog-decode convert --to html -o r.html -w 'arg.bytes >= 64k || level <= warn' snapshot
  blog-decode convert --to html -o r.html --span 'queue *' 'complete *' -k arg.tag snapshot
  blog-decode convert --to perfetto -o trace.perfetto --vmcore /var/crash/dump
  blog-decode convert --to ctf -o trace snapshot && babeltrace2 trace

Exit status:
  0  everything was converted
  1  a partial result, or no record matches; standard error has more
  2  nothing was written, or wrong usage";

/// Options of `tasks`.
#[derive(Args, Debug)]
#[command(after_help = TASKS_HELP)]
pub struct Tasks {
    #[command(flatten)]
    pub input: Input,

    /// Only tasks that are blocked (D), unless --running is given too
    #[arg(long)]
    pub blocked: bool,

    /// Only tasks that are running on a CPU, unless --blocked is given too
    #[arg(long)]
    pub running: bool,

    /// All tasks that have logged, also those that sleep or have ended
    #[arg(long, conflicts_with_all = ["blocked", "running"])]
    pub all: bool,

    /// Only these threads or processes, whatever they are doing (repeatable, or comma-separated)
    #[arg(short, long, value_name = "PID", value_delimiter = ',', value_parser = parse_pid)]
    pub pid: Vec<i32>,

    /// Only records of these components (repeatable, or comma-separated)
    #[arg(short, long, value_name = "NAME", value_delimiter = ',')]
    pub component: Vec<String>,

    /// Show N records of each task and component
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    pub records: usize,

    #[command(flatten)]
    pub look: Look,
}

const TASKS_HELP: &str = "\
Without options, shows tasks that were running, blocked (D) or waiting for a CPU when the
machine stopped, or when the snapshot was taken. In this order:
  1. the task that was running where the machine crashed
  2. tasks that hold a lock for which others wait, and wait for none themselves, or for each
     other in a deadlock
  3. running and blocked tasks, the one with the oldest last record first: a task that
     makes progress logs, a stuck one doesn't
  4. tasks that wait for a CPU, in the same order
  5. with --all or --pid: sleeping tasks and tasks that have ended, the latest record first
A task that waits for a lock is shown with the lock's holder, the lock that the holder waits for,
and so on.
Each task has its last records of each component, the newest last; each line shows how long
before the end it was logged. A running task also has the records of interrupts on its CPU.

Examples:
  blog-decode tasks --vmcore /var/crash/dump.202611211013
  blog-decode tasks --blocked -n 3 snapshot
  blog-decode tasks --pid 4711 --component rnull -l snapshot
  blog-decode tasks --json snapshot | jq -r 'select(.type == \"task\") | .comm'

Exit status:
  0  everything was decoded
  1  a partial result, or no task matches; standard error has more
  2  nothing could be decoded, or wrong usage";

/// Options of `check`.
#[derive(Args, Debug)]
#[command(after_help = CHECK_HELP)]
pub struct Check {
    /// Snapshot files, or copies of streams; - is standard input. The default is this system's log
    #[arg(value_name = "FILE")]
    pub snapshots: Vec<PathBuf>,

    /// Directory of this system's BLog files, if not /sys/kernel/tracing/blog or
    /// /sys/kernel/debug/blog
    #[arg(long, value_name = "DIR", default_value_os_t = place(), hide_default_value = true)]
    pub blog: PathBuf,

    /// Crash dump, from which a snapshot is extracted first (repeatable)
    #[arg(long, value_name = "FILE")]
    pub vmcore: Vec<PathBuf>,

    /// Assert that nothing was logged while the files were made: then missing and surplus records
    /// count as errors
    #[arg(long)]
    pub still: bool,

    /// Print JSON, one object a line
    #[arg(long)]
    pub json: bool,
}

const CHECK_HELP: &str = "\
Each file is checked by itself, without side tables. For each component: how many rings it
has; how many records they have taken, which are decoded, overwritten (or cleared), or missing
for another reason; how many records are gone with rings that another task has got since; and
how many were lost, so that no ring has taken them. Taken, gone and lost records together are
all log calls.

For each ring, check compares the counts of the ring, of its pages and of the records in them.
Times must not go back, ordinals must be in order, and nothing may be there twice. A line for
each contradiction has the file, the ring, what is wrong, and what to do.

Examples:
  blog-decode check snapshot
  blog-decode check --json *.snap
  blog-decode check --still --vmcore /var/crash/dump.202611211013

Exit status:
  0  all files add up
  1  a file contradicts itself, is damaged, or can't be read
  2  no file can be read, or wrong usage";

/// Options of `extract`.
#[derive(Args, Debug)]
#[command(after_help = EXTRACT_HELP)]
pub struct Extract {
    /// The crash dump: ELF, or as makedumpfile or QEMU write it (repeatable: parts of one dump)
    #[arg(long, value_name = "FILE", required = true)]
    pub vmcore: Vec<PathBuf>,

    /// The snapshot to write; it must not exist yet
    #[arg(short, long, value_name = "PATH")]
    pub output: PathBuf,
}

const EXTRACT_HELP: &str = "\
The dump must contain VMCOREINFO: kdump writes it, QEMU does if the guest has -device
vmcoreinfo. extract needs neither vmlinux nor DWARF. Standard error names what is damaged or
missing in the dump; everything else is in the snapshot.

Examples:
  blog-decode extract --vmcore /var/crash/dump.202611211013 -o snapshot
  blog-decode tasks --blocked snapshot

Exit status:
  0  everything that BLog held is in the snapshot
  1  a partial result: parts are damaged, or missing in the dump
  2  no snapshot was written";
