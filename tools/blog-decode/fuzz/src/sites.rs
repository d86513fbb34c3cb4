// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Call sites: those that the other targets decode with, side tables, and images that have them.

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use blog_decode_core::sidetable::Sites;
use blog_file::record::Version;
use blog_table::{descriptor::Site, format::Table, image, source::Source};

/// Sites of all kinds of argument, of which records have these ids: 1, 2, ...
pub fn sites() -> Arc<Sites> {
    static SITES: OnceLock<Arc<Sites>> = OnceLock::new();
    let make = || Arc::new(Sites::new(table(), PathBuf::new()));
    SITES.get_or_init(make).clone()
}

fn table() -> Table {
    let site = |format: &str, args: &[(&str, u64)]| Site {
        line: 7,
        level: 3,
        file: "drivers/x.rs".into(),
        module: "x".into(),
        format: format.into(),
        names: args.iter().map(|(name, _)| (*name).to_owned()).collect(),
        codes: args.iter().map(|(_, code)| *code).collect(),
        is_c: false,
        ..Site::default()
    };
    Table {
        build_id: b"id".to_vec(),
        name: "test".into(),
        sites: vec![
            site("{n:>8} {s:?}", &[("n", 0x03), ("s", 0x22)]),
            site("{:#x} {e:?} {:p}", &[("a", 0x04), ("p", 0x25), ("e", 0x26)]),
            site("{b:02x?} {c} {o}", &[("b", 0x24), ("c", 0x21), ("o", 0x20)]),
            site("{i} {m} {x:?}", &[("i", 0x43), ("m", 0x45), ("x", 0x3003)]),
            site("nothing", &[]),
        ],
        ..Table::default()
    }
}

/// A side table.
pub fn sidetable(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    if bytes.len() >= 80 {
        let len = bytes.len() as u64;
        bytes[16..24].copy_from_slice(&len.to_le_bytes());
        let crc = crc32fast::hash(&bytes[80..]);
        bytes[68..72].copy_from_slice(&crc.to_le_bytes());
        let crc = crc32fast::hash(&bytes[..76]);
        bytes[76..80].copy_from_slice(&crc.to_le_bytes());
    }
    let Ok(table) = Table::decode(&bytes) else {
        return;
    };
    let encoded = table.encode().unwrap();
    assert_eq!(Table::decode(&encoded).as_ref(), Ok(&table));
    print_all(table);
}

/// Prints a record of each site.
pub fn print_all(table: Table) {
    let payload: Vec<u8> = (0..1023u32).map(|n| (n % 7) as u8).collect();
    let (mut slots, mut out) = (Vec::new(), Vec::new());
    for site in Sites::new(table, PathBuf::new()).sites.iter().take(64) {
        let Ok(template) = &site.template else {
            continue;
        };
        for version in [Version::One, Version::Two] {
            if template.locate_arguments(&payload, version, &mut slots) {
                out.clear();
                template.print(&payload, &slots, &mut out);
                std::str::from_utf8(&out).unwrap();
            }
        }
    }
}

/// An ELF image.
pub fn elf(bytes: &[u8]) {
    if let Ok(Some(table)) = image::read(Source::Memory(bytes.to_vec()), "fuzz") {
        print_all(table);
    }
}
