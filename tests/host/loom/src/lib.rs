// SPDX-License-Identifier: GPL-2.0

//! The kernel-free files of `kernel::blog` and `blog/`, compiled over loom's atomics, and the
//! models that run them.

#![allow(dead_code, unused_imports)]

// What the kernel's files call `core` and `kernel`.
extern crate model_core as core;
extern crate self as kernel;

pub mod blog;
#[path = "../../../../blog/memory/pool/mod.rs"]
mod pool;
#[path = "../../src/rig.rs"]
pub mod rig;

#[cfg(test)]
mod levels;
#[cfg(test)]
mod lists;
#[cfg(test)]
mod rings;
#[cfg(test)]
mod shared;
#[cfg(test)]
mod shelf;
#[cfg(test)]
mod tasks;
#[cfg(test)]
mod thieves;

/// Runs `body` in all executions that differ by what threads see, with up to two preemptions.
///
/// `atomics` is how many it uses, at most.
#[cfg(test)]
fn model(atomics: usize, body: impl Fn() + Sync + Send + 'static) {
    model_with(2, atomics, body);
}

/// As [`model`], with up to so many preemptions: for models that are large.
#[cfg(test)]
fn model_with(preemptions: usize, atomics: usize, body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 100_000;
    let executions = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let count = executions.clone();
    builder.check(move || {
        count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        core::sync::atomic::reset(atomics);
        body();
    });
    println!("{executions:?} executions");
}
