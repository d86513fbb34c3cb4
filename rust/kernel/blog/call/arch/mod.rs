// SPDX-License-Identifier: GPL-2.0

//! What the fast path takes from the architecture: a file for each one that has a faster way than
//! [`generic`], which works on all. Documentation/blog/design-call.rst says what such a file needs.
//!
//! Each has
//!
//! - `task()`: the current task; `None` in an interrupt context;
//! - `interrupt()`: the CPU and the interrupt context, where that is not a task;
//! - `counter()`: the counter of the processor as it is, which is only asked for while `blog/` says
//!   that it is the clock.
//!
//! They run in any context but `noinstr` code, take no lock, disable nothing, and call nothing that
//! can be traced.

#[cfg(all(CONFIG_ARM64, not(CONFIG_UML)))]
mod arm64;
#[cfg(any(CONFIG_UML, not(any(CONFIG_ARM64, CONFIG_X86_64))))]
mod generic;
#[cfg(CONFIG_UML)]
mod um;
#[cfg(any(CONFIG_UML, CONFIG_X86_64))]
mod x86_64;

#[cfg(all(CONFIG_ARM64, not(CONFIG_UML)))]
pub(super) use self::arm64::*;
#[cfg(not(any(CONFIG_UML, CONFIG_ARM64, CONFIG_X86_64)))]
pub(super) use self::generic::*;
#[cfg(CONFIG_UML)]
pub(super) use self::um::*;
#[cfg(all(CONFIG_X86_64, not(CONFIG_UML)))]
pub(super) use self::x86_64::*;

use super::super::wire::record::Context;

/// The bits of `preempt_count()` that say that this is not a task: set in an NMI, a hard
/// interrupt, or while softirqs are served.
#[cfg(not(BLOG_ANYKERNEL))]
#[cfg(any(CONFIG_ARM64, CONFIG_X86_64, all(CONFIG_UML, not(CONFIG_SMP))))]
#[cfg_attr(all(CONFIG_UML, CONFIG_SMP), allow(dead_code))]
const INTERRUPT: u32 = {
    use crate::bindings::*;

    BLOG_NMI_MASK | BLOG_HARDIRQ_MASK | BLOG_SOFTIRQ_OFFSET
};

/// `asm!` with these bits as the operand `mask`.
#[cfg(all(CONFIG_X86_64, not(CONFIG_UML), not(BLOG_ANYKERNEL)))]
macro_rules! with_interrupt_mask {
    ($($code:literal),*; $($rest:tt)*) => {
        core::arch::asm!($($code,)* mask = const super::super::INTERRUPT as i32, $($rest)*)
    };
}

/// The same, for code that is assembled for many kernels: the assembler knows the bits.
#[cfg(all(CONFIG_X86_64, BLOG_ANYKERNEL))]
macro_rules! with_interrupt_mask {
    ($($code:literal),*; $($rest:tt)*) => {
        core::arch::asm!($($code,)* mask = sym bindings::BLOG_INTERRUPT_MASK, $($rest)*)
    };
}

#[cfg(all(CONFIG_X86_64, not(CONFIG_UML)))]
use with_interrupt_mask;

/// A mask of `preempt_count()`.
#[cfg(all(any(CONFIG_ARM64, CONFIG_X86_64), not(BLOG_ANYKERNEL)))]
macro_rules! mask {
    (BLOG_INTERRUPT_MASK) => {
        super::INTERRUPT
    };
    ($name:ident) => {
        crate::bindings::$name
    };
}

/// The same. The address of this symbol is the mask, as the assembler knows it.
#[cfg(BLOG_ANYKERNEL)]
macro_rules! mask {
    ($name:ident) => {{
        let mask: u32;
        // SAFETY: Moves a constant to a register.
        #[cfg(CONFIG_X86_64)]
        unsafe {
            core::arch::asm!(
                "movl ${mask}, {:e}",
                out(reg) mask,
                mask = sym crate::bindings::$name,
                options(pure, nomem, nostack, preserves_flags, att_syntax),
            );
        }
        // SAFETY: As above.
        #[cfg(CONFIG_ARM64)]
        unsafe {
            core::arch::asm!(
                "movz {out:w}, #:abs_g1:{mask}",
                "movk {out:w}, #:abs_g0_nc:{mask}",
                out = out(reg) mask,
                mask = sym crate::bindings::$name,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        mask
    }};
}
#[cfg(all(CONFIG_ARM64, not(CONFIG_UML)))]
use mask;

/// The interrupt context of this `preempt_count()`.
#[cfg(any(CONFIG_ARM64, CONFIG_X86_64))]
#[cfg_attr(CONFIG_UML, allow(dead_code))]
fn context(count: u32) -> Context {
    if count & mask!(BLOG_NMI_MASK) != 0 {
        Context::Nmi
    } else if count & mask!(BLOG_HARDIRQ_MASK) != 0 {
        Context::Hardirq
    } else {
        Context::Softirq
    }
}
