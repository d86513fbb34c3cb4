// SPDX-License-Identifier: GPL-2.0

//! The stored part of a captured message.

use std::fmt::Arguments;

use kernel::blog::{capture::Text, BlogArg};

fn text(message: Arguments<'_>) -> String {
    String::from_utf8(Text::new(message).tail().to_vec()).unwrap()
}

#[test]
fn text_that_fits_is_whole() {
    let long = "x".repeat(Text::MAX - 4);
    assert_eq!(text(format_args!("{long}{}", 1234)), format!("{long}1234"));
    assert_eq!(text(format_args!("")), "");
}

#[test]
fn text_that_is_cut_ends_with_a_mark() {
    for n in 0..Text::MAX + 10 {
        for more in ["end", "ä€𝄞ä€𝄞"] {
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
    assert_eq!(text(format_args!("{}\n", "line")), "line");
    assert_eq!(text(format_args!("two\nlines\n\n")), "two\nlines\n");
    assert_eq!(text(format_args!("\n")), "");
    assert_eq!(text(format_args!("")), "");
}
