// SPDX-License-Identifier: GPL-2.0

//! The results: failures with their places, and sums for people.

use std::collections::BTreeMap;

/// As many failures of a kind are shown; the others are counted.
const SHOWN: u64 = 5;

/// What is wrong, and how much there was.
#[derive(Debug, Default)]
pub struct Report {
    /// Failures by kind: how many, and the first ones.
    failures: BTreeMap<&'static str, (u64, Vec<String>)>,
    /// Lines for people.
    pub lines: Vec<String>,
    /// Records decoded, by kind of writer.
    pub kinds: BTreeMap<String, u64>,
}

impl Report {
    /// Adds a failure of a kind, at a place.
    pub fn fail(&mut self, kind: &'static str, place: impl FnOnce() -> String) {
        let (count, places) = self.failures.entry(kind).or_default();
        *count += 1;
        if *count <= SHOWN {
            places.push(place());
        }
    }

    /// Adds a line.
    pub fn say(&mut self, line: String) {
        self.lines.push(line);
    }

    /// Number of failures.
    pub fn failed(&self) -> u64 {
        self.failures.values().map(|(count, _)| count).sum()
    }

    /// Whether there is a failure of a kind.
    pub fn has(&self, kind: &str) -> bool {
        self.failures.contains_key(kind)
    }

    /// All failures, one a line.
    pub fn failures(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (kind, (count, places)) in &self.failures {
            lines.extend(places.iter().map(|place| format!("FAILED: {kind}: {place}")));
            let more = count - places.len() as u64;
            if more > 0 {
                lines.push(format!("FAILED: {kind}: {more} more"));
            }
        }
        lines
    }
}
