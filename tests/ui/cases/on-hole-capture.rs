// SPDX-License-Identifier: GPL-2.0

//! What safe code gives to `blog_capture!` is safe code.

#![forbid(unsafe_code)]

use core::mem::transmute;
use kernel::{
    blog::{blog_capture, blog_component},
    device::Device,
    prelude::*,
};

blog_component! { DISK, name: "disk" }

pub fn hole(address: usize) {
    blog_capture!(DISK, transmute::<usize, &'static Device>(address): fmt!("hello"), INFO);
    //~                 ^ call to unsafe function `transmute` is unsafe and requires unsafe function or block
    blog_capture!(DISK, transmute::<usize, &'static Text>(address).0, INFO);
    //~                 ^ call to unsafe function `transmute` is unsafe and requires unsafe function or block
}

struct Text(core::fmt::Arguments<'static>);
