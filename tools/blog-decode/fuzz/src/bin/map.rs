// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! See `mapped::map`.

#![no_main]

blog_decode_fuzz::target!("map");
