// SPDX-License-Identifier: GPL-2.0

//! A work queue that BLog's work is out of before its code goes.
//!
//! The kernel crate has the system's queues, and no way to wait for an item in them. As a module,
//! BLog may only go when none of its items runs any more.

use core::{
    ptr,
    sync::atomic::{
        AtomicPtr,
        Ordering::Relaxed, //
    }, //
};
use kernel::{
    bindings,
    prelude::*,
    workqueue::{
        Queue,
        RawWorkItem, //
    }, //
};

/// A queue whose items may wait, each for itself.
///
/// # Invariants
///
/// `queue` is null, or a queue that only `stop` destroys.
pub(crate) struct Drained {
    queue: AtomicPtr<bindings::workqueue_struct>,
}

impl Drained {
    /// Not started yet.
    pub(crate) const fn new() -> Self {
        // INVARIANT: It is null.
        Self {
            queue: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Makes the queue. Before anybody uses it.
    pub(crate) fn start(&self, name: &'static CStr) -> Result {
        // SAFETY: The name is a format without arguments, as no percent sign is in ours.
        let queue = unsafe {
            bindings::alloc_workqueue_noprof(name.as_char_ptr(), bindings::wq_flags_WQ_UNBOUND, 0)
        };
        if queue.is_null() {
            return Err(ENOMEM);
        }
        // INVARIANT: It was just made.
        self.queue.store(queue, Relaxed);
        Ok(())
    }

    /// Puts an item in, once. Any context.
    pub(crate) fn enqueue<W: RawWorkItem<0, EnqueueOutput = Result<(), W>> + Send + 'static>(
        &self,
        item: W,
    ) {
        // SAFETY: By the type invariants, and nobody puts anything in after `stop`.
        if let Some(queue) = unsafe { self.queue.load(Relaxed).cast::<Queue>().as_ref() } {
            // It is in there already.
            let _ = queue.enqueue(item);
        }
    }

    /// Waits until all is done that is in it now. Process context.
    pub(crate) fn flush(&self) {
        let queue = self.queue.load(Relaxed);
        if !queue.is_null() {
            // SAFETY: By the type invariants, and nobody calls this after `stop`.
            unsafe { bindings::__flush_workqueue(queue) };
        }
    }

    /// Waits until all is done, and ends it. Nobody puts anything in any more.
    pub(crate) fn stop(&self) {
        let queue = self.queue.swap(ptr::null_mut(), Relaxed);
        if !queue.is_null() {
            // SAFETY: By the type invariants.
            unsafe { bindings::destroy_workqueue(queue) };
        }
    }
}
