// SPDX-License-Identifier: GPL-2.0

//! Fuzzes every parser of the program, and all that comes behind it, for a fixed time.
//!
//! Inputs are those of `corpus/` and of `seeds`, and mutations of them. `BLOG_FUZZ_SECONDS` (1 by
//! default) is how long each target runs, `BLOG_FUZZ_SEED` repeats a run. An input that fails is
//! saved, and its place is told: it belongs into `corpus/` with the fix.

#[path = "../common/mod.rs"]
mod common;
mod streams;
mod targets;
mod words;

use std::{
    fs,
    panic::{
        catch_unwind,
        AssertUnwindSafe, //
    },
    path::Path,
    time::{
        Duration,
        Instant,
        SystemTime, //
    },
};

use targets::{
    Target,
    ALL, //
};

/// An input that takes longer is a finding.
const SLOW: Duration = Duration::from_secs(10);
/// Inputs don't grow beyond this.
const MAX: usize = 64 << 10;

/// Inputs that are built.
pub mod seeds {
    use super::common::{
        snapshot::{
            Builder,
            Page,
            Ring,
            BOOT_ID, //
        },
        stream::{
            as_stream,
            begin,
            clock,
            Rings, //
        },
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
        p.raw_record((1 << 36) + 3_000, 4, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 0]);
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
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// Changes an input a little; `other` is another one to take from.
fn mutate(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    const NUMBERS: [u64; 8] = [0, 1, 0x7f, 0xff, 0xffff, 0x7fff_ffff, 0xffff_ffff, u64::MAX];
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len());
        match random.below(7) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            1 if !bytes.is_empty() => bytes[at] = random.next() as u8,
            2 => {
                let n = NUMBERS[random.below(NUMBERS.len())].to_le_bytes();
                let len = (1 << random.below(4)).min(bytes.len() - at);
                bytes[at..at + len].copy_from_slice(&n[..len]);
            }
            3 => {
                let end = (at + random.below(64)).min(bytes.len());
                bytes.drain(at..end);
            }
            4 => {
                let end = (at + random.below(256)).min(bytes.len());
                let part = bytes[at..end].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, part);
            }
            5 => {
                let from = random.below(other.len());
                let end = (from + random.below(128)).min(other.len());
                let until = (at + random.below(128)).min(bytes.len());
                bytes.splice(at..until, other[from..end].iter().copied());
            }
            _ => bytes.truncate(bytes.len() - random.below(bytes.len().min(64))),
        }
    }
    bytes.truncate(MAX);
}

/// Runs a target; what goes wrong is saved and told.
fn check((name, run): Target, input: &[u8], seed: u64) {
    let started = Instant::now();
    let result = catch_unwind(AssertUnwindSafe(|| run(input)));
    let what = match result {
        Err(_) => "panics",
        Ok(()) if started.elapsed() > SLOW => "is slow",
        Ok(()) => return,
    };
    let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("{name}-{:08x}", crc32fast::hash(input)));
    fs::write(&path, input).unwrap();
    panic!("{name} {what} (BLOG_FUZZ_SEED={seed}): {}", path.display());
}

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus");
    let mut all = Vec::new();
    // Texts are one a line, other inputs one a file.
    if let Ok(lines) = fs::read_to_string(dir.join(format!("{name}.txt"))) {
        all.extend(lines.lines().map(|l| l.as_bytes().to_vec()));
    }
    if let Ok(entries) = fs::read_dir(dir.join(name)) {
        let mut paths: Vec<_> = entries.map(|e| e.unwrap().path()).collect();
        paths.sort();
        all.extend(paths.iter().map(|p| fs::read(p).unwrap()));
    }
    let tmp = tempfile::tempdir().unwrap();
    match name {
        "snapshot" => {
            let mut capture = seeds::snapshot();
            // As the capture of a stream, which has no end.
            capture[24] = 1;
            capture.truncate(capture.len() - 48);
            all.extend([seeds::snapshot(), capture]);
        }
        "live" => {
            let mut capture = seeds::snapshot();
            capture[24] = 1;
            all.extend([capture, seeds::stream()]);
        }
        "vmcore" => {
            let ram = common::vmcore::sample().finish();
            assert_eq!(common::vmcore::Ram::from_bytes(&ram.to_bytes()).0, ram.0);
            all.push(ram.to_bytes());
        }
        "elf" => {
            for path in [
                common::image::module(tmp.path(), "x.ko", "x"),
                common::image::vmlinux(tmp.path(), "x"),
            ] {
                all.push(fs::read(path).unwrap());
            }
        }
        "sidetable" => {
            let path = common::image::module(tmp.path(), "x.ko", "x");
            let table = blog_decode::sidetable::read_table(&path, |_| true);
            all.push(table.unwrap().unwrap().encode().unwrap());
        }
        _ => {}
    }
    assert!(!all.is_empty(), "{name}: nothing to start from");
    all
}

fn fuzz(name: &str) {
    let target = *ALL.iter().find(|(n, _)| *n == name).unwrap();
    let number = |key: &str| std::env::var(key).ok().and_then(|v| v.parse().ok());
    let time = Duration::from_secs(number("BLOG_FUZZ_SECONDS").unwrap_or(1));
    let seed = number("BLOG_FUZZ_SEED").unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        now.map_or(1, |t| t.as_nanos() as u64)
    });
    let mut random = Random(seed | 1);
    let mut inputs = corpus(name);
    let started = Instant::now();
    for input in &inputs {
        check(target, input, seed);
    }
    let (kept, mut runs) = (inputs.len(), 0u64);
    while started.elapsed() < time {
        let i = random.below(inputs.len());
        let other = random.below(inputs.len());
        let mut input = inputs[i].clone();
        mutate(&mut input, &inputs[other], &mut random);
        check(target, &input, seed);
        runs += 1;
        // Some mutations are mutated further.
        if random.below(16) == 0 {
            if inputs.len() < kept + 64 {
                inputs.push(input);
            } else {
                let at = kept + random.below(64);
                inputs[at] = input;
            }
        }
    }
    println!("{name}: {runs} inputs, {kept} kept ones, seed {seed}");
}

#[test]
fn snapshot() {
    fuzz("snapshot");
}

#[test]
fn live() {
    // All records of both.
    assert_eq!(streams::events(&seeds::stream()), 2 * 61);
    fuzz("live");
}

#[test]
fn filter() {
    fuzz("filter");
}

#[test]
fn control() {
    fuzz("control");
}

#[test]
fn foreign() {
    fuzz("foreign");
}

#[test]
fn vmcore() {
    fuzz("vmcore");
}

#[test]
fn sidetable() {
    fuzz("sidetable");
}

#[test]
fn elf() {
    fuzz("elf");
}

#[test]
fn expr() {
    fuzz("expr");
}

#[test]
fn template() {
    fuzz("template");
}

#[test]
fn format() {
    fuzz("format");
}
