// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Writes logs for benchmarks, viewers of traces and tests: `biglog log RECORDS RINGS DIR` makes
//! one of two scalars in each record, as a driver under load writes them, `DIR/log.snap` with its
//! table `log.ko`. `biglog fleet SNAPSHOTS HOSTS DIR` makes small ones, each of another boot of one
//! of several machines, half a day apart.

#![allow(dead_code, missing_docs, unreachable_pub)]

#[path = "../tests/common/image.rs"]
mod image;
#[path = "../tests/common/kernel/mod.rs"]
mod kernel;
#[path = "../tests/common/snapshot.rs"]
mod snapshot;

use std::{env, fs, path::Path};

use blog_decode_core::sidetable::read_table;
use snapshot::{Builder, Page, Ring, BOOT_ID};

/// ns between two records of one ring.
const STEP: u64 = 1000;

/// Writes `log.snap` and `log.ko` into `dir`.
pub fn make(records: u64, rings: u32, dir: &Path) {
    let ko = image::module(dir, "log.ko", "one");
    let table = read_table(&ko, |_| true).unwrap().unwrap();
    let mut b = Builder::new();
    let (second, real) = (1_000_000_000, 1_790_000_000_000_000_000);
    b.system(BOOT_ID)
        .clock(
            1,
            &[[0, 0, 0, real], [1000 * second, 1000 * second, 1000 * second, real + 1000 * second]],
        )
        .images(&[(1, 4, &table.build_id, "test_mod")])
        .component(1, "disk");
    for i in 0..rings {
        let count =
            records / u64::from(rings) + u64::from(u64::from(i) < records % u64::from(rings));
        let mut ring = Ring::task(1, i + 1, 1000 + i as i32, "fio");
        ring.records = count;
        b.ring(&ring);
        let (mut n, mut seq) = (0, 0);
        while n < count {
            let mut page = Page::new(i + 1, seq, n * STEP + u64::from(i), n);
            while page.bytes.len() < 4050 && n < count {
                page.record(n * STEP + u64::from(i), 1, (&(n as u32 % 256), &(n * 8)));
                n += 1;
            }
            b.page(&ring, &page);
            seq += 1;
        }
    }
    fs::write(dir.join("log.snap"), b.end()).unwrap();
}

/// Writes so many snapshots of so many machines, and `log.ko`, into `dir`: `hostN.snap`, and
/// `hostN-B.snap` of further boots. In each, every second record ends what the one before has begun:
/// on each machine, it took one more microsecond than on the one before.
fn make_fleet(snapshots: u64, hosts: u64, dir: &Path) {
    let ko = image::module(dir, "log.ko", "one");
    let table = read_table(&ko, |_| true).unwrap().unwrap();
    for n in 0..snapshots {
        let (boot, host) = (n / hosts, n % hosts);
        let real = 1_790_000_000_000_000_000 + n * 43_200_000_000_000;
        let mut id = [1; 16];
        id[..8].copy_from_slice(&n.to_le_bytes());
        let mut b = Builder::new();
        b.system_of(&format!("host{host}"), id)
            .clock(1, &[[0, 0, 0, real]])
            .images(&[(1, 4, &table.build_id, "test_mod")])
            .component(1, "disk");
        let mut page = Page::new(1, 0, 0, 0);
        for n in 0..20 + host % 60 {
            let start = n * 1000 * STEP;
            page.record(start, 1, (&0u32, &n));
            page.record(start + (host + 1) * STEP, 1, (&1u32, &n));
        }
        page.record(3_600_000 * STEP, 2, ("sda \"1\"", &-5i32));
        page.lost(3_600_001 * STEP, 0, host + 1);
        let mut ring = Ring::task(1, 1, 1000, "fio");
        ring.records = page.records().into();
        b.ring(&ring).page(&ring, &page);
        let name = match boot {
            0 => format!("host{host}.snap"),
            boot => format!("host{host}-{boot}.snap"),
        };
        fs::write(dir.join(name), b.end()).unwrap();
    }
}

fn main() {
    let words: Vec<_> = env::args().skip(1).collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let [what, count, of, dir] = words[..] else {
        panic!("biglog log RECORDS RINGS DIR, or biglog fleet SNAPSHOTS HOSTS DIR")
    };
    let (count, dir) = (count.parse().unwrap(), Path::new(dir));
    match what {
        "log" => make(count, of.parse().unwrap(), dir),
        "fleet" => make_fleet(count, of.parse().unwrap(), dir),
        _ => panic!("log or fleet, not {what}"),
    }
}
