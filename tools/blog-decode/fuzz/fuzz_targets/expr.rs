// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! See `words::expr`.

#![no_main]

use blog_decode_fuzz::{run_within, seeds, words::expr, REGEXES};
use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: seeds::write("expr"),
    |input: &[u8]| run_within(REGEXES, expr, input)
);
