// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! What several tests need: the kernel's own encoder, and builders of snapshots and ELF files.

#![allow(dead_code, missing_docs, unreachable_pub)]

pub mod commands;
pub mod extracted;
pub mod fixture;
pub mod image;
pub mod kallsyms;
pub mod kernel;
pub mod rig;
pub mod snapshot;
pub mod stream;
pub mod transports;
pub mod vmcore;

use std::{path::PathBuf, process::Command, sync::OnceLock};

/// The host program of the kernel build, compiled as the kernel does it: by rustc alone.
pub fn blog_fmt_sidetable() -> &'static PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let source = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../scripts/blog-fmt-sidetable/blog-fmt-sidetable.rs"
        );
        let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("blog-fmt-sidetable-{}", std::process::id()));
        let rustc = std::env::var_os("RUSTC").unwrap_or("rustc".into());
        let output = Command::new(rustc)
            .args(["--edition=2021", "-O", "-Dwarnings", "-Wmissing_docs"])
            .args(["-Wrust_2018_idioms", "-Wunreachable_pub", "-Dnon_ascii_idents"])
            .arg("-o")
            .arg(&out)
            .arg(source)
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        out
    })
}
