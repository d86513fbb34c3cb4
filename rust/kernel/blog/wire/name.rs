// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Names of components: which ones are allowed.
//!
//! A name becomes a directory beside BLog's own files, a word of the control files' language, and a
//! part of what tools print.

/// Room for a name (component, image) in bytes, NUL padded.
pub const NAME_MAX: usize = 56;

/// Names of files beside the components' directories, which no component can have.
const RESERVED: [&str; 7] = [
    "components",
    "control",
    "previous",
    "snapshot",
    "stats",
    "stream",
    "tasks",
];

/// Whether a component can have this name: letters, digits and `_-.:+#`, of which `.` and `#` do
/// not come first, and not one of [`RESERVED`].
pub const fn check(name: &[u8]) -> bool {
    let mut rest = name;
    while let [byte, more @ ..] = rest {
        if !is_allowed(*byte) {
            return false;
        }
        rest = more;
    }
    !matches!(name, [] | [b'.' | b'#', ..]) && name.len() < NAME_MAX && !is_reserved(name)
}

/// Whether a name can have this character.
const fn is_allowed(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':' | b'+' | b'#')
}

/// The `n`th name, from 1, for a component that wants to be called like this: what a name can't
/// have is replaced by `_`, what is too long is cut, and all but the first have their number.
pub fn fit(wanted: &[u8], n: u32) -> [u8; NAME_MAX] {
    let wanted = if wanted.is_empty() { b"_" } else { wanted };
    let text = wanted.iter().enumerate().map(|(at, &byte)| match byte {
        b'.' | b'#' if at == 0 => b'_',
        byte if is_allowed(byte) => byte,
        _ => b'_',
    });
    let (mut digits, mut rest) = ([0; 10], n);
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    let digits = digits.iter().skip_while(|digit| **digit == b'0');
    let number = b"#".iter().chain(digits).copied();
    let number = number.take(if n > 1 { 1 + 10 } else { 0 });
    let room = NAME_MAX - 1 - number.clone().count();
    let mut name = [0; NAME_MAX];
    for (place, byte) in name.iter_mut().zip(text.take(room).chain(number)) {
        *place = byte;
    }
    name
}

/// Whether this is one of [`RESERVED`].
pub const fn is_reserved(name: &[u8]) -> bool {
    let mut files: &[&str] = &RESERVED;
    while let [file, rest @ ..] = files {
        if same(name, file.as_bytes()) {
            return true;
        }
        files = rest;
    }
    false
}

const fn same(mut a: &[u8], mut b: &[u8]) -> bool {
    while let ([first_a, rest_a @ ..], [first_b, rest_b @ ..]) = (a, b) {
        if *first_a != *first_b {
            return false;
        }
        (a, b) = (rest_a, rest_b);
    }
    a.is_empty() && b.is_empty()
}
