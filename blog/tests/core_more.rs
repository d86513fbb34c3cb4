// SPDX-License-Identifier: GPL-2.0

// More of core_rig.rs, which the suites of what is beside version 1 need.

use super::build::{
    Buffer,
    Page, //
};

/// Freezes, calls `f`, and ends that: a failed assertion would leave it frozen.
#[cfg(CONFIG_BLOG_ROOT)]
pub(crate) fn frozen<R>(f: impl FnOnce() -> R) -> R {
    use core::sync::atomic::{
        AtomicU32,
        Ordering::SeqCst, //
    };
    use kernel::blog::root::blog_root;

    // SAFETY: The root is there, and this field of it is only used as an atomic.
    let flag = unsafe { AtomicU32::from_ptr(&raw mut (*blog_root.get()).crash.frozen) };
    flag.store(1, SeqCst);
    let result = f();
    flag.store(0, SeqCst);
    result
}

impl Rig {
    /// Drops many, and waits once.
    pub(crate) fn drop_all(mut rigs: KVec<Self>) -> Result {
        rigs.iter_mut().for_each(Self::unregister);
        life::free_gone();
        Ok(())
    }
}

impl Thread {
    /// The thread.
    pub(crate) fn task(&self) -> *mut bindings::task_struct {
        self.task
    }
}

unsafe extern "C" {
    /// Has timers fire that would wait on an idle CPU. Process context.
    pub(crate) safe fn blog_wake_cpus();
}

/// The time of the first record of [`page_of`].
pub(crate) const BASE: u64 = 5 << 36;

/// A page with `n` records of the sites 1 to 4 in turn, each with that many times `unit` bytes
/// of payload, and room after it.
pub(crate) fn page_of(n: u64, unit: u32) -> Result<(KVVec<u8>, usize)> {
    let mut page = Page::begin(KVVec::new(), PAGE_SIZE as u32, 5, (9, BASE, 1000));
    for n in 0..n {
        let site = n as u32 % 4 + 1;
        page.raw_record(BASE | n, site, &[0xde; 20][..(unit * site) as usize]);
    }
    let len = page.bytes.len();
    let mut page = page.bytes;
    page.resize(2 * PAGE_SIZE, 0, GFP_KERNEL)?;
    Ok((page, len))
}

impl Buffer for KVVec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        let _ = self.extend_from_slice(bytes, GFP_KERNEL);
    }

    fn all(&mut self) -> &mut [u8] {
        self
    }
}
