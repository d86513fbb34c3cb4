// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! See `sites::sidetable`.

#![no_main]

blog_decode_fuzz::target!("sidetable");
