// SPDX-License-Identifier: GPL-2.0

//! How entries are shown: [`text`] for people, [`json`] and [`csv`] for programs, [`template`] as
//! the user wants it, [`ctf`] and [`perfetto`] for viewers of traces,
//! [`html`] for a browser.

pub mod csv;
pub mod ctf;
pub mod digits;
pub mod html;
pub mod json;
pub mod perfetto;
mod proto;
pub mod template;
pub mod text;

use crate::{
    blogfmt::bytes::until_nul,
    boot::Boot,
    decode::{
        Content,
        Entry, //
    },
    record::Writer,
    wire::record::{
        Context,
        Level, //
    },
};

/// Which clock times are shown by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Time {
    /// Seconds since boot, as dmesg.
    #[default]
    Boot,
    /// Date and time, UTC.
    Wall,
    /// Seconds of CLOCK_MONOTONIC: without the time in suspend.
    Mono,
    /// Ticks of the ring's clock.
    Raw,
    /// Seconds since the line before.
    Delta,
}

/// Name of a level.
pub fn level_name(level: u8) -> &'static str {
    Level::from_u8(level).map_or("?", Level::name)
}

/// Where an entry was written, as `comm[pid]` or `softirq/3`.
pub fn context(entry: &Entry<'_>, out: &mut Vec<u8>) {
    let Writer { context, cpu, task } = entry.writer;
    match (context, task, entry.stream.shared()) {
        (Some(Context::Task) | None, Some(task), _) => {
            // Whoever prints it makes it UTF-8.
            out.extend_from_slice(until_nul(&task.comm));
            out.push(b'[');
            digits::push_signed(out, task.pid.into());
            out.push(b']');
        }
        (Some(context), ..) => numbered(context.name(), cpu, out),
        (None, None, Some(number)) => match entry.content {
            // All of its writers.
            Content::Loss { .. } => numbered(Context::Shared.name(), Some(number), out),
            // The record that said who it is is missing.
            Content::Record(_) => numbered("unknown@shared", Some(number), out),
            Content::Line { .. } => {}
        },
        (None, None, None) if matches!(entry.content, Content::Line { .. }) => {}
        (None, None, None) => {
            out.extend_from_slice(b"ring");
            digits::push(out, entry.stream.id.into());
        }
    }
}

fn numbered(name: &str, number: Option<u32>, out: &mut Vec<u8>) {
    out.extend_from_slice(name.as_bytes());
    if let Some(number) = number {
        out.push(b'/');
        digits::push(out, number.into());
    }
}

/// Date and time of ns since 1970, UTC, in ISO 8601 with microseconds.
pub fn iso8601(ns: i128) -> String {
    let us = ns.div_euclid(1000);
    let (seconds, us) = (us.div_euclid(1_000_000), us.rem_euclid(1_000_000));
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{us:06}Z")
}

/// Year, month and day of a day since 1970, by the Gregorian calendar.
fn civil(days: i128) -> (i128, i128, i128) {
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
    let year = year_of_era + era * 400 + i128::from(month <= 2);
    (year, month, day)
}

/// The time of an entry in ns by a clock.
pub fn time_of(time: Time, clock: u64, boot: &Boot) -> i128 {
    let c = &boot.calibration;
    match time {
        Time::Boot => c.boot(clock),
        Time::Delta => boot.axis(clock),
        Time::Wall => c.real(clock),
        Time::Mono => c.mono(clock),
        Time::Raw => clock.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_right() {
        assert_eq!(iso8601(0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(
            iso8601(951_782_400_123_456_789),
            "2000-02-29T00:00:00.123456Z"
        );
        assert_eq!(
            iso8601(1_795_298_962_000_000_000),
            "2026-11-21T22:09:22.000000Z"
        );
        assert_eq!(iso8601(-1), "1969-12-31T23:59:59.999999Z");
    }
}
