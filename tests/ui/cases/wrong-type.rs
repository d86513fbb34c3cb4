// SPDX-License-Identifier: GPL-2.0

//! An argument that its placeholder's trait does not fit: the error is at the argument.

use kernel::{blog::{blog_component, blog_log, BlogArg}, prelude::*};

blog_component! { C, name: "c" }

#[derive(BlogArg)]
struct Point(u8);

struct Foreign;

pub fn f(name: &str, raw: *const u8, label: &CStr, bytes: &[u8], point: Point) {
    blog_log!(C, "{:x}", name);
    //~                  ^ the trait bound `str: LowerHex` is not satisfied
    blog_log!(C, "{} {:b}", 1, name.len() == 2);
    //~                        ^ the trait bound `bool: Binary` is not satisfied
    blog_log!(C, "{}", raw);
    //~                ^ `*const u8` doesn't implement `std::fmt::Display`
    blog_log!(C, "{}", bytes);
    //~                ^ `[u8]` doesn't implement `std::fmt::Display`
    blog_log!(C, "{label:o}");
    //~          ^ the trait bound `str: Octal` is not satisfied
    blog_log!(C, "{:p}", 5_u8);
    //~                  ^ `u8` cannot be logged with `{:p}`: not a pointer or reference to a type of known size
    blog_log!(C, "{:p}", name);
    //~                  ^ `&str` cannot be logged with `{:p}`: not a pointer or reference to a type of known size
    blog_log!(C, "{}", Some(1));
    //~                ^ `Option<Logged<{integer}>>` doesn't implement `std::fmt::Display`
    blog_log!(C, "{:?} {}", point, point);
    //~                            ^ `OnlyDebug<Point>` doesn't implement `std::fmt::Display`
    blog_log!(C, "{:?}", Foreign);
    //~                  ^ `Foreign` cannot be logged by BLog: not a type that BLog knows
    blog_log!(C, "{}", 1.5);
    //~                ^ `{float}` cannot be logged by BLog: not a type that BLog knows
    blog_log!(C, "{:1$}", 1, 2_u32);
    //~                      ^ mismatched types
    blog_log!(C, "{:.*}", name, name);
    //~                   ^ mismatched types
}
