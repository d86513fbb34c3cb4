// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! See `streams::stream`.

#![no_main]

blog_decode_fuzz::target!("stream");
