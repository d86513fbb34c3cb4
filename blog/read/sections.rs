// SPDX-License-Identifier: GPL-2.0

//! Writes the sections of a snapshot or a stream.
//!
//! A [`Walk`](super::walk::Walk) decides what comes next. [`Sections`] holds what one step of it
//! has written, until that has been read. From the first component on, that is one page at most.

use kernel::{
    blog::wire::{
        file as format,
        file::Kind,
        record::{
            TASK_SIZE,
            WIRE_VERSION, //
        }, //
    },
    cpu::nr_cpu_ids, //
};

#[cfg(not(CONFIG_BLOG_PARTS))]
use crate::write::tables;
use crate::{
    clock,
    read::selection::Selection,
    registry,
    sys::{
        glue,
        params,
        prelude::*, //
    },
};

#[cfg(CONFIG_BLOG_PARTS)]
mod chosen;
#[cfg(CONFIG_BLOG_PARTS)]
mod waits;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// What there is now.
    Snapshot,
    /// That, and then what comes.
    Stream,
}

const IMAGES: usize = 40;
const TASKS: usize = 128;
/// What stands before the payload of a section.
const HEADER: usize = size_of::<format::SectionHeader>();
/// Room for a page, and for what a reader may add to it.
pub(crate) const PAGE_ROOM: usize = PAGE_SIZE + TASK_SIZE as usize;
/// Room for a page's section: its header, what stands before and after the page, and what
/// [`Selection::take_out`] needs for that. Before the first page, there may be longer ones.
const ROOM: usize =
    HEADER + size_of::<format::Page>() + 2 * PAGE_ROOM + size_of::<format::PageEnd>() + 8;

/// Random id of this run of BLog: two files of it give a site that is in both the same id.
static BOOT_ID: SetOnce<[u8; 16]> = SetOnce::new();

/// Called once, when BLog starts.
pub(crate) fn init() {
    BOOT_ID.populate(glue::random());
}

/// The machine as files and crash tools see it.
pub(crate) fn system() -> format::System {
    let [release, machine, host] = params::uts();
    format::System {
        page_size: PAGE_SIZE as u32,
        cpus: nr_cpu_ids(),
        pointer_size: size_of::<usize>() as u32,
        reserved: 0,
        release,
        machine,
        host,
        boot_id: BOOT_ID.as_ref().copied().unwrap_or_default(),
    }
}

/// The checksum of a header, whose last field is to be that.
fn crc_of(header: &impl AsBytes) -> Result<u32> {
    let (bytes, _) = header.as_bytes().split_last_chunk::<4>().ok_or(EINVAL)?;
    Ok(glue::crc32(0, bytes))
}

/// How a file begins.
pub(crate) fn file_header(form: Form) -> Result<format::FileHeader> {
    let mut header = format::FileHeader {
        magic: format::FILE_MAGIC,
        version: format::VERSION,
        endian: format::ENDIAN,
        wire_version: WIRE_VERSION,
        header_size: size_of::<format::FileHeader>() as u32,
        flags: match form {
            Form::Snapshot => 0,
            Form::Stream => format::FLAG_STREAM,
        },
        crc: 0,
    };
    header.crc = crc_of(&header)?;
    Ok(header)
}

/// The sections that are being read.
pub(crate) struct Sections {
    /// It starts with whole sections, of which the reader has what comes before `read`, and gets
    /// what comes before `whole`. The next one is made after them, and there is `len` in all.
    out: KVVec<u8>,
    read: usize,
    whole: usize,
    len: usize,
    /// Sections and images so far.
    sections: u32,
    images: usize,
    /// [`clock::versions`] of the pairs so far, and the clock of the last one.
    versions: (u32, u32),
    last_clock: u64,
    /// What the reader gets.
    pub(crate) selection: Selection,
}

impl Sections {
    /// Begins with the file's header. `addresses`: whether the reader may see them.
    pub(crate) fn new(form: Form, addresses: bool) -> Result<Self> {
        let header = file_header(form)?;
        let mut new = Self {
            out: KVVec::from_elem(0, ROOM, GFP_KERNEL)?,
            read: 0,
            whole: 0,
            len: 0,
            sections: 0,
            images: 0,
            versions: (0, 0),
            last_clock: 0,
            selection: Selection::new(addresses),
        };
        new.push(header.as_bytes())?;
        new.whole = new.len;
        Ok(new)
    }

    /// What of the sections has not been read.
    pub(crate) fn pending(&self) -> &[u8] {
        self.out.get(self.read..self.whole).unwrap_or_default()
    }

    /// Goes on by `n` bytes. When all is read, there is room for the next sections.
    pub(crate) fn consume(&mut self, n: usize) {
        self.read = self.read.saturating_add(n);
        if self.read >= self.whole {
            (self.read, self.whole) = (0, 0);
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result {
        let end = self.len + bytes.len();
        if end > self.out.len() {
            self.out.resize(end, 0, GFP_KERNEL)?;
        }
        let room = self.out.get_mut(self.len..end).ok_or(EINVAL)?;
        glue::copy(room, bytes);
        self.len = end;
        Ok(())
    }

    /// Starts a section; what is pushed from here on is its payload. Nobody reads it before
    /// [`Self::end`].
    pub(crate) fn begin(&mut self) {
        self.len = self.whole + HEADER;
    }

    pub(crate) fn end(&mut self, kind: Kind) -> Result {
        let len = self.len;
        // Padding, or more than that
        self.push(&[0; 7])?;
        let section = self.out.get_mut(self.whole..len).ok_or(EINVAL)?;
        let (place, payload) = section.split_first_chunk_mut::<HEADER>().ok_or(EINVAL)?;
        let mut header = format::SectionHeader {
            magic: format::SECTION_MAGIC,
            kind: kind as u16,
            flags: 0,
            len: payload.len() as u64,
            index: self.sections,
            reserved: 0,
            payload_crc: glue::crc32(0, payload),
            crc: 0,
        };
        header.crc = crc_of(&header)?;
        *place = *header.as_bytes().first_chunk().ok_or(EINVAL)?;
        self.whole = len.next_multiple_of(8);
        self.sections = self.sections.wrapping_add(1);
        Ok(())
    }

    pub(crate) fn section(&mut self, kind: Kind, payload: &impl AsBytes) -> Result {
        self.begin();
        self.push(payload.as_bytes())?;
        self.end(kind)
    }

    /// Writes what stands first: the system, the clock.
    pub(crate) fn head(&mut self) -> Result {
        self.section(Kind::System, &system())?;
        clock::tick();
        self.clock()
    }

    /// Writes the pairs of clocks that were not written yet.
    pub(super) fn clock(&mut self) -> Result {
        self.versions = clock::versions();
        let pairs = clock::since(self.last_clock)?;
        self.last_clock = pairs.last().map_or(self.last_clock, |pair| pair.clock);
        self.begin();
        self.push(clock::section(pairs.len()).as_bytes())?;
        for pair in &pairs {
            self.push(pair.as_bytes())?;
        }
        self.end(Kind::Clock)
    }

    /// [`Self::clock`], if there are new pairs: `step`: such that what comes next is on another
    /// line.
    pub(super) fn new_clock(&mut self, step: bool) -> Result {
        let (version, steps) = clock::versions();
        let new = match step {
            true => self.versions.1 != steps,
            false => self.versions.0 != version,
        };
        match new {
            true => self.clock(),
            false => Ok(()),
        }
    }

    /// Writes the images that were not written yet, and before them the side tables that they have.
    /// A reader that may not see addresses gets no arguments of sites that come later.
    pub(crate) fn images(&mut self) -> Result {
        registry::with_images(|images| {
            let new = images.list().get(self.images..).unwrap_or_default();
            for image in new.iter().filter(|image| !image.table.is_empty()) {
                self.begin();
                self.push(&image.table)?;
                self.end(Kind::Table)?;
            }
            for some in new.chunks(IMAGES) {
                self.begin();
                for image in some {
                    self.selection.add(image.entry.first, &image.facts)?;
                    self.push(image.entry.as_bytes())?;
                }
                self.end(Kind::Images)?;
            }
            self.images += new.len();
            Ok(())
        })
    }

    /// Writes what the next tasks are doing that have a ring of a component with one of these
    /// `slots`. `from` is that of [`tables::next`]. False: there are none.
    #[cfg(not(CONFIG_BLOG_PARTS))]
    pub(super) fn tasks(&mut self, from: &mut u32, slots: impl Fn(u32) -> bool) -> Result<bool> {
        self.begin();
        let most = self.len + (TASKS - 1) * size_of::<format::Task>();
        while self.len <= most {
            let Some(writer) = tables::next(from, &slots, |_| ()) else {
                break;
            };
            self.push(writer.task.as_bytes())?;
        }
        if self.len == self.whole + HEADER {
            return Ok(false);
        }
        self.end(Kind::Tasks)?;
        Ok(true)
    }

    /// Writes a page of a ring, or a piece of it.
    ///
    /// `fill` puts it at the start of a slice that has room for a page and for what a reader may
    /// add, and returns its length and [`format::PageEnd::next`]; `None`: there is nothing to
    /// write. Returns what `fill` did.
    pub(super) fn page<T>(
        &mut self,
        (component, ring): (u32, u32),
        fill: impl FnOnce(&mut [u8]) -> Option<(usize, u64, T)>,
    ) -> Result<Option<T>> {
        self.begin();
        self.push(format::Page { component, ring }.as_bytes())?;
        let room = self.out.get_mut(self.len..self.len + 2 * PAGE_ROOM);
        let room = room.ok_or(EINVAL)?;
        let Some((mut len, next, result)) = room.get_mut(..PAGE_ROOM).and_then(fill) else {
            return Ok(None);
        };
        if !self.selection.is_all() {
            len = self.selection.take_out(room, len);
        }
        self.len += len;
        self.push(format::PageEnd { next }.as_bytes())?;
        self.end(Kind::Page)?;
        Ok(Some(result))
    }

    pub(super) fn end_of_file(&mut self) -> Result {
        let end = format::End {
            sections: self.sections,
            reserved: [0; 3],
        };
        self.section(Kind::End, &end)
    }
}
