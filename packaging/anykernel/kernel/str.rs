// SPDX-License-Identifier: GPL-2.0

//! Strings: `kernel::str`.

use core::{
    ffi::c_char,
    fmt::{self, Write},
    ops::Deref,
    ptr,
};

pub use core::ffi::CStr;

use crate::{
    alloc::{KVec, GFP_KERNEL},
    error::{code::*, Result},
};

pub trait CStrExt {
    fn as_char_ptr(&self) -> *const c_char;

    /// # Safety
    ///
    /// A C string is there for `'a`, and nobody changes it.
    unsafe fn from_char_ptr<'a>(ptr: *const c_char) -> &'a Self;
}

impl CStrExt for CStr {
    fn as_char_ptr(&self) -> *const c_char {
        self.as_ptr()
    }

    unsafe fn from_char_ptr<'a>(ptr: *const c_char) -> &'a Self {
        // SAFETY: By this function's requirement.
        unsafe { CStr::from_ptr(ptr) }
    }
}

/// Bytes that are shown as text.
#[repr(transparent)]
pub struct BStr([u8]);

impl BStr {
    pub const fn from_bytes(bytes: &[u8]) -> &Self {
        // SAFETY: It is transparent.
        unsafe { &*(ptr::from_ref(bytes) as *const Self) }
    }
}

impl fmt::Display for BStr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| match byte {
            b' '..=b'~' => f.write_char((*byte).into()),
            _ => write!(f, "\\x{byte:02x}"),
        })
    }
}

/// # Invariants
///
/// The only NUL is at its end.
pub struct CString(KVec<u8>);

impl CString {
    pub fn try_from_fmt(args: fmt::Arguments<'_>) -> Result<Self> {
        struct Writer(KVec<u8>);

        impl fmt::Write for Writer {
            fn write_str(&mut self, text: &str) -> fmt::Result {
                let result = self.0.extend_from_slice(text.as_bytes(), GFP_KERNEL);
                result.map_err(|_| fmt::Error)
            }
        }

        let mut writer = Writer(KVec::new());
        writer.write_fmt(args).map_err(|_| ENOMEM)?;
        let Writer(mut bytes) = writer;
        if bytes.contains(&0) {
            return Err(EINVAL);
        }
        bytes.push(0, GFP_KERNEL)?;
        // INVARIANT: As was just tested.
        Ok(Self(bytes))
    }
}

impl Deref for CString {
    type Target = CStr;

    fn deref(&self) -> &CStr {
        // SAFETY: By the type invariants.
        unsafe { CStr::from_bytes_with_nul_unchecked(&self.0) }
    }
}
