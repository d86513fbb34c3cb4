// SPDX-License-Identifier: GPL-2.0

//! The kernel-free files of `kernel::blog` and `blog/`, compiled over loom's atomics, and the
//! models that run them.

#![allow(dead_code, unused_imports)]

// What the kernel's files call `core` and `kernel`.
extern crate model_core as core;
extern crate self as kernel;

use blog::wire;

pub mod blog;
#[path = "../../../../blog/tests/rig/pages.rs"]
pub mod pages;
#[path = "../../../../blog/memory/pool/mod.rs"]
mod pool;
#[path = "../../src/rig.rs"]
pub mod rig;

#[cfg(test)]
use std::sync::{
    atomic::{AtomicUsize, Ordering::Relaxed},
    Arc,
};

/// Loom's threads.
#[cfg(test)]
mod thread {
    pub(crate) use loom::thread::*;

    /// The first one ends what a model prepares.
    pub(crate) fn spawn<T: 'static>(f: impl FnOnce() -> T + 'static) -> JoinHandle<T> {
        core::sync::atomic::begin_threads();
        loom::thread::spawn(f)
    }
}

/// Runs `body` in all executions that differ by what threads see, with up to two preemptions.
#[cfg(test)]
fn model(body: impl Fn() + Sync + Send + 'static) {
    model_with(2, body);
}

/// As [`model`], with up to so many preemptions, or `LOOM_MAX_PREEMPTIONS`: for models that are
/// large.
#[cfg(test)]
fn model_with(preemptions: usize, body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.max(Some(preemptions));
    builder.max_branches = 100_000;
    let executions = Arc::new(AtomicUsize::new(0));
    let count = executions.clone();
    let most = AtomicUsize::new(0);
    builder.check(move || {
        // Each atomic costs time even if it isn't used, so there is room for about as many as
        // executions have used until now.
        if count.fetch_add(1, Relaxed) == 0 {
            core::sync::atomic::reset(500);
        } else {
            let used = core::sync::atomic::used();
            core::sync::atomic::reset(2 * most.fetch_max(used, Relaxed).max(used) + 50);
        }
        body();
    });
    println!("{executions:?} executions");
}

#[cfg(test)]
mod claims;
#[cfg(test)]
mod levels;
#[cfg(test)]
mod rings;
#[cfg(test)]
mod rooms;
#[cfg(test)]
mod shared;
#[cfg(test)]
mod shelf;
#[cfg(test)]
mod tasks;
#[cfg(test)]
mod thieves;
