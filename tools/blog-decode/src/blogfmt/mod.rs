// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Side tables and ELF images: the very files of `scripts/blog-fmt-sidetable/`, included by path.
//!
//! So a table that this crate reads out of an ELF image is the one that the kernel build wrote.

#[path = "../../../../scripts/blog-fmt-sidetable/bytes.rs"]
pub mod bytes;
#[path = "../../../../scripts/blog-fmt-sidetable/descriptor.rs"]
pub mod descriptor;
#[path = "../../../../scripts/blog-fmt-sidetable/elf.rs"]
pub mod elf;
#[path = "../../../../scripts/blog-fmt-sidetable/format.rs"]
pub mod format;
#[path = "../../../../scripts/blog-fmt-sidetable/image.rs"]
pub mod image;
pub mod inflate;
#[path = "../../../../scripts/blog-fmt-sidetable/printf.rs"]
pub mod printf;
#[path = "../../../../scripts/blog-fmt-sidetable/source.rs"]
pub mod source;
