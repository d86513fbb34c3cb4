// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! See `words::control`.

#![no_main]

use blog_decode_fuzz::{run, seeds, words::control};
use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: seeds::write("control"),
    |input: &[u8]| run(control, input)
);
