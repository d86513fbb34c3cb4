// SPDX-License-Identifier: GPL-2.0

//! What `previous/snapshot` has of a [`Rig`], whose rings fill pages as in the kernel.

use crate::common::snapshot::Builder;
use crate::persist::{Facts, Region, MAGIC, VERSION};
use crate::rig::{Rig, PAGE};
pub use crc32fast::hash as crc32;
use kernel::blog::{
    ring::Ring,
    wire::{
        file::{self, Kind, System},
        page::{RINGS_AT, RINGS_MAGIC},
        record::WIRE_VERSION,
    },
};

const RING: usize = size_of::<Ring>();
/// Rings in a page of rings.
pub const RINGS: usize = (PAGE - RINGS_AT) / RING - 1;
/// Bytes of each copy of the facts.
const FACTS: usize = PAGE;
/// The component, and the number of its memory.
pub const COMPONENT: u32 = 7;
const MEMORY: u64 = 3;
pub const BOOT: [u8; 16] = *b"the last boot id";

/// With the right checksum.
pub fn sealed(mut region: Region) -> Region {
    region.crc = crc32(&region.bytes()[..Region::SUMMED]);
    region
}

/// A copy of the facts of these components.
fn facts(generation: u64, components: &[u32]) -> Vec<u8> {
    let mut b = Builder::new();
    let head = b.bytes.len();
    let system = System {
        page_size: PAGE as u32,
        cpus: 2,
        pointer_size: 8,
        reserved: 0,
        release: [b'r'; 64],
        machine: [b'm'; 64],
        host: [b'h'; 64],
        boot_id: BOOT,
    };
    b.section(Kind::System as u16, &system.bytes());
    for id in components {
        b.component(*id, "disk");
    }
    let sections = &b.bytes[head..];
    let mut facts = Facts { generation, len: sections.len() as u32, crc: 0 };
    facts.crc = crc32(&[&facts.bytes()[..Facts::SUMMED], sections].concat());
    let mut all = [&facts.bytes()[..], sections].concat();
    assert!(all.len() <= FACTS);
    all.resize(FACTS, 0);
    all
}

fn bytes_at(at: *const u8, len: usize) -> Vec<u8> {
    // SAFETY: The caller has so many bytes there, and nobody stores to them.
    unsafe { std::slice::from_raw_parts(at, len) }.to_vec()
}

/// The file of a rig with this many rings, and what it starts with.
pub fn file(rig: &Rig, rings: usize) -> (Region, Vec<u8>) {
    assert_eq!(rings % RINGS, 0);
    let (ring_pages, slots) = (rings / RINGS, rig.slots());
    let frames = ring_pages + slots.len();
    let head = sealed(Region {
        magic: MAGIC,
        version: VERSION,
        endian: file::ENDIAN,
        wire_version: WIRE_VERSION,
        snapshot_version: file::VERSION,
        page_size: PAGE as u32,
        rings_at: RINGS_AT as u32,
        rings: RINGS as u32,
        frames: frames as u32 + 1,
        facts: FACTS as u32,
        rings_before: [0; 20],
        crc: 0,
    });
    let mut bytes = head.bytes().to_vec();
    bytes.resize(PAGE, 0);
    bytes.extend(facts(4, &[COMPONENT]));
    bytes.extend(facts(3, &[]));
    let owner = u64::from(COMPONENT) | MEMORY << 32;
    // The first one is nobody's.
    bytes.extend([0; 8]);
    (0..frames).for_each(|_| bytes.extend(owner.to_le_bytes()));
    bytes.resize(head.frames_at() as usize, 0);
    let first = std::ptr::from_ref(rig.ring(0).expect("rings")).cast::<u8>();
    for n in 0..ring_pages {
        let start = bytes.len();
        bytes.extend(RINGS_MAGIC.to_le_bytes());
        bytes.resize(start + RINGS_AT, 0);
        bytes.extend(bytes_at(first.wrapping_add(n * RINGS * RING), RINGS * RING));
        bytes.resize(bytes.len().next_multiple_of(PAGE), 0);
    }
    for slot in slots {
        bytes.extend(bytes_at(slot.page().cast(), PAGE));
    }
    (head, bytes)
}

/// A rig in which tasks have logged, been robbed and ended; and how many rings it has.
pub fn rig() -> (Box<Rig>, usize) {
    let rings = 2 * RINGS;
    let mut rig = Rig::with_rooms(24, rings, 2);
    rig.max_pages = 3;
    for pid in 0..20 {
        let Some(ring) = rig.adopt(pid) else { break };
        for n in 0..(40 * pid as u64).pow(2) % 900 {
            let payload = vec![n as u8; (n % 50) as usize];
            rig.log(ring, 1000 * n, 1 + n as u32 % 9, &payload);
        }
        if pid % 4 == 3 {
            rig.retire(ring, 1 << 30);
        }
    }
    (rig, rings)
}
