// SPDX-License-Identifier: GPL-2.0

//! The clock of records: the TSC where it can be trusted, else what `blog/` reads.
//!
//! Called from the fast path, in any context. It never waits.

use super::super::abi;

/// Reads the clock for a record: the TSC as it is. `None` where `blog/` has to.
#[inline(always)]
pub(in super::super) fn read() -> Option<u64> {
    // SAFETY: It is there. `blog/` may store to it meanwhile, and takes into account who has seen
    // the old value. Volatile, as that is folded into the comparison: see `ring/peek.rs`.
    if unsafe { (&raw const abi::blog_clock_is_tsc).read_volatile() } == 0 {
        return None;
    }
    let tsc: u64;
    // Of the intrinsic, LLVM makes one instruction more.
    // SAFETY: Every x86-64 processor has this instruction, and it touches no memory.
    unsafe {
        core::arch::asm!(
            "rdtsc",
            "shlq $32, %rdx",
            "orq %rdx, %rax",
            out("rax") tsc,
            out("rdx") _,
            options(nomem, nostack, att_syntax),
        );
    }
    Some(tsc)
}
