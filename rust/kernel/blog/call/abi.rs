// SPDX-License-Identifier: GPL-2.0

//! The functions that `blog/` exports to drivers, under their C names.
//!
//! Only code that is inlined or instantiated in a driver's crate may use these: the kernel crate is
//! always built in, and `blog/` may be a module.

use core::{
    ffi::c_char,
    mem::offset_of, //
};

#[cfg(CONFIG_BLOG_HOOKS)]
use super::super::task;
use super::{
    super::{
        ring::{
            Reservation,
            Ring,
            Writing, //
        },
        task::Tls, //
    },
    component::{
        Config,
        RawComponent, //
    }, //
};

/// To be raised when drivers and `blog/` have to agree on something else than sizes and offsets.
const VERSION: usize = 1;

/// What drivers and `blog/` must agree on, as one number: a hash of the sizes and offsets of all
/// that both have access to, and of which clock calls read. `blog/` compares it where they aren't
/// built together.
#[doc(hidden)]
pub const ABI: u32 = {
    const RESERVATION: [usize; 3] = [
        size_of::<Reservation<'_>>(),
        offset_of!(Reservation<'_>, writing),
        offset_of!(Reservation<'_>, ts),
    ];
    const ALL: &[&[usize]] = &[
        &[VERSION, cfg!(CONFIG_BLOG_CLOCK_IS_MONO) as usize],
        &RawComponent::SHAPE,
        &Ring::SHAPE,
        &Tls::SHAPE,
        #[cfg(CONFIG_BLOG_HOOKS)]
        &task::SHAPE,
        &RESERVATION,
    ];
    let (mut hash, mut i) = (0xcbf2_9ce4_8422_2325_u64, 0);
    while i < ALL.len() {
        let mut j = 0;
        while j < ALL[i].len() {
            // FNV-1a, by words.
            hash = (hash ^ ALL[i][j] as u64).wrapping_mul(0x100_0000_01b3);
            j += 1;
        }
        i += 1;
    }
    (hash ^ hash >> 32) as u32
};

unsafe extern "C" {
    /// Makes a component, and switches it on where `config` says so. If there is no room or no
    /// memory for it, it only counts what it loses. With another `abi` than [`ABI`], it is never
    /// on. Never null. May sleep.
    ///
    /// # Safety
    ///
    /// Both are valid for the call.
    pub(super) unsafe fn blog_component_register(
        name: *const c_char,
        config: *const Config,
        abi: u32,
    ) -> *const RawComponent;

    /// Ends such a component. What it points to must not be used any more. Waits for nobody.
    ///
    /// # Safety
    ///
    /// The component is registered, and nobody logs to it.
    pub(super) unsafe fn blog_component_unregister(c: *const RawComponent);

    /// Finds a place for a record of `bytes`, when [`Ring::write`] could not; in a place, there is
    /// room for it. Runs in any context.
    ///
    /// # Safety
    ///
    /// The caller is a log call to the component. Where a record has begun, it is in
    /// the ring of the calling context and of this component, at `ts` if that isn't 0. Otherwise
    /// `ts` is 0 or [`Reservation::WARNS`].
    pub(super) unsafe fn blog_reserve<'a>(
        c: &RawComponent,
        writing: Option<Writing<'a>>,
        bytes: u32,
        ts: u64,
    ) -> Reservation<'a>;

    /// Looks at the arguments that are stored of a record, before it is published. Runs in any
    /// context.
    ///
    /// # Safety
    ///
    /// The caller is a log call to the component, and `payload` points to `size` bytes.
    #[cfg(CONFIG_BLOG_PARTS)]
    pub(super) unsafe fn blog_stored(
        c: &RawComponent,
        site_shl10: u32,
        payload: *const u8,
        size: usize,
    );

    /// Makes the hash of `len` bytes, by the key of this boot. False: they can't be read. Runs in
    /// any context.
    ///
    /// # Safety
    ///
    /// `hash` is valid for a write.
    #[cfg(CONFIG_BLOG_ARGS)]
    pub(super) unsafe fn blog_hash(bytes: *const u8, len: usize, hash: *mut u64) -> bool;

    /// 1 if log calls may read the clock, which is the counter; 0 if they have to leave it to
    /// `blog/`. It changes while they run.
    #[cfg(not(CONFIG_BLOG_CLOCK_IS_MONO))]
    pub(super) static blog_clock_is_counter: u8;
}
