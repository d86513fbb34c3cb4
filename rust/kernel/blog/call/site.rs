// SPDX-License-Identifier: GPL-2.0

//! A call site in memory: the 8 bytes of section `.blog_sites`.
//!
//! The macros' expansions emit one for each call, by `asm!`, and test it before anything else of
//! the call runs. `blog/` gives it an id when its image is loaded, and switches it. The site's
//! format, file, line and names are not in memory at all: the side table has them, at the same
//! index.

use core::sync::atomic::{
    AtomicU32,
    AtomicU8,
    Ordering::Relaxed, //
};

use super::super::wire::record::{
    Level,
    GATE_OFF,
    LEN_BITS,
    SITE_ADDRESS,
    SITE_BITS,
    SITE_UNCOMPILED, //
};
use super::component::RawComponent;

/// A call site. The C side calls it `struct blog_site`.
///
/// # Invariants
///
/// - `id_shl10` is 0 or the site's id shifted left by [`LEN_BITS`].
/// - While `id_shl10` is 0, `gate` is [`GATE_OFF`].
#[repr(C, align(8))]
pub struct Site {
    /// The id as a record header has it; 0 until the site's image is registered.
    id_shl10: AtomicU32,
    /// The level of the call, a number of [`Level`].
    level: u8,
    /// The site logs if its component's threshold is at least this.
    gate: AtomicU8,
    /// [`SITE_ADDRESS`] and [`SITE_UNCOMPILED`].
    flags: u16,
}

impl Site {
    /// A site that isn't registered yet. The macros' expansions emit theirs by themselves.
    #[doc(hidden)]
    pub const fn new(level: Level, flags: u16) -> Self {
        // INVARIANT: It has no id, and is off.
        Self {
            id_shl10: AtomicU32::new(0),
            level: level as u8,
            gate: AtomicU8::new(GATE_OFF),
            flags,
        }
    }

    /// The level of the call; `None` where it is none, in a broken image.
    pub const fn level(&self) -> Option<Level> {
        Level::from_u8(self.level)
    }

    /// Whether an address is among the call's arguments, so that not every reader may see them.
    pub const fn has_address(&self) -> bool {
        self.flags & SITE_ADDRESS != 0
    }

    /// Whether it is a C call whose format isn't compiled, so that it can't write a record.
    pub const fn is_uncompiled(&self) -> bool {
        self.flags & SITE_UNCOMPILED != 0
    }

    /// The site's id; 0 until it is registered.
    pub fn id(&self) -> u32 {
        self.id_shl10.load(Relaxed) >> LEN_BITS
    }

    /// The site logs if its component's threshold is at least this.
    pub fn gate(&self) -> u8 {
        self.gate.load(Relaxed)
    }

    /// Gives the site its id.
    ///
    /// # Safety
    ///
    /// This is the id of its entry in the side table, is at most
    /// [`SITE_MAX`](super::super::wire::record::SITE_MAX), and nobody logs by this site yet.
    #[doc(hidden)]
    pub unsafe fn set_id(&self, id: u32) {
        // INVARIANT: This is the id.
        self.id_shl10.store(id << LEN_BITS, Relaxed);
    }

    /// Switches the site.
    ///
    /// # Safety
    ///
    /// The site has an id, or `gate` is [`GATE_OFF`].
    #[doc(hidden)]
    pub unsafe fn set_gate(&self, gate: u8) {
        // INVARIANT: By this function's requirement.
        self.gate.store(gate, Relaxed);
    }
}

// As the C side emits it, too.
const _: () = assert!(size_of::<Site>() == 8 && GATE_OFF == 255 && SITE_BITS + LEN_BITS <= 32);

/// The flags of a site: [`SITE_ADDRESS`] where an address is among the call's arguments. For the
/// macros.
#[doc(hidden)]
pub const fn site_flags(has_address: bool) -> u16 {
    has_address as u16 * SITE_ADDRESS
}

/// What a call has loaded of its [`Site`].
///
/// # Invariants
///
/// It was loaded from one, `gate` first: where that says on, the id is there.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Loaded {
    #[cfg_attr(not(CONFIG_BLOG_HOOKS), allow(dead_code))]
    pub(in super::super) id_shl10: u32,
    gate: u8,
    #[cfg_attr(not(CONFIG_BLOG_HOOKS), allow(dead_code))]
    level: u8,
}

impl Loaded {
    /// What the macros' expansion has loaded.
    ///
    /// # Safety
    ///
    /// As the type invariants say.
    #[inline(always)]
    pub const unsafe fn new(id_shl10: u32, gate: u8, level: u8) -> Self {
        // INVARIANT: By this function's requirement.
        Self {
            id_shl10,
            gate,
            level,
        }
    }

    /// Whether its records are warnings or errors, which have a share of the memory.
    #[cfg(CONFIG_BLOG_HOOKS)]
    #[inline(always)]
    pub(super) fn warns(self) -> bool {
        self.level <= Level::Warn as u8
    }

    /// Whether the site logs to `component` now.
    #[inline(always)]
    pub fn is_on(self, component: &RawComponent) -> bool {
        self.gate <= component.threshold()
    }
}
