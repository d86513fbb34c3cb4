// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The log that the golden files show: each type, each level, each context, losses of several
//! causes, records without a side table, tasks, and text that outputs must escape.

use blog_table::{bytes::hex, descriptor::Site, format::Table};

use crate::common::{
    fixture,
    image::{Call, STATE},
};

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

/// A string as an argument: its length, and its bytes.
fn tail(text: &str) -> String {
    format!("x{}", hex(&[&[text.len() as u8], text.as_bytes()].concat()))
}

/// A probe's side table.
fn table() -> String {
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
        build_id: b"build id of a probe!".to_vec(),
        name: "probe".into(),
        sites: vec![site],
        ..Table::default()
    };
    format!("x{}", hex(&table.encode().unwrap()))
}

/// A snapshot of this version of the file; `late` is the same a while later. The machine was
/// suspended for 7 s before the first record.
///
/// Of component "disk": a ring of a task, on whose second page the clock's low bits wrap, and rings
/// of a softirq and an NMI; since version 4 of the file, a task got the ring of the softirq, which
/// had logged three records more. Of "net", whose records up to 2 s were cleared, which version 1
/// doesn't have: a ring of an interrupt, and an overflow ring with two writers and a record of the
/// module without a table. Two tasks wait: one for a mutex of the other, which waits for a lock of
/// readers who are gone.
pub fn snapshot(build_id: &[u8], late: bool, version: u32) -> Vec<u8> {
    let since = |least: u32, text: &'static str| if version >= least { text } else { "" };
    let later = |text: &'static str| if late { text } else { "" };
    let address = "xfe800000000000000000000000000001";
    let text = format!(
        "version {version}; real 1790000000s; clock mono 0=0=7s=1ms 100s=100s=107s=100001ms
         {probe}
         image 1 10 golden_mod; image 100 2 gone_mod ZZZZZZZZZZZZZZZZZZZZ
         {probe_image}
         section 8 4242i32 4242i32 fio:16 68u8 0u8 0u16 1u32 77i32 70i32 kworker/2:1:16 \
             82u8 3u8 0u16 2u32 1i32 1i32 init:16 83u8 0u8 0u16 0u32
         {waits}; {counts}
         component 1 disk gone 17
         ring 1 task 4242 fio records {taken} lost no-page 0 told no-page 0
         page 2 from 5 base 1s; call 1000001234 1 8u32 4096u64
         call 1002ms 2 {name} -5i32; call 1003ms 3 1u8 3u32; call 1004ms 3 x0000000000
         lost 1005ms no-page 120; call 1006ms 5 1500i64 x02005e1000ff x027137
         page 3 from 10 base 60s; call 70s 9 {text}; {last}
         ring 2 softirq 1; page 1 base 1s; call 1002000001 4
         call 1003ms 6 x001000008088ffff 1u8 129408u32 -170141183460469231731687303715884105728i128
         ring 3 nmi 0; page 1 base 1s; call 1007ms 8 x03deadbe; {probed}
         {released}
         component 2 net cleared 2000000001
         ring 1 hardirq 3 lost too-long 4; page 1 base 1s
         call 2s 7 x0140 x0063000000 xc0000201 {address}
         call 2s 7 x0140 x01f5ffffff xc0000201 {address}
         ring 2 shared 0; page 1 base 3s; writer 3s task 2 77 70 kworker/2:1
         call 3s 10 1500u16 x0102feff; writer 4s softirq 2 -1 -1; call 4s 4; call 5s 101 7u64
         {nested}; {counts_late}",
        probe = if version >= 3 { format!("section 10 {}", table()) } else { String::new() },
        probe_image = since(3, "image 200 1 probe build_id_of_a_probe!"),
        waits = since(3, "section 11 4096u64 4242i32 77i32 1u32 0u32 8192u64 77i32 1i32 4u32 3u32"),
        counts = since(3, "section 9 1u32 0u32 4u64 0u64 2u64"),
        taken = 11 + u32::from(late),
        name = tail("sda \"1\"\t\x1b[2J é"),
        text = tail("two\nlines, \"quoted\", <b>&amp;</b>"),
        last = later("call 71s 1 16u32 18446744073709551615u64"),
        probed = since(3, "call 1008ms 200 77u32"),
        released = since(4, "released 2 2; component 1 disk gone 22"),
        nested = later("lost 6s nested 2; call 6001ms 4"),
        counts_late = since(3, "section 9 1u32 1u32 5u64 0u64 2u64"),
    );
    fixture::compile(&text, build_id)
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

/// Three records of a thread a ms apart; those of beta come half a ms after those of alpha. The
/// ring's clock is not the one since boot.
pub fn boot(build_id: &[u8], boot: &Boot) -> Vec<u8> {
    let Boot { host, id, up, first, .. } = *boot;
    let real = 1_790_000_000 * SECOND + first * MS - up * MS;
    let late = if host == "beta" { MS / 2 } else { 0 };
    let start = up * MS + late - SECOND;
    let end = start + 3 * MS;
    let mut text = format!(
        "host {host}; boot {id}; real {real}; clock mono 0=0=1s {end}={end}={}
         image 1 10 golden_mod; component 1 disk
         ring 1 task 4242 fio records 5; page 1 from 2 base {start}",
        end + SECOND
    );
    for n in 0..3 {
        text += &format!("; call {} 1 {n}u32 {}u64", start + n * MS, u64::from(id) << 8 | n);
    }
    fixture::compile(&text, build_id)
}
