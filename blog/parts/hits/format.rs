// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! How often call sites have logged: a kind of section of a [file](super::wire::file).

use super::wire::{
    blog_wire,
    field::Field, //
};

blog_wire! {
    /// Payload of `Kind::Counts`, before a `u64` for each of its sites: how many records of sites
    /// have left the rings of all components. With those that are in rings, a site has logged so
    /// many since BLog was loaded.
    ///
    /// Only snapshots of all components have them, and dumps. A snapshot of a running system has
    /// two counts of each site: one from before the rings were read, and one from after that. Sites
    /// that aren't there have 0.
    #[derive(Clone, Copy, Debug)]
    pub struct Counts: 8 {
        /// Id of the first site.
        pub first: u32,
        /// 0: from before. 1: from after.
        pub late: u32,
    }
}
