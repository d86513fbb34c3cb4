// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! From the memory of a machine that has stopped to a snapshot.
//!
//! ```text
//! diskdump.rs   whether a compressed dump is cut off, or one part of several
//! elf.rs        checks the header of an ELF file for libkdumpfile
//! file.rs       opens a vmcore through libkdumpfile; nofile.rs: without it
//! flat.rs       puts a flattened one in order first
//! vmcoreinfo.rs the rows that a kernel leaves for crash tools
//! anchor.rs     finds the root
//! kallsyms.rs   finds a symbol of the kernel
//! crashed.rs    the task that crashed, if that wasn't noted
//! paging.rs     virtual memory out of physical memory
//! memory.rs     memory, as the extractor sees it
//! layout.rs     the root, and other layouts
//! table.rs      a walk over a table
//! tasks.rs      what tasks were doing
//! rings.rs      rings and the places of their pages
//! page.rs       the intact part of a page
//! clock.rs      calibration
//! problems.rs   damage, by kind
//! out.rs        the sections of a snapshot
//! kept.rs       memory that survived a reboot, in place of a dump
//! made.rs       a kernel's tables of its symbols, for tests
//! ```
//!
//! [`extract`] does it: from the root, which [`anchor`] finds, through components, rings and pages,
//! to the file that the running kernel would have returned. `rust/kernel/blog/wire/dump.rs` has the
//! structures. Everything is checked: a dump may be cut off, lack pages or be damaged, and the
//! machine may have stopped in the middle of anything. Intact data is written; damage is in
//! [`Problems`]. Time and memory grow with what BLog holds, not with the dump.
//!
//! An internal part of the program `blog-decode`: it changes with that.

#![forbid(unsafe_code)]

pub mod anchor;
mod clock;
pub mod crashed;
#[cfg(feature = "kdumpfile")]
mod diskdump;
#[cfg(feature = "kdumpfile")]
mod elf;
#[cfg(feature = "kdumpfile")]
mod file;
#[cfg(feature = "kdumpfile")]
mod flat;
mod kallsyms;
mod kept;
mod layout;
#[cfg(test)]
mod made;
pub mod memory;
#[cfg(not(feature = "kdumpfile"))]
mod nofile;
mod out;
mod page;
pub mod paging;
pub mod problems;
mod rings;
mod table;
mod tasks;
pub mod vmcoreinfo;

use std::{collections::BTreeMap, io::Write};

use blog_file::{error, record, snapshot};
#[cfg(feature = "kdumpfile")]
use blog_file::{kind, unpack};
use blog_table as blogfmt;
use blog_wire as wire;

#[cfg(feature = "kdumpfile")]
pub use self::file::{dumps, open};
pub use self::layout::RingLayout;
#[cfg(not(feature = "kdumpfile"))]
pub use self::nofile::{dumps, open};
use self::{
    crashed::Crashed,
    memory::Memory,
    out::Out,
    problems::Problems,
    rings::{FoundPage, FoundRing},
    table::{at_addr, Walks},
    tasks::Tasks,
};
pub use self::{kept::kept, layout::READS};
use crate::{
    error::Error,
    record::Version,
    snapshot::{component_name, text},
    wire::{
        dump::{self, Root, SideTable},
        field::Field,
        file::{ComponentSection, Kind, NAME_MAX, TABLES_MAX, TABLE_MAX},
        page::PageInfo,
        record::SITE_MAX,
    },
};

/// Images that the root may list.
const MAX_IMAGES: u32 = 1 << 16;
/// Components that it may have places for.
const MAX_COMPONENTS: u32 = 1 << 16;
/// Sites in a section of counts.
const IN_COUNTS: u32 = 512;
/// Images, or tasks, in a section.
const IN_SECTION: usize = 1024;

/// What was extracted.
#[derive(Debug, Default)]
pub struct Extracted {
    /// What was not as it should be.
    pub problems: Problems,
    /// Components.
    pub components: u32,
    /// Rings that have something to tell.
    pub rings: u32,
    /// Their pages.
    pub pages: u32,
    /// Records in these.
    pub records: u64,
    /// Tasks that have rings.
    pub tasks: u32,
}

/// Writes a snapshot of what is in memory, beginning at the root at `addr`.
pub fn extract(memory: &impl Memory, addr: u64, to: impl Write) -> Result<Extracted, Error> {
    extract_with(memory, addr, None, to, &mut |_, _| {})
}

/// The same; `crashed` counts where the root has no note of it. It calls `tick` with how many pages
/// are done, of those that were found so far.
pub fn extract_with(
    memory: &impl Memory,
    addr: u64,
    crashed: Option<Crashed>,
    to: impl Write,
    tick: &mut dyn FnMut(u64, u64),
) -> Result<Extracted, Error> {
    let root = layout::root(memory, addr)?;
    if root.state != dump::STATE_ON {
        return Err(Error::File(
            "BLog was not loaded when the machine stopped: nothing was logged".into(),
        ));
    }
    let version = Version::from_number(root.wire_version)?;
    let mut job = Job {
        memory,
        root: &root,
        crashed,
        walks: Walks::new(),
        out: Out::new(to, version)?,
        result: Extracted::default(),
        tick,
        found: 0,
        version,
    };
    job.run()?;
    job.out.end()?;
    Ok(job.result)
}

struct Job<'a, M, W> {
    memory: &'a M,
    root: &'a Root,
    crashed: Option<Crashed>,
    walks: Walks,
    out: Out<W>,
    result: Extracted,
    tick: &'a mut dyn FnMut(u64, u64),
    /// Pages that were found so far.
    found: u64,
    version: Version,
}

impl<M: Memory, W: Write> Job<'_, M, W> {
    fn run(&mut self) -> Result<(), Error> {
        let problems = &mut self.result.problems;
        self.out.as_is(Kind::System, &self.root.system.bytes())?;
        let pairs = clock::pairs(self.memory, self.root, problems);
        self.out.clock(&self.root.clock, &pairs)?;
        self.side_tables()?;
        self.images()?;
        self.counts()?;
        let tasks = Tasks::read(
            self.memory,
            self.root,
            self.crashed,
            &self.walks,
            &mut self.result.problems,
        );
        for part in tasks.list.chunks(IN_SECTION) {
            self.out.list(Kind::Tasks, part)?;
        }
        for part in tasks.waits.chunks(IN_SECTION) {
            self.out.list(Kind::Waits, part)?;
        }
        self.result.tasks = tasks.list.len() as u32;
        for slot in 0..self.root.components_len.min(MAX_COMPONENTS) {
            let at = self.root.components.wrapping_add(u64::from(slot) * 8);
            match memory::word(self.memory, at) {
                Ok(0) => {}
                Ok(addr) => self.component(slot, addr, &tasks)?,
                Err(e) => {
                    let problems = &mut self.result.problems;
                    problems.grave("root", "components can't be found", || at_addr(at, &e));
                    break;
                }
            }
        }
        Ok(())
    }

    /// Writes the side tables that the kernel has: those of probes.
    fn side_tables(&mut self) -> Result<(), Error> {
        let (root, problems) = (self.root, &mut self.result.problems);
        let mut raw = vec![0; SideTable::SIZE.min(root.side_table_size as usize)];
        for n in 0..root.side_tables_len.min(TABLES_MAX as u32) {
            let at = u64::from(n) * u64::from(root.side_table_size);
            let addr = root.side_tables.wrapping_add(at);
            let table = self.memory.read(addr, &mut raw).and_then(|()| {
                let SideTable { bytes, len, .. } = SideTable::get(&raw);
                let mut table = vec![0; (len as usize).min(TABLE_MAX)];
                self.memory.read(bytes, &mut table).map(|()| table)
            });
            match table {
                Ok(table) => self.out.as_is(Kind::Table, &table)?,
                Err(e) => {
                    problems.grave("images", "a side table can't be read", || at_addr(addr, &e))
                }
            }
        }
        Ok(())
    }

    fn images(&mut self) -> Result<(), Error> {
        let (root, problems) = (self.root, &mut self.result.problems);
        let size = root.image_size as usize;
        let len = root.images_len.min(MAX_IMAGES);
        let mut images = Vec::new();
        let mut raw = vec![0; size.min(4096)];
        for n in 0..len {
            let addr = root.images.wrapping_add(u64::from(n) * size as u64);
            match self.memory.read(addr, &mut raw) {
                Ok(()) => match layout::image(&raw) {
                    Some(image) => images.push(image),
                    None => {
                        problems.grave("images", "an image is damaged", || format!("{addr:#x}"))
                    }
                },
                Err(e) => problems.grave("images", "an image can't be read", || at_addr(addr, &e)),
            }
        }
        for part in images.chunks(IN_SECTION) {
            self.out.list(Kind::Images, part)?;
        }
        Ok(())
    }

    /// Writes the counts by site that aren't 0.
    fn counts(&mut self) -> Result<(), Error> {
        let (table, mut counts) = (&self.root.counts, BTreeMap::<u32, Vec<u64>>::new());
        let problems = &mut self.result.problems;
        let place = "counts of sites";
        let each = |site: u32, _, bytes: &[u8], _: &mut Problems| {
            let n = u64::get(bytes);
            if n != 0 && site <= SITE_MAX {
                let part = counts.entry(site / IN_COUNTS * IN_COUNTS).or_default();
                part.resize((site % IN_COUNTS) as usize, 0);
                part.push(n);
            }
        };
        self.walks.each(self.memory, table, 8, place, problems, each);
        for (first, part) in &counts {
            self.out.counts(*first, part)?;
        }
        Ok(())
    }

    /// Writes a component with its rings and their pages.
    fn component(&mut self, slot: u32, addr: u64, tasks: &Tasks) -> Result<(), Error> {
        let (memory, root, problems) = (self.memory, self.root, &mut self.result.problems);
        let slot_name = format!("component {slot}");
        let c = match layout::component(memory, addr) {
            Ok(Some(c)) => c,
            Ok(None) => {
                problems.grave(&slot_name, "it is damaged", || format!("at {addr:#x}"));
                return Ok(());
            }
            Err(e) => {
                problems.grave(&slot_name, "it can't be read", || at_addr(addr, &e));
                return Ok(());
            }
        };
        let mut section = ComponentSection {
            id: slot,
            enabled: c.enabled,
            level: c.level,
            mode: c.mode,
            attached: c.attached,
            size_kb: c.size_kb,
            ring_kb: c.ring_kb,
            name: name_of(&c.name, slot),
            cleared: c.cleared,
            ..ComponentSection::get(&[])
        };
        let place = format!("component {}", text(&section.name));
        let layout = match c.memory {
            0 => None,
            at => match layout::memory(memory, at) {
                Ok(Some(layout)) => Some(layout),
                Ok(None) => {
                    problems.grave(&place, "its memory is damaged", || format!("at {at:#x}"));
                    None
                }
                Err(e) => {
                    problems.grave(&place, "its memory can't be read", || at_addr(at, &e));
                    None
                }
            },
        };
        match layout::loose(memory, c.lost, layout.as_ref()) {
            Ok((records, lost)) => (section.gone_records, section.lost) = (records, lost),
            Err(e) => problems.grave(&place, "its counts can't be read", || e.to_string()),
        }
        let mut rings = Vec::new();
        if let Some(layout) = &layout {
            if rings::layouts_fit(root) {
                let of = (slot, layout);
                rings = rings::find(memory, root, of, tasks, &self.walks, &place, problems);
            } else {
                problems.grave("root", "the layout of rings is damaged", String::new);
            }
        }
        section.rings = rings.len() as u32;
        self.result.components += 1;
        self.result.rings += section.rings;
        self.out.as_is(Kind::Component, &section.bytes())?;
        let pages: usize = rings.iter().map(|ring| ring.pages.len()).sum();
        self.found += pages as u64;
        for ring in rings {
            self.out.as_is(Kind::Ring, &ring.ring.bytes())?;
            for page in &ring.pages {
                self.page(&ring, page, &place)?;
            }
        }
        Ok(())
    }

    /// Writes a page.
    fn page(&mut self, ring: &FoundRing, page: &FoundPage, place: &str) -> Result<(), Error> {
        let problems = &mut self.result.problems;
        let read = page::read(self.memory, ring, page, self.version, place, problems);
        let Some(bytes) = read else {
            return Ok(());
        };
        let records = PageInfo::read(&bytes).map_or(0, |page| page.records());
        self.result.records += u64::from(records);
        self.result.pages += 1;
        (self.tick)(self.result.pages.into(), self.found);
        self.out.page(ring.ring.component, ring.ring.ring, &bytes)?;
        Ok(())
    }
}

/// A component's name; one by its number where that is lost.
fn name_of(name: &[u8; NAME_MAX], slot: u32) -> [u8; NAME_MAX] {
    if component_name(name).is_some() {
        return *name;
    }
    let mut made = [0; NAME_MAX];
    for (to, from) in made.iter_mut().zip(format!("component{slot}").bytes()) {
        *to = from;
    }
    made
}
