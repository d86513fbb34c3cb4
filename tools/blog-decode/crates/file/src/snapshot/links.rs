// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Where the capture of a stream goes on with a ring, for each piece of its pages.
//!
//! Between two pieces of a ring are those of all others that got records meanwhile. To look for the
//! next one in the file would take too long, and to know all their places too much memory. So the
//! places are in a temporary file, but for those of the last pieces.

use std::{fs::File, io, os::unix::fs::FileExt};

/// As many are in memory.
const MOST: usize = 1 << 14;
/// Bytes of one in the file.
const SIZE: usize = 16;

/// Says of an error that it is one of a temporary file.
fn temporary(e: io::Error) -> io::Error {
    let place = std::env::temp_dir();
    let what = format!("a temporary file in {}: {e}", place.display());
    io::Error::new(e.kind(), what)
}

/// The next piece of the same ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Where its section begins; 0: there is none.
    pub at: u64,
    /// Its number among all pieces.
    pub number: u64,
}

impl Link {
    fn to_bytes(self) -> [u8; SIZE] {
        (u128::from(self.at) | u128::from(self.number) << 64).to_le_bytes()
    }

    fn from_bytes(bytes: [u8; SIZE]) -> Self {
        let both = u128::from_le_bytes(bytes);
        Self { at: both as u64, number: (both >> 64) as u64 }
    }
}

/// The links of all pieces, by their numbers.
#[derive(Default)]
pub struct Links {
    /// Those of the pieces from this one on are in memory.
    from: u64,
    last: Vec<Link>,
    /// The others.
    file: Option<File>,
}

impl Links {
    /// Adds a piece that has no next one so far; the answer is its number. An error is one of the
    /// temporary file.
    pub fn add(&mut self) -> io::Result<u64> {
        if self.last.len() >= MOST {
            self.store(MOST / 2)?;
        }
        self.last.push(Link::default());
        Ok(self.from + self.last.len() as u64 - 1)
    }

    /// Puts the first ones of those in memory into the file.
    fn store(&mut self, count: usize) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile().map_err(temporary)?),
        };
        let old = self.last.drain(..count);
        let bytes: Vec<u8> = old.flat_map(Link::to_bytes).collect();
        let stored = file.write_all_at(&bytes, self.from * SIZE as u64);
        self.from += count as u64;
        stored.map_err(temporary)
    }

    /// There will be no more.
    pub fn finish(&mut self) -> io::Result<()> {
        if self.file.is_some() {
            self.store(self.last.len())?;
        }
        self.last.shrink_to_fit();
        Ok(())
    }

    /// Says which piece comes after one.
    pub fn set(&mut self, number: u64, next: Link) -> io::Result<()> {
        match (number.checked_sub(self.from), &self.file) {
            (Some(n), _) => {
                if let Some(link) = self.last.get_mut(n as usize) {
                    *link = next;
                }
                Ok(())
            }
            (None, Some(file)) => {
                let stored = file.write_all_at(&next.to_bytes(), number * SIZE as u64);
                stored.map_err(temporary)
            }
            (None, None) => Ok(()),
        }
    }

    /// The piece after one.
    pub fn next(&self, number: u64) -> Option<Link> {
        let link = match number.checked_sub(self.from) {
            Some(n) => *self.last.get(n as usize)?,
            None => {
                let mut bytes = [0; SIZE];
                let file = self.file.as_ref()?;
                file.read_exact_at(&mut bytes, number * SIZE as u64).ok()?;
                Link::from_bytes(bytes)
            }
        };
        (link.at != 0).then_some(link)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_any_number_of_pieces_are_found() {
        let mut links = Links::default();
        let count = 5 * MOST as u64 / 2;
        let far = |number| number % 3 == 0 && number + 2 * (MOST as u64) < count;
        let next = |number| Link {
            at: 100 + number,
            number: number + if far(number) { 2 * MOST as u64 } else { 1 },
        };
        for number in 0..count {
            assert_eq!(links.add().unwrap(), number);
            // Some are known much later.
            let late = number.checked_sub(2 * MOST as u64).filter(|n| far(*n));
            let near = number.checked_sub(1).filter(|n| !far(*n));
            for number in late.into_iter().chain(near) {
                links.set(number, next(number)).unwrap();
            }
            assert!(links.last.len() <= MOST);
        }
        for _ in 0..2 {
            for number in 0..count - 1 {
                assert_eq!(links.next(number), Some(next(number)));
            }
            assert_eq!(links.next(count - 1), None);
            assert_eq!(links.next(count), None);
            links.finish().unwrap();
            assert!(links.last.is_empty());
        }
    }
}
