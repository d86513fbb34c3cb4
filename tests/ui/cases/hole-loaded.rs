// SPDX-License-Identifier: GPL-2.0

//! A call that says that its site is on.

#![forbid(unsafe_code)]

use kernel::blog::Loaded;

pub fn forge() -> Loaded {
    Loaded { id_shl10: 0xff, gate: 0 }
    //~      ^ fields `id_shl10` and `gate` of struct `kernel::blog::Loaded` are private: private field, private field
}
