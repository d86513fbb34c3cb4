// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Values of several fields as one key: keys of other values differ, and sort as the values do.
//!
//! A cell is a tag, then the value as it prints, in which a zero is followed by 0xff, then two zeros.

use crate::{
    decode::Entry,
    field::{Selector, Val},
};

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tag {
    /// The record has none.
    None = 0,
    /// An integer.
    Number = 1,
    /// Anything else.
    Text = 2,
}

/// A value that a key has.
pub type Cell = (Tag, Vec<u8>);

/// Appends what a field of a record is; `false`: the record doesn't have it.
pub fn push(field: &Selector, entry: &Entry<'_>, key: &mut Vec<u8>) -> bool {
    let tag = match field.value(entry) {
        Some(Val::Number(_) | Val::Big(_)) => Tag::Number,
        _ => Tag::Text,
    };
    let start = key.len();
    key.push(tag as u8);
    let is_there = field.print(entry, key);
    if !is_there {
        key[start] = Tag::None as u8;
    } else if tag == Tag::Number && !is_number(&key[start + 1..]) {
        // As a pointer, or one in an Option.
        key[start] = Tag::Text as u8;
    }
    end(key, start + 1);
    is_there
}

fn is_number(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// Ends the cell whose value starts there.
fn end(key: &mut Vec<u8>, start: usize) {
    if key[start..].contains(&0) {
        let value = key.split_off(start);
        for byte in value {
            key.push(byte);
            key.extend((byte == 0).then_some(0xff));
        }
    }
    key.extend([0, 0]);
}

/// The cells of a key.
pub fn cells(mut key: &[u8]) -> Vec<Cell> {
    let mut all = Vec::new();
    while let Some((tag, rest)) = key.split_first() {
        let tag = match tag {
            0 => Tag::None,
            1 => Tag::Number,
            _ => Tag::Text,
        };
        let (mut value, mut bytes) = (Vec::new(), rest.iter());
        while let Some(&byte) = bytes.next() {
            if byte == 0 && bytes.next() != Some(&0xff) {
                break;
            }
            value.push(byte);
        }
        key = bytes.as_slice();
        all.push((tag, value));
    }
    all
}

/// Values with blanks between them, for people. `-` is one that isn't there; what could be taken for it,
/// or for several, has quotes.
pub fn text(cells: &[Cell]) -> Vec<u8> {
    let last = cells.len().saturating_sub(1);
    let mut out = Vec::new();
    for (i, (tag, value)) in cells.iter().enumerate() {
        out.extend_from_slice(if i == 0 { b"" } else { b" " });
        let is_plain = !matches!(value.as_slice(), [] | b"-" | [b'"', ..])
            && (i == last || !value.contains(&b' '));
        match (tag, is_plain) {
            (Tag::None, _) => out.push(b'-'),
            (_, true) => out.extend_from_slice(value),
            (_, false) => {
                out.push(b'"');
                for &byte in value {
                    out.extend_from_slice(if b"\"\\".contains(&byte) { b"\\" } else { b"" });
                    out.push(byte);
                }
                out.push(b'"');
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(texts: &[&[u8]]) -> Vec<u8> {
        let mut key = Vec::new();
        for text in texts {
            let start = key.len();
            key.push(Tag::Text as u8);
            key.extend_from_slice(text);
            end(&mut key, start + 1);
        }
        key
    }

    #[test]
    fn keys_differ_and_sort_as_their_values() {
        let all: [&[&[u8]]; 9] = [
            &[b"", b""],
            &[b"\0", b""],
            &[b"\0\0", b"x"],
            &[b"\0\xff", b""],
            &[b"a", b"b c"],
            &[b"a", b"c"],
            &[b"a b", b"c"],
            &[b"a\0", b"b"],
            &[b"b"],
        ];
        for (a, b) in all.iter().flat_map(|a| all.iter().map(move |b| (a, b))) {
            assert_eq!(key(a).cmp(&key(b)), a.cmp(b), "{a:?} {b:?}");
        }
        for texts in all {
            let expected: Vec<Cell> = texts.iter().map(|t| (Tag::Text, t.to_vec())).collect();
            assert_eq!(cells(&key(texts)), expected);
        }
    }

    #[test]
    fn texts_of_other_values_differ() {
        for (values, expected) in [
            (&[&b"a"[..], b"b c"][..], "a b c"),
            (&[b"a b", b"c"], "\"a b\" c"),
            (&[b"a \"\\", b"c"], "\"a \\\"\\\\\" c"),
            (&[b"-"], "\"-\""),
            (&[b"", b"\"\""], "\"\" \"\\\"\\\"\""),
        ] {
            let made = text(&cells(&key(values)));
            assert_eq!(String::from_utf8(made).unwrap(), expected);
        }
        assert_eq!(text(&[(Tag::None, Vec::new())]), b"-");
    }
}
