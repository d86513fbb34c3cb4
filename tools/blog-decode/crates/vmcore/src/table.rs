// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! A walk over one of the kernel's tables: `dump::TableRoot`.

use std::{cell::Cell, collections::HashSet, ops::Range};

use crate::{
    layout,
    memory::{Fault, Memory},
    problems::Problems,
    wire::{
        dump::{TableRoot, CHUNKS_DOUBLE},
        field::Field,
    },
};

/// Things in all tables and lists together, at most: about what 64 GiB of log have.
const MAX_THINGS: u64 = 1 << 24;
/// Pointers that are read at once.
const POINTERS: u32 = 512;
/// What of memory is there, or isn't, as one.
const PAGE: u64 = 4096;
/// A chunk up to this size is read at once.
const MAX_CHUNK: u64 = 1 << 20;

/// What bounds all walks over a dump together.
pub(super) struct Walks {
    /// Things that may still be looked at.
    left: Cell<u64>,
}

impl Walks {
    pub(super) fn new() -> Self {
        Self { left: Cell::new(MAX_THINGS) }
    }

    /// Whether so many more things may be looked at.
    pub(super) fn more(&self, things: u32, place: &str, problems: &mut Problems) -> bool {
        let left = self.left.get().checked_sub(things.into());
        match left {
            Some(left) => self.left.set(left),
            None => problems.grave(place, "a table has more entries than its maximum", String::new),
        }
        left.is_some()
    }

    /// Calls `f` with the index, the address and the bytes of each value in `table`, which has values
    /// of `size` bytes. What can't be read is noted, and passed over.
    pub(super) fn each(
        &self,
        memory: &impl Memory,
        table: &TableRoot,
        size: u32,
        place: &str,
        problems: &mut Problems,
        f: impl FnMut(u32, u64, &[u8], &mut Problems),
    ) {
        if table.chunks == 0 {
            return;
        }
        let mut all = Vec::new();
        if layout::table_fits(table, size) {
            all = self.pointers(memory, table.chunks, 0..table.capacity, place, problems);
            if !matches!(table.doubling, 0 | CHUNKS_DOUBLE) {
                let arrays = std::mem::take(&mut all);
                for (n, at) in arrays {
                    let numbers = array(table, n).unwrap_or(0..0);
                    all.extend(self.pointers(memory, at, numbers, place, problems));
                }
            }
        }
        self.values(memory, (table, size), all, place, problems, f);
    }

    /// The pointers of an array with these numbers that aren't null.
    fn pointers(
        &self,
        memory: &impl Memory,
        at: u64,
        numbers: Range<u32>,
        place: &str,
        problems: &mut Problems,
    ) -> Vec<(u32, u64)> {
        let mut all = Vec::new();
        let mut pointers = [0; POINTERS as usize * 8];
        for from in numbers.clone().step_by(POINTERS as usize) {
            let count = POINTERS.min(numbers.end - from);
            if !self.more(count, place, problems) {
                break;
            }
            let bytes = &mut pointers[..count as usize * 8];
            let at = at.wrapping_add(u64::from(from - numbers.start) * 8);
            if let Err(e) = memory.read(at, bytes) {
                problems.grave(place, "part of a table can't be read", || at_addr(at, &e));
                continue;
            }
            let pointers = (from..).zip(bytes.chunks_exact(8).map(u64::get));
            all.extend(pointers.filter(|(_, pointer)| *pointer != 0));
        }
        all
    }

    /// The same of the values that these pointers of the table lead to.
    pub(super) fn values(
        &self,
        memory: &impl Memory,
        (table, size): (&TableRoot, u32),
        pointers: Vec<(u32, u64)>,
        place: &str,
        problems: &mut Problems,
        mut f: impl FnMut(u32, u64, &[u8], &mut Problems),
    ) {
        if !layout::table_fits(table, size) {
            problems.grave(place, "a table is damaged", || format!("{table:x?}"));
            return;
        }
        let mut seen = HashSet::new();
        for (n, chunk) in pointers {
            if !seen.insert(chunk) {
                problems.grave(place, "a table leads twice to the same place", || {
                    format!("{chunk:#x}")
                });
                continue;
            }
            let numbers = table.chunk(n).unwrap_or(0..0);
            if !self.more(numbers.end - numbers.start, place, problems) {
                return;
            }
            chunk_values(memory, table, size, (numbers, chunk), place, problems, &mut f);
        }
    }
}

/// Until version 5, where [`TableRoot::doubling`] was the length of the first array of pointers:
/// the numbers of those in the `n`-th array.
pub(super) fn array(table: &TableRoot, n: u32) -> Option<Range<u32>> {
    let first = match n {
        0 => 0,
        _ => table.doubling.checked_mul(1u32.checked_shl(n - 1)?)?,
    };
    Some(first..first.checked_add(first.max(table.doubling))?)
}

/// An address with what is wrong there.
pub(super) fn at_addr(addr: u64, fault: &Fault) -> String {
    format!("at {addr:#x}: {fault}")
}

/// The values of a chunk, which have these numbers.
fn chunk_values(
    memory: &impl Memory,
    table: &TableRoot,
    size: u32,
    (numbers, chunk): (Range<u32>, u64),
    place: &str,
    problems: &mut Problems,
    f: &mut impl FnMut(u32, u64, &[u8], &mut Problems),
) {
    let (stride, len) = (u64::from(table.stride), size as usize);
    let total = stride * u64::from(numbers.end - numbers.start);
    let mut whole = vec![0; total.min(MAX_CHUNK) as usize];
    let is_whole = total <= MAX_CHUNK && memory.read(chunk, &mut whole).is_ok();
    // Where the next page starts, after one that can't be read.
    let mut skip_to = 0;
    for n in numbers.clone() {
        let offset = u64::from(n - numbers.start) * stride;
        let addr = chunk.wrapping_add(offset);
        if offset < skip_to {
            continue;
        }
        if is_whole {
            let at = offset as usize;
            f(n, addr, &whole[at..at + len], problems);
            continue;
        }
        // Perhaps only a page of it is missing.
        let value = &mut whole[..len.min(MAX_CHUNK as usize)];
        match memory.read(addr, value) {
            Ok(()) => f(n, addr, value, problems),
            Err(e) => {
                problems.grave(place, "part of a table can't be read", || at_addr(addr, &e));
                skip_to = offset + PAGE - addr % PAGE;
            }
        }
    }
}
