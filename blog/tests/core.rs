// SPDX-License-Identifier: GPL-2.0

// The suites of BLog's inside, and their common parts; those of the API are modules of their own.
// A tree with version 1 alone has one of them.

#[cfg(CONFIG_BLOG_PARTS)]
use kernel::blog::wire;

#[cfg(CONFIG_BLOG_PARTS)]
#[allow(dead_code, unreachable_pub)]
pub(crate) mod pages {
    include!("rig/pages.rs");
}
#[cfg(CONFIG_BLOG_PARTS)]
#[allow(dead_code, unreachable_pub)]
pub(crate) mod build {
    include!("rig/build.rs");
}
pub(crate) mod rig {
    include!("core_rig.rs");
    #[cfg(CONFIG_BLOG_PARTS)]
    include!("core_read.rs");
    #[cfg(CONFIG_BLOG_PARTS)]
    include!("core_more.rs");
}
#[cfg(CONFIG_BLOG_TESTS)]
mod control {
    use kernel::prelude::*;
    include!("core_control.rs");
}
mod first {
    use super::rig;
    use kernel::prelude::*;
    include!("core_first.rs");
}
#[cfg(CONFIG_BLOG_TESTS)]
mod images {
    use kernel::prelude::*;
    include!("core_images.rs");
}
#[cfg(CONFIG_BLOG_TESTS)]
mod keep {
    use super::rig;
    use kernel::prelude::*;
    include!("core_keep.rs");
}
#[cfg(CONFIG_BLOG_TESTS)]
mod locks {
    use super::rig;
    use kernel::prelude::*;
    include!("core_locks.rs");
}
#[cfg(CONFIG_BLOG_TESTS)]
mod memory {
    use super::rig;
    use kernel::prelude::*;
    include!("core_memory.rs");
}
#[cfg(CONFIG_BLOG_TESTS)]
mod registry {
    use super::rig;
    use kernel::prelude::*;
    include!("core_registry.rs");
}
#[cfg(CONFIG_BLOG_TESTS)]
mod ring {
    use super::rig;
    use kernel::prelude::*;
    include!("core_ring.rs");
}
#[cfg(all(CONFIG_BLOG_TESTS, CONFIG_BLOG_ROOT))]
mod root {
    use super::rig;
    use kernel::prelude::*;
    include!("core_root.rs");
}
#[cfg(CONFIG_BLOG_TESTS)]
mod selection {
    use super::rig;
    use kernel::prelude::*;
    include!("core_selection.rs");
}
#[cfg(CONFIG_BLOG_TESTS)]
mod stream {
    use super::rig;
    use kernel::prelude::*;
    include!("core_stream.rs");
}
#[cfg(CONFIG_BLOG_TESTS)]
mod tables {
    use super::rig;
    use kernel::prelude::*;
    include!("core_tables.rs");
}
#[cfg(CONFIG_BLOG_TESTS)]
mod worker {
    use super::rig;
    use kernel::prelude::*;
    include!("core_worker.rs");
}
