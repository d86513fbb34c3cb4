// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Options that select records.

use clap::Args;
use regex::bytes::{Regex, RegexBuilder};

use crate::{
    boot::BootPattern,
    cli::time::Limit,
    expr::Expr,
    filter::{parse_range, parse_regex, Filter, SitePattern},
    output::level_named,
    wire::record::{Context, Level},
};

/// Which records.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Filters")]
pub struct Filters {
    /// Only these components (repeatable, or comma-separated)
    #[arg(short, long, value_name = "NAME", value_delimiter = ',')]
    component: Vec<String>,

    /// Only this level and more important ones: err, warn, info, debug, trace (or error, warning,
    /// notice), or 1 to 5
    #[arg(long, value_name = "LEVEL", value_parser = parse_level)]
    level: Option<u8>,

    /// Only these call sites: FILE, FILE:LINE, FILE:FIRST-LAST or a site id (repeatable)
    #[arg(long, value_name = "SITE", value_parser = SitePattern::parse)]
    site: Vec<SitePattern>,

    /// Only these threads or processes (repeatable, or comma-separated)
    #[arg(short, long, value_name = "PID", value_delimiter = ',', value_parser = parse_pid)]
    pid: Vec<i32>,

    /// Only tasks with these names; * matches anything (repeatable, or comma-separated)
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    comm: Vec<String>,

    /// Only records written on these CPUs, in an interrupt or to a shared ring: 3 or 0-3
    /// (repeatable, or comma-separated)
    #[arg(long, value_name = "CPU", value_delimiter = ',', value_parser = parse_range)]
    cpu: Vec<(u32, u32)>,

    /// Only these contexts: task, softirq, hardirq, nmi (repeatable, or comma-separated)
    #[arg(long, value_name = "CONTEXT", value_delimiter = ',', value_parser = parse_context)]
    context: Vec<Context>,

    /// Only from this time on
    #[arg(long, value_name = "TIME", value_parser = Limit::parse, allow_hyphen_values = true)]
    since: Option<Limit>,

    /// Only up to this time
    #[arg(long, value_name = "TIME", value_parser = Limit::parse, allow_hyphen_values = true)]
    until: Option<Limit>,

    /// Only this boot of each machine: 0 is the last one (so is -b alone), -1 the one before, or
    /// the start of a boot's id
    #[arg(
        short,
        long,
        value_name = "BOOT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "0",
        value_parser = BootPattern::parse,
        allow_hyphen_values = true
    )]
    boot: Option<BootPattern>,

    /// Only messages that match this regular expression
    #[arg(short, long, value_name = "REGEX", value_parser = parse_regex)]
    grep: Option<Regex>,

    /// Ignore case in --grep
    #[arg(short, long, requires = "grep")]
    ignore_case: bool,

    /// Only messages that --grep does not match
    #[arg(short = 'v', long, requires = "grep")]
    invert: bool,

    /// Only records for which this condition is true
    #[arg(short = 'w', long = "where", value_name = "CONDITION")]
    condition: Option<String>,
}

impl Filters {
    /// The components.
    pub fn components(&self) -> &[String] {
        &self.component
    }

    /// Whether they choose among the records of a component.
    pub fn choose(&self) -> bool {
        let has_place = !self.site.is_empty() || !self.cpu.is_empty() || !self.context.is_empty();
        let has_task = !self.pid.is_empty() || !self.comm.is_empty();
        let has_time = self.since.is_some() || self.until.is_some() || self.boot.is_some();
        let has_text = self.grep.is_some() || self.condition.is_some();
        self.level.is_some() || has_place || has_task || has_time || has_text
    }

    /// The filter that they make.
    pub fn build(&self) -> Result<Filter, String> {
        let expr = self.condition.as_deref().map(Expr::parse).transpose();
        let grep = self.grep.as_ref().map(|grep| {
            let mut grep = RegexBuilder::new(grep.as_str());
            grep.case_insensitive(self.ignore_case).build()
        });
        Ok(Filter {
            components: self.component.clone(),
            level: self.level,
            sites: self.site.clone(),
            pids: self.pid.clone(),
            comms: self.comm.clone(),
            cpus: self.cpu.clone(),
            contexts: self.context.clone(),
            since: None,
            until: None,
            expr: expr.map_err(|e| format!("--where: {e}"))?,
            grep: grep.transpose().map_err(|e| format!("--grep: {e}"))?,
            invert: self.invert,
            boots: None,
            with_context: false,
            with_left_out: false,
        })
    }

    /// Whether records are looked for, which others may be around.
    fn looks_for(&self) -> bool {
        self.grep.is_some() || self.condition.is_some()
    }

    /// Sets the times of a filter, for what was taken at this time, in ns since 1970.
    pub fn set_times(&self, filter: &mut Filter, taken: i128) -> Result<(), String> {
        let at = |when: Option<Limit>, is_end| when.map(|w| w.resolve(taken, is_end)).transpose();
        filter.since = at(self.since, false).map_err(|e| format!("--since: {e}"))?;
        filter.until = at(self.until, true).map_err(|e| format!("--until: {e}"))?;
        Ok(())
    }

    /// Which boot is wanted, if the user says so.
    pub fn boot(&self) -> Option<&BootPattern> {
        self.boot.as_ref()
    }

    /// Whether it takes a log to know the times, or that one is before the other.
    pub fn needs_log(&self) -> bool {
        let all = [self.since, self.until];
        all.iter().all(Option::is_some) || all.iter().flatten().any(Limit::needs_log)
    }
}

/// What else is printed around records that are chosen.
#[derive(Args, Debug)]
#[command(next_help_heading = "Filters")]
pub struct Around {
    /// Also print N records after each match of --grep and --where
    #[arg(short = 'A', long, value_name = "N", help_heading = "Filters")]
    pub after: Option<usize>,

    /// Also print N records before each match of --grep and --where
    #[arg(short = 'B', long, value_name = "N", help_heading = "Filters")]
    pub before: Option<usize>,

    /// Also print N records before and after each match of --grep and --where
    #[arg(short = 'C', long, value_name = "N", help_heading = "Filters")]
    pub around: Option<usize>,
}

impl Around {
    /// Refuses options that don't fit together.
    pub fn check(&self, filters: &Filters) -> Result<(), String> {
        let is_given = [self.after, self.before, self.around].iter().any(Option::is_some);
        match is_given && !filters.looks_for() {
            true => Err("-A, -B and -C need --grep or --where".into()),
            false => Ok(()),
        }
    }

    /// How many records before and after those that match.
    pub fn numbers(&self) -> (usize, usize) {
        let around = self.around.unwrap_or(0);
        (self.before.unwrap_or(around), self.after.unwrap_or(around))
    }
}

/// The level that has this name.
pub fn parse_level(s: &str) -> Result<u8, String> {
    let by_number = s.parse().ok().and_then(Level::from_u8);
    by_number
        .or_else(|| level_named(s))
        .map(|l| l as u8)
        .ok_or_else(|| "not err, warn, info, debug, trace, or 1 to 5".into())
}

/// A thread or process id.
pub(super) fn parse_pid(s: &str) -> Result<i32, String> {
    s.parse().map_err(|_| "not the number of a thread or process".into())
}

fn parse_context(s: &str) -> Result<Context, String> {
    (0..=3)
        .filter_map(Context::from_u8)
        .find(|c| c.name() == s)
        .ok_or_else(|| "not task, softirq, hardirq or nmi".into())
}
