// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! How many records have the same values of some fields, in which interval of time.
//!
//! All counts are exact. Rows take a bounded amount of memory: more of them are an error.

use std::{
    cmp::Reverse,
    collections::HashMap,
    io,
    sync::{
        atomic::{AtomicUsize, Ordering::Relaxed},
        Arc,
    },
};

use blog_decode_core::{
    decode::Entry,
    field::{Selector, Val},
    key,
};

/// As many bytes may all rows have.
const MOST: usize = 256 << 20;
/// What a row takes beside its key.
const ROW: usize = 128;

/// What is counted.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// Rows have the same values of these.
    pub by: Vec<Selector>,
    /// A number that is added up.
    pub sum: Option<Selector>,
    /// The length of an interval in ns; `None`: all is one.
    pub interval: Option<i128>,
}

/// What a number adds up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// No record has it.
    Absent,
    /// This.
    Is(i128),
    /// It is too large.
    TooLarge,
}

impl Number {
    fn add(self, other: Self) -> Self {
        match (self, other) {
            (Self::Absent, n) | (n, Self::Absent) => n,
            (Self::Is(a), Self::Is(b)) => a.checked_add(b).map_or(Self::TooLarge, Self::Is),
            _ => Self::TooLarge,
        }
    }
}

/// What is added up of the records of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupSum {
    /// Records.
    pub records: u64,
    /// A number of theirs.
    pub number: Number,
}

/// Records that have the same values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// When the interval begins, on the axis of all entries, in ns.
    pub from: i128,
    /// The values.
    pub values: Vec<key::Cell>,
    /// How many, and the sum.
    pub sum: GroupSum,
}

/// Groups of records; clones count in the same way, and share the memory.
#[derive(Clone, Default)]
pub struct Groups {
    how: Group,
    /// By when the interval begins, and the values.
    rows: HashMap<(i128, Vec<u8>), GroupSum>,
    /// Bytes of all rows.
    bytes: Arc<AtomicUsize>,
    /// The key of the record at hand.
    key: (i128, Vec<u8>),
    /// All records.
    pub records: u64,
    /// From the first to the last record, in ns.
    pub range: Option<(i128, i128)>,
}

impl Groups {
    /// Will count like this.
    pub fn new(how: Group) -> Self {
        Self { how, ..Self::default() }
    }

    /// Adds what another has counted in the same way.
    pub fn with(mut self, other: Self) -> Self {
        self.records += other.records;
        let ranges = self.range.into_iter().chain(other.range);
        self.range = ranges.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        for (key, sum) in other.rows {
            let row =
                self.rows.entry(key).or_insert(GroupSum { records: 0, number: Number::Absent });
            row.records += sum.records;
            row.number = row.number.add(sum.number);
        }
        self
    }

    /// Counts a record, or a line of another log. An error says that there are too many rows.
    pub fn entry(&mut self, entry: &Entry<'_>) -> io::Result<()> {
        if entry.is_loss() {
            return Ok(());
        }
        let now = entry.boot.axis(entry.clock());
        self.records += 1;
        let (first, last) = self.range.unwrap_or((now, now));
        self.range = Some((first.min(now), last.max(now)));
        let interval = self.how.interval.filter(|n| *n > 0);
        self.key.0 = interval.map_or(0, |n| now.div_euclid(n) * n);
        self.key.1.clear();
        for field in &self.how.by {
            key::push(field, entry, &mut self.key.1);
        }
        let sum = self.how.sum.as_ref();
        let number = match sum.and_then(|field| field.value(entry)) {
            Some(Val::Number(n)) => Number::Is(n),
            Some(Val::Big(_)) => Number::TooLarge,
            _ => Number::Absent,
        };
        if let Some(row) = self.rows.get_mut(&self.key) {
            row.records += 1;
            row.number = row.number.add(number);
            return Ok(());
        }
        let bytes = self.key.1.len() + ROW;
        if self.bytes.fetch_add(bytes, Relaxed) + bytes > MOST {
            return Err(io::Error::other(
                "the rows take more than 256 MiB: count by fewer fields, choose fewer records, \
                 or convert them with --to parquet for a database",
            ));
        }
        self.rows.insert(self.key.clone(), GroupSum { records: 1, number });
        Ok(())
    }

    /// All rows: by time, and in each interval those with the most records first.
    pub fn rows(self) -> impl Iterator<Item = Row> {
        let mut rows: Vec<_> = self.rows.into_iter().collect();
        rows.sort_unstable_by(|((from, values), sum), ((other_from, others), other)| {
            let this = (from, Reverse(sum.records), values);
            this.cmp(&(other_from, Reverse(other.records), others))
        });
        let row = |((from, values), sum): ((i128, Vec<u8>), GroupSum)| Row {
            from,
            values: key::cells(&values),
            sum,
        };
        rows.into_iter().map(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_may_be_too_large_or_absent() {
        let add = |all: &[Number]| all.iter().fold(Number::Absent, |sum, n| sum.add(*n));
        let (one, most) = (Number::Is(1), Number::Is(i128::MAX));
        assert_eq!(add(&[]), Number::Absent);
        assert_eq!(add(&[Number::Absent, one, one]), Number::Is(2));
        assert_eq!(add(&[most, Number::Absent, one]), Number::TooLarge);
        assert_eq!(add(&[Number::TooLarge, one]), Number::TooLarge);
    }
}
