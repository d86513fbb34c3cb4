// SPDX-License-Identifier: GPL-2.0

//! The command line: options, and the run from files to output.
//!
//! `main.rs` calls [`main`]; everything that decodes is in the other modules.

use std::{
    io::{
        IsTerminal,
        Write, //
    },
    path::PathBuf, //
};

use clap::{
    Parser,
    ValueEnum, //
};
use regex::bytes::RegexBuilder;

use crate::{
    decode::{
        Decoder,
        Filter,
        Instant,
        Undecoded, //
    },
    merge,
    output::{
        days_from_civil,
        json,
        text::{
            Style,
            Text, //
        },
        Time, //
    },
    sidetable::{
        SiteMap,
        Tables, //
    },
    snapshot::Snapshot,
    stats::{
        damage_text,
        Stats, //
    },
    wire::record::Level, //
};

/// Everything was decoded.
pub const OK: u8 = 0;
/// Something is damaged, missing or could not be decoded; the rest was printed.
pub const PARTIAL: u8 = 1;
/// Nothing could be decoded, or wrong usage.
pub const FAILED: u8 = 2;

const AFTER_HELP: &str = "\
Side tables are found by the build ID of vmlinux and each module: first in what
--sidetable names (.blogfmt files, vmlinux, .ko files, or directories of them),
then in /lib/modules/*/blog. A table of another build is refused. Records without
a table are printed in hex, with the build ID that is needed.

TIME of --since and --until is one of:
  12.5                   seconds since boot, as in dmesg
  -30                    30 seconds before the snapshot was taken
  2026-11-21T10:13:09    date and time, UTC (fractions and a final Z are allowed)
  @1795255989            seconds since 1970

Lost records are shown where they are missing, as lines with '-----' (with --json:
objects of type \"lost\"). That the oldest records were overwritten is no error.

Examples:
  blog-decode snapshot.bin
  blog-decode --component rnull --level warn -l snapshot.bin
  blog-decode --sidetable vmlinux --sidetable rnull.ko snapshot.bin
  blog-decode --time wall --since -10 --grep 'errno|timeout' snapshot.bin
  blog-decode --json --stats snapshot.bin | jq 'select(.type == \"ring\")'
  ssh box cat /sys/kernel/debug/blog/snapshot | blog-decode -

Exit status:
  0  everything was decoded
  1  a partial result: damage, records without a side table, or a side table that
     was named and cannot be used; what it was is on standard error
  2  nothing could be decoded, or wrong usage";

/// Decode BLog snapshots to text, in the order of time.
#[derive(Parser, Debug)]
#[command(name = "blog-decode", version, about, after_help = AFTER_HELP)]
pub struct Args {
    /// Snapshot files; - is standard input. Several are merged.
    #[arg(required = true, value_name = "SNAPSHOT")]
    snapshots: Vec<PathBuf>,

    /// Side table, ELF image, or directory of them (repeatable)
    #[arg(short, long, value_name = "PATH")]
    sidetable: Vec<PathBuf>,

    /// Where installed side tables are searched, as DIR/*/blog
    #[arg(long, value_name = "DIR", default_value = "/lib/modules")]
    modules: PathBuf,

    /// Only these components (repeatable, or comma-separated)
    #[arg(short, long, value_name = "NAME", value_delimiter = ',')]
    component: Vec<String>,

    /// Only this level and more important ones: err, warn, info, debug, trace, or 1 to 5
    #[arg(long, value_name = "LEVEL", value_parser = parse_level)]
    level: Option<u8>,

    /// Only these threads or processes (repeatable, or comma-separated)
    #[arg(short, long, value_name = "PID", value_delimiter = ',')]
    pid: Vec<i32>,

    /// Only from this time on
    #[arg(long, value_name = "TIME", value_parser = parse_time, allow_hyphen_values = true)]
    since: Option<Instant>,

    /// Only up to this time
    #[arg(long, value_name = "TIME", value_parser = parse_time, allow_hyphen_values = true)]
    until: Option<Instant>,

    /// Only messages that match this regular expression
    #[arg(short, long, value_name = "REGEX")]
    grep: Option<String>,

    /// Clock of the times that are shown
    #[arg(short, long, value_name = "CLOCK", default_value = "boot")]
    time: TimeArg,

    /// Show file and line of each call site
    #[arg(short, long)]
    location: bool,

    /// Print JSON, one object a line
    #[arg(short, long)]
    json: bool,

    /// Also print each record's payload in hex
    #[arg(long)]
    raw: bool,

    /// Colour the output
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: Color,

    /// At the end, print what was decoded and lost for each ring (to standard error; with --json
    /// as objects)
    #[arg(long)]
    stats: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum TimeArg {
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

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Color {
    Auto,
    Always,
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

/// Seconds with a fraction, in ns.
fn parse_seconds(s: &str) -> Option<i128> {
    let (whole, fraction) = s.split_once('.').unwrap_or((s, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || whole.len() > 18 || !digits(whole) || !digits(fraction) {
        return None;
    }
    let nanos: String = fraction
        .chars()
        .chain("000000000".chars())
        .take(9)
        .collect();
    Some(whole.parse::<i128>().ok()? * 1_000_000_000 + nanos.parse::<i128>().ok()?)
}

fn parse_time(s: &str) -> Result<Instant, String> {
    let parsed = if let Some(rest) = s.strip_prefix('-') {
        parse_seconds(rest).map(Instant::BeforeEnd)
    } else if let Some(rest) = s.strip_prefix('@') {
        parse_seconds(rest).map(Instant::Real)
    } else {
        parse_seconds(s)
            .map(Instant::Boot)
            .or_else(|| parse_date(s).map(Instant::Real))
    };
    parsed.ok_or_else(|| "not a time (see TIME below --help)".into())
}

/// `2026-11-21`, with or without `T10:13`, seconds and a fraction.
fn parse_date(s: &str) -> Option<i128> {
    let s = s.strip_suffix('Z').unwrap_or(s);
    let (date, time) = s.split_once(['T', ' ']).unwrap_or((s, "00:00"));
    let number = |s: &str, range: std::ops::RangeInclusive<i128>| {
        let n = s.parse::<u16>().ok().map(i128::from)?;
        range.contains(&n).then_some(n)
    };
    let mut date = date.split('-');
    let year = number(date.next()?, 1970..=9999)?;
    let month = number(date.next()?, 1..=12)?;
    let day = number(date.next()?, 1..=31)?;
    let mut time = time.split(':');
    let hour = number(time.next()?, 0..=23)?;
    let minute = number(time.next()?, 0..=59)?;
    let second = parse_seconds(time.next().unwrap_or("0"))?;
    if date.next().is_some() || time.next().is_some() || second >= 61_000_000_000 {
        return None;
    }
    let minutes = (days_from_civil(year, month, day) * 24 + hour) * 60 + minute;
    Some(minutes * 60_000_000_000 + second)
}

/// Runs the program; the answer is its exit status.
pub fn main(args: impl IntoIterator<Item = std::ffi::OsString>) -> u8 {
    let args = match Args::try_parse_from(args) {
        Ok(args) => args,
        Err(e) => {
            // Also --help and --version, to standard output and with status 0. A closed pipe
            // there is nobody's problem.
            let _ = e.print();
            return if e.use_stderr() { FAILED } else { OK };
        }
    };
    let filter = match filter(&args) {
        Ok(filter) => filter,
        Err(e) => {
            complain(&e);
            return FAILED;
        }
    };
    run(&args, &filter)
}

fn complain(what: &str) {
    // Names in it can come from a hostile file.
    let what: String = what
        .chars()
        .map(|c| if c.is_control() { '?' } else { c })
        .collect();
    let _ = writeln!(std::io::stderr(), "blog-decode: {what}");
}

fn filter(args: &Args) -> Result<Filter, String> {
    let grep = match &args.grep {
        Some(pattern) => Some(
            RegexBuilder::new(pattern)
                .build()
                .map_err(|e| format!("--grep: {e}"))?,
        ),
        None => None,
    };
    Ok(Filter {
        components: args.component.clone(),
        level: args.level,
        pids: args.pid.clone(),
        since: args.since,
        until: args.until,
        grep,
    })
}

fn run(args: &Args, filter: &Filter) -> u8 {
    for path in &args.sidetable {
        if let Err(e) = std::fs::metadata(path) {
            complain(&format!("{}: {e}", path.display()));
            return FAILED;
        }
    }
    let mut status = OK;
    let mut files = Vec::new();
    for path in &args.snapshots {
        match Snapshot::open(path) {
            Ok(file) => files.push(file),
            Err(e) => {
                complain(&e);
                status = PARTIAL;
            }
        }
    }
    if files.is_empty() {
        return FAILED;
    }
    for file in &files {
        if file.damage.any() {
            complain(&format!("{}: {}", file.name, damage_text(&file.damage)));
            status = PARTIAL;
        }
        if file.clock.is_none() || file.pairs.is_empty() {
            complain(&format!(
                "{}: without clock calibration; times are ticks",
                file.name
            ));
        }
    }

    let images = || files.iter().flat_map(|f| &f.images);
    let tables = Tables::load(images(), &args.sidetable, Some(&args.modules));
    for problem in &tables.problems {
        complain(&problem.text);
        if problem.grave {
            status = PARTIAL;
        }
    }
    let maps: Vec<SiteMap> = files
        .iter()
        .map(|f| SiteMap::new(&f.images, &tables))
        .collect();
    let calibrations = merge::calibrations(&files);
    let streams = merge::unite(&files, |name| filter.wants_component(name));
    if !filter.components.is_empty() && streams.is_empty() {
        complain("no ring of that component in the snapshot");
    }

    let mut decoder = Decoder::new(&files, &streams, &calibrations, &maps, filter);
    match write_all(args, &mut decoder) {
        Ok(()) => {}
        // Whoever reads has enough.
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => return status,
        Err(e) => {
            complain(&format!("standard output: {e}"));
            return FAILED;
        }
    }
    let (undecoded, shown) = (decoder.undecoded.clone(), decoder.shown);
    let stats = Stats {
        files: &files,
        streams: &streams,
        counts: decoder.counts().copied().collect(),
        shown,
        undecoded: &undecoded,
    };
    if stats.counts.iter().any(|c| c.damaged != 0) {
        complain("some records are damaged; they are marked in the output");
        status = PARTIAL;
    }
    if undecoded.any() {
        tell_undecoded(&undecoded);
        status = PARTIAL;
    }
    if args.stats {
        if let Err(e) = write_stats(args, &stats) {
            complain(&format!("--stats: {e}"));
        }
    }
    if files.iter().all(|f| f.rings.is_empty() && f.damage.any()) {
        return FAILED;
    }
    status
}

fn write_all(args: &Args, decoder: &mut Decoder<'_>) -> std::io::Result<()> {
    const BUFFER: usize = 64 << 10;
    let stdout = std::io::stdout();
    let color = match args.color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            let no_color = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
            stdout.is_terminal()
                && !no_color
                && std::env::var_os("TERM").is_none_or(|t| t != "dumb")
        }
    };
    let mut text = Text::new(Style {
        time: args.time.into(),
        location: args.location,
        raw: args.raw,
        color,
    });
    let mut stdout = stdout.lock();
    let mut out = Vec::with_capacity(2 * BUFFER);
    decoder.run(|entry| {
        if args.json {
            json::entry(entry, args.raw, &mut out);
        } else {
            text.entry(entry, &mut out);
        }
        if out.len() >= BUFFER {
            stdout.write_all(&out)?;
            out.clear();
        }
        Ok::<_, std::io::Error>(())
    })?;
    stdout.write_all(&out)?;
    stdout.flush()
}

fn write_stats(args: &Args, stats: &Stats<'_>) -> std::io::Result<()> {
    let mut out = Vec::new();
    if args.json {
        stats.write_json(&mut out);
        std::io::stdout().write_all(&out)?;
        std::io::stdout().flush()
    } else {
        stats.write_text(&mut out)?;
        std::io::stderr().write_all(&out)
    }
}

fn tell_undecoded(u: &Undecoded) {
    for ((name, id), n) in &u.no_table {
        let id = match id.as_str() {
            "" => "it has no build ID",
            id => &format!("no side table with build ID {id}"),
        };
        complain(&format!("{n} records of {name} not decoded: {id}"));
    }
    for (n, why) in [
        (u.no_image, "their sites are in no image of the snapshot"),
        (
            u.bad_site,
            "their format string or types are not understood",
        ),
        (u.short, "they are shorter than their arguments"),
    ] {
        if n != 0 {
            complain(&format!("{n} records not decoded: {why}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn options_are_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn times_are_read_in_all_forms() {
        let s = 1_000_000_000;
        assert_eq!(parse_time("12.5"), Ok(Instant::Boot(12 * s + s / 2)));
        assert_eq!(parse_time("-30"), Ok(Instant::BeforeEnd(30 * s)));
        assert_eq!(parse_time("@5.000000001"), Ok(Instant::Real(5 * s + 1)));
        assert_eq!(parse_time("1970-01-02"), Ok(Instant::Real(86_400 * s)));
        let t = Ok(Instant::Real(1_795_255_989 * s + s / 4));
        assert_eq!(parse_time("2026-11-21T10:13:09.25Z"), t);
        assert_eq!(parse_time("2026-11-21 10:13:09.25"), t);
        for bad in [
            "",
            "x",
            "1.2.3",
            "1970-13-01",
            "2026-11-21T25:00",
            "--1",
            "@",
            "1970-1-1-1",
        ] {
            assert!(parse_time(bad).is_err(), "{bad}");
        }
    }
}
