// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Switches what BLog records on this system.
//!
//! ```text
//! args.rs      commands and options
//! control.rs   switches components and call sites, sets triggers, and waits for these
//! commands.rs  what a user writes for that, as lines for the kernel
//! probe.rs     adds, lists and removes probes
//! compile.rs   a probe becomes a line for the kernel
//! btf.rs       the kernel's types, which that needs
//! ```
//!
//! `blog-decode` has what both programs need: side tables and their call sites, messages.

#![forbid(unsafe_code)]

pub mod args;
pub mod btf;
pub mod commands;
pub mod compile;
pub mod control;
pub mod probe;

use std::ffi::OsString;

use blog_decode::cli::{
    man,
    pager::usage,
    report::{print_all, set_program, Failure, Status},
};
use clap::{CommandFactory, Parser};

use self::args::{Cli, Command};

/// Runs the program; returns its exit status.
pub fn main(args: impl IntoIterator<Item = OsString>) -> Status {
    set_program("blog-ctl");
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(e) => return usage(e),
    };
    let result = match &cli.command {
        None => control::control(&cli.control),
        Some(Command::Probe(what)) => probe::probe(what),
        Some(Command::Completions { shell }) => print_all(|out| {
            clap_complete::generate(*shell, &mut Cli::command(), "blog-ctl", out);
            Ok(())
        }),
        Some(Command::Man) => print_all(|out| man(Cli::command(), out)),
    };
    result.unwrap_or_else(Failure::tell)
}
