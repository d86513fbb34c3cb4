// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Decoded text equals what `format!` prints, for values stored by the kernel's own code. For
//! random values, and types that are derived, tests/host/roundtrip has that, from the drivers'
//! macros on.

use std::{
    fmt,
    net::{Ipv4Addr, Ipv6Addr},
    num::NonZero,
};

use crate::common::kernel::{
    call::{
        arg::{BlogArg, Errno},
        args::BlogArgs,
    },
    wire::types::TypeCode,
};
use blog_decode_core::format::{template::Template, types::Types};
use blog_file::record::Version;
use blog_table::descriptor::{Field, Shape, Type, TypeKind, Variant};
use proptest::prelude::*;

/// Stores `args` as a driver would, and decodes them.
fn decode<A: BlogArgs>(format: &str, names: &[&str], codes: &[u64], args: A) -> String {
    let mut payload = vec![0xaa; args.size()];
    // SAFETY: The payload has as many bytes as `size` says.
    unsafe { args.store(payload.as_mut_ptr()) };
    let mut types = Types::new(&[]);
    let types = codes.iter().map(|&c| types.resolve(c).unwrap()).collect();
    let names = names.iter().map(|&n| n.to_owned()).collect();
    let template = Template::new(format, names, types).unwrap();
    let mut slots = Vec::new();
    assert!(template.locate_arguments(&payload, Version::Two, &mut slots));
    let mut out = Vec::new();
    template.print(&payload, &slots, &mut out);
    String::from_utf8(out).unwrap()
}

const USIZE: u64 = <usize as BlogArg>::CODE.0;

fn decode1<T: BlogArg + ?Sized>(format: &str, value: &T, width: usize, precision: usize) -> String {
    let codes = [T::CODE.0, USIZE, USIZE];
    decode(format, &["v", "w", "p"], &codes, (value, &width, &precision))
}

/// Compares with `format!` for each of many specs; `1$` is the width and `2$` the precision.
macro_rules! same {
    ($v:expr, $w:expr, $p:expr; $($spec:literal)*) => {{
        let (v, w, p) = ($v, $w, $p);
        $(
            let format = concat!("[{0:", $spec, "}]{1}{2}");
            let expected = format!(concat!("[{0:", $spec, "}]{1}{2}"), v, w, p);
            assert_eq!(decode1(format, v, w, p), expected, "{format} {w} {p}");
        )*
    }};
}

proptest! {
    #[test]
    fn anything_compiles_or_not_but_never_panics(
        format in "[{}:#0-9$.*<^>+a-cxXeEp?w -]{0,24}",
        a in any::<u32>(), b in 0..70000usize, s in any::<String>(),
    ) {
        let mut types = Types::new(&[]);
        let codes = [<u32 as BlogArg>::CODE.0, USIZE, <str as BlogArg>::CODE.0];
        let types = codes.iter().map(|&c| types.resolve(c).unwrap()).collect();
        let names = ["a", "w", "b"].map(str::to_owned).to_vec();
        if let Ok(template) = Template::new(&format, names, types) {
            let args = (&a, &b, s.as_str());
            let mut payload = vec![0; args.size()];
            // SAFETY: The payload has as many bytes as `size` says.
            unsafe { args.store(payload.as_mut_ptr()) };
            let (mut slots, mut out) = (Vec::new(), Vec::new());
            assert!(template.locate_arguments(&payload, Version::Two, &mut slots));
            template.print(&payload, &slots, &mut out);
            std::str::from_utf8(&out).unwrap();
            for n in 0..payload.len() {
                if template.locate_arguments(&payload[..n], Version::Two, &mut slots) {
                    template.print(&payload[..n], &slots, &mut out);
                }
            }
        }
    }
}

/// An error as the kernel's: prints its name.
#[derive(Clone, Copy)]
struct Negative(i32);

impl Errno for Negative {
    fn errno(&self) -> i32 {
        self.0
    }
}

impl fmt::Debug for Negative {
    // As in rust/kernel/error.rs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match blog_decode_core::format::errno::name(self.0.unsigned_abs()) {
            None => f.debug_tuple("Error").field(&-self.0).finish(),
            Some(name) => f.debug_tuple(name).finish(),
        }
    }
}

#[test]
fn kernel_prints_a_cstr_with_escapes() {
    // As the examples in rust/kernel/str.rs.
    assert_eq!(decode1("{}", c"\u{1f427}", 0, 0), "\\xf0\\x9f\\x90\\xa7");
    assert_eq!(decode1("{:>30}", c"so \"cool\"", 0, 0), "so \"cool\"");
    assert_eq!(decode1("{}", c"a\nb", 0, 0), "a\\x0ab");
}

#[test]
fn names_are_found_as_rust_finds_them() {
    let codes = [u8::CODE.0, u8::CODE.0, USIZE];
    // ("{} {x} {0} {1:w$}", x, x = b, w = 3): the named `x` is not the positional one.
    let args = (&1u8, &2u8, &3usize);
    let text = decode("{} {x} {0} {1:w$}|{:.*}", &["x", "x", "w"], &codes, args);
    // `{}` took 0, so `.*` takes 1 and the value is 2.
    assert_eq!(text, "1 2 1   2|3");
    let text = decode("{{{x:>2$}}}", &["x", "y", "w"], &codes, args);
    assert_eq!(text, "{  1}");
}

#[test]
fn precision_from_an_argument() {
    let codes = [USIZE, <str as BlogArg>::CODE.0];
    let text = decode("{:.*}|{1:.0$}", &["3", "s"], &codes, (&3usize, "abcdef"));
    assert_eq!(text, "abc|abc");
}

/// It was printed for its placeholder when it was stored.
#[test]
fn text_prints_as_it_is() {
    let codes = [TypeCode::TEXT.0, USIZE];
    let names = ["v", "w"];
    for format in ["{}", "{0:?}", "{v:#x}", "{:>9}", "{:1$}", "{:.2}", "{:#?}"] {
        let text = decode(format, &names, &codes, ("\"0x1\"", &8usize));
        assert_eq!(text, "\"0x1\"", "{format}");
    }
}

#[test]
fn a_cut_string_shows_how_much_is_missing() {
    let long = "x".repeat(2000);
    let codes = [<str as BlogArg>::CODE.0, <str as BlogArg>::CODE.0];
    let text = decode("{} {}", &["a", "b"], &codes, (long.as_str(), "tail"));
    let stored = 1023 - 6;
    let missing = 2000 - stored;
    let x = "x".repeat(stored);
    assert_eq!(text, format!("{x}\u{2026}[+{missing} bytes] \u{2026}[+4 bytes]"));
    // Whatever the precision would have dropped anyway isn't missed.
    let text = decode("{:.5}", &["a", "b"], &codes, (long.as_str(), "tail"));
    assert_eq!(text, "xxxxx");
    let text = decode("{:?}", &["a"], &codes[..1], (long.as_str(),));
    let x = "x".repeat(1020);
    assert_eq!(text, format!("\"{x}\"\u{2026}[+980 bytes]"));
    let text = decode("{0:?}", &["a"], &[<Option<&str>>::CODE.0], (&Some(long.as_str()),));
    let x = "x".repeat(1019);
    assert_eq!(text, format!("Some(\"{x}\")\u{2026}[+981 bytes]"));
    let huge = "y".repeat(70_000);
    let text = decode("{}", &["a"], &codes[..1], (huge.as_str(),));
    assert!(text.ends_with("y\u{2026}[more]"));
}

#[test]
fn a_cut_within_a_character_drops_it_whole() {
    let crabs = "\u{1f980}".repeat(300);
    let text = decode("{}", &["a"], &[<str as BlogArg>::CODE.0], (crabs.as_str(),));
    let whole = 1020 / 4;
    let missing = 1200 - whole * 4;
    let crabs = "\u{1f980}".repeat(whole);
    assert_eq!(text, format!("{crabs}\u{2026}[+{missing} bytes]"));
}

#[test]
fn no_text_is_longer_than_a_mebibyte_or_so() {
    let bytes = [0u8; 1000];
    let code = <[u8; 1000] as BlogArg>::CODE.0;
    for format in ["{:65535?}", "{:#65535?}", "{0:65535?}{0:65535?}"] {
        let text = decode(format, &["b"], &[code], (&bytes,));
        assert!(text.len() < 2 << 20, "{}", text.len());
        assert!(text.ends_with("\u{2026}[too long]"));
    }
    // One wide argument is no reason.
    assert_eq!(decode1("{:1$}", &7u8, 65535, 0).len(), 65535);
}

#[test]
fn hostile_types_are_errors() {
    let t = |code: u64, fields: Vec<u64>| Type {
        code,
        name: "T".into(),
        kind: TypeKind::Struct,
        variants: vec![Variant {
            name: "T".into(),
            shape: Shape::Tuple,
            fields: fields.into_iter().map(|code| Field { code, name: String::new() }).collect(),
        }],
    };
    let d = |n: u64| TypeCode::derived(n).0;
    // In itself.
    let types = [t(d(1), vec![d(1)])];
    assert!(Types::new(&types).resolve(d(1)).is_err());
    // Exponentially many nothings.
    let unit = <() as BlogArg>::CODE.0;
    let mut types = vec![t(d(0), vec![unit; 64])];
    for i in 1..20 {
        types.push(t(d(i), vec![d(i - 1); 64]));
    }
    assert!(Types::new(&types).resolve(d(19)).is_err());
    // A string in a field; a type that isn't there; a code of the future.
    let types = [t(d(1), vec![<str as BlogArg>::CODE.0])];
    assert!(Types::new(&types).resolve(d(1)).is_err());
    assert!(Types::new(&types).resolve(d(2)).is_err());
    assert!(Types::new(&types).resolve(0xff).is_err());
}

/// What the tests of Rust's own formatting are about, in cases of our own: each value by each spec,
/// width and precision.
#[test]
fn what_rusts_own_tests_are_about() {
    let mut tried = 0;
    macro_rules! each {
        ($values:expr; $($spec:literal)*) => {
            for v in $values {
                for (w, p) in [(0, 0), (1, 1), (4, 2), (9, 3), (13, 9), (40, 20)] {
                    same!(v, w, p; $($spec)*);
                    tried += [$($spec),*].len();
                }
            }
        };
    }
    // Text: padded and cut by characters; escaped by what they do, alone and after others.
    let texts = [
        "",
        "a",
        "abc",
        "\u{e9}t\u{e9}",
        "e\u{301}",
        "\u{301}",
        "\u{1f980}\u{200d}\u{1f980}",
        "\t\r\n\0\\",
        "\"'\"'",
        "\u{7f}\u{80}\u{9f}\u{a0}\u{ad}",
        "\u{200b}\u{feff}",
        "\u{e000}",
        "\u{10ffff}",
        "\u{2028}",
        "foo\u{fffd}bar",
        "a much longer text than any of the widths",
    ];
    let chars: Vec<char> = texts.iter().flat_map(|s| s.chars()).collect();
    each!(texts; "" "?" "#?" "1$" "<1$" ">1$" "^1$" "01$" "+1$" "-1$" "#1$" "\u{e9}>1$" "$^1$" ".2$"
        "1$.2$" "*^1$.2$" ".0" ".1" "10" "^10.3" ">7?" "*<9.2?" "x?");
    each!(&chars; "" "?" "1$" "^1$" "*>1$.2$" ".0" "?>1$?" "#?");
    each!(&[true, false]; "" "?" "1$" "^1$" ".2$" "*<1$.2$" "01$");
    // Numbers: signs, zeros and prefixes count for the width, and zeros win over a fill.
    macro_rules! number {
        ($($ty:ty: $values:expr;)*) => {$(
            each!(&$values as &[$ty]; "" "?" "+" "+?" "01$" "+01$" "<01$" "^1$" "*>+1$" "#x" "#X" "#o" "#b"
                "x" "X" "o" "b" "-1$" "+.2$" "0" "*^#1$x" "+#01$x" "<01$X?" "#010b" "#06x"
                "#01$x" "#01$b" "*^#1$o" "#?" "x?" "#X?" "#01$x?" "e" "E" ".2$e" ".0e" ".1e" "+01$.2$E"
                "1$e" "^1$.1e");
        )*};
    }
    number! {
        u8: [0, 5, 15, 95, 105, u8::MAX];
        i8: [0, -1, 94, i8::MIN, i8::MAX];
        u16: [9, 10, u16::MAX];
        i16: [-1, i16::MIN];
        u32: [99, 100, u32::MAX];
        i64: [-10, i64::MIN, i64::MAX];
        usize: [1, usize::MAX];
        isize: [-9, isize::MIN];
        i32: [-95, 150, 250, -12_345, 99_999, i32::MIN];
        u64: [
            25, 35, 45, 995, 9_950, 9_995, 12_500, 13_500, 99_500, 123_450, 999_999_999, u64::MAX,
        ];
        u128: [u128::MAX, 1 << 64, 10_u128.pow(38), 5 * 10_u128.pow(37)];
        i128: [i128::MIN, -1];
        NonZero<u16>: [NonZero::<u16>::MAX, NonZero::<u16>::MIN];
        NonZero<i64>: [NonZero::<i64>::MIN, NonZero::<i64>::MAX];
    }
    // Builders: nothing inside, one, several, within each other, on one line and on many.
    each!(&[None, Some(None), Some(Some(-7_i16))]; "?" "#?" "x?" "#X?" "01$?" "#01$x?" "+?" "+#1$?");
    each!(&[None, Some("two\nlines \"q\"")]; "?" "#?" "1$?" "#1$.2$?");
    let nested: [Result<Option<Option<()>>, Negative>; 4] =
        [Ok(None), Ok(Some(None)), Ok(Some(Some(()))), Err(Negative(-4095))];
    each!(&nested; "?" "#?" "1$?" "#01$?");
    each!([&[][..], &[0], &[1, 128, 255]]; "?" "#?" "x?" "02x?" "#04X?" "#1$?" "+?" "^1$?" "#x?");
    each!(&[[0_u8, 10, 200]]; "?" "#?" "02x?" "#1$X?");
    // Addresses: the longest run of zeros goes, the first of two, and none of one.
    let v6 = [
        "::",
        "::1",
        "1::",
        "2001:db8::8:800:200c:417a",
        "1:0:0:2::3",
        "1:2:3:4:5:6:0:8",
        "::ffff:192.0.2.1",
        "ff01::101",
        "0:0:1::",
    ];
    let v6 = v6.map(|a| a.parse::<Ipv6Addr>().unwrap());
    each!(&v6; "" "?" "1$" ">1$" "^40" "*^1$.2$" ".2$");
    each!(&[Ipv4Addr::BROADCAST, Ipv4Addr::UNSPECIFIED]; "" "?" "1$" ">18" "^1$.2$");
    each!([c"", c"plain", c"\xff\xe2\x82 \u{e9}\t\\"]; "?" "#?" "1$?");
    assert!(tried > 15_000, "{tried}");
}

/// Which argument a placeholder means.
#[test]
fn arguments_are_those_that_rust_means() {
    let (n, s, w) = (&42_u32, "text", &7_usize);
    let (number, string) = (u32::CODE.0, <str as BlogArg>::CODE.0);
    macro_rules! positional {
        ($($format:literal)*) => {$(
            let text = decode($format, &["n", "s", "w"], &[number, string, USIZE], (n, s, w));
            assert_eq!(text, format!($format, n, s, w), "{}", $format);
        )*};
    }
    positional!("{} {} {}" "{2}{1}{0}" "{0}{0:?}{2}{1}" "{2} {} {}" "{:2$}|{}" "{}{:>2$}" "{1:.2$}{0}"
        "{0:02$x} {1:^2$.2$}" "{0:#2$b}{}{1:-<2$}{1}" "{{{}}}{{}}{}}}{{{}" "{2:2$} {0:<2$} {1:2$?}"
        "{0:e}{1}{2:.3e}" "{0:}<9}{1:<<8}{2:<3}");
    macro_rules! star {
        ($($format:literal)*) => {$(
            let text = decode($format, &["w", "s", "n"], &[USIZE, string, number], (w, s, n));
            assert_eq!(text, format!($format, w, s, n), "{}", $format);
        )*};
    }
    star!("{:.*}{}" "{:>9.*}{:?}" "{:.*}{2}{0}" "{1:0$}{2:.0$e}" "{2}{:.*}" "{:<0$.*}{}" "{1:.*}{0}{2}");
    macro_rules! captured {
        ($($format:literal)*) => {$(
            let text = decode($format, &["n", "s", "w"], &[number, string, USIZE], (n, s, w));
            assert_eq!(text, format!($format), "{}", $format);
        )*};
    }
    captured!("{n}" "{s:?}{s}" "{n:w$}" "{n:0w$}" "{s:>w$}" "{s:.w$}" "{s:^w$.w$}|" "{n:#0w$x}{{s}}" "{w}{w:w$}"
        "{n }" "{n:w$x}{n:#06X?}" "{n:? }" "{s:\u{1f980}<w$}" "{n:#?}{n:x?}" "" "{{}}" "{s}\n{n:+}\t");
}

#[test]
fn what_rust_refuses_is_refused() {
    for format in ["{", "}", "{:", "{:}}", "a}b", "{:q}", "{0", "{:99999}", "{:.99999}"] {
        let ty = Types::new(&[]).resolve(USIZE).unwrap();
        assert!(Template::new(format, vec!["a".into()], vec![ty]).is_err(), "{format}");
    }
}
