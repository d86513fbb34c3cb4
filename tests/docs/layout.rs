// SPDX-License-Identifier: GPL-2.0

//! Prints what the real sources say about BLog's formats, for `formats.py`, which compares it with
//! `Documentation/blog/formats.rst`.
//!
//! `formats.py` compiles this file with plain `rustc`, with `facts.rs` generated from the tables of
//! the page: one line `name value` for each fact that a table claims.

#![allow(dead_code, unreachable_pub)]

#[path = "../../rust/kernel/blog"]
mod blog {
    pub mod call {
        pub mod arg;
        pub mod args;
        pub mod capture;
        pub mod fmt;
        pub mod wrap;
    }
    pub mod wire;
}

use blog::{
    call::args::BlogArgs,
    wire::{
        file,
        pack,
        page,
        record,
        types, //
    }, //
};

fn say(name: &str, value: impl std::fmt::Display) {
    println!("{name} {value}");
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// Size of a struct's field, given a function that borrows it.
fn field_size<T, F>(_: fn(&T) -> &F) -> usize {
    size_of::<F>()
}

mod facts {
    use super::*;
    include!(env!("BLOG_FACTS"));
}

const EXAMPLE: (u64, u32) = (0x12_3456_789a, 0x123);

fn main() {
    facts::print();

    let names: Vec<_> = record::Lost::ALL.iter().map(|l| l.name()).collect();
    say("names.record::Lost", names.join(","));

    // One bit pattern per field, for the bits of a header.
    for (clock, site, len) in [
        (!0, 0, 0),
        (0, record::SITE_MAX, 0),
        (0, 0, record::PAYLOAD_MAX as u32),
    ] {
        let header = record::Header::new(clock, site, len);
        say(
            &format!("header.{}.{}.{}", clock & 1, site & 1, len & 1),
            format!("{:016x}", header.0),
        );
    }

    let args = (&7u32, &"ok", &true);
    let mut bytes = vec![0xaa; args.size()];
    // SAFETY: `size` bytes are there.
    unsafe { args.store(bytes.as_mut_ptr()) };
    let header = record::Header::new(EXAMPLE.0, EXAMPLE.1, bytes.len() as u32);
    say("example", hex(&header.0.to_ne_bytes()) + &hex(&bytes));
}
