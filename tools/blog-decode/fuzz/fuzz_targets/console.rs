// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! See `console::console`.

#![no_main]

use blog_decode_fuzz::{console::console, run, seeds};
use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: seeds::write("console"),
    |input: &[u8]| run(console, input)
);
