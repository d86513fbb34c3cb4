// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! See `memory::dump`.

#![no_main]

use blog_decode_fuzz::{memory::dump, run, seeds};
use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: seeds::write("dump"),
    |input: &[u8]| run(dump, input)
);
