// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The texts in `commands` have commands, and below each what it prints, and its status.

use std::fs;

use crate::common::{
    commands, fixture, image,
    rig::{snapshot, Rig},
    snapshot::{Builder, Page, Ring, BOOT_ID},
    stream::as_stream,
};
use blog_decode_core::sidetable::read_table;

const COMMANDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/commands");
const MS: u64 = 1_000_000;
const S: u64 = 1000 * MS;

/// A hundred records of a task and of a softirq: tag n takes n us, from one to the other.
fn hundred() -> String {
    let mut text = "host one; clock mono 0 20s; component 1 disk
        ring 1 task 7 fio; page 1 base 0; read 1ms..101ms/1; ring 2 softirq 0; page 1 base 0"
        .to_owned();
    for n in 1..=100 {
        text += &format!("; call {}us 1 {n}u32 2u64", 1001 * n);
    }
    text
}

/// No records; the records of `snap`, and no losses; times that go back; call sites 1 and 3, whose records have left their rings, two
/// while the snapshot was read, with a record that was cleared; and a stream of two pages.
const FILES: [(&str, &str); 5] = [
    ("empty", "component 1 disk"),
    (
        "lossless",
        "component 1 disk; ring 1 task 42 fio; page 1; call 1s 1 8u32 4096u64
         call 2s 2 x0971756575651b5b324a -5i32; call 3s 3 1u8 3u32
         ring 2 softirq 1; page 1 base 1s; call 2000000500 4
         component 2 other; ring 1 task 7 kworker/0:1; page 1 base 1s; call 4s 1 1u32 2u64",
    ),
    (
        "back",
        "component 1 disk; ring 1 task 42 fio records 0
         page 1; call 50s 4; page 2; call 2s 4; page 3; call 60s 4",
    ),
    (
        "since-boot",
        "image 1 4 test_mod; section 9 1u32 0u32 10u64 0u64 3u64 0u64; component 1 disk cleared 2s
         ring 1 task 42 fio records 0; page 1; call 1s 1 8u32 4096u64; call 3s 4
         section 9 1u32 1u32 12u64 0u64 3u64 0u64",
    ),
    ("stream", "stream; component 1 disk; ring 1 task 42 fio; page 1; call 0 4; page 2; call 1s 4"),
];

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

/// A module with private arguments, and records of both of its calls, which have each form of
/// these.
fn private(rig: &Rig) {
    const STR: u64 = 0x32 | 0x22 << 8;
    const U32: u64 = 0x32 | 0x03 << 8;
    let calls = [image::Call {
        line: 1,
        level: 3,
        format: "open {name:>4} by {uid:#x}",
        args: &[("name", STR), ("uid", U32)],
    }];
    let c_calls = [image::CCall {
        line: 2,
        format: r#""open %4s by %x""#,
        arguments: "blog_private(name), blog_private(uid)",
    }];
    let dir = rig.path("private");
    fs::create_dir(&dir).unwrap();
    let ko = image::module_with_c(&dir, "test-mod.ko", "private", &calls, &c_calls);
    let id = read_table(&ko, |_| true).unwrap().unwrap().build_id;
    let mut text =
        "clock mono 0 100s; image 1 2 test_mod; component 1 disk; ring 1 task 7 fio; page 1"
            .to_owned();
    for site in [1, 2] {
        text += &format!(
            ";call {site}s {site} 0u8 7994u64 0u8 18446744073709551615u64
             call {site}s {site} 1u8 0u64 1u8 0u64
             call {site}s {site} 2u8 3u64 x616263 2u8 42u64"
        );
    }
    rig.write("private/snap", fixture::compile(&text, &id));
}

/// A module with arguments of many types, and a record of each of its calls.
fn conditions(rig: &Rig) {
    let args =
        &[("len", 0x03), ("name", 0x22), ("delta", 0x13), ("e", 0x26), ("req.odd.tag", 0x26)];
    let format = "{len} {name} {delta} {e:?} {4:?}";
    let calls = [image::Call { line: 71, level: 2, format, args }];
    let c_calls = [image::CCall { line: 72, format: r#""%d""#, arguments: "n" }];
    let dir = rig.path("where");
    fs::create_dir(&dir).unwrap();
    let ko = image::module_with_c(&dir, "x.ko", "where", &calls, &c_calls);
    let id = read_table(&ko, |_| true).unwrap().unwrap().build_id;
    let text =
        "host box; clock mono 0 100s; image 1 2 x; component 1 disk; ring 1 task 42 fio; page 1
                call 1s 1 8192u32 \"sda\" -7i32 -5i32 -600i32; call 2s 2 5i32";
    rig.write("where/snap", fixture::compile(text, &id));
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

    for (name, text) in FILES {
        let text = format!("real 1700000000s; clock mono 0 100s; {text}");
        rig.write(name, fixture::compile(&text, &rig.build_id));
    }
    rig.write("hundred", fixture::compile(&hundred(), &rig.build_id));
    for (kind, name) in [(1, "long-mono"), (2, "long-counter"), (3, "long-mixed")] {
        rig.write(name, long_capture(rig, kind));
    }
    private(rig);
    conditions(rig);
}

#[test]
fn commands_say_what_their_files_have() {
    commands::check(COMMANDS, files);
}
