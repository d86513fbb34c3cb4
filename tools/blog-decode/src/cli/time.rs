// SPDX-License-Identifier: GPL-2.0

//! The forms in which a user may name a time.

use crate::{
    filter::Instant,
    output::days_from_civil, //
};

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

/// Reads a TIME of `--since` and `--until`.
pub fn parse_time(s: &str) -> Result<Instant, String> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
