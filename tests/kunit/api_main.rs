// SPDX-License-Identifier: GPL-2.0

//! KUnit suites of BLog's API, seen from a driver: a module of its own, which logs to components
//! of its own with the macros. What the blog module does inside is tested there.

use kernel::prelude::*;

mod api_c;
mod api_calls;
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
