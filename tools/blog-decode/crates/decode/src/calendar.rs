// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Dates: of days and ns since 1970, as text in ISO 8601, and in the user's time zone.

#[cfg(feature = "local-time")]
use std::cell::Cell;

#[cfg(feature = "local-time")]
use jiff::{tz::TimeZone, Timestamp};

use crate::digits;

/// Appends the date and time of ns since 1970 in the user's time zone.
pub fn push_local(out: &mut Vec<u8>, ns: i128, with_ns: bool) {
    #[cfg(feature = "local-time")]
    let offset = local_offset(whole_seconds(ns));
    #[cfg(not(feature = "local-time"))]
    let offset = 0;
    push_iso8601(out, ns, offset, with_ns);
}

/// Within the time that 64 bits of ns count, before and after 1970.
fn whole_seconds(ns: i128) -> i64 {
    let seconds = ns.div_euclid(1_000_000_000);
    seconds.clamp(-(1 << 35), 1 << 35) as i64
}

/// Appends a date and time in ISO 8601, with its offset from UTC, which is given in seconds.
pub fn push_iso8601(out: &mut Vec<u8>, ns: i128, offset: i32, with_ns: bool) {
    let seconds = whole_seconds(ns) + i64::from(offset);
    let fraction = ns.rem_euclid(1_000_000_000) as u64;
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil(days);
    let parts = [
        (year, 4, b'-'),
        (month, 2, b'-'),
        (day, 2, b'T'),
        (second / 3600, 2, b':'),
        (second / 60 % 60, 2, b':'),
        (second % 60, 2, b'.'),
    ];
    for (n, width, end) in parts {
        digits::push_padded(out, n as u64, width, b'0');
        out.push(end);
    }
    match with_ns {
        true => digits::push_padded(out, fraction, 9, b'0'),
        false => digits::push_padded(out, fraction / 1000, 6, b'0'),
    }
    if offset == 0 {
        return out.push(b'Z');
    }
    out.push(if offset < 0 { b'-' } else { b'+' });
    let minutes = u64::from(offset.unsigned_abs()) / 60;
    digits::push_padded(out, minutes / 60, 2, b'0');
    out.push(b':');
    digits::push_padded(out, minutes % 60, 2, b'0');
}

/// Year, month and day of a day since 1970, by the Gregorian calendar.
pub fn civil(days: i64) -> (i64, i64, i64) {
    // Years start in March here, so that the leap day is the last of its year.
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

/// The day since 1970 that has this date, by the Gregorian calendar.
pub fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// How many seconds the local time is ahead of UTC, at a time in seconds since 1970.
#[cfg(feature = "local-time")]
fn local_offset(at: i64) -> i32 {
    // It changes at quarters of an hour.
    const QUARTER: i64 = 900;
    thread_local! {
        static LAST: Cell<(i64, i32)> = const { Cell::new((i64::MIN, 0)) };
    }
    let quarter = at.div_euclid(QUARTER);
    let (last, offset) = LAST.get();
    if last == quarter {
        return offset;
    }
    let at = Timestamp::from_second(at);
    let offset = at.map_or(0, |at| TimeZone::system().to_offset(at).seconds());
    LAST.set((quarter, offset));
    offset
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_the_dates_that_they_are_of() {
        for day in -200_000..200_000 {
            let (year, month, day_of_month) = civil(day);
            assert_eq!(days(year, month, day_of_month), day);
        }
    }

    #[test]
    fn dates_are_right() {
        let iso8601 = |ns, offset, with_ns| {
            let mut out = Vec::new();
            push_iso8601(&mut out, ns, offset, with_ns);
            String::from_utf8(out).unwrap()
        };
        for (ns, offset, with_ns, expected) in [
            (0, 0, false, "1970-01-01T00:00:00.000000Z"),
            (951_782_400_123_456_789, 0, false, "2000-02-29T00:00:00.123456Z"),
            (1_795_298_962_000_000_000, 0, false, "2026-11-21T22:09:22.000000Z"),
            (1_795_298_962_000_000_000, 7200, false, "2026-11-22T00:09:22.000000+02:00"),
            (1_795_298_962_000_000_000, -16_200, false, "2026-11-21T17:39:22.000000-04:30"),
            (-1, 0, false, "1969-12-31T23:59:59.999999Z"),
            (-1, 0, true, "1969-12-31T23:59:59.999999999Z"),
        ] {
            assert_eq!(iso8601(ns, offset, with_ns), expected);
        }
        for hostile in [i128::MIN, i128::MAX] {
            for offset in [i32::MIN, 0, i32::MAX] {
                assert!(!iso8601(hostile, offset, false).is_empty());
            }
        }
    }
}
