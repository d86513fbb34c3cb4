// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! See `sites::elf`.

#![no_main]

use blog_decode_fuzz::{run, seeds, sites::elf};
use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: seeds::write("elf"),
    |input: &[u8]| run(elf, input)
);
