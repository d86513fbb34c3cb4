// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! See `console::console`.

#![no_main]

blog_decode_fuzz::target!("console");
