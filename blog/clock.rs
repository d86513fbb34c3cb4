// SPDX-License-Identifier: GPL-2.0

//! The clock of all rings: which one it is, and how its values become times.
//!
//! Chosen once, when BLog starts and before anything can log: the raw TSC where it runs at one
//! rate, never stops and is the same on all CPUs, else `ktime_get_mono_fast_ns()`; the parameter
//! `blog.clock` overrides that. Reading it is safe in any context. A ring's writer that reads the
//! second one clamps it to the ring's last value, because it may step back a little.
//!
//! The kernel never converts ring time. Each snapshot has two calibration pairs, one from the
//! start and one from when it was taken; the decoder draws a line through them.

use kernel::{
    blog::snapshot::{
        self,
        ClockKind,
        ClockPair, //
    },
    fmt,
    prelude::*,
    sync::SetOnce, //
};

use crate::glue;

/// TSC quality: there is one, but nobody vouches for it.
const TSC_USABLE: u32 = 1;
/// TSC quality: constant, nonstop and not known to be unstable.
const TSC_GOOD: u32 = 2;

/// All clocks when BLog started.
static START: SetOnce<ClockPair> = SetOnce::new();

/// Chooses the clock by the parameter `blog.clock`. Called once, before anything can log.
pub(crate) fn init() -> Result {
    let (quality, khz) = glue::tsc_quality();
    let tsc = match glue::param_clock().to_bytes() {
        b"auto" => quality >= TSC_GOOD,
        b"mono" => false,
        b"tsc" if quality >= TSC_USABLE && khz != 0 => {
            if quality < TSC_GOOD {
                pr_warn!("clock=tsc: this TSC may stop or differ between CPUs\n");
            }
            true
        }
        b"tsc" => {
            pr_err!("clock=tsc: there is no usable TSC\n");
            return Err(EINVAL);
        }
        _ => {
            pr_err!("clock must be auto, tsc or mono\n");
            return Err(EINVAL);
        }
    };
    glue::set_clock_is_tsc(tsc);
    START.populate(glue::clock_pair());
    Ok(())
}

/// Reads the clock. Any context.
pub(crate) fn now() -> u64 {
    glue::clock()
}

fn kind() -> ClockKind {
    if glue::clock_is_tsc() {
        ClockKind::Tsc
    } else {
        ClockKind::MonoFast
    }
}

/// The clock's name in files.
pub(crate) fn name() -> &'static str {
    match kind() {
        ClockKind::Tsc => "tsc",
        ClockKind::MonoFast => "mono",
    }
}

/// The clock as a snapshot names it.
pub(crate) fn section() -> snapshot::Clock {
    let hz = match kind() {
        ClockKind::Tsc => u64::from(glue::tsc_quality().1) * 1000,
        ClockKind::MonoFast => 1_000_000_000,
    };
    snapshot::Clock {
        kind: kind() as u32,
        pairs: 2,
        hz,
    }
}

/// All clocks now.
pub(crate) fn pair() -> ClockPair {
    glue::clock_pair()
}

/// All clocks when BLog started.
pub(crate) fn start() -> ClockPair {
    START.as_ref().copied().unwrap_or_default()
}

/// The calibration pairs: from the start, and from now.
pub(crate) fn pairs() -> [ClockPair; 2] {
    [start(), pair()]
}

/// The text of the file `clock`.
pub(crate) fn show(f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let section = section();
    let (quality, _) = glue::tsc_quality();
    writeln!(f, "clock {}", name())?;
    writeln!(f, "hz {}", section.hz)?;
    writeln!(
        f,
        "tsc {}",
        match quality {
            TSC_GOOD => "good",
            TSC_USABLE => "doubtful",
            _ => "none",
        }
    )?;
    for (when, pair) in ["start", "now"].into_iter().zip(pairs()) {
        writeln!(
            f,
            "{when} clock {} mono {} boot {} real {}",
            pair.clock, pair.mono, pair.boot, pair.real
        )?;
    }
    Ok(())
}
