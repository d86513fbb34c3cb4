// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Options for input files and side tables.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::place;
use crate::clock::LogClock;

/// What is read besides the files that are named.
#[derive(Args, Clone, Debug)]
pub struct Sources {
    /// Directory of this system's BLog files, if not /sys/kernel/tracing/blog or
    /// /sys/kernel/debug/blog
    #[arg(
        long,
        value_name = "DIR",
        default_value_os_t = place(),
        hide_default_value = true,
        hide_short_help = true
    )]
    pub blog: PathBuf,

    /// Crash dump, from which a snapshot is extracted first (repeatable)
    #[arg(long, value_name = "FILE")]
    pub vmcore: Vec<PathBuf>,
}

/// Files to read.
#[derive(Args, Clone, Debug)]
pub struct InputArgs {
    /// Snapshots, streams, crash dumps, logs with a kernel's last words, or directories with these,
    /// which are merged; - is standard input. The default is this system's log
    #[arg(value_name = "SNAPSHOT")]
    pub snapshots: Vec<PathBuf>,

    #[command(flatten)]
    pub sources: Sources,

    #[command(flatten)]
    pub tables: TablePaths,

    /// Another snapshot, FILE, whose machine is called NAME (repeatable)
    #[arg(long, value_name = "NAME=FILE", value_parser = parse_named)]
    pub host: Vec<(String, PathBuf)>,
}

impl InputArgs {
    /// The same for these files, in place of those and of dumps.
    pub fn with_files(&self, snapshots: Vec<PathBuf>) -> Self {
        let mut other = self.clone();
        (other.snapshots, other.sources.vmcore) = (snapshots, Vec::new());
        other
    }

    /// Whether it is the log of this system.
    pub fn is_live(&self) -> bool {
        self.snapshots.is_empty() && self.host.is_empty() && self.sources.vmcore.is_empty()
    }
}

/// Other logs, which are put between the records.
#[derive(Args, Clone, Debug, Default)]
pub struct Logs {
    /// Merge in this kernel log: the output of dmesg, or a console (repeatable)
    #[arg(long, value_name = "[HOST=]FILE")]
    pub dmesg: Vec<PathBuf>,

    /// Merge in this ftrace log: the file trace, or the output of trace-cmd report (repeatable)
    #[arg(long, value_name = "[HOST=]FILE")]
    pub ftrace: Vec<PathBuf>,

    /// Clock of these ftrace logs, as in /sys/kernel/tracing/trace_clock
    #[arg(long, value_name = "CLOCK", value_enum, default_value_t)]
    pub ftrace_clock: FtraceClock,
}

/// A clock of ftrace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum FtraceClock {
    /// Also `global` and `perf`
    #[default]
    Local,
    /// CLOCK_MONOTONIC
    Mono,
    /// CLOCK_BOOTTIME
    Boot,
}

impl From<FtraceClock> for LogClock {
    fn from(clock: FtraceClock) -> Self {
        match clock {
            FtraceClock::Local => Self::Local,
            FtraceClock::Mono => Self::Mono,
            FtraceClock::Boot => Self::Boot,
        }
    }
}

impl Logs {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.dmesg.is_empty() && self.ftrace.is_empty()
    }
}

/// Where side tables are.
#[derive(Args, Clone, Debug)]
pub struct TablePaths {
    /// Side table, vmlinux, .ko, or a directory with these (repeatable)
    #[arg(short, long, value_name = "PATH")]
    pub sidetable: Vec<PathBuf>,

    /// Directory of installed side tables, which are in DIR/*/blog or DIR itself
    #[arg(long, value_name = "DIR", default_value = "/lib/modules", hide_short_help = true)]
    pub modules: PathBuf,
}

impl TablePaths {
    /// Checks that all named paths exist; the error names the first that doesn't. Call this before
    /// anything else.
    pub fn check(&self) -> Result<(), String> {
        for path in &self.sidetable {
            std::fs::metadata(path).map_err(|e| format!("{}: {e}", path.display()))?;
        }
        Ok(())
    }
}

fn parse_named(s: &str) -> Result<(String, PathBuf), String> {
    match s.split_once('=') {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => {
            Ok((name.to_owned(), file.into()))
        }
        _ => Err("not NAME=FILE".into()),
    }
}
