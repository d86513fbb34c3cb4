// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! See `words::format`.

#![no_main]

use blog_decode_fuzz::{run, seeds, words::format};
use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: seeds::write("format"),
    |input: &[u8]| run(format, input)
);
