// SPDX-License-Identifier: GPL-2.0

//! Calls that are not of the form `(component, "format", arguments…)`.

use kernel::{blog::{blog_component, blog_log}, prelude::*};

blog_component! { C, name: "c" }

const FORMAT: &str = "{}";

pub fn f(a: u32) {
    blog_log!();
//~ ^ unexpected end of input, expected an expression
    blog_log!("{}", a);
    //~       ^ expected a component in front of the format string
    blog_log!(C);
//~ ^ unexpected end of input, expected a format string after the component
    blog_log!(C, FORMAT, a);
    //~          ^ the format must be a string literal
    blog_log!(C, b"bytes");
    //~          ^ the format must be a string literal
    blog_log!(C, "x"y);
    //~          ^ suffixes on string literals are invalid
    blog_log!(C, "{}" a);
    //~               ^ expected `,`
    blog_log!(a, "{}", a);
    //~       ^ `u32` is not a BLog component: expected a component
    blog_log!(D, "{}", a);
    //~       ^ cannot find value `D` in this scope
    blog_log!(
        C,
        "{a} {a} {} {} {} {} {} {} {} {} {} {} {} {}", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
//~     ^ more than 12 arguments cannot be logged by one call
    );
    blog_log!(C, "{0:p} {0:?}", &a);
    //~                         ^ an argument of `{:p}` cannot be printed in another way, too: pass it twice
    blog_log!(C, "{0:p} {1:0$}", a, 1);
    //~                          ^ an argument of `{:p}` cannot be printed in another way, too: pass it twice
}
