// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Builds snapshots for tests.

/// Makes pages.
#[path = "../../../../blog/tests/rig/build.rs"]
pub mod build;
/// Pages, for all tests.
#[path = "../../../../blog/tests/rig/pages.rs"]
pub mod pages;

use super::kernel::wire::{
    self,
    file::{
        self, Clock, ClockPair, ComponentSection, End, FileHeader, Image, Kind, PageEnd, Released,
        RingSection, SectionHeader, System, ENDIAN, FILE_MAGIC, VERSION,
    },
    record::{ControlRecord, WIRE_VERSION},
};
use build::Buffer;

pub use super::kernel::wire::file::SECTION_MAGIC;
pub const PAGE_SIZE: usize = 4096;
pub const BOOT_ID: [u8; 16] = *b"boot-id-of-tests";

pub type Page = build::Page<Vec<u8>>;

impl Buffer for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend(bytes);
    }

    fn all(&mut self) -> &mut [u8] {
        self
    }
}

impl Page {
    pub fn new(ring: u32, seq: u64, base: u64, first: u64) -> Self {
        Self::of_size(PAGE_SIZE, ring, seq, base, first)
    }

    /// A page or chunk of `size` bytes.
    pub fn of_size(size: usize, ring: u32, seq: u64, base: u64, first: u64) -> Self {
        Self::begin(Vec::new(), size as u32, ring, (seq, base, first))
    }

    /// A control record, of a kind that nobody may know.
    pub fn control(&mut self, clock: u64, word: u32, rest: &[u8]) {
        self.put(clock, 0, &[&word.to_le_bytes(), rest].concat());
    }

    pub fn lost(&mut self, clock: u64, cause: u8, count: u64) {
        self.say(clock, ControlRecord::Lost { cause, count });
    }

    pub fn writer(&mut self, clock: u64, context: u8, cpu: u16, task: (i32, i32, &str)) {
        let (pid, tgid, comm) = task;
        let comm = padded(comm);
        self.say(clock, ControlRecord::Task { context, cpu, pid, tgid, comm });
    }

    pub fn seq(&self) -> u64 {
        u64::from_le_bytes(self.bytes[16..24].try_into().unwrap())
    }

    /// Its bytes, with so many records published.
    fn counting(&self, records: u32) -> Vec<u8> {
        let mut page = self.clone();
        page.publish(records);
        page.bytes
    }
}

pub fn padded<const N: usize>(s: impl AsRef<[u8]>) -> [u8; N] {
    let s = s.as_ref();
    let mut bytes = [0; N];
    bytes[..s.len()].copy_from_slice(s);
    bytes
}

/// What a ring section says.
#[derive(Clone)]
pub struct Ring {
    pub component: u32,
    pub ring: u32,
    pub context: u8,
    pub cpu: u32,
    pub pid: i32,
    pub comm: Vec<u8>,
    pub state: u8,
    pub exit_clock: u64,
    pub records: u64,
    pub lost: [u64; 8],
    pub told: [u64; 8],
    /// Pages that it had.
    pub pages: u32,
}

impl Ring {
    pub fn task(component: u32, ring: u32, pid: i32, comm: &str) -> Self {
        Self {
            component,
            ring,
            context: 0,
            cpu: u32::MAX,
            pid,
            comm: comm.into(),
            state: b'S',
            exit_clock: 0,
            records: 0,
            lost: [0; 8],
            told: [0; 8],
            pages: 0,
        }
    }

    pub fn softirq(component: u32, ring: u32, cpu: u32) -> Self {
        Self { context: 1, cpu, ..Self::task(component, ring, -1, "") }
    }

    /// An overflow ring.
    pub fn shared(component: u32, ring: u32, number: u32) -> Self {
        Self { context: 4, ..Self::softirq(component, ring, number) }
    }
}

/// A snapshot under construction.
#[derive(Clone, Default)]
pub struct Builder {
    pub bytes: Vec<u8>,
    version: u32,
    sections: u32,
    rings: u32,
    pages: u32,
}

impl Builder {
    pub fn new() -> Self {
        Self::of_version(VERSION)
    }

    /// One of this version of the file.
    pub fn of_version(version: u32) -> Self {
        let mut this = Self { version, ..Self::default() };
        let mut header = FileHeader {
            magic: FILE_MAGIC,
            version,
            endian: ENDIAN,
            wire_version: WIRE_VERSION,
            header_size: FileHeader::SIZE as u32,
            flags: 0,
            crc: 0,
        };
        header.crc = crc32fast::hash(&header.bytes()[..28]);
        this.bytes.extend(header.bytes());
        this
    }

    pub fn section(&mut self, kind: u16, payload: &[u8]) -> &mut Self {
        let mut header = SectionHeader {
            magic: SECTION_MAGIC,
            kind,
            flags: 0,
            len: payload.len() as u64,
            index: self.sections,
            reserved: 0,
            payload_crc: crc32fast::hash(payload),
            crc: 0,
        };
        header.crc = crc32fast::hash(&header.bytes()[..28]);
        self.bytes.extend(header.bytes());
        self.bytes.extend(payload);
        while self.bytes.len() % 8 != 0 {
            self.bytes.push(0);
        }
        self.sections += 1;
        self
    }

    pub fn system(&mut self, boot_id: [u8; 16]) -> &mut Self {
        self.system_of("tests", boot_id)
    }

    pub fn system_of(&mut self, host: &str, boot_id: [u8; 16]) -> &mut Self {
        let system = System {
            page_size: 4096,
            cpus: 4,
            pointer_size: 8,
            reserved: 0,
            release: padded("7.3.4"),
            machine: padded("x86_64"),
            host: padded(host),
            boot_id,
        };
        self.section(1, &system.bytes())
    }

    /// Pairs of (clock, mono, boot, real, local), as far as they are known; version 1 has no local.
    pub fn clock<const N: usize>(&mut self, kind: u32, pairs: &[[u64; N]]) -> &mut Self {
        let mut p = Clock { kind, pairs: pairs.len() as u32, hz: 0 }.bytes().to_vec();
        for pair in pairs {
            let mut all = [0; 5];
            all[..N].copy_from_slice(pair);
            let [clock, mono, boot, real, local] = all;
            let pair = ClockPair { clock, mono, boot, real, local }.bytes();
            p.extend(&pair[..if self.version == 1 { ClockPair::LEAST } else { ClockPair::SIZE }]);
        }
        self.section(2, &p)
    }

    /// Images of (first, count, build ID, name).
    pub fn images(&mut self, images: &[(u32, u32, &[u8], &str)]) -> &mut Self {
        let image = |(first, count, id, name): &(u32, u32, &[u8], &str)| Image {
            first: *first,
            count: *count,
            loaded: 1,
            build_id_len: id.len() as u32,
            build_id: padded(id),
            reserved: 0,
            name: padded(name),
        };
        let all: Vec<_> = images.iter().flat_map(|one| image(one).bytes()).collect();
        self.section(3, &all)
    }

    pub fn component(&mut self, id: u32, name: &str) -> &mut Self {
        self.component_of(id, name, 0, [0; 8], 0)
    }

    /// One that was cleared then, which version 1 doesn't tell.
    pub fn component_of(
        &mut self,
        id: u32,
        name: &str,
        gone: u64,
        lost: [u64; 8],
        cleared: u64,
    ) -> &mut Self {
        let component = ComponentSection {
            id,
            enabled: 1,
            level: 3,
            mode: 0,
            attached: 1,
            size_kb: 1024,
            ring_kb: 256,
            rings: 1,
            reserved: 0,
            gone_records: gone,
            lost,
            name: padded(name),
            cleared,
        };
        let bytes = component.bytes();
        self.section(
            4,
            &bytes[..if self.version == 1 { ComponentSection::LEAST } else { bytes.len() }],
        )
    }

    pub fn ring(&mut self, r: &Ring) -> &mut Self {
        let ring = RingSection {
            component: r.component,
            ring: r.ring,
            context: r.context,
            retired: u8::from(r.exit_clock != 0),
            task_state: r.state,
            reserved: 0,
            cpu: r.cpu,
            pid: r.pid,
            tgid: r.pid,
            comm: padded(&r.comm),
            exit_clock: r.exit_clock,
            records: r.records,
            lost: r.lost,
            told: r.told,
            pages: r.pages,
            reserved2: 0,
        };
        self.rings += 1;
        self.section(5, &ring.bytes())
    }

    pub fn page(&mut self, r: &Ring, page: &Page) -> &mut Self {
        self.page_after(r, page, page.records(), page.first)
    }

    /// One that says so of the number of its records, and that this one should have been next.
    pub fn page_after(&mut self, r: &Ring, page: &Page, records: u32, next: u64) -> &mut Self {
        let mut p = file::Page { component: r.component, ring: r.ring }.bytes().to_vec();
        p.extend(page.counting(records));
        if self.version >= 4 {
            p.extend(PageEnd { next }.bytes());
        }
        self.pages += 1;
        self.section(6, &p)
    }

    /// A ring was taken from its owner, of which the file has so many records.
    pub fn released(&mut self, component: u32, ring: u32, records: u64) -> &mut Self {
        self.section(Kind::Released as u16, &Released { component, ring, records }.bytes())
    }

    pub fn end(&mut self) -> Vec<u8> {
        let counts = match self.version {
            4.. => [0; 3],
            _ => [self.rings, self.pages, 0],
        };
        let end = End { sections: self.sections, reserved: counts };
        self.section(7, &end.bytes());
        self.bytes.clone()
    }
}
