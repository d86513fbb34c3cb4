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
        pairs.sort_by_key(|p| (p.clock, p.boot));
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
            LogClock::Boot => {
                let mut this = Self::by(true, 0, pairs);
                // Also before the first pair, and in a sleep.
                this.boot = vec![Line::with_hz(0, 0, 0)];
                this
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn counter(pairs: &[(u64, u64, u64, u64)]) -> Calibration {
        let pairs: Vec<_> = pairs
            .iter()
            .map(|&(clock, mono, boot, real)| ClockPair { clock, mono, boot, real, local: 0 })
            .collect();
        let clock =
            Clock { kind: ClockKind::Counter as u32, pairs: pairs.len() as u32, hz: 3_000_000_000 };
        Calibration::new(Some(&clock), &pairs)
    }

    #[test]
    fn lies_on_the_line_within_and_beyond_the_pairs() {
        let c = counter(&[(1000, 10, 20, 30), (4000, 1010, 1020, 5030)]);
        assert_eq!(c.mono(1000), 10);
        assert_eq!(c.mono(2500), 510);
        assert_eq!(c.boot(4000), 1020);
        assert_eq!(c.boot(7000), 2020);
        assert_eq!(c.mono(0), 10 - 333);
        // By the latest pair: real time may have been set in between.
        assert_eq!(c.real(1000), 20 + 4010);
    }

    #[test]
    fn one_pair_or_none_is_enough() {
        assert_eq!(counter(&[(3000, 5, 6, 7)]).mono(6000), 5 + 1000);
        assert_eq!(counter(&[]).mono(6000), 2000);
        assert_eq!(Calibration::new(None, &[]).boot(6000), 6000);
    }

    #[test]
    fn monotonic_ticks_are_nanoseconds() {
        let clock = Clock { kind: ClockKind::MonoFast as u32, pairs: 2, hz: 0 };
        let pair = |mono, boot| ClockPair { clock: mono, mono, boot, real: boot, local: 0 };
        // A second of sleep between the pairs.
        let c = Calibration::new(Some(&clock), &[pair(100, 100), pair(200, 1200)]);
        assert_eq!(c.mono(150), 150);
        assert_eq!(c.boot(150), 150);
        assert_eq!(c.boot(250), 1250);
    }

    #[test]
    fn a_sleep_is_in_no_time_but_its_own() {
        // It awakes an hour later, and the clock has gone on by 5 ticks. The monotonic one stops.
        let hour = 3_600_000_000_000;
        let c = counter(&[
            (0, 0, 0, 0),
            (6_000, 2_000, 2_000, 2_000),
            (6_005, 2_010, 2_010 + hour, 2_010 + hour),
            (12_005, 4_010, 4_010 + hour, 4_010 + hour),
        ]);
        assert_eq!((c.boot(3_000), c.mono(3_000)), (1_000, 1_000));
        let hour = i128::from(hour);
        assert_eq!((c.boot(9_005), c.mono(9_005)), (3_010 + hour, 3_010));
        assert_eq!(c.real(9_005), 3_010 + hour);
        assert_eq!(c.boot(15_005), 5_010 + hour);
    }

    #[test]
    fn a_clock_that_follows_another_has_its_own_rate() {
        let pair = |clock, ns| ClockPair { clock, mono: ns, boot: ns, real: ns, local: 0 };
        let pairs =
            [pair(0, 0), pair(6_000, 2_000), pair(1 << 36, 2_010), pair((1 << 36) + 500, 2_510)];
        let clock = Clock { kind: ClockKind::Mixed as u32, pairs: 4, hz: 1_000_000_000 };
        let c = Calibration::new(Some(&clock), &pairs);
        assert_eq!((c.boot(3_000), c.boot((1 << 36) + 100)), (1_000, 2_110));
        assert_eq!(c.boot((1 << 36) + 1_000_000), 2_010 + 1_000_000);
    }

    #[test]
    fn what_comes_just_after_a_break_goes_by_the_nominal_rate() {
        // The last pair is off by a tick.
        let c = counter(&[(0, 0, 0, 0), (3_000_000_000, 1_000_000_000, 1_000_000_000, 0)]);
        assert_eq!(c.boot(6_000_000_000), 2_000_000_000);
        let c = counter(&[(0, 0, 0, 0), (3_000, 1_100, 1_100, 0)]);
        assert_eq!(c.boot(1_500), 550);
        assert_eq!(c.boot(3_000_003_000), 1_000_001_100);
    }

    #[test]
    fn pairs_of_the_same_tick_are_one() {
        let c = counter(&[
            (0, 0, 0, 0),
            (3_000, 1_000, 1_000, 0),
            (3_000, 1_007, 1_007, 0),
            (6_000_003_000, 2_000_001_000, 2_000_001_000, 0),
        ]);
        assert_eq!((c.boot(1_500), c.boot(3_000)), (500, 1_000));
        assert_eq!(c.boot(3_003_000), 1_001_000);
    }

    #[test]
    fn what_is_before_two_files_that_were_made_at_once_goes_by_the_nominal_rate() {
        let ns = 1_000_000_000;
        let c = counter(&[
            (9 * ns, 3 * ns, 3 * ns, 0),
            (9 * ns + 300, 3 * ns + 150, 3 * ns + 150, 0),
            (18 * ns + 300, 6 * ns + 150, 6 * ns + 150, 0),
        ]);
        assert_eq!((c.boot(0), c.boot(9 * ns + 150)), (0, 3 * 1_000_000_000 + 75));
    }

    #[test]
    fn a_log_is_beside_what_the_ring_recorded_then() {
        // An hour of sleep at 10 s; the ring's clock has 3 ticks a ns and goes on after it.
        let (s, hour) = (1_000_000_000, 3_600_000_000_000);
        let c = counter(&[
            (0, 0, 0, 0),
            (30 * s, 10 * s, 10 * s, 0),
            (30 * s + 3, 10 * s + 1, 10 * s + hour, 0),
            (60 * s + 3, 20 * s + 1, 20 * s + hour, 0),
        ]);
        let log = c.of_log(LogClock::Mono);
        for (mono, clock) in [(5 * s, 15 * s), (15 * s + 1, 45 * s + 3), (25 * s, 75 * s)] {
            assert!((log.boot(mono) - c.boot(clock)).abs() <= 1);
            assert!((log.mono(mono) - i128::from(mono)).abs() <= 1);
        }
        let log = c.of_log(LogClock::Boot);
        for boot in [0, 5 * s, 15 * s + hour, 2 * hour] {
            assert_eq!(log.boot(boot), boot.into());
        }
        assert!(!c.measures(LogClock::Local) && c.measures(LogClock::Mono));
    }

    #[test]
    fn the_clock_of_the_kernel_log_is_measured() {
        // It is 50 ms late, runs 100 ppm faster, and stands in a sleep. The first pair doesn't know
        // it.
        let (s, ms) = (1_000_000_000, 1_000_000);
        let pair = |clock, boot, local| ClockPair { clock, mono: clock, boot, real: boot, local };
        let sleep = 3600 * s;
        let pairs = [
            pair(0, 0, 0),
            pair(s, s, 950 * ms),
            pair(11 * s, 11 * s, 10_951 * ms),
            pair(11 * s + 1, 11 * s + 1 + sleep, 10_951 * ms + 1),
            pair(21 * s + 1, 21 * s + 1 + sleep, 20_952 * ms + 1),
        ];
        let clock = Clock { kind: ClockKind::MonoFast as u32, pairs: 5, hz: 0 };
        let c = Calibration::new(Some(&clock), &pairs);
        assert!(c.measures(LogClock::Local));
        let log = c.of_log(LogClock::Local);
        assert!((log.boot(5_950 * ms + 500_000) - i128::from(6 * s)).abs() < 10);
        let after = i128::from(16 * s + sleep);
        assert!((log.boot(15_951 * ms + 500_000) - after).abs() < 10);
        // Before and after all of them, at the rate of a clock.
        assert!((log.boot(450 * ms) - i128::from(500 * ms)).abs() < 100_000);
        assert!((log.boot(21_952 * ms) - i128::from(22 * s + sleep)).abs() < 200_000);
    }

    #[test]
    fn hostile_numbers_do_not_overflow() {
        let c = counter(&[(0, u64::MAX, 0, u64::MAX), (1, 0, u64::MAX, 0)]);
        for clock in [0, 1, u64::MAX] {
            let _ = (c.mono(clock), c.boot(clock), c.real(clock));
        }
    }
}
