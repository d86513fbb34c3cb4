// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Commands for files: snapshots, side tables, crash dumps.

use std::path::PathBuf;

use clap::Args;

use super::{
    filters::parse_level, Around, Filters, Form, InputArgs, Jobs, Logs, Look, Output, Sources,
    SpanArgs, TablePaths,
};
use crate::filter::{parse_regex, SitePattern};

/// Options of `show`.
#[derive(Args, Debug)]
pub struct Show {
    #[command(flatten)]
    pub input: InputArgs,

    #[command(flatten)]
    pub filters: Filters,

    #[command(flatten)]
    pub around: Around,

    #[command(flatten)]
    pub logs: Logs,

    #[command(flatten)]
    pub output: Output,

    /// Only the last N lines; with --follow, the last N lines in the rings at the start
    #[arg(
        short = 'n',
        long,
        alias = "tail",
        value_name = "N",
        conflicts_with_all = ["after", "before", "around"]
    )]
    pub last: Option<usize>,

    /// The last line first; holds all of them in memory
    #[arg(short, long, conflicts_with_all = ["after", "before", "around"])]
    pub reverse: bool,

    /// Only print how many records there are
    #[arg(long, conflicts_with_all = ["json", "csv", "format", "last", "reverse"])]
    pub count: bool,

    /// Go on with records as they come, until it is interrupted: of this system, or of stream files
    /// and pipes with their content
    #[arg(
        short,
        long,
        conflicts_with_all = [
            "vmcore", "host", "dmesg", "ftrace", "stats", "reverse", "count", "newer_than"
        ]
    )]
    pub follow: bool,

    /// With --follow: only records that are logged from now on
    #[arg(long, requires = "follow", conflicts_with_all = ["since", "last"])]
    pub new: bool,

    /// Only records and losses that came after those of this snapshot, stream, directory or dump, of
    /// the same boot
    #[arg(long, value_name = "OLD", conflicts_with_all = ["host", "dmesg", "ftrace", "stats"])]
    pub newer_than: Option<PathBuf>,

    /// Print what a file of "save" has besides records: versions, settings, side tables
    #[arg(long, conflicts_with_all = ["follow", "newer_than", "count", "json", "csv", "format"])]
    pub about: bool,

    /// At the end, print an object for each ring, with the records decoded and lost
    #[arg(long, requires = "json")]
    pub stats: bool,

    #[command(flatten)]
    pub jobs: Jobs,
}

/// Options of `sites`.
#[derive(Args, Debug)]
pub struct Sites {
    /// Snapshots, crash dumps, side tables or ELF images; sites of a snapshot are listed with their
    /// records. The default is this system's log
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,

    #[command(flatten)]
    pub sources: Sources,

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

/// What becomes of records in a file of another form.
#[derive(Args, Debug)]
pub struct Converted {
    /// Replace the file, if it exists
    #[arg(long)]
    pub force: bool,

    #[command(flatten)]
    pub spans: SpanArgs,

    #[command(flatten)]
    pub filters: Filters,

    #[command(flatten)]
    pub logs: Logs,

    #[command(flatten)]
    pub jobs: Jobs,
}

/// Options of `convert`.
#[derive(Args, Debug)]
#[command(after_help = CONVERT_HELP)]
pub struct Convert {
    #[command(flatten)]
    pub input: InputArgs,

    /// The format
    #[arg(long, value_name = "FORM")]
    pub to: Form,

    /// The file or directory to write; it must not exist yet
    #[arg(short, long, value_name = "PATH")]
    pub output: PathBuf,

    #[command(flatten)]
    pub what: Converted,
}

const CONVERT_HELP: &str = "\
Examples:
  blog-decode convert --to perfetto -o trace.perfetto --vmcore /var/crash/dump
  blog-decode convert --to ctf -o trace snapshot && babeltrace2 trace
  blog-decode convert --to snapshot -o snapshot /var/crash/dump.202611211013

Exit status:
  0  everything was converted
  1  a partial result, or no record matches; standard error has more
  2  nothing was written, or wrong usage";

/// Options of `report`.
#[derive(Args, Debug)]
#[command(after_help = REPORT_HELP)]
pub struct Report {
    #[command(flatten)]
    pub input: InputArgs,

    /// The file to write; it must not exist yet
    #[arg(short, long, value_name = "PATH", default_value = "report.html")]
    pub output: PathBuf,

    #[command(flatten)]
    pub what: Converted,
}

const REPORT_HELP: &str = "\
The report needs a browser, and no network. It opens with what tasks reports: findings, and who
waits for whom, with each task's last records up to the end of the snapshot. Filters choose the
records below that; with --boot they also choose the boots.

Examples:
  blog-decode report snapshot
  blog-decode report -o r.html -w 'arg.bytes >= 64k || level <= warn' snapshot
  blog-decode report -o r.html --span 'queue *' 'complete *' -k arg.tag snapshot
  blog-decode report --vmcore /var/crash/dump

Exit status:
  0  everything is in the report
  1  a partial result, or no record matches; standard error has more
  2  nothing was written, or wrong usage";

/// Options of `save`.
#[derive(Args, Debug)]
#[command(after_help = SAVE_HELP)]
pub struct Save {
    #[command(flatten)]
    pub input: InputArgs,

    /// The file to write; it must not exist yet. - is standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,

    /// Replace the file, if it exists
    #[arg(long)]
    pub force: bool,

    /// Leave out the kernel log, the name of the machine, and private arguments
    #[arg(long)]
    pub redact: bool,

    /// Add this kernel log: the output of dmesg, or a console (repeatable)
    #[arg(long, value_name = "FILE", conflicts_with = "redact")]
    pub dmesg: Vec<PathBuf>,
}

const SAVE_HELP: &str = "\
The file has all records of its sources, and the side tables of their images, so any machine can
decode it, without other files. From this system, it also has the kernel log, the settings of
BLog, and versions: \"show --about FILE\" prints these, \"show --dmesg FILE FILE\" puts the kernel
log between the records. It is packed by gzip, and only its owner may read it. Standard error has
what a reader of the file can see.

With --redact, the text of a private argument becomes as many asterisks; other private arguments,
and their hashes, become <private>. This needs all side tables.

Examples:
  sudo blog-decode save -o box.blog
  blog-decode save --dmesg dmesg.202611211013 -o crash.blog /var/crash/dump.202611211013
  blog-decode save --redact -o redacted.blog box.blog
  sudo blog-decode save -o last.blog /sys/kernel/tracing/blog/previous/snapshot
  ssh box sudo blog-decode save -o - > box.blog

Exit status:
  0  everything was saved
  1  records lack their side tables, or a source is damaged; standard error has more
  2  nothing was written, or wrong usage";

/// Options of `tasks`.
#[derive(Args, Debug)]
#[command(after_help = TASKS_HELP)]
pub struct Tasks {
    #[command(flatten)]
    pub input: InputArgs,

    /// Only tasks that are blocked (D) or wait for a lock, unless --running is given too
    #[arg(long)]
    pub blocked: bool,

    /// Only tasks that are running on a CPU, unless --blocked is given too
    #[arg(long)]
    pub running: bool,

    /// All tasks that have logged, also those that sleep or have ended
    #[arg(long, conflicts_with_all = ["blocked", "running"])]
    pub all: bool,

    /// Show N records of each task and component
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    pub records: usize,

    #[command(flatten)]
    pub filters: Filters,

    #[command(flatten)]
    pub look: Look,
}

const TASKS_HELP: &str = "\
First come findings, the worst one first, and who waits for whom: below each task those that wait
for a lock that it holds. Then come, with their last records, the tasks that were running, blocked
(D), waiting for a lock or for a CPU when the machine stopped, or when the snapshot was taken. In
this order:
  1. the task that was running where the machine crashed
  2. tasks that hold a lock for which others wait, and wait for none themselves, or for each
     other in a deadlock
  3. running and blocked tasks, the one with the oldest last record first: a task that
     makes progress logs, a stuck one doesn't
  4. tasks that wait for a CPU, in the same order
  5. with --all, --pid or --comm: sleeping tasks and tasks that have ended, the latest record first
Each task has its last records of each component, the newest last; each line shows how long
before the end it was logged. A running task also has the records of interrupts on its CPU.

--pid and --comm choose tasks, whatever they were doing. The other filters choose the records that
are shown, and leave out tasks that have none of these.

A task began to wait after its last record: how long it has waited is known up to that. Of a
semaphore only the last taker is known, and of several readers of an rwsem one; where a finding
names these, it reports that.

Examples:
  blog-decode tasks --vmcore /var/crash/dump.202611211013
  blog-decode tasks --blocked -n 3 snapshot
  blog-decode tasks --pid 4711 --component rnull -l snapshot
  blog-decode tasks --all -w 'arg.ino == 7' host1.snap host2.snap
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

    #[command(flatten)]
    pub sources: Sources,

    /// Assert that nothing was logged while the files were made: then missing and surplus records
    /// count as errors
    #[arg(long)]
    pub still: bool,

    /// Print JSON, one object a line
    #[arg(short, long)]
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
