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
//! `src/bin/` has the program, `corpus/` the kept inputs of each target, `dictionaries/` words that
//! texts are made of. `tests/fuzz.py` builds and runs it.

#![allow(missing_docs)]

use std::{env, sync::LazyLock};

#[allow(dead_code, unreachable_pub)]
#[path = "../../tests/common"]
mod common {
    pub(crate) mod fixture;
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

/// As much memory may be needed for any input, and for each of its bytes.
const MEMORY: usize = 32 << 20;
const MEMORY_PER_BYTE: usize = 256;
/// As much may be needed for any input where users give regular expressions, and to unpack what
/// says that it needs a lot.
const LARGE: usize = 512 << 20;

/// A target: name, what it does, and the memory that it may need for any input.
type Target = (&'static str, fn(&[u8]), usize);

static ALL: [Target; 17] = [
    ("snapshot", files::snapshot, MEMORY),
    ("damage", files::damage, MEMORY),
    ("unpack", files::unpack, LARGE),
    ("stream", streams::stream, MEMORY),
    ("console", console::console, MEMORY),
    ("vmcore", memory::vmcore, MEMORY),
    ("dump", memory::dump, MEMORY),
    ("map", mapped::map, MEMORY),
    ("kept", kept::kept, MEMORY),
    ("sidetable", sites::sidetable, MEMORY),
    ("elf", sites::elf, MEMORY),
    ("expr", words::expr, LARGE),
    ("filter", words::filter, LARGE),
    ("template", words::template, MEMORY),
    ("format", words::format, MEMORY),
    ("control", words::control, MEMORY),
    ("foreign", words::foreign, MEMORY),
];

/// Runs the target of this name.
pub fn run(name: &str, input: &[u8]) {
    let (_, target, memory) = ALL.iter().find(|target| target.0 == name).expect(name);
    let most = heap::most_of(|| target(input));
    assert!(
        most <= memory + MEMORY_PER_BYTE * input.len(),
        "{most} bytes of memory for an input of {}",
        input.len()
    );
}

/// The target that this process runs.
pub fn target() -> &'static str {
    static NAME: LazyLock<String> =
        LazyLock::new(|| env::var("BLOG_FUZZ_TARGET").expect("BLOG_FUZZ_TARGET"));
    &NAME
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;
    use std::{fs::File, io::Read, path::Path};

    /// The inputs of a target's archive in `corpus/`.
    fn kept(name: &str) -> Vec<Vec<u8>> {
        const BLOCK: usize = 512;
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("corpus/{name}.tar.gz"));
        let mut tar = Vec::new();
        GzDecoder::new(File::open(path).unwrap()).read_to_end(&mut tar).unwrap();
        let mut inputs = Vec::new();
        let mut rest = &tar[..];
        while rest[0] != 0 {
            let (head, body) = rest.split_at(BLOCK);
            let size = std::str::from_utf8(&head[124..135]).unwrap();
            let size = usize::from_str_radix(size, 8).unwrap();
            inputs.push(body[..size].to_vec());
            rest = &body[size.next_multiple_of(BLOCK)..];
        }
        inputs
    }

    #[test]
    fn all_records_of_streams_come_out() {
        assert_eq!(streams::events(&seeds::stream()), 2 * 61);
    }

    /// Without libFuzzer: nothing at all, what is built and some of it, and what is kept. One test,
    /// as it counts memory.
    #[test]
    fn targets_take_what_is_built_and_kept_for_them() {
        let dir = tempfile::tempdir().unwrap();
        for (name, ..) in ALL {
            run(name, b"");
            for seed in seeds::of(name, dir.path()) {
                run(name, &seed);
                run(name, &seed[..seed.len() / 2]);
            }
            let inputs = kept(name);
            assert!(!inputs.is_empty());
            for (n, input) in inputs.iter().enumerate() {
                println!("{name}: input {n} of its archive");
                run(name, input);
            }
        }
    }
}
