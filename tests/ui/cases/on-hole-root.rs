// SPDX-License-Identifier: GPL-2.0

//! Storing to what crash tools find.

#![forbid(unsafe_code)]

use kernel::blog::root::blog_root;

pub fn freeze() {
    blog_root.update(|_| ());
//~ ^ call to unsafe function `kernel::blog::root::Live::<T>::update` is unsafe and requires unsafe function or block: call to unsafe function
    (*blog_root.get()).crash.frozen = 1;
//~ ^ dereference of raw pointer is unsafe and requires unsafe function or block: dereference of raw pointer
}
