// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! From bytes to the structures of a snapshot: [`Fields`] reads one after the other.

use crate::wire::{
    file::{
        Clock, ClockPair, ComponentSection, End, FileHeader, Image, RingSection, SectionHeader,
        System, Task, Wait,
    },
    page::{PageInfo, PAGE_HEADER_SIZE},
    record::LOST_CAUSES,
};

/// Reads structures field by field, in the order of their declaration.
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl Fields<'_> {
    pub(super) fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.bytes().map(u8::from_le_bytes)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.bytes().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.bytes().map(u32::from_le_bytes)
    }

    pub(super) fn i32(&mut self) -> Option<i32> {
        self.bytes().map(i32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.bytes().map(u64::from_le_bytes)
    }

    pub(super) fn counters(&mut self) -> Option<[u64; LOST_CAUSES]> {
        let mut all = [0; LOST_CAUSES];
        for n in &mut all {
            *n = self.u64()?;
        }
        Some(all)
    }

    pub(super) fn file_header(&mut self) -> Option<FileHeader> {
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

    pub(crate) fn section_header(&mut self) -> Option<SectionHeader> {
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

    pub(super) fn system(&mut self) -> Option<System> {
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

    pub(super) fn clock(&mut self) -> Option<Clock> {
        Some(Clock { kind: self.u32()?, pairs: self.u32()?, hz: self.u64()? })
    }

    /// The `n` pairs of clocks that are left, of whichever version.
    pub(super) fn clock_pairs(&mut self, n: u32) -> Option<Vec<ClockPair>> {
        let has_local = self.0.len() >= n as usize * size_of::<ClockPair>();
        let pair = |_| {
            Some(ClockPair {
                clock: self.u64()?,
                mono: self.u64()?,
                boot: self.u64()?,
                real: self.u64()?,
                local: if has_local { self.u64()? } else { 0 },
            })
        };
        (0..n).map(pair).collect()
    }

    pub(super) fn image(&mut self) -> Option<Image> {
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

    pub(super) fn task(&mut self) -> Option<Task> {
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

    pub(super) fn wait(&mut self) -> Option<Wait> {
        Some(Wait {
            lock: self.u64()?,
            pid: self.i32()?,
            holder: self.i32()?,
            kind: self.u32()?,
            flags: self.u32()?,
        })
    }

    pub(super) fn component(&mut self) -> Option<ComponentSection> {
        Some(ComponentSection {
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
            // From version 3 on.
            cleared: self.u64().unwrap_or(0),
        })
    }

    pub(super) fn ring(&mut self) -> Option<RingSection> {
        Some(RingSection {
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

    pub(super) fn page_info(&mut self) -> Option<PageInfo> {
        PageInfo::read(&self.bytes::<PAGE_HEADER_SIZE>()?)
    }

    pub(super) fn end(&mut self) -> Option<End> {
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
    assert!(size_of::<RingSection>() == 192);
    assert!(size_of::<ComponentSection>() == 160);
};
