// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Chooses which of many instants to leave out: the kernel has room for few, and `blog-decode`
//! keeps a bounded number of a long stream's.

use super::wire::file::ClockPair;

/// What a pair tells not better than to so many ns, in all clocks together.
const BLUR: u128 = 4000;

/// Place of the one, neither the first nor the last, that is missed the least where lines are drawn
/// through the others: that with its neighbours spans the smallest triangles (the algorithm of
/// Visvalingam and Whyatt), in proportion to the square of its age. So the ends of sleeps stay, and
/// the places where rates change; and the recent past is more exact than the distant one.
///
/// `at` is the instant at a place below `len`, in the order of `clock`.
pub fn least(len: usize, at: impl Fn(usize) -> ClockPair) -> usize {
    let last = len.saturating_sub(1);
    let missed = |n: usize| {
        let age = at(last).clock.wrapping_sub(at(n).clock);
        let area = area(&at(n - 1), &at(n), &at(n + 1));
        log2(area) - 2 * log2(age.into())
    };
    (1..last).min_by_key(|n| missed(*n)).unwrap_or(0)
}

/// How far the second of three instants is from a line between the others: twice the area of the
/// triangle between them, in all clocks together.
pub fn area(a: &ClockPair, b: &ClockPair, c: &ClockPair) -> u128 {
    let by = |to: u64, from: u64| i128::from(to.wrapping_sub(from) as i64);
    let (near, far) = (by(b.clock, a.clock), by(c.clock, a.clock));
    let clocks = [
        (a.mono, b.mono, c.mono),
        (a.boot, b.boot, c.boot),
        (a.real, b.real, c.real),
        (a.local, b.local, c.local),
    ];
    let areas = clocks.map(|(a, b, c)| {
        let (on, off) = (far.wrapping_mul(by(b, a)), near.wrapping_mul(by(c, a)));
        on.abs_diff(off)
    });
    let area = areas
        .iter()
        .fold(0u128, |sum, area| sum.saturating_add(*area));
    area.saturating_sub(far.unsigned_abs().wrapping_mul(BLUR))
}

/// The logarithm of `n` and 1, in 256ths, to about one of them.
fn log2(n: u128) -> i32 {
    let n = n.saturating_add(1);
    let whole = n.ilog2();
    let part = n << (127 - whole) << 1 >> 120;
    (whole << 8 | part as u32) as i32
}
