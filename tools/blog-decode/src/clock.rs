// SPDX-License-Identifier: GPL-2.0

//! From a ring's clock to times that people know.
//!
//! A snapshot has pairs of (ring clock, monotonic, boot, real time); between and beyond them a
//! straight line is drawn. The output and the filters ask; nothing here can overflow or panic.

use crate::wire::snapshot::{
    Clock,
    ClockKind,
    ClockPair, //
};

/// Converts a ring's clock.
#[derive(Clone, Debug)]
pub struct Calibration {
    is_mono: bool,
    hz: u64,
    pairs: Vec<ClockPair>,
}

impl Calibration {
    /// Takes what a snapshot says. Without a clock section, ticks count as nanoseconds.
    pub fn new(clock: Option<&Clock>, pairs: &[ClockPair]) -> Self {
        let mut pairs = pairs.to_vec();
        pairs.sort_by_key(|p| p.clock);
        pairs.dedup_by_key(|p| p.clock);
        let kind = clock.map_or(ClockKind::MonoFast as u32, |c| c.kind);
        Self {
            is_mono: kind == ClockKind::MonoFast as u32,
            hz: clock.map_or(0, |c| c.hz),
            pairs,
        }
    }

    /// CLOCK_MONOTONIC in ns.
    pub fn mono(&self, clock: u64) -> i128 {
        self.line(clock, |p| p.mono)
    }

    /// CLOCK_BOOTTIME in ns: what dmesg's times are close to.
    pub fn boot(&self, clock: u64) -> i128 {
        self.line(clock, |p| p.boot)
    }

    /// CLOCK_REALTIME in ns since 1970, by the latest idea of it that the file has.
    pub fn real(&self, clock: u64) -> i128 {
        let offset = match self.pairs.last() {
            Some(p) => i128::from(p.real) - i128::from(p.boot),
            None => 0,
        };
        self.boot(clock) + offset
    }

    /// Whether the file says how its clock relates to others.
    pub fn is_known(&self) -> bool {
        !self.pairs.is_empty()
    }

    /// The latest pair: about when the snapshot was taken.
    pub fn taken(&self) -> Option<&ClockPair> {
        self.pairs.last()
    }

    fn line(&self, clock: u64, to: impl Fn(&ClockPair) -> u64) -> i128 {
        let clock = i128::from(clock);
        let pair = |p: &ClockPair| (i128::from(p.clock), i128::from(to(p)));
        // The segment that the clock lies in, or the nearest.
        let i = self.pairs.partition_point(|p| i128::from(p.clock) <= clock);
        let i = i.clamp(1, self.pairs.len().max(2) - 1);
        match (self.pairs.get(i - 1), self.pairs.get(i)) {
            (None, _) if self.is_mono || self.hz == 0 => clock,
            (None, _) => clock * 1_000_000_000 / i128::from(self.hz),
            // Ticks of the monotonic clock are nanoseconds; only the offset is to be found.
            (Some(a), _) if self.is_mono => {
                let near = match self.pairs.get(i) {
                    Some(b) if clock >= i128::from(b.clock) => b,
                    _ => a,
                };
                let (from, to) = pair(near);
                clock - from + to
            }
            (Some(a), Some(b)) => {
                let ((c0, t0), (c1, t1)) = (pair(a), pair(b));
                t0 + (clock - c0).saturating_mul(t1 - t0) / (c1 - c0)
            }
            (Some(a), None) => {
                let (c0, t0) = pair(a);
                let ticks = clock - c0;
                t0 + match self.hz {
                    0 => ticks,
                    hz => ticks * 1_000_000_000 / i128::from(hz),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tsc(pairs: &[(u64, u64, u64, u64)]) -> Calibration {
        let pairs: Vec<_> = pairs
            .iter()
            .map(|&(clock, mono, boot, real)| ClockPair {
                clock,
                mono,
                boot,
                real,
            })
            .collect();
        let clock = Clock {
            kind: ClockKind::Tsc as u32,
            pairs: pairs.len() as u32,
            hz: 3_000_000_000,
        };
        Calibration::new(Some(&clock), &pairs)
    }

    #[test]
    fn lies_on_the_line_within_and_beyond_the_pairs() {
        let c = tsc(&[(1000, 10, 20, 30), (4000, 1010, 1020, 5030)]);
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
        assert_eq!(tsc(&[(3000, 5, 6, 7)]).mono(6000), 5 + 1000);
        assert_eq!(tsc(&[]).mono(6000), 2000);
        assert_eq!(Calibration::new(None, &[]).boot(6000), 6000);
    }

    #[test]
    fn monotonic_ticks_are_nanoseconds() {
        let clock = Clock {
            kind: ClockKind::MonoFast as u32,
            pairs: 2,
            hz: 0,
        };
        let pair = |mono, boot| ClockPair {
            clock: mono,
            mono,
            boot,
            real: boot,
        };
        // A second of sleep between the pairs.
        let c = Calibration::new(Some(&clock), &[pair(100, 100), pair(200, 1200)]);
        assert_eq!(c.mono(150), 150);
        assert_eq!(c.boot(150), 150);
        assert_eq!(c.boot(250), 1250);
    }

    #[test]
    fn hostile_numbers_do_not_overflow() {
        let c = tsc(&[(0, u64::MAX, 0, u64::MAX), (1, 0, u64::MAX, 0)]);
        for clock in [0, 1, u64::MAX] {
            let _ = (c.mono(clock), c.boot(clock), c.real(clock));
        }
    }
}
