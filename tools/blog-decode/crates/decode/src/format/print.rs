// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! What `core::fmt::Formatter` does: padding, numbers, and the builders of `{:?}`.
//!
//! [`value`](super::value) calls it with a [`Spec`] for each value. It writes into one buffer and
//! allocates nothing.

use std::fmt::{self, Write as _};

use super::parse::{Align, DebugHex, Flags, Trait};

/// A placeholder whose width and precision are known.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// Flags.
    pub flags: Flags,
    /// Least number of characters.
    pub width: Option<u16>,
    /// Precision.
    pub precision: Option<u16>,
    /// The trait.
    pub print: Trait,
}

impl Spec {
    /// `{}`
    pub const DISPLAY: Self =
        Self { flags: Flags::NONE, width: None, precision: None, print: Trait::Display };
}

/// The end of a text under construction, with the indentation of `{:#?}`.
pub struct Printer<'a> {
    out: &'a mut Vec<u8>,
    depth: usize,
    line_start: bool,
    /// Length of the buffer at which a text is too long.
    limit: usize,
}

/// Longest text. Twelve arguments of the greatest width fit; only a hostile table wants more.
const TEXT_MAX: usize = 1 << 20;
/// Longest text of an integer: 128 binary digits.
const DIGITS: usize = 128;

impl<'a> Printer<'a> {
    /// Appends to `out`.
    pub fn new(out: &'a mut Vec<u8>) -> Self {
        Self { limit: out.len().saturating_add(TEXT_MAX), out, depth: 0, line_start: false }
    }

    /// Whether the text is too long, and nothing is appended any more.
    pub fn is_full(&self) -> bool {
        self.out.len() >= self.limit
    }

    /// Length of the buffer.
    pub(super) fn len(&self) -> usize {
        self.out.len()
    }

    /// Lets a few bytes be appended that are not within `{:#?}`.
    pub(super) fn raw(&mut self, print: impl FnOnce(&mut Vec<u8>)) {
        if !self.is_full() {
            print(self.out);
        }
    }

    /// Appends text; within `{:#?}`, indented.
    pub fn text(&mut self, s: &str) {
        if self.is_full() {
            return;
        }
        if self.depth == 0 {
            self.out.extend_from_slice(s.as_bytes());
            return;
        }
        for line in s.split_inclusive('\n') {
            if self.line_start {
                for _ in 0..self.depth {
                    self.out.extend_from_slice(b"    ");
                }
            }
            self.line_start = line.ends_with('\n');
            self.out.extend_from_slice(line.as_bytes());
        }
    }

    fn character(&mut self, c: char) {
        self.text(c.encode_utf8(&mut [0; 4]));
    }

    pub(super) fn fill(&mut self, c: char, count: usize) {
        for _ in 0..count {
            if self.is_full() {
                return;
            }
            self.character(c);
        }
    }

    /// `body` between as much padding as `missing` and the alignment say.
    fn padded(
        &mut self,
        flags: &Flags,
        missing: usize,
        default: Align,
        body: impl FnOnce(&mut Self),
    ) {
        let before = match flags.align.unwrap_or(default) {
            Align::Left => 0,
            Align::Right => missing,
            Align::Center => missing / 2,
        };
        self.fill(flags.fill, before);
        body(self);
        self.fill(flags.fill, missing - before);
    }

    /// `Formatter::pad`: precision cuts, width pads.
    pub fn pad(&mut self, spec: &Spec, s: &str) {
        let s = match spec.precision {
            Some(max) => match s.char_indices().nth(usize::from(max)) {
                Some((end, _)) => &s[..end],
                None => s,
            },
            None => s,
        };
        let Some(width) = spec.width else {
            return self.text(s);
        };
        let missing = usize::from(width).saturating_sub(s.chars().count());
        self.padded(&spec.flags, missing, Align::Left, |p| p.text(s));
    }

    /// `Formatter::pad_integral`.
    fn pad_integral(&mut self, spec: &Spec, negative: bool, prefix: &str, digits: &str) {
        let sign = match (negative, spec.flags.plus) {
            (true, _) => "-",
            (false, true) => "+",
            (false, false) => "",
        };
        let prefix = if spec.flags.alternate { prefix } else { "" };
        self.number(
            spec,
            sign,
            |p| {
                p.text(prefix);
            },
            prefix.len(),
            |p| p.text(digits),
            digits.len(),
        );
    }

    /// A sign and prefix, and a body of `len` ASCII characters, padded as a number.
    fn number(
        &mut self,
        spec: &Spec,
        sign: &str,
        prefix: impl FnOnce(&mut Self),
        prefix_len: usize,
        body: impl FnOnce(&mut Self),
        len: usize,
    ) {
        let width = sign.len() + prefix_len + len;
        let missing = usize::from(spec.width.unwrap_or(0)).saturating_sub(width);
        if missing == 0 {
            self.text(sign);
            prefix(self);
            return body(self);
        }
        if spec.flags.zero {
            self.text(sign);
            prefix(self);
            self.fill('0', missing);
            body(self);
        } else {
            self.padded(&spec.flags, missing, Align::Right, |p| {
                p.text(sign);
                prefix(p);
                body(p);
            });
        }
    }

    /// An integer of `bits` bits. `value` is zero-extended from that size.
    pub fn integer(&mut self, spec: &Spec, value: u128, bits: u32, signed: bool) {
        let radix = match (spec.print, spec.flags.debug_hex) {
            (Trait::LowerHex, _) | (Trait::Debug, DebugHex::Lower) => Some((4, false, "0x")),
            (Trait::UpperHex, _) | (Trait::Debug, DebugHex::Upper) => Some((4, true, "0x")),
            (Trait::Octal, _) => Some((3, false, "0o")),
            (Trait::Binary, _) => Some((1, false, "0b")),
            _ => None,
        };
        let mut buf = [0; DIGITS];
        if let Some((shift, upper, prefix)) = radix {
            let digits = digits_of_power(value, shift, upper, &mut buf);
            return self.pad_integral(spec, false, prefix, digits);
        }
        let negative = signed && bits > 0 && value >> (bits - 1) & 1 != 0;
        let magnitude = if negative {
            // As two's complement of this size.
            value.wrapping_neg() & (u128::MAX >> (128 - bits))
        } else {
            value
        };
        match spec.print {
            Trait::LowerExp => self.exponential(spec, negative, magnitude, 'e'),
            Trait::UpperExp => self.exponential(spec, negative, magnitude, 'E'),
            _ => {
                let digits = digits_of_ten(magnitude, &mut buf);
                self.pad_integral(spec, negative, "", digits);
            }
        }
    }

    /// `{:e}` of an integer: rounds half to even where the precision drops digits.
    fn exponential(&mut self, spec: &Spec, negative: bool, n: u128, letter: char) {
        let mut exponent = n.checked_ilog10().unwrap_or(0);
        // Digits after the point that `mantissa` holds.
        let mut behind = exponent;
        let mut mantissa = n;
        let mut zeros = 0;
        match spec.precision.map(u32::from) {
            None => {
                while behind != 0 && mantissa % 10 == 0 {
                    mantissa /= 10;
                    behind -= 1;
                }
            }
            Some(precision) if precision >= behind => zeros = (precision - behind) as usize,
            Some(precision) => {
                let scale = 10u128.pow(behind - precision);
                let (floor, over, half) = (mantissa / scale, mantissa % scale, scale / 2);
                let up = over > half || (over == half && floor % 2 == 1);
                mantissa = floor + u128::from(up);
                behind = precision;
                if up && mantissa.checked_ilog10().unwrap_or(0) > behind {
                    mantissa /= 10;
                    exponent += 1;
                }
            }
        }
        let mut buf = [0; DIGITS];
        let digits = digits_of_ten(mantissa, &mut buf);
        let (lead, fraction) = digits.split_at(1);
        let mut tail = [0; 8];
        let mut tail_len = 0;
        let mut exp_buf = [0; DIGITS];
        let exp_digits = digits_of_ten(exponent.into(), &mut exp_buf);
        for (slot, b) in tail.iter_mut().zip([letter as u8].into_iter().chain(exp_digits.bytes())) {
            *slot = b;
            tail_len += 1;
        }
        let tail = std::str::from_utf8(&tail[..tail_len]).unwrap_or_default();
        let point = usize::from(behind != 0 || zeros != 0);
        let len = 1 + point + fraction.len() + zeros + tail.len();
        let sign = match (negative, spec.flags.plus) {
            (true, _) => "-",
            (false, true) => "+",
            (false, false) => "",
        };
        self.number(
            spec,
            sign,
            |_| (),
            0,
            |p| {
                p.text(lead);
                p.text(&"."[..point]);
                p.text(fraction);
                p.fill('0', zeros);
                p.text(tail);
            },
            len,
        );
    }

    /// A pointer, as `std` prints it: `{:p}`, and `{:?}` too.
    pub fn pointer(&mut self, spec: &Spec, address: u64) {
        let mut spec = *spec;
        if spec.flags.alternate {
            spec.flags.zero = true;
            spec.width = spec.width.or(Some(18));
        }
        spec.flags.alternate = true;
        spec.print = Trait::LowerHex;
        self.integer(&spec, address.into(), 64, false);
    }

    /// `Formatter::debug_struct`.
    pub fn debug_struct<'n, T>(
        &mut self,
        spec: &Spec,
        name: &str,
        fields: impl Iterator<Item = (&'n str, T)>,
        mut print: impl FnMut(&mut Self, T),
    ) {
        self.text(name);
        let mut any = false;
        for (field, value) in fields {
            if spec.flags.alternate {
                if !any {
                    self.text(" {\n");
                }
                self.indented(|p| {
                    p.text(field);
                    p.text(": ");
                    print(p, value);
                    p.text(",\n");
                });
            } else {
                self.text(if any { ", " } else { " { " });
                self.text(field);
                self.text(": ");
                print(self, value);
            }
            any = true;
        }
        if any {
            self.text(if spec.flags.alternate { "}" } else { " }" });
        }
    }

    /// `Formatter::debug_tuple`.
    pub fn debug_tuple<T>(
        &mut self,
        spec: &Spec,
        name: &str,
        fields: impl Iterator<Item = T>,
        print: impl FnMut(&mut Self, T),
    ) {
        self.text(name);
        let mut fields = fields.peekable();
        if fields.peek().is_some() {
            self.text("(");
            self.elements(spec, fields, print);
            self.text(")");
        }
    }

    /// `Formatter::debug_list`.
    pub fn debug_list<T>(
        &mut self,
        spec: &Spec,
        items: impl Iterator<Item = T>,
        print: impl FnMut(&mut Self, T),
    ) {
        self.text("[");
        self.elements(spec, items, print);
        self.text("]");
    }

    fn elements<T>(
        &mut self,
        spec: &Spec,
        items: impl Iterator<Item = T>,
        mut print: impl FnMut(&mut Self, T),
    ) {
        for (i, item) in items.enumerate() {
            if spec.flags.alternate {
                if i == 0 {
                    self.text("\n");
                }
                self.indented(|p| {
                    print(p, item);
                    p.text(",\n");
                });
            } else {
                if i != 0 {
                    self.text(", ");
                }
                print(self, item);
            }
        }
    }

    fn indented(&mut self, body: impl FnOnce(&mut Self)) {
        self.depth += 1;
        self.line_start = true;
        body(self);
        self.depth -= 1;
    }
}

impl fmt::Write for Printer<'_> {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        self.text(s);
        Ok(())
    }
}

impl Printer<'_> {
    /// Whatever `std` itself can print; the buffer cannot fail.
    pub fn std(&mut self, args: fmt::Arguments<'_>) {
        let _ = self.write_fmt(args);
    }
}

/// Digits in base 2, 8 or 16.
fn digits_of_power(mut n: u128, shift: u32, upper: bool, buf: &mut [u8; DIGITS]) -> &str {
    let table: &[u8; 16] = if upper { b"0123456789ABCDEF" } else { b"0123456789abcdef" };
    let mask = (1u128 << shift) - 1;
    let mut at = DIGITS;
    loop {
        at -= 1;
        buf[at] = table[(n & mask) as usize];
        n >>= shift;
        if n == 0 {
            break;
        }
    }
    std::str::from_utf8(&buf[at..]).unwrap_or_default()
}

/// Decimal digits.
pub(crate) fn digits_of_ten(n: u128, buf: &mut [u8; DIGITS]) -> &str {
    let mut at = DIGITS;
    let mut wide = n;
    // 128-bit division is slow, and rarely needed.
    while wide > u128::from(u64::MAX) {
        at -= 1;
        buf[at] = b'0' + (wide % 10) as u8;
        wide /= 10;
    }
    let mut n = wide as u64;
    loop {
        at -= 1;
        buf[at] = b'0' + (n % 10) as u8;
        n /= 10;
        if n == 0 {
            break;
        }
    }
    std::str::from_utf8(&buf[at..]).unwrap_or_default()
}
