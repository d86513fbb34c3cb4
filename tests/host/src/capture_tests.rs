// SPDX-License-Identifier: GPL-2.0

//! How arguments of captured messages are stored: the choice between raw and text, and the text.

use std::fmt::{
    Arguments,
    Debug, //
};

use kernel::blog::{
    capture::{
        kind,
        with_message,
        Arg,
        StoreRaw as _,
        StoreText as _,
        Text, //
    },
    types::TypeCode,
    BlogArg, //
};

/// The code of what is stored, and its tail.
fn code<T: BlogArg>(stored: &T) -> (TypeCode, String) {
    let tail = String::from_utf8_lossy(stored.tail()).into_owned();
    (T::CODE, tail)
}

/// What is stored for a placeholder of a kind, with the text "text" if it is text.
macro_rules! stored {
    ($value:expr, $kind:ident) => {
        (&Arg::<_, kind::$kind>::new($value)).with(format_args!("text"), code)
    };
}

fn is_text(stored: (TypeCode, String)) -> bool {
    assert_eq!(stored.0 == TypeCode::TEXT, stored.1 == "text");
    stored.0 == TypeCode::TEXT
}

struct Foreign;

#[test]
fn what_can_be_logged_is_stored_raw() {
    assert!(!is_text(stored!(&5, Display)));
    assert!(!is_text(stored!(&5_u8, LowerHex)));
    assert!(!is_text(stored!("raw", Debug)));
    assert!(!is_text(stored!(&"raw", Display)));
    assert!(!is_text(stored!(c"raw", Display)));
    assert!(!is_text(stored!(&Some(true), Debug)));
    assert!(!is_text(stored!(&7_usize, Count)));
    assert!(!is_text(stored!(&&Foreign, Pointer)));
    assert!(!is_text(stored!(&core::ptr::null::<Foreign>(), Pointer)));
    assert_eq!(stored!("raw", Display), (<str>::CODE, "raw".into()));
    assert_eq!(stored!(&5, Display).0, i32::CODE);
}

#[test]
fn all_else_is_stored_as_text() {
    assert!(is_text(stored!(&Foreign, Display)));
    assert!(is_text(stored!(&Some(Foreign), Debug)));
    assert!(is_text(stored!(&format_args!("{}", 1), Display)));
    assert!(is_text(stored!(&1.5, Display)));
    // What no decoder would print as `fmt!` does.
    assert!(is_text(stored!(&[1_u16, 2][..], Debug)));
    assert!(is_text(stored!(&(), Display)));
    // The address of more than an address.
    assert!(is_text(stored!(&"wide", Pointer)));
}

#[test]
fn generic_code_stores_what_its_bounds_promise() {
    fn text<T: Debug>(value: &T) -> bool {
        is_text(stored!(value, Debug))
    }
    fn raw<T: BlogArg + kernel::blog::fmt::Debug>(value: &T) -> bool {
        is_text(stored!(value, Debug))
    }
    assert!(text(&1_u8));
    assert!(!raw(&1_u8));
}

fn text(arguments: Arguments<'_>) -> String {
    (&Arg::<_, kind::Display>::new(&Foreign)).with(arguments, |text| code(text).1)
}

#[test]
fn text_that_fits_is_whole() {
    let long = "x".repeat(Text::MAX - 4);
    assert_eq!(text(format_args!("{long}{}", 1234)), format!("{long}1234"));
    assert_eq!(text(format_args!("")), "");
    assert_eq!(text(format_args!("a\n")), "a\n");
}

#[test]
fn text_that_is_cut_ends_with_a_mark() {
    for n in 0..Text::MAX + 10 {
        for more in ["end", "ä€𝄞ä€𝄞", "\n"] {
            let whole = format!("{}{more}", "x".repeat(n));
            let got = text(format_args!("{:x<n$}{more}", ""));
            if whole.len() <= Text::MAX {
                assert_eq!(got, whole);
                continue;
            }
            let kept = got.strip_suffix('…').expect(&got);
            assert!(whole.starts_with(kept), "{got}");
            // As much as there is room for, in whole characters
            assert!(got.len() <= Text::MAX && got.len() > Text::MAX - 4, "{got}");
        }
    }
}

#[test]
fn a_message_is_stored_without_its_newline() {
    let message = |arguments: Arguments<'_>| with_message(arguments, |text| code(text).1);
    assert_eq!(message(format_args!("{}\n", "line")), "line");
    assert_eq!(message(format_args!("two\nlines\n\n")), "two\nlines\n");
    assert_eq!(message(format_args!("\n")), "");
    assert_eq!(message(format_args!("")), "");
}
