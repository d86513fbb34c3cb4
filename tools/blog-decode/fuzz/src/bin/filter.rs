// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! See `words::filter`.

#![no_main]

blog_decode_fuzz::target!("filter");
