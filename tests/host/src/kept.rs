// SPDX-License-Identifier: GPL-2.0

//! What `previous/snapshot` has of a [`Rig`], whose rings fill pages as in the kernel.

use crate::persist::{Facts, Region, MAGIC, VERSION};
use crate::rig::{Rig, PAGE};
use kernel::blog::{
    ring::Ring,
    wire::{
        file::{self, Kind, SectionHeader, System},
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

/// A CRC-32, bit by bit.
pub fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 * (crc & 1)))
    })
}

/// With the right checksum.
pub fn sealed(mut region: Region) -> Region {
    region.crc = crc32(&region.bytes()[..Region::SUMMED]);
    region
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|n| n.to_le_bytes()).collect()
}

fn section(kind: Kind, payload: &[u8]) -> Vec<u8> {
    let [low, high] = [payload.len() as u32, 0];
    let mut all = words(&[file::SECTION_MAGIC, kind as u32, low, high, 0, 0, crc32(payload)]);
    all.extend(crc32(&all).to_le_bytes());
    assert_eq!(all.len(), size_of::<SectionHeader>());
    all.extend(payload);
    all.resize(all.len().next_multiple_of(8), 0);
    all
}

/// A copy of the facts of these components.
fn facts(generation: u64, components: &[u32]) -> Vec<u8> {
    let mut system = words(&[PAGE as u32, 2, 8, 0]);
    system.extend([[b'r'; 64], [b'm'; 64], [b'h'; 64]].concat());
    system.extend(BOOT);
    assert_eq!(system.len(), size_of::<System>());
    let mut sections = section(Kind::System, &system);
    for id in components {
        let mut component = id.to_le_bytes().to_vec();
        component.resize(std::mem::offset_of!(file::ComponentSection, name), 0);
        component.extend(b"disk");
        component.resize(size_of::<file::ComponentSection>(), 0);
        sections.extend(section(Kind::Component, &component));
    }
    let mut facts = Facts { generation, len: sections.len() as u32, crc: 0 };
    facts.crc = crc32(&[&facts.bytes()[..Facts::SUMMED], &sections].concat());
    let mut all = [&facts.bytes()[..], &sections].concat();
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
