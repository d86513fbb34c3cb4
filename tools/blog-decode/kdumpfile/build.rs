// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Finds libkdumpfile: a static one that the project's script has built, or the system's.

use std::{
    env,
    path::PathBuf,
    process::{Command, ExitCode},
};

/// What a static libkdumpfile needs.
const STATIC: [&str; 5] = ["kdumpfile", "addrxlat", "lzo2", "z", "zstd"];

const HELP: &str = "\
libkdumpfile was not found. blog-decode reads vmcores through it. Either
  - let the project build it (in the project's directory):  scripts/fetch libkdumpfile
  - or install it (Debian):                                 apt install libkdumpfile-dev
  - or name the directory that has its lib/:                LIBKDUMPFILE_PREFIX=DIR cargo build ...
  - or do without crash dumps:              cargo build --no-default-features --features ctf,otlp";

fn var(name: &str) -> Option<PathBuf> {
    println!("cargo:rerun-if-env-changed={name}");
    env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from)
}

/// Where scripts/fetch puts it.
fn built() -> Option<PathBuf> {
    let cache = var("BLOG_CACHE")
        .or_else(|| Some(var("XDG_CACHE_HOME")?.join("blog")))
        .or_else(|| Some(var("HOME")?.join(".cache/blog")))?;
    Some(cache.join("tools/libkdumpfile"))
}

/// Links what is in a directory; false: there is none.
fn link(prefix: PathBuf) -> bool {
    let lib = prefix.join("lib");
    let archive = lib.join("libkdumpfile.a");
    println!("cargo:rerun-if-changed={}", archive.display());
    let is_static = archive.exists();
    if !is_static && !lib.join("libkdumpfile.so").exists() {
        return false;
    }
    println!("cargo:rustc-link-search=native={}", lib.display());
    if is_static {
        for name in STATIC {
            println!("cargo:rustc-link-lib=static={name}");
        }
    } else {
        println!("cargo:rustc-link-lib=kdumpfile");
    }
    true
}

/// Links the system's library, as pkg-config says; false: there is none.
fn link_system() -> bool {
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    let mut command = Command::new("pkg-config");
    command.args(["--libs", "libkdumpfile >= 0.5.1"]);
    let flags = match command.output() {
        Ok(out) if out.status.success() => out.stdout,
        _ => return false,
    };
    for flag in String::from_utf8_lossy(&flags).split_whitespace() {
        if let Some(dir) = flag.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={dir}");
        } else if let Some(name) = flag.strip_prefix("-l") {
            println!("cargo:rustc-link-lib={name}");
        }
    }
    true
}

fn main() -> ExitCode {
    println!("cargo:rerun-if-changed=build.rs");
    let found = match var("LIBKDUMPFILE_PREFIX") {
        Some(prefix) => link(prefix),
        None => built().is_some_and(link) || link_system(),
    };
    if !found {
        eprintln!("{HELP}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
