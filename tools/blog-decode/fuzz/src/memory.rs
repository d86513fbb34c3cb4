// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The memory of a kernel that has stopped: virtual, and as a dump has it.

use blog_decode_core::{decode::Filter, output::template::Template};
use blog_vmcore::{
    anchor,
    crashed::{self, Crashed},
    extract_with,
    memory::{Fault, Memory, Physical},
    paging::Paging,
    vmcoreinfo::VmcoreInfo,
};

use crate::{
    common::vmcore::{Ram, PAGE, ROOT},
    decode::{decode, read},
};

/// Virtual memory.
pub fn vmcore(bytes: &[u8]) {
    extracted(&Ram::from_bytes(bytes), ROOT, None, bytes.len());
}

/// The pages of a dump, by physical address.
struct Pages(Ram);

impl Physical for Pages {
    fn read(&self, addr: u64, buf: &mut [u8]) -> Result<(), Fault> {
        self.0.read(addr, buf)
    }
}

/// VMCOREINFO up to a byte of 0, and then physical memory.
pub fn dump(bytes: &[u8]) {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    let info = VmcoreInfo::parse(&String::from_utf8_lossy(&bytes[..end]));
    let pages = Pages(Ram::from_bytes(bytes.get(end + 1..).unwrap_or_default()));
    let Ok(memory) = Paging::new(pages, &info) else {
        return;
    };
    if let Ok(root) = anchor::root(&memory, &info) {
        let crashed = crashed::find(&memory, &info);
        extracted(&memory, root, crashed, bytes.len());
    }
}

/// What [`dump`] takes, out of an ELF file with a note and a segment.
pub fn as_input(elf: &[u8]) -> Vec<u8> {
    let number = |at: usize| u64::from_le_bytes(elf[at..at + 8].try_into().unwrap()) as usize;
    let (note, segment) = (64, 64 + 56);
    let info = &elf[number(note + 8) + 24..][..number(note + 32) - 24];
    let end = info.iter().position(|b| *b == 0).unwrap_or(info.len());
    let mut input = info[..end].to_vec();
    input.push(0);
    let mut ram = Ram::default();
    let (at, physical) = (number(segment + 8), number(segment + 24));
    for (n, page) in elf[at..].chunks(PAGE).enumerate() {
        ram.0.insert((physical + n * PAGE) as u64, page.to_vec());
    }
    input.extend(ram.to_bytes());
    input
}

/// Makes a snapshot of memory, and decodes that.
fn extracted(memory: &impl Memory, root: u64, crashed: Option<Crashed>, len: usize) {
    let mut snapshot = Vec::new();
    let tick = &mut |_, _| {};
    let Ok(extracted) = extract_with(memory, root, crashed, &mut snapshot, tick) else {
        return;
    };
    // There is no more in it than in memory, but for what stands before pages, and for damage that
    // makes a little look like much.
    assert!(snapshot.len() <= 16 * len + (8 << 20));
    for problem in &extracted.problems.0 {
        assert!(!problem.to_string().is_empty());
    }
    let snapshot = read(snapshot).unwrap();
    assert!(!snapshot.damage.any());
    let template = Template::parse("{time} {args} {message:>9}").unwrap();
    decode(&[snapshot], &Filter::default(), &template);
}
