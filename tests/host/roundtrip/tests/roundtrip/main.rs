// SPDX-License-Identifier: GPL-2.0

//! Decoded text equals what `format!` prints, from `blog_log!` on.

// The kernel is not linted so; a call with many arguments expands to a function with as many.
#![allow(clippy::too_many_arguments)]

mod arguments;
mod derived;
mod image;
mod scalars;
mod strings;
mod times;

/// Logs and formats the same, and compares what the log decodes to.
macro_rules! same {
    ($host:expr, $($args:tt)*) => {{
        let want = format!($($args)*);
        let before = $host.count();
        kernel::blog::blog_trace!(&$host.component, $($args)*);
        assert_eq!($host.count(), before + 1, "not logged: {}", stringify!($($args)*));
        let got = $host.texts(1).remove(0);
        assert_eq!(got, want, "{}", stringify!($($args)*));
    }};
}
use same;
