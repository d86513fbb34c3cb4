// SPDX-License-Identifier: GPL-2.0

//! Arguments of fixed size that do not fit into a record.

use kernel::{blog::{blog_component, blog_log}, prelude::*};

blog_component! { C, name: "c" }

pub fn f(bytes: &[u8; 600]) {
    blog_log!(C, "{:?} {:?}", bytes, bytes);
//~ ^ evaluation panicked: BLog: these arguments are larger than a record (1023 bytes): evaluation of `f::__blog_site::<&[u8; 600], &[u8; 600]>::{constant#0}` failed here
}
