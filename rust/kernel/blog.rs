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
//!         blog_log,
//!         BlogArg, //
//!     },
//!     prelude::*, //
//! };
//!
//! blog_component! {
//!     /// What the disk does.
//!     DISK, name: "disk", ring_kb: 128, level: Debug
//! }
//!
//! /// Logs its own type, too.
//! #[derive(Clone, Copy, BlogArg)]
//! enum Op {
//!     Read,
//!     Write { fua: bool },
//! }
//!
//! fn submit(sector: u64, bytes: u32, op: Op) -> Result {
//!     blog_log!(DISK, "{op:?} of {bytes} bytes at {sector:#x}");
//!     if bytes % 512 != 0 {
//!         blog_err!(DISK, "{} bytes: {:?}", bytes, EINVAL);
//!         return Err(EINVAL);
//!     }
//!     Ok(())
//! }
//! # submit(8, 4096, Op::Write { fua: true })?;
//! # submit(8, 512, Op::Read)?;
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
//! fn mount(dev: &CStr) -> Result<Mount> {
//!     let mount = Mount { log: FS.instance(dev)? };
//!     blog_info!(mount.log, "mounted {dev}");
//!     Ok(mount)
//! }
//! ```
//!
//! # Folder
//!
//! From the top down; nothing imports what stands above it:
//!
//! | | what it is |
//! |---|---|
//! | `call/` | what a log call expands to; inlined into drivers |
//! | `abi.rs` | what `blog/` gives to that |
//! | [`root`] | where crash tools start, and the freeze at a crash: built in |
//! | [`ring`] | the ring: one writer, a chain of pages. Only needs `core` |
//! | [`wire`] | the bytes that leave the kernel. Only needs `core` |

#[cfg_attr(not(CONFIG_BLOG_HOOKS), allow(dead_code))]
mod abi;
mod call;
pub mod ring;
pub mod root;
pub mod wire;

pub use self::{
    call::{
        arg::{
            BlogArg,
            BlogFixed, //
        },
        args::BlogArgs,
        component::{
            self,
            Component,
            Config,
            Instance,
            RawComponent, //
        },
        fmt,
        site::{
            site_flags,
            Loaded,
            Site, //
        },
        wrap::{
            Hex,
            Mac,
            Ptr, //
        }, //
    },
    ring::Mode,
    wire::{
        record::Level,
        types, //
    }, //
};
#[cfg(CONFIG_BLOG_HOOKS)]
use self::{
    call::{
        clock,
        context, //
    },
    wire::record, //
};
#[cfg(CONFIG_BLOG_HOOKS)]
use core::mem::MaybeUninit;
pub use macros::{
    blog_component,
    blog_debug,
    blog_err,
    blog_info,
    blog_log,
    blog_trace,
    blog_warn,
    BlogArg, //
};

/// How long a payload without tails may be to go by copy in the slow path, on the stack.
#[cfg(CONFIG_BLOG_HOOKS)]
const BY_COPY: usize = 64;

/// Writes a record. The macros' expansions call it, for a site that is on.
///
/// In the slow path, the arguments of most calls go by copy to where all the rest is done: then the
/// compiler needs no registers, on the fast one, for what comes after that.
///
/// # Safety
///
/// `component` is what a [`Component`] is, whose [`Component::is_on`] has returned true, by a
/// reference that lives still; and `site` is on for it.
#[cfg(CONFIG_BLOG_HOOKS)]
#[doc(hidden)]
#[inline(always)]
pub unsafe fn log<A: BlogArgs>(component: &RawComponent, site: Loaded, args: A) {
    let ring = context::ring(component);
    let bytes = (record::HEADER_SIZE + args.size()) as u32;
    let slow = |begun, ts| {
        if A::ANY_TAIL || A::FIXED_SUM > BY_COPY {
            // SAFETY: `write` calls this, and what `blog_reserve` returns is as `put` demands.
            // `args` stores the bytes that it said.
            return unsafe {
                let place = abi::blog_reserve(component, begun, bytes, ts);
                ring::Ring::put(place, bytes, site.id_shl8, |dst| args.store(dst))
            };
        }
        let mut payload = MaybeUninit::<[u8; BY_COPY]>::uninit();
        let payload: *mut u8 = payload.as_mut_ptr().cast();
        // SAFETY: `write` calls this. `args` has no more than `BY_COPY` bytes, and stores them all.
        unsafe {
            args.store(payload);
            abi::blog_put(component, begun, bytes, ts, site.id_shl8, payload)
        }
    };
    // SAFETY: `ring` is a ring of this context or `NO_RING`, as the invariants of `Tls` and
    // `RawComponent` say, and stays so: a task does not leave its context in here, and other
    // contexts do not change CPU. `args` stores the bytes that it said.
    unsafe {
        let fill = |dst| args.store(dst);
        let slot = || component.slot();
        ring::Ring::write(ring, slot, bytes, site.id_shl8, clock::read, fill, slow);
    }
}

/// What stands for a ring where there is none, in the tables of tasks.
#[cfg(CONFIG_BLOG_HOOKS)]
#[doc(hidden)]
pub fn no_ring() -> *mut ring::Ring {
    (&raw const context::NO_RING).cast_mut()
}

/// What stands for the table of a task that has none.
#[cfg(CONFIG_BLOG_HOOKS)]
#[doc(hidden)]
pub fn no_rings() -> *mut ring::Tls {
    (&raw const context::blog_no_rings).cast_mut()
}

/// The ring of `component` that the fast path finds in the calling context, or null where it has
/// none there. For tests.
#[cfg(CONFIG_BLOG_HOOKS)]
#[doc(hidden)]
pub fn ring_of(component: &RawComponent) -> *const ring::Ring {
    let ring = context::ring(component);
    // SAFETY: It is a ring of this context, or `NO_RING`.
    match unsafe { (*ring).slot() } == component.slot() {
        true => ring,
        false => core::ptr::null(),
    }
}
