// SPDX-License-Identifier: GPL-2.0

//! Damage to real crash dumps: `BLOG_CRASH_DUMP` names some, separated by colons. The suite that makes
//! dumps calls this, with `--ignored`.
//!
//! What of a dump BLog needs is some hundred pages of physical memory. They are found by noting what
//! the extractor reads; then they are damaged, one way or another, and it has to cope. The file
//! itself is cut at many places, too.

#![cfg(feature = "vmcore")]
#![allow(missing_docs)]

mod common;

use std::{
    cell::RefCell,
    collections::BTreeMap,
    fs,
    path::{
        Path,
        PathBuf, //
    },
    process::Command,
    time::{
        Duration,
        Instant, //
    },
};

use blog_decode::vmcore::{
    memory::{
        Fault,
        Memory, //
    },
    open, //
};
use common::extracted::{
    run,
    Got,
    Random, //
};

const PAGE: u64 = 4096;
/// An extraction that takes longer is a finding: whole ones take a fraction of a second.
const SLOW: Duration = Duration::from_secs(60);

fn dumps() -> Vec<PathBuf> {
    let all = std::env::var("BLOG_CRASH_DUMP").expect("BLOG_CRASH_DUMP names dumps");
    all.split(':').map(PathBuf::from).collect()
}

/// Memory that keeps what was read, by pages.
struct Noting<'a, M> {
    memory: &'a M,
    pages: RefCell<BTreeMap<u64, Vec<u8>>>,
}

impl<M: Memory> Memory for Noting<'_, M> {
    fn read(&self, addr: u64, buf: &mut [u8]) -> Result<(), Fault> {
        self.memory.read(addr, buf)?;
        let mut pages = self.pages.borrow_mut();
        for page in (addr & !(PAGE - 1)..addr + buf.len() as u64).step_by(PAGE as usize) {
            pages.entry(page).or_insert_with(|| {
                let mut bytes = vec![0; PAGE as usize];
                let _ = self.memory.read(page, &mut bytes);
                bytes
            });
        }
        Ok(())
    }
}

/// Memory in which some pages have other contents, or none.
struct Damaged<'a, M> {
    memory: &'a M,
    pages: BTreeMap<u64, Option<Vec<u8>>>,
}

impl<M: Memory> Memory for Damaged<'_, M> {
    fn read(&self, addr: u64, buf: &mut [u8]) -> Result<(), Fault> {
        let (mut at, mut rest) = (addr, buf);
        while !rest.is_empty() {
            let within = at % PAGE;
            let (to, behind) = rest.split_at_mut(rest.len().min((PAGE - within) as usize));
            match self.pages.get(&(at - within)) {
                Some(None) => return Err(Fault::Missing),
                Some(Some(page)) => to.copy_from_slice(&page[within as usize..][..to.len()]),
                None => self.memory.read(at, to)?,
            }
            at = at.checked_add(to.len() as u64).ok_or(Fault::Unmapped)?;
            rest = behind;
        }
        Ok(())
    }
}

/// What is in memory, if its root is.
fn timed(memory: &impl Memory, root: u64) -> Option<Got> {
    let started = Instant::now();
    let got = run(memory, root).ok()?;
    assert!(started.elapsed() < SLOW, "{:?}", started.elapsed());
    Some(got)
}

/// Whatever is damaged in memory: nothing is missing without a word.
#[test]
#[ignore = "needs a crash dump: BLOG_CRASH_DUMP"]
fn damage_in_memory_is_named() {
    let cases = std::env::var("BLOG_CRASH_CASES")
        .ok()
        .and_then(|n| n.parse().ok());
    let cases: u64 = cases.unwrap_or(1000);
    for path in dumps() {
        let core = open(&path).unwrap();
        let noting = Noting {
            memory: &core.memory,
            pages: RefCell::default(),
        };
        let whole = timed(&noting, core.root).expect("the dump is whole");
        let whole = whole.ordinals();
        let pages: Vec<(u64, Vec<u8>)> = noting.pages.into_inner().into_iter().collect();
        let (mut fewer, mut refused) = (0, 0);
        for seed in 1..=cases {
            let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let mut damaged = BTreeMap::new();
            for _ in 0..1 + random.below(4) {
                let (addr, bytes) = &pages[random.below(pages.len())];
                let mut bytes = bytes.clone();
                match random.below(8) {
                    0 => {
                        damaged.insert(*addr, None);
                        continue;
                    }
                    1 => bytes.fill(0),
                    _ => {
                        let at = random.below(bytes.len());
                        bytes[at] ^= 1 << random.below(8);
                    }
                }
                damaged.insert(*addr, Some(bytes));
            }
            let damaged = Damaged {
                memory: &core.memory,
                pages: damaged,
            };
            let Some(got) = timed(&damaged, core.root) else {
                refused += 1;
                continue;
            };
            if got.ordinals().len() < whole.len() {
                fewer += 1;
                assert!(got.is_incomplete(), "{}: seed {seed}", path.display());
            }
        }
        println!(
            "{}: {} pages, {} records; {cases} cases: {fewer} with fewer records, {refused} without a root",
            path.display(),
            pages.len(),
            whole.len()
        );
        assert!(fewer > 0, "the cases damage nothing");
    }
}

/// Wherever the file is cut: an answer, and no crash.
#[test]
#[ignore = "needs a crash dump: BLOG_CRASH_DUMP"]
fn files_that_are_cut_are_answered() {
    let dir = tempfile::tempdir().unwrap();
    for path in dumps() {
        let len = fs::metadata(&path).unwrap().len();
        let cut = dir.path().join("cut");
        fs::copy(&path, &cut).unwrap();
        let mut codes = BTreeMap::new();
        let file = fs::OpenOptions::new().write(true).open(&cut).unwrap();
        // From the end on, so that one copy does: near the ends, and all over.
        let mut cuts: Vec<u64> = (0..32).map(|n| len - n * len / 32).collect();
        cuts.extend([
            len - 1,
            len - 4095,
            8192,
            4097,
            4096,
            4095,
            512,
            64,
            63,
            1,
            0,
        ]);
        cuts.sort_unstable_by(|a, b| b.cmp(a));
        for cut_at in cuts.into_iter().filter(|at| *at <= len) {
            file.set_len(cut_at).unwrap();
            let code = tasks(&cut);
            *codes.entry(code).or_insert(0) += 1;
            assert!(
                matches!(code, 0..=2),
                "{}: cut at {cut_at}: {code}",
                path.display()
            );
        }
        println!(
            "{}: exit status by number of cuts: {codes:?}",
            path.display()
        );
    }
}

/// The exit status of `tasks`.
fn tasks(core: &Path) -> i32 {
    let mut command = Command::new(env!("CARGO_BIN_EXE_blog-decode"));
    let out = command
        .args(["tasks", "--all", "--vmcore"])
        .arg(core)
        .output()
        .unwrap();
    let code = out.status.code().expect("killed by a signal");
    assert!(code == 0 || !out.stderr.is_empty());
    code
}
