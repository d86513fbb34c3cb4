// SPDX-License-Identifier: GPL-2.0

//! A component whose name is no string.

#![forbid(unsafe_code)]

use kernel::blog::Config;

pub fn name() -> Config {
    Config { name: core::ptr::null(), ..Config::new() }
    //~      ^ fields `name` and `start` of struct `Config` are private: private field, field `start` is private
}
