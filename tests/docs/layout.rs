// SPDX-License-Identifier: GPL-2.0

//! Prints what the real sources say about BLog's formats, for `check-formats.py`, which compares
//! it with `Documentation/blog/formats.rst`.
//!
//! `check-formats.py` compiles this file with plain `rustc`, with `facts.rs` generated from the
//! tables of the page: one line `name value` for each fact that a table claims. What follows here
//! makes samples with the real encoders: a ring's page, a record, a side table.

#![allow(dead_code, unreachable_pub)]

#[path = "../../rust/kernel/blog"]
mod blog {
    pub mod call {
        pub mod arg;
        pub mod args;
        pub mod fmt;
        pub mod wrap;
    }
    pub mod ring;
    pub mod wire;
}

#[path = "../../scripts/blog-fmt-sidetable"]
mod sidetable {
    pub mod bytes;
    pub mod descriptor;
    pub mod format;
}

use blog::{
    call::args::BlogArgs,
    ring,
    wire::{
        file,
        page,
        record,
        types, //
    }, //
};
use sidetable::{
    descriptor as d,
    format, //
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

/// One page, for a ring that never takes another.
struct OnePage(Box<[u64; 64]>);

// SAFETY: There is one page, for one ring.
unsafe impl ring::Pages for OnePage {
    fn take(&self, held: u32, _: u32, _: u32) -> Option<u32> {
        (held == 0).then_some(0)
    }

    unsafe fn put(&self, _: u32) {}

    fn page(&self, _: u32) -> *mut ring::PageHeader {
        self.0.as_ptr().cast_mut().cast()
    }

    fn largest(&self) -> u32 {
        512
    }
}

const EXAMPLE: (u64, u32) = (0x12_3456_789a, 0x123);

/// Logs `args` at site 0x123.
fn log(ring: &ring::Ring, pages: &OnePage, clock: u64, args: impl BlogArgs) {
    let bytes = (record::HEADER_SIZE + args.size()) as u32;
    let site = EXAMPLE.1 << record::LEN_BITS;
    // SAFETY: There is room for the arguments.
    let fill = |at| unsafe { args.store(at) };
    let slow = |_, ts| {
        // SAFETY: One thread, in the middle of a record.
        let turned = unsafe { ring.turn(pages, ring::Mode::Overwrite, 512, bytes, ts) };
        turned.unwrap();
        // SAFETY: The ring has made room.
        unsafe { ring::Ring::put(ring::Place { ring, ts }, bytes, site, fill) }
    };
    // SAFETY: One thread.
    assert!(unsafe {
        ring::Ring::write(
            ring,
            || ring.slot(),
            bytes,
            site,
            || Some(clock),
            fill,
            slow,
        )
    });
}

/// A page with two records, a time-extend record and a lost record between them.
fn sample_page() {
    let mut empty = ring::PageHeader::empty();
    // SAFETY: The header outlives the ring.
    let ring = unsafe { ring::Ring::new(5, 0, &mut empty) };
    let pages = OnePage(Box::new([0; 64]));
    let page = ring::Pages::page(&pages, 0);
    // SAFETY: The page is 512 bytes and aligned to 8; the ring is free.
    unsafe {
        ring::PageHeader::format(page, 512);
        ring.adopt(&ring::Owner {
            pid: 1,
            tgid: 1,
            comm: *b"sample\0\0\0\0\0\0\0\0\0\0",
            ..ring::Owner::new(record::Context::Task, u32::MAX)
        });
    }
    log(&ring, &pages, EXAMPLE.0, (&7u32, &"ok", &true));
    // SAFETY: One thread.
    unsafe { ring.count_lost(record::Lost::Nested, 3) };
    log(
        &ring,
        &pages,
        EXAMPLE.0 + (1 << 37) + 5,
        (&7u32, &"ok", &true),
    );
    let mut copy = [0; 512];
    // SAFETY: The page was formatted, and lives.
    let len = unsafe { ring::PageHeader::copy(page, 512, 1, &mut copy) }.expect("a page");
    say("sample.page", hex(&copy[..len]));
}

/// A side table with a site, a struct and an enum.
fn sample_table() {
    let field = |code, name: &str| d::Field {
        code,
        name: name.into(),
    };
    let table = format::Table {
        build_id: (1..=20).collect(),
        release: "R1".into(),
        arch: "A23".into(),
        name: "N456".into(),
        types: vec![
            d::Type {
                code: 0x1250,
                name: "Struct".into(),
                kind: d::TypeKind::Struct,
                variants: vec![d::Variant {
                    name: "Struct".into(),
                    shape: d::Shape::Named,
                    fields: vec![field(0x03, "a"), field(0x04, "bc")],
                }],
            },
            d::Type {
                code: 0x3450,
                name: "E".into(),
                kind: d::TypeKind::Enum,
                variants: vec![
                    d::Variant {
                        name: "Unit".into(),
                        shape: d::Shape::Unit,
                        fields: vec![],
                    },
                    d::Variant {
                        name: "TupleName".into(),
                        shape: d::Shape::Tuple,
                        fields: vec![field(0x01, "")],
                    },
                ],
            },
        ],
        sites: vec![
            d::Site {
                line: 77,
                level: 4,
                codes: vec![0x03, 0x22],
                format: "tag {} of {who}".into(),
                file: "drivers/f.rs".into(),
                module: "m::n".into(),
                names: vec!["tag".into(), "who".into()],
            },
            d::Site {
                line: 78,
                level: 1,
                format: "x".into(),
                ..d::Site::default()
            },
        ],
    };
    say("sample.table", hex(&table.encode().expect("a table")));
}

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

    sample_page();
    sample_table();
}
