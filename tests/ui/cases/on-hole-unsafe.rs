// SPDX-License-Identifier: GPL-2.0

//! What only the macros' code may call or use.

#![forbid(unsafe_code)]

use kernel::blog::{
    no_ring, ring_of, root::blog_root, task, BlogArgs, Loaded, RawComponent,
};

// A record for a component that is off.
pub fn record(raw: &RawComponent, site: Loaded) {
    (&1u32,).log(raw, site);
//~ ^ call to unsafe function `BlogArgs::log` is unsafe and requires unsafe function or block
}

// What stands for a ring, as if it were one; and a table of rings.
pub fn use_them(raw: &RawComponent) {
    let _ = (*no_ring()).records();
    //~     ^ dereference of raw pointer is unsafe and requires unsafe function or block
    let _ = task::table(core::ptr::null_mut());
    //~     ^ call to unsafe function `kernel::blog::task::table` is unsafe and requires unsafe function or block
    task::init();
//~ ^ call to unsafe function `kernel::blog::task::init` is unsafe and requires unsafe function or block
    let _ = (*ring_of(raw)).records();
    //~     ^ dereference of raw pointer is unsafe and requires unsafe function or block
}

// Storing to what crash tools find.
pub fn freeze() {
    blog_root.update(|_| ());
//~ ^ call to unsafe function `Live::<T>::update` is unsafe and requires unsafe function or block
    (*blog_root.get()).crash.frozen = 1;
//~ ^ dereference of raw pointer is unsafe and requires unsafe function or block
}
