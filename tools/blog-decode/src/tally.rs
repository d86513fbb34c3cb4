// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Sums by key, exact for any number of keys, in bounded memory.
//!
//! A table is in memory. When it is full, its rows go to a temporary file, sorted; at the end,
//! these files are read side by side. So nothing is dropped, and nothing is an estimate.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
    fs::File,
    io::{self, BufReader, BufWriter, Read, Seek, Write},
    vec,
};

/// As many bytes may the rows in memory have, of all that add up at once.
const MOST: usize = 256 << 20;
/// What a row takes beside its key.
const ROW: usize = 128;

/// Says of an error that it is one of a temporary file.
pub(crate) fn temporary(e: io::Error) -> io::Error {
    let place = std::env::temp_dir();
    let what = format!("a temporary file in {}: {e}", place.display());
    io::Error::new(e.kind(), what)
}

/// What is added up of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    /// Records.
    pub records: u64,
    /// A number of theirs.
    pub number: Number,
}

/// What a number adds up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

    /// As a file has it: which one it is, and the number.
    fn parts(self) -> (u8, i128) {
        match self {
            Self::Absent => (0, 0),
            Self::Is(n) => (1, n),
            Self::TooLarge => (2, 0),
        }
    }

    fn of((kind, n): (u8, i128)) -> Self {
        match kind {
            0 => Self::Absent,
            1 => Self::Is(n),
            _ => Self::TooLarge,
        }
    }
}

impl Sum {
    fn add(&mut self, other: Self) {
        self.records += other.records;
        self.number = self.number.add(other.number);
    }
}

/// A key and its sum.
pub type Row = (Vec<u8>, Sum);

/// Adds up.
pub struct Tally {
    rows: HashMap<Vec<u8>, Sum>,
    bytes: usize,
    most: usize,
    files: Vec<File>,
}

impl Default for Tally {
    fn default() -> Self {
        Self::with_memory(MOST)
    }
}

impl Tally {
    /// One of so many that add up at once.
    pub fn one_of(count: usize) -> Self {
        Self::with_memory(MOST / count.max(1))
    }

    /// Adds what another has added up.
    pub fn append(&mut self, other: Self) -> io::Result<()> {
        self.files.extend(other.files);
        let mut rows = other.rows.into_iter();
        rows.try_for_each(|(key, sum)| self.add(&key, sum))
    }

    /// Has as many bytes of rows in memory.
    fn with_memory(most: usize) -> Self {
        Self { rows: HashMap::new(), bytes: 0, most, files: Vec::new() }
    }

    /// Adds to the sum of a key. An error is one of the temporary file.
    pub fn add(&mut self, key: &[u8], sum: Sum) -> io::Result<()> {
        if let Some(row) = self.rows.get_mut(key) {
            row.add(sum);
            return Ok(());
        }
        let bytes = key.len() + ROW;
        if self.bytes + bytes > self.most && !self.rows.is_empty() {
            self.spill().map_err(temporary)?;
        }
        self.bytes += bytes;
        self.rows.insert(key.to_vec(), sum);
        Ok(())
    }

    fn sorted(&mut self) -> Vec<Row> {
        let mut rows: Vec<Row> = self.rows.drain().collect();
        rows.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        rows
    }

    fn spill(&mut self) -> io::Result<()> {
        self.bytes = 0;
        let mut file = BufWriter::new(tempfile::tempfile()?);
        for (key, sum) in self.sorted() {
            file.write_all(&(key.len() as u64).to_le_bytes())?;
            file.write_all(&key)?;
            file.write_all(&sum.records.to_le_bytes())?;
            let (kind, number) = sum.number.parts();
            file.write_all(&[kind])?;
            file.write_all(&number.to_le_bytes())?;
        }
        let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        self.files.push(file);
        Ok(())
    }

    /// All rows in the order of their keys.
    pub fn rows(mut self) -> io::Result<Rows> {
        let memory = Source::Memory(self.sorted().into_iter());
        let files = self.files.into_iter().map(|f| Source::File(BufReader::new(f)));
        let mut rows = Rows { sources: files.chain([memory]).collect(), next: BinaryHeap::new() };
        for i in 0..rows.sources.len() {
            rows.advance(i)?;
        }
        Ok(rows)
    }
}

enum Source {
    Memory(vec::IntoIter<Row>),
    File(BufReader<File>),
}

impl Source {
    fn next(&mut self) -> io::Result<Option<Row>> {
        let file = match self {
            Self::Memory(rows) => return Ok(rows.next()),
            Self::File(file) => file,
        };
        let mut len = [0; 8];
        match file.read_exact(&mut len) {
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            result => result?,
        }
        let mut key = vec![0; u64::from_le_bytes(len) as usize];
        file.read_exact(&mut key)?;
        let (mut records, mut kind, mut number) = ([0; 8], [0; 1], [0; 16]);
        file.read_exact(&mut records)?;
        file.read_exact(&mut kind)?;
        file.read_exact(&mut number)?;
        let sum = Sum {
            records: u64::from_le_bytes(records),
            number: Number::of((kind[0], i128::from_le_bytes(number))),
        };
        Ok(Some((key, sum)))
    }
}

/// A row as the heap orders it: by its key, then by its source; then its sum.
type Waiting = (Vec<u8>, usize, u64, Number);

/// Rows in the order of their keys.
pub struct Rows {
    sources: Vec<Source>,
    /// The next row of each source.
    next: BinaryHeap<Reverse<Waiting>>,
}

impl Rows {
    fn advance(&mut self, i: usize) -> io::Result<()> {
        if let Some((key, sum)) = self.sources[i].next()? {
            let row = (key, i, sum.records, sum.number);
            self.next.push(Reverse(row));
        }
        Ok(())
    }

    fn pop(&mut self) -> io::Result<Option<Row>> {
        let Some(Reverse((key, i, records, number))) = self.next.pop() else {
            return Ok(None);
        };
        self.advance(i)?;
        Ok(Some((key, Sum { records, number })))
    }

    /// The next one.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> io::Result<Option<Row>> {
        let Some(mut row) = self.pop()? else {
            return Ok(None);
        };
        while self.next.peek().is_some_and(|Reverse((key, ..))| *key == row.0) {
            if let Some((_, sum)) = self.pop()? {
                row.1.add(sum);
            }
        }
        Ok(Some(row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_the_same_in_any_memory() {
        let mut expected = std::collections::BTreeMap::new();
        let mut tallies = [0, 1000, 100_000, MOST].map(Tally::with_memory);
        let mut parts = [(); 3].map(|()| Tally::with_memory(2000));
        for n in 0..5000u64 {
            let key = (n * n % 701).to_string().into_bytes();
            *expected.entry(key.clone()).or_insert((0, 0)) = {
                let (records, number) = expected.get(&key).copied().unwrap_or((0, 0));
                (records + 1, number + i128::from(n))
            };
            let sum = Sum { records: 1, number: Number::Is(n.into()) };
            // With no memory at all, each row is a file.
            for tally in tallies.iter_mut().filter(|t| t.most > 0 || n < 300) {
                tally.add(&key, sum).unwrap();
            }
            parts[n as usize % 3].add(&key, sum).unwrap();
        }
        let mut of_parts = Tally::with_memory(100_000);
        for part in parts {
            of_parts.append(part).unwrap();
        }
        assert!(!of_parts.files.is_empty());
        let [none, tallies @ ..] = tallies;
        let mut rows = none.rows().unwrap();
        let mut records = 0;
        while let Some((_, sum)) = rows.next().unwrap() {
            records += sum.records;
        }
        assert_eq!(records, 300);
        for tally in &tallies {
            assert_eq!(tally.files.is_empty(), tally.most >= 100_000);
        }
        for tally in tallies.into_iter().chain([of_parts]) {
            let mut rows = tally.rows().unwrap();
            for (key, (records, number)) in &expected {
                let sum = Sum { records: *records, number: Number::Is(*number) };
                assert_eq!(rows.next().unwrap(), Some((key.clone(), sum)));
            }
            assert_eq!(rows.next().unwrap(), None);
        }
    }

    #[test]
    fn a_sum_may_be_too_large_or_absent() {
        let mut tally = Tally::default();
        let [one, most] = [1, i128::MAX].map(|n| Sum { records: 1, number: Number::Is(n) });
        let absent = Sum { records: 1, number: Number::Absent };
        for sum in [absent, most, one] {
            tally.add(b"x", sum).unwrap();
            // As a file has it.
            tally.spill().unwrap();
        }
        tally.add(b"y", absent).unwrap();
        let none = Sum { records: 3, number: Number::TooLarge };
        let mut rows = tally.rows().unwrap();
        assert_eq!(rows.next().unwrap(), Some((b"x".to_vec(), none)));
        assert_eq!(rows.next().unwrap(), Some((b"y".to_vec(), absent)));
    }
}
