// SPDX-License-Identifier: GPL-2.0

//! KUnit suites of BLog's API, seen from a driver: a separate module, which logs to its own
//! components with the macros. The blog module has the suites of its inside.

use kernel::prelude::*;

#[cfg(CONFIG_BLOG_CCALL)]
#[path = "../parts/ccall/tests/api_c.rs"]
mod api_c;
mod api_calls;
#[cfg(CONFIG_BLOG_CCALL)]
#[path = "../parts/ccall/tests/api_capture.rs"]
mod api_capture;
mod api_contexts;
mod api_early;
mod api_encoding;

module! {
    type: BlogApiKunit,
    name: "blog_api_kunit",
    description: "KUnit tests of BLog's API",
    license: "GPL",
}

struct BlogApiKunit;

impl kernel::Module for BlogApiKunit {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        Ok(Self)
    }
}
