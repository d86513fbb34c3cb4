// SPDX-License-Identifier: GPL-2.0

//! The clock of records: the TSC where it can be trusted, else what `blog/` reads.
//!
//! Called from the fast path, in any context. It never waits.

use super::{
    abi,
    ring::Ring, //
};
use core::sync::atomic::Ordering::Relaxed;

/// Reads the clock for a record in `ring`.
///
/// A clock other than the TSC may step back a little between contexts. Within a ring time never
/// does.
#[inline(always)]
pub(super) fn read(ring: &Ring) -> u64 {
    if abi::blog_clock_is_tsc.load(Relaxed) != 0 {
        // SAFETY: Every x86-64 processor has this instruction, and it touches no memory.
        unsafe { core::arch::x86_64::_rdtsc() }
    } else {
        ring.not_before_last(abi::blog_clock_read())
    }
}
