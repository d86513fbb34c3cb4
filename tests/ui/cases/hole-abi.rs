// SPDX-License-Identifier: GPL-2.0

//! What the macros' code calls of `blog/`, called by hand.

#![forbid(unsafe_code)]

pub fn call() {
    let _ = kernel::blog::call::abi::blog_reserve;
    //~                   ^ module `call` is private
}
