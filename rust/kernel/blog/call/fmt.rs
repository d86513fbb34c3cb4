// SPDX-License-Identifier: GPL-2.0

//! What the macros' expansions check when a call is compiled. It leaves no code.

use super::super::wire::types;

/// Fails to compile for what is nested too deep for a code.
pub const fn shallow(code: types::TypeCode) {
    assert!(
        code.0 != types::TypeCode::TOO_DEEP.0,
        "BLog: `Option` and `Result` are nested too deep in this argument"
    );
}

/// Whether an assembler takes the name of a file between quotes as it is.
pub const fn is_plain(name: &str) -> bool {
    let mut rest = name.as_bytes();
    while let [byte, more @ ..] = rest {
        if matches!(byte, b'"' | b'\\' | b'\n') {
            return false;
        }
        rest = more;
    }
    true
}

/// Fails to compile for what cannot be a field of a derived type.
pub const fn field(code: types::TypeCode) {
    shallow(code);
    assert!(
        code.kind() != types::PRIVATE,
        "BLog: a field of a derived type can't be private: make all of the argument private"
    );
    assert!(
        !code.has_tail(),
        "BLog: a field of a derived type has a fixed size: log strings and slices as arguments"
    );
}

/// What the compiler's `format_args!` doesn't return: for a format that only the compiler knows.
pub struct KnownFormat;
