// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! See `words::foreign`.

#![no_main]

use blog_decode_fuzz::{run, seeds, words::foreign};
use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: seeds::write("foreign"),
    |input: &[u8]| run(foreign, input)
);
