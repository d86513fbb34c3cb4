// SPDX-License-Identifier: GPL-2.0

//! What C has: `kernel::bindings`. `compat.c` compares the numbers with the kernel's headers.

use core::ffi::c_void;

macro_rules! opaque {
    ($($name:ident)*) => {$(
        /// Only C knows what is in it.
        #[repr(C)]
        pub struct $name([u8; 0]);
    )*};
}

opaque!(file iov_iter poll_table_struct task_struct);

/// What C has in a `struct static_key_false`.
#[repr(C, align(8))]
pub struct static_key {
    raw: [u64; 2],
}

#[repr(C)]
pub struct static_key_false {
    pub key: static_key,
}

pub const ENODATA: u32 = 61;
pub const EOPNOTSUPP: u32 = 95;

pub const POLLIN: u32 = 1;
pub const POLLOUT: u32 = 4;
pub const POLLERR: u32 = 8;
pub const POLLHUP: u32 = 16;
pub const POLLRDNORM: u32 = 64;

unsafe extern "C" {
    pub static init_task: task_struct;
    pub static jiffies_64: u64;

    pub fn get_random_bytes(bytes: *mut c_void, len: usize);
    pub fn ktime_get_boot_fast_ns() -> u64;
    pub fn ktime_get_mono_fast_ns() -> u64;
    pub fn ktime_get_real_fast_ns() -> u64;
    pub fn msleep_interruptible(ms: u32) -> usize;
    pub fn si_mem_available() -> isize;
    pub fn static_key_disable(key: *mut static_key);
    pub fn static_key_enable(key: *mut static_key);
    pub fn synchronize_rcu();
    #[link_name = "blog_k_synchronize_rcu_tasks"]
    pub fn synchronize_rcu_tasks();
}

// Symbols of each CPU, and numbers, that the assembler knows: macros of cpu.h.
unsafe extern "C" {
    #[link_name = "BLOG_CURRENT"]
    pub static const_current_task: u8;
    #[link_name = "BLOG_PREEMPT_COUNT"]
    pub static __preempt_count: u8;
    #[link_name = "BLOG_CPU"]
    pub static cpu_number: u8;
    pub static BLOG_INTERRUPT_MASK: u8;
    pub static BLOG_HARDIRQ_MASK: u8;
    pub static BLOG_NMI_MASK: u8;
    pub static BLOG_TASK_CPU: u8;
    pub static BLOG_TASK_PREEMPT_COUNT: u8;
}
