// SPDX-License-Identifier: GPL-2.0

//! Clocks of the kernel, and what log calls read of BLog's clock: the Rust side of `local.c`.

use core::sync::atomic::AtomicU8;

unsafe extern "C" {
    /// Whether the clock is the counter: 1, or 0.
    pub(super) safe static blog_clock_is_counter: AtomicU8;

    /// The clock of the kernel's log. Any context.
    #[link_name = "blog_local_clock"]
    pub(super) safe fn clock() -> u64;

    /// Calls a function with interrupts off.
    #[link_name = "blog_with_irqs_off"]
    pub(super) safe fn with_irqs_off(f: extern "C" fn());
}
