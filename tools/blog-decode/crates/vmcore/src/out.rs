// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Writes the sections of a snapshot, as `blog/read/sections.rs` does in the kernel.
//! `rust/kernel/blog/wire/file.rs` defines them.

use std::io::{self, Write};

use crate::{
    record::Version,
    snapshot::split::{header, section},
    wire::{
        field::Field,
        file::{Clock, ClockPair, End, Kind, Page, PageEnd},
        hits::Counts,
        page::PageInfo,
    },
};

/// A snapshot that is being written.
pub(super) struct Out<W> {
    to: W,
    payload: Vec<u8>,
    end: End,
}

impl<W: Write> Out<W> {
    /// Starts a file with records of this version.
    pub(super) fn new(mut to: W, version: Version) -> io::Result<Self> {
        to.write_all(&header(version, 0))?;
        Ok(Self { to, payload: Vec::new(), end: End { sections: 0, reserved: [0; 3] } })
    }

    /// Writes what is in `payload`, and empties it.
    fn section(&mut self, kind: Kind) -> io::Result<()> {
        self.to.write_all(&section(kind, &self.payload, self.end.sections))?;
        self.payload.clear();
        self.end.sections = self.end.sections.wrapping_add(1);
        Ok(())
    }

    pub(super) fn clock(&mut self, clock: &Clock, pairs: &[ClockPair]) -> io::Result<()> {
        let clock = Clock { pairs: pairs.len() as u32, ..*clock };
        self.payload.extend(clock.bytes());
        self.list(Kind::Clock, pairs)
    }

    /// Writes a section whose payload is there already.
    pub(super) fn as_is(&mut self, kind: Kind, payload: &[u8]) -> io::Result<()> {
        self.payload.extend_from_slice(payload);
        self.section(kind)
    }

    /// Writes a section that ends with these.
    pub(super) fn list<T: Field>(&mut self, kind: Kind, all: &[T]) -> io::Result<()> {
        let from = self.payload.len();
        self.payload.resize(from + size_of_val(all), 0);
        for (to, one) in self.payload[from..].chunks_exact_mut(T::SIZE).zip(all) {
            one.put(to);
        }
        self.section(kind)
    }

    /// Writes counts of the sites from `first` on, which are the same before and after the rings.
    pub(super) fn counts(&mut self, first: u32, counts: &[u64]) -> io::Result<()> {
        for late in 0..2 {
            self.payload.extend(Counts { first, late }.bytes());
            self.list(Kind::Counts, counts)?;
        }
        Ok(())
    }

    /// Writes a page: its header and records, up to the published end.
    pub(super) fn page(&mut self, component: u32, ring: u32, bytes: &[u8]) -> io::Result<()> {
        self.payload.extend(Page { component, ring }.bytes());
        self.payload.extend_from_slice(bytes);
        let next = PageInfo::read(bytes).map_or(0, |info| info.first);
        self.as_is(Kind::Page, &PageEnd { next }.bytes())
    }

    /// Ends the file.
    pub(super) fn end(mut self) -> io::Result<()> {
        let end = self.end.bytes();
        self.as_is(Kind::End, &end)?;
        self.to.flush()
    }
}
