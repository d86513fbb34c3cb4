// SPDX-License-Identifier: GPL-2.0

//! Strings, C strings and bytes; what does not fit is cut, and the cut is seen.

use super::{image::with_host, same};
use kernel::{
    blog::{blog_info, Hex, Mac},
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
fn what_does_not_fit_is_cut_and_seen() {
    let long = "x".repeat(3000);
    with_host(|host| {
        blog_info!(&host.component, "{} {} {}", 7u32, long.as_str(), "tail");
        let text = host.texts(1).remove(0);
        // 1020 bytes, less 4 for the number and 2 for each length.
        let kept = 1020 - 4 - 2 - 2;
        let want = format!(
            "7 {}…[+{} bytes] …[+4 bytes]",
            "x".repeat(kept),
            3000 - kept
        );
        assert_eq!(text, want);
    });
}
