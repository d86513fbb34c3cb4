// SPDX-License-Identifier: GPL-2.0

//! The caller's ring: that of the task, or of this CPU's interrupt context.
//!
//! Called from the fast path, in any context but `noinstr` code. It takes no lock, disables
//! nothing, and calls nothing that can be traced.

use core::sync::atomic::Ordering::Acquire;

use super::super::{
    ring::Ring,
    wire::record::Context, //
};
use super::{
    component::RawComponent,
    none::no_ring,
    task, //
};
use crate::bindings;

/// The bits of `preempt_count()` that say that this is not a task: set in an NMI, a hard
/// interrupt, or while softirqs are served.
#[cfg(not(all(CONFIG_UML, CONFIG_SMP)))]
const INTERRUPT: u32 =
    bindings::BLOG_NMI_MASK | bindings::BLOG_HARDIRQ_MASK | bindings::BLOG_SOFTIRQ_OFFSET;

/// The ring of `component` for the caller's context; or another one of that context, or what stands
/// for none, where it is to be looked for.
#[inline(always)]
pub(in super::super) fn ring(component: &RawComponent) -> *mut Ring {
    #[cfg(not(CONFIG_UML))]
    let task = {
        let task: *mut bindings::task_struct;
        // SAFETY: Reads this CPU's preemption count, in one instruction.
        unsafe {
            core::arch::asm!(
                "testl ${mask}, %gs:__preempt_count(%rip)",
                "jnz {interrupt}",
                mask = const INTERRUPT as i32,
                interrupt = label { return interrupt_ring(component) },
                options(readonly, nostack, att_syntax),
            );
        }
        // SAFETY: Reads the pointer to the current task, which is the same on whichever CPU the
        // task runs.
        unsafe {
            core::arch::asm!(
                "movq %gs:const_current_task(%rip), {task}",
                task = out(reg) task,
                options(pure, nomem, nostack, preserves_flags, att_syntax),
            );
        }
        task
    };
    // Without a call, which would have the caller save its registers.
    #[cfg(all(CONFIG_UML, not(CONFIG_SMP)))]
    let task = {
        let tasks = (&raw const bindings::cpu_tasks).cast::<*mut bindings::task_struct>();
        // SAFETY: The first one is what the only CPU runs.
        let task = unsafe { tasks.read_volatile() };
        // SAFETY: The current task is valid. Only this CPU changes its preemption count.
        let count = unsafe { (&raw const (*task).thread_info.preempt_count).read_volatile() };
        if count as u32 & INTERRUPT != 0 {
            return interrupt_ring(component);
        }
        task
    };
    #[cfg(all(CONFIG_UML, CONFIG_SMP))]
    let task = {
        // SAFETY: Reads the preemption count and the current task.
        let task = unsafe { bindings::blog_task() };
        if task.is_null() {
            return interrupt_ring(component);
        }
        task
    };
    // SAFETY: This is the current task. The table that it has is valid, and the place is one, by
    // the invariants of `RawComponent`.
    unsafe { (*task::current_table(task)).at(component.place()) }
}

/// The CPU, and the interrupt context.
#[cfg(not(CONFIG_UML))]
fn interrupt() -> (usize, Context) {
    let count: u32;
    let cpu: u32;
    // SAFETY: Reads this CPU's preemption count and number. In interrupt context, these stay.
    unsafe {
        core::arch::asm!(
            "movl %gs:__preempt_count(%rip), {count:e}",
            "movl %gs:cpu_number(%rip), {cpu:e}",
            count = out(reg) count,
            cpu = out(reg) cpu,
            options(readonly, nostack, preserves_flags, att_syntax),
        );
    }
    let context = if count & bindings::BLOG_NMI_MASK != 0 {
        Context::Nmi
    } else if count & bindings::BLOG_HARDIRQ_MASK != 0 {
        Context::Hardirq
    } else {
        Context::Softirq
    };
    (cpu as usize, context)
}

#[cfg(CONFIG_UML)]
fn interrupt() -> (usize, Context) {
    // SAFETY: Reads the preemption count and the number of the CPU.
    let place = unsafe { bindings::blog_interrupt() };
    let context = Context::from_u8((place % 4 + 1) as u8).unwrap_or(Context::Nmi);
    (place as usize / 4, context)
}

/// The ring for an interrupt context.
#[inline(always)]
fn interrupt_ring(component: &RawComponent) -> *mut Ring {
    let rings = component.percpu();
    if rings.is_null() {
        return no_ring();
    }
    let (cpu, context) = interrupt();
    let Some(index) = context.percpu_index(cpu) else {
        return no_ring();
    };
    // SAFETY: By the invariants of `RawComponent`, the table has an entry for each interrupt
    // context of each CPU.
    unsafe { (*rings.add(index)).load(Acquire) }
}
