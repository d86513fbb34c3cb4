// SPDX-License-Identifier: GPL-2.0

//! BLog: binary logging.
//!
//! A driver declares a component and logs to it. A call stores its arguments, as they are in
//! memory, into a ring that belongs to the running task or to this CPU's interrupt context: a few
//! dozen instructions, no lock, no allocation, in any context but `noinstr` code. Format strings
//! are not in memory at all: the build puts them into a side table, and `blog-decode` makes text
//! on another machine, from a snapshot or a crash dump.
//!
//! # Examples
//!
//! ```
//! use kernel::{
//!     blog::{
//!         blog_component,
//!         blog_err,
//!         blog_log, //
//!     },
//!     prelude::*, //
//! };
//!
//! blog_component! {
//!     /// What the disk does.
//!     DISK, name: "disk", ring_kb: 128, level: Debug
//! }
//!
//! fn submit(sector: u64, bytes: u32) -> Result {
//!     blog_log!(DISK, "{bytes} bytes at {sector:#x}");
//!     if bytes % 512 != 0 {
//!         blog_err!(DISK, "{} bytes: {:?}", bytes, EINVAL);
//!         return Err(EINVAL);
//!     }
//!     Ok(())
//! }
//! # submit(8, 4096)?;
//! # submit(8, 512)?;
//! # Ok::<(), Error>(())
//! ```
//!
//! The format language is Rust's. Arguments are evaluated once, and only if the call logs; they
//! can be anything that implements [`BlogArg`]. With `CONFIG_BLOG=n` the calls are still type
//! checked, and leave no code.
//!
//! A component that is made at run time, for one mount or device, has rings and files of its own:
//!
//! ```
//! # use kernel::prelude::*;
//! use kernel::blog::{
//!     blog_component,
//!     blog_info,
//!     Instance, //
//! };
//!
//! blog_component! { FS, name: "myfs", enabled: false }
//!
//! struct Mount {
//!     log: Instance,
//! }
//!
//! fn mount(dev: &CStr) -> Mount {
//!     let mount = Mount { log: FS.instance(dev) };
//!     blog_info!(mount.log, "mounted {dev}");
//!     mount
//! }
//! ```
//!
//! Documentation/blog/ explains more.

mod call;
pub mod ring;
#[cfg(CONFIG_BLOG_ROOT)]
pub mod root;
#[doc(hidden)]
pub mod task;
#[doc(hidden)]
pub mod unaligned;
pub mod wire;

#[cfg(all(CONFIG_BLOG_HOOKS, any(CONFIG_BLOG_PACK, not(CONFIG_RUST))))]
#[doc(hidden)]
pub use self::call::open::write_open;
#[cfg(CONFIG_BLOG_HOOKS)]
#[doc(hidden)]
pub use self::call::write::{
    cold,
    counter, //
};
#[doc(hidden)]
pub use self::call::{
    abi::ABI,
    declare, //
};
#[cfg(CONFIG_BLOG_HOOKS)]
#[doc(hidden)]
pub use self::task::no_ring;
pub use self::{
    call::{
        arg::{
            checked,
            count,
            BlogArg,
            Logged,
            OnlyDebug, //
        },
        args::BlogArgs,
        component::{
            self,
            Component,
            Config,
            RawComponent, //
        },
        fmt,
        instance::Instance,
        site::{
            site_flags,
            Loaded,
            Site, //
        },
        wrap::Ptr, //
    },
    ring::Mode,
    wire::{
        record::Level,
        types, //
    }, //
};
pub use crate::blog_component;
pub use macros::{
    blog_debug,
    blog_err,
    blog_info,
    blog_log,
    blog_trace,
    blog_warn, //
};

/// Further types of arguments.
#[cfg(CONFIG_BLOG_ARGS)]
mod more {
    #[doc(hidden)]
    pub use super::call::capture;
    pub use super::call::{
        bytes::{
            Hex,
            Mac, //
        },
        capture::Text,
        private::{
            private,
            Private, //
        }, //
    };
    #[doc(hidden)]
    pub use super::wire::codes::derived_hash;
    #[doc(hidden)]
    pub use macros::blog_capture;
    pub use macros::BlogArg;
}

#[cfg(CONFIG_BLOG_ARGS)]
pub use self::more::*;

macro_rules! as_bytes {
    ($($file:ident: $($ty:ident)*;)*) => {$($(
        // SAFETY: All fields are integers and arrays of these that follow each other without gaps:
        // their sizes add up to the size that the format's own assertions demand.
        unsafe impl crate::transmute::AsBytes for wire::$file::$ty {}
    )*)*};
}

as_bytes! {
    file: FileHeader SectionHeader System Clock ClockPair Image Task
        ComponentSection RingSection Page PageEnd Released End;
}

#[cfg(CONFIG_BLOG_PARTS)]
as_bytes! {
    file: Wait;
}

/// The ring of `component` that the fast path finds in the calling context, or null where it has
/// none there. For tests.
#[cfg(CONFIG_BLOG_HOOKS)]
#[doc(hidden)]
pub fn ring_of(component: &RawComponent) -> *const ring::Ring {
    let ring = call::write::ring(component);
    // SAFETY: It is a ring of this context, or `blog_no_ring`.
    match unsafe { (*ring).slot() } == component.slot() {
        true => ring,
        false => core::ptr::null(),
    }
}
