// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The order of boots, where a wall clock can't be right.
//!
//! A machine without a battery starts in 1970, and a broken clock may be in the far future. But the
//! files of a recording have numbers, which go up from boot to boot: they are better evidence than
//! a clock.

use std::{
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

/// What precedes the number in the name of a recording's file.
const PREFIX: &str = "blog.";
/// 2020-01-01, in ns since 1970: no kernel with BLog ran before.
const EARLIEST: i128 = 1_577_836_800 * 1_000_000_000;
/// Clocks may disagree by as much.
const DAY: i128 = 86_400 * 1_000_000_000;

/// The wall clock's idea of a boot: when it began and when its last file was taken, in ns since
/// 1970.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) start: i128,
    pub(crate) end: i128,
}

/// The directory and the number of a recording's file, as `record` names it, packed or not.
pub(crate) fn recorded(name: &str) -> Option<(PathBuf, u64)> {
    let path = Path::new(name);
    let rest = path.file_name()?.to_str()?.strip_prefix(PREFIX)?;
    let (number, _) = rest.split_once('.')?;
    Some((path.parent()?.to_owned(), number.parse().ok()?))
}

/// The present, in ns since 1970.
pub(crate) fn now() -> i128 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as i128)
}

/// Why a wall clock that has shown this time is wrong; `None`: it may be right.
pub(crate) fn implausible(at: i128, now: i128) -> Option<&'static str> {
    match () {
        () if at < EARLIEST => Some("before there was BLog"),
        () if at > now.saturating_add(DAY) => Some("in the future"),
        () => None,
    }
}

/// How far each of some boots, which followed each other, is to be put later (or earlier, if that
/// is negative) so that their times follow each other, too: 0 for those that fit.
///
/// Seen from the last one, a boot fits if it ends before the next one that fits has begun. The
/// others go right after the one before them; those at the start right before the first one that
/// fits.
pub(crate) fn shifts(boots: &[Times], now: i128) -> Vec<i128> {
    let mut fits = vec![false; boots.len()];
    let mut next = i128::MAX;
    for (boot, fits) in boots.iter().zip(&mut fits).rev() {
        *fits = boot.end <= next && implausible(boot.end, now).is_none();
        next = if *fits { boot.start } else { next };
    }
    let first = fits.iter().position(|fits| *fits).unwrap_or(0);
    let mut shifts = vec![0; boots.len()];
    for n in (0..first).rev() {
        let next = boots[n + 1].start + shifts[n + 1];
        shifts[n] = next - boots[n].end;
    }
    for n in first + 1..boots.len() {
        let before = boots[n - 1].end + shifts[n - 1];
        if !fits[n] || boots[n].start < before {
            shifts[n] = before - boots[n].start;
        }
    }
    shifts
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i128 = 1_000_000_000;
    const NOW: i128 = 1_800_000_000 * S;

    /// Boots that began so many seconds after a day of ours and lasted for a time.
    fn shifted(boots: &[(i128, i128)]) -> Vec<i128> {
        let times = |&(start, length)| {
            let start = 1_790_000_000 * S + start * S;
            let end = start + length * S;
            Times { start, end }
        };
        let times: Vec<_> = boots.iter().map(times).collect();
        let shifts = shifts(&times, NOW);
        let mut end = i128::MIN;
        for (time, shift) in times.iter().zip(&shifts) {
            assert!(time.start + shift >= end, "{boots:?}");
            end = time.end + shift;
        }
        shifts.into_iter().map(|shift| shift / S).collect()
    }

    #[test]
    fn only_boots_that_do_not_fit_are_put_elsewhere() {
        const OLD: i128 = -1_790_000_000;
        const FAR: i128 = 2_000_000_000;
        assert_eq!(shifted(&[]), []);
        assert_eq!(shifted(&[(OLD, 5)]), [0]);
        assert_eq!(shifted(&[(0, 10), (10, 10), (50, 10)]), [0, 0, 0]);
        // From an empty battery: after the one before.
        assert_eq!(shifted(&[(0, 10), (OLD, 5)]), [0, 10 - OLD]);
        assert_eq!(shifted(&[(0, 10), (OLD, 5), (20, 5)]), [0, 10 - OLD, 0]);
        // From the future.
        assert_eq!(shifted(&[(0, 10), (FAR, 5), (20, 5)]), [0, 10 - FAR, 0]);
        // Before all that fit.
        let start = shifted(&[(OLD, 5), (OLD, 5), (20, 5)]);
        assert_eq!(start, [10 - OLD, 15 - OLD, 0]);
        // All of them are wrong.
        assert_eq!(shifted(&[(OLD, 10), (OLD, 5), (OLD, 5)]), [0, 10, 15]);
        // One goes back, but not far. There is no room for it.
        assert_eq!(shifted(&[(0, 10), (5, 10), (30, 5)]), [-5, 0, 0]);
        assert_eq!(shifted(&[(0, 10), (FAR, 30), (20, 5)]), [0, 10 - FAR, 20]);
    }

    #[test]
    fn files_of_a_recording_have_a_place() {
        let at = |name| recorded(name).map(|(dir, n)| (dir.display().to_string(), n));
        assert_eq!(at("d/blog.000012.stream"), Some(("d".into(), 12)));
        assert_eq!(at("blog.000012.part"), Some((String::new(), 12)));
        let packed = Some(("/d".into(), 1_000_000));
        assert_eq!(at("/d/blog.1000000.snapshot.gz, part 2"), packed);
        for other in ["d/blog.stream", "d/blog.x.stream", "d/12.stream", "-", ""] {
            assert_eq!(at(other), None, "{other}");
        }
    }
}
