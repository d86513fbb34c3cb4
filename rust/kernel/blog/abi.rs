// SPDX-License-Identifier: GPL-2.0

//! The functions that `blog/` exports to drivers, under their C names.
//!
//! Only code that is inlined or instantiated in a driver's crate may use these: the kernel crate is
//! always built in, and `blog/` may be a module.

use core::ffi::c_char;

use super::{
    call::component::{
        Config,
        RawComponent, //
    },
    ring::{
        Place,
        Ring, //
    }, //
};

unsafe extern "C" {
    /// Makes a component, and switches it on where `config` says so. If there is no room or no
    /// memory for it, it only counts what it loses. Never null. May sleep.
    ///
    /// # Safety
    ///
    /// Both are valid for the call.
    pub(super) unsafe fn blog_component_register(
        name: *const c_char,
        config: *const Config,
    ) -> *const RawComponent;

    /// Ends such a component. What it points to must not be used any more. Waits for nobody.
    ///
    /// # Safety
    ///
    /// The component is registered, and nobody logs to it.
    pub(super) unsafe fn blog_component_unregister(c: *const RawComponent);

    /// Finds a place for a record of `bytes`, when [`Ring::write`] could not. Runs in any context.
    ///
    /// # Safety
    ///
    /// The component is valid. The caller was in [`Ring::write`]; if `ring` is not null, it is the
    /// ring of the calling context and of this component, and a record was begun in it, at `ts` if
    /// that isn't 0. If it is null, `ts` is 0 or [`Place::WARNS`].
    pub(super) unsafe fn blog_reserve(
        c: *const RawComponent,
        ring: *const Ring,
        bytes: u32,
        ts: u64,
    ) -> Place;

    /// Looks at the arguments that are stored of a record, before it is published. Runs in any
    /// context.
    ///
    /// # Safety
    ///
    /// The component is valid, and `payload` points to `size` bytes.
    pub(super) unsafe fn blog_stored(
        c: *const RawComponent,
        site_shl10: u32,
        payload: *const u8,
        size: usize,
    );

    /// 1 if log calls may read the clock, which is the counter; 0 if they have to leave it to
    /// `blog/`. It changes while they run.
    pub(super) static blog_clock_is_counter: u8;
}
