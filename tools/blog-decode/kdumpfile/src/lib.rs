// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Reads the physical memory of a crashed kernel through libkdumpfile.
//!
//! [`Dump::open`] takes ELF vmcores, and compressed ones of makedumpfile and QEMU. It gives what
//! every such file has: the rows of VMCOREINFO, and physical memory. Address translation is not
//! asked of the library, so it needs to know neither the machine nor the operating system.
//!
//! All `unsafe` of the decoder is in this crate.

use std::{
    ffi::{c_char, c_uint, c_void, CStr},
    fs::File,
    os::fd::AsRawFd,
    ptr::NonNull,
};

// What `scripts/fetch --bindings` prints.
#[allow(clippy::all, dead_code, missing_docs, non_camel_case_types)]
mod sys;

/// A dump.
pub struct Dump {
    ctx: NonNull<sys::kdump_ctx_t>,
    /// The library reads them as long as the context is there.
    _files: Vec<File>,
}

/// Why memory can't be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is not in the file: left out when the dump was made, or there was none.
    Missing,
    /// The file is cut off, its data are damaged, or it can't be read.
    Damaged(String),
}

impl Dump {
    /// Opens a dump, which may be in several files: all parts of one that was split. The error is the
    /// library's text.
    pub fn open(files: Vec<File>) -> Result<Self, String> {
        // SAFETY: No requirements.
        let ctx = NonNull::new(unsafe { sys::kdump_new() }).ok_or("out of memory")?;
        let dump = Self { ctx, _files: files };
        // A file that shrinks while it is mapped would be the end of the program.
        dump.set_number(c"file.mmap_policy", sys::KDUMP_MMAP_NEVER.into())?;
        let fds: Vec<_> = dump._files.iter().map(AsRawFd::as_raw_fd).collect();
        let count = c_uint::try_from(fds.len()).map_err(|_| "too many files")?;
        // SAFETY: The context is valid; there are `count` descriptors, which the library copies, and
        // which stay open as long as it.
        let status = unsafe { sys::kdump_open_fdset(ctx.as_ptr(), count, fds.as_ptr()) };
        dump.check(status)?;
        // Without it, the library doesn't look for VMCOREINFO.
        dump.set_string(c"addrxlat.ostype", c"linux")?;
        Ok(dump)
    }

    /// The text of VMCOREINFO.
    pub fn vmcoreinfo(&self) -> Result<String, String> {
        let mut raw: *mut c_char = std::ptr::null_mut();
        // SAFETY: Both are valid.
        let status = unsafe { sys::kdump_vmcoreinfo_raw(self.ctx.as_ptr(), &mut raw) };
        self.check(status)?;
        let Some(raw) = NonNull::new(raw) else {
            return Err("it has no VMCOREINFO".into());
        };
        // SAFETY: On success this is a NUL-terminated string, which is the caller's.
        let text = unsafe { CStr::from_ptr(raw.as_ptr()) };
        let text = text.to_string_lossy().into_owned();
        // SAFETY: It came from the C library's allocator, as the library documents.
        unsafe { free(raw.as_ptr().cast()) };
        Ok(text)
    }

    /// Has the library take it that the file has pages of so many bytes. It takes the kernel's own
    /// from VMCOREINFO, where QEMU writes 64 KiB on arm64.
    pub fn set_page_size(&self, bytes: u64) -> Result<(), String> {
        self.set_number(c"arch.page_size", bytes)
    }

    /// Reads physical memory.
    pub fn read(&self, addr: u64, buf: &mut [u8]) -> Result<(), Fault> {
        let mut len = buf.len();
        // SAFETY: The context is valid, and `buf` has `len` bytes.
        let status = unsafe {
            sys::kdump_read(
                self.ctx.as_ptr(),
                sys::KDUMP_MACHPHYSADDR,
                addr,
                buf.as_mut_ptr().cast::<c_void>(),
                &mut len,
            )
        };
        match (status, self.check(status)) {
            (_, Ok(())) if len == buf.len() => Ok(()),
            (_, Ok(())) | (sys::KDUMP_ERR_NODATA, _) => Err(Fault::Missing),
            (_, Err(e)) => Err(Fault::Damaged(e)),
        }
    }

    fn set_number(&self, key: &CStr, number: u64) -> Result<(), String> {
        let attr =
            sys::kdump_attr_t { type_: sys::KDUMP_NUMBER, val: sys::_kdump_attr_value { number } };
        // SAFETY: All are valid, and the value is of the type that the attribute says.
        let status = unsafe { sys::kdump_set_attr(self.ctx.as_ptr(), key.as_ptr(), &attr) };
        self.check(status)
    }

    fn set_string(&self, key: &CStr, string: &CStr) -> Result<(), String> {
        let attr = sys::kdump_attr_t {
            type_: sys::KDUMP_STRING,
            val: sys::_kdump_attr_value { string: string.as_ptr() },
        };
        // SAFETY: As above; the library makes a copy of the string.
        let status = unsafe { sys::kdump_set_attr(self.ctx.as_ptr(), key.as_ptr(), &attr) };
        self.check(status)
    }

    /// The library's text, if this is an error.
    fn check(&self, status: sys::kdump_status) -> Result<(), String> {
        if status == sys::KDUMP_OK {
            return Ok(());
        }
        // SAFETY: The context is valid.
        let text = NonNull::new(unsafe { sys::kdump_get_err(self.ctx.as_ptr()) }.cast_mut());
        Err(match text {
            // SAFETY: The library's string stays until the next call.
            Some(text) => unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy().into_owned(),
            None => format!("libkdumpfile reports status {status}"),
        })
    }
}

impl Drop for Dump {
    fn drop(&mut self) {
        // SAFETY: It came from `kdump_new`, and this is its last use.
        unsafe { sys::kdump_free(self.ctx.as_ptr()) };
    }
}

extern "C" {
    fn free(p: *mut c_void);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_dump_is_refused_with_a_reason() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let file = File::open(path).expect("this file");
        let error = Dump::open(vec![file]).err().expect("it is no dump");
        assert!(!error.is_empty());
    }
}
