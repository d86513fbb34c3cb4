// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! C formats: what the kernel's own code packs by a compiled format decodes to what `vsnprintf()`
//! prints.
//!
//! Most expectations are those of the kernel's `lib/tests/printf_kunit.c`; integers are also held
//! against the C library, where it prints as the kernel does.

mod common;

extern crate self as kernel;

/// The kernel's crate, as far as its writer of C calls wants it.
pub mod blog {
    pub use crate::common::kernel::wire;
}

#[path = "../../../blog/write/pack.rs"]
#[allow(clippy::all)]
mod pack;

use std::{
    cell::Cell,
    ffi::{c_char, c_int, CString},
    ptr,
};

use blog_decode::{
    blogfmt::printf,
    format::{template::Template, types::Types},
    record::Version,
};
use common::kernel::wire::{
    pack::{Codes, SYMBOL, UNCOMPILED},
    types::{MAX_ARGS, MAX_PAYLOAD},
};
use pack::{Numbers, Packed};
use proptest::prelude::*;

/// Where memory is that can be read.
const BASE: u64 = 0xffff_8880_0000_0000;
/// `PTR_INVALID` of the kernel's test.
const INVALID: u64 = 0xab;
/// Looks like an address, but nothing is there.
const WILD: u64 = 0xffff_dead_0000_0000;

/// Memory with one readable stretch.
#[derive(Default)]
struct Space {
    bytes: Vec<u8>,
    /// Whether it is gone once it was measured.
    vanishes: Cell<bool>,
    gone: Cell<bool>,
    /// How many bytes of strings were looked at.
    seen: Cell<usize>,
}

impl Space {
    fn put(&mut self, bytes: &[u8]) -> u64 {
        let at = BASE + self.bytes.len() as u64;
        self.bytes.extend(bytes);
        at
    }

    fn str(&mut self, s: &str) -> u64 {
        self.put(format!("{s}\0").as_bytes())
    }

    fn get(&self, address: u64, len: usize) -> Option<&[u8]> {
        let start = usize::try_from(address.checked_sub(BASE)?).ok()?;
        self.bytes.get(start..start.checked_add(len)?)
    }
}

thread_local! {
    /// What is there while a call is packed.
    static SPACE: Cell<*const Space> = const { Cell::new(ptr::null()) };
}

fn space<'a>() -> &'a Space {
    // SAFETY: `pack` has set it, and still has it.
    unsafe { &*SPACE.get() }
}

/// In place of the kernel's function, as the other two.
#[no_mangle]
extern "C" fn blog_string_length(address: u64, max: usize) -> isize {
    let space = space();
    for n in 0..max {
        space.seen.set(space.seen.get() + 1);
        match space.get(address + n as u64, 1) {
            Some([0]) => return n as isize,
            Some(_) => {}
            None => return -14,
        }
    }
    max as isize
}

#[no_mangle]
unsafe extern "C" fn blog_text(kind: u32, address: u64, dst: *mut u8, len: usize) -> isize {
    let text = match (kind < SYMBOL.into(), address.checked_sub(BASE)) {
        (true, Some(at)) => format!("{kind}@{at}"),
        (true, None) => return -14,
        (false, _) => format!("{kind}@{address:x}"),
    };
    let n = text.len().min(len);
    // SAFETY: By this function's requirement.
    unsafe { dst.copy_from_nonoverlapping(text.as_ptr(), n) };
    text.len() as isize
}

#[no_mangle]
unsafe extern "C" fn blog_copy_nofault(dst: *mut u8, address: u64, len: usize) -> bool {
    let space = space();
    let bytes = space.get(address, len).filter(|_| !space.gone.get());
    if let Some(bytes) = bytes {
        // SAFETY: By this function's requirement.
        unsafe { dst.copy_from_nonoverlapping(bytes.as_ptr(), len) };
    }
    bytes.is_some()
}

/// What a call stores.
fn pack(space: &Space, word: u64, args: &[u64]) -> Option<Vec<u8>> {
    // An int is passed in a register whose upper half is anything.
    let mut slots = [0xbad0_bad0_bad0_bad0; MAX_ARGS];
    slots[..args.len()].copy_from_slice(args);
    SPACE.set(space);
    let packed = Packed::new(Codes(word), &slots);
    space.gone.set(space.vanishes.get());
    if let Some(packed) = &packed {
        // SAFETY: As `stored` says.
        return Some(stored(packed.size, |dst| unsafe { packed.store(dst) }));
    }
    // Numbers alone are stored in the same way, however many there can be.
    let few: &[u64; 3] = slots.first_chunk().unwrap();
    let some: &[u64; 6] = slots.first_chunk().unwrap();
    let numbers = [
        stored_numbers(word, few),
        stored_numbers(word, some),
        stored_numbers(word, &slots),
    ];
    let count = (word & 15 == 13).then_some((word >> 4 & 15) as usize);
    for (stored, most) in numbers.iter().zip([3, 6, MAX_ARGS]) {
        assert_eq!(
            stored.is_some(),
            count.is_some_and(|n| n <= most),
            "{word:#x}"
        );
    }
    let mut all = numbers.into_iter().flatten().collect::<Vec<_>>();
    if word.checked_shr(8 + 4 * count? as u32).unwrap_or(0) == 0 {
        all.dedup();
        assert!(all.len() <= 1, "{word:#x}");
    }
    all.pop()
}

fn stored_numbers<const N: usize>(word: u64, args: &[u64; N]) -> Option<Vec<u8>> {
    let numbers = Numbers::new(Codes(word), args)?;
    // SAFETY: As `stored` says.
    Some(stored(numbers.size(), |dst| unsafe { numbers.store(dst) }))
}

/// The payload; nothing is stored beyond it, and before it no more than a header is long. There is
/// room for both.
fn stored(size: usize, store: impl FnOnce(*mut u8)) -> Vec<u8> {
    let around = 16;
    let mut bytes = vec![0xee; size + 2 * around];
    store(bytes.as_mut_ptr().wrapping_add(around));
    assert_eq!(bytes[..around - 8], [0xee; 8]);
    assert_eq!(bytes[around + size..], [0xee; 16]);
    assert!(size <= MAX_PAYLOAD);
    bytes[around..around + size].to_vec()
}

fn log(space: &Space, format: &str, args: &[u64]) -> String {
    let compiled = printf::compile(format).unwrap();
    assert_eq!(compiled.count, args.len(), "{format}");
    let payload = pack(space, compiled.codes.0, args).unwrap();
    let mut types = Types::new(&[]);
    let resolved = compiled.types.iter().map(|&c| types.resolve(c).unwrap());
    let names = vec![String::new(); compiled.types.len()];
    let resolved = resolved.collect();
    let template = Template::new_c(format, names, &compiled.types, resolved).unwrap();
    let mut slots = Vec::new();
    assert!(
        template.cut(&payload, Version::Two, &mut slots),
        "{format}: {payload:02x?}"
    );
    let mut out = Vec::new();
    template.print(&payload, &slots, &mut out);
    String::from_utf8(out).unwrap()
}

/// An `int` as it may come, with an upper half that means nothing.
fn int(n: i32) -> u64 {
    u64::from(n as u32) | 0x5a5a_5a5a_0000_0000
}

fn check(expected: &str, format: &str, args: &[u64]) {
    assert_eq!(
        log(&Space::default(), format, args),
        expected,
        "{format:?} {args:x?}"
    );
}

#[test]
fn numbers() {
    check("100%", "100%%", &[]);
    check("100%", "100%5%", &[]);
    check("xxx%yyy", "xxx%cyyy", &[int('%' as i32)]);
    check("  a|a  |", "%3c|%-3c|", &[int(97), int(97)]);
    check("0x1234abcd  ", "%#-12x", &[int(0x1234_abcd)]);
    check("  0x1234abcd", "%#12x", &[int(0x1234_abcd)]);
    check(
        "0|001| 12|+123| 1234|-123|-1234",
        "%d|%03d|%3d|%+d|% d|%+d|% d",
        &[0, 1, 12, 123, 1234, -123, -1234].map(int),
    );
    check(
        "0|1|1|128|255",
        "%hhu|%hhu|%hhu|%hhu|%hhu",
        &[0, 1, 257, 128, -1].map(int),
    );
    check(
        "0|1|1|-128|-1",
        "%hhd|%hhd|%hhd|%hhd|%hhd",
        &[0, 1, 257, 128, -1].map(int),
    );
    check(
        "2015122420151225",
        "%ho%ho%#ho",
        &[1037, 5282, -11627].map(int),
    );
    check(
        "00|0|0|0|0",
        "%.2d|%.1d|%.0d|%.*d|%1.0d",
        &[0, 0, 0, 0, 0, 0].map(int),
    );
    check("-9223372036854775808", "%lld", &[1 << 63]);
    check("18446744073709551615 ffff", "%zu %Lx", &[u64::MAX, 0xffff]);
    check(
        "0|0x0|0XFF|017",
        "%#o|%#x|%#X|%#o",
        &[0, 0, 255, 15].map(int),
    );
    check(
        "42   |   42|00042",
        "%*d|%*d|%0*d",
        &[-5, 42, 5, 42, 5, 42].map(int),
    );
    check("-0042|  0042", "%.*d|%6.4d", &[4, -42, 42].map(int));
    // What only the kernel does: zeros in spite of a precision.
    check("0000042", "%07.3d", &[int(42)]);
    check("\u{fffd}", "%c", &[int(0xe9)]);
}

#[test]
fn strings() {
    let mut space = Space::default();
    let s = |space: &mut Space, s| space.str(s);
    let args = [
        s(&mut space, "ABCD"),
        s(&mut space, "abcdef"),
        int(3),
        s(&mut space, "123456"),
    ];
    let log = |space: &Space, expected: &str, format: &str, args: &[u64]| {
        assert_eq!(log(space, format, args), expected, "{format:?}");
    };
    log(&space, "ABCD|abc|123", "%s|%.3s|%.*s", &args);
    let [one, two, three, four, five, a, b, c] =
        ["1", "2", "3", "4", "5", "a", "b", "c"].map(|t| s(&mut space, t));
    log(
        &space,
        "1  |  2|3  |  4|5  ",
        "%-3s|%3s|%-*s|%*s|%*s",
        &[one, two, int(3), three, int(3), four, int(-3), five],
    );
    let digits = args[3];
    log(&space, "1234      ", "%-10.4s", &[digits]);
    log(&space, "      1234", "%10.4s", &[digits]);
    log(&space, "    ", "%4.*s", &[int(-5), digits]);
    log(&space, "123456", "%.s", &[digits]);
    log(&space, "a||", "%.s|%.0s|%.*s", &[a, b, int(0), c]);
    log(
        &space,
        "a  |   |   ",
        "%-3.s|%-3.0s|%-3.*s",
        &[a, b, int(0), c],
    );
    log(&space, "123456", "%.5000s", &[digits]);
    // No byte after the precision is looked at: this one has no end.
    let open = space.put(b"open");
    log(&space, "open|open", "%.4s|%.*s", &[open, int(4), open]);
    log(&space, "(efault)", "%s", &[open]);
    log(
        &space,
        "(null)|(efault)|(efault)",
        "%s|%s|%s",
        &[0, INVALID, WILD],
    );
    log(&space, "  (null)|(n", "%8s|%.2s", &[0, 0]);
    log(&space, "(efault)", "%s", &[u64::MAX - 10]);
}

#[test]
fn long_strings_are_cut_and_say_so() {
    let mut space = Space::default();
    let long = "x".repeat(2000);
    let at = space.str(&long);
    let kept = MAX_PAYLOAD - 4 - 1 - 2;
    let expected = format!("7 {}\u{2026}[more]", &long[..kept]);
    assert_eq!(log(&space, "%d %s", &[int(7), at]), expected);
    // One that is just too long is seen to its end.
    let ends = space.str(&long[..1022]);
    let expected = format!("7 {}\u{2026}[+6 bytes]", &long[..kept]);
    assert_eq!(log(&space, "%d %s", &[int(7), ends]), expected);
    let expected = &long[..300];
    assert_eq!(log(&space, "%.300s", &[at]), expected);
    let text = log(&space, "%s%s", &[at, at]);
    assert!(text.ends_with("\u{2026}[more]\u{2026}[more]"), "{text}");
    // A precision that is beyond what fits doesn't say where the string ends.
    let text = log(&space, "%.1500s", &[at]);
    assert!(text.ends_with("x\u{2026}[more]"), "{text}");
}

/// A call may have interrupts off: how long it takes must not depend on what it finds.
#[test]
fn strings_are_looked_at_no_further_than_they_are_stored() {
    let mut space = Space::default();
    let at = space.str(&"x".repeat(60_000));
    log(&space, "%s", &[at]);
    assert_eq!(space.seen.take(), MAX_PAYLOAD + 1);
    // Together, but for a byte each, which says that there is more.
    log(&space, "%s%s%s%s%s%s%s%s%s%s%s%s", &[at; 12]);
    assert!(space.seen.take() <= MAX_PAYLOAD + 12);
}

#[test]
fn pointers() {
    let mut space = Space::default();
    let plain = 0xffff_0123_4567_89ab;
    check("ffff0123456789ab", "%p", &[plain]);
    check(
        "ffff0123456789ab|  ffff0123456789ab",
        "%px|%18pK",
        &[plain, plain],
    );
    check("0000000000000000", "%p", &[0]);
    check("fffffffffffffff5", "%px", &[-11i64 as u64]);
    check("00000000000000ab", "%px", &[INVALID]);
    check(
        "12@ffff0123456789ab|13@0|14@1000|  12@a",
        "%pS|%ps|%pB|%6pSR",
        &[plain, 0, 4096, 10],
    );
    check("-1234", "%pe", &[-1234i64 as u64]);
    check("(-ENOTSOCK)", "(%pe)", &[-88i64 as u64]);
    check("[-EIO    ]", "[%-8pe]", &[-5i64 as u64]);
    check("[    -EIO]", "[%8pe]", &[-5i64 as u64]);
    check("-EPROBE_DEFER", "%pe", &[-517i64 as u64]);

    let log = |space: &Space, expected: &str, format: &str, args: &[u64]| {
        assert_eq!(log(space, format, args), expected, "{format:?}");
    };
    let hex = space.put(&[0xc0, 0xff, 0xee]);
    log(
        &space,
        "c0 ff ee|c0:ff:ee|c0-ff-ee|c0ffee",
        "%3ph|%3phC|%3phD|%3phN",
        &[hex; 4],
    );
    log(
        &space,
        "c0 ff ee|c0:ff:ee|c0-ff-ee|c0ffee",
        "%*ph|%*phC|%*phD|%*phN",
        &[int(3), hex, int(3), hex, int(3), hex, int(-3), hex],
    );
    log(
        &space,
        "c0||(null)|    (efault)",
        "%ph|%*ph|%*ph|%*ph",
        &[hex, int(0), 0, int(3), 0, int(12), WILD],
    );
    let mac = space.put(&[0x2d, 0x48, 0xd6, 0xfc, 0x7a, 0x05]);
    for (expected, format) in [
        ("2d:48:d6:fc:7a:05", "%pM"),
        ("05:7a:fc:d6:48:2d", "%pMR"),
        ("05:7A:FC:D6:48:2D", "%pMRU"),
        ("2d-48-d6-fc-7a-05", "%pMF"),
        ("2d48d6fc7a05", "%pm"),
        ("2D48D6FC7A05", "%pmU"),
        ("057afcd6482d", "%pmR"),
    ] {
        log(&space, expected, format, &[mac]);
    }
    let local = space.put(&[127, 0, 0, 1]);
    log(
        &space,
        "127.000.000.001|127.0.0.1",
        "%pi4|%pI4",
        &[local, local],
    );
    log(
        &space,
        "1.0.0.127|127.0.0.1|1.0.0.127",
        "%pI4h|%pI4n|%pI4l",
        &[local; 3],
    );
    log(&space, "(null)|(efault)", "%pI4|%pI6", &[0, WILD]);
    log(&space, "127.0.0.1      |", "%-15pI4|", &[local]);
    let uuid: Vec<u8> = (0..16).collect();
    let uuid = space.put(&uuid);
    for (expected, format) in [
        ("00010203-0405-0607-0809-0a0b0c0d0e0f", "%pUb"),
        ("00010203-0405-0607-0809-0A0B0C0D0E0F", "%pUB"),
        ("03020100-0504-0706-0809-0a0b0c0d0e0f", "%pUl"),
        ("03020100-0504-0706-0809-0A0B0C0D0E0F", "%pUL"),
    ] {
        log(&space, expected, format, &[uuid]);
    }
    let physical = space.put(&0x1234_5678_9abc_def0u64.to_le_bytes());
    log(&space, "0x123456789abcdef0", "%pad", &[physical]);
    log(&space, "0x123456789abcdef0", "%pNF", &[physical]);
}

#[test]
fn addresses_of_version_6() {
    for (expected, words) in [
        ("1:2:3:4:5:6:7:8", [1, 2, 3, 4, 5, 6, 7, 8]),
        ("1:0:3:4:5:6:7:8", [1, 0, 3, 4, 5, 6, 7, 8]),
        ("::", [0; 8]),
        ("::1", [0, 0, 0, 0, 0, 0, 0, 1]),
        ("1::", [1, 0, 0, 0, 0, 0, 0, 0]),
        ("fe80::1:0:0:1", [0xfe80, 0, 0, 0, 1, 0, 0, 1]),
        ("::ffff:1.2.3.4", [0, 0, 0, 0, 0, 0xffff, 0x0102, 0x0304]),
        (
            "fe80::5efe:1.2.3.4",
            [0xfe80, 0, 0, 0, 0, 0x5efe, 0x0102, 0x0304],
        ),
        (
            "fe80::200:5efe:1.2.3.4",
            [0xfe80, 0, 0, 0, 0x200, 0x5efe, 0x0102, 0x0304],
        ),
    ] {
        let mut space = Space::default();
        let bytes: Vec<u8> = words.iter().flat_map(|w: &u16| w.to_be_bytes()).collect();
        let at = space.put(&bytes);
        assert_eq!(log(&space, "%pI6c", &[at]), expected);
        let plain: Vec<String> = words.iter().map(|w| format!("{w:04x}")).collect();
        assert_eq!(log(&space, "%pI6", &[at]), plain.join(":"));
        assert_eq!(log(&space, "%pi6", &[at]), plain.join(""));
    }
}

#[test]
fn bitmaps() {
    let mut space = Space::default();
    let none = space.put(&[0; 8]);
    let primes = space.put(&0xa28acu64.to_le_bytes());
    let all = space.put(&[0xff; 16]);
    for (bits, hex, list) in [
        (none, "00000", ""),
        (primes, "a28ac", "2-3,5,7,11,13,17,19"),
        (all, "fffff", "0-19"),
    ] {
        let args = [bits, int(20), bits];
        assert_eq!(log(&space, "%20pb|%*pb", &args), format!("{hex}|{hex}"));
        assert_eq!(log(&space, "%20pbl|%*pbl", &args), format!("{list}|{list}"));
    }
    assert_eq!(
        log(&space, "%*pb %*pbl", &[int(100), all, int(100), all]),
        "f,ffffffff,ffffffff,ffffffff 0-99"
    );
    assert_eq!(
        log(&space, "%*pb|%*pbl", &[int(0), all, int(9), 0]),
        "|   (null)"
    );
}

#[test]
fn fourcc() {
    let mut space = Space::default();
    for (code, cases) in [
        (
            0x3231_5659u32,
            [
                ("YV12 little-endian (0x32315659)", "%p4cc"),
                ("21VY (0x32315659)", "%p4ch"),
                ("YV12 (0x59563132)", "%p4chR"),
                ("21VY (0x32315659)", "%p4cl"),
                ("YV12 (0x59563132)", "%p4cb"),
            ],
        ),
        (
            0xb231_5659,
            [
                ("YV12 big-endian (0xb2315659)", "%p4cc"),
                (".1VY (0xb2315659)", "%p4ch"),
                ("YV1. (0x595631b2)", "%p4chR"),
                (".1VY (0xb2315659)", "%p4cl"),
                ("YV1. (0x595631b2)", "%p4cb"),
            ],
        ),
    ] {
        let at = space.put(&code.to_le_bytes());
        for (expected, format) in cases {
            assert_eq!(log(&space, format, &[at]), expected, "{format}");
        }
    }
}

#[test]
fn resources_and_ranges() {
    let mut space = Space::default();
    let mut resource = |start: u64, end: u64, flags: u64| {
        let words = [start, end, 7, flags].map(u64::to_le_bytes);
        space.put(&words.concat())
    };
    let cases = [
        (
            "[mem 0xc0ffee00 flags 0x200]",
            "%pr",
            resource(0xc0ff_ee00, 0xc0ff_ee00, 0x200),
        ),
        (
            "[mem 0x00c0ffee-0xba5eba11 flags 0x200]",
            "%pr",
            resource(0xc0_ffee, 0xba5e_ba11, 0x200),
        ),
        (
            "[io  size 0x1000 disabled]",
            "%pR",
            resource(0xba11, 0xca10, 0x3000_0100),
        ),
        (
            "[mem 0x00001000-0x00001fff 64bit pref window]",
            "%pR",
            resource(0x1000, 0x1fff, 0x30_2200),
        ),
        ("[irq 7]|", "%pR|", resource(7, 7, 0x400)),
        ("[bus 00-ff]", "%pR", resource(0, 255, 0x1000)),
        (
            "[??? 0x00000001 flags 0x20000000]",
            "%pR",
            resource(1, 1, 0x2000_0000),
        ),
        (
            "[range 0xc0ffee00ba5eba11]",
            "%pra",
            resource(0xc0ff_ee00_ba5e_ba11, 0xc0ff_ee00_ba5e_ba11, 0),
        ),
        (
            "[range 0x0000000000000001-0x0000000000000002]",
            "%pra",
            resource(1, 2, 0),
        ),
    ];
    for (expected, format, at) in cases {
        assert_eq!(log(&space, format, &[at]), expected);
    }
    assert_eq!(log(&space, "%pR|%12pr", &[0, WILD]), "(null)|    (efault)");
}

#[test]
fn times_and_dates() {
    let mut space = Space::default();
    let tm: Vec<u8> = [43, 35, 5, 26, 10, 118, 1, 0, 0]
        .into_iter()
        .flat_map(i32::to_le_bytes)
        .collect();
    let tm = space.put(&tm);
    let t = space.put(&1_546_615_943i64.to_le_bytes());
    let ts = space.put(
        &[1_546_615_943i64, 11_235_813]
            .map(i64::to_le_bytes)
            .concat(),
    );
    for (expected, format, at) in [
        ("2018-11-26T05:35:43", "%ptR", tm),
        ("0118-10-26T05:35:43", "%ptRr", tm),
        ("05:35:43 tr|", "%ptRt tr|", tm),
        ("2018-11-26", "%ptRdtr", tm),
        ("0118-10-26", "%ptRdr", tm),
        ("2019-01-04T15:32:23", "%ptT", t),
        ("0119-00-04 15:32:23", "%ptTsr", t),
        ("15:32:23", "%ptTts", t),
        ("2019-01-04T15:32:23.011235813", "%ptS", ts),
        ("1546615943.011235813", "%ptSp", ts),
    ] {
        assert_eq!(log(&space, format, &[at]), expected);
    }
    for (expected, seconds) in [
        ("1970-01-01T00:00:00", 0i64),
        ("1969-12-31T23:59:59", -1),
        ("2000-02-29T00:00:00", 951_782_400),
        ("2000-03-01T00:00:00", 951_868_800),
        ("2100-02-28T23:59:59", 4_107_542_399),
        ("2100-03-01T00:00:00", 4_107_542_400),
        ("1600-02-29T12:00:00", -11_670_955_200),
    ] {
        let at = space.put(&seconds.to_le_bytes());
        assert_eq!(log(&space, "%ptT", &[at]), expected);
    }
}

#[test]
fn socket_addresses() {
    let mut space = Space::default();
    let v4 = space.put(&[2, 0, 0x30, 0x39, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0]);
    let mut v6 = vec![10, 0, 0x30, 0x39, 0xf0, 0, 0, 7];
    v6.extend([0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8]);
    v6.extend([9, 0, 0, 0]);
    let v6 = space.put(&v6);
    let other = space.put(&[1, 0]);
    for (expected, format, at) in [
        ("1.2.3.4", "%pIS", v4),
        ("001.002.003.004:12345", "%piSp", v4),
        ("4.3.2.1:12345", "%pISpl", v4),
        ("00010002000300040005000600070008", "%piS", v6),
        ("[1:2:3:4:5:6:7:8]:12345", "%pISpc", v6),
        ("[1:2:3:4:5:6:7:8]:12345/7%9", "%pISpcfs", v6),
        ("(einval)", "%pIS", other),
        ("(null)", "%pIS", 0),
        ("(efault)", "%pISpc", WILD),
    ] {
        assert_eq!(log(&space, format, &[at]), expected, "{format}");
    }
}

#[test]
fn escaped_bytes() {
    let mut space = Space::default();
    let at = space.put(b"a\n\x01\\\"\0~");
    for (expected, format) in [
        (r#"a\n\001\"\0~"#, "%*pE"),
        (r"\x61\n\x01\x5c\x22\x00\x7e", "%*pEhs"),
        (r#"a\n\001\"\000~"#, "%*pEosp"),
        (r#"\141\n\001\\\"\0\176"#, "%*pEa"),
    ] {
        assert_eq!(log(&space, format, &[int(7), at]), expected, "{format}");
    }
    assert_eq!(
        log(
            &space,
            "%pE|%2pE|%*pE|%*pE",
            &[at, at, int(0), 0, int(1), 0]
        ),
        "a|a\\n||(null)"
    );
    let long = space.put(&[b'x'; 200]);
    assert_eq!(log(&space, "%*pE", &[int(200), long]), "x".repeat(200));
}

/// What they are called is up to the kernel; here it is the kind, and where.
#[test]
fn objects_are_stored_by_name() {
    let mut space = Space::default();
    let at = space.put(b"object");
    for (expected, format) in [
        ("0@0", "%pd"),
        ("1@0  |", "%-5pd2|"),
        ("3@", "%.2pd4"),
        (" 6@0", "%4pD3"),
        ("8@0", "%pg"),
        ("9@0", "%pGp"),
        ("10@0", "%pGv"),
        ("11@0", "%20pGg"),
    ] {
        assert_eq!(log(&space, format, &[at]), expected, "{format}");
    }
    assert_eq!(
        log(&space, "%pd|%pD|%pg", &[0, INVALID, 0]),
        "(null)|(efault)|(null)"
    );
    assert_eq!(log(&space, "%*pd2", &[int(-4), at]), "1@0 ");
}

/// What can't be stored, or isn't printed by the kernel, is refused, and the reason names it.
#[test]
fn what_cannot_be_stored_is_refused() {
    for (format, reason) in [
        ("%pV", "can't be stored"),
        ("%pA", "Rust"),
        ("%pOF", "firmware's tables"),
        ("%pfw", "firmware's tables"),
        ("%pC", "clock framework"),
        ("%pks", "BPF"),
        ("%pI5", "knows no %pI5"),
        ("%pt", "knows no %pt"),
        ("%pNx", "knows no %pNx"),
        ("%p4cx", "knows no %p4cx"),
        ("%pGx", "knows no %pGx"),
        ("%8pg", "width or precision of %pg"),
        ("%256pE", "longer than 255 bytes"),
        ("%n", "%n stores"),
        ("%hhn", "%n stores"),
        ("%f", "no conversion 'f'"),
        ("%q", "no conversion 'q'"),
        ("tail %", "ends in the middle"),
        ("%-5.", "ends in the middle"),
        ("%l", "ends in the middle"),
        ("%*%", "no conversion '%'"),
        ("%d%é", "no conversion 'é'"),
        ("%*.*ph", "means nothing"),
        ("%2048pb", "longer than 255 bytes"),
        ("%9999999pb", "longer than"),
        ("%d%d%d%d%d%d%d%d%d%d%d%d%d", "13 arguments"),
        ("%pI4%pI4%pI4%pI4%pI4%pI4", "more arguments"),
    ] {
        let error = printf::compile(format).expect_err(format);
        assert!(error.contains(reason), "{format}: {error}");
    }
}

#[test]
fn sources_say_which_argument_is_stored() {
    let compiled = printf::compile("%*d %.*s %*ph %c").unwrap();
    assert_eq!(compiled.sources, [0, 1, 3, 4, 5, 6]);
    assert_eq!(compiled.count, 7);
}

/// The writer is given what the image has, whatever that is.
#[test]
fn any_word_of_codes_is_harmless() {
    assert!(pack(&Space::default(), UNCOMPILED, &[]).is_none());
    let mut space = Space::default();
    let at = space.put(&[7; 3000]);
    let mut word = 0x1234_5678_9abc_def1u64;
    for _ in 0..20_000 {
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
        let args = [at; MAX_ARGS].map(|a| if word & 64 == 0 { a } else { word });
        let _ = pack(&space, word, &args);
    }
}

/// What was readable when it was measured need not be when it is copied.
#[test]
fn memory_may_vanish_meanwhile() {
    let mut space = Space::default();
    let at = space.str("there");
    space.vanishes.set(true);
    assert_eq!(
        log(&space, "%s|%4ph|%*ph|%d", &[at, at, int(2), at, int(5)]),
        "|(efault)|00 00|5"
    );
}

#[test]
fn literals_are_what_the_compiler_makes_of_them() {
    for (source, expected) in [
        (r#""read %u\n""#, "read %u\n"),
        (r#""a" "b"   "c""#, "abc"),
        (r#""\"q\" \\ \x41\102\e\?\'""#, "\"q\" \\ AB\x1b?'"),
        (r#""\001" "3" "x""#, "\u{1}3x"),
        (r#""""#, ""),
        // A byte of another encoding.
        (r#""\xb0" "C""#, "\u{fffd}C"),
    ] {
        assert_eq!(printf::literal(source).as_deref(), Ok(expected), "{source}");
    }
    for source in ["fmt", r#""a" fmt"#, r#""a"#, r#""\q""#, r#""\0""#] {
        assert!(printf::literal(source).is_err(), "{source}");
    }
    assert_eq!(
        printf::arguments(r#"n, f(a, b), ",", x[i, j], ',', "\",\"""#),
        ["n", "f(a, b)", "\",\"", "x[i, j]", "','", r#""\",\"""#]
    );
    assert!(printf::arguments("").is_empty());
}

extern "C" {
    fn snprintf(buf: *mut c_char, size: usize, format: *const c_char, ...) -> c_int;
}

/// What the C library prints.
fn libc(format: &str, width: i32, precision: i32, n: u64) -> String {
    let format = CString::new(format).unwrap();
    let mut buf = [0u8; 256];
    // SAFETY: The format takes two ints and a number, whose size is in it.
    let len = unsafe {
        snprintf(
            buf.as_mut_ptr().cast(),
            buf.len(),
            format.as_ptr(),
            width,
            precision,
            n,
        )
    };
    String::from_utf8(buf[..len as usize].to_vec()).unwrap()
}

proptest! {
    #[test]
    fn integers_print_as_by_the_c_library(
        flags in "[-+ #]{0,3}",
        zero in any::<bool>(),
        width in -40i32..40,
        precision in 1i32..40,
        size in prop::sample::select(vec!["hh", "h", "", "l", "ll", "z"]),
        letter in prop::sample::select(vec!["d", "i", "u", "x", "X", "o"]),
        shift in 0u32..64,
        n in any::<u64>(),
    ) {
        // Where the kernel isn't C: no zeros with a precision, and no prefix before a zero or as
        // one of the digits of a precision.
        let n = n >> shift | 1;
        let octal = letter == "o" && flags.contains('#');
        let (zero, precision) = if zero || octal { ("0", 1) } else { ("", precision) };
        let format = if precision == 1 {
            format!("%{flags}{zero}{width}{size}{letter}", width = width.abs() + 1)
        } else {
            format!("%{flags}*.*{size}{letter}")
        };
        if precision == 1 {
            // The same without arguments before it.
            let spaced = format!("%.0d%.0d{format}");
            let expected = libc(&spaced, 0, 0, n);
            prop_assert_eq!(log(&Space::default(), &format, &[n]), expected);
        } else {
            let expected = libc(&format, width, precision, n);
            let args = [int(width), int(precision), n];
            prop_assert_eq!(log(&Space::default(), &format, &args), expected);
        }
    }

    #[test]
    fn any_format_is_compiled_or_refused(format in "(%[-+ #0]{0,2}[0-9*]{0,2}\\.?[0-9*]{0,2}[hlzLt]{0,2}[a-zA-Z%][a-zA-Z0-9]{0,3}|.){0,6}") {
        if let Ok(compiled) = printf::compile(&format) {
            let payload = pack(&Space::default(), compiled.codes.0, &[WILD; MAX_ARGS]);
            prop_assert!(payload.is_some());
            log(&Space::default(), &format, &vec![WILD; compiled.count]);
        }
    }
}

#[test]
fn bases_are_known_where_the_text_has_none() {
    let base = |format: &str| {
        let compiled = printf::compile(format).unwrap();
        let mut types = Types::new(&[]);
        let resolved = compiled.types.iter().map(|&c| types.resolve(c).unwrap());
        let (names, resolved) = (vec![String::new()], resolved.collect());
        let template = Template::new_c(format, names, &compiled.types, resolved);
        template.unwrap().base(0)
    };
    let formats = ["%x", "%08X", "%o", "%u", "%#x", "%p"];
    assert_eq!(formats.map(base), [16, 16, 8, 10, 10, 10]);
}
