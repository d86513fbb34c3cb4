// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! What the parser of format strings takes them for.

use super::parse::*;

fn one(format: &str) -> Placeholder {
    match parse(format).unwrap().pop() {
        Some(Piece::Placeholder(p)) => p,
        other => panic!("{other:?}"),
    }
}

#[test]
fn braces_in_pairs_are_text() {
    assert_eq!(parse("a{{b}}c"), Ok(vec![Piece::Literal("a{b}c".to_owned())]));
}

#[test]
fn zero_is_a_flag_or_an_argument() {
    assert!(one("{:05}").flags.zero);
    let p = one("{:0$}");
    assert!(!p.flags.zero);
    assert_eq!(p.width, Some(Count::Argument(Position::Index(0))));
    let p = one("{:00$}");
    assert!(p.flags.zero);
    assert_eq!(p.width, Some(Count::Argument(Position::Index(0))));
}

#[test]
fn star_takes_its_argument_before_the_value() {
    let p = one("{:.*}");
    assert_eq!(p.precision, Some(Count::Argument(Position::Next(0))));
    assert_eq!(p.argument, Position::Next(1));
    let p = one("{x:.*}");
    assert_eq!(p.precision, Some(Count::Argument(Position::Next(0))));
    assert_eq!(p.argument, Position::Name("x".into()));
}

#[test]
fn any_character_fills() {
    assert_eq!(one("{:}<5}").flags.fill, '}');
    assert_eq!(one("{:<<5}").flags.fill, '<');
    assert_eq!(one("{:\u{1f980}^5}").flags.fill, '\u{1f980}');
    assert_eq!(one("{:<5}").flags.fill, ' ');
}

#[test]
fn trait_is_no_width() {
    let p = one("{:x$x}");
    assert_eq!(p.width, Some(Count::Argument(Position::Name("x".into()))));
    assert_eq!(p.print, Trait::LowerHex);
    assert_eq!(one("{:x}").width, None);
    assert_eq!(one("{:#06X?}").flags.debug_hex, DebugHex::Upper);
}

#[test]
fn wrong_strings_are_errors() {
    for s in ["{", "}", "{:", "{:}}", "a}b", "{:q}", "{0", "{:99999}", "{:.99999}"] {
        assert!(parse(s).is_err(), "{s}");
    }
}
