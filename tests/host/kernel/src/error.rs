// SPDX-License-Identifier: GPL-2.0

//! A stand-in for the kernel's `Error`: a negative errno that prints by name.

use core::fmt;

/// A negative errno.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Error(pub i32);

impl crate::blog::Errno for Error {
    fn errno(&self) -> i32 {
        self.0
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // As the kernel: the name as a tuple, or the number where it has no name.
        match self.0 {
            -5 => f.debug_tuple("EIO").finish(),
            -12 => f.debug_tuple("ENOMEM").finish(),
            -22 => f.debug_tuple("EINVAL").finish(),
            n => f.debug_tuple("Error").field(&-n).finish(),
        }
    }
}
