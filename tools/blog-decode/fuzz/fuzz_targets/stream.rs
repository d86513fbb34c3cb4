// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! See `streams::stream`.

#![no_main]

use blog_decode_fuzz::{run, seeds, streams::stream};
use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: seeds::write("stream"),
    |input: &[u8]| run(stream, input)
);
