// SPDX-License-Identifier: GPL-2.0

//! Structs and enums with `#[derive(BlogArg)]` print as with `#[derive(Debug)]`.

use super::{image::with_host, same};
use kernel::{blog::BlogArg, error::Error};
use proptest::prelude::*;

#[derive(BlogArg, Clone, Copy, Debug)]
struct Extent {
    start: u64,
    len: u32,
    hole: bool,
}

#[derive(BlogArg, Clone, Copy, Debug)]
struct Pair(i16, Option<u8>);

#[derive(BlogArg, Clone, Copy, Debug)]
struct Unit;

#[derive(BlogArg, Clone, Copy, Debug)]
enum Op {
    Flush,
    Read(u64, u32),
    Write { at: Extent, fua: bool },
    Failed(Error),
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn derived_types(start: u64, len: u32, hole: bool, a: i16, b: Option<u8>) {
        let extent = Extent { start, len, hole };
        let pair = Pair(a, b);
        let ops = [
            Op::Flush,
            Op::Read(start, len),
            Op::Write { at: extent, fua: hole },
            Op::Failed(Error::from_errno(-22)),
        ];
        with_host(|host| {
            same!(host, "{:?}|{:x?}|{:04?}", extent, extent, extent);
            same!(host, "{:#?}", extent);
            same!(host, "{pair:?} {pair:#?} {:?}", Unit);
            for op in ops {
                same!(host, "{op:?}|{:#?}|{:?}", op, Some(op));
            }
        })
    }
}

#[test]
fn a_type_inside_a_function_is_another_one() {
    #[derive(BlogArg, Clone, Copy, Debug)]
    struct Extent(u8);
    with_host(|host| same!(host, "{:?}", Extent(3)));
}
