// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! How values are distributed, in memory that doesn't grow with them: values below 256 are exact,
//! larger ones to 1 part in 128.

use std::collections::BTreeMap;

/// A power of two is divided into so many.
const PARTS: u64 = 128;

/// The number of values by their size.
#[derive(Clone, Debug, Default)]
pub struct Quantiles {
    parts: BTreeMap<u64, u64>,
    count: u64,
    max: u64,
}

/// Where a value is counted.
fn part(value: u64) -> u64 {
    let shift = u64::from((value / PARTS).checked_ilog2().unwrap_or(0));
    shift * PARTS + (value >> shift)
}

/// The largest value that is counted there.
fn largest(part: u64) -> u64 {
    let shift = (part / PARTS).saturating_sub(1);
    // The last one goes up to the largest value of all.
    ((part - shift * PARTS + 1) << shift).wrapping_sub(1)
}

impl Quantiles {
    /// Counts a value.
    pub fn add(&mut self, value: u64) {
        self.max = self.max.max(value);
        self.count += 1;
        *self.parts.entry(part(value)).or_default() += 1;
    }

    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// So many of 100 values are no larger than this.
    pub fn percentile(&self, share: u64) -> u64 {
        let wanted = (u128::from(self.count) * u128::from(share)).div_ceil(100);
        let mut seen = 0;
        let enough = self.parts.iter().find(|(_, n)| {
            seen += u128::from(**n);
            seen >= wanted
        });
        enough.map_or(self.max, |(part, _)| largest(*part).min(self.max))
    }

    /// How many values there are from a power of two up to the next one, from the first one that
    /// has any to the last. If there are zeros, the first one begins at 0 and has them, too.
    pub fn octaves(&self) -> Vec<(u64, u64)> {
        let octave = |value: u64| value.checked_ilog2().unwrap_or(0);
        let Some(first) = self.parts.keys().next().map(|part| octave(largest(*part))) else {
            return Vec::new();
        };
        let mut all: Vec<(u64, u64)> = (first..=octave(self.max)).map(|o| (1 << o, 0)).collect();
        if self.parts.contains_key(&0) {
            all[0].0 = 0;
        }
        for (part, n) in &self.parts {
            all[(octave(largest(*part)) - first) as usize].1 += n;
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_in_a_row_and_as_wide_as_promised() {
        let mut last = None;
        for value in (0..100_000).chain((17..64).map(|n| (1 << n) + 5)).chain([u64::MAX]) {
            let (part, largest) = (part(value), largest(part(value)));
            assert!(largest >= value && largest - value <= value / 128, "{value}: {largest}");
            assert!(last <= Some(part), "{value}");
            last = Some(part);
        }
    }

    #[test]
    fn of_few_values_each_share_is_one_of_them() {
        let mut q = Quantiles::default();
        [10, 20, 30].into_iter().for_each(|n| q.add(n));
        let found = [1, 33, 34, 50, 66, 67, 90, 100].map(|share| q.percentile(share));
        assert_eq!(found, [10, 10, 20, 20, 20, 30, 30, 30]);
    }

    #[test]
    fn quantiles_are_those_of_the_sorted_values() {
        let mut q = Quantiles::default();
        assert_eq!((q.percentile(50), q.octaves()), (0, vec![]));
        (1..=1000).rev().for_each(|n| q.add(n));
        assert_eq!((q.count(), q.percentile(100)), (1000, 1000));
        for (share, exact) in [(1, 10), (10, 100), (50, 500), (99, 990), (100, 1000)] {
            let found = q.percentile(share);
            assert!(found >= exact && found - exact <= exact / 128, "{share}: {found}");
        }
        let octaves = q.octaves();
        assert_eq!(octaves[..3], [(1, 1), (2, 2), (4, 4)]);
        assert_eq!(octaves.last(), Some(&(512, 489)));
        let mut q = Quantiles::default();
        [0, 0, 1, 2].into_iter().for_each(|n| q.add(n));
        assert_eq!(q.octaves(), [(0, 3), (2, 1)]);
    }
}
