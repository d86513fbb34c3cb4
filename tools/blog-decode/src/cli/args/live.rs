// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Commands for a running system.

use std::{path::PathBuf, time::Duration};

use clap::Args;

use super::{place, TablePaths};
use crate::cli::time::parse_span;

/// Options of `record`.
#[derive(Args, Debug)]
pub struct Record {
    /// The stream file, or the snapshot file with --every, or a pipe with its content. The default
    /// is this system's file
    #[arg(value_name = "FILE")]
    pub stream: Vec<PathBuf>,

    /// The directory; older files in it count for --size
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,

    /// Limit for all files together; the oldest files are removed
    #[arg(long, value_name = "BYTES", default_value = "1G", value_parser = parse_size)]
    pub size: u64,

    /// Start the next file after this size
    #[arg(long, value_name = "BYTES", default_value = "64M", value_parser = parse_size)]
    pub file_size: u64,

    /// Take a snapshot at this interval, instead of recording the stream
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub every: Option<Duration>,

    /// Stop after this time
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub duration: Option<Duration>,

    /// Directory of this system's BLog files
    #[arg(long, value_name = "DIR", default_value_os_t = place(), hide_default_value = true)]
    pub blog: PathBuf,

    #[command(flatten)]
    pub tables: TablePaths,
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

/// Seconds, or `5ms`, `1m`, `1h30m`.
pub(super) fn parse_duration(s: &str) -> Result<Duration, String> {
    let seconds = s.parse().ok().and_then(|n| Duration::try_from_secs_f64(n).ok());
    let span = || Some(Duration::from_nanos(parse_span(s)?.try_into().ok()?));
    seconds
        .or_else(span)
        .filter(|d| !d.is_zero() && d.as_secs() < 1 << 32)
        .ok_or_else(|| "not a duration; for example 0.5 (seconds), 5ms, 1m or 1h30m".into())
}
