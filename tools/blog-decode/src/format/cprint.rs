// SPDX-License-Identifier: GPL-2.0

//! What the kernel's `vsnprintf()` does: conversions of C formats, over stored values.
//!
//! [`template`](super::template) calls [`print`] with a conversion whose width and precision are
//! known. The rule is that the text equals what the kernel prints, with two exceptions: an address
//! is never hashed, and that of a symbol stays a number. Bytes that aren't UTF-8 become U+FFFD.

use super::{
    errno,
    print::Printer,
    value::{
        Value,
        View, //
    },
};
use crate::{
    blogfmt::printf::{
        Conversion,
        Flags,
        What, //
    },
    wire::pack::{
        PRECISION_MAX,
        WIDTH_MAX, //
    },
};

/// Width, precision and flags, as `struct printf_spec` has them: -1 is none.
#[derive(Clone, Copy)]
struct Spec {
    flags: Flags,
    width: i64,
    precision: i64,
}

/// How a number prints.
#[derive(Clone, Copy)]
struct Number {
    base: u64,
    upper: bool,
    negative: bool,
    signed: bool,
}

const HEX: Number = Number {
    base: 16,
    upper: false,
    negative: false,
    signed: false,
};

/// Prints a value. `width` and `precision` are arguments' values, or else what the format says.
pub fn print(
    c: &Conversion,
    width: Option<i32>,
    precision: Option<i32>,
    value: Value<'_>,
    p: &mut Printer<'_>,
) {
    let mut spec = Spec {
        flags: c.flags,
        width: -1,
        precision: -1,
    };
    if let Some(n) = width {
        spec.width = i64::from(n.unsigned_abs().min(WIDTH_MAX));
        spec.flags.left |= n < 0;
    }
    if let Some(n) = precision {
        spec.precision = i64::from(n.clamp(0, PRECISION_MAX as i32));
    }
    let view = value.view();
    match (&c.what, view) {
        (What::Integer { base, upper, .. }, View::Uint(n)) => {
            let number = Number {
                base: *base,
                upper: *upper,
                ..HEX
            };
            print_number(n as u64, number, spec, p);
        }
        (What::Integer { .. }, View::Int(n)) => print_signed(n as i64, spec, p),
        (What::Char, View::Uint(n)) => {
            spec.precision = -1;
            print_bytes(&[n as u8], spec, p);
        }
        (What::Str, View::CStr(bytes)) => print_string(bytes, spec, p),
        (What::Pointer(ext), View::Pointer(address)) => print_address(ext, address, spec, p),
        (What::Pointer(ext), View::Result(Ok(inner))) => {
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
            print_string(if n == 0 { b"(null)" } else { b"(efault)" }, spec, p);
        }
        // `compile` has the types fit the format.
        _ => p.text("<?>"),
    }
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
    let missing = usize::try_from(spec.width)
        .unwrap_or(0)
        .saturating_sub(bytes.len());
    if !spec.flags.left {
        p.fill(' ', missing);
    }
    p.text(&String::from_utf8_lossy(bytes));
    if spec.flags.left {
        p.fill(' ', missing);
    }
}

fn print_signed(n: i64, spec: Spec, p: &mut Printer<'_>) {
    let number = Number {
        base: 10,
        upper: false,
        negative: n < 0,
        signed: true,
    };
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
    let zeros = usize::try_from(spec.precision)
        .unwrap_or(0)
        .saturating_sub(digits.len());
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
        Some(b'S' | b's' | b'B') => p.text(&special_hex(address, 8)),
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
fn print_pointed(ext: &str, bytes: &[u8], spec: Spec, p: &mut Printer<'_>) {
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
        b'a' | b'N' => return p.text(&special_hex(word(8), 8)),
        b'M' | b'm' => mac(ext, bytes),
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
    let gap = (0..words.len())
        .find(|&i| zeros(i) == longest)
        .filter(|_| longest > 1);
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
