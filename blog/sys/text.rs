// SPDX-License-Identifier: GPL-2.0

//! Printing.

/// `write!` for types that only the kernel's `fmt` can print.
macro_rules! put {
    ($f:expr, $text:tt $(, $arg:expr)* $(,)?) => {
        $f.write_fmt(kernel::prelude::fmt!($text $(, $arg)*))
    };
}
pub(crate) use put;
