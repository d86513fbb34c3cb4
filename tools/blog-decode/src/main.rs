// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! `blog-decode`: see `--help`, and the library for how it works.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    blog_decode::cli::main(std::env::args_os()).into()
}
