// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Calibration of the rings' clock, out of a dump: its ticks, and the crash.

use crate::{
    memory::{word, Memory},
    problems::Problems,
    wire::{dump::Root, file::ClockPair},
};

/// A machine that stopped longer than this after its last tick isn't believed: a year in seconds.
const MAX_AGO: u64 = 366 * 24 * 3600;

/// All pairs, in the order of time. The last one says when the machine stopped.
pub(super) fn pairs(memory: &impl Memory, root: &Root, problems: &mut Problems) -> Vec<ClockPair> {
    let latest = root.ticks().max_by_key(|tick| tick.pair.clock);
    let mut pairs: Vec<_> = root.ticks().map(|tick| tick.pair).collect();
    if root.crash.noted == 1 {
        pairs.push(root.crash.pair);
    } else if let Some(tick) =
        latest.filter(|tick| tick.jiffies != 0 && root.jiffies != 0 && root.jiffies_hz != 0)
    {
        // Nobody has noted when it stopped; but its timer has counted on.
        match word(memory, root.jiffies) {
            Ok(now) => pairs.extend(later(root, tick.pair, now.wrapping_sub(tick.jiffies))),
            Err(_) => {
                problems.note(false, "clock", "when the machine stopped isn't known", String::new)
            }
        }
    }
    pairs.sort_by_key(|p| p.clock);
    pairs.dedup_by_key(|p| p.clock);
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
        local: match pair.local {
            0 => 0,
            local => local.checked_add(ns)?,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{layout, memory::Fault, wire::dump::Tick};

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
            local: 500_000_000 * seconds,
        }
    }

    fn tick(seconds: u64, jiffies: u64) -> Tick {
        Tick { pair: pair(seconds), jiffies }
    }

    fn root(ticks: &[Tick]) -> Box<Root> {
        let mut root = layout::nothing();
        root.clock.hz = 3_000_000_000;
        root.ticks[..ticks.len()].copy_from_slice(ticks);
        root.ticks_len = ticks.len() as u32;
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
        let mut root = root(&[tick(1, 250), tick(5, 1250)]);
        root.crash.noted = 1;
        root.crash.pair = pair(9);
        assert_eq!(seconds(&root, 10_000), [1, 5, 9]);
    }

    #[test]
    fn a_tick_that_was_being_left_out_harms_none() {
        // Those after the second one were moving, and the third was half stored.
        let mut root = root(&[1, 3, 4, 4, 5].map(|s| tick(s, 250 * s)));
        root.ticks[2].pair.clock = 0;
        assert_eq!(seconds(&root, 5 * 250), [1, 3, 4, 5]);
    }

    #[test]
    fn without_a_crash_the_timer_tells_the_end() {
        // It isn't known what the timer was at the first one.
        assert_eq!(seconds(&root(&[tick(1, 0)]), 500), [1]);
        let root = root(&[tick(1, 0), tick(6, 1250)]);
        assert_eq!(seconds(&root, 1250 + 10 * 250), [1, 6, 16]);
        assert_eq!(seconds(&root, 1250), [1, 6]);
        // Jiffies that went back are damage.
        assert_eq!(seconds(&root, 0), [1, 6]);
        let last = *pairs(&Always(1500), &root, &mut Problems::default()).last().unwrap();
        assert_eq!((last.mono, last.local), (7_000_000_000, 4_000_000_000));
    }
}
