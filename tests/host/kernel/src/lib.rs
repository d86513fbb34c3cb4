// SPDX-License-Identifier: GPL-2.0

//! The real `kernel::blog`, in a host crate of the kernel crate's name. What it uses of the rest
//! of the kernel crate is the stand-in of `packaging/anykernel`; and here, what only drivers in
//! Rust use, in the least form that lets it compile and run.

#![allow(non_camel_case_types)]

extern crate self as kernel;

// In a folder module, so that `mod blog;` looks for its own modules in `blog/`, as in the kernel.
#[path = "../../../../rust/kernel"]
mod sources {
    pub mod blog;
}
pub use sources::blog;

mod c;
#[path = "../../../../packaging/anykernel/kernel"]
mod standin {
    pub mod alloc;
    pub mod error;
    pub mod str;
    pub mod sync;
    pub mod transmute;
    pub mod types;
}
pub use standin::{alloc, error, str, transmute, types};

pub mod ffi {
    pub use core::ffi::c_void;
}

pub mod page {
    pub const PAGE_SIZE: usize = 4096;
}

/// As the kernel's, on x86.
#[macro_export]
macro_rules! asm {
    ($($asm:expr),* ; $($rest:tt)*) => {
        ::core::arch::asm!( $($asm)*, options(att_syntax), $($rest)* )
    };
}

/// Names that drivers import.
pub mod prelude {
    pub use crate::{
        alloc::{KBox, KVec, GFP_KERNEL},
        error::{code::*, Error, Result},
        str::{CStr, CString},
    };
    pub use core::format_args as fmt;
}

/// Devices, one of which a message may name.
pub mod device {
    pub struct Device(());

    impl Device {
        pub fn name(&self) -> &crate::str::CStr {
            c"host"
        }
    }
}

pub mod bindings {
    //! What a test says that the context is.

    use core::{cell::Cell, ffi::c_void, ptr};

    pub struct poll_table_struct(());

    pub struct task_struct {
        pub blog_tls: *mut c_void,
        pub pid: i32,
        pub tgid: i32,
        pub comm: [core::ffi::c_char; 16],
    }

    unsafe extern "C" {
        pub fn synchronize_rcu();
    }

    thread_local! {
        /// The current task, null in interrupt context.
        pub static TASK: Cell<*mut task_struct> = const { Cell::new(ptr::null_mut()) };
        /// What `blog_interrupt()` returns.
        pub static INTERRUPT: Cell<u32> = const { Cell::new(0) };
    }

    /// # Safety
    ///
    /// None needed; the real one is C.
    pub unsafe fn blog_task() -> *mut task_struct {
        TASK.get()
    }

    /// # Safety
    ///
    /// None needed; the real one is C.
    pub unsafe fn blog_interrupt() -> u32 {
        INTERRUPT.get()
    }
}

pub mod fmt {
    pub use core::fmt::{Formatter, Result};

    pub trait Display {
        fn fmt(&self, f: &mut Formatter<'_>) -> Result;
    }
}

pub mod sync {
    pub use crate::standin::sync::*;

    pub struct ArcBorrow<'a, T: ?Sized>(pub &'a T);

    impl<T: ?Sized> core::ops::Deref for ArcBorrow<'_, T> {
        type Target = T;
        fn deref(&self) -> &T {
            self.0
        }
    }
}

pub mod task {
    use std::cell::Cell;

    thread_local! {
        /// How often this thread has said that it may sleep.
        pub static MIGHT_SLEEP: Cell<u32> = const { Cell::new(0) };
    }

    pub fn might_sleep() {
        MIGHT_SLEEP.set(MIGHT_SLEEP.get() + 1);
    }

    pub struct Task(pub i32);

    impl Task {
        pub fn pid(&self) -> i32 {
            self.0
        }
    }
}

pub mod time {
    use core::marker::PhantomData;

    pub trait ClockSource {}

    pub struct Instant<C>(pub i64, pub PhantomData<C>);

    pub mod hrtimer {
        pub trait HrTimerExpires {
            fn as_nanos(&self) -> i64;
        }

        impl<C: super::ClockSource> HrTimerExpires for super::Instant<C> {
            fn as_nanos(&self) -> i64 {
                self.0
            }
        }
    }

    pub struct Delta(pub i64);

    impl Delta {
        pub fn as_nanos(&self) -> i64 {
            self.0
        }
    }
}
