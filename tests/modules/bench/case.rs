// SPDX-License-Identifier: GPL-2.0

//! A case, as bench.h has it.

use core::ffi::c_char;

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Case {
    name: *const c_char,
    run: Option<extern "C" fn(u32)>,
}

// SAFETY: It points to a literal.
unsafe impl Sync for Case {}

impl Case {
    /// Ends a table.
    pub(crate) const END: Self = Self {
        name: core::ptr::null(),
        run: None,
    };

    /// `name` ends with a zero.
    pub(crate) const fn new(name: &'static str, run: extern "C" fn(u32)) -> Self {
        Self {
            name: name.as_ptr().cast(),
            run: Some(run),
        }
    }
}
