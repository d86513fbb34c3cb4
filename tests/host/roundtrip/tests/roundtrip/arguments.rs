// SPDX-License-Identifier: GPL-2.0

//! Arguments by themselves, as JSON, CTF, Perfetto, `{args}` and conditions take them: the text of
//! each is what `{}` prints (`{:?}` if there is no `{}`), and a number is that number, in the
//! bytes that CTF copies, too.

use super::image::with_host;
use blog_decode_core::format::print::{Printer, Spec};
use blog_decode_core::format::value::{Value, View};
use kernel::{blog::blog_info, error::Error};
use proptest::prelude::*;

/// What `{args}`, CTF and Perfetto print.
fn text(value: Value<'_>) -> String {
    let mut out = Vec::new();
    value.print(&Spec::DISPLAY, &mut Printer::new(&mut out));
    String::from_utf8(out).unwrap()
}

/// A number as JSON, Perfetto and conditions have it.
fn number(value: Value<'_>) -> Option<i128> {
    match value.view() {
        View::Uint(n) => i128::try_from(n).ok(),
        View::Int(n) => Some(n),
        _ => None,
    }
}

macro_rules! numbers {
    ($host:expr, $($v:expr),+) => {$({
        let v = $v;
        blog_info!(&$host.component, "{}", v);
        let mut seen = 0;
        $host.arguments(|_, _, value| {
            seen += 1;
            assert_eq!(text(value), v.to_string());
            assert_eq!(number(value), i128::try_from(v).ok());
            assert_eq!(value.fixed, v.to_le_bytes());
        });
        assert_eq!(seen, 1);
    })+};
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn numbers(
        a: (u8, i8, u16, i16, u32, i32),
        b: (u64, i64, u128, i128, usize, isize),
    ) {
        with_host(|host| {
            numbers!(host, a.0, a.1, a.2, a.3, a.4, a.5);
            numbers!(host, b.0, b.1, b.2, b.3, b.4, b.5);
        })
    }

    #[test]
    fn everything_else(
        yes: bool,
        c: char,
        s in ".{0,40}",
        some: Option<u16>,
        ip in any::<[u8; 16]>(),
        errno in prop::sample::select(vec![5i32, 12, 22]),
    ) {
        let (ip, error) = (std::net::Ipv6Addr::from(ip), Error::from_errno(-errno));
        let result: Result<u32, Error> = Err(error);
        let want = [
            yes.to_string(),
            c.to_string(),
            s.clone(),
            format!("{some:?}"),
            ip.to_string(),
            format!("{error:?}"),
            format!("{result:?}"),
        ];
        with_host(|host| {
            let s = s.as_str();
            blog_info!(&host.component, "{}{}{}{:?}{}{:?}{:?}", yes, c, s, some, ip, error, result);
            let mut got = Vec::new();
            host.arguments(|_, _, value| got.push(text(value)));
            assert_eq!(got, want);
            host.arguments(|i, _, value| match (i, value.view()) {
                (0, View::Bool(b)) => assert_eq!(b, yes),
                (1, View::Char(got)) => assert_eq!(got, Ok(c)),
                (2, View::Str(got)) => assert_eq!(got, s.as_bytes()),
                (3, View::Option(got)) => {
                    assert_eq!(got.and_then(number), some.map(i128::from));
                }
                (4, View::Ipv6(got)) => assert_eq!(got, ip),
                (5, View::Error(n)) => assert_eq!(n, -errno),
                (6, View::Result(got)) => assert_eq!(got.err(), Some(-errno)),
                (i, _) => panic!("argument {i} is of another type"),
            });
        })
    }
}

/// One without a name is called by its source text.
#[test]
fn a_long_name_ends_with_an_ellipsis() {
    with_host(|host| {
        let sectors = 1u64;
        blog_info!(
            &host.component,
            "{}{}",
            sectors.max(12),
            sectors.max(sectors).max(sectors).max(sectors).max(sectors).max(sectors).max(sectors)
        );
        let mut names = Vec::new();
        host.arguments(|_, name, _| names.push(name.to_owned()));
        assert_eq!(names[0], "sectors.max(12)");
        assert_eq!((names[1].chars().count(), names[1].chars().last()), (81, Some('…')));
    })
}
