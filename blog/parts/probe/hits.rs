// SPDX-License-Identifier: GPL-2.0

//! Places in the kernel that call BLog: the Rust side of `hits.c`. Process context.

use core::ptr::NonNull;
use kernel::{
    error::from_err_ptr,
    prelude::*,
    str::CString, //
};

/// The most words that a hit comes with; `BLOG_PROBE_WORDS` of `hits.h`.
pub(crate) const WORDS: usize = 11;

/// What is hit; `enum blog_hook_kind` of `hits.h`.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum HookKind {
    /// An instruction of a function: the words are what is in the registers of its arguments, and
    /// then what is on the stack as at its start.
    Place,
    /// The return of a function: the word is what it returns.
    Return,
    /// A tracepoint: the words are its arguments, if it has so many; else anything.
    Tracepoint,
}

unsafe extern "C" {
    fn blog_hook_start(
        kind: HookKind,
        symbol: *const c_char,
        offset: u32,
        words: u32,
        probe: *const c_void,
    ) -> *mut c_void;
    fn blog_hook_missed(hook: NonNull<c_void>) -> u64;
    fn blog_hook_stop(hook: NonNull<c_void>) -> u64;
}

/// A place that calls `blog_probe_hit` of `mod.rs`, until this is stopped or dropped.
///
/// # Invariants
///
/// `hook` is one of `blog_hook_start` that wasn't stopped, and `symbol` what it was given; or none.
pub(crate) struct Hook {
    hook: Option<NonNull<c_void>>,
    _symbol: CString,
}

// SAFETY: It belongs to no thread.
unsafe impl Send for Hook {}

impl Hook {
    /// Starts it, with so many words.
    ///
    /// # Safety
    ///
    /// `probe` is what `blog_probe_hit` may be called with until this is stopped.
    pub(crate) unsafe fn start(
        kind: HookKind,
        symbol: &str,
        offset: u32,
        words: usize,
        probe: *const c_void,
    ) -> Result<Self> {
        let symbol = CString::try_from_fmt(fmt!("{symbol}"))?;
        let words = words.min(WORDS) as u32;
        // SAFETY: The probe, by this function's requirement, and the symbol, whose memory stays
        // where it is when this moves, are there until it is stopped.
        let hook = unsafe { blog_hook_start(kind, symbol.as_char_ptr(), offset, words, probe) };
        // INVARIANT: Just so.
        Ok(Self {
            hook: NonNull::new(from_err_ptr(hook)?),
            _symbol: symbol,
        })
    }

    /// How often the place was reached, but could not call.
    pub(crate) fn missed(&self) -> u64 {
        // SAFETY: By the type invariants.
        self.hook
            .map_or(0, |hook| unsafe { blog_hook_missed(hook) })
    }

    /// Stops it; no call runs on return. Returns how often it has missed one.
    pub(crate) fn stop(&mut self) -> u64 {
        // INVARIANT: There is none from here on.
        // SAFETY: By the type invariants.
        self.hook
            .take()
            .map_or(0, |hook| unsafe { blog_hook_stop(hook) })
    }
}

impl Drop for Hook {
    fn drop(&mut self) {
        self.stop();
    }
}
