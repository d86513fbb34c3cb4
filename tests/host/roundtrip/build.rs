// SPDX-License-Identifier: GPL-2.0

//! Configures BLog in, and links as the kernel does: with a build ID, and with symbols for the
//! bounds of the call sites.

fn main() {
    let dir = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=sites.ld");
    println!("cargo::rustc-cfg=CONFIG_BLOG=\"y\"");
    println!("cargo::rustc-link-arg-tests=-Wl,--build-id=sha1");
    println!("cargo::rustc-link-arg-tests=-Wl,-T,{dir}/sites.ld");
}
