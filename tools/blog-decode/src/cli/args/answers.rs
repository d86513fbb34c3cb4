// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Options of the commands that answer questions over many records.

use std::time::Duration;

use clap::Args;

use super::{live::parse_duration, Filters, InputArgs, Jobs, Look};
use crate::{field::Selector, spans::Pair};

/// Which records belong together.
#[derive(Args, Clone, Debug)]
pub struct PairArgs {
    /// Fields with the same values in both records, such as arg.tag (repeatable, or
    /// comma-separated); without -k, both records must be of one thread
    #[arg(short, long, value_name = "FIELD", value_delimiter = ',', value_parser = parse_field)]
    pub key: Vec<Selector>,
}

impl PairArgs {
    /// With the patterns of both records.
    pub fn pair(&self, start: &str, end: &str) -> Pair {
        Pair { start: start.to_owned(), end: end.to_owned(), keys: self.key.clone() }
    }
}

/// Spans in what `convert` writes.
#[derive(Args, Clone, Debug)]
pub struct SpanArgs {
    /// Add spans from a record whose message matches START to one that matches END, as the command
    /// spans does; for html and perfetto (repeatable)
    #[arg(long, num_args = 2, value_names = ["START", "END"])]
    pub span: Vec<String>,

    #[command(flatten)]
    pub keys: PairArgs,
}

impl SpanArgs {
    /// All kinds of spans.
    pub fn pairs(&self) -> Vec<Pair> {
        let pairs = self.span.chunks_exact(2);
        pairs.map(|p| self.keys.pair(&p[0], &p[1])).collect()
    }
}

/// Options of `spans`.
#[derive(Args, Debug)]
#[command(after_help = SPANS_HELP)]
pub struct Spans {
    /// Pattern for the message of the record that starts a span; * matches anything
    #[arg(value_name = "START")]
    pub start: String,

    /// Pattern for the message of the record that ends it
    #[arg(value_name = "END")]
    pub end: String,

    #[command(flatten)]
    pub input: InputArgs,

    #[command(flatten)]
    pub pair: PairArgs,

    /// Show the N slowest spans
    #[arg(short, long, value_name = "N", default_value_t = 5)]
    pub number: usize,

    #[command(flatten)]
    pub filters: Filters,

    #[command(flatten)]
    pub look: Look,

    #[command(flatten)]
    pub jobs: Jobs,
}

const SPANS_HELP: &str = "\
A start that comes again before its end counts as a start without an end. At most
1,048,576 starts wait for their ends. Percentiles are exact to 1 part in 128.

Examples:
  blog-decode spans -k arg.tag 'queue *' 'complete *' snapshot
  blog-decode spans 'lock *' 'unlock *' --comm 'fio*' -n 20 snapshot
  blog-decode spans -k arg.tag --json 'queue *' 'complete *' --vmcore /var/crash/dump

Exit status:
  0  everything was decoded
  1  a partial result, no record matches, or there are no spans; standard error has more
  2  nothing could be decoded, or wrong usage";

/// Options of `stats`.
#[derive(Args, Debug)]
#[command(after_help = STATS_HELP)]
pub struct Stats {
    #[command(flatten)]
    pub input: InputArgs,

    /// Count records by the values of these fields, such as comm or arg.op (repeatable, or
    /// comma-separated); without it, by file, line and format
    #[arg(
        long,
        alias = "group-by",
        value_name = "FIELD",
        value_delimiter = ',',
        value_parser = parse_field
    )]
    pub by: Vec<Selector>,

    /// Count each interval of this length separately
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub per: Option<Duration>,

    /// Add up this field, such as arg.bytes
    #[arg(long, value_name = "FIELD", value_parser = parse_field)]
    pub sum: Option<Selector>,

    /// Show the N rows with the most records (of each interval)
    #[arg(short, long, value_name = "N")]
    pub number: Option<usize>,

    #[command(flatten)]
    pub filters: Filters,

    /// Print JSON, one object a line
    #[arg(short, long)]
    pub json: bool,

    #[command(flatten)]
    pub jobs: Jobs,
}

impl Stats {
    /// Whether records are to be counted one by one: all but the sums of whole rings.
    pub fn counts_records(&self) -> bool {
        let has_fields = !self.by.is_empty() || self.sum.is_some();
        has_fields || self.per.is_some() || self.number.is_some() || self.filters.choose()
    }
}

const STATS_HELP: &str = "\
Without options other than --component, stats prints three tables: components with their
losses, rings, and call sites. With other options, it prints one row for each combination
of values. All counts and sums are exact. Figures such as 12.3k are rounded; --json has them
in full.

Examples:
  blog-decode stats snapshot
  blog-decode stats --by comm,level -n 10 snapshot
  blog-decode stats --by arg.op --sum arg.bytes --per 1 --grep '^queue' snapshot
  blog-decode stats --by host --level warn fleet/*.snap
  sudo blog-decode stats -n 20 --since -10

Exit status:
  0  everything was decoded
  1  a partial result, or no record matches; standard error has more
  2  nothing could be decoded, or wrong usage";

fn parse_field(name: &str) -> Result<Selector, String> {
    Selector::parse(name)?.ok_or_else(|| {
        let names: Vec<_> = Selector::names().collect();
        format!("no such field; there are {}, and arguments as arg.NAME or arg.0", names.join(" "))
    })
}
