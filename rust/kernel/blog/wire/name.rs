// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Names of components: which there can be.
//!
//! A name becomes a directory beside BLog's own files, a word of the control files' language, and a
//! part of what tools print. The kernel goes by this, `blog-decode` does, and `blog_component!` at
//! build time: the macros' crate includes this very file. It needs nothing but `core`.

/// Room for a name (component, image) in bytes, NUL padded.
pub const NAME_MAX: usize = 56;

/// Names of files beside the components' directories, which no component can have.
const RESERVED: [&str; 7] = [
    "clock",
    "components",
    "control",
    "snapshot",
    "stats",
    "stream",
    "tasks",
];

/// What is wrong with a name: see [`check`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadName {
    /// It is empty, or too long.
    Length,
    /// It has other characters than letters, digits and `_-.:+`, or starts with a dot.
    Characters,
    /// It is one of [`RESERVED`].
    Reserved,
}

/// Whether a component can have this name.
///
/// # Examples
///
/// ```
/// # use kernel::blog::wire::name::{check, BadName};
/// assert_eq!(check(b"nvme0-0000:01:00.0"), Ok(()));
/// assert_eq!(check(b""), Err(BadName::Length));
/// assert_eq!(check(b"a/b"), Err(BadName::Characters));
/// assert_eq!(check(b"stream"), Err(BadName::Reserved));
/// ```
pub const fn check(name: &[u8]) -> Result<(), BadName> {
    if name.is_empty() || name.len() >= NAME_MAX {
        return Err(BadName::Length);
    }
    if matches!(name, [b'.', ..]) {
        return Err(BadName::Characters);
    }
    let mut rest = name;
    while let [first, tail @ ..] = rest {
        if !first.is_ascii_alphanumeric() && !matches!(*first, b'_' | b'-' | b'.' | b':' | b'+') {
            return Err(BadName::Characters);
        }
        rest = tail;
    }
    if is_reserved(name) {
        return Err(BadName::Reserved);
    }
    Ok(())
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
