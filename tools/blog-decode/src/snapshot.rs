// SPDX-License-Identifier: GPL-2.0

//! Reads a snapshot file or the capture of a stream, whole or damaged.
//!
//! [`Snapshot::open`] goes through all sections once, checks every checksum, and keeps what
//! describes the file plus *where* each page is; [`merge`](crate::merge) reads pages when it needs
//! them. So memory is bounded by the number of sections, whatever length fields say.
//!
//! Where a section is damaged, it goes to the next one whose header has the right checksum. What
//! that cost is in [`Damage`]; nothing is dropped in silence. It never panics.
//!
//! The capture of a stream has the same sections. They come again when they change, a ring may go
//! to another task in the middle, and pages are in pieces. It may stop anywhere: that is no damage.

use std::{
    collections::HashMap,
    fs::File,
    io::Read,
    path::Path, //
};

use crate::{
    blogfmt::{
        bytes::{
            array,
            until_nul, //
        },
        source::Source, //
    },
    wire::{
        record::{
            PageInfo,
            LOST_CAUSES,
            PAGE_HEADER_SIZE,
            PAGE_MAGIC,
            WIRE_VERSION, //
        },
        snapshot::{
            self as wire,
            Clock,
            ClockPair,
            Component,
            End,
            FileHeader,
            Image,
            Kind,
            Ring,
            SectionHeader,
            System,
            Task, //
        }, //
    },
};

const FILE_HEADER: usize = size_of::<FileHeader>();
const SECTION_HEADER: usize = size_of::<SectionHeader>();
/// Sections start on multiples of this.
const ALIGN: u64 = 8;
/// As much of a file that doesn't start as a snapshot is searched for a section.
const SEARCH: u64 = 1 << 20;
/// As much is read from a pipe.
const PIPE_MAX: u64 = 1 << 30;
/// A snapshot with more clock pairs is damaged.
const MAX_PAIRS: u32 = 4096;

/// What a damaged file has cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Sections whose checksum is wrong, or whose content makes no sense.
    pub bad_sections: u64,
    /// Sections that are missing, by the numbers of those before and after.
    pub lost_sections: u64,
    /// Bytes that belong to no section.
    pub skipped_bytes: u64,
    /// The file ends before its End section, and is no capture of a stream.
    pub cut_off: bool,
    /// The file's own header is damaged.
    pub bad_header: bool,
}

impl Damage {
    /// Whether there is any.
    pub fn any(&self) -> bool {
        *self != Self::default()
    }
}

/// Where a page is, and what its header says.
#[derive(Clone, Copy, Debug)]
pub struct PageRef {
    /// Offset of the page's header in the file.
    pub offset: u64,
    /// Bytes of it that are in the file, header included.
    pub len: u64,
    /// Its header.
    pub info: PageInfo,
}

/// A ring and where its pages are.
#[derive(Clone, Debug)]
pub struct RingPages {
    /// Its section, the last one if there are several; `None` if that is lost.
    pub ring: Option<Ring>,
    /// Component and ring id. In the capture of a stream, a ring that went to another task is there
    /// once for each.
    pub id: (u32, u32),
    /// Pages in the order of the file.
    pub pages: Vec<PageRef>,
}

/// A snapshot file.
pub struct Snapshot {
    /// Name for messages.
    pub name: String,
    /// The file.
    pub source: Source,
    /// Whether it is the capture of a stream.
    pub stream: bool,
    /// The machine; `None` if that section is lost.
    pub system: Option<System>,
    /// Clock kind and rate; `None` if that section is lost.
    pub clock: Option<Clock>,
    /// Calibration.
    pub pairs: Vec<ClockPair>,
    /// Images with sites.
    pub images: Vec<Image>,
    /// What tasks that have rings were doing.
    pub tasks: Vec<Task>,
    /// Components by id.
    pub components: HashMap<u32, Component>,
    /// Rings.
    pub rings: Vec<RingPages>,
    /// What is not there.
    pub damage: Damage,
}

impl Snapshot {
    /// Opens a snapshot: a file, `-` for standard input, or a debugfs file.
    pub fn open(path: &Path) -> Result<Self, String> {
        let name = path.display().to_string();
        let source = open_source(path).map_err(|e| format!("{name}: {e}"))?;
        Self::read(name.clone(), source).map_err(|e| format!("{name}: {e}"))
    }

    /// Reads a snapshot.
    pub fn read(name: String, source: Source) -> Result<Self, String> {
        let mut this = Self {
            name,
            source,
            stream: false,
            system: None,
            clock: None,
            pairs: Vec::new(),
            images: Vec::new(),
            tasks: Vec::new(),
            components: HashMap::new(),
            rings: Vec::new(),
            damage: Damage::default(),
        };
        let start = this.check_header()?;
        Scan {
            rings: HashMap::new(),
            next_index: 0,
            ended: false,
            sections: 0,
            file: &mut this,
        }
        .run(start)?;
        Ok(this)
    }

    /// Offset of the first section; an error if this is no snapshot, or not one of ours.
    fn check_header(&mut self) -> Result<u64, String> {
        let mut raw = [0; FILE_HEADER];
        let n = self.read_some(0, &mut raw)?;
        if n == 0 {
            return Err("the file is empty".into());
        }
        let is_ours = raw.starts_with(&wire::FILE_MAGIC);
        let header = (n == FILE_HEADER)
            .then(|| Fields(&raw).file_header())
            .flatten();
        let crc = crc32fast::hash(&raw[..FILE_HEADER - 4]);
        if let Some(h) = header.filter(|h| is_ours && h.crc == crc) {
            if h.endian == wire::ENDIAN.swap_bytes() {
                return Err(
                    "written by a big-endian machine, which this program cannot read".into(),
                );
            }
            if h.endian != wire::ENDIAN {
                return Err(format!("byte order mark {:#010x} is unknown", h.endian));
            }
            if h.version != wire::VERSION {
                return Err(format!(
                    "snapshot version {}, but this program reads {}",
                    h.version,
                    wire::VERSION
                ));
            }
            if h.wire_version != WIRE_VERSION {
                return Err(format!(
                    "records of version {}, but this program reads {WIRE_VERSION}",
                    h.wire_version
                ));
            }
            self.stream = h.flags & wire::FLAG_STREAM != 0;
            return Ok(u64::from(h.header_size).max(FILE_HEADER as u64));
        }
        // Big-endian files have another checksum only if they say so consistently.
        if let Some(h) = header.filter(|h| is_ours && h.endian == wire::ENDIAN.swap_bytes()) {
            if h.crc.swap_bytes() == crc {
                return Err(
                    "written by a big-endian machine, which this program cannot read".into(),
                );
            }
        }
        let end = self.source.size();
        match self.find_section(ALIGN, end.min(SEARCH))? {
            Some(at) => {
                self.damage.bad_header = true;
                Ok(at)
            }
            None if is_ours => Err("damaged: nothing in it is whole".into()),
            None => Err("not a BLog snapshot".into()),
        }
    }

    fn read_some(&self, at: u64, buf: &mut [u8]) -> Result<usize, String> {
        self.source.read_some(at, buf).map_err(|e| e.to_string())
    }

    /// The section header at `at`, if there is one and its checksum is right.
    fn section_at(&self, at: u64) -> Result<Option<SectionHeader>, String> {
        let mut raw = [0; SECTION_HEADER];
        if self.read_some(at, &mut raw)? < SECTION_HEADER {
            return Ok(None);
        }
        Ok(parse_section_header(&raw))
    }

    /// Offset of the first section header in `from..to`.
    fn find_section(&self, from: u64, to: u64) -> Result<Option<u64>, String> {
        const CHUNK: usize = 64 << 10;
        let mut buf = vec![0; CHUNK + SECTION_HEADER];
        let mut at = from.next_multiple_of(ALIGN);
        while at < to {
            let n = self.read_some(at, &mut buf)?;
            let mut i = 0;
            while i + SECTION_HEADER <= n && i < CHUNK {
                if parse_section_header(&buf[i..i + SECTION_HEADER]).is_some() {
                    return Ok(Some(at + i as u64));
                }
                i += ALIGN as usize;
            }
            if n < buf.len() {
                break;
            }
            at += CHUNK as u64;
        }
        Ok(None)
    }

    /// Reads a page, at most as much of it as was there when it was found.
    pub fn read_page(&self, page: &PageRef, buf: &mut Vec<u8>) -> Result<(), String> {
        buf.clear();
        // Checked against the file's size and SECTION_MAX when it was found.
        buf.resize(page.len as usize, 0);
        let n = self.read_some(page.offset, buf)?;
        buf.truncate(n);
        Ok(())
    }

    /// The boot id, if the file has one.
    pub fn boot_id(&self) -> Option<[u8; 16]> {
        let id = self.system?.boot_id;
        (id != [0; 16]).then_some(id)
    }

    /// Name of a component.
    pub fn component_name(&self, id: u32) -> String {
        match self.components.get(&id) {
            Some(c) => text(&c.name),
            None => format!("component{id}"),
        }
    }
}

fn open_source(path: &Path) -> std::io::Result<Source> {
    if path == Path::new("-") {
        return read_pipe(std::io::stdin().lock());
    }
    let meta = std::fs::metadata(path)?;
    if meta.is_dir() {
        return Err(std::io::Error::other("is a directory"));
    }
    if meta.is_file() && meta.len() > 0 {
        return Source::open(path);
    }
    // A pipe, or a file of debugfs, which has no size.
    read_pipe(File::open(path)?)
}

fn read_pipe(input: impl Read) -> std::io::Result<Source> {
    let mut bytes = Vec::new();
    input.take(PIPE_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > PIPE_MAX {
        return Err(std::io::Error::other(
            "more than 1 GiB from a pipe; save it to a file first",
        ));
    }
    Ok(Source::Memory(bytes))
}

/// A NUL-padded name.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(until_nul(bytes)).into_owned()
}

fn parse_section_header(raw: &[u8]) -> Option<SectionHeader> {
    // The cheap test first: this runs for every 8 bytes of a damaged stretch.
    if array::<4>(raw, 0)? != wire::SECTION_MAGIC.to_le_bytes() {
        return None;
    }
    let h = Fields(raw).section_header()?;
    let sound = h.crc == crc32fast::hash(raw.get(..SECTION_HEADER - 4)?);
    (sound && h.len <= wire::SECTION_MAX).then_some(h)
}

/// One pass through the sections.
struct Scan<'a> {
    file: &'a mut Snapshot,
    /// Index into `file.rings` by component and ring id.
    rings: HashMap<(u32, u32), usize>,
    next_index: u32,
    sections: u64,
    ended: bool,
}

impl Scan<'_> {
    fn run(mut self, start: u64) -> Result<(), String> {
        let size = self.file.source.size();
        let mut at = start;
        let mut payload = Vec::new();
        while at < size {
            let Some(header) = self.file.section_at(at)? else {
                // Damage, or the end.
                let next = self.file.find_section(at + 1, size)?;
                if next.is_none() && self.stopped_in_header(at)? {
                    break;
                }
                self.file.damage.skipped_bytes += next.unwrap_or(size) - at;
                match next {
                    Some(next) => at = next,
                    None => break,
                }
                continue;
            };
            let body = at + SECTION_HEADER as u64;
            if header.len > size - body.min(size) {
                // Believe the length only if nothing sound follows.
                let next = self.file.find_section(at + ALIGN, size)?;
                if next.is_some() || !self.file.stream {
                    self.file.damage.bad_sections += 1;
                }
                match next {
                    Some(next) => at = next,
                    None => break,
                }
                continue;
            }
            payload.clear();
            payload.resize(header.len as usize, 0);
            self.file.read_some(body, &mut payload)?;
            self.take_index(&header);
            if crc32fast::hash(&payload) != header.payload_crc
                || !self.section(&header, body, &payload)
            {
                self.file.damage.bad_sections += 1;
            }
            at = body + header.len.next_multiple_of(ALIGN);
        }
        self.file.damage.cut_off = !self.ended && !self.file.stream;
        if self.sections == 0 {
            return Err("damaged: nothing in it is whole".into());
        }
        Ok(())
    }

    /// Whether the capture of a stream stops in the middle of the section header at `at`.
    fn stopped_in_header(&self, at: u64) -> Result<bool, String> {
        let mut raw = [0; SECTION_HEADER];
        let n = self.file.read_some(at, &mut raw)?;
        let magic = wire::SECTION_MAGIC.to_le_bytes();
        let n_magic = n.min(magic.len());
        Ok(self.file.stream && n < SECTION_HEADER && raw[..n_magic] == magic[..n_magic])
    }

    /// Notices sections that are missing before this one.
    fn take_index(&mut self, header: &SectionHeader) {
        if header.index > self.next_index {
            self.file.damage.lost_sections += u64::from(header.index - self.next_index);
        }
        self.next_index = header.index.saturating_add(1);
        self.sections += 1;
    }

    /// Takes a section in. `false`: it makes no sense.
    fn section(&mut self, header: &SectionHeader, at: u64, payload: &[u8]) -> bool {
        let mut f = Fields(payload);
        let file = &mut *self.file;
        match Kind::from_u16(header.kind) {
            Some(Kind::System) => match f.system() {
                Some(s) => file.system = Some(s),
                None => return false,
            },
            Some(Kind::Clock) => {
                let Some(clock) = f.clock() else { return false };
                if clock.pairs > MAX_PAIRS {
                    return false;
                }
                let pairs: Option<Vec<_>> = (0..clock.pairs).map(|_| f.clock_pair()).collect();
                let Some(pairs) = pairs else { return false };
                file.clock = Some(clock);
                file.pairs = pairs;
            }
            Some(Kind::Images) => {
                while let Some(image) = f.image() {
                    if image.build_id_len as usize > wire::BUILD_ID_MAX {
                        return false;
                    }
                    file.images.push(image);
                }
                return f.0.is_empty();
            }
            Some(Kind::Component) => match f.component() {
                Some(c) => {
                    file.components.insert(c.id, c);
                }
                None => return false,
            },
            Some(Kind::Ring) => match f.ring() {
                Some(ring) => self.ring(ring),
                None => return false,
            },
            Some(Kind::Page) => return self.page(at, payload),
            Some(Kind::End) => {
                if f.end().is_none() {
                    return false;
                }
                self.ended = true;
            }
            Some(Kind::Tasks) => {
                while let Some(task) = f.task() {
                    file.tasks.push(task);
                }
                return f.0.is_empty();
            }
            // A newer writer's section.
            None => {}
        }
        true
    }

    /// Takes what is said of a ring, which may be said again when it has changed.
    fn ring(&mut self, new: Ring) {
        let id = (new.component, new.ring);
        let known = self.ring_mut(id);
        if let Some(known) = &known.ring {
            let who = |r: &Ring| (r.context, r.cpu, r.pid, r.tgid);
            // A task that has ended doesn't come back.
            if who(known) != who(&new) || known.retired > new.retired {
                self.rings.remove(&id);
            }
        }
        self.ring_mut(id).ring = Some(new);
    }

    /// Who has the ring with this id now.
    fn ring_mut(&mut self, id: (u32, u32)) -> &mut RingPages {
        let rings = &mut self.file.rings;
        let index = *self.rings.entry(id).or_insert_with(|| {
            rings.push(RingPages {
                ring: None,
                id,
                pages: Vec::new(),
            });
            rings.len() - 1
        });
        &mut rings[index]
    }

    fn page(&mut self, at: u64, payload: &[u8]) -> bool {
        let mut f = Fields(payload);
        let (Some(component), Some(ring)) = (f.u32(), f.u32()) else {
            return false;
        };
        let page = f.0;
        let Some(info) = f.page_info() else {
            return false;
        };
        let end = info.end() as usize;
        if info.magic != PAGE_MAGIC || end < PAGE_HEADER_SIZE || end > page.len() {
            return false;
        }
        self.ring_mut((component, ring)).pages.push(PageRef {
            offset: at + (payload.len() - page.len()) as u64,
            len: end as u64,
            info,
        });
        true
    }
}

/// Reads structures field by field, in the order of their declaration.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    fn u8(&mut self) -> Option<u8> {
        self.bytes().map(u8::from_le_bytes)
    }

    fn u16(&mut self) -> Option<u16> {
        self.bytes().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.bytes().map(u32::from_le_bytes)
    }

    fn i32(&mut self) -> Option<i32> {
        self.bytes().map(i32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.bytes().map(u64::from_le_bytes)
    }

    fn counters(&mut self) -> Option<[u64; LOST_CAUSES]> {
        let mut all = [0; LOST_CAUSES];
        for n in &mut all {
            *n = self.u64()?;
        }
        Some(all)
    }

    fn file_header(&mut self) -> Option<FileHeader> {
        Some(FileHeader {
            magic: self.bytes()?,
            version: self.u32()?,
            endian: self.u32()?,
            wire_version: self.u32()?,
            header_size: self.u32()?,
            flags: self.u32()?,
            crc: self.u32()?,
        })
    }

    fn section_header(&mut self) -> Option<SectionHeader> {
        Some(SectionHeader {
            magic: self.u32()?,
            kind: self.u16()?,
            flags: self.u16()?,
            len: self.u64()?,
            index: self.u32()?,
            reserved: self.u32()?,
            payload_crc: self.u32()?,
            crc: self.u32()?,
        })
    }

    fn system(&mut self) -> Option<System> {
        Some(System {
            page_size: self.u32()?,
            cpus: self.u32()?,
            pointer_size: self.u32()?,
            reserved: self.u32()?,
            release: self.bytes()?,
            machine: self.bytes()?,
            host: self.bytes()?,
            boot_id: self.bytes()?,
        })
    }

    fn clock(&mut self) -> Option<Clock> {
        Some(Clock {
            kind: self.u32()?,
            pairs: self.u32()?,
            hz: self.u64()?,
        })
    }

    fn clock_pair(&mut self) -> Option<ClockPair> {
        Some(ClockPair {
            clock: self.u64()?,
            mono: self.u64()?,
            boot: self.u64()?,
            real: self.u64()?,
        })
    }

    fn image(&mut self) -> Option<Image> {
        Some(Image {
            first: self.u32()?,
            count: self.u32()?,
            loaded: self.u32()?,
            build_id_len: self.u32()?,
            build_id: self.bytes()?,
            reserved: self.u32()?,
            name: self.bytes()?,
        })
    }

    fn task(&mut self) -> Option<Task> {
        Some(Task {
            pid: self.i32()?,
            tgid: self.i32()?,
            comm: self.bytes()?,
            state: self.u8()?,
            flags: self.u8()?,
            reserved: self.u16()?,
            cpu: self.u32()?,
        })
    }

    fn component(&mut self) -> Option<Component> {
        Some(Component {
            id: self.u32()?,
            enabled: self.u8()?,
            level: self.u8()?,
            mode: self.u8()?,
            attached: self.u8()?,
            size_kb: self.u32()?,
            ring_kb: self.u32()?,
            rings: self.u32()?,
            reserved: self.u32()?,
            gone_records: self.u64()?,
            lost: self.counters()?,
            name: self.bytes()?,
        })
    }

    fn ring(&mut self) -> Option<Ring> {
        Some(Ring {
            component: self.u32()?,
            ring: self.u32()?,
            context: self.u8()?,
            retired: self.u8()?,
            task_state: self.u8()?,
            reserved: self.u8()?,
            cpu: self.u32()?,
            pid: self.i32()?,
            tgid: self.i32()?,
            comm: self.bytes()?,
            exit_clock: self.u64()?,
            records: self.u64()?,
            lost: self.counters()?,
            told: self.counters()?,
            pages: self.u32()?,
            reserved2: self.u32()?,
        })
    }

    fn page_info(&mut self) -> Option<PageInfo> {
        Some(PageInfo {
            magic: self.u32()?,
            size: self.u32()?,
            ring: self.u32()?,
            next: self.u32()?,
            seq: self.u64()?,
            base: self.u64()?,
            first: self.u64()?,
            commit: self.u64()?,
        })
    }

    fn end(&mut self) -> Option<End> {
        Some(End {
            sections: self.u32()?,
            rings: self.u32()?,
            pages: self.u32()?,
            reserved: self.u32()?,
        })
    }
}

// `Fields` reads without padding; the structures must have none.
const _: () = {
    assert!(size_of::<FileHeader>() == 32);
    assert!(size_of::<SectionHeader>() == 32);
    assert!(size_of::<Ring>() == 192);
    assert!(size_of::<Component>() == 152);
};
