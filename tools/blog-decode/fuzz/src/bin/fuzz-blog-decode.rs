// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The target that `BLOG_FUZZ_TARGET` names. One program for all of them links the decoder once.

#![no_main]

use blog_decode_fuzz::{run, seeds, target};

libfuzzer_sys::fuzz_target!(init: seeds::write(target()), |input: &[u8]| run(target(), input));
