// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Side tables of BLog, the binary kernel logger, and the ELF images that they come from.
//!
//! `src/shared` is a link to the folder of the program that the kernel build runs, so a table that
//! is read out of an ELF image here is the one that the kernel build wrote.
//!
//! An internal part of the program `blog-decode`: it changes with that.

#![forbid(unsafe_code)]

pub mod inflate;
mod shared {
    use crate::inflate;

    pub mod bytes;
    pub mod descriptor;
    pub mod elf;
    pub mod format;
    pub mod image;
    pub mod printf;
    pub mod source;
}

use blog_wire as wire;

pub use self::shared::{bytes, descriptor, elf, format, image, printf, source};
