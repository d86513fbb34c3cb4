// SPDX-License-Identifier: GPL-2.0

//! Strings, C strings and bytes; what does not fit is cut, and the cut is seen.

use super::{image::with_host, same};
use kernel::{
    blog::wire::{page::PAGE_HEADER_SIZE, record::HEADER_SIZE},
    blog::{blog_info, BlogArgs, Hex, Mac},
    error::Error,
};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn strings(s in ".{0,60}", t in "[ -~]{0,30}", w in 0usize..70, p in 0usize..70) {
        with_host(|host| {
            let (s, t) = (s.as_str(), t.as_str());
            same!(host, "{}|{:?}|{:10}|{:<10}|{:>10}|{:*^20}", s, s, s, s, s, s);
            same!(host, "{:.3}|{:10.3}|{:-^w$.p$}|{:.*}", s, s, s, p, s);
            same!(host, "{:?}|{:#?}|{:10?}", Some(s), Some(s), s);
            same!(host, "{s} {t:?} {}", t.len());
        })
    }

    #[test]
    fn bytes(v in prop::collection::vec(any::<u8>(), 0..60), m: [u8; 6], a: [u8; 5]) {
        with_host(|host| {
            same!(host, "{:?}|{:x?}|{:02x?}|{:#?}", &v[..], &v[..], &v[..], &v[..]);
            same!(host, "{:?}|{:02X?}", a, a);
            same!(host, "{}|{}|{:?}|{:>20}", Hex(&v), Mac(m), Mac(m), Mac(m));
            let r: Result<u32, Error> = Ok(u32::from(a[0]));
            same!(host, "{:?} {:#?}", r, r);
        })
    }
}

#[test]
fn errors_print_their_names() {
    with_host(|host| {
        let bad: Result<(), Error> = Err(Error::from_errno(-22));
        same!(host, "{:?} {:?} {:#?}", Error::from_errno(-5), bad, bad);
        let worse: Result<u64, Error> = Err(Error::from_errno(-12));
        same!(host, "{:?}", worse);
    });
}

#[test]
fn lengths_of_one_byte_and_of_three() {
    with_host(|host| {
        for len in [0, 1, 253, 254, 255, 256, 500, 1000] {
            let s = &"y".repeat(len)[..];
            same!(host, "{} {} {:?}", s, len, Some(&s[..len / 200]));
            let r: Result<&str, Error> = Ok(s);
            same!(host, "{:?} {}", r, len);
        }
    });
}

#[test]
fn what_does_not_fit_is_cut_and_seen() {
    let long = "x".repeat(3000);
    with_host(|host| {
        blog_info!(&host.component, "{} {} {}", 7u32, long.as_str(), "tail");
        let text = host.texts(1).remove(0);
        // 1023 bytes, less 4 for the number and 3 for each length.
        let kept = 1023 - 4 - 3 - 3;
        let want = format!("7 {}…[+{} bytes] …[+4 bytes]", "x".repeat(kept), 3000 - kept);
        assert_eq!(text, want);
        // A length that 16 bits can't name is the most that they can.
        blog_info!(&host.component, "{}", "x".repeat(70_000).as_str());
        let want = format!("{}…[more]", "x".repeat(1020));
        assert_eq!(host.texts(1), [want]);
    });
}

/// The bench's records with their part of what else is in a page, beside those of LTTng with a
/// thread id and more than 31 events.
#[test]
fn records_are_smaller_than_those_of_lttng() {
    let each = |size: usize| {
        let records = (4096 - PAGE_HEADER_SIZE) / (HEADER_SIZE + size);
        4096.0 / records as f64
    };
    let (text_11, text_64) = (&"x".repeat(11)[..], &"x".repeat(64)[..]);
    assert!(each((&1u32, &2u64).size()) < 20.5);
    assert!(each((&1u8, &2u64, &3u32, &4u32).size()) < 27.13);
    assert!(each((text_11,).size()) < 22.10);
    assert!(each((text_64,).size()) < 75.33);
}
