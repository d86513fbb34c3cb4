// SPDX-License-Identifier: GPL-2.0

//! The caller's ring: that of the task, or of this CPU's interrupt context.
//!
//! Called from the fast path, in any context but `noinstr` code. It takes no lock, disables
//! nothing, and calls nothing that can be traced.

use core::sync::atomic::Ordering::Acquire;

use super::super::{
    ring::Ring,
    task::{
        self,
        no_ring, //
    }, //
};
use super::{
    arch,
    component::RawComponent, //
};

/// The ring of `component` for the caller's context; or another one of that context, or what stands
/// for none, where it is to be looked for.
#[inline(always)]
pub(in super::super) fn ring(component: &RawComponent) -> *mut Ring {
    let Some(task) = arch::task() else {
        return interrupt_ring(component);
    };
    // SAFETY: This is the current task. The table that it has is valid, and the place is one, by
    // the invariants of `RawComponent`.
    unsafe { (*task::current_table(task.as_ptr())).at(component.place()) }
}

/// The ring for an interrupt context.
#[inline(always)]
fn interrupt_ring(component: &RawComponent) -> *mut Ring {
    let rings = component.percpu();
    if rings.is_null() {
        return no_ring();
    }
    let (cpu, context) = arch::interrupt();
    let Some(index) = context.percpu_index(cpu) else {
        return no_ring();
    };
    // SAFETY: By the invariants of `RawComponent`, the table has an entry for each interrupt
    // context of each CPU.
    unsafe { (*rings.add(index)).load(Acquire) }
}
