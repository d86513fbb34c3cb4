// SPDX-License-Identifier: GPL-2.0

//! Finds the caller's ring and writes a record. The compiler inlines this into one function of a
//! crate, for all calls that pass the same types. Any context but `noinstr` code.

use super::{
    super::{
        ring,
        task,
        wire::record::HEADER_SIZE, //
    },
    abi,
    arch,
    component::RawComponent, //
};
use core::sync::atomic::Ordering::Acquire;

/// Marks a call as cold for the compiler.
#[doc(hidden)]
#[cold]
#[inline(always)]
pub fn cold() {}

/// Reads the processor's counter as it is, which is the clock where `blog/` says so. Any context.
#[doc(hidden)]
#[inline(always)]
pub fn counter() -> u64 {
    arch::counter()
}

/// Reads the clock of a record that has begun: the processor's counter as it is. `None` where
/// `blog/` has to.
#[cfg(not(CONFIG_BLOG_CLOCK_IS_MONO))]
#[inline(always)]
pub(super) fn clock() -> impl FnOnce(&ring::Writing<'_>) -> Option<u64> {
    // SAFETY: It is valid. `blog/` may store to it meanwhile, and allows for calls that have seen
    // the old value. Volatile, as that is folded into the comparison: see `ring/peek.rs`.
    |_| match unsafe { (&raw const abi::blog_clock_is_counter).read_volatile() } {
        0 => None,
        _ => Some(counter()),
    }
}

/// Reads the kernel's monotonic clock, which is the clock of all records.
///
/// It is read before the record begins, as a call amid all that would save more registers. The
/// record in front may have a later time: that of a writer that has interrupted this one, or of any
/// where the clock steps back.
#[cfg(CONFIG_BLOG_CLOCK_IS_MONO)]
#[inline(always)]
pub(super) fn clock() -> impl FnOnce(&ring::Writing<'_>) -> Option<u64> {
    // SAFETY: It may be called in any context, and isn't traced.
    let now = unsafe { crate::bindings::ktime_get_mono_fast_ns() };
    move |writing| Some(writing.not_before_last(now))
}

/// The ring of `component` for the caller's context; or another one of that context, or what stands
/// for none, where it is to be looked for.
#[inline(always)]
pub(in super::super) fn ring(component: &RawComponent) -> *mut ring::Ring {
    if let Some(task) = arch::task() {
        // SAFETY: This is the current task. The table that it has is valid, and the way is one,
        // by the invariants of `RawComponent`.
        return unsafe { (*task::current_table(task.as_ptr())).at(component.way()) };
    }
    let rings = component.percpu();
    if rings.is_null() {
        return task::no_ring();
    }
    let (cpu, context) = arch::interrupt();
    let Some(index) = context.percpu_index(cpu) else {
        return task::no_ring();
    };
    // SAFETY: By the invariants of `RawComponent`, the table has an entry for each interrupt
    // context of each CPU.
    unsafe { (*rings.add(index)).load(Acquire) }
}

/// Writes a record that can simply go after the last one; for any other, returns what
/// [`write_slow`] is to be given.
///
/// # Safety
///
/// As for [`BlogArgs::log`](super::args::BlogArgs::log); `site_shl10` is the site's id. `store`
/// stores `size` bytes at the given place, and may use the bytes of the header before.
#[inline(always)]
pub(super) unsafe fn write<'a>(
    component: &RawComponent,
    site_shl10: u32,
    size: usize,
    store: impl FnOnce(*mut u8),
) -> Result<(), ring::Reservation<'a>> {
    let (clock, ring) = (clock(), ring(component));
    let slot = || component.slot();
    let bytes = (HEADER_SIZE + size) as u32;
    // SAFETY: It is a ring of this context or `blog_no_ring`, as the invariants of `Tls` and
    // `RawComponent` say, and stays so: a task does not leave its context in here, and other
    // contexts do not change CPU. `store` is as this function requires.
    unsafe { (*ring).write(slot, bytes, site_shl10, clock, store) }
}

/// Does what is left to do for a record.
///
/// # Safety
///
/// [`write()`] has just returned these two for the same arguments; or they are `None` and
/// [`ring::Reservation::WARNS`].
#[inline(always)]
pub(super) unsafe fn write_slow(
    component: &RawComponent,
    site_shl10: u32,
    size: usize,
    store: impl FnOnce(*mut u8),
    (writing, ts): (Option<ring::Writing<'_>>, u64),
) {
    let bytes = (HEADER_SIZE + size) as u32;
    // SAFETY: What `blog_reserve` returns has room; `store` is as this function requires, and has
    // stored the bytes.
    unsafe {
        abi::blog_reserve(component, writing, bytes, ts).put(bytes, site_shl10, |to| {
            store(to);
            #[cfg(CONFIG_BLOG_PARTS)]
            if component.is_watched() {
                abi::blog_stored(component, site_shl10, to, size);
            }
        });
    }
}
