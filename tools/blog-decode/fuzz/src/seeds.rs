// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Inputs that are built, by the builders of the decoder's tests: they are never out of date, as a
//! kept file may be when a format changes.

use std::{env, fs, path::Path};

use blog_decode_core::sidetable::read_table;

use crate::common::{
    image,
    snapshot::{Builder, Page, Ring, BOOT_ID},
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
pub fn snapshot() -> Vec<u8> {
    let mut b = Builder::new();
    b.system(BOOT_ID)
        .clock(2, &[[0; 4], [3 << 30, 1 << 30, 1 << 30, 1 << 50]])
        .images(&[(1, 5, b"id", "test")])
        .component(1, "disk");
    let mut task = Ring::task(1, 1, 42, "fio");
    task.records = 110;
    task.lost[0] = 9;
    task.told[0] = 7;
    b.ring(&task);
    let mut p = Page::new(1, 5, 1_000_000, 100);
    p.record(1_000_000, 1, (&7u32, "some\x1b text\n"));
    p.lost(1_500_000, 0, 7);
    p.record(2_000_000, 2, (&0xffffu64, &0xdead_beefu64, &-5i32));
    b.page(&task, &p);
    let mut p = Page::new(1, 7, 6_000_000, 104);
    p.record(6_000_000, 3, (&[1u8, 2, 3][..], &u32::from('x'), &1u8));
    p.record((1 << 36) + 1_000, 5, ());
    b.page(&task, &p);
    let mut p = Page::new(1, 7, (1 << 36) + 2_000, 106);
    p.lost((1 << 36) + 2_000, 4, 2);
    p.raw_record((1 << 36) + 3_000, 4, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    b.page(&task, &p);
    let softirq = Ring::softirq(1, 2, 3);
    b.ring(&softirq);
    let mut p = Page::of_size(512, 2, 1, 2_000_000, 0);
    p.record(2_000_000, 5, ());
    b.page(&softirq, &p);
    let shared = Ring::shared(1, 3, 0);
    b.ring(&shared);
    let mut p = Page::of_size(512, 3, 1, 3_000_000, 0);
    p.record(3_000_000, 9, (&1u32,));
    p.writer(3_000_000, 0, 1, (7, 7, "dd"));
    p.record(4_000_000, 5, ());
    b.page(&shared, &p);
    b.end()
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
