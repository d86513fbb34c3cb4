// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! What the kernel's `vsnprintf()` does: conversions of C formats, over stored values.
//!
//! [`template`](super::template) calls [`print`] with a conversion whose width and precision are
//! known. The rule is that the text equals what the kernel prints, with two exceptions: an address
//! is never hashed, and that of a symbol stays a number. Bytes that aren't UTF-8 become U+FFFD.

use super::{
    errno,
    print::Printer,
    value::{private, Value, View},
};
use crate::{
    blogfmt::{
        bytes::array,
        printf::{socket_letters, Conversion, Flags, What},
    },
    calendar::civil,
    wire::pack::{PRECISION_MAX, WIDTH_MAX},
};

/// Width, precision and flags, as `struct printf_spec` has them: -1 is none.
#[derive(Clone, Copy)]
struct Spec {
    flags: Flags,
    width: i64,
    precision: i64,
}

const NO_SPEC: Spec = Spec {
    flags: Flags { left: false, plus: false, space: false, special: false, zero: false },
    width: -1,
    precision: -1,
};

/// How a number prints.
#[derive(Clone, Copy)]
struct Number {
    base: u64,
    upper: bool,
    negative: bool,
    signed: bool,
}

const HEX: Number = Number { base: 16, upper: false, negative: false, signed: false };

/// Prints a value. `width` and `precision` are arguments' values, or else what the format says.
pub fn print(
    c: &Conversion,
    width: Option<i32>,
    precision: Option<i32>,
    value: Value<'_>,
    p: &mut Printer<'_>,
) {
    let mut spec = Spec { flags: c.flags, width: -1, precision: -1 };
    if let Some(n) = width {
        spec.width = i64::from(n.unsigned_abs().min(WIDTH_MAX));
        spec.flags.left |= n < 0;
    }
    if let Some(n) = precision {
        spec.precision = i64::from(n.clamp(0, PRECISION_MAX as i32));
    }
    let view = value.view();
    match (&c.what, view) {
        (_, View::Private(hash)) => p.text(&private(hash)),
        (What::Integer { base, upper, .. }, View::Uint(n)) => {
            let number = Number { base: *base, upper: *upper, ..HEX };
            print_number(n as u64, number, spec, p);
        }
        (What::Integer { .. }, View::Int(n)) => print_signed(n as i64, spec, p),
        // Of a probe
        (What::Integer { .. } | What::Char, View::Result(Ok(inner))) => {
            print(c, width, precision, inner, p);
        }
        (What::Integer { .. } | What::Char, View::Result(Err(n))) => print_bad(n, spec, p),
        (What::Char, View::Uint(n)) => {
            spec.precision = -1;
            print_bytes(&[n as u8], spec, p);
        }
        (What::Str, View::CStr(bytes)) => print_string(bytes, spec, p),
        // Flags and devices are never in a field.
        (What::Pointer(ext), View::CStr(bytes)) if ext.starts_with(['g', 'G']) => {
            print_string(bytes, NO_SPEC, p);
        }
        (What::Pointer(_), View::CStr(bytes)) => print_string(bytes, spec, p),
        (What::Pointer(ext), View::Pointer(address)) => print_address(ext, address, spec, p),
        (What::Pointer(ext), View::Result(Ok(inner))) => {
            if let View::Pointer(address) = inner.view() {
                return print_address(ext, address, spec, p);
            }
            // Of what is nothing, printk doesn't look at the pointer.
            let bytes = match inner.view() {
                View::Bytes(bytes) => bytes,
                _ => inner.fixed,
            };
            print_pointed(ext, bytes, spec, p);
        }
        (What::Pointer(_), View::Result(Err(n))) => {
            if spec.precision < 0 {
                spec.precision = 16;
            }
            print_bad(n, spec, p);
        }
        // `compile` has the types fit the format.
        _ => p.text("<?>"),
    }
}

/// What stands for a pointer that can't be followed.
fn print_bad(errno: i32, spec: Spec, p: &mut Printer<'_>) {
    print_string(if errno == 0 { b"(null)" } else { b"(efault)" }, spec, p);
}

/// `string_nocheck()`
fn print_string(bytes: &[u8], spec: Spec, p: &mut Printer<'_>) {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    let end = match usize::try_from(spec.precision) {
        Ok(max) => end.min(max),
        Err(_) => end,
    };
    print_bytes(&bytes[..end], spec, p);
}

/// Text in a field.
fn print_bytes(bytes: &[u8], spec: Spec, p: &mut Printer<'_>) {
    let missing = usize::try_from(spec.width).unwrap_or(0).saturating_sub(bytes.len());
    if !spec.flags.left {
        p.fill(' ', missing);
    }
    p.text(&String::from_utf8_lossy(bytes));
    if spec.flags.left {
        p.fill(' ', missing);
    }
}

fn print_signed(n: i64, spec: Spec, p: &mut Printer<'_>) {
    let number = Number { base: 10, upper: false, negative: n < 0, signed: true };
    print_number(n.unsigned_abs(), number, spec, p);
}

/// `number()`
fn print_number(n: u64, number: Number, spec: Spec, p: &mut Printer<'_>) {
    let flags = spec.flags;
    let sign = match number {
        Number { signed: false, .. } => "",
        Number { negative: true, .. } => "-",
        _ if flags.plus => "+",
        _ if flags.space => " ",
        _ => "",
    };
    let prefix = match (flags.special, number.base) {
        (true, 16) if number.upper => "0X",
        (true, 16) => "0x",
        (true, 8) if n != 0 => "0",
        _ => "",
    };
    let digits = match (number.base, number.upper) {
        (8, _) => format!("{n:o}"),
        (16, true) => format!("{n:X}"),
        (16, false) => format!("{n:x}"),
        _ => n.to_string(),
    };
    let zeros = usize::try_from(spec.precision).unwrap_or(0).saturating_sub(digits.len());
    let missing = usize::try_from(spec.width)
        .unwrap_or(0)
        .saturating_sub(sign.len() + prefix.len() + zeros + digits.len());
    let (before, zero) = match flags {
        Flags { left: true, .. } => (0, 0),
        Flags { zero: true, .. } => (0, missing),
        _ => (missing, 0),
    };
    p.fill(' ', before);
    p.text(sign);
    p.text(prefix);
    p.fill('0', zero + zeros);
    p.text(&digits);
    if flags.left {
        p.fill(' ', missing);
    }
}

/// `special_hex_number()`
fn special_hex(n: u64, size: usize) -> String {
    format!("0x{n:00$x}", 2 * size)
}

/// Addresses, and errors in place of one.
fn print_address(ext: &str, address: u64, mut spec: Spec, p: &mut Printer<'_>) {
    let error = address.wrapping_neg();
    match ext.as_bytes().first() {
        Some(b'e') if (1..=4095).contains(&error) => match errno::name(error as u32) {
            Some(name) => print_string(format!("-{name}").as_bytes(), spec, p),
            None => print_signed(address as i64, spec, p),
        },
        _ => {
            if spec.width < 0 {
                spec.width = 16;
                spec.flags.zero = true;
            }
            print_number(address, HEX, spec, p);
        }
    }
}

/// What a pointer led to.
fn print_pointed(ext: &str, bytes: &[u8], mut spec: Spec, p: &mut Printer<'_>) {
    let letter = |i| ext.as_bytes().get(i).copied().unwrap_or(0);
    let word = |n: usize| {
        let mut raw = [0; 8];
        let n = n.min(bytes.len());
        raw[..n].copy_from_slice(&bytes[..n]);
        u64::from_le_bytes(raw)
    };
    let text = match letter(0) {
        b'h' => return p.text(&hex(bytes, letter(1))),
        b'b' => {
            let count = usize::try_from(spec.width).unwrap_or(0);
            let text = match letter(1) {
                b'l' => bitmap_list(bytes, count),
                _ => bitmap(bytes, count),
            };
            return p.text(&text);
        }
        b'E' => return p.text(&String::from_utf8_lossy(&escaped(ext, bytes))),
        b't' => return p.text(&time_and_date(ext, bytes)),
        b'a' | b'N' => return p.text(&special_hex(word(8), 8)),
        b'M' | b'm' => mac(ext, bytes),
        b'r' if letter(1) == b'a' => {
            let [start, end] = [0, 8].map(|at| special_hex(word_at(bytes, at), 8));
            match start == end {
                true => format!("[range {start}]"),
                false => format!("[range {start}-{end}]"),
            }
        }
        b'r' | b'R' => resource(letter(0) == b'R', bytes),
        b'I' | b'i' if letter(1) == b'S' => match bytes.get(..2) {
            Some([2, 0]) => ip4_socket(ext, bytes, spec),
            Some([10, 0]) => ip6_socket(ext, bytes, spec),
            _ => {
                spec.precision = if spec.precision < 0 { 16 } else { spec.precision };
                "(einval)".to_owned()
            }
        },
        b'I' | b'i' if letter(1) == b'4' => ip4(ext, bytes),
        b'I' if letter(2) == b'c' => ip6_compressed(bytes),
        b'I' | b'i' => ip6(letter(0) == b'I', bytes),
        b'U' => uuid(letter(1), bytes),
        b'4' => fourcc(ext, word(4) as u32),
        _ => "<?>".to_owned(),
    };
    print_string(text.as_bytes(), spec, p);
}

/// `hex_string()`
fn hex(bytes: &[u8], letter: u8) -> String {
    let separator = match letter {
        b'C' => ":",
        b'D' => "-",
        b'N' => "",
        _ => " ",
    };
    let digits: Vec<String> = bytes.iter().map(|b| format!("{b:02x}")).collect();
    digits.join(separator)
}

/// Whether a bit of a bitmap is set; what isn't stored is not.
fn bit(bytes: &[u8], i: usize) -> bool {
    bytes.get(i / 8).is_some_and(|b| b >> (i % 8) & 1 != 0)
}

/// `bitmap_string()`: groups of 32 bits, the highest first.
fn bitmap(bytes: &[u8], count: usize) -> String {
    let count = count.min(8 * bytes.len());
    let mut groups = Vec::new();
    for start in (0..count).step_by(32).collect::<Vec<_>>().into_iter().rev() {
        let size = (count - start).min(32);
        let value = (0..size).fold(0u32, |n, i| n | u32::from(bit(bytes, start + i)) << i);
        groups.push(format!("{value:00$x}", size.div_ceil(4)));
    }
    groups.join(",")
}

/// `bitmap_list_string()`: ranges.
fn bitmap_list(bytes: &[u8], count: usize) -> String {
    let count = count.min(8 * bytes.len());
    let mut ranges = Vec::new();
    let mut i = 0;
    while i < count {
        let end = (i..count).find(|&j| !bit(bytes, j)).unwrap_or(count);
        match end - i {
            0 => {}
            1 => ranges.push(i.to_string()),
            _ => ranges.push(format!("{i}-{}", end - 1)),
        }
        i = end + 1;
    }
    ranges.join(",")
}

/// `mac_address_string()`
fn mac(ext: &str, bytes: &[u8]) -> String {
    let (separator, reversed, upper) = match ext.as_bytes() {
        [_, b'F', b'U', ..] => ("-", false, true),
        [_, b'F', ..] => ("-", false, false),
        [_, b'R', b'U', ..] => (":", true, true),
        [_, b'R', ..] => (":", true, false),
        [_, b'U', ..] => (":", false, true),
        _ => (":", false, false),
    };
    let separator = if ext.starts_with('M') { separator } else { "" };
    let mut digits: Vec<String> = bytes.iter().take(6).map(|b| format!("{b:02x}")).collect();
    if reversed {
        digits.reverse();
    }
    let text = digits.join(separator);
    if upper {
        text.to_uppercase()
    } else {
        text
    }
}

/// `ip4_string()`
fn ip4(ext: &str, bytes: &[u8]) -> String {
    let mut quads = bytes.to_vec();
    quads.truncate(4);
    if matches!(ext.as_bytes().get(2), Some(b'h' | b'l')) {
        quads.reverse();
    }
    let quads = quads.iter().map(|b| match ext.starts_with('i') {
        true => format!("{b:03}"),
        false => b.to_string(),
    });
    quads.collect::<Vec<_>>().join(".")
}

/// `ip6_string()`
fn ip6(colons: bool, bytes: &[u8]) -> String {
    let words = words(bytes).map(|w| format!("{w:04x}"));
    words.join(if colons { ":" } else { "" })
}

fn words(bytes: &[u8]) -> [u16; 8] {
    let byte = |i| bytes.get(i).copied().unwrap_or(0);
    std::array::from_fn(|i| u16::from_be_bytes([byte(2 * i), byte(2 * i + 1)]))
}

/// `ip6_compressed_string()`
fn ip6_compressed(bytes: &[u8]) -> String {
    let words = words(bytes);
    let is_mapped = words[..5] == [0; 5] && words[5] == 0xffff;
    let is_isatap = words[4] | 0x0200 == 0x0200 && words[5] == 0x5efe;
    let has_ip4 = is_mapped || is_isatap;
    let words = &words[..if has_ip4 { 6 } else { 8 }];
    // The first one of the longest; one zero alone isn't left out.
    let zeros = |i: usize| words[i..].iter().take_while(|&&w| w == 0).count();
    let longest = (0..words.len()).map(zeros).max().unwrap_or(0);
    let gap = (0..words.len()).find(|&i| zeros(i) == longest).filter(|_| longest > 1);
    let join = |words: &[u16]| {
        let words: Vec<String> = words.iter().map(|w| format!("{w:x}")).collect();
        words.join(":")
    };
    let mut text = match gap {
        Some(at) => format!("{}::{}", join(&words[..at]), join(&words[at + longest..])),
        None => join(words),
    };
    if has_ip4 {
        if !text.ends_with("::") {
            text.push(':');
        }
        text.push_str(&ip4("I4", &bytes[bytes.len().min(12)..]));
    }
    text
}

/// `uuid_string()`
fn uuid(letter: u8, bytes: &[u8]) -> String {
    const UUID: [usize; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
    const GUID: [usize; 16] = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    let order = match letter {
        b'L' | b'l' => GUID,
        _ => UUID,
    };
    let mut text = String::new();
    for (i, at) in order.into_iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{:02x}", bytes.get(at).copied().unwrap_or(0)));
    }
    match letter {
        b'L' | b'B' => text.to_uppercase(),
        _ => text,
    }
}

/// `fourcc_string()`
fn fourcc(ext: &str, stored: u32) -> String {
    let number = match ext.as_bytes() {
        [_, _, b'h', b'R', ..] | [_, _, b'b', ..] => stored.swap_bytes(),
        _ => stored,
    };
    let is_pixel = ext.as_bytes().get(2) == Some(&b'c');
    let letters = match is_pixel {
        true => (number & !(1 << 31)).swap_bytes(),
        false => number,
    };
    let mut text: String = letters
        .to_be_bytes()
        .map(|b| match b {
            0x20..=0x7e => char::from(b),
            _ => '.',
        })
        .iter()
        .collect();
    if is_pixel {
        text.push_str(match number >> 31 {
            0 => " little-endian",
            _ => " big-endian",
        });
    }
    format!("{text} ({})", special_hex(number.into(), 4))
}

/// 8 bytes.
fn word_at(bytes: &[u8], at: usize) -> u64 {
    array(bytes, at).map_or(0, u64::from_le_bytes)
}

/// `resource_string()`
fn resource(decode: bool, bytes: &[u8]) -> String {
    const UNSET: u64 = 0x2000_0000;
    const SUFFIXES: [(u64, &str); 4] = [
        (0x10_0000, " 64bit"),
        (0x2000, " pref"),
        (0x20_0000, " window"),
        (0x1000_0000, " disabled"),
    ];
    let (start, end, flags) = (word_at(bytes, 0), word_at(bytes, 8), word_at(bytes, 24));
    let hex = |n: u64, width: usize| format!("{n:#0width$x}");
    let decimal = |n: u64, _: usize| n.to_string();
    let bus = |n: u64, width: usize| format!("{n:0width$x}");
    // The name, how numbers print, how wide they are, and whether flags are named.
    type Print<'a> = &'a dyn Fn(u64, usize) -> String;
    let kinds: [(u64, &str, Print<'_>, usize); 5] = [
        (0x100, "io  ", &hex, 6),
        (0x200, "mem ", &hex, 10),
        (0x400, "irq ", &decimal, 0),
        (0x800, "dma ", &decimal, 0),
        (0x1000, "bus ", &bus, 2),
    ];
    let kind = kinds.iter().find(|kind| flags & kind.0 != 0);
    let &(bit, name, print, width) = kind.unwrap_or(&(0, "??? ", &hex, 10));
    let decode = decode && bit != 0;
    let range = if decode && flags & UNSET != 0 {
        format!("size {}", print(end.wrapping_sub(start).wrapping_add(1), width))
    } else if start == end {
        print(start, width)
    } else {
        format!("{}-{}", print(start, width), print(end, width))
    };
    let rest = match decode {
        true => {
            SUFFIXES.iter().filter(|(bit, _)| flags & bit != 0).map(|(_, name)| *name).collect()
        }
        false => format!(" flags {flags:#x}"),
    };
    format!("[{name}{range}{rest}]")
}

/// A number of a socket address, which takes the field's width.
fn socket_number(n: u32, spec: Spec) -> String {
    let mut out = Vec::new();
    let number = Number { base: 10, ..HEX };
    print_number(n.into(), number, spec, &mut Printer::new(&mut out));
    String::from_utf8_lossy(&out).into_owned()
}

/// A number in the order of the network.
fn network(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |n, &b| n << 8 | u32::from(b))
}

/// `ip4_addr_string_sa()`
fn ip4_socket(ext: &str, bytes: &[u8], spec: Spec) -> String {
    let letters = socket_letters(ext);
    let order = letters.chars().rev().find(|c| "hlnb".contains(*c));
    let plain = format!("{}4{}", &ext[..1], order.unwrap_or('n'));
    let mut text = ip4(&plain, bytes.get(4..8).unwrap_or_default());
    if letters.contains('p') {
        let port = network(bytes.get(2..4).unwrap_or_default());
        text.push_str(&format!(":{}", socket_number(port, spec)));
    }
    text
}

/// `ip6_addr_string_sa()`
fn ip6_socket(ext: &str, bytes: &[u8], spec: Spec) -> String {
    let letters = socket_letters(ext);
    let has = |c| letters.contains(c);
    let address = bytes.get(8..24).unwrap_or_default();
    let colons = ext.starts_with('I');
    let mut text = match colons && has('c') {
        true => ip6_compressed(address),
        false => ip6(colons, address),
    };
    if has('p') || has('s') || has('f') {
        text = format!("[{text}]");
    }
    if has('p') {
        let port = network(bytes.get(2..4).unwrap_or_default());
        text.push_str(&format!(":{}", socket_number(port, spec)));
    }
    if has('f') {
        let flow = network(bytes.get(4..8).unwrap_or_default()) & 0x0fff_ffff;
        text.push_str(&format!("/{}", socket_number(flow, spec)));
    }
    if has('s') {
        let scope = word_at(bytes, 20) >> 32;
        text.push_str(&format!("%{}", socket_number(scope as u32, spec)));
    }
    text
}

/// `string_escape_mem()`
fn escaped(ext: &str, bytes: &[u8]) -> Vec<u8> {
    let letters = &ext[1..];
    let end = letters.find(|c| !"achnops".contains(c));
    let letters = match &letters[..end.unwrap_or(letters.len())] {
        "" => "ap",
        some => some,
    };
    let all = letters.contains('a');
    let has = |c: char| letters.contains(c) || all && "csno".contains(c);
    let mut out = Vec::new();
    for &b in bytes {
        let name = |set: &[(u8, u8)]| set.iter().find(|pair| pair.0 == b).map(|pair| pair.1);
        let space = [(b'\n', b'n'), (b'\r', b'r'), (b'\t', b't'), (11, b'v'), (12, b'f')];
        let special = [(b'\\', b'\\'), (7, b'a'), (27, b'e'), (b'"', b'"')];
        // The kernel takes characters for those of Latin-1.
        let printable = matches!(b, 0x20..=0x7e | 0xa0..=0xff);
        let short = match () {
            () if has('p') && printable => None,
            () if has('s') && name(&space).is_some() => name(&space),
            () if has('c') && name(&special).is_some() => name(&special),
            () if has('n') && b == 0 => Some(b'0'),
            () if has('o') => {
                out.extend(format!("\\{b:03o}").bytes());
                continue;
            }
            () if has('h') => {
                out.extend(format!("\\x{b:02x}").bytes());
                continue;
            }
            () => None,
        };
        match short {
            Some(letter) => out.extend([b'\\', letter]),
            None => out.push(b),
        }
    }
    out
}

/// `struct rtc_time`, from seconds to years.
type Time = [i32; 6];

/// `time_and_date()`
fn time_and_date(ext: &str, bytes: &[u8]) -> String {
    let int = |i: usize| array(bytes, 4 * i).map_or(0, i32::from_le_bytes);
    let seconds = word_at(bytes, 0) as i64;
    let letters = ext.get(2..).unwrap_or("");
    match ext.as_bytes().get(1) {
        Some(b'R') => date_and_time(std::array::from_fn(int), letters),
        Some(b'T') => date_and_time(tm(seconds), letters),
        _ => {
            let before = match letters.starts_with('p') {
                true => (seconds as u64).to_string(),
                false => date_and_time(tm(seconds), letters),
            };
            format!("{before}.{:09}", word_at(bytes, 8))
        }
    }
}

/// `time64_to_tm()`
fn tm(seconds: i64) -> Time {
    let (days, second) = (seconds.div_euclid(86400), seconds.rem_euclid(86400) as i32);
    let (year, month, day) = civil(days);
    let [year, month] = [year - 1900, month - 1].map(|n| n as i32);
    [second % 60, second / 60 % 60, second / 3600, day as i32, month, year]
}

/// `rtc_str()`
fn date_and_time(time: Time, letters: &str) -> String {
    let (date, clock, letters) = match letters.as_bytes().first() {
        Some(b'd') => (true, false, &letters[1..]),
        Some(b't') => (false, true, &letters[1..]),
        _ => (true, true, letters),
    };
    let end = letters.find(|c| c != 'r' && c != 's');
    let letters = &letters[..end.unwrap_or(letters.len())];
    let add = |n: i32, plus: i32| match letters.contains('r') {
        true => n as u64,
        false => n.wrapping_add(plus) as u64,
    };
    // Numbers have no sign there.
    let [second, minute, hour, day, month, year] = time;
    let date =
        date.then(|| format!("{:04}-{:02}-{:02}", add(year, 1900), add(month, 1), day as u64));
    let clock = clock.then(|| {
        let [hour, minute, second] = [hour, minute, second].map(|n| n as u64);
        format!("{hour:02}:{minute:02}:{second:02}")
    });
    let parts: Vec<String> = date.into_iter().chain(clock).collect();
    parts.join(if letters.contains('s') { " " } else { "T" })
}
