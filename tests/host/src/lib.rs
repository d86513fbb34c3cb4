// SPDX-License-Identifier: GPL-2.0

//! The kernel-free files of `blog/`, and what the tests in `tests/` need around them: a component
//! in plain memory ([`rig`]).

#![allow(dead_code, unused_imports)]

#[path = "../../../blog/pool.rs"]
mod pool;
pub mod rig;

#[cfg(test)]
mod control;
#[cfg(test)]
mod history_tests;
#[cfg(test)]
mod pool_tests;
#[cfg(test)]
mod ring_tests;
