// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! See `memory::vmcore`.

#![no_main]

blog_decode_fuzz::target!("vmcore");
