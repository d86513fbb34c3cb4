// SPDX-License-Identifier: GPL-2.0

//! x86_64: what a CPU has at an offset from `%gs`.

#[cfg(not(CONFIG_UML))]
pub(in super::super) use self::percpu::*;

/// The TSC as it is.
#[inline(always)]
pub(in super::super) fn counter() -> u64 {
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
    tsc
}

#[cfg(not(CONFIG_UML))]
mod percpu {
    use super::super::{
        context,
        with_interrupt_mask,
        Context, //
    };
    use crate::bindings::{
        self,
        task_struct, //
    };
    use core::ptr::NonNull;

    /// The current task; `None` in an interrupt context.
    #[inline(always)]
    pub(in super::super::super) fn task() -> Option<NonNull<task_struct>> {
        let task: *mut task_struct;
        // SAFETY: Reads this CPU's preemption count, in one instruction.
        unsafe {
            with_interrupt_mask!(
                "testl ${mask}, %gs:{count}(%rip)",
                "jnz {interrupt}";
                count = sym bindings::__preempt_count,
                interrupt = label { return None },
                options(readonly, nostack, att_syntax),
            );
        }
        // SAFETY: Reads the pointer to the current task, which is the same on whichever CPU the
        // task runs.
        unsafe {
            core::arch::asm!(
                "movq %gs:{current}(%rip), {task}",
                current = sym bindings::const_current_task,
                task = out(reg) task,
                options(pure, nomem, nostack, preserves_flags, att_syntax),
            );
        }
        // SAFETY: There is always a current task.
        Some(unsafe { NonNull::new_unchecked(task) })
    }

    /// The CPU and the interrupt context.
    pub(in super::super::super) fn interrupt() -> (usize, Context) {
        let count: u32;
        let cpu: u32;
        // SAFETY: Reads this CPU's preemption count and number. In interrupt context, these stay.
        unsafe {
            core::arch::asm!(
                "movl %gs:{preempt_count}(%rip), {count:e}",
                "movl %gs:{cpu_number}(%rip), {cpu:e}",
                preempt_count = sym bindings::__preempt_count,
                cpu_number = sym bindings::cpu_number,
                count = out(reg) count,
                cpu = out(reg) cpu,
                options(readonly, nostack, preserves_flags, att_syntax),
            );
        }
        (cpu as usize, context(count))
    }
}
