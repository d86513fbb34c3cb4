// SPDX-License-Identifier: GPL-2.0

//! The real `kernel::blog`, in a host crate of the kernel crate's name. What it uses of the rest
//! of the kernel crate is here in the least form that lets it compile and run.

#![allow(non_camel_case_types)]

extern crate self as kernel;

// In a folder module, so that `mod blog;` looks for its own modules in `blog/`, as in the kernel.
#[path = "../../../../rust/kernel"]
mod sources {
    pub mod blog;
}
pub use sources::blog;

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
        alloc::{Box, KBox, Vec, GFP_KERNEL},
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

/// What says of a type that all its bytes are initialised.
pub mod transmute {
    /// # Safety
    ///
    /// Values have no uninitialised bytes.
    pub unsafe trait AsBytes {
        fn as_bytes(&self) -> &[u8] {
            let (at, len) = (core::ptr::from_ref(self).cast(), size_of_val(self));
            // SAFETY: By this trait's requirement.
            unsafe { core::slice::from_raw_parts(at, len) }
        }
    }

    /// # Safety
    ///
    /// Any bytes are a value.
    pub unsafe trait FromBytes {}

    // SAFETY: As for the element.
    unsafe impl<T: FromBytes, const N: usize> FromBytes for [T; N] {}
}

/// Allocation that does not fail.
pub mod alloc {
    use crate::error::Result;
    use core::{marker::PhantomData, ops::Deref};

    pub trait Allocator {}
    pub struct Kmalloc;
    impl Allocator for Kmalloc {}

    pub struct Flags;
    pub const GFP_KERNEL: Flags = Flags;

    pub struct Box<T: ?Sized, A>(std::boxed::Box<T>, PhantomData<A>);
    pub type KBox<T> = Box<T, Kmalloc>;

    impl<T, A> Box<T, A> {
        pub fn new(value: T, _: Flags) -> Result<Self> {
            Ok(Self(std::boxed::Box::new(value), PhantomData))
        }
    }

    impl<T: ?Sized, A> Deref for Box<T, A> {
        type Target = T;
        fn deref(&self) -> &T {
            &self.0
        }
    }

    pub struct Vec<T, A>(pub std::vec::Vec<T>, pub PhantomData<A>);

    impl<T, A> Deref for Vec<T, A> {
        type Target = [T];
        fn deref(&self) -> &[T] {
            &self.0
        }
    }
}

pub mod bindings {
    //! What a test says that the context is.

    use core::{cell::Cell, ffi::c_void, ptr};

    pub struct task_struct {
        pub blog_tls: *mut c_void,
        pub pid: i32,
        pub tgid: i32,
        pub comm: [core::ffi::c_char; 16],
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

pub mod error {
    //! Errors that are numbers.

    #[derive(Clone, Copy, PartialEq, Eq)]
    pub struct Error(i32);

    pub type Result<T = (), E = Error> = core::result::Result<T, E>;

    impl Error {
        pub fn from_errno(errno: i32) -> Self {
            Self(errno)
        }

        pub fn to_errno(self) -> i32 {
            self.0
        }
    }

    impl core::fmt::Debug for Error {
        fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
            // As the kernel: the name as a tuple, or the number where it has no name.
            match self.0 {
                -5 => f.debug_tuple("EIO").finish(),
                -12 => f.debug_tuple("ENOMEM").finish(),
                -22 => f.debug_tuple("EINVAL").finish(),
                -28 => f.debug_tuple("ENOSPC").finish(),
                n => f.debug_tuple("Error").field(&-n).finish(),
            }
        }
    }

    pub fn from_err_ptr<T>(ptr: *mut T) -> Result<*mut T> {
        match ptr as isize {
            errno @ -4095..0 => Err(Error(errno as i32)),
            _ => Ok(ptr),
        }
    }

    pub mod code {
        use super::Error;

        pub const EINVAL: Error = Error(-22);
        pub const ENOSPC: Error = Error(-28);
    }
}

pub mod fmt {
    pub use core::fmt::{Formatter, Result};

    pub trait Display {
        fn fmt(&self, f: &mut Formatter<'_>) -> Result;
    }
}

pub mod str {
    pub use core::ffi::CStr;

    pub struct CString(std::ffi::CString);

    impl TryFrom<&CStr> for CString {
        type Error = crate::error::Error;
        fn try_from(s: &CStr) -> Result<Self, Self::Error> {
            Ok(Self(s.into()))
        }
    }

    impl core::ops::Deref for CString {
        type Target = CStr;
        fn deref(&self) -> &CStr {
            &self.0
        }
    }
}

pub mod sync {
    pub use std::sync::Arc;

    macro_rules! pointers {
        ($($name:ident $(<$l:lifetime>)?;)*) => {$(
            pub struct $name<$($l,)? T: ?Sized>(pub $(&$l)? T);

            impl<$($l,)? T: ?Sized> core::ops::Deref for $name<$($l,)? T> {
                type Target = T;
                fn deref(&self) -> &T {
                    #[allow(clippy::borrow_deref_ref)]
                    &self.0
                }
            }
        )*};
    }

    pointers! {
        ArcBorrow<'a>;
        UniqueArc;
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
