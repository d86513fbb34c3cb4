// SPDX-License-Identifier: GPL-2.0

//! Arguments of fixed size that do not fit into a record, and nesting that does not fit into a code.

use kernel::{blog::{blog_component, blog_log}, prelude::*};

blog_component! { C, name: "c" }

pub fn f(bytes: &[u8; 600]) {
    blog_log!(C, "{:?} {:?}", bytes, bytes);
//~ ^ evaluation panicked: BLog: these arguments are larger than a record (1023 bytes): evaluation of `f::__blog_site::<&[u8; 600], &[u8; 600]>::{constant#0}` failed here
}

pub type Seven = Option<Option<Option<Option<Option<Option<Option<u8>>>>>>>;

pub fn deep(fits: &Seven, eight: Option<Seven>) {
    blog_log!(C, "{:?}", fits);
    blog_log!(C, "{:?}", eight);
//~ ^ evaluation panicked: BLog: `Option` and `Result` are nested too deep in this argument: evaluation of `deep::__blog_site::<std::option::Option<std::option::Option<std::option::Option<std::option::Option<std::option::Option<std::option::Option<std::option::Option<std::option::Option<u8>>>>>>>>>::{constant#0}` failed inside this call
}
