// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! See `mapped::map`.

#![no_main]

use blog_decode_fuzz::{mapped::map, run, seeds};
use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: seeds::write("map"),
    |input: &[u8]| run(map, input)
);
