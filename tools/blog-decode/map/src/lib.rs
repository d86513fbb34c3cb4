// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Reads the records of a component of BLog in the kernel's own pages, which a process maps by the
//! component's file `map`: no system call, and no copy in the kernel.
//!
//! A [`Map`] is the mapping, and a [`Reader`] a position in all rings. Each [`Reader::pass`] returns
//! the records that came since the pass before, in [pieces](Piece) that can be decoded alone, like
//! those in a stream file. Documentation/blog/formats.rst, "Mapped memory", has the rules that
//! they follow. Writers go on meanwhile, and know of no reader.
//!
//! ```no_run
//! use blog_map::{Error, Map, Reader};
//!
//! # fn main() -> Result<(), Error> {
//! let mut map = Map::open("/sys/kernel/tracing/blog/rnull/map")?;
//! let mut reader = Reader::new(map.memory())?;
//! loop {
//!     let passed = reader.pass(map.memory(), |piece| {
//!         let (owner, bytes) = (piece.owner, piece.page.len());
//!         println!("{bytes} bytes of ring {} of pid {}", piece.ring, owner.pid);
//!     });
//!     match passed {
//!         // Pages have come or gone.
//!         Err(Error::Changed) => map = map.again()?,
//!         // The component was removed, or switched off and cleared.
//!         Err(Error::Gone) => return Ok(()),
//!         passed => passed?,
//!     }
//!     std::thread::sleep(std::time::Duration::from_millis(50));
//! }
//! # }
//! ```
//!
//! Memory is untrusted: whatever is in it, nothing here panics, and what it does is bounded by the
//! size of the mapping.

mod cut;
#[cfg(test)]
#[allow(dead_code)]
mod image;
mod map;
mod memory;
mod reader;

pub use self::{
    map::Map,
    memory::Memory,
    reader::{Owner, Piece, Reader},
};
use std::{fmt, io};

use blog_wire as wire;

/// Why memory can't be read.
#[derive(Debug)]
pub enum Error {
    /// A system call has failed.
    System(io::Error),
    /// It isn't the memory of a component, or of a version that this crate doesn't read; why.
    Wrong(String),
    /// The component's pages are others than those that are mapped. [`Map::again`] maps them. The
    /// reader goes on where it was.
    Changed,
    /// The component has this memory no more. What it has next, if anything, is for a new reader.
    Gone,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(e) => e.fmt(f),
            Self::Wrong(why) => f.write_str(why),
            Self::Changed => f.write_str("the component has other pages now"),
            Self::Gone => f.write_str("the component's memory is gone"),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(e: io::Error) -> Self {
        Self::System(e)
    }
}

impl From<rustix::io::Errno> for Error {
    fn from(e: rustix::io::Errno) -> Self {
        Self::System(e.into())
    }
}
