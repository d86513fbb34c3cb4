// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! How many records have the same values of some fields, in which interval of time.

use std::io;

use crate::{
    decode::Entry,
    field::{Selector, Val},
    key,
    tally::{Number, Rows, Sum, Tally},
};

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// When the interval begins, on the axis of all entries, in ns.
    pub from: i128,
    /// The values.
    pub values: Vec<key::Cell>,
    /// How many, and the sum.
    pub sum: Sum,
}

/// Counts.
#[derive(Default)]
pub struct Counts {
    how: How,
    /// By the interval and the values.
    tally: Tally,
    /// The key of the record at hand.
    key: Vec<u8>,
    /// All records.
    pub records: u64,
    /// From the first to the last record, in ns.
    pub range: Option<(i128, i128)>,
}

/// A number as bytes that sort as the numbers do.
fn sorted(n: i128) -> [u8; 16] {
    (n as u128 ^ 1 << 127).to_be_bytes()
}

const FROM: usize = size_of::<i128>();

impl Counts {
    /// Will count like this, as one of so many.
    pub fn new(how: How, of: usize) -> Self {
        Self { how, tally: Tally::one_of(of), ..Self::default() }
    }

    /// Adds what another has counted in the same way.
    pub fn with(mut self, other: Self) -> io::Result<Self> {
        self.records += other.records;
        let ranges = self.range.into_iter().chain(other.range);
        self.range = ranges.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        self.tally.append(other.tally)?;
        Ok(self)
    }

    /// Counts a record, or a line of another log.
    pub fn entry(&mut self, entry: &Entry<'_>) -> io::Result<()> {
        let Some(subject) = entry.subject() else {
            return Ok(());
        };
        let now = entry.boot.axis(entry.clock);
        self.records += 1;
        let (first, last) = self.range.unwrap_or((now, now));
        self.range = Some((first.min(now), last.max(now)));
        let interval = self.how.interval.filter(|n| *n > 0);
        let from = interval.map_or(0, |n| now.div_euclid(n) * n);
        self.key.clear();
        self.key.extend(sorted(from));
        for field in &self.how.by {
            key::push(field, &subject, &mut self.key);
        }
        let sum = self.how.sum.as_ref();
        let number = match sum.and_then(|field| field.value(&subject)) {
            Some(Val::Number(n)) => Number::Is(n),
            Some(Val::Big(_)) => Number::TooLarge,
            _ => Number::Absent,
        };
        self.tally.add(&self.key, Sum { records: 1, number })
    }

    /// All rows: by time, and in each interval those with the most records first.
    pub fn rows(self) -> io::Result<Ranked> {
        let (mut rows, mut ranked) = (self.tally.rows()?, Tally::default());
        while let Some((key, sum)) = rows.next()? {
            let (from, values) = key.split_at(FROM);
            let rank = (!sum.records).to_be_bytes();
            ranked.add(&[from, &rank, values].concat(), sum)?;
        }
        Ok(Ranked(ranked.rows()?))
    }
}

/// Rows in their order.
pub struct Ranked(Rows);

impl Ranked {
    /// The next one.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> io::Result<Option<Row>> {
        let Some((key, sum)) = self.0.next()? else {
            return Ok(None);
        };
        let (from, values) = key.split_at(FROM);
        let from: [u8; FROM] = from.try_into().unwrap_or_default();
        Ok(Some(Row {
            from: (u128::from_be_bytes(from) ^ 1 << 127) as i128,
            values: key::cells(&values[size_of_val(&sum.records)..]),
            sum,
        }))
    }
}
