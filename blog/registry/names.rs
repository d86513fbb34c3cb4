// SPDX-License-Identifier: GPL-2.0

//! Names of components and images, as they are stored.

use kernel::blog::wire::name::NAME_MAX;

/// A name in a fixed array, NUL padded, cut at [`NAME_MAX`] `- 1` bytes.
pub(crate) fn name_field(name: &[u8]) -> [u8; NAME_MAX] {
    let mut field = [0; NAME_MAX];
    for (to, from) in field.iter_mut().take(NAME_MAX - 1).zip(name) {
        *to = *from;
    }
    field
}

/// The bytes of a NUL padded name.
pub(crate) fn name_bytes(field: &[u8]) -> &[u8] {
    field.split(|b| *b == 0).next().unwrap_or(field)
}
