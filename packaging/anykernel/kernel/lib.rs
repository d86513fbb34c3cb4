// SPDX-License-Identifier: GPL-2.0

//! What BLog uses of the crate `kernel`, for kernels that have no such crate: over functions of C
//! (`compat.c`), whose struct layouts are those of the kernel that this is assembled for.
//!
//! An item here does what the kernel's own item of that name does, and has its documentation. BLog
//! in the kernel's tree never sees this crate.

#![no_std]
#![feature(derive_coerce_pointee)]
#![allow(missing_docs, non_camel_case_types)]

extern crate self as kernel;

pub mod alloc;
pub mod bindings;
pub mod blog;
pub mod error;
pub mod file;
#[cfg(CONFIG_BLOG_DUMPS)]
mod notes;
pub mod print;
pub mod str;
pub mod sync;
pub mod transmute;
pub mod types;

pub use file::{fs, iov};

pub mod ffi {
    pub use core::ffi::{c_char, c_int, c_void};

    pub type c_long = isize;
    pub type c_ulong = usize;
}

pub mod fmt {
    pub use core::fmt::{Debug, Display, Error, Formatter, Result, Write};
}

pub mod prelude {
    pub use super::{
        alloc::{Flags, KBox, KVVec, KVec, VVec, Vec, GFP_KERNEL},
        current,
        error::{code::*, Error, Result},
        ffi::{c_char, c_int, c_long, c_ulong, c_void},
        module, pr_info, pr_warn,
        str::{BStr, CStr, CStrExt},
        ThisModule,
    };
    pub use core::{format_args as fmt, pin::Pin};
}

pub mod cpu {
    unsafe extern "C" {
        #[link_name = "blog_k_nr_cpu_ids"]
        pub safe fn nr_cpu_ids() -> u32;
    }
}

pub mod page {
    pub const PAGE_SIZE: usize = 4096;
}

pub mod task {
    unsafe extern "C" {
        safe fn blog_k_might_sleep();
        safe fn blog_k_signal_pending() -> bool;
    }

    pub fn might_sleep() {
        blog_k_might_sleep();
    }

    /// The current task.
    pub struct Task;

    impl Task {
        pub fn signal_pending(&self) -> bool {
            blog_k_signal_pending()
        }
    }
}

#[macro_export]
macro_rules! current {
    () => {
        $crate::task::Task
    };
}

pub struct ThisModule(());

pub trait Module: Sized {
    fn init(module: &'static ThisModule) -> error::Result<Self>;
}

/// Starts a module, which stays: for [`module!`].
#[doc(hidden)]
pub fn start<M: Module>() -> ffi::c_int {
    error::from_result(|| {
        core::mem::forget(M::init(&ThisModule(()))?);
        Ok(0)
    })
}

/// The rest of a module is in `compat.c`.
#[macro_export]
macro_rules! module {
    (type: $ty:ty, $($rest:tt)*) => {
        #[no_mangle]
        extern "C" fn blog_init_module() -> $crate::ffi::c_int {
            $crate::start::<$ty>()
        }
    };
}
