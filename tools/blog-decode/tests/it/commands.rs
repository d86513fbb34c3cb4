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
const TASK: u8 = 0;

/// A thread, or if the pid is 0 a softirq: pid, name, and of each record the time in us and both
/// arguments of the first call site. In place of a record, one is lost if the first argument is
/// LOST.
type Log<'a> = (i32, &'static str, &'a [(u64, u32, u64)]);
const LOST: u32 = u32::MAX;

fn logs_of(rig: &Rig, (host, boot): (&str, [u8; 16]), logs: &[Log<'_>]) -> Vec<u8> {
    let mut b = Builder::new();
    b.system_of(host, boot)
        .clock(1, &[[0; 4], [20 * S; 4]])
        .images(&[(1, 4, &rig.build_id, "test_mod")])
        .component(1, "disk");
    for (number, (pid, name, records)) in (1..).zip(logs) {
        let mut ring = match pid {
            0 => Ring::softirq(1, number, 0),
            _ => Ring::task(1, number, *pid, name),
        };
        let mut page = Page::new(number, 1, 0, 0);
        for (us, count, sector) in *records {
            match *count {
                LOST => page.lost(us * 1000, 0, 1),
                _ => page.record(us * 1000, 1, (count, sector)),
            }
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

/// A snapshot of a component with rings of three threads, taken at 100 s: one that has overwritten
/// 100 records up to 90 s and logs one a second, one with a single record at 20 s, and one of which
/// all is overwritten. `left`: the file lacks records on purpose.
fn overwritten(rig: &Rig, left: bool) -> Vec<u8> {
    let mut b = Builder::new();
    b.system(BOOT_ID)
        .clock(1, &[[0; 4], [100 * S; 4]])
        .images(&[(1, 4, &rig.build_id, "test_mod")])
        .component(1, "disk");
    let mut page = Page::new(1, 5, 90 * S, 100);
    (90..100).for_each(|at| page.record(at * S, 1, (&1u32, &at)));
    let mut busy = Ring::task(1, 1, 7, "busy");
    if left {
        page.left(99 * S, 3);
    }
    busy.records = 100 + u64::from(page.records());
    b.ring(&busy).page(&busy, &page);
    let mut once = Ring::task(1, 2, 8, "once");
    once.records = 1;
    let mut page = Page::new(2, 1, 20 * S, 0);
    page.record(20 * S, 1, (&1u32, &1u64));
    b.ring(&once).page(&once, &page);
    let mut gone = Ring::task(1, 3, 9, "gone");
    gone.records = 3;
    b.ring(&gone).end()
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

/// A machine that slept for an hour after 20 s. "busy" logged once a second, "stuck" not from 5 to
/// 13 s.
fn asleep(rig: &Rig) -> Vec<u8> {
    const HOUR: u64 = 3600 * S;
    let real = |ns| 1_700_000_000 * S + ns;
    let pair = |ns, boot| [ns, ns, boot, real(boot)];
    let mut b = rig.disk(&[
        pair(0, 0),
        pair(20 * S, 20 * S),
        pair(20 * S + 1, 20 * S + 1 + HOUR),
        pair(40 * S, 40 * S + HOUR),
    ]);
    let busy: Vec<u64> = (1..=40).collect();
    let stuck: Vec<_> = busy.iter().filter(|at| !(6..13).contains(*at)).copied().collect();
    for (id, comm, times) in [(1, "busy", busy), (2, "stuck", stuck)] {
        let mut ring = Ring::task(1, id, id as i32, comm);
        let mut page = Page::new(id, 1, 0, 0);
        for at in times {
            page.record(at * S, 1, (&(at as u32), &0u64));
        }
        ring.records = page.records().into();
        b.ring(&ring).page(&ring, &page);
    }
    b.end()
}

/// Files of one thread, each of which lacks records in another way: between 10 and 20 s, if no time
/// is named here.
fn losses(rig: &Rig) {
    let page = |seq, first, seconds: &[u64]| {
        let mut page = Page::new(1, seq, seconds[0] * S, first);
        for at in seconds {
            page.record(at * S, 1, (&(*at as u32), &1u64));
        }
        page
    };
    let ring = |records| {
        let mut ring = Ring::task(1, 1, 42, "fio");
        ring.records = records;
        ring
    };
    let begin = || rig.disk(&[[0; 4], [400 * S; 4]]);
    let write = |name: &str, ring: &Ring, pages: &[&Page]| {
        let mut b = begin();
        b.ring(ring);
        for page in pages {
            b.page(ring, page);
        }
        rig.write(name, b.end());
    };
    let (early, late) = (page(1, 0, &[9, 10]), page(3, 99, &[20, 21]));
    // Up to 300 s, from 10 s on, and up to 50 s.
    write("older", &ring(1003), &[&page(9, 1000, &[300, 301, 302])]);
    let mut full = ring(2);
    full.lost[5] = 7;
    write("full", &full, &[&early]);
    let mut more = Ring::task(1, 2, 43, "dd");
    more.records = 3;
    let mut later = Page::new(2, 1, 30 * S, 0);
    (30..33).for_each(|at| later.record(at * S, 1, (&1u32, &at)));
    let mut b = begin();
    b.ring(&full).page(&full, &early);
    rig.write("more", b.ring(&more).page(&more, &later).end());
    let mut ended = ring(3);
    ended.exit_clock = 50 * S;
    write("ended", &ended, &[]);
    write("page", &ring(101), &[&early, &late]);
    write("first", &ring(2), &[&early]);
    write("second", &ring(101), &[&late]);
    let mut told = page(1, 0, &[9, 10]);
    told.lost(20 * S, 0, 4);
    told.record(21 * S, 1, (&21u32, &1u64));
    write("told", &ring(3), &[&told]);
    let mut forgotten = ring(101);
    (forgotten.lost[0], forgotten.told[0]) = (6, 6);
    write("forgotten", &forgotten, &[&early, &late]);
    let mut cut = page(1, 0, &[9, 10, 11]);
    cut.bytes.pop();
    write("cut", &ring(4), &[&cut, &page(3, 3, &[20])]);
    let mut lag = Page::new(1, 3, 20 * S, 502);
    lag.lost(20 * S, 4, 500);
    lag.record(20 * S, 1, (&20u32, &1u64));
    let stream = |name: &str, records, pages: &[&Page]| {
        let mut b = begin();
        b.ring(&ring(records));
        for page in pages {
            b.page(&ring(0), page);
        }
        rig.write(name, as_stream(b.bytes));
    };
    stream("lag", 0, &[&early, &lag]);
    // The files of a recording, of which the second one lacks two records at its start.
    // As record writes them: the count is that of the last section that came, before the file.
    let mut b = rig.disk(&[[20 * S; 4]]);
    b.ring(&ring(1)).page(&ring(1), &page(3, 6, &[20, 21]));
    b.page(&ring(1), &page(5, 10, &[30]));
    rig.write("part-old", as_stream(b.bytes));
    stream("part0", 0, &[&early]);
    stream("part1", 2, &[&page(2, 2, &[11, 12])]);
    stream("part2", 4, &[&page(3, 6, &[20, 21])]);
}

/// Times that are shown without their last digits.
fn digits(rig: &Rig) -> Vec<u8> {
    one_ring(&mut rig.disk(&CLOCK), "fio", |p| {
        for ns in [1_500, 2_500, 3_500] {
            p.record(S + ns, 4, ());
        }
    })
}

/// A snapshot after 60 s of a boot that began at a time of the wall clock, in s since 1970: a
/// record of its number after 30 s.
fn boot_at(rig: &Rig, (host, number): (&str, u8), began: u64) -> Vec<u8> {
    let mut b = Builder::new();
    b.system_of(host, [number; 16])
        .clock(1, &[[0, 0, 0, began * S], [60 * S, 60 * S, 60 * S, (began + 60) * S]])
        .images(&[(1, 4, &rig.build_id, "test_mod")])
        .component(1, "disk");
    let task = |p: &mut Page| p.record(30 * S, 1, (&u32::from(number), &0u64));
    one_ring(&mut b, "fio", task)
}

/// Boots of one machine and others, with right and with wrong clocks.
fn boots(rig: &Rig) {
    const BEGAN: u64 = 1_700_000_000;
    let write = |name: &str, boot, began| rig.write(name, boot_at(rig, boot, began));
    let boot = |number| ("node", number);
    // Of the second boot, the clock starts in 1970; or it is in 2099.
    for (dir, second) in [("battery", 0), ("far", 4_080_000_000)] {
        write(&format!("{dir}/blog.000001.snapshot"), boot(1), BEGAN);
        write(&format!("{dir}/blog.000002.snapshot"), boot(2), second);
    }
    write("far/blog.000003.snapshot", boot(3), BEGAN + 1000);
    write("alone/first", boot(1), BEGAN);
    write("alone/at-once", boot(2), BEGAN + 10);
    write("alone/far", boot(3), 4_080_000_000);
    write("alone/old", boot(4), 0);
    write("twins/b", ("b", 2), BEGAN);
    write("twins/a", ("a", 1), BEGAN);
    // The clock is put back by an hour after 30 s.
    let pair = |at, ahead| [at, at, at, (BEGAN + ahead) * S + at];
    let pairs = [pair(0, 3600), pair(30 * S, 3600), pair(30 * S + 1, 0), pair(60 * S, 0)];
    let set = one_ring(&mut rig.disk(&pairs), "fio", |p| {
        p.record(10 * S, 1, (&10u32, &0u64));
        p.record(50 * S, 1, (&50u32, &0u64));
    });
    rig.write("set", set);
    // Of the same page, one reader may see addresses.
    let seen = |payload: bool| {
        one_ring(&mut rig.disk(&CLOCK), "fio", |p| match payload {
            true => p.record(S, 1, (&8u32, &0x1000u64)),
            false => p.raw_record(S, 1, &[]),
        })
    };
    rig.write("seen", seen(true));
    rig.write("unseen", seen(false));
}

/// For spans and counts.
fn answers(rig: &Rig) {
    let one = ("one", BOOT_ID);
    let write = |name, logs: &[Log<'_>]| rig.write(name, logs_of(rig, one, logs));
    // Tag n takes n us, from the task to the interrupt.
    let starts: Vec<_> = (1..=100).map(|n| (n * 1000, n as u32, 1)).collect();
    let ends: Vec<_> = (1..=100).map(|n| (n * 1000 + n, n as u32, 2)).collect();
    write("hundred", &[(7, "fio", &starts), (0, "", &ends)]);
    // 1 has no end, 2 starts again, 3 and 4 have no start.
    let starts = [(10, 1, 1), (20, 2, 1), (30, 2, 1)];
    let ends = [(15, 3, 2), (25, LOST, 0), (32, 2, 2), (40, 4, 2)];
    write("unpaired", &[(7, "fio", &starts), (0, "", &ends)]);
    let thread = [(10, 1, 1), (17, 9, 2), (20, 1, 1)];
    write("thread", &[(7, "fio", &thread), (0, "", &[(30, 1, 2)])]);
    let counted = [(10, 3, 1), (20, 4, 1), (1_000_010, 5, 1)];
    write("counted", &[(7, "fio", &counted), (0, "", &[(30, 6, 2)])]);
    let ends = [(11, 1, 2), (22, 2, 2)];
    write("one", &[(7, "fio", &[(10, 1, 1), (20, 2, 1)]), (0, "", &ends)]);
    // A tag is a machine's own.
    let two: [Log<'_>; 2] = [(7, "fio", &[(15, 1, 1)]), (0, "", &[(18, 1, 2)])];
    rig.write("two", logs_of(rig, ("two", [2; 16]), &two));
    let renamed: [Log<'_>; 2] = [(7, "sh", &[(10_000, 1, 1)]), (7, "fio", &[(12_000, 1, 2)])];
    write("renamed", &renamed);
    let blanks: [Log<'_>; 4] = [
        (7, "a 1", &[(10_000, 2, 1)]),
        (8, "a", &[(12_000, 12, 2)]),
        (9, "a", &[(13_000, 1, 1)]),
        (10, "a 1", &[(14_000, 2, 2)]),
    ];
    write("blanks", &blanks);
    let mut many: Vec<_> = (0..150).map(|n| (n * 1000, n as u32, n)).collect();
    many.extend([(500_000, 1, 77); 3]);
    write("many", &[(7, "fio", &many)]);
    let most = i64::MAX as u64;
    for (name, values) in [
        ("most", [most - 1, 1]),
        ("over", [most, 1]),
        ("edge", [most, most + 1]),
        ("twice", [u64::MAX, u64::MAX]),
    ] {
        let records: Vec<_> = (1..).zip(values).map(|(us, n)| (us, 1, n)).collect();
        write(name, &[(7, "fio", &records)]);
    }
    write("dash", &[(7, "-", &[(10, 1, 1)])]);
}

/// Threads that were silent.
fn gaps(rig: &Rig) -> Vec<u8> {
    let mut b = rig.disk(&[[0; 4], [20 * S; 4]]);
    b.component(2, "net");
    let page = |ring, times: &[u64]| {
        let mut page = Page::new(ring, 1, times[0] * MS, 0);
        for ms in times {
            page.record(ms * MS, 1, (&(*ms as u32), &0u64));
        }
        page
    };
    let mut add = |mut ring: Ring, page: Page| {
        ring.records = page.records().into();
        b.ring(&ring).page(&ring, &page);
    };
    // A thread that logs for two components.
    add(Ring::task(1, 1, 7, "two"), page(1, &[10_000, 11_000]));
    add(Ring::task(2, 1, 7, "two"), page(1, &[10_200]));
    // One that has lost records: between these two, nobody knows.
    let mut lossy = page(2, &[1_000]);
    lossy.lost(3_000 * MS, 0, 5);
    for ms in [5_000u64, 5_500] {
        lossy.record(ms * MS, 1, (&1u32, &0u64));
    }
    add(Ring::task(1, 2, 8, "lossy"), lossy);
    add(Ring::softirq(1, 3, 0), page(3, &[100, 9_000]));
    // Two that share a ring, in which records were lost of one of them.
    let mut shared = Page::new(4, 1, 2_000 * MS, 0);
    for (ms, pid, comm) in [
        (2_000, 9, "nine"),
        (2_500, 10, "ten"),
        (3_000, 0, ""),
        (6_000, 9, "nine"),
        (8_000, 10, "ten"),
        (8_300, 10, "ten"),
    ] {
        if pid == 0 {
            shared.lost(ms * MS, 0, 1);
            continue;
        }
        shared.writer(ms * MS, TASK, 0, (pid, 9, comm));
        shared.record(ms * MS, 1, (&(ms as u32), &0u64));
    }
    add(Ring::shared(1, 4, 0), shared);
    b.end()
}

/// Snapshots with a single task, of which this makes the page.
fn one_ring(b: &mut Builder, comm: &'static str, fill: impl FnOnce(&mut Page)) -> Vec<u8> {
    let ring = Ring::task(1, 1, 42, comm);
    let mut page = Page::new(1, 1, 0, 0);
    fill(&mut page);
    b.ring(&ring).page(&ring, &page).end()
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

    let mut b = Builder::new();
    b.system(BOOT_ID).images(&[(1, 4, &rig.build_id, "test_mod")]).component(1, "disk");
    let withheld = one_ring(&mut b, "fio", |p| {
        p.record(1, 1, (&8u32, &0x1000u64));
        p.raw_record(2, 1, &[]);
        p.raw_record(3, 2, &[]);
        // A call without arguments has nothing that could be.
        p.record(4, 4, ());
    });
    rig.write("withheld", withheld);
    let mut b = Builder::new();
    let images: [(u32, u32, &[u8], &str); 2] =
        [(1, 4, &rig.build_id, "test_mod"), (5, 1, b"gone", "gone")];
    b.system(BOOT_ID).clock(1, &CLOCK).images(&images).component(1, "disk");
    let some = one_ring(&mut b, "fio", |p| p.record(2000, 1, (&8u32, &0x1000u64)));
    rig.write("some-tables", some);
    // Neither the list of tasks nor the ring has the name.
    let named = one_ring(&mut rig.disk(&CLOCK), "fio", |p| {
        p.writer(0, 0, 0, (42, 42, "sh"));
        p.record(0, 4, ());
    });
    rig.write("named", named);
    rig.write("empty", rig.disk(&CLOCK).end());
    for (name, lost) in [("lost", i64::MAX as u64), ("lost-more", 1 << 63)] {
        let lost = one_ring(&mut rig.disk(&CLOCK), "fio", |p| {
            p.lost(1000, 0, lost);
            p.record(2000, 4, ());
        });
        rig.write(name, lost);
    }
    // 2023-10-29T01:00:00Z is two seconds after boot.
    let real = 1_698_541_198 * S;
    let clock = [[0, 0, 0, real], [10 * S, 10 * S, 10 * S, real + 10 * S]];
    let autumn = one_ring(&mut rig.disk(&clock), "fio", |p| {
        p.record(S, 4, ());
        p.record(2 * S, 4, ());
    });
    rig.write("autumn", autumn);
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
    rig.write("reach", overwritten(rig, false));
    rig.write("reach-left", overwritten(rig, true));
    for (kind, name) in [(1, "long-mono"), (2, "long-counter"), (3, "long-mixed")] {
        rig.write(name, long_capture(rig, kind));
    }
    rig.write("asleep", asleep(rig));
    boots(rig);
    answers(rig);
    losses(rig);
    rig.write("digits", digits(rig));
    rig.write("gaps", gaps(rig));
    rig.write("stream", stream(rig));
}

#[test]
fn commands_say_what_their_files_have() {
    commands::check(COMMANDS, files);
}
