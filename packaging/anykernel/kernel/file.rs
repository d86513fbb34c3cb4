// SPDX-License-Identifier: GPL-2.0

//! Files, and what they are read to or mapped to: `kernel::fs`, `iov`, `mm` and `page`.

use crate::{
    bindings,
    error::{
        code::*,
        to_result,
        Result, //
    },
    ffi::c_int, //
};
use core::{
    marker::PhantomData,
    ptr::{
        self,
        NonNull, //
    }, //
};

unsafe extern "C" {
    fn blog_k_file_flags(file: *const bindings::file) -> u32;
    fn blog_k_iov_len(iov: *const bindings::iov_iter) -> usize;
    fn blog_k_iov_copy(iov: *mut bindings::iov_iter, from: *const u8, len: usize) -> usize;
    fn blog_k_vma_start(vma: *mut bindings::vm_area_struct) -> usize;
    fn blog_k_vma_end(vma: *mut bindings::vm_area_struct) -> usize;
    fn blog_k_vma_read_only(vma: *mut bindings::vm_area_struct) -> c_int;
    fn blog_k_vma_no_exec(vma: *mut bindings::vm_area_struct) -> c_int;
    fn blog_k_vma_flag(vma: *mut bindings::vm_area_struct, which: u32);
    fn blog_k_vma_insert(
        vma: *mut bindings::vm_area_struct,
        at: usize,
        page: *mut bindings::page,
    ) -> c_int;
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

pub mod page {
    pub use super::BorrowedPage;

    pub const PAGE_SIZE: usize = 4096;
}

pub struct BorrowedPage<'a>(NonNull<bindings::page>, PhantomData<&'a ()>);

impl BorrowedPage<'_> {
    /// # Safety
    ///
    /// It is valid for the lifetime.
    pub unsafe fn from_raw(page: NonNull<bindings::page>) -> Self {
        Self(page, PhantomData)
    }
}

pub mod mm {
    pub mod virt {
        pub use super::super::{
            VmaMixedMap,
            VmaNew, //
        };
    }
}

/// An area of a process that is being made.
#[repr(transparent)]
pub struct VmaNew(bindings::vm_area_struct);

/// An area that pages may be inserted into.
pub type VmaMixedMap = VmaNew;

impl VmaNew {
    /// # Safety
    ///
    /// It is valid for `'a`, and only the caller has it.
    pub unsafe fn from_raw<'a>(area: *mut bindings::vm_area_struct) -> &'a Self {
        // SAFETY: By this function's requirement.
        unsafe { &*area.cast() }
    }

    fn as_ptr(&self) -> *mut bindings::vm_area_struct {
        ptr::from_ref(&self.0).cast_mut()
    }

    pub fn start(&self) -> usize {
        // SAFETY: The area is valid.
        unsafe { blog_k_vma_start(self.as_ptr()) }
    }

    pub fn end(&self) -> usize {
        // SAFETY: The area is valid.
        unsafe { blog_k_vma_end(self.as_ptr()) }
    }

    pub fn try_clear_maywrite(&self) -> Result {
        // SAFETY: The area is valid, and only the caller has it.
        to_result(unsafe { blog_k_vma_read_only(self.as_ptr()) })
    }

    pub fn try_clear_mayexec(&self) -> Result {
        // SAFETY: As above.
        to_result(unsafe { blog_k_vma_no_exec(self.as_ptr()) })
    }

    /// As compat.c numbers flags.
    fn set(&self, which: u32) {
        // SAFETY: As above.
        unsafe { blog_k_vma_flag(self.as_ptr(), which) };
    }

    pub fn set_dontcopy(&self) {
        self.set(0);
    }

    pub fn set_dontexpand(&self) {
        self.set(1);
    }

    pub fn set_dontdump(&self) {
        self.set(2);
    }

    pub fn set_mixedmap(&self) -> &VmaMixedMap {
        self.set(3);
        self
    }

    pub fn vm_insert_page(&self, at: usize, page: &BorrowedPage<'_>) -> Result {
        // SAFETY: The area and the page are valid.
        to_result(unsafe { blog_k_vma_insert(self.as_ptr(), at, page.0.as_ptr()) })
    }
}
