// SPDX-License-Identifier: GPL-2.0

//! A component that says that it is on, and that nobody knows.

#![forbid(unsafe_code)]

use kernel::blog::{Component, Config, RawComponent};

struct Mine(RawComponent);

impl Component for Mine {
//~ <- the trait `kernel::blog::Component` requires an `unsafe impl` declaration
    fn is_on(&self) -> bool {
        true
    }
    fn raw(&self) -> &RawComponent {
        &self.0
    }
}

pub fn mine() -> impl Component {
    Mine(RawComponent::new(Config::new()))
}
