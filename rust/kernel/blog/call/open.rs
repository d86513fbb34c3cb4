// SPDX-License-Identifier: GPL-2.0

//! Writes a record of a call in C, in the place where the caller's ring ends.

use super::{
    component::RawComponent,
    write::{
        clock,
        ring, //
    }, //
};
use core::ops::Range;

/// Writes a record of which `fill` knows the size, if it can simply go after the last one: see
/// [`Ring::write_open`](super::super::ring::Ring::write_open). Only `blog/` calls it.
///
/// # Safety
///
/// As for [`write()`](super::write::write); `fill` is as `Ring::write_open` demands.
#[doc(hidden)]
#[inline(always)]
pub unsafe fn write_open(
    component: &RawComponent,
    site_shl10: u32,
    fill: impl FnOnce(*mut u8, Range<usize>) -> Option<usize>,
) -> bool {
    let (clock, ring) = (clock(), ring(component));
    // SAFETY: As in `write`; `fill` is as this function requires.
    unsafe { (*ring).write_open(|| component.slot(), site_shl10, clock, fill) }
}
