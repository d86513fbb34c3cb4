// SPDX-License-Identifier: GPL-2.0

//! Errors: `kernel::error`.

use core::{fmt, num::NonZeroI32};

#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Error(NonZeroI32);

pub type Result<T = (), E = Error> = core::result::Result<T, E>;

/// The largest number of an error.
const MAX_ERRNO: i32 = 4095;

impl Error {
    /// `EINVAL` for a number that is none of an error.
    pub const fn from_errno(errno: i32) -> Self {
        match NonZeroI32::new(errno) {
            Some(number) if errno < 0 && errno >= -MAX_ERRNO => Self(number),
            _ => code::EINVAL,
        }
    }

    pub fn to_errno(self) -> i32 {
        self.0.get()
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match code::NAMES.iter().find(|(code, _)| code == self) {
            Some((_, name)) => f.debug_tuple(name).finish(),
            None => f.debug_tuple("Error").field(&-self.to_errno()).finish(),
        }
    }
}

impl From<crate::alloc::AllocError> for Error {
    fn from(_: crate::alloc::AllocError) -> Self {
        code::ENOMEM
    }
}

pub mod code {
    use super::Error;
    use core::num::NonZeroI32;

    macro_rules! codes {
        ($($name:ident $errno:literal;)*) => {
            $(pub const $name: Error = Error(NonZeroI32::new(-$errno).unwrap());)*
            pub(super) const NAMES: &[(Error, &str)] = &[$(($name, stringify!($name))),*];
        };
    }

    // The same on all architectures: asm-generic/errno-base.h, asm-generic/errno.h, linux/errno.h
    codes! {
        EPERM 1;
        ENOENT 2;
        EINTR 4;
        EIO 5;
        E2BIG 7;
        EBADF 9;
        EAGAIN 11;
        ENOMEM 12;
        EFAULT 14;
        EBUSY 16;
        EEXIST 17;
        ENODEV 19;
        EINVAL 22;
        ENOSPC 28;
        ERANGE 34;
        EOVERFLOW 75;
        ERESTARTSYS 512;
    }
}

pub fn to_result(errno: i32) -> Result {
    match errno {
        ..0 => Err(Error::from_errno(errno)),
        _ => Ok(()),
    }
}

pub fn from_result<T: From<i16>>(f: impl FnOnce() -> Result<T>) -> T {
    // An error's number is 4095 at most.
    f().unwrap_or_else(|error| T::from(error.to_errno() as i16))
}

pub fn from_err_ptr<T>(ptr: *mut T) -> Result<*mut T> {
    match i32::try_from(ptr as isize) {
        Ok(errno) if (-MAX_ERRNO..0).contains(&errno) => Err(Error::from_errno(errno)),
        _ => Ok(ptr),
    }
}
