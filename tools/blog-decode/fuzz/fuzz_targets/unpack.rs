// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! See `files::unpack`.

#![no_main]

use blog_decode_fuzz::{files::unpack, run_within, seeds, UNPACKING};
use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: seeds::write("unpack"),
    |input: &[u8]| run_within(UNPACKING, unpack, input)
);
