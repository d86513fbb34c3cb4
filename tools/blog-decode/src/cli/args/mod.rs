// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! All commands and options, each defined once, with its help. The man page and the shells'
//! completions come from here, too.
//!
//! This file has the program itself and the list of its commands. The others have options that
//! commands share (`input`, `filters`, `output`), and each command's own options (`saved` for
//! commands on files, `answers` for those that sum up, `live` for those of a running system).

// Groups of options have no help of their own.
#![allow(missing_docs)]

mod answers;
mod filters;
mod input;
mod live;
mod output;
mod saved;

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

use clap::{Arg, CommandFactory, Parser, Subcommand};

pub use self::{
    answers::{PairArgs, SpanArgs, Spans, Stats},
    filters::{parse_level, Around, Filters},
    input::{InputArgs, Logs, Sources, TablePaths},
    live::Record,
    output::{Color, Form, Jobs, Look, Output, TimeArg},
    saved::{Check, Convert, Converted, Report, Save, Show, Sites, Tasks},
};

/// Where the kernel may have the files of BLog.
pub const TRACEFS: &str = "/sys/kernel/tracing";
/// The other place.
pub const DEBUGFS: &str = "/sys/kernel/debug";

/// Where this kernel has them, as far as this user may know.
pub fn place() -> PathBuf {
    let blog = |fs| Path::new(fs).join("blog");
    let missing = |e: io::Error| e.kind() == io::ErrorKind::NotFound;
    match blog(TRACEFS).metadata().is_err_and(missing) {
        true => blog(DEBUGFS),
        false => blog(TRACEFS),
    }
}

const AFTER_HELP: &str = "\
blog-decode finds side tables by the build ID of vmlinux and each module. It searches,
in this order: the paths of --sidetable (.blogfmt files, vmlinux, .ko files, or directories
of them), the snapshot's directory, /lib/modules/*/blog, /usr/lib/debug/.build-id, the
modules in /lib/modules, and debuginfod if DEBUGINFOD_URLS is set. gzip, zstd or xz may
have packed an image. A table of another build is refused. Records without a table are
printed in hex, with the build ID of the table.

A record must pass all filters. TIME of --since and --until is one of:
  12.5                   seconds since boot, as in dmesg
  -30, -5m, -1h30m       that long before the snapshot was taken; +5m is after it
  2026-11-21T10:13:09Z   date and time; Z is UTC, +02:00 is an offset; without these it
                         is the local time zone, or UTC with --utc
  10:13                  on the day on which the snapshot was taken
  now, '5 min ago'       by the time at which it was taken
  today, yesterday       that day and the one before; also tomorrow, 'yesterday 22:00'
  @1795255989            seconds since 1970

CONDITION of --where compares fields (host boot_id component level context cpu pid tgid
comm site image module function class file line format message, and arguments as
arg.NAME or arg.0) by == != < <= > >= =~ !~, combined by && || ! and parentheses:
  arg.bytes >= 64k && level <= warn
  arg.e == EIO || message =~ 'time(d )?out'
A comparison with a field that a record doesn't have is false.

Lines with '-----' stand where records are missing (with --json: objects of type
\"lost\"). Records that newer ones have overwritten are no error. Filters show such a
line if some of the missing records may pass them; their times are between those of the
ring's records before and after the line. With --count, --csv and --format, and in commands
that show no such lines, standard error has the number.

Examples:
  blog-decode snapshot.bin
  blog-decode --component rnull --level warn -l snapshot.bin
  blog-decode --sidetable vmlinux --sidetable rnull.ko snapshot.bin
  blog-decode --time wall --since -10 --grep 'errno|timeout' snapshot.bin
  blog-decode --where 'arg.bytes > 64k' -C 3 snapshot.bin
  blog-decode --format '{wall} {comm}[{pid}] {arg.sector}' snapshot.bin
  blog-decode --json --stats snapshot.bin | jq 'select(.type == \"ring\")'
  blog-decode --vmcore /var/crash/dump --component rnull
  blog-decode convert --to parquet -o fleet host1.bin host2.bin
  ssh box cat /sys/kernel/tracing/blog/snapshot | blog-decode -

Exit status:
  0  everything was decoded
  1  a partial result: damage, records without a side table, or a named side table
     that can't be used; standard error has the reason. Also if no record matches
  2  nothing could be decoded, or wrong usage";

/// Decode BLog snapshots to text, in the order of time.
#[derive(Parser, Debug)]
#[command(
    name = "blog-decode",
    version,
    disable_version_flag = true,
    about,
    after_help = AFTER_HELP,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub struct Cli {
    /// What to do; without it, `show`.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Options of `show`.
    #[command(flatten)]
    pub show: Show,
    /// Print the version
    #[arg(short = 'V', long)]
    pub version: bool,
    /// With --version: also the versions of snapshots, records, side tables and crash dumps that
    /// this program reads
    #[arg(long, requires = "version")]
    pub verbose: bool,
    /// Read and show dates in UTC, not in the local time zone
    #[arg(long, global = true, help_heading = "Output")]
    pub utc: bool,
    /// Colour the output
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        help_heading = "Output"
    )]
    pub color: Color,
    /// Don't start a pager: on a terminal, $PAGER or less shows what is printed
    #[arg(long, global = true, help_heading = "Output")]
    pub no_pager: bool,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Print records in the order of time; the default without a command
    Show(Box<Show>),
    /// Write this system's log to a directory that any machine can decode
    Record(Record),
    /// Count records, bytes and losses by component, ring and call site; or count records by any
    /// fields or arguments, also for each interval of time
    Stats(Box<Stats>),
    /// List call sites, and how many records each has
    Sites(Sites),
    /// Write records in the format of another program
    Convert(Box<Convert>),
    /// Print who holds up whom, and what each task did last, likely stuck tasks first
    Tasks(Box<Tasks>),
    /// Write a report for a browser, in one file: who holds up whom, lanes, spans and records
    Report(Box<Report>),
    /// Write one file that any machine can decode: records, side tables, kernel log, settings
    Save(Box<Save>),
    /// Print the times from one record to another: percentiles, and the slowest
    Spans(Box<Spans>),
    /// Check that files add up: each record that was taken is there, or counted as gone
    Check(Check),
    /// Print a shell's completions
    #[command(hide = true)]
    Completions {
        /// The shell
        #[arg(value_name = "SHELL")]
        shell: clap_complete::Shell,
    },
    /// Print the man page
    #[command(hide = true)]
    Man,
}

impl Command {
    /// Whether its answer may be longer than a screen, and comes at once: what is read from a pipe
    /// takes its time, and a bar shows how far it is.
    pub fn is_long(&self) -> bool {
        let files = match self {
            Self::Show(args) if !args.follow && !args.count => &args.input.snapshots,
            Self::Stats(args) => &args.input.snapshots,
            Self::Sites(args) => &args.files,
            Self::Tasks(args) => &args.input.snapshots,
            Self::Spans(args) => &args.input.snapshots,
            Self::Check(args) => &args.snapshots,
            _ => return false,
        };
        !files.iter().any(|path| path.as_os_str() == "-")
    }
}

/// Commands by what one wants; the last ones also have those that are in no group.
const GROUPS: [(&str, &[&str]); 3] = [
    ("Read", &["show"]),
    ("Ask", &["tasks", "spans", "stats", "sites", "check"]),
    ("Export", &["save", "convert", "record"]),
];

/// The program, whose help has commands in groups.
pub fn grouped() -> clap::Command {
    let mut command = Cli::command();
    let shown = command.get_subcommands().filter(|c| !c.is_hide_set());
    let known: Vec<_> =
        shown.map(|c| (c.get_name().to_owned(), c.get_about().map(ToString::to_string))).collect();
    let group = |name: &str| GROUPS.iter().position(|(_, names)| names.contains(&name));
    let mut text = String::new();
    for (at, (head, names)) in GROUPS.iter().enumerate() {
        text.push_str(&format!("{head}:\n"));
        let is_in = |name: &str| group(name).unwrap_or(GROUPS.len() - 1) == at;
        let mut all: Vec<_> = known.iter().filter(|(name, _)| is_in(name)).collect();
        all.sort_by_key(|(name, _)| names.iter().position(|n| n == name).unwrap_or(names.len()));
        for (name, about) in all {
            let about = about.as_deref().unwrap_or_default();
            let about = about.split(';').next().unwrap_or_default();
            text.push_str(&format!("  {name:<8} {about}\n"));
        }
    }
    for (name, _) in known {
        command = command.mut_subcommand(name, |c| c.hide(true));
    }
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{text}\n{{all-args}}{{after-help}}"
    ))
}

/// Commands of the version before, and the words in their place.
const OLD: [(&str, &[&str]); 6] = [
    ("console", &["show"]),
    ("diff", &["show", "--newer-than"]),
    ("extract", &["convert", "--to", "snapshot"]),
    ("follow", &["show", "--follow"]),
    ("gaps", &["spans", "*", "*"]),
    ("versions", &["--version", "--verbose"]),
];

/// The same that are now those of another program.
const MOVED: [(&str, &[&str]); 2] = [("control", &["blog-ctl"]), ("probe", &["blog-ctl", "probe"])];

/// The command of the version before, and the words of another program in its place.
pub fn moved(args: &[OsString]) -> Option<(&'static str, &'static [&'static str])> {
    let name = args.get(1)?.to_str()?;
    MOVED.iter().find(|(command, _)| *command == name).copied()
}

/// The words in place of a command of the version before.
fn old(name: &str) -> Option<&'static [&'static str]> {
    OLD.iter().find(|(command, _)| *command == name).map(|(_, words)| *words)
}

/// Puts others in place of a command of the version before, and says which. The last one may take
/// the first word that is no option as its value.
pub fn replaced(mut args: Vec<OsString>) -> (Vec<OsString>, Option<String>) {
    let name = args.get(1).and_then(|name| name.to_str()).unwrap_or_default();
    let Some(words) = old(name) else {
        return (args, None);
    };
    let quoted = words.iter().map(|w| if *w == "*" { "'*'" } else { w });
    let quoted: Vec<_> = quoted.collect();
    let hint = format!("{name} will go: use {}", quoted.join(" "));
    let mut cli = Cli::command();
    cli.build();
    let is_option = words.last().is_some_and(|word| word.starts_with("--"));
    let options = cli.find_subcommand(words[0]).filter(|_| is_option && words.len() > 1);
    let skipped = options.map_or(0, |command| options_of(command, &args[2..]));
    if let Some((last, first)) = words.split_last() {
        args.insert(2 + skipped, last.into());
        args.splice(1..2, first.iter().map(OsString::from));
    }
    (args, Some(hint))
}

/// Words that other programs have for some of these, in their place.
pub fn as_ours(args: Vec<OsString>) -> Vec<OsString> {
    let ours = |arg: OsString| if arg == "--no-color" { "--color=never".into() } else { arg };
    args.into_iter().map(ours).collect()
}

/// Puts the command before those of its options that come before it.
pub fn command_first(args: Vec<OsString>) -> Vec<OsString> {
    let mut args = with_boot(args);
    let mut cli = Cli::command();
    // So that commands have the options of all.
    cli.build();
    for at in 2..args.len() {
        let name = args[at].to_str();
        let name = name.map(|name| old(name).map_or(name, |words| words[0]));
        let command = name.and_then(|name| cli.find_subcommand(name));
        if command.is_some_and(|command| options_of(command, &args[1..at]) == at - 1) {
            args[1..=at].rotate_right(1);
            break;
        }
    }
    args
}

/// `-b -1` as `--boot=-1`: this option works without a value, so clap takes no separate word as its
/// value.
fn with_boot(args: Vec<OsString>) -> Vec<OsString> {
    let is_number = |word: &OsString| {
        let word = word.to_str().unwrap_or_default();
        let back = word.strip_prefix('-').unwrap_or_default();
        word == "0" || !back.is_empty() && back.bytes().all(|b| b.is_ascii_digit())
    };
    let mut all: Vec<OsString> = Vec::new();
    for arg in args {
        match all.last_mut() {
            Some(last) if (*last == "-b" || *last == "--boot") && is_number(&arg) => {
                *last = "--boot=".into();
                last.push(arg);
            }
            _ => all.push(arg),
        }
    }
    all
}

/// How many of these words are options of a command, with their values, before any other word.
fn options_of(command: &clap::Command, words: &[OsString]) -> usize {
    let find = |matches: &dyn Fn(&Arg) -> bool| command.get_arguments().find(|a| matches(a));
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let Some(option) = word.to_str().and_then(|w| w.strip_prefix('-')) else {
            return at;
        };
        let wants_value = if let Some(long) = option.strip_prefix('-') {
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (long, None),
            };
            match find(&|a| a.get_long() == Some(name)) {
                Some(arg) => arg.get_action().takes_values() && value.is_none(),
                None => return at,
            }
        } else {
            // Several in one word; the rest after one that takes a value is its value.
            let mut letters = option.chars();
            loop {
                let Some(letter) = letters.next() else {
                    break false;
                };
                match find(&|a| a.get_short() == Some(letter)) {
                    Some(arg) if arg.get_action().takes_values() => {
                        break letters.as_str().is_empty();
                    }
                    Some(_) => {}
                    None => return at,
                }
            }
        };
        let end = at + 1 + usize::from(wants_value);
        if option.is_empty() || end > words.len() {
            return at;
        }
        at = end;
    }
    at
}

/// What to say of a file that isn't there, if its name is that of a command, or nearly.
pub fn misplaced(file: &Path) -> Option<String> {
    let name = file.to_str().filter(|_| !file.exists())?;
    let cli = Cli::command();
    let names = cli.get_subcommands().map(|c| c.get_name());
    let near = names.map(|n| (strsim::jaro_winkler(n, name), n));
    match near.max_by(|a, b| a.0.total_cmp(&b.0))? {
        (_, command) if command == name => {
            Some(format!("{name} is a command: it goes before files"))
        }
        (likeness, command) if likeness > 0.8 => Some(format!(
            "there is neither a file nor a command {name}; there is a command {command}"
        )),
        _ if !name.contains(['/', '.', '-']) => {
            Some(format!("there is neither a file nor a command {name}: see --help"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_may_come_after_its_options() {
        let first = |line: &str| {
            let args = line.split(' ').map(OsString::from).collect();
            let args: Vec<_> =
                command_first(args).into_iter().map(|a| a.into_string().unwrap()).collect();
            args.join(" ")
        };
        for (given, expected) in [
            ("x -s t tasks snap", "x tasks -s t snap"),
            ("x --utc tasks snap", "x tasks --utc snap"),
            ("x -st --all tasks snap", "x tasks -st --all snap"),
            ("x --sidetable=t -n 3 spans snap", "x spans --sidetable=t -n 3 snap"),
            // The value of an option, a file after others, and options that a command lacks.
            ("x -s tasks snap", "x -s tasks snap"),
            ("x snap tasks", "x snap tasks"),
            ("x --longer 1 tasks snap", "x --longer 1 tasks snap"),
            ("x - tasks", "x - tasks"),
            ("x -- tasks", "x -- tasks"),
            ("x tasks", "x tasks"),
            ("x -b -1 snap", "x --boot=-1 snap"),
            ("x -b snap", "x -b snap"),
            ("x -b 0 spans snap", "x spans --boot=0 snap"),
            ("x -n 3 gaps snap", "x gaps -n 3 snap"),
            ("x", "x"),
        ] {
            assert_eq!(first(given), expected);
        }
    }

    #[test]
    fn words_of_the_version_before_have_others_in_their_place() {
        let replaced = |line: &str| {
            let (args, hint) = replaced(line.split(' ').map(OsString::from).collect());
            let args: Vec<_> = args.into_iter().map(|a| a.into_string().unwrap()).collect();
            (args.join(" "), hint.is_some())
        };
        for (given, expected) in [
            ("x diff a b", "x show --newer-than a b"),
            ("x diff -c disk --json a b", "x show -c disk --json --newer-than a b"),
            ("x diff a b -l", "x show --newer-than a b -l"),
            ("x follow -n 3 -", "x show -n 3 --follow -"),
            ("x follow", "x show --follow"),
            ("x console log", "x show log"),
            ("x extract -o out --vmcore dump", "x convert --to snapshot -o out --vmcore dump"),
            ("x gaps -n 3 snap", "x spans * * -n 3 snap"),
            ("x versions", "x --version --verbose"),
        ] {
            assert_eq!(replaced(given), (expected.to_owned(), true));
        }
        assert_eq!(replaced("x show diff"), ("x show diff".to_owned(), false));
    }

    #[test]
    fn options_are_consistent() {
        Cli::command().debug_assert();
    }
}
