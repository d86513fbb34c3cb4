// SPDX-License-Identifier: GPL-2.0

//! A part that follows the pages of memories.

use super::Memory;
use crate::sys::prelude::*;

/// What it wants to know.
pub(crate) struct Follower {
    /// A memory may have got more places for pages, or given some up. This comes under the
    /// component's lock: nobody may wait or allocate.
    pub(crate) resized: fn(&Memory),
    /// Nobody finds a memory any more. Its pages are freed after this.
    pub(crate) ends: fn(&Memory),
}

/// That part, if there is one. Set before there are components.
pub(crate) static FOLLOWER: SetOnce<Follower> = SetOnce::new();

/// A memory has got more places for pages, or given some up.
pub(super) fn resized(memory: &Memory) {
    if let Some(follower) = FOLLOWER.as_ref() {
        (follower.resized)(memory);
    }
}

/// Nobody finds a memory any more.
pub(super) fn ends(memory: &Memory) {
    if let Some(follower) = FOLLOWER.as_ref() {
        (follower.ends)(memory);
    }
}
