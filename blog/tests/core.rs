// SPDX-License-Identifier: GPL-2.0

// The suites of BLog's inside, and their common parts; those of the API are modules of their own.

pub(crate) mod rig {
    include!("core_rig.rs");
}
mod control {
    use kernel::prelude::*;
    include!("core_control.rs");
}
mod images {
    use kernel::prelude::*;
    include!("core_images.rs");
}
mod locks {
    use super::rig;
    use kernel::prelude::*;
    include!("core_locks.rs");
}
mod memory {
    use super::rig;
    use kernel::prelude::*;
    include!("core_memory.rs");
}
mod registry {
    use super::rig;
    use kernel::prelude::*;
    include!("core_registry.rs");
}
mod ring {
    use super::rig;
    use kernel::prelude::*;
    include!("core_ring.rs");
}
mod root {
    use super::rig;
    use kernel::prelude::*;
    include!("core_root.rs");
}
mod selection {
    use super::rig;
    use kernel::prelude::*;
    include!("core_selection.rs");
}
mod stream {
    use super::rig;
    use kernel::prelude::*;
    include!("core_stream.rs");
}
mod tables {
    use super::rig;
    use kernel::prelude::*;
    include!("core_tables.rs");
}
mod worker {
    use super::rig;
    use kernel::prelude::*;
    include!("core_worker.rs");
}
