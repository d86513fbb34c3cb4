// SPDX-License-Identifier: GPL-2.0

//! The parts of BLog that can be left out, each with its symbol of Kconfig. A tree has the rows of
//! those that are there.

use crate::floor::Part;

macro_rules! parts {
    ($($symbol:ident $part:ident;)*) => {
        $(#[cfg($symbol)]
        pub(crate) mod $part;)*

        /// Those that were built.
        pub(crate) static ALL: &[&Part] = &[$(
            #[cfg($symbol)]
            &$part::PART,
        )*];
    };
}

parts! {
    CONFIG_BLOG_DUMPS dumps;
    CONFIG_BLOG_BLAME blame;
    CONFIG_BLOG_CCALL ccall;
    CONFIG_BLOG_COUNTER counter;
    CONFIG_BLOG_HITS hits;
    CONFIG_BLOG_MAP map;
    CONFIG_BLOG_MARKER marker;
    CONFIG_BLOG_PERSIST persist;
    CONFIG_BLOG_PROBE probe;
    CONFIG_BLOG_SELECT select;
    CONFIG_BLOG_SETTINGS settings;
    CONFIG_BLOG_TRIGGER trigger;
    CONFIG_BLOG_WORDS words;
}
