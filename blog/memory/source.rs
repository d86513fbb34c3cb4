// SPDX-License-Identifier: GPL-2.0

//! Pages of components that aren't the kernel's: those of a part that has some of its own. They are
//! taken before those of the kernel, and don't count, as nobody else could have them.
//!
//! Without such a part, there are none.

use core::ptr::NonNull;
use kernel::sync::SetOnce;

/// Where such pages come from. Process context, but for [`Self::has`] and [`Self::disown`].
pub(crate) struct PageSource {
    /// Takes a page of zeroes, if there is one.
    pub(crate) take: fn() -> Option<NonNull<u8>>,
    /// Gives a page back that was taken, and that nobody uses.
    pub(crate) give: unsafe fn(*const u8),
    /// Whether a page is one of these.
    pub(crate) has: fn(*const u8) -> bool,
    /// How many there are to be taken.
    pub(crate) free: fn() -> u32,
    /// Whose a page is, if it is one of these: of the component in this slot, in its memory with
    /// this number. It has a header.
    pub(crate) own: fn(*const u8, u16, u32),
    /// A page holds nothing for readers, if it is one of these.
    pub(crate) disown: fn(*const u8),
}

static NONE: PageSource = PageSource {
    take: || None,
    give: |_| (),
    has: |_| false,
    free: || 0,
    own: |_, _, _| (),
    disown: |_| (),
};

static SOURCE: SetOnce<&PageSource> = SetOnce::new();

/// Sets where pages come from, once.
pub(crate) fn set(source: &'static PageSource) {
    SOURCE.populate(source);
}

/// Whether there is such a source.
pub(crate) fn is_there() -> bool {
    SOURCE.as_ref().is_some()
}

/// The source; without one, another one, which has no page.
pub(super) fn get() -> &'static PageSource {
    SOURCE.as_ref().copied().unwrap_or(&NONE)
}
