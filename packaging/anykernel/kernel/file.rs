// SPDX-License-Identifier: GPL-2.0

//! Files, and what they are read to: `kernel::fs` and `kernel::iov`.

use crate::{
    bindings,
    error::{code::*, Result},
};
use core::{marker::PhantomData, ptr};

unsafe extern "C" {
    fn blog_k_file_flags(file: *const bindings::file) -> u32;
    fn blog_k_iov_len(iov: *const bindings::iov_iter) -> usize;
    fn blog_k_iov_copy(iov: *mut bindings::iov_iter, from: *const u8, len: usize) -> usize;
}

pub mod fs {
    pub use super::File;

    pub mod file {
        pub type Offset = i64;

        pub mod flags {
            pub const O_NONBLOCK: u32 = 0o4000;
        }
    }
}

/// An open file.
#[repr(transparent)]
pub struct File(bindings::file);

impl File {
    /// # Safety
    ///
    /// It is valid for `'a`.
    pub unsafe fn from_raw_file<'a>(file: *const bindings::file) -> &'a Self {
        // SAFETY: By this function's requirement.
        unsafe { &*file.cast() }
    }

    pub fn as_ptr(&self) -> *mut bindings::file {
        ptr::from_ref(&self.0).cast_mut()
    }

    pub fn flags(&self) -> u32 {
        // SAFETY: The file is valid.
        unsafe { blog_k_file_flags(self.as_ptr()) }
    }
}

pub mod iov {
    pub use super::IovIterDest;
}

/// Where what is read goes.
#[repr(transparent)]
pub struct IovIterDest<'data>(bindings::iov_iter, PhantomData<&'data mut [u8]>);

impl<'data> IovIterDest<'data> {
    /// # Safety
    ///
    /// It is valid for `'iov`, nobody else has it, and it can be written to for `'data`.
    pub unsafe fn from_raw<'iov>(iov: *mut bindings::iov_iter) -> &'iov mut IovIterDest<'data> {
        // SAFETY: By this function's requirement.
        unsafe { &mut *iov.cast() }
    }

    pub fn len(&self) -> usize {
        // SAFETY: It is valid.
        unsafe { blog_k_iov_len(&self.0) }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn copy_to_iter(&mut self, from: &[u8]) -> usize {
        // SAFETY: It is valid, and so are the bytes.
        unsafe { blog_k_iov_copy(&mut self.0, from.as_ptr(), from.len()) }
    }

    pub fn simple_read_from_buffer(
        &mut self,
        at: &mut fs::file::Offset,
        from: &[u8],
    ) -> Result<usize> {
        let start = usize::try_from(*at).map_err(|_| EINVAL)?;
        let n = self.copy_to_iter(from.get(start..).unwrap_or_default());
        *at += n as fs::file::Offset;
        Ok(n)
    }
}
