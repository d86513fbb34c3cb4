// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Reads a snapshot file or the capture of a stream, whole or damaged.
//!
//! [`Snapshot::open`] goes through all sections once, checks every checksum, and keeps what
//! describes the file plus *where* the pages of each ring begin and end ([`run`]); a merge reads
//! pages when it needs them. So memory is bounded by the number of rings, and of places where pages
//! are missing between others, whatever length fields say.
//!
//! Where a section is damaged, it goes to the next one whose header has the right checksum. What
//! that cost is in [`Damage`]; nothing is dropped in silence. It never panics.
//!
//! The capture of a stream has the same sections. They come again when they change, a ring may go
//! to another task in the middle, and pages are in pieces. It may stop anywhere: what it has of
//! a section that isn't whole is in [`Damage::torn`].

mod links;
mod ring;
pub mod run;
pub mod scan;
pub mod split;

use std::{
    collections::{BTreeMap, HashMap},
    fs::File,
    io::Read,
    ops::RangeInclusive,
    path::Path,
    sync::Arc,
};

use crate::{
    blogfmt::{
        bytes::{array, until_nul},
        source::Source,
    },
    error::Error,
    kind,
    record::{Version, Walk},
    unpack::{self, Lost},
    wire::{
        file as wire,
        file::{
            Clock, ClockPair, ComponentSection, FileHeader, Image, Kind, Page, PageEnd,
            SectionHeader, System, Task, Wait, NAME_MAX,
        },
        name,
        page::{PageInfo, PAGE_HEADER_SIZE, PAGE_MAGIC, SEQ_MASK},
        persist,
    },
};
use links::Links;
pub use ring::{Losses, RingInfo, RingPages};
use run::section_of;
use scan::Scan;

/// Size of a file's header in bytes.
pub const FILE_HEADER: usize = FileHeader::SIZE;
/// Size of a section's header in bytes.
pub const SECTION_HEADER: usize = SectionHeader::SIZE;
/// Sections start on multiples of this.
pub const ALIGN: u64 = 8;
/// Versions of files that are read.
pub const VERSIONS: RangeInclusive<u32> = 1..=wire::VERSION;
/// As much of a file that doesn't start as a snapshot is searched for a section.
const SEARCH: u64 = 1 << 20;
/// As much is read from a pipe.
const PIPE_MAX: u64 = 1 << 30;
/// At a time.
const PIPE_READ: usize = 256 << 10;
/// A snapshot with more clock pairs is damaged; of a stream's, no more are kept.
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
    /// Bytes of the section in which the capture of a stream ends.
    pub torn: u64,
    /// The file's own header is damaged.
    pub bad_header: bool,
    /// Memory that survived a reboot has damage, which [`Snapshot::survived`] describes.
    pub survived: bool,
    /// It was packed, and can't be unpacked as a whole: why.
    pub packed: Option<String>,
    /// Last words, of which some are damaged or missing: which.
    pub words: Vec<String>,
}

impl Damage {
    /// Whether there is any.
    pub fn any(&self) -> bool {
        *self != Self::default()
    }
}

/// Where a page is, and what of its header is needed, in few bytes.
#[derive(Clone, Copy, Debug)]
pub struct PageRef {
    /// Offset of the page's header in the file.
    pub offset: u64,
    /// Position in its ring.
    pub seq: u64,
    /// Full clock value at its start.
    pub base: u64,
    /// Ordinal of its first record.
    pub first: u64,
    /// How many records it has.
    pub records: u32,
    /// Bytes of it that are in the file, header included.
    pub len: u32,
}

impl PageRef {
    /// A page at `offset`, of which at most `len` bytes are in the file; `None`: it makes no sense.
    fn in_section(offset: u64, len: u64, info: PageInfo) -> Option<Self> {
        let end = u64::from(info.end());
        let is_sound = info.magic == PAGE_MAGIC && end >= PAGE_HEADER_SIZE as u64 && end <= len;
        is_sound.then_some(Self {
            offset,
            seq: info.seq & SEQ_MASK,
            base: info.base,
            first: info.first,
            records: info.records(),
            len: info.end(),
        })
    }

    /// Its header, as far as it is known.
    pub fn info(&self) -> PageInfo {
        PageInfo {
            magic: PAGE_MAGIC,
            size: 0,
            ring: 0,
            next: 0,
            seq: self.seq,
            base: self.base,
            first: self.first,
            commit: u64::from(self.len) | u64::from(self.records) << 32,
        }
    }
}

/// A snapshot file.
pub struct Snapshot {
    /// Name for messages.
    pub name: String,
    /// The file.
    pub source: Source,
    /// Where in this snapshot the source begins: what was before is not needed any more. Negative:
    /// the snapshot is further on, after another.
    pub base: i64,
    /// Where another one begins that follows in the same source.
    end: u64,
    /// Name of the machine: what the file says, or the user; else empty.
    pub host: String,
    /// Whether that is the user's.
    pub given: bool,
    /// Which of the machines that have this boot id in common, as far as other files tell.
    pub copy: u32,
    /// Whether it is the capture of a stream.
    pub stream: bool,
    /// That of its records.
    pub version: Version,
    /// The machine; `None` if that section is lost.
    pub system: Option<System>,
    /// Clock kind and rate; `None` if that section is lost.
    pub clock: Option<Clock>,
    /// Calibration.
    pub pairs: Vec<ClockPair>,
    /// Images with sites.
    pub images: Vec<Image>,
    /// Side tables that it has, as they are in files: of images that are probes, and of others if a
    /// program has saved it.
    pub tables: Vec<Vec<u8>>,
    /// Where its kernel log and settings are, if a program has saved them, and how long each part is.
    texts: Vec<(Kind, u64, usize)>,
    /// What tasks that have rings were doing.
    pub tasks: Vec<Task>,
    /// Which tasks wait for which locks.
    pub waits: Vec<Wait>,
    /// Components by id. What belongs to no ring is counted as in version 3, without what the rings
    /// of this file have.
    pub components: HashMap<u32, ComponentSection>,
    /// Records that have left the rings, by site; before the rings were read, and after that.
    pub counts: [BTreeMap<u32, u64>; 2],
    /// Rings.
    pub rings: Vec<Arc<RingPages>>,
    /// Of a stream: which pieces of pages follow each other.
    links: Links,
    /// Of memory that survived a reboot: what was wrong there, line by line.
    pub survived: Option<Vec<String>>,
    /// What is not there.
    pub damage: Damage,
}

impl Snapshot {
    /// Opens a snapshot: a file, `-` for standard input, or a debugfs file. If there are several in
    /// it, that is the first.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Ok(Self::open_all(path, &mut |_, _| {})?.swap_remove(0))
    }

    /// Opens all snapshots of a file, of which there is at least one, as `cat` puts several into one.
    /// It calls `tick` now and then with how many bytes of it are done, and how many it has, if
    /// that is known.
    pub fn open_all(
        path: &Path,
        tick: &mut dyn FnMut(u64, Option<u64>),
    ) -> Result<Vec<Self>, Error> {
        let name = path.display().to_string();
        let (source, packed) = open_source(path, tick).map_err(|e| Error::from(e).at(&name))?;
        Self::read_all(&name, source, packed, tick)
    }

    /// The same of a file that is open, and of why it can't be unpacked as a whole.
    pub fn read_all(
        name: &str,
        source: Source,
        packed: Option<String>,
        tick: &mut dyn FnMut(u64, Option<u64>),
    ) -> Result<Vec<Self>, Error> {
        let told = |e: Error| e.at(name);
        let size = source.size();
        let mut tick = |at| tick(at, Some(size));
        let mut this = Self::empty(name.to_owned(), source);
        let mut rest = this.read_up(&mut tick).map_err(|e| {
            told(match &packed {
                Some(why) if size == 0 => Error::File(why.clone()),
                Some(why) => Error::File(format!("{why}; of what there is: {e}")),
                None => e,
            })
        })?;
        this.damage.packed = packed;
        let mut all = vec![this];
        while let (Some(start), Some(before)) = (rest, all.last_mut()) {
            let left = before.size() - start;
            let mut next = before.read_from(start);
            next.name = format!("{name}, part {}", all.len() + 1);
            match next.read_up(&mut tick) {
                Ok(end) => {
                    rest = end;
                    if let Some(before) = all.last_mut() {
                        before.end = start;
                    }
                    all.push(next);
                }
                Err(_) => {
                    rest = None;
                    if let Some(before) = all.last_mut() {
                        before.damage.skipped_bytes += left;
                    }
                }
            }
        }
        Ok(all)
    }

    /// Reads a snapshot.
    pub fn read(name: String, source: Source) -> Result<Self, Error> {
        let mut this = Self::empty(name, source);
        this.read_up(&mut |_| {})?;
        Ok(this)
    }

    /// Reads up to the end, or up to the next snapshot in the same file, which the answer is.
    fn read_up(&mut self, tick: &mut dyn FnMut(u64)) -> Result<Option<u64>, Error> {
        let start = self.check_header()?;
        Scan::new(self).run(start, tick)
    }

    /// What is in the same file from `start` on. Nothing after that is read through this one.
    fn read_from(&mut self, start: u64) -> Self {
        let skipped = start as i64 - self.base;
        let (source, base) = match &mut self.source {
            Source::File(file, size) => (Source::File(Arc::clone(file), *size), -skipped),
            Source::Closed(file) => (Source::Closed(file.clone()), -skipped),
            Source::Memory(bytes) => (Source::Memory(bytes.split_off(skipped as usize)), 0),
        };
        let mut next = Self::empty(String::new(), source);
        next.base = base;
        next
    }

    /// One of which nothing is known yet.
    pub fn empty(name: String, source: Source) -> Self {
        Self {
            name,
            source,
            base: 0,
            end: u64::MAX,
            host: String::new(),
            given: false,
            copy: 0,
            stream: false,
            version: Version::default(),
            system: None,
            clock: None,
            pairs: Vec::new(),
            images: Vec::new(),
            tables: Vec::new(),
            texts: Vec::new(),
            tasks: Vec::new(),
            waits: Vec::new(),
            counts: Default::default(),
            components: HashMap::new(),
            rings: Vec::new(),
            links: Links::default(),
            survived: None,
            damage: Damage::default(),
        }
    }

    /// Offset of the first section; an error if this is no snapshot, or not one of ours.
    pub fn check_header(&mut self) -> Result<u64, Error> {
        let mut raw = [0; FILE_HEADER];
        let n = self.read_some(0, &mut raw)?;
        if n == 0 {
            return Err(Error::File("the file is empty".into()));
        }
        let is_ours = raw.starts_with(&wire::FILE_MAGIC);
        let header = FileHeader::read(&raw[..n]);
        let crc = crc32fast::hash(&raw[..FILE_HEADER - 4]);
        if let Some(h) = header.filter(|h| is_ours && h.crc == crc) {
            if h.endian == wire::ENDIAN.swap_bytes() {
                return Err(Error::File(
                    "written by a big-endian machine, which this program cannot read".into(),
                ));
            }
            if h.endian != wire::ENDIAN {
                return Err(Error::File(format!("byte order mark {:#010x} is unknown", h.endian)));
            }
            if !VERSIONS.contains(&h.version) {
                return Err(Error::File(format!(
                    "snapshot version {}, but this program reads {} to {}",
                    h.version,
                    VERSIONS.start(),
                    VERSIONS.end()
                )));
            }
            self.version = Version::from_number(h.wire_version)
                .map_err(|e| Error::File(format!("records of {e}")))?;
            self.stream = h.flags & wire::FLAG_STREAM != 0;
            return Ok(u64::from(h.header_size).max(FILE_HEADER as u64));
        }
        // Big-endian files have another checksum only if they say so consistently.
        if let Some(h) = header.filter(|h| is_ours && h.endian == wire::ENDIAN.swap_bytes()) {
            if h.crc.swap_bytes() == crc {
                return Err(Error::File(
                    "written by a big-endian machine, which this program cannot read".into(),
                ));
            }
        }
        match self.find_section(ALIGN, self.size().min(SEARCH))? {
            Some(at) => {
                self.damage.bad_header = true;
                Ok(at)
            }
            None if is_ours => Err(nothing(n < FILE_HEADER)),
            None => Err(Error::NotOurs(match kind::describe(&raw) {
                Some(what) => format!("not a BLog snapshot, but {what}"),
                None => "not a BLog snapshot".into(),
            })),
        }
    }

    /// Bytes from its start to its end, or that of the source.
    pub fn size(&self) -> u64 {
        self.source.size().saturating_add_signed(self.base).min(self.end)
    }

    /// Reads from `at` on as much as there is, up to the buffer's length.
    pub fn read_some(&self, at: u64, buf: &mut [u8]) -> Result<usize, Error> {
        let Some(at) = at.checked_add_signed(-self.base) else {
            return Ok(0);
        };
        self.source.read_some(at, buf).map_err(Error::from)
    }

    /// The section header at `at`, if there is one and its checksum is right.
    fn section_at(&self, at: u64) -> Result<Option<SectionHeader>, Error> {
        let mut raw = [0; SECTION_HEADER];
        if self.read_some(at, &mut raw)? < SECTION_HEADER {
            return Ok(None);
        }
        Ok(parse_section_header(&raw))
    }

    /// Offset of the first section header in `from..to`.
    fn find_section(&self, from: u64, to: u64) -> Result<Option<u64>, Error> {
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

    /// Offset of the first header of a snapshot in `from..to`, on any byte.
    fn find_header(&self, from: u64, to: u64) -> Result<Option<u64>, Error> {
        const CHUNK: u64 = 64 << 10;
        let mut buf = Vec::new();
        let mut at = from;
        while at < to {
            // A damaged file asks for many short stretches.
            let len = (to - at).min(CHUNK) as usize;
            buf.resize(len + FILE_HEADER, 0);
            let n = self.read_some(at, &mut buf)?;
            let starts = buf[..n].windows(wire::FILE_MAGIC.len());
            let starts = starts.take(len).enumerate();
            for (i, _) in starts.filter(|(_, bytes)| *bytes == wire::FILE_MAGIC) {
                let raw = buf[..n].get(i..i + FILE_HEADER);
                let header = raw.and_then(|raw| FileHeader::read(raw).zip(Some(raw)));
                let sound = |(h, raw): (FileHeader, &[u8])| {
                    h.crc == crc32fast::hash(&raw[..FILE_HEADER - 4])
                };
                if header.is_some_and(sound) {
                    return Ok(Some(at + i as u64));
                }
            }
            if n < buf.len() {
                break;
            }
            at += len as u64;
        }
        Ok(None)
    }

    /// Reads a page, at most as much of it as was there when it was found.
    pub fn read_page(&self, page: &PageRef, buf: &mut Vec<u8>) -> Result<(), Error> {
        buf.clear();
        // Checked against the file's size and SECTION_MAX when it was found.
        buf.resize(page.len as usize, 0);
        let n = self.read_some(page.offset, buf)?;
        buf.truncate(n);
        Ok(())
    }

    /// The kernel log or the settings that a program has saved in the file; empty: there are none.
    pub fn text(&self, kind: Kind) -> Result<Vec<u8>, Error> {
        let mut all = Vec::new();
        for &(_, at, len) in self.texts.iter().filter(|(of, ..)| *of == kind) {
            let start = all.len();
            // A section of this length was there when it was opened.
            all.resize(start + len, 0);
            let n = self.read_some(at, &mut all[start..])?;
            all.truncate(start + n);
        }
        Ok(all)
    }

    /// How many records the reader of the stream has missed before a page; `None`: the file doesn't
    /// say so beside the page.
    pub fn missed_before(&self, page: &PageRef) -> Option<u64> {
        let header = match self.stream {
            true => self.section_at(section_of(page)).ok().flatten(),
            false => None,
        };
        let rest = header.and_then(|h| h.len.checked_sub((Page::SIZE + page.len as usize) as u64));
        let mut end = [0; PageEnd::SIZE];
        let is_there = rest.is_some_and(|rest| rest >= PageEnd::SIZE as u64)
            && self.read_some(page.offset + u64::from(page.len), &mut end).is_ok();
        let end = is_there.then(|| PageEnd::read(&end)).flatten()?;
        Some(page.first.saturating_sub(end.next))
    }

    /// The checksum of the section that a page is in.
    pub fn page_checksum(&self, page: &PageRef) -> Result<Option<u32>, Error> {
        let header = section_of(page);
        Ok(self.section_at(header)?.map(|header| header.payload_crc))
    }

    /// The version by which pages make sense, where the file's own header doesn't say it.
    fn likely_version(&self) -> Version {
        let mut bytes = Vec::new();
        for run in self.rings.iter().flat_map(|ring| &ring.runs) {
            if self.read_page(&run.first, &mut bytes).is_err() {
                continue;
            }
            let is_whole = |version| {
                let mut walk = Walk::new(&run.first.info(), bytes.len(), version);
                while walk.next(&bytes).is_some() {}
                walk.missing() == 0 && walk.left() == 0
            };
            match (is_whole(Version::One), is_whole(Version::Two)) {
                (true, false) => return Version::One,
                (false, true) => return Version::Two,
                // It has no records, or is damaged.
                _ => {}
            }
        }
        Version::default()
    }

    /// The boot id, if the file has one.
    pub fn boot_id(&self) -> Option<[u8; 16]> {
        let id = self.system?.boot_id;
        (id != [0; 16]).then_some(id)
    }

    /// The latest of its pairs of clocks, which are in the order of the rings' clock.
    pub fn last_pair(&self) -> Option<&ClockPair> {
        self.pairs.last()
    }

    /// The rings' clock when it was taken.
    pub fn taken(&self) -> Option<u64> {
        self.last_pair().map(|pair| pair.clock)
    }

    /// When a component was cleared: what is older is not shown. 0: never.
    pub fn cleared(&self, id: u32) -> u64 {
        self.components.get(&id).map_or(0, |c| c.cleared)
    }

    /// Name of a component.
    pub fn component_name(&self, id: u32) -> String {
        let name = self.components.get(&id);
        name.and_then(|c| component_name(&c.name)).unwrap_or_else(|| format!("component{id}"))
    }
}

/// Components of a file that have a name in common, as one has that was made again.
pub struct Namesakes(HashMap<String, Vec<u32>>);

impl Namesakes {
    /// Those of a file.
    pub fn from_file(file: &Snapshot) -> Self {
        let mut ids = HashMap::<_, Vec<_>>::new();
        for component in file.components.values() {
            ids.entry(text(&component.name)).or_default().push(component.id);
        }
        ids.values_mut().for_each(|ids| ids.sort_unstable());
        Self(ids)
    }

    /// How many of this name were made after the one with this id: none if it is the last.
    pub fn newer(&self, name: &str, id: u32) -> usize {
        let newer = |ids: &Vec<u32>| ids.len() - ids.partition_point(|known| *known <= id);
        self.0.get(name).map_or(0, newer)
    }
}

/// Opens a file; the answer is also why it can't be unpacked as a whole.
pub fn open_source(
    path: &Path,
    tick: &mut dyn FnMut(u64, Option<u64>),
) -> std::io::Result<(Source, Option<String>)> {
    if path == Path::new("-") {
        return read_pipe(unpack::reader(std::io::stdin().lock())?, PIPE_MAX, tick);
    }
    let meta = std::fs::metadata(path)?;
    if meta.is_dir() {
        return Err(std::io::Error::other("is a directory"));
    }
    if meta.is_file() && meta.len() > 0 && !unpack::is_packed(path)? {
        return Ok((Source::open(path)?, None));
    }
    // A pipe, or a file of debugfs, which has no size.
    read_pipe(unpack::reader(File::open(path)?)?, PIPE_MAX, tick)
}

fn read_pipe(
    mut input: impl Read,
    max: u64,
    tick: &mut dyn FnMut(u64, Option<u64>),
) -> std::io::Result<(Source, Option<String>)> {
    let (mut bytes, mut packed) = (Vec::new(), None);
    let mut buffer = vec![0; PIPE_READ];
    while bytes.len() as u64 <= max {
        match input.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => {
                let unknown = (bytes.len() as u64) < SEARCH;
                bytes.extend_from_slice(&buffer[..n]);
                if unknown && bytes.len() as u64 >= SEARCH && !bytes.starts_with(&persist::MAGIC) {
                    // It may have no end, as /dev/zero.
                    let mut start = Snapshot::empty(String::new(), Source::Memory(bytes));
                    start.check_header().map_err(std::io::Error::other)?;
                    bytes = match start.source {
                        Source::Memory(bytes) => bytes,
                        _ => Vec::new(),
                    };
                }
            }
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => match Lost::from_error(&e) {
                Some(lost) => {
                    packed.get_or_insert_with(|| lost.to_string());
                }
                None => return Err(e),
            },
        }
        tick(bytes.len() as u64, None);
    }
    if bytes.len() as u64 > max {
        return Err(std::io::Error::other(
            "more than 1 GiB, from a pipe or unpacked; save it to a file first",
        ));
    }
    Ok((Source::Memory(bytes), packed))
}

/// A NUL-padded name.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(until_nul(bytes)).into_owned()
}

/// A component's name, NUL padded, where it is one that a kernel has let through.
pub fn component_name(bytes: &[u8; NAME_MAX]) -> Option<String> {
    name::check(until_nul(bytes)).then(|| text(bytes))
}

/// The section header that `raw` starts with, if its checksum is right.
pub fn parse_section_header(raw: &[u8]) -> Option<SectionHeader> {
    // The cheap test first: this runs for every 8 bytes of a damaged stretch.
    if array::<4>(raw, 0)? != wire::SECTION_MAGIC.to_le_bytes() {
        return None;
    }
    let h = SectionHeader::read(raw)?;
    let sound = h.crc == crc32fast::hash(raw.get(..SECTION_HEADER - 4)?);
    (sound && h.len <= wire::SECTION_MAX).then_some(h)
}

/// A file of ours without a whole section.
fn nothing(is_cut: bool) -> Error {
    let why = if is_cut { "cut off" } else { "damaged" };
    Error::File(format!("{why}: nothing in it is whole"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_of_a_pipe_is_bounded() {
        let mut file = [&wire::FILE_MAGIC[..], &[0; 100]].concat();
        file.resize(3 * PIPE_READ, 0);
        let read = |max| read_pipe(&file[..], max, &mut |_, _| {});
        assert!(read(file.len() as u64).is_ok());
        let error = read(file.len() as u64 - 1).err().unwrap();
        assert!(error.to_string().contains("more than 1 GiB"));
        // It stops there, and doesn't go on up to an end that may be far.
        let endless = read_pipe(std::io::repeat(0), SEARCH / 2, &mut |_, _| {});
        assert!(endless.err().unwrap().to_string().contains("more than"));
    }
}
