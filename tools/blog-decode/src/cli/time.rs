// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The forms in which a user may name a time.
//!
//! A time without a zone is in the user's zone, by `TZ` and `/etc/localtime`. Output has times in
//! that zone, too.

use jiff::{
    civil::{DateTime, Time},
    fmt::temporal::Pieces,
    tz::{AmbiguousOffset, TimeZone},
    Span, SpanRelativeTo, Timestamp, ToSpan,
};

use crate::filter::Instant;

/// A time as it was named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// One that is known.
    At(Instant),
    /// One of the local time zone.
    Local(DateTime),
    /// So many days before the one on which the snapshot was taken, at this time; and whether that is
    /// of UTC.
    Day(i64, Time, bool),
}

/// A time as it was named, and how exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    when: When,
    /// In ns.
    unit: i128,
}

impl Limit {
    /// Reads a TIME of `--since` and `--until`.
    pub fn parse(s: &str) -> Result<Self, String> {
        let digits = s.split_once('.').map_or(0, |(_, rest)| {
            let digits = rest.bytes().take_while(u8::is_ascii_digit);
            digits.count().clamp(0, 9) as u32
        });
        Ok(Self { when: parse_time(s)?, unit: 10i128.pow(9 - digits.max(SHOWN)) })
    }

    /// What it is for a snapshot that was taken at this time, in ns since 1970, as the first or the last
    /// time that is wanted (`is_end`). A time that was shown without its last digits is wanted, too:
    /// those that count back from the end are later than they say, others earlier.
    pub fn resolve(self, taken: i128, is_end: bool) -> Result<Instant, String> {
        let rest = self.unit - 1;
        Ok(match (self.when.resolve(taken, is_end)?, is_end) {
            (Instant::Boot(ns), true) => Instant::Boot(ns + rest),
            (Instant::Real(ns), true) => Instant::Real(ns + rest),
            (Instant::BeforeEnd(ns), false) => Instant::BeforeEnd(ns + rest),
            (at, _) => at,
        })
    }

    /// Whether it takes a log to know which time it is.
    pub fn needs_log(&self) -> bool {
        !matches!(self.when, When::At(Instant::Boot(_) | Instant::Real(_)))
    }
}

/// As many digits of a second are shown.
const SHOWN: u32 = 6;

impl When {
    /// Which time that is for a snapshot that was taken at this one, in ns since 1970. `is_end`: of two
    /// that it may be, it is the later one.
    pub fn resolve(self, taken: i128, is_end: bool) -> Result<Instant, String> {
        let zone = match self {
            Self::Day(.., true) => TimeZone::UTC,
            _ => TimeZone::system(),
        };
        let date = match self {
            Self::At(instant) => return Ok(instant),
            Self::Local(date) => Ok(date),
            Self::Day(days, time, _) => Timestamp::from_nanosecond(taken)
                .map(|t| zone.to_datetime(t).date())
                .and_then(|date| date.checked_sub(days.days()))
                .map(|date| date.to_datetime(time)),
        };
        let at = date.and_then(|date| instant(&zone, date, is_end));
        at.map(|t| Instant::Real(t.as_nanosecond())).map_err(|e| e.to_string())
    }
}

/// When clocks of a zone show a time. When they are put back, they show it twice: what begins then, begins
/// with the first, and what ends, ends with the second (`is_end`). When they are put forward, it is the
/// moment at which that is done.
fn instant(zone: &TimeZone, date: DateTime, is_end: bool) -> Result<Timestamp, jiff::Error> {
    let ambiguous = zone.to_ambiguous_timestamp(date);
    match ambiguous.offset() {
        AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(date),
        AmbiguousOffset::Fold { before, after } => {
            let offset = if is_end { after } else { before };
            offset.to_timestamp(date)
        }
        AmbiguousOffset::Gap { after, .. } => {
            let early = after.to_timestamp(date)?;
            let put_forward = zone.following(early).next();
            Ok(put_forward.map_or(early, |transition| transition.timestamp()))
        }
    }
}

/// Seconds with a fraction, in ns.
fn parse_seconds(s: &str) -> Option<i128> {
    let (whole, fraction) = s.split_once('.').unwrap_or((s, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || whole.len() > 18 || !digits(whole) || !digits(fraction) {
        return None;
    }
    let nanos: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    Some(whole.parse::<i128>().ok()? * 1_000_000_000 + nanos.parse::<i128>().ok()?)
}

/// Reads a TIME.
fn parse_time(s: &str) -> Result<When, String> {
    let s = &lower(s)?;
    let at = if s == "now" {
        Some(Instant::BeforeEnd(0))
    } else if let Some(rest) = s.strip_prefix(['-', '+']) {
        let ns = parse_seconds(rest).or_else(|| parse_span(rest));
        let sign = if s.starts_with('+') { -1 } else { 1 };
        ns.map(|ns| Instant::BeforeEnd(sign * ns))
    } else if let Some(span) = s.strip_suffix("ago") {
        parse_span(span.trim_end()).map(Instant::BeforeEnd)
    } else if let Some(rest) = s.strip_prefix('@') {
        parse_seconds(rest).map(Instant::Real)
    } else {
        // With a colon, it is a time of day.
        let span = || parse_span(s).filter(|_| !s.contains(':'));
        parse_seconds(s).or_else(span).map(Instant::Boot)
    };
    at.map(When::At)
        .or_else(|| parse_date(s))
        .or_else(|| parse_day(s))
        .ok_or_else(|| "not a time: use 10:30, -5m or @SECONDS (see TIME below --help)".into())
}

/// Words in lower case. A letter stays what it is: others take `M` for months, and `m` is a minute.
fn lower(s: &str) -> Result<String, String> {
    let mut bytes = s.as_bytes().to_vec();
    let is_word = |b: &u8| b.is_ascii_alphabetic();
    bytes
        .chunk_by_mut(|a, b| is_word(a) == is_word(b))
        .filter(|word| word.len() > 1)
        .for_each(<[u8]>::make_ascii_lowercase);
    String::from_utf8(bytes).map_err(|e| e.to_string())
}

/// `5m`, `1h30m`, `2 days`: in ns. Months and years are as long as they are on average, as for systemd.
pub fn parse_span(s: &str) -> Option<i128> {
    const MONTH: i128 = 2_629_800 * 1_000_000_000;
    let span: Span = s.parse().ok()?;
    let months = i128::from(span.get_years()) * 12 + i128::from(span.get_months());
    let rest = span.try_years(0).and_then(|span| span.try_months(0)).ok()?;
    let duration = rest.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?;
    (!span.is_negative()).then(|| months * MONTH + duration.as_nanos())
}

/// `today`, `yesterday`, with or without a time, and a time alone.
fn parse_day(s: &str) -> Option<When> {
    let (s, is_utc) = match s.strip_suffix(UTC) {
        Some(rest) => (rest, true),
        None => (s, false),
    };
    let (day, time) = s.split_once(' ').unwrap_or((s, "00:00"));
    let (days, time) = match day {
        "today" => (0, time),
        "yesterday" => (1, time),
        "tomorrow" => (-1, time),
        _ => (0, Some(s).filter(|s| s.contains(':'))?),
    };
    Some(When::Day(days, time.parse().ok()?, is_utc))
}

/// Days of the week.
const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
/// What journalctl prints after times of UTC.
const UTC: &str = " utc";

/// `2026-11-21`, with or without `T10:13`, seconds, a fraction, and an offset; and with the day of the
/// week in front, as systemd prints it.
fn parse_date(s: &str) -> Option<When> {
    let (day, rest) = s.split_once(' ').unwrap_or(("", s));
    let s = if DAYS.contains(&day) { rest } else { s };
    let zoned = s.strip_suffix(UTC).map(|date| format!("{date}[UTC]"));
    let pieces = Pieces::parse(zoned.as_deref().unwrap_or(s)).ok()?;
    let date = pieces.date().to_datetime(pieces.time().unwrap_or_default());
    let at = match (pieces.to_numeric_offset(), pieces.to_time_zone().ok()?) {
        (Some(offset), _) => offset.to_timestamp(date),
        (None, Some(zone)) => zone.to_timestamp(date),
        (None, None) => return Some(When::Local(date)),
    };
    Some(When::At(Instant::Real(at.ok()?.as_nanosecond())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_all_forms() {
        let s = 1_000_000_000;
        let at = |s| parse_time(s).map(|t| t.resolve(0, false).unwrap());
        assert_eq!(at("12.5"), Ok(Instant::Boot(12 * s + s / 2)));
        assert_eq!(at("-30"), Ok(Instant::BeforeEnd(30 * s)));
        assert_eq!(at("-5m"), Ok(Instant::BeforeEnd(300 * s)));
        assert_eq!(at("-1h30m"), Ok(Instant::BeforeEnd(5400 * s)));
        assert_eq!(at("-1d"), Ok(Instant::BeforeEnd(86_400 * s)));
        assert_eq!(at("-10ms"), Ok(Instant::BeforeEnd(s / 100)));
        assert_eq!(at("+5m"), Ok(Instant::BeforeEnd(-300 * s)));
        assert_eq!(at("+1.5"), Ok(Instant::BeforeEnd(-s - s / 2)));
        assert_eq!(at("now"), Ok(Instant::BeforeEnd(0)));
        assert_eq!(at("5 min ago"), Ok(Instant::BeforeEnd(300 * s)));
        assert_eq!(at("2 hours 1 minute ago"), Ok(Instant::BeforeEnd(7260 * s)));
        assert_eq!(at("90s ago"), Ok(Instant::BeforeEnd(90 * s)));
        assert_eq!(at("5m"), Ok(Instant::Boot(300 * s)));
        assert_eq!(at("5 MIN ago"), Ok(Instant::BeforeEnd(300 * s)));
        assert_eq!(at("Now"), Ok(Instant::BeforeEnd(0)));
        // As "systemd-analyze timespan" has them.
        assert_eq!(at("1 month ago"), Ok(Instant::BeforeEnd(2_629_800 * s)));
        let year_and_day = Ok(Instant::BeforeEnd((31_557_600 + 86_400) * s));
        assert_eq!(at("1 year 1 day ago"), year_and_day);
        assert_eq!(at("1970-01-02 00:00 UTC"), Ok(Instant::Real(86_400 * s)));
        assert_eq!(at("1970-01-02 utc"), Ok(Instant::Real(86_400 * s)));
        assert_eq!(at("@5.000000001"), Ok(Instant::Real(5 * s + 1)));
        assert_eq!(at("1970-01-02T00:00Z"), Ok(Instant::Real(86_400 * s)));
        let t = Ok(Instant::Real(1_795_255_989 * s + s / 4));
        assert_eq!(at("2026-11-21T10:13:09.25Z"), t);
        assert_eq!(at("2026-11-21 12:13:09.25+02:00"), t);
        assert_eq!(at("Sat 2026-11-21 10:13:09.25 UTC"), t);
        assert_eq!(at("2026-11-21 05:43:09.25-04:30"), t);
        let time = |h, m| Time::constant(h, m, 0, 0);
        for (text, days, of_day, is_utc) in [
            ("10:13", 0, time(10, 13), false),
            ("10:13 UTC", 0, time(10, 13), true),
            ("today", 0, time(0, 0), false),
            ("Today utc", 0, time(0, 0), true),
            ("yesterday 09:30", 1, time(9, 30), false),
            ("tomorrow", -1, time(0, 0), false),
            ("TOMORROW 09:30 UTC", -1, time(9, 30), true),
        ] {
            assert_eq!(parse_time(text), Ok(When::Day(days, of_day, is_utc)), "{text}");
        }
        assert_eq!(at("10:13 UTC"), Ok(Instant::Real(36_780 * s)));
        for bad in [
            "",
            "x",
            "1.2.3",
            "1970-13-01",
            "2026-02-31",
            "2026-02-29T10:00",
            "2026-11-21T25:00",
            "--1",
            "--5m",
            "+",
            "+-5m",
            "x 2026-11-21",
            "-5x",
            "ago",
            "5 ago",
            "-5m ago",
            "now ago",
            "5M ago",
            "UTC",
            "5 min ago UTC",
            "24:00",
            "today x",
            "@",
            "1970-1-1-1",
        ] {
            assert!(parse_time(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_time_that_is_shown_is_between_itself_as_a_limit() {
        let limit = |s, is_end| Limit::parse(s).unwrap().resolve(0, is_end);
        for (shown, ns) in [
            ("12.345678", 12_345_678_999),
            ("12.345678901", 12_345_678_901),
            ("12", 12_000_000_999),
        ] {
            assert_eq!(limit(shown, true), Ok(Instant::Boot(ns)));
        }
        assert_eq!(limit("12.345678", false), Ok(Instant::Boot(12_345_678_000)));
        let day = 86_400_000_000_000;
        for (shown, ns) in [
            ("1970-01-02T00:00:00.000001Z", day + 1_999),
            ("1970-01-02T02:00:00.000001+02:00", day + 1_999),
            ("1970-01-02T00:00:00.000000001Z", day + 1),
            ("@86400.000001", day + 1_999),
        ] {
            assert_eq!(limit(shown, true), Ok(Instant::Real(ns)), "{shown}");
        }
        // So long before the end, of which the last digits are not shown.
        let ago = |ns| Ok(Instant::BeforeEnd(ns));
        assert_eq!(limit("-1.000002", false), ago(1_000_002_999));
        assert_eq!(limit("-1.000002", true), ago(1_000_002_000));
    }

    /// In 2026, clocks in Berlin are put forward on 29 March at 1:00 UTC, and back on 25 October.
    #[test]
    fn no_hour_is_lost_when_clocks_are_changed() {
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        for (local, since, until) in [
            ("2026-03-29T01:59", "2026-03-29T00:59Z", "2026-03-29T00:59Z"),
            ("2026-03-29T02:30", "2026-03-29T01:00Z", "2026-03-29T01:00Z"),
            ("2026-03-29T03:01", "2026-03-29T01:01Z", "2026-03-29T01:01Z"),
            ("2026-10-25T01:59", "2026-10-24T23:59Z", "2026-10-24T23:59Z"),
            ("2026-10-25T02:30", "2026-10-25T00:30Z", "2026-10-25T01:30Z"),
            ("2026-10-25T03:00", "2026-10-25T02:00Z", "2026-10-25T02:00Z"),
        ] {
            let date = local.parse().unwrap();
            for (expected, is_end) in [(since, false), (until, true)] {
                let at = instant(&zone, date, is_end).unwrap();
                let expected = parse_time(expected).unwrap().resolve(0, is_end);
                assert_eq!(Ok(Instant::Real(at.as_nanosecond())), expected, "{local}");
            }
        }
    }

    #[test]
    fn hostile_clocks_make_no_panic() {
        for taken in [i128::MIN, i128::MAX, -1, 0] {
            let _ = When::Day(1, Time::midnight(), false).resolve(taken, false);
        }
    }
}
