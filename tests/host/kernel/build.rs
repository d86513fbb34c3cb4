// SPDX-License-Identifier: GPL-2.0

//! Configures BLog in, as for an SMP kernel of ARCH=um: there the context is asked for by a call,
//! which the host can answer.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cfg=CONFIG_BLOG_ARGS");
    println!("cargo::rustc-cfg=CONFIG_BLOG_ROOT");
    if std::env::var_os("CARGO_FEATURE_BLOG").is_some() {
        for cfg in [
            "CONFIG_BLOG=\"m\"",
            "CONFIG_BLOG_HOOKS",
            "CONFIG_BLOG_PARTS",
            "CONFIG_BLOG_TASK_POINTER",
            "CONFIG_UML",
            "CONFIG_SMP",
        ] {
            println!("cargo::rustc-cfg={cfg}");
        }
    }
}
