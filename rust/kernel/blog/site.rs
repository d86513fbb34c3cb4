// SPDX-License-Identifier: GPL-2.0

//! A call site in memory: the 8 bytes of section `.blog_sites`.
//!
//! The macros' expansions emit one for each call, by `asm!`, and test it before anything else of
//! the call runs. `blog/` gives it an id when its image is loaded, and switches it. What the site
//! says (format, file, line, names) is not in memory at all: it is in the side table, at the same
//! index.

use core::sync::atomic::{
    AtomicU16,
    AtomicU32,
    AtomicU8, //
};

use super::{
    component::RawComponent,
    record::{
        GATE_OFF,
        SITE_BITS, //
    }, //
};

/// A call site. The C side calls it `struct blog_site`.
///
/// # Invariants
///
/// - `id_shl8` is 0 or the site's id shifted left by 8.
/// - While `id_shl8` is 0, `gate` is [`GATE_OFF`].
#[repr(C, align(8))]
pub struct Site {
    /// The id as a record header has it; 0 until the site's image is registered.
    pub id_shl8: AtomicU32,
    /// The level of the call, a number of [`Level`](super::Level).
    pub level: u8,
    /// The site logs if its component's threshold is at least this.
    pub gate: AtomicU8,
    /// Reserved.
    pub flags: AtomicU16,
}

const _: () = assert!(size_of::<Site>() == 8);

/// The bytes of an entry behind its `id_shl8` and `level` that the macros emit.
const _: () = assert!(GATE_OFF == 255 && SITE_BITS <= 24);

/// What a call has loaded of its [`Site`].
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Loaded {
    /// As in [`Site`].
    pub id_shl8: u32,
    /// As in [`Site`].
    pub gate: u32,
}

impl Loaded {
    /// Whether the site logs to `component` now.
    #[inline(always)]
    pub fn is_on(self, component: &RawComponent) -> bool {
        self.gate as u8 <= component.threshold()
    }
}
