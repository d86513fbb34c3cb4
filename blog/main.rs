// SPDX-License-Identifier: GPL-2.0

//! BLog, the binary logger: what is behind `kernel::blog`.
//!
//! The fast path of a log call is in the kernel crate (`rust/kernel/blog/`) and is inlined into
//! drivers. This module owns what it writes to, and how that is read and controlled:
//!
//! | file | what it is |
//! |---|---|
//! | `hook.c` | built in even if all of this is a module: what `free_task()` calls |
//! | `glue.c`, `glue.rs` | exports, parameters, file operations, module notifier; and these as Rust functions |
//! | `registry.rs` | which components and images there are; drivers and modules come and go |
//! | `images.rs` | site ids, by build ID |
//! | `component.rs` | one component: settings, lifetimes, `clear` |
//! | `memory.rs`, `table.rs` | its pages and rings |
//! | `pool.rs`, `pool/` | the levels of memory that a log call can reach: lock-free |
//! | `worker.rs` | adds memory in the background |
//! | `writer.rs` | the slow path of a log call |
//! | `task.rs` | the tables that tasks point to, and the end of a task |
//! | `clock.rs` | the clock of all records |
//! | `snapshot.rs`, `sort.rs` | the reader of all that there is |
//! | `stream.rs` | the reader of what comes |
//! | `sections.rs`, `piece.rs` | what both write: sections, and parts of pages |
//! | `stalled.rs` | who logs, and who has stopped |
//! | `root.rs` | what crash tools find of all that |
//! | `files.rs`, `control.rs`, `stats.rs` | debugfs: which files, what one can write, what they say |
//!
//! Two kinds of code never mix. What a log call may reach (`writer.rs`, `pool.rs`, and what says so
//! elsewhere) runs in any context and uses neither locks nor the kernel. All the rest runs in
//! process context, may sleep, and never makes a log call wait.

use kernel::prelude::*;

mod clock;
mod component;
mod control;
mod files;
mod glue;
mod images;
mod memory;
mod piece;
mod pool;
mod registry;
mod root;
mod sections;
mod snapshot;
mod sort;
mod stalled;
mod stats;
mod stream;
mod table;
mod task;
mod worker;
mod writer;

module! {
    type: Blog,
    name: "blog",
    authors: ["BLog developers"],
    description: "Binary logger for Rust drivers",
    license: "GPL",
}

/// BLog, running.
struct Blog;

impl kernel::Module for Blog {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        clock::init()?;
        sections::init();
        task::init()?;
        root::init();
        if let Err(e) = registry::init() {
            root::stop();
            worker::stop();
            registry::stop();
            task::stop();
            return Err(e);
        }
        stalled::init();
        Ok(Self)
    }
}

impl Drop for Blog {
    fn drop(&mut self) {
        // Modules that log depend on this one, so nobody logs any more.
        stalled::stop();
        root::stop();
        worker::stop();
        stream::stop();
        registry::stop();
        task::stop();
    }
}

/// Suites that look inside; those of the API are modules of their own, in `tests/`.
///
/// KUnit can only be called from here if it is built in, or this is a module too.
#[cfg(any(
    CONFIG_BLOG_KUNIT_TEST = "y",
    all(CONFIG_BLOG_KUNIT_TEST = "m", MODULE)
))]
mod tests {
    mod rig {
        include!("tests/core_rig.rs");
    }
    mod control {
        use kernel::prelude::*;
        include!("tests/core_control.rs");
    }
    mod images {
        use kernel::prelude::*;
        include!("tests/core_images.rs");
    }
    mod memory {
        use super::rig;
        use kernel::prelude::*;
        include!("tests/core_memory.rs");
    }
    mod registry {
        use super::rig;
        use kernel::prelude::*;
        include!("tests/core_registry.rs");
    }
    mod ring {
        use super::rig;
        use kernel::prelude::*;
        include!("tests/core_ring.rs");
    }
    mod root {
        use super::rig;
        use kernel::prelude::*;
        include!("tests/core_root.rs");
    }
    mod stalled {
        use super::rig;
        use kernel::prelude::*;
        include!("tests/core_stalled.rs");
    }
    mod stream {
        use super::rig;
        use kernel::prelude::*;
        include!("tests/core_stream.rs");
    }
}
