// SPDX-License-Identifier: GPL-2.0

//! An argument that its placeholder's trait does not fit: the error is at the argument.

use kernel::{blog::{blog_component, blog_log, BlogArg}, prelude::*};

blog_component! { C, name: "c" }

#[derive(BlogArg)]
struct Point(u8);

struct Foreign;

pub fn f(name: &str, raw: *const u8, label: &CStr, bytes: &[u8], point: Point) {
    blog_log!(C, "{:x}", name);
    //~                  ^ `str` cannot be logged with `{:x}`: wrong type for this placeholder
    blog_log!(C, "{} {:b}", 1, name.len() == 2);
    //~                        ^ `bool` cannot be logged with `{:b}`: wrong type for this placeholder
    blog_log!(C, "{}", raw);
    //~                ^ `*const u8` cannot be logged with `{}`: wrong type for this placeholder
    blog_log!(C, "{}", bytes);
    //~                ^ `[u8]` cannot be logged with `{}`: wrong type for this placeholder
    blog_log!(C, "{label:o}");
    //~          ^ `std::ffi::CStr` cannot be logged with `{:o}`: wrong type for this placeholder
    blog_log!(C, "{:p}", 5_u8);
    //~                  ^ `u8` cannot be logged with `{:p}`: not a pointer or reference to a type of known size
    blog_log!(C, "{:p}", name);
    //~                  ^ `&str` cannot be logged with `{:p}`: not a pointer or reference to a type of known size
    blog_log!(C, "{}", Some(1));
    //~                ^ `Option<{integer}>` cannot be logged with `{}`: wrong type for this placeholder
    blog_log!(C, "{:?} {}", point, point);
    //~                            ^ `Point` cannot be logged with `{}`: wrong type for this placeholder
    blog_log!(C, "{:?}", Foreign);
    //~                  ^ `Foreign` cannot be logged by BLog: not a type that BLog knows
    blog_log!(C, "{}", 1.5);
    //~                ^ `{float}` cannot be logged by BLog: not a type that BLog knows
    blog_log!(C, "{:1$}", 1, 2_u32);
    //~                      ^ `u32` cannot be a width or precision, which must be `usize`: wrong type for this placeholder
    blog_log!(C, "{:.*}", name, name);
    //~                   ^ `str` cannot be a width or precision, which must be `usize`: wrong type for this placeholder
}
