// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Output of entries: [`text`] for people, [`json`] and [`csv`] for programs, [`template`] for the
//! user's own form, [`ctf`] and [`perfetto`] for viewers of traces, [`html`] for a browser,
//! [`parquet`] and [`otlp`] for fleets.

pub mod csv;
pub mod ctf;
pub mod digits;
pub mod html;
pub mod json;
pub mod otlp;
#[cfg(feature = "cli")]
pub mod parquet;
pub mod perfetto;
mod proto;
pub mod template;
pub mod text;

use std::sync::Arc;

use crate::{
    blogfmt::bytes::until_nul,
    boot::Boot,
    decode::{Content, Entry},
    record::Writer,
    wire::record::{Context, Level},
};

/// Which clock times are shown by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Time {
    /// Seconds since boot, as dmesg.
    #[default]
    Boot,
    /// Date and time, local.
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

/// The level of this name, or of the one that the kernel or syslog has for it.
pub fn level_named(name: &str) -> Option<Level> {
    let name = match name {
        "emerg" | "alert" | "crit" | "error" => "err",
        "warning" => "warn",
        "notice" => "info",
        name => name,
    };
    Level::ALL.into_iter().find(|l| l.name() == name)
}

/// Names of arguments, of which none is there twice.
#[derive(Default)]
pub(crate) struct Names(Vec<String>);

impl Names {
    /// The name, or another one if it was there before.
    pub(crate) fn add(&mut self, name: &str) -> &str {
        let mut name = name.to_owned();
        while self.0.contains(&name) {
            name.push('\'');
        }
        self.0.push(name);
        self.0.last().map_or("", String::as_str)
    }
}

/// What stands in a line for where an entry was written and for its level, of rings that had
/// entries lately.
#[derive(Default)]
pub(crate) struct Contexts(Vec<Known>);

#[derive(Clone, Default)]
struct Known {
    boot: usize,
    component: Arc<str>,
    ring: u32,
    shared: Option<u32>,
    writer: Writer,
    level: u8,
    text: Vec<u8>,
}

/// As many are kept.
const CONTEXTS: usize = 4096;

impl Contexts {
    /// The text for an entry; if it isn't known, `make` appends it.
    pub(crate) fn get(
        &mut self,
        entry: &Entry<'_>,
        level: u8,
        make: impl FnOnce(&mut Vec<u8>),
    ) -> &[u8] {
        let stream = entry.stream;
        let index = (stream.id as usize * 8 + usize::from(level % 8)) % CONTEXTS;
        if index >= self.0.len() {
            self.0.resize(index + 1, Known::default());
        }
        let known = &mut self.0[index];
        let is_same = known.ring == stream.id
            && known.level == level
            && known.boot == entry.boot.index
            && known.shared == stream.shared()
            && known.writer == *entry.writer
            && known.component == stream.component;
        // If nobody knows who it was, it depends on more than that.
        if !is_same || known.text.is_empty() || *entry.writer == Writer::default() {
            known.component.clone_from(&stream.component);
            (known.ring, known.shared) = (stream.id, stream.shared());
            known.boot = entry.boot.index;
            (known.writer, known.level) = (*entry.writer, level);
            known.text.clear();
            make(&mut known.text);
        }
        &known.text
    }
}

/// Where an entry was written, as `comm[pid]` or `softirq/3`.
pub fn context(entry: &Entry<'_>, out: &mut Vec<u8>) {
    let Writer { context, cpu, task } = *entry.writer;
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

/// Appends the date and time of ns since 1970 in the user's time zone.
pub fn push_local(out: &mut Vec<u8>, ns: i128, with_ns: bool) {
    #[cfg(feature = "cli")]
    let offset = crate::cli::time::offset(whole_seconds(ns));
    #[cfg(not(feature = "cli"))]
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
pub(crate) fn civil(days: i64) -> (i64, i64, i64) {
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
        let iso8601 = |ns, offset, with_ns| {
            let mut out = Vec::new();
            push_iso8601(&mut out, ns, offset, with_ns);
            String::from_utf8(out).unwrap()
        };
        for (ns, offset, with_ns, expected) in [
            (0, 0, false, "1970-01-01T00:00:00.000000Z"),
            (
                951_782_400_123_456_789,
                0,
                false,
                "2000-02-29T00:00:00.123456Z",
            ),
            (
                1_795_298_962_000_000_000,
                0,
                false,
                "2026-11-21T22:09:22.000000Z",
            ),
            (
                1_795_298_962_000_000_000,
                7200,
                false,
                "2026-11-22T00:09:22.000000+02:00",
            ),
            (
                1_795_298_962_000_000_000,
                -16_200,
                false,
                "2026-11-21T17:39:22.000000-04:30",
            ),
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
