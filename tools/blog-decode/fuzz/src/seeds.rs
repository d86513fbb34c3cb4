// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Inputs that are built, by the builders of the decoder's tests: they are never out of date, as a
//! kept file may be when a format changes.

use std::{env, fs, path::Path};

use blog_decode_core::sidetable::read_table;

use crate::common::{
    fixture, image,
    snapshot::{Page, Ring},
    stream::{as_stream, begin, clock, Rings},
    vmcore::{self, Ram},
};

/// Passes over three rings, with clocks between them; one ring goes to another task.
pub fn stream() -> Vec<u8> {
    let mut rings = Rings::new(begin(&[b"id"], 1), 3);
    for pass in 1..6u64 {
        for i in 0..3 {
            for n in 0..=pass {
                rings.log(i, 1000 * pass + 10 * n + i as u64);
            }
            rings.read(i);
        }
        clock(&mut rings.builder, 1000 * pass + 900);
    }
    let next = Ring::task(1, 2, 200, "next");
    let mut page = Page::new(2, 9, 7000, 0);
    page.record(7000, 5, ());
    rings.builder.ring(&next).page(&next, &page);
    as_stream(rings.builder.bytes)
}

/// Rings of all contexts, with records of all sites, losses, and pieces of pages.
const SNAPSHOT: &str = "
    real 100s; clock counter 0 3s=1s; image 1 5 test id; component 1 disk
    ring 1 task 42 fio records 110 lost no-page 9 told no-page 7
    page 5 from 100; call 1ms 1 7u32 x0b736f6d651b20746578740a; lost 1500us no-page 7
    call 2ms 2 65535u64 3735928559u64 -5i32
    page 7 from 104; call 6ms 3 x03010203 120u32 1u8; call 68719477736 5
    page 7 from 106; lost 68719478736 reader-lag 2; call 68719479736 4 x0102030405060708090a
    ring 2 softirq 3; page 1 size 512; call 2ms 5
    ring 3 shared 0; page 1 size 512; call 3ms 9 1u32; writer 3ms task 1 7 7 dd; call 4ms 5";

pub fn snapshot() -> Vec<u8> {
    fixture::compile(SNAPSHOT, b"id")
}

/// The capture of a stream, which has no end.
fn capture() -> Vec<u8> {
    let mut bytes = as_stream(snapshot());
    bytes.truncate(bytes.len() - 48);
    bytes
}

/// All that there is for a target; `dir` is for files in between.
pub fn of(target: &str, dir: &Path) -> Vec<Vec<u8>> {
    let read = |path| fs::read(path).unwrap();
    match target {
        "snapshot" => vec![snapshot(), capture()],
        "stream" => vec![as_stream(snapshot()), stream()],
        "console" => vec![as_stream(snapshot())],
        "vmcore" => {
            let ram = vmcore::sample().finish();
            assert_eq!(Ram::from_bytes(&ram.to_bytes()).0, ram.0);
            vec![ram.to_bytes()]
        }
        "dump" => {
            let ram = vmcore::sample().finish();
            let mut stock = ram.clone();
            let rows = vmcore::stock(&mut stock);
            [vmcore::elf(&ram, 4), vmcore::elf(&ram, 5), vmcore::elf_with(&stock, 4, &rows)]
                .map(|elf| crate::memory::as_input(&elf))
                .into()
        }
        "map" => vec![crate::mapped::seed()],
        "kept" => blog_wire::persist::READS.map(crate::kept::seed).collect(),
        "elf" => vec![read(image::module(dir, "x.ko", "x")), read(image::vmlinux(dir, "x"))],
        "sidetable" => {
            let path = image::module(dir, "x.ko", "x");
            let table = read_table(&path, |_| true).unwrap().unwrap();
            vec![table.encode().unwrap()]
        }
        "unpack" => PACKED.map(<[u8]>::to_vec).into(),
        _ => Vec::new(),
    }
}

/// "blog" 40 times: by gzip, xz, and zstd.
const PACKED: [&[u8]; 3] = [
    b"\x1f\x8b\x08\0\xdb\x0c\x04k\x02\xffK\xca\xc9OO\x1aA\x18\0<\xea\xeb1\xa0\0\0\0",
    b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4F\x02\0!\x01\x0c\0\0\0\x8f\x98A\x9c\xe0\0\x9f\0\n]\0\
      1\x1b\nB\x85\xb2\x884 \0\0\0\0\xdcE\"1\xbd\xdd\xc9\xba\0\x01&\xa0\x01\0\0\0\x05\xca=\xba\
      \xb1\xc4g\xfb\x02\0\0\0\0\x04YZ",
    b"(\xb5/\xfd\x04X]\0\0 blog\x01\0\x99)G\x04\x8eN~\xcf",
];

/// Before a target runs: writes them into the directory that `BLOG_FUZZ_SEEDS` names, if any.
pub fn write(target: &str) {
    let Some(dir) = env::var_os("BLOG_FUZZ_SEEDS") else {
        return;
    };
    for (n, seed) in of(target, &env::temp_dir()).iter().enumerate() {
        fs::write(Path::new(&dir).join(format!("built-{n}")), seed).unwrap();
    }
}
