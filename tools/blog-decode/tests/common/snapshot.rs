// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Builds snapshots for tests, byte by byte as `rust/kernel/blog/wire/file.rs` says.

use super::kernel::{
    call::args::BlogArgs,
    wire::{
        file::VERSION,
        page::{PAGE_HEADER_SIZE, PAGE_MAGIC},
        record::{Control, Header, HEADER_SIZE, TASK_SIZE, TS_BITS, WIRE_VERSION},
    },
};

pub const SECTION_MAGIC: u32 = u32::from_le_bytes(*b"BLSE");
pub const PAGE_SIZE: usize = 4096;
pub const BOOT_ID: [u8; 16] = *b"boot-id-of-tests";

/// A page under construction.
#[derive(Clone)]
pub struct Page {
    pub bytes: Vec<u8>,
    high: u64,
    records: u32,
    pub first: u64,
}

impl Page {
    pub fn new(ring: u32, seq: u64, base: u64, first: u64) -> Self {
        Self::of_size(PAGE_SIZE, ring, seq, base, first)
    }

    /// A page or chunk of `size` bytes.
    pub fn of_size(size: usize, ring: u32, seq: u64, base: u64, first: u64) -> Self {
        let mut bytes = Vec::new();
        for n in [PAGE_MAGIC, size as u32, ring, 0] {
            bytes.extend(n.to_le_bytes());
        }
        for n in [seq, base, first, 0] {
            bytes.extend(n.to_le_bytes());
        }
        assert_eq!(bytes.len(), PAGE_HEADER_SIZE);
        Self { bytes, high: base >> TS_BITS, records: 0, first }
    }

    fn put(&mut self, clock: u64, site: u32, payload: &[u8]) {
        if clock >> TS_BITS != self.high {
            self.high = clock >> TS_BITS;
            self.control(clock, Control::TimeExtend as u32, &clock.to_le_bytes());
        }
        let header = Header::new(clock, site, payload.len() as u32);
        self.bytes.extend(header.0.to_le_bytes());
        self.bytes.extend(payload);
    }

    pub fn control(&mut self, clock: u64, word: u32, rest: &[u8]) {
        let header = Header::new(clock, 0, 4 + rest.len() as u32);
        self.bytes.extend(header.0.to_le_bytes());
        self.bytes.extend(word.to_le_bytes());
        self.bytes.extend(rest);
    }

    pub fn lost(&mut self, clock: u64, cause: u8, count: u64) {
        let word = Control::Lost as u32 | u32::from(cause) << 8;
        self.control(clock, word, &count.to_le_bytes());
    }

    /// Records of the page that weren't chosen for the reader.
    pub fn left(&mut self, clock: u64, count: u32) {
        self.control(clock, Control::Left as u32, &u64::from(count).to_le_bytes());
        self.records += count;
    }

    pub fn writer(&mut self, clock: u64, context: u8, cpu: u16, task: (i32, i32, &str)) {
        let (pid, tgid, comm) = task;
        let mut rest = [pid.to_le_bytes(), tgid.to_le_bytes()].concat();
        rest.extend(padded::<16>(comm));
        let word = Control::Task as u32 | u32::from(context) << 8 | u32::from(cpu) << 16;
        self.control(clock, word, &rest);
        assert_eq!(HEADER_SIZE + 4 + rest.len(), TASK_SIZE as usize);
    }

    pub fn record<A: BlogArgs>(&mut self, clock: u64, site: u32, args: A) {
        let mut payload = vec![0; args.size()];
        // SAFETY: The payload has as many bytes as `size` says.
        unsafe { args.store(payload.as_mut_ptr()) };
        self.raw_record(clock, site, &payload);
    }

    pub fn raw_record(&mut self, clock: u64, site: u32, payload: &[u8]) {
        self.put(clock, site, payload);
        self.records += 1;
    }

    pub fn records(&self) -> u32 {
        self.records
    }

    pub fn seq(&self) -> u64 {
        u64::from_le_bytes(self.bytes[16..24].try_into().unwrap())
    }

    /// Its bytes, with all records published.
    pub fn finished(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        let commit = bytes.len() as u64 | u64::from(self.records) << 32;
        bytes[40..48].copy_from_slice(&commit.to_le_bytes());
        bytes
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
    pub comm: &'static [u8],
    pub exit_clock: u64,
    pub records: u64,
    pub lost: [u64; 8],
    pub told: [u64; 8],
    /// Pages that it had.
    pub pages: u32,
}

impl Ring {
    pub fn task(component: u32, ring: u32, pid: i32, comm: &'static str) -> Self {
        Self {
            component,
            ring,
            context: 0,
            cpu: u32::MAX,
            pid,
            comm: comm.as_bytes(),
            exit_clock: 0,
            records: 0,
            lost: [0; 8],
            told: [0; 8],
            pages: 0,
        }
    }

    pub fn softirq(component: u32, ring: u32, cpu: u32) -> Self {
        Self { context: 1, cpu, pid: -1, comm: b"", ..Self::task(component, ring, -1, "") }
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
        let b = &mut this.bytes;
        b.extend(b"BLOGSNAP");
        for n in [version, 0x0102_0304, WIRE_VERSION, 32, 0] {
            b.extend(n.to_le_bytes());
        }
        let crc = crc32fast::hash(b);
        b.extend(crc.to_le_bytes());
        this
    }

    pub fn section(&mut self, kind: u16, payload: &[u8]) -> &mut Self {
        let mut h = Vec::new();
        h.extend(SECTION_MAGIC.to_le_bytes());
        h.extend(kind.to_le_bytes());
        h.extend(0u16.to_le_bytes());
        h.extend((payload.len() as u64).to_le_bytes());
        h.extend(self.sections.to_le_bytes());
        h.extend(0u32.to_le_bytes());
        h.extend(crc32fast::hash(payload).to_le_bytes());
        let crc = crc32fast::hash(&h);
        h.extend(crc.to_le_bytes());
        self.bytes.extend(h);
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
        let mut p = Vec::new();
        for n in [4096u32, 4, 8, 0] {
            p.extend(n.to_le_bytes());
        }
        for s in ["7.3.4", "x86_64", host] {
            p.extend(padded::<64>(s));
        }
        p.extend(boot_id);
        self.section(1, &p)
    }

    /// Pairs of (clock, mono, boot, real, local), as far as they are known; version 1 has no local.
    pub fn clock<const N: usize>(&mut self, kind: u32, pairs: &[[u64; N]]) -> &mut Self {
        let mut p = Vec::new();
        p.extend(kind.to_le_bytes());
        p.extend((pairs.len() as u32).to_le_bytes());
        p.extend(0u64.to_le_bytes());
        for pair in pairs {
            let mut all = [0; 5];
            all[..N].copy_from_slice(pair);
            let of = if self.version == 1 { 4 } else { 5 };
            all[..of].iter().for_each(|n| p.extend(n.to_le_bytes()));
        }
        self.section(2, &p)
    }

    /// Images of (first, count, build ID, name).
    pub fn images(&mut self, images: &[(u32, u32, &[u8], &str)]) -> &mut Self {
        let mut p = Vec::new();
        for (first, count, id, name) in images {
            for n in [*first, *count, 1, id.len() as u32] {
                p.extend(n.to_le_bytes());
            }
            let mut raw = [0; 20];
            raw[..id.len()].copy_from_slice(id);
            p.extend(raw);
            p.extend([0; 4]);
            p.extend(padded::<56>(name));
        }
        self.section(3, &p)
    }

    pub fn component(&mut self, id: u32, name: &str) -> &mut Self {
        self.component_with_losses(id, name, 0, [0; 8])
    }

    pub fn component_with_losses(
        &mut self,
        id: u32,
        name: &str,
        gone: u64,
        lost: [u64; 8],
    ) -> &mut Self {
        self.component_of(id, name, gone, lost, 0)
    }

    /// One that was cleared then, which version 1 doesn't tell.
    pub fn cleared_component(&mut self, id: u32, name: &str, cleared: u64) -> &mut Self {
        self.component_of(id, name, 0, [0; 8], cleared)
    }

    fn component_of(
        &mut self,
        id: u32,
        name: &str,
        gone: u64,
        lost: [u64; 8],
        cleared: u64,
    ) -> &mut Self {
        let mut p = Vec::new();
        p.extend(id.to_le_bytes());
        p.extend([1, 3, 0, 1]);
        for n in [1024u32, 256, 1, 0] {
            p.extend(n.to_le_bytes());
        }
        p.extend(gone.to_le_bytes());
        for n in lost {
            p.extend(n.to_le_bytes());
        }
        p.extend(padded::<56>(name));
        if self.version > 1 {
            p.extend(cleared.to_le_bytes());
        }
        self.section(4, &p)
    }

    pub fn ring(&mut self, r: &Ring) -> &mut Self {
        let mut p = Vec::new();
        p.extend(r.component.to_le_bytes());
        p.extend(r.ring.to_le_bytes());
        p.extend([r.context, u8::from(r.exit_clock != 0), b'S', 0]);
        p.extend(r.cpu.to_le_bytes());
        p.extend(r.pid.to_le_bytes());
        p.extend(r.pid.to_le_bytes());
        p.extend(padded::<16>(r.comm));
        p.extend(r.exit_clock.to_le_bytes());
        p.extend(r.records.to_le_bytes());
        for n in r.lost.iter().chain(&r.told) {
            p.extend(n.to_le_bytes());
        }
        p.extend(r.pages.to_le_bytes());
        p.extend([0; 4]);
        self.rings += 1;
        self.section(5, &p)
    }

    pub fn page(&mut self, r: &Ring, page: &Page) -> &mut Self {
        let mut p = Vec::new();
        p.extend(r.component.to_le_bytes());
        p.extend(r.ring.to_le_bytes());
        p.extend(page.finished());
        self.pages += 1;
        self.section(6, &p)
    }

    pub fn end(&mut self) -> Vec<u8> {
        let mut p = Vec::new();
        for n in [self.sections, self.rings, self.pages, 0] {
            p.extend(n.to_le_bytes());
        }
        self.section(7, &p);
        self.bytes.clone()
    }
}
