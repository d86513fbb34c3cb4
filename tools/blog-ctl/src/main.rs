// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! `blog-ctl`: see `--help`, and the library for how it works.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    blog_ctl::main(std::env::args_os()).into()
}
