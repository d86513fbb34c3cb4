// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! See `words::foreign`.

#![no_main]

blog_decode_fuzz::target!("foreign");
