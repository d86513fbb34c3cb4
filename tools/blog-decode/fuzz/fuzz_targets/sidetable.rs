// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! See `sites::sidetable`.

#![no_main]

use blog_decode_fuzz::{run, seeds, sites::sidetable};
use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: seeds::write("sidetable"),
    |input: &[u8]| run(sidetable, input)
);
