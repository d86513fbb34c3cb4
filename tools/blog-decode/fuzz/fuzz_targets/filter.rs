// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! See `words::filter`.

#![no_main]

use blog_decode_fuzz::{run_within, seeds, words::filter, REGEXES};
use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: seeds::write("filter"),
    |input: &[u8]| run_within(REGEXES, filter, input)
);
