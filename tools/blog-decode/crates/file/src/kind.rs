// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The kind of an unexpected file, by its first bytes.

/// How each kind begins, and its description in messages.
const KINDS: [(&[u8], &str); 17] = [
    (b"BLOGSNAP", "a snapshot or stream of BLog, which needs no option"),
    (b"BLOGKEPT", "what has survived a reboot, which needs no option"),
    (b"BLOGFMT\0", "a side table, which goes with --sidetable"),
    (b"KDUMP   ", DUMP),
    (b"DISKDUMP", DUMP),
    (b"makedumpfile\0", DUMP),
    (
        b"\x17\x08\x44tracing",
        "a binary trace, of which \"trace-cmd report\" makes text for --ftrace",
    ),
    (
        b"LPKSHHRH",
        "a journal of systemd, of which \"journalctl -k -o short-monotonic\" makes text for --dmesg",
    ),
    (b"\x04\x22\x4d\x18", "packed by lz4: unpack it first"),
    (b"\x02\x21\x4c\x18", "packed by lz4: unpack it first"),
    // Only "show --follow" doesn't unpack.
    (b"\x1f\x8b", "packed by gzip: unpack it first"),
    (b"\x28\xb5\x2f\xfd", "packed by zstd: unpack it first"),
    (b"\xfd7zXZ\0", "packed by xz: unpack it first"),
    (b"BZh", "packed by bzip2: unpack it first"),
    (b"PK\x03\x04", "packed by zip: unpack it first"),
    (b"PAR1", "a Parquet file"),
    (b"<!DOCTYPE html>", "a page for a browser"),
];
/// The kind of a dump.
pub const DUMP: &str = "a crash dump, which goes with --vmcore";
/// Where an ELF file says what it is for, and that it is a dump.
const ELF_TYPE: usize = 16;
const ELF_CORE: u8 = 4;

/// What a file is that begins so; `None`: nothing that is known.
pub fn describe(start: &[u8]) -> Option<&'static str> {
    if start.starts_with(b"\x7fELF") {
        return Some(match start.get(ELF_TYPE) {
            Some(&ELF_CORE) => DUMP,
            _ => "an ELF image, which goes with --sidetable",
        });
    }
    let known = KINDS.iter().find(|(magic, _)| start.starts_with(magic));
    known.map(|(_, what)| *what)
}
