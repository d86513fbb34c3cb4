// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Memory of a machine that has stopped, as the extractor sees it: by virtual address, untrusted,
//! and with holes.

use std::fmt;

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

/// Reads structures field by field, in the order of their declaration. What lies after the end is
/// 0: an older kernel's structure, which has grown since.
pub(super) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut out = [0; N];
        let (head, rest) = self.0.split_at(self.0.len().min(N));
        out[..head.len()].copy_from_slice(head);
        self.0 = rest;
        out
    }

    pub(super) fn u8(&mut self) -> u8 {
        u8::from_le_bytes(self.bytes())
    }

    pub(super) fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.bytes())
    }

    pub(super) fn i32(&mut self) -> i32 {
        i32::from_le_bytes(self.bytes())
    }

    pub(super) fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.bytes())
    }

    pub(super) fn u64s<const N: usize>(&mut self) -> [u64; N] {
        std::array::from_fn(|_| self.u64())
    }
}

/// Eight counters, as the kernel keeps them of losses.
pub(super) fn counters(memory: &impl Memory, addr: u64) -> Result<[u64; 8], Fault> {
    let mut raw = [0; 64];
    memory.read(addr, &mut raw)?;
    Ok(Fields::new(&raw).u64s())
}

/// A `u64`.
pub(super) fn word(memory: &impl Memory, addr: u64) -> Result<u64, Fault> {
    let mut raw = [0; 8];
    memory.read(addr, &mut raw)?;
    Ok(u64::from_le_bytes(raw))
}
