// SPDX-License-Identifier: GPL-2.0

//! Any architecture: by calls of the kernel's own functions, in `rust/helpers/blog.c`.

use crate::{
    bindings::{
        self,
        task_struct, //
    },
    blog::wire::record::Context, //
};
use core::ptr::NonNull;

/// The current task; `None` in an interrupt context.
#[inline(always)]
pub(in super::super) fn task() -> Option<NonNull<task_struct>> {
    // SAFETY: Reads the preemption count and the current task.
    NonNull::new(unsafe { bindings::blog_task() })
}

/// The CPU and the interrupt context.
pub(in super::super) fn interrupt() -> (usize, Context) {
    // SAFETY: Reads the preemption count and the number of the CPU.
    let place = unsafe { bindings::blog_interrupt() };
    let context = Context::from_u8((place % 4 + 1) as u8).unwrap_or(Context::Nmi);
    (place as usize / 4, context)
}

/// None, and `blog/parts/counter/arch/generic.c` says so: the clock is `ktime_get_mono_fast_ns()`.
#[cfg(not(all(CONFIG_UML, CONFIG_BLOG_ARCH)))]
#[inline(always)]
pub(in super::super) fn counter() -> u64 {
    0
}
