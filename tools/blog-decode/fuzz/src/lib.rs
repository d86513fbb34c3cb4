// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! What is fuzzed: each target takes any bytes. It must neither panic nor take long, nor need more
//! memory than the input accounts for, and whatever it can check of its result, it does.
//!
//! ```text
//! files.rs      snapshot: any content; damage: whole files that are damaged; unpack: packed ones
//! streams.rs    stream: what comes from the stream file of a live system, in pieces
//! memory.rs     vmcore: the memory of a kernel that has stopped; dump: through page tables
//! mapped.rs     map: memory of a running kernel that is mapped, and changes meanwhile
//! kept.rs      kept: memory that has survived a reboot
//! sites.rs      sidetable, elf: where call sites are described
//! console.rs    console: last words in texts
//! words.rs      expr, filter, template, format, control, foreign: texts
//! seeds.rs      inputs that are built
//! decode.rs     what targets share
//! ```
//!
//! `fuzz_targets/` has a program for each, `corpus/` its kept inputs, `dictionaries/` words that
//! texts are made of. `tests/fuzz.py` builds and runs them.

#![allow(missing_docs)]

#[allow(dead_code, unreachable_pub)]
#[path = "../../tests/common"]
mod common {
    pub(crate) mod image;
    pub(crate) mod kallsyms;
    pub(crate) mod kernel;
    pub(crate) mod snapshot;
    pub(crate) mod stream;
    pub(crate) mod vmcore;
}
pub mod console;
mod decode;
pub mod files;
#[path = "../../tests/common/heap.rs"]
mod heap;
#[allow(dead_code)]
#[path = "../../map/tests/image/mod.rs"]
mod image;
pub mod kept;
pub mod mapped;
pub mod memory;
pub mod seeds;
pub mod sites;
pub mod streams;
pub mod words;

/// A target: name, and what it does.
pub type Target = (&'static str, fn(&[u8]));

pub const ALL: [Target; 17] = [
    ("snapshot", files::snapshot),
    ("damage", files::damage),
    ("unpack", files::unpack),
    ("stream", streams::stream),
    ("console", console::console),
    ("vmcore", memory::vmcore),
    ("dump", memory::dump),
    ("map", mapped::map),
    ("kept", kept::kept),
    ("sidetable", sites::sidetable),
    ("elf", sites::elf),
    ("expr", words::expr),
    ("filter", words::filter),
    ("template", words::template),
    ("format", words::format),
    ("control", words::control),
    ("foreign", words::foreign),
];

/// As much memory may be needed for any input, and for each of its bytes.
const MEMORY: usize = 32 << 20;
const MEMORY_PER_BYTE: usize = 256;

/// As much may be needed where users give regular expressions.
pub const REGEXES: usize = 512 << 20;
/// As much may be needed to unpack what says that it needs a lot.
pub const UNPACKING: usize = 512 << 20;

/// Runs a target.
pub fn run(target: fn(&[u8]), input: &[u8]) {
    run_within(MEMORY, target, input);
}

/// Runs a target that may need so much memory for any input.
pub fn run_within(memory: usize, target: fn(&[u8]), input: &[u8]) {
    let most = heap::most_of(|| target(input));
    assert!(
        most <= memory + MEMORY_PER_BYTE * input.len(),
        "{most} bytes of memory for an input of {}",
        input.len()
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_records_of_streams_come_out() {
        assert_eq!(streams::events(&seeds::stream()), 2 * 61);
    }

    /// Without libFuzzer: what is built, and nothing at all, and some of it.
    #[test]
    fn targets_take_what_is_built_for_them() {
        let dir = tempfile::tempdir().unwrap();
        for (name, target) in ALL {
            run(target, b"");
            for seed in seeds::of(name, dir.path()) {
                run(target, &seed);
                run(target, &seed[..seed.len() / 2]);
            }
        }
    }
}
