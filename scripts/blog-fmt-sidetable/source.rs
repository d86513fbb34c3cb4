// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Where the bytes of an input come from: a regular file, or memory.
//!
//! A reader asks for the ranges that it needs, so a large image is never in memory as a whole. A
//! range is checked against the input's size before a buffer is made for it: a damaged length
//! field cannot ask for more memory than the input has bytes.
//!
//! Needs only `std`; the crate `blog-table` links to this file.

use std::{
    fs::File,
    io,
    os::unix::fs::{
        FileExt,
        MetadataExt, //
    },
    path::{
        Path,
        PathBuf, //
    },
    sync::Arc,
};

/// An input that can be read at any offset.
pub enum Source {
    /// A regular file and its size.
    File(Arc<File>, u64),
    /// The same, opened for each read: there may be more files than a program may have open.
    Closed(Closed),
    /// All the bytes.
    // Only blog-decode makes one, for standard input and in tests.
    #[allow(dead_code)]
    Memory(Vec<u8>),
}

/// A regular file that isn't open.
#[derive(Clone)]
pub struct Closed {
    path: PathBuf,
    size: u64,
    /// Its device and inode.
    id: (u64, u64),
}

impl Closed {
    fn open(&self) -> io::Result<File> {
        let file = File::open(&self.path)?;
        match id(&file)? == self.id {
            true => Ok(file),
            false => Err(io::Error::other("was replaced while it was read")),
        }
    }
}

/// The device and inode of a file.
fn id(file: &File) -> io::Result<(u64, u64)> {
    let meta = file.metadata()?;
    Ok((meta.dev(), meta.ino()))
}

fn read_at(file: &File, off: u64, buf: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while done < buf.len() {
        match file.read_at(&mut buf[done..], off + done as u64) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(done)
}

impl Source {
    /// Opens a regular file; a directory, pipe or device is an error that says so.
    pub fn open(path: &Path) -> io::Result<Self> {
        let meta = std::fs::metadata(path)?;
        if !meta.is_file() {
            let what = if meta.is_dir() {
                "is a directory"
            } else {
                "is not a regular file"
            };
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        let file = File::open(path)?;
        let size = file.metadata()?.len();
        Ok(Self::File(Arc::new(file), size))
    }

    /// Closes a file, which was opened by this path, until it is read.
    // Only blog-decode has so many.
    #[allow(dead_code)]
    pub fn close(&mut self, path: &Path) -> io::Result<()> {
        if let Self::File(file, size) = self {
            let (size, id) = (*size, id(file)?);
            let path = path.to_owned();
            *self = Self::Closed(Closed { path, size, id });
        }
        Ok(())
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        match self {
            Self::File(_, size) | Self::Closed(Closed { size, .. }) => *size,
            Self::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// Reads up to `buf.len()` bytes at `off`; returns how many there were.
    pub fn read_some(&self, off: u64, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file, _) => read_at(file, off, buf),
            Self::Closed(file) => read_at(&file.open()?, off, buf),
            Self::Memory(bytes) => {
                let start = usize::try_from(off).map_or(bytes.len(), |o| o.min(bytes.len()));
                let n = buf.len().min(bytes.len() - start);
                buf[..n].copy_from_slice(&bytes[start..start + n]);
                Ok(n)
            }
        }
    }

    /// Reads exactly the range `off..off + len`. `None`: the input ends before, or `len` is more
    /// than `limit`.
    pub fn read(&self, off: u64, len: u64, limit: u64) -> io::Result<Option<Vec<u8>>> {
        match off.checked_add(len) {
            Some(end) if end <= self.size() && len <= limit => {}
            _ => return Ok(None),
        }
        let Ok(len) = usize::try_from(len) else {
            return Ok(None);
        };
        let mut buf = vec![0; len];
        let n = self.read_some(off, &mut buf)?;
        Ok((n == len).then_some(buf))
    }
}
