// SPDX-License-Identifier: GPL-2.0

//! BLog's own code logs nothing by these, so the names are all that is needed.

#![no_std]

macro_rules! names {
    ($($name:ident)*) => {$(
        #[macro_export]
        macro_rules! $name {
            () => {};
        }
    )*};
}

names!(blog_capture blog_debug blog_err blog_info blog_log blog_trace blog_warn BlogArg);
