// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The texts in `commands` have commands, and below each what it prints, and its status.

use std::fs;

use crate::common::{
    commands, image,
    rig::{snapshot, Rig, CLOCK},
    snapshot::{Builder, Page, Ring, BOOT_ID},
    stream::as_stream,
};
use blog_decode_core::sidetable::read_table;

const COMMANDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/commands");
const MS: u64 = 1_000_000;
const S: u64 = 1000 * MS;

/// A hundred records of a task and of a softirq: tag n takes n us, from one to the other.
fn hundred(rig: &Rig) -> Vec<u8> {
    let mut b = Builder::new();
    b.system_of("one", BOOT_ID)
        .clock(1, &[[0; 4], [20 * S; 4]])
        .images(&[(1, 4, &rig.build_id, "test_mod")])
        .component(1, "disk");
    for (mut ring, late) in [(Ring::task(1, 1, 7, "fio"), 0), (Ring::softirq(1, 2, 0), 1)] {
        let mut page = Page::new(ring.ring, 1, 0, 0);
        for n in 1..=100u32 {
            let us = 1000 + late;
            page.record(u64::from(n) * us * 1000, 1, (&n, &(1 + late)));
        }
        ring.records = page.records().into();
        b.ring(&ring).page(&ring, &page);
    }
    b.end()
}

/// Records of the first and of the third call site have left their rings, two while the snapshot was
/// read; of those in a ring, the first one was cleared.
fn since_boot(rig: &Rig) -> Vec<u8> {
    let counts = |late: u32, counts: [u64; 4]| {
        let head = [1, late].into_iter().flat_map(u32::to_le_bytes);
        let counts = counts.into_iter().flat_map(u64::to_le_bytes);
        head.chain(counts).collect::<Vec<_>>()
    };
    let mut b = Builder::new();
    b.system(BOOT_ID)
        .clock(1, &CLOCK)
        .images(&[(1, 4, &rig.build_id, "test_mod")])
        .section(9, &counts(0, [10, 0, 3, 0]))
        .cleared_component(1, "disk", 2 * S);
    let ring = Ring::task(1, 1, 42, "fio");
    let mut page = Page::new(1, 1, S, 0);
    page.record(S, 1, (&8u32, &0x1000u64));
    page.record(3 * S, 4, ());
    b.ring(&ring).page(&ring, &page);
    b.section(9, &counts(1, [12, 0, 3, 0])).end()
}

/// The capture of a stream of 18,000 s with a pair of clocks a second, in which the machine slept
/// four times for an hour. Each fourth second has a record of what CLOCK_MONOTONIC and
/// CLOCK_BOOTTIME showed then. `kind`: the ring's clock, by `ClockKind`; one that changes does so
/// at 9000 s.
fn long_capture(rig: &Rig, kind: u32) -> Vec<u8> {
    const HOUR: u64 = 3600 * S;
    let sleeps = [3000, 9001, 9002, 12_000];
    // What it shows at a time since boot without the sleeps.
    let shows = |ns: u64, mixed_over: bool| match kind {
        1 => ns,
        3 if mixed_over => (1 << 60) + ns,
        _ => 3 * ns,
    };
    let mut b = Builder::new();
    b.system(BOOT_ID).images(&[(1, 4, &rig.build_id, "test_mod")]);
    b.component(1, "disk");
    let mut ring = Ring::task(1, 1, 42, "fio");
    let (mut slept, mut seq) = (0, 0);
    for at in 0..18_000 {
        let ns = at * S;
        let pair = |clock, ns: u64, slept: u64| {
            let boot = ns + slept;
            [clock, ns, boot, 1_700_000_000 * S + boot]
        };
        let is_over = at > 9000;
        let mut pairs = vec![pair(shows(ns, is_over), ns, slept)];
        if at == 9000 {
            pairs.push(pair(shows(ns + 1, true), ns + 1, slept));
        }
        if sleeps.contains(&at) {
            slept += HOUR;
            pairs.push(pair(shows(ns + 5, is_over), ns + 5, slept));
        }
        b.clock(kind, &pairs);
        if at % 4 == 0 {
            let ns = ns + 20 * MS;
            let clock = shows(ns, at >= 9000);
            let mut page = Page::new(1, seq + 1, clock, seq);
            page.record(clock, 1, (&(at as u32), &(ns + slept)));
            (seq, ring.records) = (seq + 1, seq + 1);
            b.ring(&ring).page(&ring, &page);
        }
    }
    as_stream(b.bytes)
}

/// A stream with two records of a task, in two pages.
fn stream(rig: &Rig) -> Vec<u8> {
    let ring = Ring::task(1, 1, 42, "fio");
    let mut b = rig.disk(&CLOCK);
    b.ring(&ring);
    for n in 0..2 {
        let mut page = Page::new(1, 1 + n, n * S, n);
        page.record(n * S, 4, ());
        b.page(&ring, &page);
    }
    as_stream(b.bytes)
}

/// What the commands are for.
fn files(rig: &Rig) {
    rig.write("snap", snapshot(&rig.build_id));
    // With no table beside it, and tables of this and of another build
    rig.write("alone/snap", snapshot(&rig.build_id));
    let table = read_table(&rig.path("test-mod.ko"), |_| true).unwrap();
    rig.write("table/test_mod.blogfmt", table.unwrap().encode().unwrap());
    fs::create_dir(rig.path("other")).unwrap();
    image::module(&rig.path("other"), "other.ko", "two");

    rig.write("empty", rig.disk(&CLOCK).end());
    let mut b = rig.disk(&CLOCK);
    let ring = Ring::task(1, 1, 42, "fio");
    b.ring(&ring);
    for (seq, at) in [(1, 50), (2, 2), (3, 60)] {
        let mut p = Page::new(1, seq, at * S, seq - 1);
        p.record(at * S, 4, ());
        b.page(&ring, &p);
    }
    rig.write("back", b.end());
    rig.write("since-boot", since_boot(rig));
    for (kind, name) in [(1, "long-mono"), (2, "long-counter"), (3, "long-mixed")] {
        rig.write(name, long_capture(rig, kind));
    }
    rig.write("hundred", hundred(rig));
    rig.write("stream", stream(rig));
}

#[test]
fn commands_say_what_their_files_have() {
    commands::check(COMMANDS, files);
}
