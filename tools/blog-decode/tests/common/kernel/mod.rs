// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The kernel's own sources, so that tests store arguments by the code that drivers run.

#![allow(clippy::all, unexpected_cfgs, unused_imports)]

pub mod call;
#[path = "../../../../../rust/kernel/blog/unaligned.rs"]
pub mod unaligned;

pub use blog_wire as wire;

impl super::snapshot::Page {
    /// Appends a record of these arguments.
    pub fn record<A: call::args::BlogArgs>(&mut self, clock: u64, site: u32, args: A) {
        let mut payload = vec![0; args.size()];
        // SAFETY: The payload has as many bytes as `size` says.
        unsafe { args.store(payload.as_mut_ptr()) };
        self.raw_record(clock, site, &payload);
    }
}
