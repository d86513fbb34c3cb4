// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Fields of protobuf messages: as much of their encoding as a trace needs.
//!
//! A field is a key, of its number and its form, and a value: a number of 7 bits a byte, eight bytes,
//! or a length and as many bytes. What is left out has no default here: all that is put is written.
//! By hand, as Debian has no crate of Perfetto's packets, of which a trace needs few fields.

/// Forms of values.
const NUMBER: u64 = 0;
const EIGHT_BYTES: u64 = 1;
const BYTES: u64 = 2;

/// The lowest bits first; all bytes but the last one have the highest bit set.
fn varint(mut n: u64, out: &mut Vec<u8>) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

fn key(tag: u32, form: u64, out: &mut Vec<u8>) {
    varint(u64::from(tag) << 3 | form, out);
}

/// A field of type `uint32`, `uint64`, `bool` or an enum.
pub(crate) fn uint(tag: u32, n: u64, out: &mut Vec<u8>) {
    key(tag, NUMBER, out);
    varint(n, out);
}

/// A field of type `int32` or `int64`: below 0, as large numbers of 64 bits.
pub(crate) fn int(tag: u32, n: i64, out: &mut Vec<u8>) {
    uint(tag, n as u64, out);
}

/// A field of type `fixed64`.
pub(crate) fn fixed(tag: u32, n: u64, out: &mut Vec<u8>) {
    key(tag, EIGHT_BYTES, out);
    out.extend(n.to_le_bytes());
}

/// A field that is a message, or bytes.
pub(crate) fn message(tag: u32, body: &[u8], out: &mut Vec<u8>) {
    key(tag, BYTES, out);
    varint(body.len() as u64, out);
    out.extend_from_slice(body);
}

/// A field of type `string`, which must be UTF-8.
pub(crate) fn string(tag: u32, bytes: &[u8], out: &mut Vec<u8>) {
    match std::str::from_utf8(bytes) {
        Ok(_) => message(tag, bytes, out),
        Err(_) => message(tag, String::from_utf8_lossy(bytes).as_bytes(), out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Examples of the encoding's definition (protobuf.dev, "Encoding").
    #[test]
    fn fields_are_as_protobuf_defines() {
        let mut out = Vec::new();
        uint(1, 150, &mut out);
        assert_eq!(out, [0x08, 0x96, 0x01]);
        out.clear();
        string(2, b"testing", &mut out);
        assert_eq!(out, b"\x12\x07testing");
        out.clear();
        message(3, &[0x08, 0x96, 0x01], &mut out);
        assert_eq!(out, [0x1a, 0x03, 0x08, 0x96, 0x01]);
        out.clear();
        int(1, -2, &mut out);
        let minus_two = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(out, [&[0x08][..], &minus_two].concat());
        out.clear();
        fixed(1, 0x0102, &mut out);
        assert_eq!(out, [0x09, 2, 1, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn numbers_end_where_they_should() {
        for (n, len) in [(0, 1), (0x7f, 1), (0x80, 2), (0x3fff, 2), (0x4000, 3)] {
            let mut out = Vec::new();
            varint(n, &mut out);
            assert_eq!(out.len(), len, "{n:#x}");
            assert!(out[len - 1] < 0x80);
        }
        let mut out = Vec::new();
        varint(u64::MAX, &mut out);
        assert_eq!(out, [&[0xff; 9][..], &[0x01]].concat());
        // A key of two bytes.
        out.clear();
        uint(60, 1, &mut out);
        assert_eq!(out, [0xe0, 0x03, 0x01]);
    }

    #[test]
    fn strings_are_made_utf_8() {
        let mut out = Vec::new();
        string(1, b"a\xffb", &mut out);
        assert_eq!(out, "\x0a\x05a\u{fffd}b".as_bytes());
    }
}
