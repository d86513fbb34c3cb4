// SPDX-License-Identifier: GPL-2.0

//! Mirrors `rust/kernel/blog.rs`: its kernel-free files, and [`component`], which stands in for
//! what finds a context's ring in the kernel.

#[path = "../../../../rust/kernel/blog/arg.rs"]
mod arg;

#[path = "../../../../rust/kernel/blog/args.rs"]
mod args;

pub mod component;

#[path = "../../../../rust/kernel/blog/fmt.rs"]
pub mod fmt;

#[path = "../../../../rust/kernel/blog/record.rs"]
pub mod record;

#[path = "../../../../rust/kernel/blog/ring.rs"]
pub mod ring;

#[path = "../../../../rust/kernel/blog/site.rs"]
mod site;

#[path = "../../../../rust/kernel/blog/snapshot.rs"]
pub mod snapshot;

#[path = "../../../../rust/kernel/blog/types.rs"]
pub mod types;

#[path = "../../../../rust/kernel/blog/wrap.rs"]
mod wrap;

pub use self::{
    arg::{BlogArg, BlogFixed, Errno},
    args::BlogArgs,
    component::{log, Component, RawComponent},
    record::Level,
    ring::Mode,
    site::Site,
    wrap::{Hex, Mac, Ptr},
};
pub use macros::{
    blog_component, blog_debug, blog_err, blog_info, blog_log, blog_trace, blog_warn, BlogArg,
};

impl fmt::Debug for crate::error::Error {}

// SAFETY: Stores four bytes, the negative errno, as `types::ERROR` demands.
unsafe impl BlogArg for crate::error::Error {
    type This = Self;

    const CODE: types::TypeCode = types::TypeCode::plain(types::ERROR);
    const FIXED: usize = 4;

    unsafe fn store(&self, dst: *mut u8) {
        // SAFETY: As our caller's promise.
        unsafe { self.0.store(dst) }
    }
}

// SAFETY: Has no tail.
unsafe impl BlogFixed for crate::error::Error {}
