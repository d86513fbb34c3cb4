// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Writes the sections of a snapshot, as `blog/read/sections.rs` does in the kernel.
//! `rust/kernel/blog/wire/file.rs` defines them.

use std::io::{self, Write};

use crate::{
    record::Version,
    wire::file::{
        Clock, ClockPair, ComponentSection, End, FileHeader, Image, Kind, RingSection,
        SectionHeader, System, Task, Wait, ENDIAN, FILE_MAGIC, SECTION_MAGIC, VERSION,
    },
};

/// Bytes under construction.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    fn u32(&mut self, n: u32) -> &mut Self {
        self.raw(&n.to_le_bytes())
    }

    fn i32(&mut self, n: i32) -> &mut Self {
        self.raw(&n.to_le_bytes())
    }

    fn u64(&mut self, n: u64) -> &mut Self {
        self.raw(&n.to_le_bytes())
    }

    fn u64s(&mut self, all: &[u64]) -> &mut Self {
        all.iter().for_each(|n| {
            self.u64(*n);
        });
        self
    }
}

/// A snapshot that is being written.
pub(super) struct Out<W> {
    to: W,
    payload: Bytes,
    end: End,
}

impl<W: Write> Out<W> {
    /// Starts a file with records of this version.
    pub(super) fn new(mut to: W, version: Version) -> io::Result<Self> {
        let mut header = Bytes::default();
        header
            .raw(&FILE_MAGIC)
            .u32(VERSION)
            .u32(ENDIAN)
            .u32(version.number())
            .u32(size_of::<FileHeader>() as u32)
            .u32(0);
        let crc = crc32fast::hash(&header.0);
        to.write_all(&header.u32(crc).0)?;
        Ok(Self {
            to,
            payload: Bytes::default(),
            end: End { sections: 0, rings: 0, pages: 0, reserved: 0 },
        })
    }

    /// Writes what is in `payload`, and empties it.
    fn section(&mut self, kind: Kind) -> io::Result<()> {
        let payload = &self.payload.0;
        let mut header = Bytes::default();
        header
            .u32(SECTION_MAGIC)
            .raw(&(kind as u16).to_le_bytes())
            .raw(&[0; 2])
            .u64(payload.len() as u64)
            .u32(self.end.sections)
            .u32(0)
            .u32(crc32fast::hash(payload));
        let crc = crc32fast::hash(&header.0);
        header.u32(crc);
        debug_assert_eq!(header.0.len(), size_of::<SectionHeader>());
        let padding = payload.len().next_multiple_of(8) - payload.len();
        self.to.write_all(&header.0)?;
        self.to.write_all(payload)?;
        self.to.write_all(&[0; 8][..padding])?;
        self.payload.0.clear();
        self.end.sections = self.end.sections.wrapping_add(1);
        Ok(())
    }

    pub(super) fn system(&mut self, s: &System) -> io::Result<()> {
        self.payload
            .u32(s.page_size)
            .u32(s.cpus)
            .u32(s.pointer_size)
            .u32(s.reserved)
            .raw(&s.release)
            .raw(&s.machine)
            .raw(&s.host)
            .raw(&s.boot_id);
        self.section(Kind::System)
    }

    pub(super) fn clock(&mut self, clock: &Clock, pairs: &[ClockPair]) -> io::Result<()> {
        self.payload.u32(clock.kind).u32(pairs.len() as u32).u64(clock.hz);
        for p in pairs {
            self.payload.u64s(&[p.clock, p.mono, p.boot, p.real, p.local]);
        }
        self.section(Kind::Clock)
    }

    pub(super) fn images(&mut self, images: &[Image]) -> io::Result<()> {
        for i in images {
            self.payload
                .u32(i.first)
                .u32(i.count)
                .u32(i.loaded)
                .u32(i.build_id_len)
                .raw(&i.build_id)
                .u32(i.reserved)
                .raw(&i.name);
        }
        self.section(Kind::Images)
    }

    /// Writes a side table, as it is.
    pub(super) fn table(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.as_is(Kind::Table, bytes)
    }

    /// Writes a section whose payload is there already.
    pub(super) fn as_is(&mut self, kind: Kind, payload: &[u8]) -> io::Result<()> {
        self.payload.raw(payload);
        self.section(kind)
    }

    pub(super) fn tasks(&mut self, tasks: &[Task]) -> io::Result<()> {
        for t in tasks {
            self.payload
                .i32(t.pid)
                .i32(t.tgid)
                .raw(&t.comm)
                .raw(&[t.state, t.flags])
                .raw(&t.reserved.to_le_bytes())
                .u32(t.cpu);
        }
        self.section(Kind::Tasks)
    }

    pub(super) fn waits(&mut self, waits: &[Wait]) -> io::Result<()> {
        for w in waits {
            self.payload.u64s(&[w.lock]).i32(w.pid).i32(w.holder).u32(w.kind).u32(w.flags);
        }
        self.section(Kind::Waits)
    }

    /// Writes counts of the sites from `first` on, which are the same before and after the rings.
    pub(super) fn counts(&mut self, first: u32, counts: &[u64]) -> io::Result<()> {
        for late in 0..2 {
            self.payload.u32(first).u32(late).u64s(counts);
            self.section(Kind::Counts)?;
        }
        Ok(())
    }

    pub(super) fn component(&mut self, c: &ComponentSection) -> io::Result<()> {
        self.payload
            .u32(c.id)
            .raw(&[c.enabled, c.level, c.mode, c.attached])
            .u32(c.size_kb)
            .u32(c.ring_kb)
            .u32(c.rings)
            .u32(c.reserved)
            .u64(c.gone_records)
            .u64s(&c.lost)
            .raw(&c.name)
            .u64(c.cleared);
        self.section(Kind::Component)
    }

    pub(super) fn ring(&mut self, r: &RingSection) -> io::Result<()> {
        self.payload
            .u32(r.component)
            .u32(r.ring)
            .raw(&[r.context, r.retired, r.task_state, r.reserved])
            .u32(r.cpu)
            .i32(r.pid)
            .i32(r.tgid)
            .raw(&r.comm)
            .u64(r.exit_clock)
            .u64(r.records)
            .u64s(&r.lost)
            .u64s(&r.told)
            .u32(r.pages)
            .u32(r.reserved2);
        self.end.rings = self.end.rings.wrapping_add(1);
        self.section(Kind::Ring)
    }

    /// Writes a page: its header and records, up to the published end.
    pub(super) fn page(&mut self, component: u32, ring: u32, bytes: &[u8]) -> io::Result<()> {
        self.payload.u32(component).u32(ring).raw(bytes);
        self.end.pages = self.end.pages.wrapping_add(1);
        self.section(Kind::Page)
    }

    /// Ends the file.
    pub(super) fn end(mut self) -> io::Result<()> {
        let End { sections, rings, pages, reserved } = self.end;
        self.payload.u32(sections).u32(rings).u32(pages).u32(reserved);
        self.section(Kind::End)?;
        self.to.flush()
    }
}
