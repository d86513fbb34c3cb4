// SPDX-License-Identifier: GPL-2.0

//! All that a driver needs is there without `unsafe`.

#![forbid(unsafe_code)]
#![deny(unused_unsafe, clippy::undocumented_unsafe_blocks)]

use kernel::{
    blog::{
        blog_component,
        blog_err,
        blog_log,
        blog_trace,
        blog_warn,
        BlogArg,
        Config,
        Hex,
        Instance,
        Level,
        Mac,
        Mode, //
    },
    prelude::*, //
};

blog_component! { DISK, name: "disk:0+a", ring_kb: 128, level: Debug, mode: Discard }

#[derive(Clone, Copy, BlogArg)]
enum Op {
    Read,
    Write { fua: bool },
}

pub fn submit(sector: u64, name: &str, ops: &[u8]) -> Result {
    blog_log!(DISK, "{:?} {:?} at {sector:#x}", Op::Read, Op::Write { fua: true });
    blog_err!(DISK, "{name}: {} {:p}", Hex(ops), name.as_ptr());
    let log: Instance = DISK.instance_with(
        c"disk1",
        Config::new().level(Level::Err).mode(Mode::Overwrite),
    );
    blog_warn!(log, "{}", Mac([2; 6]));
    blog_trace!(&log, "");
    Ok(())
}
