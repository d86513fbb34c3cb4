// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The mapping.

use std::{fs::File, path::Path, ptr, slice};

use rustix::mm::{mmap, munmap, MapFlags, ProtFlags};

use crate::{
    memory::{Memory, Meta},
    Error,
};

/// Bytes of a page, of which the file's length is a multiple.
const PAGE: usize = 4096;

/// The memory of a component, mapped read only.
///
/// # Invariants
///
/// `at` leads to `len` bytes of a mapping of this process, which this owns.
pub struct Map {
    file: File,
    at: *const u8,
    len: usize,
}

// SAFETY: Nothing of it belongs to a thread.
unsafe impl Send for Map {}

impl Map {
    /// Maps the memory that a component has now, by its file `map`.
    ///
    /// Errors of the system: EPERM, if addresses are not for this process; ENODATA, if the component
    /// has no memory.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::of(File::open(path)?)
    }

    /// The same by an open file.
    pub fn of(file: File) -> Result<Self, Error> {
        let first = Self::of_len(file, PAGE)?;
        let pages = Meta::read(first.memory())?.pages()?;
        // If there are fewer by now, this is an error, and if there are more, the generation is
        // another one than that of the reader.
        let Self { ref file, .. } = first;
        Self::of_len(file.try_clone()?, pages * PAGE)
    }

    fn of_len(file: File, len: usize) -> Result<Self, Error> {
        let (prot, flags) = (ProtFlags::READ, MapFlags::SHARED);
        // SAFETY: The kernel chooses where it is, so nothing else is there.
        let at = unsafe { mmap(ptr::null_mut(), len, prot, flags, &file, 0) }?;
        // INVARIANT: It is a new mapping of this length.
        Ok(Self { file, at: at.cast_const().cast(), len })
    }

    /// Maps what the component has now, in place of this.
    pub fn again(self) -> Result<Self, Error> {
        Self::of(self.file.try_clone()?)
    }

    /// What is mapped.
    pub fn memory(&self) -> Memory<'_> {
        // SAFETY: By the type invariants, it is there and stays. The kernel changes it, so it is
        // only looked at by atomic loads; nobody has another reference to it.
        Memory::new(unsafe { slice::from_raw_parts(self.at.cast(), self.len / 8) })
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: By the type invariants; no reference outlives this.
        let _ = unsafe { munmap(self.at.cast_mut().cast(), self.len) };
    }
}
