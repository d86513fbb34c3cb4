// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Reads protobuf messages, and takes Perfetto's traces apart.

#![allow(dead_code, missing_docs, unreachable_pub)]

use std::io::Read;

/// A field of a protobuf message.
#[derive(Debug, PartialEq)]
pub enum Proto {
    Number(u64),
    Bytes(Vec<u8>),
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut n = 0;
    for shift in (0..).step_by(7) {
        let (byte, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        n |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    n
}

/// A trace in which no packets are compressed (`TracePacket.compressed_packets`) any more.
pub fn unpacked(trace: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    for packet in messages(&fields(trace), 1) {
        let [(50, Proto::Bytes(packed))] = packet.as_slice() else {
            panic!("a packet that is not compressed")
        };
        flate2::read::ZlibDecoder::new(packed.as_slice()).read_to_end(&mut all).unwrap();
    }
    all
}

/// All fields of a message, in their order.
pub fn fields(mut bytes: &[u8]) -> Vec<(u64, Proto)> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let value = match key & 7 {
            0 => Proto::Number(varint(&mut bytes)),
            2 => {
                let len = varint(&mut bytes) as usize;
                let (value, rest) = bytes.split_at(len);
                bytes = rest;
                Proto::Bytes(value.to_vec())
            }
            n => panic!("wire type {n}"),
        };
        all.push((key >> 3, value));
    }
    all
}

/// The messages in fields of this number.
pub fn messages(all: &[(u64, Proto)], number: u64) -> Vec<Vec<(u64, Proto)>> {
    let of = all.iter().filter(|(n, _)| *n == number);
    of.map(|(_, v)| match v {
        Proto::Bytes(b) => fields(b),
        Proto::Number(_) => panic!("field {number} is a number"),
    })
    .collect()
}

pub fn texts(all: &[(u64, Proto)], number: u64) -> Vec<String> {
    let of = all.iter().filter(|(n, _)| *n == number);
    of.map(|(_, v)| match v {
        Proto::Bytes(b) => String::from_utf8(b.clone()).unwrap(),
        Proto::Number(n) => n.to_string(),
    })
    .collect()
}
