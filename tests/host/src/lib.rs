// SPDX-License-Identifier: GPL-2.0

//! The kernel-free files of `blog/`, and what the tests in `tests/` need around them: a component
//! in plain memory ([`rig`]).

#![allow(dead_code, unused_imports)]

#[path = "../../../blog/read/piece.rs"]
mod piece;
#[path = "../../../blog/memory/pool/mod.rs"]
mod pool;
pub mod rig;

/// What `blog/` says when the last record of a page was.
pub fn last_time(page: &[u8]) -> Option<u64> {
    piece::last_time(page)
}

#[cfg(test)]
mod capture_tests;
#[cfg(test)]
mod control;
#[cfg(test)]
mod history_tests;
#[cfg(test)]
mod level_tests;
#[cfg(test)]
mod piece_tests;
#[cfg(test)]
mod pool_tests;
#[cfg(test)]
mod ring_tests;
#[cfg(test)]
mod wire_tests;
