// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Bounded reads of untrusted bytes, and the checksum of side tables.
//!
//! Every other file here reads its input through these functions. They never panic: a read outside
//! of the bytes returns `None`. All integers are little-endian.
//!
//! Needs only `std`; the crate `blog-table` links to this file.

/// Reads `N` bytes at `off`.
pub fn array<const N: usize>(bytes: &[u8], off: usize) -> Option<[u8; N]> {
    bytes.get(off..off.checked_add(N)?)?.try_into().ok()
}

/// Reads a `u8` at `off`.
pub fn u8_at(bytes: &[u8], off: usize) -> Option<u8> {
    bytes.get(off).copied()
}

/// Reads a `u16` at `off`.
pub fn u16_at(bytes: &[u8], off: usize) -> Option<u16> {
    array(bytes, off).map(u16::from_le_bytes)
}

/// Reads a `u32` at `off`.
pub fn u32_at(bytes: &[u8], off: usize) -> Option<u32> {
    array(bytes, off).map(u32::from_le_bytes)
}

/// Reads a `u64` at `off`.
pub fn u64_at(bytes: &[u8], off: usize) -> Option<u64> {
    array(bytes, off).map(u64::from_le_bytes)
}

/// Reads `len` bytes at `off`.
pub fn slice_at(bytes: &[u8], off: usize, len: usize) -> Option<&[u8]> {
    bytes.get(off..off.checked_add(len)?)
}

/// The bytes before the first NUL, or all of them.
pub fn until_nul(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    &bytes[..end]
}

/// Rounds up to a multiple of 8.
pub fn round8(n: usize) -> Option<usize> {
    Some(n.checked_add(7)? & !7)
}

/// Appends zeros up to a multiple of 8 bytes.
pub fn pad8(out: &mut Vec<u8>) {
    while out.len() % 8 != 0 {
        out.push(0);
    }
}

/// Lower-case hex, as build IDs are written.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut s = String::with_capacity(bytes.len() * 2);
    for &b in bytes {
        s.push(DIGITS[usize::from(b >> 4)].into());
        s.push(DIGITS[usize::from(b & 15)].into());
    }
    s
}

/// CRC-32 (IEEE 802.3, reflected, as in zlib).
pub fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut i = 0;
        while i < 256 {
            let mut c = i as u32;
            let mut bit = 0;
            while bit < 8 {
                c = if c & 1 != 0 {
                    0xedb8_8320 ^ (c >> 1)
                } else {
                    c >> 1
                };
                bit += 1;
            }
            table[i] = c;
            i += 1;
        }
        table
    };
    !bytes.iter().fold(!0, |c, &b| {
        TABLE[((c ^ u32::from(b)) & 0xff) as usize] ^ (c >> 8)
    })
}
