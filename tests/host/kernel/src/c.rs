// SPDX-License-Identifier: GPL-2.0

//! The functions of C that the stand-in calls, as `packaging/anykernel/compat.c` has them.

use core::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering::*};

unsafe extern "C" {
    fn aligned_alloc(align: usize, size: usize) -> *mut c_void;
    fn free(memory: *mut c_void);
}

/// As kmalloc(): powers of two are aligned by themselves.
#[no_mangle]
extern "C" fn blog_k_alloc(size: usize, pages: bool) -> *mut c_void {
    let size = if pages { size.next_multiple_of(4096) } else { size };
    let align = 1 << size.trailing_zeros().clamp(3, 12);
    // SAFETY: The size is a multiple of this power of two, or malloc() aligns it so anyway.
    unsafe { aligned_alloc(align, size.next_multiple_of(align)) }
}

/// # Safety
///
/// It is of one of these, and nobody uses it any more.
#[no_mangle]
unsafe extern "C" fn blog_k_free(memory: *mut c_void) {
    // SAFETY: By this function's requirement.
    unsafe { free(memory) };
}

#[no_mangle]
extern "C" fn blog_k_mutex_init(mutex: &[AtomicU64; 16]) {
    mutex[0].store(1, Relaxed);
}

/// One that isn't ready is 0, and stays locked.
#[no_mangle]
extern "C" fn blog_k_mutex_lock(mutex: &[AtomicU64; 16]) {
    while mutex[0].compare_exchange(1, 2, Acquire, Relaxed).is_err() {
        std::thread::yield_now();
    }
}

#[no_mangle]
extern "C" fn blog_k_mutex_unlock(mutex: &[AtomicU64; 16]) {
    assert_eq!(mutex[0].swap(1, Release), 2);
}

#[no_mangle]
extern "C" fn blog_k_rcu_lock() {}

#[no_mangle]
extern "C" fn blog_k_rcu_unlock() {}

#[no_mangle]
extern "C" fn synchronize_rcu() {}
