// SPDX-License-Identifier: GPL-2.0

//! What `tsc.c` offers: clocks that the kernel crate can't read.

use kernel::{
    blog::wire::dump::CLOCK_TSC,
    time::{
        delay::fsleep,
        Delta, //
    }, //
};

use super::pair;

unsafe extern "C" {
    fn blog_tsc_quality(khz: *mut u32) -> u32;
    safe fn blog_tsc() -> u64;
    safe fn blog_tsc_unstable() -> bool;
    safe fn blog_tsc_sleeps() -> bool;
    safe fn blog_local_clock() -> u64;
}

/// Quality: there is one, but nobody vouches for it.
pub(super) const USABLE: u32 = 1;
/// Quality: constant, nonstop and not known to be unstable.
pub(super) const GOOD: u32 = 2;

/// How long the rate is measured of one that the kernel doesn't know.
const MEASURED: Delta = Delta::from_millis(20);

/// What the TSC is worth, and its rate in kHz, which is measured where the kernel doesn't know it.
/// Process context.
pub(super) fn quality() -> (u32, u32) {
    let mut khz = 0;
    // SAFETY: `khz` is valid for a write.
    let quality = unsafe { blog_tsc_quality(&mut khz) };
    if quality >= USABLE && khz == 0 && cfg!(CONFIG_UML) {
        khz = measured_khz();
    }
    match khz {
        0 => (quality.min(USABLE), 0),
        khz => (quality, khz),
    }
}

fn measured_khz() -> u32 {
    let from = pair(CLOCK_TSC);
    fsleep(MEASURED);
    let to = pair(CLOCK_TSC);
    let ticks = to.clock.wrapping_sub(from.clock);
    let ns = to.mono.saturating_sub(from.mono);
    (ticks.saturating_mul(1_000_000) / ns.max(1)) as u32
}

/// Reads it. Any context.
#[inline]
pub(super) fn read() -> u64 {
    blog_tsc()
}

/// Whether the kernel has found out that it can't be trusted. Any context.
pub(super) fn is_unstable() -> bool {
    blog_tsc_unstable()
}

/// Whether it stops, or starts again, when the machine sleeps in RAM. Any context.
pub(super) fn sleeps() -> bool {
    blog_tsc_sleeps()
}

/// The clock of the kernel's log. Any context.
pub(super) fn local() -> u64 {
    blog_local_clock()
}
