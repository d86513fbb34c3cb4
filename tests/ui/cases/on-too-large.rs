// SPDX-License-Identifier: GPL-2.0

//! Arguments of fixed size that do not fit into a record, and nesting that does not fit into a code.

use kernel::{blog::{blog_component, blog_log}, prelude::*};

blog_component! { C, name: "c" }

pub fn f(bytes: &[u8; 600]) {
    blog_log!(C, "{:?} {:?}", bytes, bytes);
//~ ^ BLog: these arguments are larger than a record (1023 bytes)
}

pub type Seven = Option<Option<Option<Option<Option<Option<Option<u8>>>>>>>;

pub fn deep(fits: &Seven, eight: Option<Seven>) {
    blog_log!(C, "{:?}", fits);
    blog_log!(C, "{:?}", eight);
//~ ^ BLog: `Option` and `Result` are nested too deep in this argument
}
