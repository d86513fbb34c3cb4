// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Calibration of the rings' clock, out of a dump: when BLog started, its last tick, and the crash.

use super::{
    memory::{
        word,
        Memory, //
    },
    problems::Problems, //
};
use crate::wire::{
    dump::Root,
    file::ClockPair, //
};

/// A machine that stopped longer than this after its last tick isn't believed: a year in seconds.
const MAX_AGO: u64 = 366 * 24 * 3600;

/// All pairs, in the order of time. The last one says when the machine stopped.
pub(super) fn pairs(memory: &impl Memory, root: &Root, problems: &mut Problems) -> Vec<ClockPair> {
    let tick = match root.ticks_taken {
        0 => None,
        n => root.ticks.get(((n - 1) % 2) as usize),
    };
    // A machine may stop between awaking from a sleep and the next tick.
    let latest = root.breaks().chain(tick).max_by_key(|tick| tick.pair.clock);
    let mut pairs = vec![root.start];
    pairs.extend(root.breaks().chain(tick).map(|tick| tick.pair));
    if root.crash.noted == 1 {
        pairs.push(root.crash.pair);
    } else if let Some(tick) = latest.filter(|_| root.jiffies != 0 && root.jiffies_hz != 0) {
        // Nobody has noted when it stopped; but its timer has counted on.
        match word(memory, root.jiffies) {
            Ok(now) => pairs.extend(later(root, tick.pair, now.wrapping_sub(tick.jiffies))),
            Err(_) => problems.note(
                false,
                "clock",
                "when the machine stopped isn't known",
                String::new,
            ),
        }
    }
    pairs.sort_by_key(|p| p.clock);
    pairs.dedup_by_key(|p| p.clock);
    // A file has two at least.
    if let [only] = pairs.as_slice() {
        pairs.push(*only);
    }
    pairs
}

/// All clocks so many jiffies after a pair.
fn later(root: &Root, pair: ClockPair, jiffies: u64) -> Option<ClockPair> {
    let hz = u64::from(root.jiffies_hz);
    if jiffies == 0 || jiffies / hz > MAX_AGO || root.clock.hz == 0 {
        return None;
    }
    // Below 2^25 seconds, and either rate is below 2^64.
    let scaled = |rate: u64| u64::try_from(u128::from(jiffies) * u128::from(rate) / u128::from(hz));
    let (ticks, ns) = (scaled(root.clock.hz).ok()?, scaled(1_000_000_000).ok()?);
    Some(ClockPair {
        clock: pair.clock.checked_add(ticks)?,
        mono: pair.mono.checked_add(ns)?,
        boot: pair.boot.checked_add(ns)?,
        real: pair.real.checked_add(ns)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        vmcore::memory::Fault,
        wire::dump::{Tick, BREAKS}, //
    };

    /// Memory in which there is nothing but the same number.
    struct Always(u64);

    impl Memory for Always {
        fn read(&self, _: u64, buf: &mut [u8]) -> Result<(), Fault> {
            buf.copy_from_slice(&self.0.to_le_bytes()[..buf.len()]);
            Ok(())
        }
    }

    fn pair(seconds: u64) -> ClockPair {
        ClockPair {
            clock: 3_000_000_000 * seconds,
            mono: 1_000_000_000 * seconds,
            boot: 1_000_000_000 * seconds,
            real: 1_000_000_000 * (seconds + 1_000_000),
        }
    }

    fn root() -> Root {
        let mut root = Root::new();
        root.clock.hz = 3_000_000_000;
        root.start = pair(1);
        root.jiffies = 8;
        root.jiffies_hz = 250;
        root
    }

    fn seconds(root: &Root, jiffies: u64) -> Vec<u64> {
        let pairs = pairs(&Always(jiffies), root, &mut Problems::default());
        pairs.iter().map(|p| p.clock / 3_000_000_000).collect()
    }

    #[test]
    fn the_crash_is_the_end() {
        let mut root = root();
        root.crash.noted = 1;
        root.crash.pair = pair(9);
        assert_eq!(seconds(&root, 10_000), [1, 9]);
    }

    #[test]
    fn breaks_of_the_clock_are_between_start_and_end() {
        let mut root = root();
        let tick = |s| Tick {
            pair: pair(s),
            jiffies: 1000,
        };
        root.ticks = [tick(2), tick(3)];
        root.ticks_taken = 2;
        root.breaks[..4].copy_from_slice(&[4, 5, 7, 8].map(tick));
        // The second break was just being noted.
        root.breaks_taken = 2;
        assert_eq!(seconds(&root, 1000), [1, 3, 4, 5]);
        root.breaks_taken = 4;
        assert_eq!(seconds(&root, 1000), [1, 3, 4, 5, 7, 8]);
        // It has gone on since then, for as long as its timer says.
        assert_eq!(seconds(&root, 1500), [1, 3, 4, 5, 7, 8, 10]);
        // The oldest give way to newer ones, and to those that may be just being noted.
        root.breaks_taken = BREAKS as u64;
        let n = pairs(&Always(1000), &root, &mut Problems::default()).len();
        assert!(n <= BREAKS);
        root.crash.noted = 1;
        root.crash.pair = pair(9);
        root.breaks_taken = 4;
        assert_eq!(seconds(&root, 1500), [1, 3, 4, 5, 7, 8, 9]);
    }

    #[test]
    fn without_a_crash_the_timer_tells_the_end() {
        let mut root = root();
        assert_eq!(seconds(&root, 500), [1, 1]);
        let tick = |s, jiffies| Tick {
            pair: pair(s),
            jiffies,
        };
        root.ticks = [tick(5, 1000), tick(6, 1250)];
        root.ticks_taken = 4;
        assert_eq!(seconds(&root, 1250 + 10 * 250), [1, 6, 16]);
        assert_eq!(seconds(&root, 1250), [1, 6]);
        // The third tick was not whole yet when the machine stopped, the second is.
        root.ticks_taken = 3;
        assert_eq!(seconds(&root, 1000 + 250), [1, 5, 6]);
        // Jiffies that went back are damage.
        assert_eq!(seconds(&root, 0), [1, 5]);
    }
}
