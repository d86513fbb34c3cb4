// SPDX-License-Identifier: GPL-2.0

//! The clock of records: the TSC where it can be trusted, else what `blog/` reads.
//!
//! Called from the fast path, in any context. It never waits.

use super::abi;

/// Reads the clock for a record; `None` where it isn't the TSC, and `blog/` has to.
#[inline(always)]
pub(super) fn read() -> Option<u64> {
    // SAFETY: `blog/` does not store to it while a component is on.
    if unsafe { abi::blog_clock_is_tsc } == 0 {
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
