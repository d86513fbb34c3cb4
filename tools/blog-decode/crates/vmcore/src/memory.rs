// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Memory of a machine that has stopped, as the extractor sees it: by virtual address, untrusted,
//! and with holes.

use std::fmt;

use crate::wire::field::Field;

/// Why memory can't be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No memory is mapped at this address.
    Unmapped,
    /// It is not in the dump.
    Missing,
    /// The dump is cut off or damaged there; how.
    Damaged(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unmapped => f.write_str("no memory is mapped there"),
            Self::Missing => f.write_str("that memory is not in the dump"),
            Self::Damaged(how) => f.write_str(how),
        }
    }
}

/// Virtual memory of the kernel.
pub trait Memory {
    /// Fills `buf` with what is at `addr`. On an error, `buf` holds anything.
    fn read(&self, addr: u64, buf: &mut [u8]) -> Result<(), Fault>;
}

/// Physical memory.
pub trait Physical {
    /// Fills `buf`, which doesn't cross a page, with what is at `addr`.
    fn read(&self, addr: u64, buf: &mut [u8]) -> Result<(), Fault>;
}

/// Eight counters, as the kernel keeps them of losses.
pub(super) fn counters(memory: &impl Memory, addr: u64) -> Result<[u64; 8], Fault> {
    let mut raw = [0; 64];
    memory.read(addr, &mut raw)?;
    Ok(Field::get(&raw))
}

/// A `u64`.
pub(super) fn word(memory: &impl Memory, addr: u64) -> Result<u64, Fault> {
    let mut raw = [0; 8];
    memory.read(addr, &mut raw)?;
    Ok(u64::from_le_bytes(raw))
}
