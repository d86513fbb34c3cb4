// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Unpacks compressed sections of ELF files, for `elf.rs`.

use std::io::Read;

use flate2::read::ZlibDecoder;
use ruzstd::decoding::StreamingDecoder;

const ELFCOMPRESS_ZLIB: u32 = 1;
const ELFCOMPRESS_ZSTD: u32 = 2;

/// The bytes of a section that was compressed by `ELFCOMPRESS_*`, and had `size` bytes.
pub fn inflate(kind: u32, packed: &[u8], size: usize) -> Result<Vec<u8>, String> {
    let damaged = |e: &dyn std::fmt::Display| format!("is compressed, and damaged: {e}");
    let mut bytes = Vec::new();
    let limit = size as u64 + 1;
    match kind {
        ELFCOMPRESS_ZLIB => {
            let read = ZlibDecoder::new(packed).take(limit).read_to_end(&mut bytes);
            read.map_err(|e| damaged(&e))?;
        }
        ELFCOMPRESS_ZSTD => {
            let zstd = StreamingDecoder::new(packed).map_err(|e| damaged(&e))?;
            let read = zstd.take(limit).read_to_end(&mut bytes);
            read.map_err(|e| damaged(&e))?;
        }
        kind => return Err(format!("is compressed in a way that is not known ({kind})")),
    }
    match bytes.len() == size {
        true => Ok(bytes),
        false => Err(damaged(&"its unpacked size differs from that in its header")),
    }
}
