// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! See `memory::vmcore`.

#![no_main]

use blog_decode_fuzz::{memory::vmcore, run, seeds};
use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: seeds::write("vmcore"),
    |input: &[u8]| run(vmcore, input)
);
