// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! See `kept::kept`.

#![no_main]

blog_decode_fuzz::target!("kept");
