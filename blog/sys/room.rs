// SPDX-License-Identifier: GPL-2.0

//! Lists that are filled under a lock, under which nothing can be allocated.

use kernel::prelude::*;

/// A list that takes what there is room for, and counts the rest.
pub(crate) struct Room<'a, T> {
    list: &'a mut KVVec<T>,
    missing: usize,
}

impl<T> Room<'_, T> {
    /// Adds a value, if there is room.
    pub(crate) fn push(&mut self, value: T) {
        if self.list.push_within_capacity(value).is_err() {
            self.missing += 1;
        }
    }
}

/// Fills `list` anew by `f`, which takes a lock. It is called again with more room until all fits.
pub(crate) fn fill<T, R>(
    list: &mut KVVec<T>,
    mut f: impl FnMut(&mut Room<'_, T>) -> R,
) -> Result<R> {
    loop {
        list.clear();
        let mut room = Room { list, missing: 0 };
        let result = f(&mut room);
        let missing = room.missing;
        if missing == 0 {
            return Ok(result);
        }
        // More, as there may be more when it comes again.
        let len = list.len() + missing;
        list.clear();
        list.reserve(len + len / 8 + 8, GFP_KERNEL)?;
    }
}
