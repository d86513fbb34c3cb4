// SPDX-License-Identifier: GPL-2.0

//! Clocks that the kernel crate can't read: the Rust side of `tsc.c`.

unsafe extern "C" {
    fn blog_tsc_quality(khz: *mut u32) -> u32;

    /// Reads it. Any context.
    #[link_name = "blog_tsc"]
    pub(super) safe fn read() -> u64;

    /// Whether the kernel has found out that it can't be trusted. Any context.
    #[link_name = "blog_tsc_unstable"]
    pub(super) safe fn is_unstable() -> bool;

    /// Whether it stops, or starts again, when the machine sleeps in RAM. Any context.
    #[link_name = "blog_tsc_sleeps"]
    pub(super) safe fn sleeps() -> bool;

    /// The clock of the kernel's log. Any context.
    #[link_name = "blog_local_clock"]
    pub(super) safe fn local() -> u64;
}

/// Quality: there is one, but nobody vouches for it.
pub(super) const USABLE: u32 = 1;
/// Quality: constant, nonstop and not known to be unstable.
pub(super) const GOOD: u32 = 2;

/// What the TSC is worth, and its rate in kHz; 0 where that isn't known. Process context.
pub(super) fn quality() -> (u32, u32) {
    let mut khz = 0;
    // SAFETY: `khz` is valid for a write.
    let quality = unsafe { blog_tsc_quality(&mut khz) };
    (quality, khz)
}
