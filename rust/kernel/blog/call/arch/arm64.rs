// SPDX-License-Identifier: GPL-2.0

//! arm64: the current task is in `sp_el0`, and what is asked for of its context in its
//! `thread_info`.

use super::{
    context,
    mask,
    Context, //
};
use crate::bindings::task_struct;
use core::ptr::NonNull;

/// The current task, in whatever context.
#[inline(always)]
fn current() -> NonNull<task_struct> {
    let task: *mut task_struct;
    // SAFETY: Reads a register that has the pointer to the current task while the kernel runs. It
    // is the same on whichever CPU the task runs.
    unsafe {
        core::arch::asm!(
            "mrs {task}, sp_el0",
            task = out(reg) task,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    // SAFETY: There is always a current task.
    unsafe { NonNull::new_unchecked(task) }
}

/// A field of a task's `thread_info`.
#[cfg(not(BLOG_ANYKERNEL))]
macro_rules! load {
    ($task:ident, $_offset:ident, $($field:ident).+) => {
        (&raw const (*$task.as_ptr()).thread_info.$($field).+).read_volatile()
    };
}

/// The same, for code that is assembled for many kernels: the assembler knows where it is.
#[cfg(BLOG_ANYKERNEL)]
macro_rules! load {
    ($task:ident, $offset:ident, $($_field:ident).+) => {{
        let value: u32;
        core::arch::asm!(
            "movz {value:x}, #:abs_g0:{offset}",
            "ldr {value:w}, [{task}, {value:x}]",
            value = out(reg) value,
            task = in(reg) $task.as_ptr(),
            offset = sym crate::bindings::$offset,
            options(readonly, nostack, preserves_flags),
        );
        value
    }};
}

/// The preemption count of this CPU, which is the task's here.
#[inline(always)]
fn preempt_count(task: NonNull<task_struct>) -> u32 {
    // SAFETY: The current task is valid. Only the CPU that runs it changes this field, and an
    // interrupt leaves it as it was.
    unsafe {
        load!(
            task,
            BLOG_TASK_PREEMPT_COUNT,
            __bindgen_anon_1.preempt.count
        )
    }
}

/// The current task; `None` in an interrupt context.
#[inline(always)]
pub(in super::super) fn task() -> Option<NonNull<task_struct>> {
    let task = current();
    (preempt_count(task) & mask!(BLOG_INTERRUPT_MASK) == 0).then_some(task)
}

/// The CPU and the interrupt context.
pub(in super::super) fn interrupt() -> (usize, Context) {
    let task = current();
    // SAFETY: The current task is valid. In interrupt context, it stays on this CPU.
    let cpu = unsafe { load!(task, BLOG_TASK_CPU, cpu) };
    (cpu as usize, context(preempt_count(task)))
}

/// The virtual counter as it is.
///
/// The kernel's own clock has an `isb` before, which keeps the processor from reading the counter
/// early. Records of one ring are in order without that, by their place; and what a record of
/// another CPU loses by it is some ten nanoseconds, as by x86's `rdtsc`. Where a processor has an
/// erratum of this register, `blog/parts/counter/arch/arm64.c` doesn't offer it as a clock.
#[inline(always)]
pub(in super::super) fn counter() -> u64 {
    let ticks: u64;
    // SAFETY: The kernel may always read this register; that touches no memory.
    unsafe {
        core::arch::asm!(
            "mrs {ticks}, cntvct_el0",
            ticks = out(reg) ticks,
            options(nomem, nostack, preserves_flags),
        );
    }
    ticks
}
