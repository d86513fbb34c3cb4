// SPDX-License-Identifier: GPL-2.0

//! BLog's macros, for kernels whose own crate `macros` lacks them, with the additions of
//! `patches/rust-kernel-blog.patch` to that crate.

#![cfg_attr(not(CONFIG_RUSTC_HAS_SPAN_FILE), feature(proc_macro_span))]

use proc_macro::TokenStream;
use syn::parse_macro_input;
