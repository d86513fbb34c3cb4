// SPDX-License-Identifier: GPL-2.0

//! The content of a self-checking record, from its component, writer and sequence number alone.
//!
//! The torture module makes records by this file. The verifier includes the very same file to check
//! them. It needs nothing but `core`.
//!
//! A record has its writer, its sequence number, and a checksum of both and of the component's
//! name: so one that got into another component, or is put together from two, shows. The checksum
//! also says which call makes it, and picks the bytes of the payload out of a table.

/// Bits of a writer's number that are its own; those above are the run's.
pub(crate) const WRITER_BITS: u32 = 24;

/// The longest payload in bytes.
pub(crate) const PAYLOAD_MAX: u32 = 960;

const TABLE: usize = 2048;

/// Bytes without any pattern.
static BYTES: [u8; TABLE] = table(0, 256);

/// Letters without any pattern.
static LETTERS: [u8; TABLE] = table(b'a', 26);

const fn table(first: u8, count: u64) -> [u8; TABLE] {
    let mut bytes = [0; TABLE];
    let mut x = 0x2545_f491_4f6c_dd1d_u64;
    let mut i = 0;
    while i < TABLE {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        bytes[i] = first.wrapping_add(((x >> 32) % count) as u8);
        i += 1;
    }
    bytes
}

/// A number for a component's name (FNV-1a).
pub(crate) fn salt(name: &[u8]) -> u32 {
    name.iter().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    })
}

/// The checksum of a record.
#[inline(always)]
pub(crate) fn sum(salt: u32, writer: u32, seq: u32) -> u32 {
    let mut x = salt ^ writer.wrapping_mul(0x9e37_79b1) ^ seq.wrapping_mul(0x85eb_ca77);
    x = (x ^ (x >> 16)).wrapping_mul(0x7feb_352d);
    x = (x ^ (x >> 15)).wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}

/// Which call makes a record, and its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Three numbers.
    Short,
    /// Bytes after the numbers.
    Bytes(&'static [u8]),
    /// A text between the numbers.
    Text(&'static str),
}

/// The shape of the record with this checksum, in a run whose payloads have at most `max` bytes.
#[inline(always)]
pub(crate) fn shape(sum: u32, max: u32) -> Shape {
    if max == 0 || sum & 3 != 0 {
        return Shape::Short;
    }
    // One in eight of these may take all that there is.
    let most = match (sum >> 2) & 7 {
        0 => max.min(PAYLOAD_MAX),
        _ => max.min(32),
    };
    let len = ((sum >> 6) % (most + 1)) as usize;
    let from = (sum >> 16) as usize % (TABLE - PAYLOAD_MAX as usize);
    let cut = |table: &'static [u8; TABLE]| table.get(from..from + len).unwrap_or(&[]);
    if sum & 32 == 0 {
        Shape::Bytes(cut(&BYTES))
    } else {
        // Letters only, so this is UTF-8.
        Shape::Text(core::str::from_utf8(cut(&LETTERS)).unwrap_or(""))
    }
}
