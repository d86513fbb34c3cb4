// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! How many records have the same values of some fields, in which interval of time.

use std::collections::HashMap;

use crate::{
    decode::Entry,
    field::{
        Selector,
        Val, //
    },
};

/// So many rows are kept apart; the rest is counted as one.
const MAX_ROWS: usize = 1 << 20;

/// What is counted.
#[derive(Clone, Debug, Default)]
pub struct How {
    /// Rows have the same values of these.
    pub by: Vec<Selector>,
    /// A number that is added up.
    pub sum: Option<Selector>,
    /// The length of an interval in ns; `None`: all is one.
    pub interval: Option<i128>,
}

/// Records that have the same values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// When the interval begins, on the axis of all entries, in ns.
    pub from: i128,
    /// The values; of a field that a record lacks, there is none.
    pub values: Vec<Option<Vec<u8>>>,
    /// Records.
    pub records: u64,
    /// The sum.
    pub sum: i128,
}

/// Counts.
#[derive(Default)]
pub struct Counts {
    how: How,
    /// By the interval and the values.
    rows: HashMap<Vec<u8>, Row>,
    /// The key of the record at hand.
    key: Vec<u8>,
    /// Records that are in no row, as there were too many.
    pub others: u64,
    /// All records.
    pub records: u64,
    /// From the first to the last record, in ns.
    pub range: Option<(i128, i128)>,
}

/// The length of a value that isn't there.
const NONE: u32 = u32::MAX;

impl Counts {
    /// Will count like this.
    pub fn new(how: How) -> Self {
        Self {
            how,
            ..Self::default()
        }
    }

    /// Counts a record, or a line of another log.
    pub fn entry(&mut self, entry: &Entry<'_>) {
        let Some(subject) = entry.subject() else {
            return;
        };
        let now = entry.boot.axis(entry.clock);
        self.records += 1;
        let (first, last) = self.range.unwrap_or((now, now));
        self.range = Some((first.min(now), last.max(now)));
        let interval = self.how.interval.filter(|n| *n > 0);
        let from = interval.map_or(0, |n| now.div_euclid(n) * n);
        // Each value with its length, so that no two rows look the same.
        let key = &mut self.key;
        key.clear();
        key.extend_from_slice(&from.to_ne_bytes());
        for field in &self.how.by {
            let start = key.len() + size_of_val(&NONE);
            key.extend_from_slice(&NONE.to_ne_bytes());
            if field.print(&subject, key) {
                let len = (key.len() - start) as u32;
                key[start - size_of_val(&len)..start].copy_from_slice(&len.to_ne_bytes());
            }
        }
        let sum = self.how.sum.as_ref();
        let number = sum.and_then(|field| match field.value(&subject)? {
            Val::Number(n) => Some(n),
            _ => None,
        });
        let is_full = self.rows.len() >= MAX_ROWS;
        let row = match self.rows.get_mut(key) {
            Some(row) => row,
            None if is_full => {
                self.others += 1;
                return;
            }
            None => self.rows.entry(key.clone()).or_insert_with(|| Row {
                from,
                values: values(&key[size_of_val(&from)..]),
                ..Row::default()
            }),
        };
        row.records += 1;
        row.sum = row.sum.saturating_add(number.unwrap_or(0));
    }

    /// All rows: by time, and in each interval those with the most records first.
    pub fn rows(&self) -> Vec<&Row> {
        let mut rows: Vec<_> = self.rows.values().collect();
        rows.sort_by(|a, b| {
            let order = (a.from, b.records).cmp(&(b.from, a.records));
            order.then_with(|| a.values.cmp(&b.values))
        });
        rows
    }
}

/// The values in a key.
fn values(mut key: &[u8]) -> Vec<Option<Vec<u8>>> {
    let mut all = Vec::new();
    while let Some((len, rest)) = key.split_first_chunk() {
        let value = match u32::from_ne_bytes(*len) {
            NONE => None,
            len => rest.get(..len as usize),
        };
        key = &rest[value.map_or(0, <[u8]>::len)..];
        all.push(value.map(<[u8]>::to_vec));
    }
    all
}
