// SPDX-License-Identifier: GPL-2.0

//! Format strings that are wrong in themselves, or do not fit the number of arguments.

use kernel::{blog::{blog_component, blog_log}, prelude::*};

blog_component! { C, name: "c" }

pub fn f(a: u32, b: u32) {
    blog_log!(C, "{} {}", a);
    //~          ^ 2 positional arguments in format string, but there is 1 argument
    blog_log!(C, "{}");
    //~          ^ 1 positional argument in format string, but there are no arguments
    blog_log!(C, "{:.*}", a);
    //~          ^ 2 positional arguments in format string, but there is 1 argument
    blog_log!(C, "{2}", a, b);
    //~          ^ invalid reference to positional argument 2 (there are 2 arguments)
    blog_log!(C, "{:2$}", a, b);
    //~          ^ invalid reference to positional argument 2 (there are 2 arguments)
    blog_log!(C, "{}", a, b);
    //~                   ^ argument never used
    blog_log!(C, "nothing", a, 2 * b);
    //~                     ^ argument never used
    //~                        ^ argument never used
    blog_log!(C, "{a}", a = 1, x = b);
    //~                            ^ named argument never used
    blog_log!(C, "{x}", x = a, x = b);
    //~                        ^ duplicate argument named `x`
    blog_log!(C, "{x} {}", x = a, b);
    //~                           ^ positional arguments cannot follow named arguments
    blog_log!(C, "{", a);
    //~          ^ expected `}` in format string after `{`, but it ends
    blog_log!(C, "{a");
    //~          ^ expected `}` in format string after `{a`, but it ends
    blog_log!(C, "a }");
    //~          ^ unmatched `}` in format string; write `}}` for a `}`
    blog_log!(C, "{a b}");
    //~          ^ expected `}` in format string after `{a `, found `b`
    blog_log!(C, "{a?}");
    //~          ^ expected `}` in format string after `{a`, found `?`
    blog_log!(C, "{:y}", a);
    //~          ^ unknown format trait `y`; known are ``, `?`, `x?`, `X?`, `x`, `X`, `o`, `b`, `e`, `E` and `p`
    blog_log!(C, "{:xx}", a);
    //~          ^ unknown format trait `xx`; known are ``, `?`, `x?`, `X?`, `x`, `X`, `o`, `b`, `e`, `E` and `p`
    blog_log!(C, "{:?x}", a);
    //~          ^ expected `}` in format string after `{:?`, found `x`
    blog_log!(C, "{:65536}", a);
    //~          ^ `65536` in format string is greater than 65535
    blog_log!(C, "a\0b");
    //~          ^ a format string cannot have a NUL (`\0`)
    blog_log!(C, "{_}");
    //~          ^ invalid argument name `_` in format string
    blog_log!(C, "{r#a}");
    //~          ^ raw identifiers are not supported in format strings; omit the `r#`
    blog_log!(C, "{missing}");
    //~          ^ cannot find value `missing` in this scope
    blog_log!(C, "{self}");
    //~          ^ expected value, found module `self`
}
