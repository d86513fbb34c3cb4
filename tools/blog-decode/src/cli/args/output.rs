// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Options for printing records, and for writing them for other programs.

use std::num::NonZero;

use clap::{Args, ValueEnum};

use crate::output::{csv::Columns, template::Template, Time};

/// How lines look.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
pub struct Output {
    /// Clock of the times; the default is boot, or wall if there are several boots
    #[arg(
        short,
        long,
        value_name = "CLOCK",
        conflicts_with_all = ["json", "csv", "format"]
    )]
    pub time: Option<TimeArg>,

    /// Show times with nanoseconds, not microseconds
    #[arg(long, conflicts_with_all = ["json", "csv", "format"])]
    pub ns: bool,

    /// Show file and line of each call site
    #[arg(short, long, conflicts_with_all = ["json", "csv", "format"])]
    pub location: bool,

    /// Print JSON, one object a line
    #[arg(short, long, conflicts_with_all = ["csv", "format"])]
    pub json: bool,

    /// Print comma-separated values, with a header line
    #[arg(long, conflicts_with = "format")]
    pub csv: bool,

    /// Print these columns: fields as in --format, with commas between them: wall,comm,arg.sector
    #[arg(
        long,
        value_name = "FIELDS",
        value_parser = Columns::parse,
        requires = "csv",
        // Clap doesn't require what another option excludes.
        conflicts_with_all = ["time", "ns", "location", "json", "format", "raw"]
    )]
    pub columns: Option<Columns>,

    /// Print each record by this template: the fields of --where, and {time} {boot} {mono} {wall}
    /// {clock} {args}, in braces, with widths as in {level:<5}; \n is a newline, \t a tab
    #[arg(long, value_name = "TEMPLATE", value_parser = Template::parse)]
    pub format: Option<Template>,

    /// Also print each record's payload in hex
    #[arg(long, conflicts_with_all = ["csv", "format"])]
    pub raw: bool,
}

impl Output {
    /// Whether a reader sees the lines that stand for losses: in tables and by templates, they may
    /// look like any other.
    pub fn has_losses(&self) -> bool {
        !self.csv && self.format.is_none()
    }
}

/// How records look that a command shows with its results.
#[derive(Args, Debug)]
pub struct Look {
    /// Clock of the times; the default is boot, or wall if there are several boots
    #[arg(short, long, value_name = "CLOCK")]
    pub time: Option<TimeArg>,

    /// Show times with nanoseconds, not microseconds
    #[arg(long)]
    pub ns: bool,

    /// Show file and line of each call site
    #[arg(short, long)]
    pub location: bool,

    /// Print JSON, one object a line
    #[arg(short, long)]
    pub json: bool,
}

/// See [`Time`].
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum TimeArg {
    /// Seconds since boot, as dmesg
    Boot,
    /// Date and time, in the local time zone
    Wall,
    /// Seconds since boot without suspend
    Mono,
    /// Ticks of the ring's clock
    Raw,
    /// Seconds since the previous line
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set, or TERM is dumb or not set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Formats of other programs.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Form {
    /// A directory in the Common Trace Format 1.8: babeltrace2, Trace Compass
    Ctf,
    /// A file for ui.perfetto.dev and Perfetto's trace processor
    Perfetto,
    /// What the command report writes
    Html,
    /// A directory of Parquet files by date, host and boot: DuckDB, DataFusion
    Parquet,
    /// A file of logs in OTLP's JSON, as OpenTelemetry's collectors read it
    Otlp,
    /// A snapshot with all that a crash dump has
    Snapshot,
}

/// The number of threads.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct Jobs {
    /// Decode with N threads, besides the one that puts records in order; the default is the number
    /// of CPUs, at most 4, and the limit is 64. The output is the same
    #[arg(long, value_name = "N", value_parser = parse_jobs, hide_short_help = true)]
    pub jobs: Option<NonZero<usize>>,
}

fn parse_jobs(s: &str) -> Result<NonZero<usize>, String> {
    s.parse().map_err(|_| "not a number of threads, from 1 on".into())
}
