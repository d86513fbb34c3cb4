// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! See `words::format`.

#![no_main]

blog_decode_fuzz::target!("format");
