// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! See `files::snapshot`.

#![no_main]

use blog_decode_fuzz::{files::snapshot, run, seeds};
use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: seeds::write("snapshot"),
    |input: &[u8]| run(snapshot, input)
);
