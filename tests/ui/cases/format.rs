// SPDX-License-Identifier: GPL-2.0

//! Format strings that are wrong in themselves, or do not fit the number of arguments.

use kernel::{blog::{blog_component, blog_log}, prelude::*};

blog_component! { C, name: "c" }

pub fn f(a: u32, b: u32) {
    blog_log!(C, "{} {}", a);
    //~           ^ 2 positional arguments in format string
    blog_log!(C, "{}");
    //~           ^ 1 positional argument in format string
    blog_log!(C, "{:.*}", a);
    //~           ^ 2 positional arguments in format string
    //~                   ^ mismatched types
    blog_log!(C, "{2}", a, b);
    //~            ^ invalid reference to positional
    //~                 ^ multiple unused formatting arguments
    blog_log!(C, "{:2$}", a, b);
    //~             ^ invalid reference to positional
    //~                      ^ argument never used
    blog_log!(C, "{}", a, b);
    //~                   ^ argument never used
    blog_log!(C, "nothing", a, 2 * b);
    //~                     ^ multiple unused formatting arguments
    blog_log!(C, "{a}", a = 1, x = b);
    //~                            ^ named argument never used
    blog_log!(C, "{x}", x = a, x = b);
    //~                        ^ duplicate argument
    blog_log!(C, "{x} {}", x = a, b);
    //~                           ^ positional arguments cannot follow
    blog_log!(C, "{", a);
    //~            ^ invalid format string
    blog_log!(C, "{a");
    //~             ^ invalid format string
    blog_log!(C, "a }");
    //~             ^ invalid format string
    blog_log!(C, "{a b}");
    //~              ^ invalid format string
    blog_log!(C, "{a?}");
    //~             ^ invalid format string
    blog_log!(C, "{:y}", a);
//~ ^ mismatched types
    //~             ^ unknown format trait `y`
    blog_log!(C, "{:xx}", a);
    //~              ^ invalid format string
    blog_log!(C, "{:?x}", a);
    //~              ^ invalid format string
    blog_log!(C, "{:65536}", a);
    //~             ^ invalid format string
    blog_log!(C, "a\0b");
    //~          ^ a format string cannot have a NUL (`\0`)
    blog_log!(C, "{_}");
    //~            ^ invalid format string
    blog_log!(C, "{r#a}");
    //~            ^ invalid format string
    blog_log!(C, "{missing}");
    //~          ^ cannot find value `missing` in this scope
    blog_log!(C, "{self}");
    //~          ^ expected value, found module `self`
}
