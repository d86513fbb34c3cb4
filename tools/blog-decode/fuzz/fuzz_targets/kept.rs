// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! See `kept::kept`.

#![no_main]

use blog_decode_fuzz::{kept::kept, run, seeds};
use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: seeds::write("kept"),
    |input: &[u8]| run(kept, input)
);
