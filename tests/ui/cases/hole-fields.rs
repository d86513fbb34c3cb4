// SPDX-License-Identifier: GPL-2.0

//! Structs with fields that are nobody else's.

#![forbid(unsafe_code)]

use kernel::blog::{Config, Loaded};

// A component whose name is no string.
pub fn name() -> Config {
    Config { name: core::ptr::null(), ..Config::new() }
    //~      ^ field `name` of struct `Config` is private: private field
}

// A call that says that its site is on.
pub fn forge() -> Loaded {
    Loaded { id_shl10: 0xff, gate: 0, level: 3 }
    //~      ^ fields `id_shl10`, `gate` and `level` of struct `kernel::blog::Loaded` are private: private field, private field, private field
}
