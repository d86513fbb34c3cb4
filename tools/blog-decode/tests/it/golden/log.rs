// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The log that the golden files show: each type, each level, each context, losses of several
//! causes, records without a side table, tasks, and text that outputs must escape.

use blog_table::{descriptor::Site, format::Table};

use crate::common::{
    image::{Call, STATE},
    snapshot::{padded, Builder, Page, Ring, BOOT_ID},
};

/// The module of the side table that is there.
pub const MODULE: &str = "golden_mod";

const fn call(
    line: u32,
    level: u8,
    format: &'static str,
    args: &'static [(&'static str, u64)],
) -> Call {
    Call { line, level, format, args }
}

/// Call sites; ids are from 1.
pub const CALLS: &[Call] = &[
    call(11, 3, "read {} sectors at {sector:#x}", &[("count", 0x03), ("sector", 0x04)]),
    call(22, 1, "{name:?}: {e:?}", &[("name", 0x22), ("e", 0x26)]),
    call(33, 4, "state {:#?}", &[("s", STATE)]),
    call(44, 5, "nothing to say", &[]),
    call(
        55,
        2,
        "{queue:>6} took {} ns for {mac}",
        &[("took", 0x42), ("mac", 0x45), ("queue", 0x23)],
    ),
    call(66, 3, "{:p} {} {:?} {:+}", &[("at", 0x25), ("ok", 0x20), ("c", 0x21), ("big", 0x15)]),
    call(
        77,
        3,
        "{from} to {to}: {:?} {:?}",
        &[("ttl", 0x30 | 0x01 << 8), ("sent", 0x31 | 0x03 << 8), ("from", 0x43), ("to", 0x44)],
    ),
    call(88, 4, "sense {}", &[("sense", 0x29)]),
    call(99, 2, "{}", &[("text", 0x22)]),
    call(111, 3, "{:e} {:02x?}", &[("n", 0x02), ("key", 0x28 | 4 << 8)]),
];

const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;
/// Suspended for so long before the first record.
const SUSPENDED: u64 = 7 * SECOND;

/// A record's payload: the bytes of its arguments, one after the other.
fn payload(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

/// A length, and the bytes after it.
fn tail(bytes: &[u8]) -> Vec<u8> {
    [&[bytes.len() as u8], bytes].concat()
}

fn disk(b: &mut Builder, late: bool, version: u32) {
    b.component_with_losses(1, "disk", 17, [0; 8]);
    let mut fio = Ring::task(1, 1, 4242, "fio");
    fio.records = 5 + 6 + u64::from(late);
    b.ring(&fio);
    let mut p = Page::new(1, 2, SECOND, 5);
    p.record(SECOND + 1_234, 1, (&8u32, &0x1000u64));
    p.record(SECOND + 2 * MS, 2, ("sda \"1\"\t\x1b[2J é", &-5i32));
    // State::Busy { tag: 3 } and State::Idle
    p.record(SECOND + 3 * MS, 3, (&1u8, &3u32));
    p.raw_record(SECOND + 4 * MS, 3, &payload(&[&[0; 5]]));
    p.lost(SECOND + 5 * MS, 0, 120);
    p.raw_record(
        SECOND + 6 * MS,
        5,
        &payload(&[&1_500i64.to_le_bytes(), &[2, 0, 0x5e, 0x10, 0, 0xff], &tail(b"q7")]),
    );
    b.page(&fio, &p);
    // The clock's low bits wrap on this page.
    let mut p = Page::new(1, 3, 60 * SECOND, 10);
    p.raw_record(70 * SECOND, 9, &payload(&[&tail(b"two\nlines, \"quoted\", <b>&amp;</b>")]));
    if late {
        p.record(71 * SECOND, 1, (&16u32, &u64::MAX));
    }
    b.page(&fio, &p);
    let mut softirq = Ring::softirq(1, 2, 1);
    softirq.records = 2;
    b.ring(&softirq);
    let mut p = Page::new(2, 1, SECOND, 0);
    p.raw_record(SECOND + 2 * MS + 1, 4, &[]);
    p.raw_record(
        SECOND + 3 * MS,
        6,
        &payload(&[
            &0xffff_8880_0000_1000u64.to_le_bytes(),
            &[1],
            &u32::from('🦀').to_le_bytes(),
            &i128::MIN.to_le_bytes(),
        ]),
    );
    b.page(&softirq, &p);
    let mut nmi = Ring::softirq(1, 3, 0);
    (nmi.context, nmi.records) = (3, 1);
    let mut p = Page::new(3, 1, SECOND, 0);
    p.raw_record(SECOND + 7 * MS, 8, &payload(&[&tail(&[0xde, 0xad, 0xbe])]));
    if version >= 3 {
        p.raw_record(SECOND + 8 * MS, PROBE, &77u32.to_le_bytes());
        nmi.records += 1;
    }
    b.ring(&nmi);
    b.page(&nmi, &p);
    if version >= 4 {
        // A task has got the ring of the softirq, which had logged three records more.
        b.released(1, 2, softirq.records);
        b.component_with_losses(1, "disk", 17 + softirq.records + 3, [0; 8]);
    }
}

fn net(b: &mut Builder, late: bool) {
    // The records at 2 s are older. Version 1 doesn't say so.
    b.cleared_component(2, "net", 2 * SECOND + 1);
    let mut irq = Ring::softirq(2, 1, 3);
    (irq.context, irq.records) = (2, 2);
    irq.lost[2] = 4;
    b.ring(&irq);
    let mut p = Page::new(1, 1, SECOND, 0);
    let mut v6 = [0; 16];
    (v6[0], v6[1], v6[15]) = (0xfe, 0x80, 1);
    let ttl: &[u8] = &[1, 64];
    for sent in [[0, 99, 0, 0, 0], [1, 0xf5, 0xff, 0xff, 0xff]] {
        let bytes = payload(&[ttl, &sent, &[192, 0, 2, 1], &v6]);
        p.raw_record(2 * SECOND, 7, &bytes);
    }
    b.page(&irq, &p);
    // An overflow ring, with two writers
    let mut shared = Ring::shared(2, 2, 0);
    shared.records = 3;
    if late {
        shared.records += 1;
        (shared.lost[1], shared.told[1]) = (2, 2);
    }
    b.ring(&shared);
    let mut p = Page::new(2, 1, 3 * SECOND, 0);
    p.writer(3 * SECOND, 0, 2, (77, 70, "kworker/2:1"));
    p.raw_record(3 * SECOND, 10, &payload(&[&1500u16.to_le_bytes(), &[1, 2, 0xfe, 0xff]]));
    p.writer(4 * SECOND, 1, 2, (-1, -1, ""));
    p.raw_record(4 * SECOND, 4, &[]);
    // Of the module whose table is missing
    p.raw_record(5 * SECOND, 101, &7u64.to_le_bytes());
    if late {
        p.lost(6 * SECOND, 1, 2);
        p.raw_record(6 * SECOND + MS, 4, &[]);
    }
    b.page(&shared, &p);
}

/// The tasks: of the log, blocked and running, and one that never wrote.
fn tasks(b: &mut Builder) {
    let mut bytes = Vec::new();
    for (pid, tgid, comm, state, flags, cpu) in [
        (4242i32, 4242i32, "fio", b'D', 0, 1u32),
        (77, 70, "kworker/2:1", b'R', 1 | 2, 2),
        (1, 1, "init", b'S', 0, 0),
    ] {
        bytes.extend([pid.to_le_bytes(), tgid.to_le_bytes()].concat());
        bytes.extend(padded::<16>(comm));
        bytes.extend([state, flags, 0, 0]);
        bytes.extend(cpu.to_le_bytes());
    }
    b.section(8, &bytes);
}

/// The site of a probe.
const PROBE: u32 = 200;
const PROBE_ID: &[u8] = b"build id of a probe!";

/// The probe's side table.
fn table(b: &mut Builder) {
    let site = Site {
        line: 1,
        level: 3,
        codes: vec![0x03],
        format: "op %u".into(),
        names: vec!["op".into()],
        is_c: true,
        ..Site::default()
    };
    let table = Table {
        build_id: PROBE_ID.to_vec(),
        name: "probe".into(),
        sites: vec![site],
        ..Table::default()
    };
    b.section(10, &table.encode().unwrap());
}

/// Two tasks wait: one for a mutex of another, which waits for a lock of readers who are gone.
fn waits(b: &mut Builder) {
    let mut bytes = Vec::new();
    for (lock, pid, holder, kind, flags) in
        [(0x1000u64, 4242i32, 77i32, 1u32, 0u32), (0x2000, 77, 1, 4, 1 | 2)]
    {
        bytes.extend(lock.to_le_bytes());
        bytes.extend([pid.to_le_bytes(), holder.to_le_bytes()].concat());
        bytes.extend([kind.to_le_bytes(), flags.to_le_bytes()].concat());
    }
    b.section(11, &bytes);
}

/// How many records of the first sites have left their rings.
fn counts(b: &mut Builder, is_late: bool) {
    let mut bytes = [1, u32::from(is_late)].map(u32::to_le_bytes).concat();
    for n in [4 + u64::from(is_late), 0, 2] {
        bytes.extend(n.to_le_bytes());
    }
    b.section(9, &bytes);
}

/// A snapshot of this version of the file; `late` is the same a while later.
pub fn snapshot(build_id: &[u8], late: bool, version: u32) -> Vec<u8> {
    let mut b = Builder::of_version(version);
    let real = 1_790_000_000 * SECOND;
    let pair = |t: u64| [t, t, t + SUSPENDED, real + t + SUSPENDED, t + MS];
    let mut images: Vec<(u32, u32, &[u8], &str)> =
        vec![(1, CALLS.len() as u32, build_id, MODULE), (100, 2, &[0x5a; 20], "gone_mod")];
    b.system(BOOT_ID).clock(1, &[pair(0), pair(100 * SECOND)]);
    if version >= 3 {
        table(&mut b);
        images.push((PROBE, 1, PROBE_ID, "probe"));
    }
    b.images(&images);
    tasks(&mut b);
    if version >= 3 {
        waits(&mut b);
        counts(&mut b, false);
    }
    disk(&mut b, late, version);
    net(&mut b, late);
    if version >= 3 {
        counts(&mut b, true);
    }
    b.end()
}

/// A boot of a machine: since when in ms of real time, and how long ago that is when it logs.
pub struct Boot {
    pub file: &'static str,
    host: &'static str,
    id: u8,
    up: u64,
    first: u64,
}

/// Two machines and three boots: alpha is up for more than a day, beta for a second; alpha boots again.
pub const BOOTS: [Boot; 3] = [
    Boot { file: "alpha-2.snap", host: "alpha", id: 0xa2, up: 5_000, first: 60_000 },
    Boot { file: "alpha-1.snap", host: "alpha", id: 0xa1, up: 100_000_000, first: 0 },
    Boot { file: "beta.snap", host: "beta", id: 0xb1, up: 1_000, first: 0 },
];

/// Three records of a thread a ms apart; those of beta come half a ms after those of alpha.
pub fn boot(build_id: &[u8], boot: &Boot) -> Vec<u8> {
    let real = 1_790_000_000 * SECOND + boot.first * MS - boot.up * MS;
    // The ring's clock is not the one since boot.
    let pair = |t: u64| [t, t, t + SECOND, real + t + SECOND];
    let late = if boot.host == "beta" { MS / 2 } else { 0 };
    let start = boot.up * MS + late - SECOND;
    let mut b = Builder::new();
    b.system_of(boot.host, [boot.id; 16])
        .clock(1, &[pair(0), pair(start + 3 * MS)])
        .images(&[(1, CALLS.len() as u32, build_id, MODULE)])
        .component(1, "disk");
    let mut fio = Ring::task(1, 1, 4242, "fio");
    fio.records = 5;
    b.ring(&fio);
    let mut p = Page::new(1, 1, start, 2);
    for n in 0..3 {
        p.record(start + n * MS, 1, (&(n as u32), &(u64::from(boot.id) << 8 | n)));
    }
    b.page(&fio, &p);
    b.end()
}
