// SPDX-License-Identifier: GPL-2.0

//! The post-mortem root in live memory, and the switch that freezes all rings at a crash.
//!
//! `root.rs` has the layout. The root lies here, in the kernel crate, because that is always in
//! vmlinux, also where `blog/` is a module: so VMCOREINFO can name it, and it is valid, if empty,
//! at any time. `blog/root.rs` fills it in. [`Live`] compiles on the host unchanged.

use core::{
    cell::UnsafeCell,
    sync::atomic::{
        fence,
        Ordering::SeqCst, //
    }, //
};

/// A structure of `root.rs` that crash tools look at, and that `blog/` changes.
///
/// Nobody in the running kernel reads it but who changes it, so the only order that matters is that
/// in which stores reach memory before a machine stops: see [`Self::update`].
#[repr(transparent)]
pub struct Live<T>(UnsafeCell<T>);

// SAFETY: All access goes through raw pointers, whose users see to it that there is one at a time,
// or use atomics.
unsafe impl<T: Send> Sync for Live<T> {}

impl<T: Copy> Live<T> {
    /// Makes one.
    pub const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// Its address.
    pub const fn get(&self) -> *mut T {
        self.0.get()
    }

    /// Changes it. All stores of `change` come after what was stored before, and before what is
    /// stored after; so whatever stops the machine, a dump shows them in that order.
    ///
    /// # Safety
    ///
    /// Nobody else changes or reads it meanwhile, but crash tools, and who uses fields of it as
    /// atomics that `change` leaves alone.
    pub unsafe fn update(&self, change: impl FnOnce(*mut T)) {
        // ORDERING: A dump sees what had reached memory, in the order in which this CPU stored it,
        // as other CPUs would. Full fences keep that order, and keep the compiler from leaving
        // stores out that nobody seems to read.
        fence(SeqCst);
        change(self.get());
        fence(SeqCst);
    }
}

/// The root.
#[cfg(CONFIG_BLOG_HOOKS)]
#[no_mangle]
#[allow(non_upper_case_globals)]
pub static blog_root: Live<super::root::Root> = Live::new(super::root::Root::new());
