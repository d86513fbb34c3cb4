// SPDX-License-Identifier: GPL-2.0

//! As Kconfig has it by default.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cfg=CONFIG_BLOG_ARGS");
}
