// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! See `words::template`.

#![no_main]

use blog_decode_fuzz::{run, seeds, words::template};
use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: seeds::write("template"),
    |input: &[u8]| run(template, input)
);
