// SPDX-License-Identifier: GPL-2.0

//! Structs with fields that are nobody else's.

#![forbid(unsafe_code)]

use kernel::blog::{Config, Loaded};

// A component whose name is no string.
pub fn name() -> Config {
    Config { name: core::ptr::null(), ..Config::new() }
    //~      ^ field `name` of struct `Config` is private
    //~      ^ field `level` of struct `Config` is private
    //~      ^ field `mode` of struct `Config` is private
}

// A call that says that its site is on.
pub fn forge() -> Loaded {
    Loaded { id_shl10: 0xff, gate: 0, level: 3 }
    //~      ^ field `id_shl10` of struct `Loaded` is private
    //~      ^ field `gate` of struct `Loaded` is private
    //~      ^ field `level` of struct `Loaded` is private
}
