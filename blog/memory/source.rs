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

static SOURCE: SetOnce<&PageSource> = SetOnce::new();

/// Sets where pages come from, once.
pub(crate) fn set(source: &'static PageSource) {
    SOURCE.populate(source);
}

/// Whether there is such a source.
pub(crate) fn is_there() -> bool {
    SOURCE.as_ref().is_some()
}

pub(super) fn take() -> Option<NonNull<u8>> {
    SOURCE.as_ref().and_then(|source| (source.take)())
}

/// Gives a page back, if it is of the source.
///
/// # Safety
///
/// Then it is of [`take`], and nobody uses it.
pub(super) unsafe fn give(at: *const u8) -> bool {
    let source = SOURCE.as_ref().filter(|source| (source.has)(at));
    if let Some(source) = source {
        // SAFETY: By this function's requirement.
        unsafe { (source.give)(at) };
    }
    source.is_some()
}

pub(crate) fn has(at: *const u8) -> bool {
    SOURCE.as_ref().is_some_and(|source| (source.has)(at))
}

pub(super) fn free() -> u32 {
    SOURCE.as_ref().map_or(0, |source| (source.free)())
}

pub(super) fn own(at: *const u8, slot: u16, memory: u32) {
    if let Some(source) = SOURCE.as_ref() {
        (source.own)(at, slot, memory);
    }
}

/// Any context.
pub(super) fn disown(at: *const u8) {
    if let Some(source) = SOURCE.as_ref() {
        (source.disown)(at);
    }
}
