// SPDX-License-Identifier: GPL-2.0

//! Integers of all widths, `bool`, `char`, pointers: every trait, width, fill, sign and prefix.

use super::{image::with_host, same};
use proptest::prelude::*;
use std::num::NonZero;

/// All that integers can be printed with.
macro_rules! integer {
    ($host:expr, $v:expr, $width:expr) => {{
        let (v, w) = ($v, $width);
        same!($host, "{}", v);
        same!($host, "{v:?} and {v} and {0}", v);
        same!($host, "{:5}|{:<7}|{:^9}|{:>11}|{:*^13}|{:é>6}", v, v, v, v, v, v);
        same!($host, "{:+}|{:+08}|{:08}|{:#010}|{:-<+9}", v, v, v, v, v);
        same!($host, "{:x}|{:X}|{:o}|{:b}|{:#x}|{:#X}|{:#o}|{:#b}", v, v, v, v, v, v, v, v);
        same!($host, "{:#010x}|{:#034b}|{:<#12x}|{:^+#14X}|{:08o}", v, v, v, v, v);
        same!($host, "{:e}|{:E}|{:12e}|{:+e}|{:.2e}", v, v, v, v, v);
        same!($host, "{:x?}|{:X?}|{:#x?}|{:06x?}|{:#?}|{:8?}|{:+?}", v, v, v, v, v, v, v);
        same!($host, "{:w$}|{:>1$}|{v:<w$}|{2:0w$}", v, w, v);
        same!($host, "{:1$}|{0:+.*}", v, w);
        same!($host, "{:?} {:?} {:08?}", Some(v), None::<u8>, Some(v));
        same!($host, "{:#?} {:#x?}", Some(v), Some(Some(v)));
    }};
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn integers(
        a: (u8, i8, u16, i16, u32, i32),
        b: (u64, i64, u128, i128, usize, isize),
        w in 0usize..40,
    ) {
        with_host(|host| {
            integer!(host, a.0, w);
            integer!(host, a.1, w);
            integer!(host, a.2, w);
            integer!(host, a.3, w);
            integer!(host, a.4, w);
            integer!(host, a.5, w);
            integer!(host, b.0, w);
            integer!(host, b.1, w);
            integer!(host, b.2, w);
            integer!(host, b.3, w);
            integer!(host, b.4, w);
            integer!(host, b.5, w);
        })
    }

    #[test]
    fn bools_chars_and_addresses(b: bool, c: char, a: usize, ip4: [u8; 4], ip6: [u8; 16], w in 0usize..40) {
        let p = a as *const u8;
        let m = a as *mut u32;
        let ip4 = std::net::Ipv4Addr::from(ip4);
        let ip6 = std::net::Ipv6Addr::from(ip6);
        with_host(|host| {
            same!(host, "{}|{:?}|{:8}|{:<8?}|{:^9}|{:.2}|{:w$}", b, b, b, b, b, b, b);
            same!(host, "{}|{:?}|{:4}|{:<4?}|{:^5}|{:~>w$}", c, c, c, c, c, c);
            same!(host, "{:p}|{:?}|{:#p}|{:20p}|{:<20p}|{:020p}", p, m, p, p, p, p);
            same!(host, "{}|{:?}|{:20}|{:>20}|{}|{:?}|{:45}", ip4, ip4, ip4, ip4, ip6, ip6, ip6);
            same!(host, "{:?} {:?}", Some(b), Some(c));
        })
    }
}

#[test]
fn extremes_of_each_width() {
    with_host(|host| {
        integer!(host, u128::MAX, 0);
        integer!(host, i128::MIN, 39);
        integer!(host, u64::MAX, 1);
        integer!(host, i64::MIN, 2);
        integer!(host, i8::MIN, 3);
        integer!(host, 0u8, 4);
        integer!(host, NonZero::new(7u32).unwrap(), 3);
        same!(host, "{:?}", ());
        same!(host, "no arguments, {{braces}} and \\ \"quotes\" \t é \u{1f980}");
    });
}

#[test]
fn arguments_are_named_numbered_captured_and_mixed() {
    let (ino, len, width) = (0x1234u64, 77u32, 9usize);
    with_host(|host| {
        same!(host, "ino {ino:#x} len {len:>width$} {ino}");
        same!(host, "{0} {1} {0} {name}", ino, len, name = ino + 1);
        same!(host, "{} {2} {} {0:>3$}", ino, len, "x", 12);
        same!(host, "{:>3$} {:.*} {}", len, 2, "abcdef", 6);
        same!(
            host,
            "{a}{b}{c}{d}{e}{f}{g}{h}{i}{j}{k}{l}",
            a = 1,
            b = 2u8,
            c = 3i64,
            d = 4u16,
            e = 5,
            f = 6,
            g = 7,
            h = 8,
            i = 9,
            j = 10,
            k = 11,
            l = 12
        );
        let site = host.last_site();
        assert_eq!(site.level, 5);
        assert!(site.file.ends_with("scalars.rs"), "{}", site.file);
        assert_eq!(site.module, module_path!());
        of_its_own(host);
        assert_eq!(host.last_site().function, concat!(module_path!(), "::of_its_own"));
    });
}

#[inline(never)]
fn of_its_own(host: &crate::image::Host) {
    same!(host, "here");
}
