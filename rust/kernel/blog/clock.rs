// SPDX-License-Identifier: GPL-2.0

//! The clock of records: the TSC where it can be trusted, else what `blog/` reads.
//!
//! Called from the fast path, in any context. It never waits.

use super::{
    abi,
    ring::Ring, //
};

/// Reads the clock for a record in `ring`.
#[inline(always)]
pub(super) fn read(ring: &Ring) -> u64 {
    // SAFETY: `blog/` does not store to it while a component is on.
    if unsafe { abi::blog_clock_is_tsc } != 0 {
        // SAFETY: Every x86-64 processor has this instruction, and it touches no memory.
        unsafe { core::arch::x86_64::_rdtsc() }
    } else {
        read_other::<()>(ring)
    }
}

/// Reads a clock that may step back a little between contexts; within a ring it does not.
///
/// Generic, so that it is compiled into the driver's crate: the kernel crate cannot call `blog/`.
#[cold]
#[inline(never)]
#[allow(clippy::extra_unused_type_parameters)]
fn read_other<T>(ring: &Ring) -> u64 {
    ring.not_before_last(abi::blog_clock_read())
}
