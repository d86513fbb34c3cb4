// SPDX-License-Identifier: GPL-2.0

//! What safe code gives to `blog_capture!` is safe code.

#![forbid(unsafe_code)]

use core::fmt::Arguments;
use kernel::{
    blog::{blog_capture, blog_component},
    device::Device,
    prelude::*,
};

blog_component! { DISK, name: "disk" }

pub fn hole(address: usize) {
    blog_capture!(DISK, &*(address as *const Device): fmt!("hello"), INFO);
    //~                  ^ dereference of raw pointer is unsafe and requires unsafe function or block
    blog_capture!(DISK, *(address as *const Arguments<'static>), INFO);
    //~                 ^ dereference of raw pointer is unsafe and requires unsafe function or block
}
