// SPDX-License-Identifier: GPL-2.0

//! What KUnit's suites need of KUnit, on kernels that have none: the Rust side of `kunit.c`.

use core::{
    fmt,
    ptr, //
};
use kernel::prelude::*;

unsafe extern "C" {
    /// Ends the case that calls it, and its thread.
    safe fn blog_kunit_abort() -> !;
}

/// A case, for C: the last one of a suite has no name.
#[repr(C)]
pub(crate) struct Case {
    name: *const c_char,
    run: Option<extern "C" fn()>,
}

// SAFETY: Nothing changes what it points to.
unsafe impl Sync for Case {}

impl Case {
    pub(crate) const END: Self = Self {
        name: ptr::null(),
        run: None,
    };

    pub(crate) const fn new(name: &'static CStr, run: extern "C" fn()) -> Self {
        Self {
            name: name.as_ptr(),
            run: Some(run),
        }
    }
}

/// A suite, for C.
#[repr(C)]
pub(crate) struct Suite {
    name: *const c_char,
    cases: *const Case,
}

// SAFETY: As for `Case`.
unsafe impl Sync for Suite {}

impl Suite {
    pub(crate) const fn new(name: &'static CStr, cases: &'static [Case]) -> Self {
        Self {
            name: name.as_ptr(),
            cases: cases.as_ptr(),
        }
    }
}

/// Says what was wrong, and ends the case.
pub(crate) fn failed(file: &str, line: u32, what: &str) -> ! {
    pr_info!("    # ASSERTION FAILED at {file}:{line}\n");
    pr_info!("    Expected {what} to be true, but is false\n");
    blog_kunit_abort()
}

/// What a case returns: nothing, or a `Result`.
pub(crate) trait Outcome {
    fn is_bad(&self) -> bool;
}

impl Outcome for () {
    fn is_bad(&self) -> bool {
        false
    }
}

impl<E: fmt::Debug> Outcome for Result<(), E> {
    fn is_bad(&self) -> bool {
        self.is_err()
    }
}

pub(crate) fn ended(outcome: impl Outcome, file: &str, line: u32) {
    if outcome.is_bad() {
        failed(file, line, "what the case returns");
    }
}
