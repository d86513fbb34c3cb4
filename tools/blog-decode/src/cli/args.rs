// SPDX-License-Identifier: GPL-2.0

//! All commands and options, each defined once, with its help. The man page and the shells'
//! completions are made from here too.

use std::{
    path::PathBuf,
    time::Duration, //
};

use clap::{
    Args,
    Parser,
    Subcommand,
    ValueEnum, //
};
use regex::bytes::RegexBuilder;

use super::time::parse_time;
use crate::{
    expr::Expr,
    filter::{
        parse_range,
        Filter,
        Instant,
        SitePattern, //
    },
    output::{
        template::Template,
        Time, //
    },
    wire::record::{
        Context,
        Level, //
    },
};

/// Where the kernel has the files of BLog.
pub const DEBUGFS: &str = "/sys/kernel/debug/blog";

const AFTER_HELP: &str = "\
Side tables are found by the build ID of vmlinux and each module: first in what
--sidetable names (.blogfmt files, vmlinux, .ko files, or directories of them),
then in /lib/modules/*/blog. A table of another build is refused. Records without
a table are printed in hex, with the build ID that is needed.

All filters must agree. TIME of --since and --until is one of:
  12.5                   seconds since boot, as in dmesg
  -30                    30 seconds before the snapshot was taken
  2026-11-21T10:13:09    date and time, UTC (fractions and a final Z are allowed)
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

/// Files to read.
#[derive(Args, Debug)]
pub struct Input {
    /// Snapshot files; - is standard input. Several are merged.
    #[arg(required_unless_present_any = ["vmcore", "host"], value_name = "SNAPSHOT")]
    pub snapshots: Vec<PathBuf>,

    /// Crash dump, of which a snapshot is made first (repeatable)
    #[arg(long, value_name = "FILE")]
    pub vmcore: Vec<PathBuf>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub tables: TablePaths,

    /// Name of the machine that a file is from, instead of the one in the file (repeatable)
    #[arg(long, value_name = "NAME=FILE", value_parser = parse_named)]
    pub host: Vec<(String, PathBuf)>,
}

/// Other logs, which are put between the records.
#[derive(Args, Debug, Default)]
pub struct Logs {
    /// Also this kernel log: the output of dmesg, or a console (repeatable)
    #[arg(long, value_name = "[HOST=]FILE")]
    pub dmesg: Vec<PathBuf>,

    /// Also this ftrace log: the file trace, or the output of trace-cmd report (repeatable)
    #[arg(long, value_name = "[HOST=]FILE")]
    pub ftrace: Vec<PathBuf>,
}

/// Where side tables are.
#[derive(Args, Clone, Debug)]
pub struct TablePaths {
    /// Side table, ELF image, or directory of them (repeatable)
    #[arg(short, long, value_name = "PATH")]
    pub sidetable: Vec<PathBuf>,

    /// Where installed side tables are searched, as DIR/*/blog
    #[arg(long, value_name = "DIR", default_value = "/lib/modules")]
    pub modules: PathBuf,
}

/// Which records.
#[derive(Args, Debug)]
#[command(next_help_heading = "Filters")]
pub struct Filters {
    /// Only these components (repeatable, or comma-separated)
    #[arg(short, long, value_name = "NAME", value_delimiter = ',')]
    component: Vec<String>,

    /// Only this level and more important ones: err, warn, info, debug, trace, or 1 to 5
    #[arg(long, value_name = "LEVEL", value_parser = parse_level)]
    level: Option<u8>,

    /// Only these call sites: FILE, FILE:LINE, FILE:FIRST-LAST or a site id (repeatable)
    #[arg(long, value_name = "SITE", value_parser = SitePattern::parse)]
    site: Vec<SitePattern>,

    /// Only these threads or processes (repeatable, or comma-separated)
    #[arg(short, long, value_name = "PID", value_delimiter = ',')]
    pid: Vec<i32>,

    /// Only tasks of these names; * stands for anything (repeatable, or comma-separated)
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    comm: Vec<String>,

    /// Only interrupts on these CPUs: 3 or 0-3 (repeatable, or comma-separated)
    #[arg(long, value_name = "CPU", value_delimiter = ',', value_parser = parse_range)]
    cpu: Vec<(u32, u32)>,

    /// Only these contexts: task, softirq, hardirq, nmi (repeatable, or comma-separated)
    #[arg(long, value_name = "CONTEXT", value_delimiter = ',', value_parser = parse_context)]
    context: Vec<Context>,

    /// Only from this time on
    #[arg(long, value_name = "TIME", value_parser = parse_time, allow_hyphen_values = true)]
    since: Option<Instant>,

    /// Only up to this time
    #[arg(long, value_name = "TIME", value_parser = parse_time, allow_hyphen_values = true)]
    until: Option<Instant>,

    /// Only messages that match this regular expression
    #[arg(short, long, value_name = "REGEX")]
    grep: Option<String>,

    /// Only records for which this is true
    #[arg(short = 'w', long = "where", value_name = "CONDITION")]
    condition: Option<String>,
}

/// What else is printed around records that are chosen.
#[derive(Args, Debug)]
#[command(next_help_heading = "Filters")]
pub struct Around {
    /// Also print this many records after each that --grep and --where choose
    #[arg(short = 'A', long, value_name = "N", help_heading = "Filters")]
    pub after: Option<usize>,

    /// Also print this many records before each that --grep and --where choose
    #[arg(short = 'B', long, value_name = "N", help_heading = "Filters")]
    pub before: Option<usize>,

    /// Also print this many records around each that --grep and --where choose
    #[arg(short = 'C', long, value_name = "N", help_heading = "Filters")]
    pub around: Option<usize>,
}

impl Around {
    /// How many records before and after those that match.
    pub fn numbers(&self) -> (usize, usize) {
        let around = self.around.unwrap_or(0);
        (self.before.unwrap_or(around), self.after.unwrap_or(around))
    }
}

/// How lines look.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
pub struct Output {
    /// Clock of the times that are shown
    #[arg(short, long, value_name = "CLOCK", default_value = "boot")]
    pub time: TimeArg,

    /// Show file and line of each call site
    #[arg(short, long)]
    pub location: bool,

    /// Print JSON, one object a line
    #[arg(short, long, conflicts_with_all = ["csv", "format"])]
    pub json: bool,

    /// Print comma-separated values, with a header line
    #[arg(long, conflicts_with = "format")]
    pub csv: bool,

    /// Print each record by this template: fields of --where, and {time} {boot} {mono} {wall}
    /// {clock} {args}, all in braces, with widths as {level:<5}; \\n and \\t
    #[arg(long, value_name = "TEMPLATE", value_parser = Template::parse)]
    pub format: Option<Template>,

    /// Also print each record's payload in hex
    #[arg(long)]
    pub raw: bool,

    /// Colour the output
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
}

/// Options of `show`.
#[derive(Args, Debug)]
pub struct Show {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub input: Input,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub filters: Filters,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub around: Around,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub logs: Logs,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub output: Output,

    /// At the end, print what was decoded and lost for each ring (to standard error; with --json
    /// as objects)
    #[arg(long)]
    pub stats: bool,
}

/// Options of `follow`.
#[derive(Args, Debug)]
pub struct Follow {
    /// Stream files, or pipes with what is read from one; - is standard input. Without any, those
    /// of this system
    #[arg(value_name = "STREAM")]
    pub streams: Vec<PathBuf>,

    /// Where the files of BLog are, on this system
    #[arg(long, value_name = "DIR", default_value = DEBUGFS)]
    pub blog: PathBuf,

    /// Only what is logged from now on
    #[arg(short, long, conflicts_with = "since")]
    pub new: bool,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub tables: TablePaths,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub filters: Filters,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub around: Around,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub output: Output,
}

/// Options of `record`.
#[derive(Args, Debug)]
pub struct Record {
    /// The stream file, or with --every the snapshot file, or a pipe with such. Without it, that of
    /// this system
    #[arg(value_name = "FILE")]
    pub stream: Vec<PathBuf>,

    /// The directory; it may have older files, which count for --size
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,

    /// All files together are not larger than this; the oldest are removed
    #[arg(long, value_name = "BYTES", default_value = "1G", value_parser = parse_size)]
    pub size: u64,

    /// Begin another file when one has got this much since it had what was there at first
    #[arg(long, value_name = "BYTES", default_value = "64M", value_parser = parse_size)]
    pub file_size: u64,

    /// Take snapshots, as often as this, instead of the stream
    #[arg(long, value_name = "SECONDS", value_parser = parse_duration)]
    pub every: Option<Duration>,

    /// Stop after this time
    #[arg(long, value_name = "SECONDS", value_parser = parse_duration)]
    pub duration: Option<Duration>,

    /// Where the files of BLog are
    #[arg(long, value_name = "DIR", default_value = DEBUGFS)]
    pub blog: PathBuf,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub tables: TablePaths,
}

/// Options of `control`.
#[derive(Args, Debug)]
#[command(after_help = CONTROL_HELP)]
pub struct Control {
    /// What to do, each command in quotes. Without any: how all is now
    #[arg(value_name = "COMMAND")]
    pub commands: Vec<String>,

    /// Only show what would be done
    #[arg(short = 'n', long)]
    pub dry_run: bool,

    /// Where the files of BLog are
    #[arg(long, value_name = "DIR", default_value = DEBUGFS)]
    pub blog: PathBuf,

    /// Where the parameters of BLog are
    #[arg(
        long,
        value_name = "DIR",
        default_value = "/sys/module/blog/parameters"
    )]
    pub parameters: PathBuf,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub tables: TablePaths,
}

const CONTROL_HELP: &str = "\
A COMMAND is one of
  component NAME SETTING...   on, off, clear, level=LEVEL, mode=overwrite, mode=discard,
                              size_kb=N, ring_kb=N; * in NAME stands for anything
  max_kb=N                    limit of all components together
  CONDITION... FLAGS          call sites; all conditions must hold:
    module NAME                 by the name in lsmod, or vmlinux
    file FILE[:LINES]           its path, the end of it, or with *
    line N, line N-M
    format TEXT                 a part of the format string, in quotes if it has blanks
    level LEVEL
    site ID, site ID-ID
  FLAGS are +p (on at any level), -p (off), =_ (back to the component's level)

Examples:
  blog-decode control 'component rnull level=debug'
  blog-decode control --dry-run 'file rnull.rs:60-80 +p'
  blog-decode control 'format \"timed out\" +p; module rnull_mod level trace -p'

Exit status:
  0  done
  1  done, but some image has no side table, so its sites were not looked at
  2  wrong usage, no such call site or component, or the kernel refused it";

/// Options of `stats`.
#[derive(Args, Debug)]
pub struct Stats {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub input: Input,

    /// Only these components (repeatable, or comma-separated)
    #[arg(short, long, value_name = "NAME", value_delimiter = ',')]
    pub component: Vec<String>,

    /// Print JSON, one object a line
    #[arg(short, long)]
    pub json: bool,
}

/// Options of `sites`.
#[derive(Args, Debug)]
pub struct Sites {
    /// Snapshots, side tables or ELF images; those in a snapshot are listed with their records
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub tables: TablePaths,

    /// Only sites of this level and more important ones
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

/// Options of `diff`.
#[derive(Args, Debug)]
pub struct Diff {
    /// The earlier snapshot
    #[arg(value_name = "OLD")]
    pub old: PathBuf,

    /// The later snapshot
    #[arg(value_name = "NEW")]
    pub new: PathBuf,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub tables: TablePaths,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub filters: Filters,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub output: Output,
}

/// Options of `convert`.
#[derive(Args, Debug)]
pub struct Convert {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub input: Input,

    /// The format
    #[arg(long, value_name = "FORM")]
    pub to: Form,

    /// The file or directory to write; it must not exist yet
    #[arg(short, long, value_name = "PATH")]
    pub output: PathBuf,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub filters: Filters,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub logs: Logs,
}

/// Options of `tasks`.
#[derive(Args, Debug)]
#[command(after_help = TASKS_HELP)]
pub struct Tasks {
    #[command(flatten)]
    #[allow(missing_docs)]
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
    #[arg(short, long, value_name = "PID", value_delimiter = ',')]
    pub pid: Vec<i32>,

    /// Only records of these components (repeatable, or comma-separated)
    #[arg(short, long, value_name = "NAME", value_delimiter = ',')]
    pub component: Vec<String>,

    /// As many records of each task and component
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    pub records: usize,

    /// Clock of the times that are shown
    #[arg(short, long, value_name = "CLOCK", default_value = "boot")]
    pub time: TimeArg,

    /// Show file and line of each call site
    #[arg(short, long)]
    pub location: bool,

    /// Print JSON, one object a line
    #[arg(short, long)]
    pub json: bool,

    /// Colour the output
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
}

const TASKS_HELP: &str = "\
Without options, tasks that were running, blocked (D) or waiting for a CPU when the machine
stopped, or when the snapshot was taken. In this order:
  1. the task that was running where the machine crashed
  2. running and blocked tasks, the one whose last record is the longest ago first: who gets
     on with its work logs, who is stuck doesn't
  3. tasks that wait for a CPU, in the same order
  4. the others (--all, --pid): sleeping, then ended ones, the latest record first
For each, its last records of each component, the newest last, with how long before the end.
For a running task, those of interrupts on its CPU too.

Examples:
  blog-decode tasks --vmcore /var/crash/dump.202611211013
  blog-decode tasks --blocked -n 3 snapshot
  blog-decode tasks --pid 4711 --component rnull -l snapshot
  blog-decode tasks --json snapshot | jq -r 'select(.type == \"task\") | .comm'

Exit status:
  0  everything was decoded
  1  a partial result; what is missing is on standard error
  2  nothing could be decoded, or wrong usage";

/// Options of `extract`.
#[derive(Args, Debug)]
#[command(after_help = EXTRACT_HELP)]
pub struct Extract {
    /// The crash dump: ELF, or as makedumpfile or QEMU write it
    #[arg(long, value_name = "FILE", required = true)]
    pub vmcore: PathBuf,

    /// The snapshot to write; it must not exist yet
    #[arg(short, long, value_name = "PATH")]
    pub output: PathBuf,
}

const EXTRACT_HELP: &str = "\
Needs VMCOREINFO in the dump (kdump has it; QEMU if the guest has -device vmcoreinfo), and
neither vmlinux nor DWARF. What the dump lacks, or what is damaged, is named on standard
error; everything else is in the snapshot.

Examples:
  blog-decode extract --vmcore /var/crash/dump.202611211013 -o snapshot
  blog-decode tasks --blocked snapshot

Exit status:
  0  everything that BLog held is in the snapshot
  1  a partial result: part of it is missing from the dump, or damaged
  2  no snapshot was written";

/// Formats of other programs.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Form {
    /// A directory in the Common Trace Format 1.8: babeltrace2, Trace Compass
    Ctf,
    /// A file for ui.perfetto.dev and Perfetto's trace processor
    Perfetto,
    /// A report in one HTML file, for any browser
    Html,
}

/// See [`Time`].
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum TimeArg {
    /// Seconds since boot, as dmesg
    Boot,
    /// Date and time, UTC
    Wall,
    /// Seconds since boot without suspend
    Mono,
    /// Ticks of the ring's clock
    Raw,
    /// Seconds since the line before
    Delta,
}

impl From<TimeArg> for Time {
    fn from(t: TimeArg) -> Self {
        match t {
            TimeArg::Boot => Self::Boot,
            TimeArg::Wall => Self::Wall,
            TimeArg::Mono => Self::Mono,
            TimeArg::Raw => Self::Raw,
            TimeArg::Delta => Self::Delta,
        }
    }
}

/// When to use colours.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set or TERM is dumb
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

fn parse_level(s: &str) -> Result<u8, String> {
    let by_number = s.parse().ok().and_then(Level::from_u8);
    let by_name = Level::ALL.into_iter().find(|l| l.name() == s);
    by_number
        .or(by_name)
        .map(|l| l as u8)
        .ok_or_else(|| "not err, warn, info, debug, trace, or 1 to 5".into())
}

/// `4096`, `64k`, `1M`, `2G`.
fn parse_size(s: &str) -> Result<u64, String> {
    let (digits, shift) = match s.chars().last() {
        Some('k' | 'K') => (&s[..s.len() - 1], 10),
        Some('M') => (&s[..s.len() - 1], 20),
        Some('G') => (&s[..s.len() - 1], 30),
        _ => (s, 0),
    };
    let size = digits.parse::<u64>().ok();
    size.and_then(|n| n.checked_mul(1 << shift))
        .filter(|n| *n > 0)
        .ok_or_else(|| "not a number of bytes, as 4096, 64k, 1M or 2G".into())
}

fn parse_duration(s: &str) -> Result<Duration, String> {
    let seconds = s.parse::<f64>().ok();
    seconds
        .and_then(|n| Duration::try_from_secs_f64(n).ok())
        .filter(|d| !d.is_zero() && d.as_secs() < 1 << 32)
        .ok_or_else(|| "not a number of seconds".into())
}

fn parse_named(s: &str) -> Result<(String, PathBuf), String> {
    match s.split_once('=') {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => {
            Ok((name.to_owned(), file.into()))
        }
        _ => Err("not NAME=FILE".into()),
    }
}

fn parse_context(s: &str) -> Result<Context, String> {
    (0..=3)
        .filter_map(Context::from_u8)
        .find(|c| c.name() == s)
        .ok_or_else(|| "not task, softirq, hardirq or nmi".into())
}

fn parse_regex(s: &str) -> Result<regex::bytes::Regex, String> {
    RegexBuilder::new(s).build().map_err(|e| e.to_string())
}

impl Filters {
    /// The filter that they make.
    pub fn build(&self) -> Result<Filter, String> {
        let expr = self.condition.as_deref().map(Expr::parse).transpose();
        let grep = self.grep.as_deref().map(parse_regex).transpose();
        Ok(Filter {
            components: self.component.clone(),
            level: self.level,
            sites: self.site.clone(),
            pids: self.pid.clone(),
            comms: self.comm.clone(),
            cpus: self.cpu.clone(),
            contexts: self.context.clone(),
            since: self.since,
            until: self.until,
            expr: expr.map_err(|e| format!("--where: {e}"))?,
            grep: grep.map_err(|e| format!("--grep: {e}"))?,
            with_context: false,
        })
    }
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
