// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Numbers into a buffer of bytes: most of what the output writes, so without `std::fmt`.

/// Appends a decimal number.
pub fn push(out: &mut Vec<u8>, n: u64) {
    match n {
        0..10 => out.push(b'0' + n as u8),
        _ => out.extend_from_slice(itoa::Buffer::new().format(n).as_bytes()),
    }
}

/// Appends three digits.
pub fn push_three(out: &mut Vec<u8>, n: u64) {
    let [tens, ones] = PAIRS[(n % 100) as usize];
    out.extend_from_slice(&[b'0' + (n / 100 % 10) as u8, tens, ones]);
}

/// Appends six digits.
pub fn push_six(out: &mut Vec<u8>, n: u64) {
    out.extend_from_slice(&PAIRS[(n / 10_000 % 100) as usize]);
    push_four(out, n % 10_000);
}

fn push_four(out: &mut Vec<u8>, n: u64) {
    let [[a, b], [c, d]] = [n / 100 % 100, n % 100].map(|pair| PAIRS[pair as usize]);
    out.extend_from_slice(&[a, b, c, d]);
}

/// As many bytes are appended at once.
pub const SHORT: usize = 16;

/// Appends the first `len` of these bytes.
#[inline]
pub fn push_short(out: &mut Vec<u8>, bytes: &[u8; SHORT], len: usize) {
    let at = out.len();
    out.extend_from_slice(bytes);
    out.truncate(at + len);
}

/// Appends a decimal number, with `before` in front of it up to `width` bytes (at most 20).
pub fn push_padded(out: &mut Vec<u8>, n: u64, width: usize, before: u8) {
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(n).as_bytes();
    out.extend_from_slice(&[before; 20][..width.min(20).saturating_sub(digits.len())]);
    out.extend_from_slice(digits);
}

/// Makes `to` the last digits of a number, with zeros before it. By hand, as it takes three quarters
/// of the time that a buffer of itoa's does.
pub fn fill(to: &mut [u8], mut n: u64) {
    let mut pairs = to.rchunks_exact_mut(2);
    for pair in &mut pairs {
        pair.copy_from_slice(&PAIRS[(n % 100) as usize]);
        n /= 100;
    }
    if let [first] = pairs.into_remainder() {
        *first = b'0' + (n % 10) as u8;
    }
}

/// `00` to `99`.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut n = 0;
    while n < 100 {
        pairs[n] = [b'0' + (n / 10) as u8, b'0' + (n % 10) as u8];
        n += 1;
    }
    pairs
};

/// Appends a signed decimal number of any size.
pub fn push_signed(out: &mut Vec<u8>, n: i128) {
    match u64::try_from(n) {
        Ok(n) => push(out, n),
        Err(_) => out.extend_from_slice(itoa::Buffer::new().format(n).as_bytes()),
    }
}

/// Appends a decimal number of any size.
pub fn push_wide(out: &mut Vec<u8>, n: u128) {
    out.extend_from_slice(itoa::Buffer::new().format(n).as_bytes());
}

/// Appends bytes as hex, with `before` in front of each.
pub fn push_hex(out: &mut Vec<u8>, bytes: &[u8], before: &[u8]) {
    for b in bytes {
        out.extend_from_slice(before);
        out.extend_from_slice(&[HEX[usize::from(b >> 4)], HEX[usize::from(b & 15)]]);
    }
}

/// Appends a number in base 16.
pub fn push_base16(out: &mut Vec<u8>, n: u64) {
    let (high, low) = (n >> 32, n & 0xffff_ffff);
    let len = match high {
        0 => low.checked_ilog2().unwrap_or(0) as usize / 4 + 1,
        _ => {
            push_base16(out, high);
            8
        }
    };
    // All eight at once: a digit in each byte, then its character.
    let pairs = (low | low << 16) & 0x0000_ffff_0000_ffff;
    let bytes = (pairs | pairs << 8) & 0x00ff_00ff_00ff_00ff;
    let digits = (bytes | bytes << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    let letters = (digits + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101;
    let text = digits + 0x3030_3030_3030_3030 + letters * u64::from(b'a' - b'9' - 1);
    let at = out.len();
    out.extend_from_slice(&(text << (64 - 8 * len)).to_be_bytes());
    out.truncate(at + len);
}

const HEX: &[u8; 16] = b"0123456789abcdef";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_what_std_prints() {
        let show = |f: &dyn Fn(&mut Vec<u8>)| {
            let mut out = Vec::new();
            f(&mut out);
            String::from_utf8(out).unwrap()
        };
        for n in [0, 1, 9, 10, 99, 100, 101, 999, 1000, 0xa_bcde, 1 << 32, 0x1_2345_678f, u64::MAX]
        {
            assert_eq!(show(&|o| push(o, n)), n.to_string());
            assert_eq!(show(&|o| push_padded(o, n, 6, b'0')), format!("{n:06}"));
            assert_eq!(show(&|o| push_padded(o, n, 18, b' ')), format!("{n:>18}"));
            assert_eq!(show(&|o| push_base16(o, n)), format!("{n:x}"));
            let mut last = [0; 7];
            fill(&mut last, n);
            assert_eq!(last[..], *format!("{:07}", n % 10_000_000).as_bytes());
        }
        for n in [0, -1, 10i128.pow(18), i128::MAX, i128::MIN, -(1 << 70)] {
            assert_eq!(show(&|o| push_signed(o, n)), n.to_string());
        }
        assert_eq!(show(&|o| push_wide(o, u128::MAX)), u128::MAX.to_string());
        assert_eq!(show(&|o| push_hex(o, &[0, 0xaf], b" ")), " 00 af");
    }
}
