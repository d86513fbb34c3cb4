// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! See `memory::dump`.

#![no_main]

blog_decode_fuzz::target!("dump");
