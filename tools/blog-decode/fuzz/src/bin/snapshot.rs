// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! See `files::snapshot`.

#![no_main]

blog_decode_fuzz::target!("snapshot");
