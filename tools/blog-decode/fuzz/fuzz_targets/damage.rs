// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! See `files::damage`.

#![no_main]

use blog_decode_fuzz::{files::damage, run, seeds};
use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: seeds::write("damage"),
    |input: &[u8]| run(damage, input)
);
