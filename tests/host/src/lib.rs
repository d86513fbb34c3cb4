// SPDX-License-Identifier: GPL-2.0

//! The kernel-free files of `blog/`, and what the tests in `tests/` need around them: a component
//! in plain memory ([`rig`]).

#![allow(dead_code, unused_imports)]

use kernel::blog::wire;

/// What snapshots are built with.
#[path = "../../../tools/blog-decode/tests/common"]
mod common {
    pub(crate) use ::kernel::blog as kernel;
    pub mod snapshot;
}
pub use common::snapshot::pages;
pub mod kept;
#[path = "../../../blog/parts/persist/format.rs"]
pub mod persist;
#[path = "../../../blog/read/piece.rs"]
mod piece;
#[path = "../../../blog/memory/pool/mod.rs"]
mod pool;
pub mod rig;

#[cfg(test)]
mod capture_tests;
#[cfg(test)]
mod control;
#[cfg(test)]
mod history_tests;
#[cfg(test)]
mod level_tests;
#[cfg(test)]
mod piece_tests;
#[cfg(test)]
mod pool_tests;
#[cfg(test)]
mod ring_tests;
/// `rust/kernel/blog/task/hash.rs`, and what it takes from around it.
#[cfg(test)]
#[path = "."]
mod stock {
    pub(crate) use kernel::blog::wire;

    #[path = "."]
    pub(crate) mod task {
        use kernel::blog::task::Tls;

        #[path = "../../../rust/kernel/blog/task/hash.rs"]
        pub(crate) mod hash;

        static NO_RINGS: Tls = Tls::new(u32::MAX, core::ptr::null_mut());

        fn no_rings() -> *mut Tls {
            (&raw const NO_RINGS).cast_mut()
        }
    }
}
#[cfg(test)]
mod bindings {
    pub(crate) use kernel::bindings::task_struct;
}
#[cfg(test)]
mod standin_tests;
#[cfg(test)]
mod stock_tests;
#[cfg(test)]
#[path = "../../../blog/parts/counter/thin.rs"]
mod thin;
#[cfg(test)]
mod thin_tests;
#[cfg(test)]
mod wire_tests;
