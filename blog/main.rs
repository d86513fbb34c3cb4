// SPDX-License-Identifier: GPL-2.0

//! BLog, the binary logger: what `kernel::blog` logs to.
//!
//! The fast path of a log call is in the kernel crate (`rust/kernel/blog/`) and is compiled in
//! drivers. This module owns the rings, and reads and controls them. Its floors, from the top down;
//! none imports one above it:
//!
//! | floor | what it is |
//! |---|---|
//! | `main.rs`, `exports.c` | start the floors, export symbols |
//! | `life.rs` | components and images come and go, on all floors |
//! | `files/` | the files in tracefs and debugfs, and the effects of reading and writing them |
//! | `floor.rs` | what a part is that can be left out |
//! | `read/` | snapshots and streams |
//! | `write/` | the slow path of a log call, the tables of tasks |
//! | `registry/` | components and images, and their settings |
//! | `memory/` | a component's pages and rings; `pool/` is the part that a log call can reach |
//! | `clock/` | the clock of records, and how it compares with others |
//! | `tasks/` | which task runs where, what one is doing, locks of their tables |
//! | `sys/` | what the kernel crate lacks, and the seam to the patches of the core kernel |
//!
//! The parts in `parts/` may use all floors. No floor names one of them: `floor.rs` has the list
//! of `parts/mod.rs`.
//!
//! Two kinds of code never mix. Code that a log call may reach (`write/slow.rs`, `memory/pool/`,
//! and functions that say so) runs in any context, takes no lock and calls no kernel function. All
//! other code runs in process context, may sleep, and never makes a log call wait.

#[cfg(not(MODULE))]
use kernel::error::from_result;

/// A module of KUnit's suites, which can only be called from here if KUnit is built in, or this is
/// a module, too.
macro_rules! kunit {
    ($suites:item) => {
        #[cfg(any(
            CONFIG_BLOG_KUNIT_TEST = "y",
            all(CONFIG_BLOG_KUNIT_TEST = "m", MODULE)
        ))]
        $suites
    };
}

mod clock;
mod files;
mod floor;
mod life;
mod memory;
mod read;
mod registry;
mod sys;
mod tasks;
mod write;

#[cfg(CONFIG_BLOG_PARTS)]
use crate::sys::nofault;
use crate::{
    read::sections,
    sys::prelude::*,
    write::{
        tables,
        worker, //
    }, //
};

module! {
    type: Blog,
    name: "blog",
    description: "Binary logger for drivers",
    license: "GPL",
}

#[cfg(CONFIG_BLOG_PARTS)]
mod parts;

/// What can be left out is not there.
#[cfg(not(CONFIG_BLOG_PARTS))]
mod parts {
    pub(crate) static ALL: &[&crate::floor::Part] = &[];
}

struct Blog;

impl kernel::Module for Blog {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        // Built in, it has been running for long: see `blog_start`.
        match cfg!(MODULE) {
            true => start()?,
            false if !RUNS.load(Relaxed) => return Err(ENODEV),
            false => (),
        }
        floor::parts().for_each(|part| (part.late)());
        files::init();
        Ok(Self)
    }
}

static RUNS: AtomicBool = AtomicBool::new(false);

unsafe extern "C" {
    // exports.c
    safe fn blog_stay();
}

/// Starts all but the files. From here on drivers' calls are logged.
///
/// Only the first step can fail, and leaves nothing then. From there on, BLog stays: drivers, tasks
/// and the rest of the kernel know it.
fn start() -> Result {
    tables::start_hook()?;
    life::init();
    files::prepare();
    clock::init();
    #[cfg(CONFIG_BLOG_PARTS)]
    nofault::draw_key();
    sections::init();
    tables::fill();
    floor::start(parts::ALL);
    life::start_modules();
    blog_stay();
    RUNS.store(true, Relaxed);
    Ok(())
}

/// What is done about once a second. From `exports.c`, in process context, one at a time.
#[no_mangle]
extern "C" fn blog_each_second() {
    worker::work();
    floor::parts().for_each(|part| (part.tick)());
    life::free_gone();
    #[cfg(CONFIG_BLOG_PARTS)]
    nofault::draw_key();
}

/// Built in, BLog starts by an early initcall, before any driver's code (`exports.c`). There is
/// only one CPU yet, and no tracefs or debugfs; but there are memory, work queues and RCU, and RCU
/// for tasks, and static keys can be switched.
#[cfg(not(MODULE))]
#[no_mangle]
extern "C" fn blog_start() -> c_int {
    let result = start().inspect_err(|e| pr_warn!("can't start, so nothing is logged: {e:?}\n"));
    from_result(|| result.map(|()| 0))
}

// Suites that look inside.
kunit! {
    mod tests {
        include!("tests/core.rs");
    }
}
