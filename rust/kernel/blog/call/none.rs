// SPDX-License-Identifier: GPL-2.0

//! Placeholders for a missing ring and for a missing task table, so that the fast path need not
//! test for null.

use super::super::ring::{
    PageHeader,
    Ring,
    Tls, //
};

/// What stands for the ring of a context that has none. Drivers know it by this name.
// SAFETY: The header is a static, to which nobody stores.
#[allow(missing_docs, non_upper_case_globals)]
#[no_mangle]
static blog_no_ring: Ring = unsafe { Ring::none((&raw const NO_PAGE).cast_mut()) };

/// A page without room. Nobody stores there.
static NO_PAGE: PageHeader = PageHeader::empty();

/// What stands for the table of a task that has no rings. Drivers and the C side know it by this
/// name.
#[allow(missing_docs, non_upper_case_globals)]
#[no_mangle]
pub(in super::super) static blog_no_rings: Tls =
    Tls::new(u32::MAX, (&raw const blog_no_ring).cast_mut());

/// What stands for the ring of a context that has none: see [`Ring::none`]. Tables have it in place
/// of null.
#[doc(hidden)]
#[inline]
pub fn no_ring() -> *mut Ring {
    (&raw const blog_no_ring).cast_mut()
}

/// What stands for the table of a task that has none.
#[inline]
pub(super) fn no_rings() -> *mut Tls {
    (&raw const blog_no_rings).cast_mut()
}
