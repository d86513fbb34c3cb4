// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! From a ring's clock to times that people know.
//!
//! A snapshot has pairs of (ring clock, monotonic, boot, real time); straight lines between and
//! beyond them convert times. The output and the filters call this; nothing here can overflow or
//! panic.

use crate::wire::file::{Clock, ClockKind, ClockPair};

/// What the times of another log are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogClock {
    /// `local_clock()`: printk's, and ftrace's where nothing else was chosen.
    Local,
    /// CLOCK_MONOTONIC, which stops while the machine sleeps.
    Mono,
    /// CLOCK_BOOTTIME.
    Boot,
}

/// Converts a ring's clock.
#[derive(Clone, Debug)]
pub struct Calibration {
    pairs: Vec<ClockPair>,
    /// Ticks are nanoseconds, and only the offset is to be found.
    is_ns: bool,
    /// Lines from each pair on, by clock; the first also goes back from it. Never empty.
    mono: Vec<Line>,
    boot: Vec<Line>,
    /// CLOCK_REALTIME - CLOCK_BOOTTIME.
    real: i128,
}

/// A straight line through a point: `to + (clock - from) * rate / 2^64`.
#[derive(Clone, Copy, Debug)]
struct Line {
    from: u64,
    to: u64,
    /// Nanoseconds for each tick, times 2^64, rounded up so that the next pair is met exactly.
    rate: i128,
}

/// Two pairs that are nearer, in ns, say less of the rate than its nominal value does.
const NEAR: u64 = 1_000_000_000;

/// Nanoseconds in a second.
const NS: u64 = 1_000_000_000;

/// 2^64 as a rate: a nanosecond for each tick.
const ONE: i128 = 1 << 64;

impl Line {
    fn through(a: (u64, u64), b: (u64, u64)) -> Self {
        let ticks = i128::from(b.0) - i128::from(a.0);
        let ns = i128::from(b.1) - i128::from(a.1);
        // Both are below 2^64 and ticks is not 0; a time that goes back is a hostile file's.
        let rate = (ns.max(0) as u128)
            .checked_shl(64)
            .map_or(u128::MAX, |n| n.div_ceil(ticks.max(1) as u128));
        Self { from: a.0, to: a.1, rate: i128::try_from(rate).unwrap_or(i128::MAX) }
    }

    fn with_hz(from: u64, to: u64, hz: u64) -> Self {
        Self {
            from,
            to,
            rate: match hz {
                0 => ONE,
                hz => (1_000_000_000 * ONE - 1) / i128::from(hz) + 1,
            },
        }
    }

    #[inline]
    fn at(&self, clock: u64) -> i128 {
        let ticks = clock.abs_diff(self.from);
        let ns = match u64::try_from(self.rate) {
            _ if self.rate == ONE => ticks.into(),
            Ok(rate) => ((u128::from(ticks) * u128::from(rate)) >> 64) as i128,
            Err(_) => {
                i128::from(ticks).checked_mul(self.rate).map_or(i128::from(u64::MAX), |n| n >> 64)
            }
        };
        let to = i128::from(self.to);
        if clock < self.from {
            to - ns
        } else {
            to + ns
        }
    }
}

impl Calibration {
    /// Takes what a snapshot says. Without a clock section, ticks count as nanoseconds.
    pub fn new(clock: Option<&Clock>, pairs: &[ClockPair]) -> Self {
        let is_mono = clock.is_none_or(|c| c.kind == ClockKind::MonoFast as u32);
        Self::by(is_mono, clock.map_or(0, |c| c.hz), pairs.to_vec())
    }

    /// By pairs in any order, and a nominal rate.
    fn by(is_ns: bool, hz: u64, mut pairs: Vec<ClockPair>) -> Self {
        pairs.sort_by_key(|p| p.clock);
        pairs.dedup_by_key(|p| p.clock);
        Self {
            mono: lines(is_ns, hz, &pairs, |p| p.mono),
            boot: lines(is_ns, hz, &pairs, |p| p.boot),
            real: pairs.last().map_or(0, |p| i128::from(p.real) - i128::from(p.boot)),
            is_ns,
            pairs,
        }
    }

    /// CLOCK_MONOTONIC in ns.
    #[inline]
    pub fn mono(&self, clock: u64) -> i128 {
        on_line(&self.mono, clock)
    }

    /// CLOCK_BOOTTIME in ns: what dmesg's times are close to.
    #[inline]
    pub fn boot(&self, clock: u64) -> i128 {
        on_line(&self.boot, clock)
    }

    /// CLOCK_REALTIME in ns since 1970, by the latest idea of it that the file has.
    pub fn real(&self, clock: u64) -> i128 {
        self.real_of_boot(self.boot(clock))
    }

    /// CLOCK_REALTIME of a time by CLOCK_BOOTTIME.
    pub fn real_of_boot(&self, ns: i128) -> i128 {
        ns + self.real
    }

    /// One whose clock is that of another log, and which agrees with this one on the others.
    pub fn of_log(&self, clock: LogClock) -> Self {
        let clock = match self.measures(clock) {
            true => clock,
            // The nearest that there is.
            false => LogClock::Mono,
        };
        let of_pair = |p: &ClockPair| {
            let clock = match clock {
                LogClock::Boot => p.boot,
                LogClock::Mono => p.mono,
                LogClock::Local if p.local == 0 => return None,
                LogClock::Local => p.local,
            };
            Some(ClockPair { clock, ..*p })
        };
        let pairs = self.pairs.iter().filter_map(of_pair).collect();
        match clock {
            LogClock::Boot => Self::by(true, 0, pairs),
            LogClock::Mono => Self::by(self.is_ns, NS, pairs),
            LogClock::Local => Self::by(false, NS, pairs),
        }
    }

    /// Whether it knows a log's clock by measurement, and not by one that is close to it.
    pub fn measures(&self, clock: LogClock) -> bool {
        clock != LogClock::Local || self.pairs.iter().any(|p| p.local != 0)
    }

    /// Whether the file says how its clock relates to others.
    pub fn is_known(&self) -> bool {
        !self.pairs.is_empty()
    }

    /// What records before an instant, in ns since boot, are off by in [`Calibration::real`], if
    /// the wall clock was set then: positive if it was ahead before.
    pub fn set(&self) -> Option<(u64, i128)> {
        let last = self.pairs.last()?;
        let is_off = |p: &ClockPair| Some((p.boot, -was_set(p, last)?));
        self.pairs.iter().rev().find_map(is_off)
    }

    /// The latest pair: about when the snapshot was taken.
    pub fn taken(&self) -> Option<&ClockPair> {
        self.pairs.last()
    }
}

/// Real time that is off by as many ns, and by as much of the time between, has been set.
const SET: i128 = 60_000_000_000;
const SET_PART: i128 = 1000;

/// How far the wall clock was put forward between two instants of a boot, in ns; `None`: it wasn't set.
pub(crate) fn was_set(a: &ClockPair, b: &ClockPair) -> Option<i128> {
    let passed = |a, b| i128::from(b) - i128::from(a);
    let boot = passed(a.boot, b.boot);
    let off = passed(a.real, b.real) - boot;
    (off.abs() > SET && off.abs() > boot.abs() / SET_PART).then_some(off)
}

/// Lines from each pair to the next.
fn lines(is_ns: bool, hz: u64, pairs: &[ClockPair], to: fn(&ClockPair) -> u64) -> Vec<Line> {
    let nominal = |p: &ClockPair| Line::with_hz(p.clock, to(p), if is_ns { 0 } else { hz });
    let ([first, ..], false) = (pairs, is_ns) else {
        return match pairs {
            [] => vec![Line::with_hz(0, 0, hz)],
            pairs => pairs.iter().map(nominal).collect(),
        };
    };
    let Some((last, [_, ..])) = pairs.split_last() else {
        return vec![nominal(first)];
    };
    // Just before and after a break of the clock, or of two files that were made at once, the rate
    // is too inexact for records that are far away.
    let near = |w: &[ClockPair]| hz != 0 && w[1].boot.saturating_sub(w[0].boot) < NEAR;
    let windows = || pairs.windows(2);
    let mut all = Vec::with_capacity(pairs.len() + 1);
    all.extend(windows().next().filter(|w| near(w)).map(|_| nominal(first)));
    all.extend(windows().map(|w| Line::through((w[0].clock, to(&w[0])), (w[1].clock, to(&w[1])))));
    all.extend(windows().last().filter(|w| near(w)).map(|_| nominal(last)));
    all
}

#[inline]
fn on_line(lines: &[Line], clock: u64) -> i128 {
    if let [line] = lines {
        return line.at(clock);
    }
    // The line that starts at or before it, or the first.
    let i = lines.partition_point(|l| l.from <= clock).max(1);
    lines.get(i - 1).map_or(clock.into(), |l| l.at(clock))
}
