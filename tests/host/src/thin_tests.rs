// SPDX-License-Identifier: GPL-2.0

//! Pairs of clocks of a long life: which ones stay when there is no room for all.

use crate::thin::least;
use kernel::blog::wire::{dump::TICKS, file::ClockPair};
use proptest::prelude::*;

const SECOND: u64 = 1_000_000_000;

/// A machine with all its clocks.
#[derive(Clone)]
struct Machine {
    now: ClockPair,
    /// Ticks of the TSC, and of `local_clock()` in ns, in a second.
    rates: (u64, u64),
}

impl Machine {
    fn new() -> Self {
        let now = ClockPair {
            clock: 7,
            mono: SECOND,
            boot: SECOND,
            real: 1_790_000_000 * SECOND,
            local: SECOND,
        };
        Self { now, rates: (3 * SECOND, SECOND) }
    }

    fn wait(&mut self, ns: u64) {
        let ticks = |rate| (u128::from(ns) * u128::from(rate) / u128::from(SECOND)) as u64;
        self.now.clock += ticks(self.rates.0);
        self.now.local += ticks(self.rates.1);
        self.now.mono += ns;
        self.now.boot += ns;
        self.now.real += ns;
    }

    fn sleep(&mut self, ns: u64) {
        self.now.clock += 1;
        self.now.boot += ns;
        self.now.real += ns;
    }
}

/// Two instants that are off the line, the older one 27 times as far, at nine times the age: by the
/// square of that, it is missed the least.
#[test]
fn the_square_of_the_age_decides() {
    let at = |clock: u64, off: u64| {
        let even = clock * 1_000_000;
        ClockPair { clock: even, mono: even + off, boot: even, real: even, local: even }
    };
    let pairs = [at(0, 0), at(1000, 10_000_000), at(9000, 1_475_000), at(10_000, 0)];
    assert_eq!(least(pairs.len(), |n| pairs[n]), 1);
}

/// As the kernel keeps them.
fn note(kept: &mut Vec<ClockPair>, pair: ClockPair) {
    if kept.len() == TICKS {
        let n = least(TICKS, |n| kept[n]);
        assert!((1..TICKS - 1).contains(&n));
        kept.remove(n);
    }
    kept.push(pair);
}

/// CLOCK_BOOTTIME, CLOCK_MONOTONIC and `local_clock()` by the lines between pairs.
fn on_lines(kept: &[ClockPair], clock: u64) -> [i128; 3] {
    let at = kept.partition_point(|pair| pair.clock <= clock);
    let (a, b) = (&kept[at - 1], &kept[at.min(kept.len() - 1)]);
    let part = i128::from(clock - a.clock);
    let whole = i128::from(b.clock - a.clock).max(1);
    [(a.boot, b.boot), (a.mono, b.mono), (a.local, b.local)]
        .map(|(a, b)| i128::from(a) + (i128::from(b) - i128::from(a)) * part / whole)
}

/// How far from the truth the lines are at most, in ns.
fn off(kept: &[ClockPair], all: &[ClockPair]) -> u128 {
    let off = |pair: &ClockPair| {
        let truth = [pair.boot, pair.mono, pair.local].map(i128::from);
        let found = on_lines(kept, pair.clock);
        (0..3).map(|n| found[n].abs_diff(truth[n])).max().unwrap()
    };
    all.iter().map(off).max().unwrap()
}

#[test]
fn what_drifts_is_told_the_better_the_nearer_it_is() {
    let (mut machine, mut kept, mut all) = (Machine::new(), vec![], vec![]);
    for minute in 0..30 * 24 * 60u64 {
        // A wave of a day, one in a million high, as of temperature.
        let wave = (minute as f64 / 1440. * std::f64::consts::TAU).sin();
        machine.rates.0 = 3 * SECOND + (3000. * wave) as u64;
        machine.rates.1 = SECOND + (1000. * wave) as u64;
        machine.wait(60 * SECOND);
        note(&mut kept, machine.now);
        all.push(machine.now);
    }
    assert_eq!((kept.len(), kept[0].clock), (TICKS, all[0].clock));
    let latest = |minutes: usize| off(&kept, &all[all.len() - minutes..]);
    let (hour, day, month) = (latest(60), latest(24 * 60), off(&kept, &all));
    assert!(hour < 50_000, "{hour} ns");
    assert!(day < 3_000_000, "{day} ns");
    assert!(month < 60_000_000, "{month} ns");
}

#[test]
fn what_lies_on_a_line_is_told_by_its_ends() {
    let (mut machine, mut kept, mut all) = (Machine::new(), vec![], vec![]);
    let mut jitter = 1u64;
    for _ in 0..20_000 {
        machine.wait(SECOND);
        jitter = jitter.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let mut pair = machine.now;
        pair.clock += jitter >> 56;
        note(&mut kept, pair);
        all.push(pair);
    }
    assert!(off(&kept, &all) < 1000);
}

proptest! {
    // Each has tens of thousands of pairs.
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn sleeps_stay_where_they_were(
        days in prop::collection::vec((1u64..3000, 1u64..100_000), 1..25),
    ) {
        let (mut machine, mut kept, mut all) = (Machine::new(), vec![], vec![]);
        for (awake, asleep) in days {
            for _ in 0..awake {
                machine.wait(SECOND);
                note(&mut kept, machine.now);
                all.push(machine.now);
            }
            machine.sleep(asleep * SECOND);
            note(&mut kept, machine.now);
            all.push(machine.now);
        }
        prop_assert!(kept.len() <= TICKS);
        prop_assert!(kept.windows(2).all(|w| w[0].clock < w[1].clock));
        prop_assert!(off(&kept, &all) < 1000);
    }
}
