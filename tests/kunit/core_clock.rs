// SPDX-License-Identifier: GPL-2.0

// KUnit suite: a clock that begins anew while the machine sleeps, and one that can't be trusted any
// more.

#[kunit_tests(blog_clock)]
mod suite {
    use super::rig::*;
    use crate::{
        sys::{
            clock::*,
            glue, //
        }, //
    };
    use kernel::{
        blog::{
            root::blog_root,
            wire::{
                dump::BREAKS,
                file::ClockKind,
                record::Context, //
            },
            Config, //
        },
        prelude::*, //
    };

    const SMALL: Config = Config::new().size_kb(64).ring_kb(16);
    /// So many ticks the clock loses in a sleep: more than half a minute, of a clock of less than
    /// 10 GHz.
    const BACK: u64 = (5 << 36) + 12345;

    /// Whether log calls read the clock themselves, as far as they ever do.
    fn settled() -> bool {
        glue::clock_is_tsc() == (name() == "tsc")
    }

    /// Is told to sleep, and awakes with a clock that has lost [`BACK`] ticks. What comes next of
    /// the machine's way back is [`awake`].
    fn sleep() {
        blog_sleep_begins();
        // As if the clock had been so far: that is how far it falls behind.
        let at = (breaks() % BREAKS as u64) as usize;
        // SAFETY: Nobody else notes breaks, as the machine doesn't sleep.
        unsafe { blog_root.update(|root| (*root).breaks[at].pair.clock += BACK) };
        blog_sleep_leaves();
        // SAFETY: As above.
        unsafe { blog_root.update(|root| (*root).breaks[at].pair.clock -= BACK) };
    }

    /// Ends a [`sleep`].
    fn awake() -> Result {
        blog_sleep_ends();
        glue::settle();
        until(settled)
    }

    /// Times of the only ring of a task of a component, or of its only shared one.
    fn times(rig: &Rig, context: Context) -> Result<KVVec<u64>> {
        let read = Read::new(Some(rig.state()?), 4096)?;
        let mut rings = read.rings.into_iter();
        let ring = rings.find(|ring| ring.context == context as u8 && !ring.times.is_empty());
        Ok(ring.ok_or(ENOENT)?.times)
    }

    /// Checks that of these times `n` are up to `before`, and all others behind the break that came
    /// then.
    fn check_break(times: &[u64], n: usize, before: u64) {
        assert!(times.is_sorted());
        assert_eq!(times.partition_point(|t| *t <= before), n);
        let late = before + BACK..=now();
        assert!(times.iter().skip(n).all(|t| late.contains(t)));
    }

    #[test]
    fn times_go_on_behind_a_clock_that_begins_anew() -> Result {
        let rig = Rig::new(c"blog_test_anew", SMALL)?;
        // Its ring is not told before log calls read the clock themselves again.
        let quiet = Rig::new(c"blog_test_quiet", SMALL)?;
        let mut n = 0;
        let mut log = |rig: &Rig| {
            for _ in 0..5 {
                n += 1;
                assert!(rig.log(n));
            }
        };
        log(&rig);
        log(&quiet);
        for round in 0..3 {
            let before = now();
            sleep();
            log(&rig);
            awake()?;
            log(&rig);
            log(&quiet);
            let behind = 5 + 10 * round;
            check_break(&times(&rig, Context::Task)?, behind, before);
            check_break(&times(&quiet, Context::Task)?, 5 + 5 * round, before);
        }
        Ok(())
    }

    #[test]
    fn shared_rings_follow_a_clock_that_begins_anew() -> Result {
        let rig = Rig::new(c"blog_test_anew2", SMALL)?;
        assert!(rig.log(0));
        let ring = kernel::blog::ring_of(rig.raw());
        // In the middle of a record, so that others go into a shared ring.
        // SAFETY: It is the ring of this task, which has just logged.
        assert!(unsafe { (*ring).begin() });
        let mut logged = true;
        for n in 1..4 {
            logged &= rig.log(n);
        }
        let before = now();
        sleep();
        for n in 4..7 {
            logged &= rig.log(n);
        }
        let awake = awake();
        logged &= rig.log(7);
        // SAFETY: As above; and the ring is busy since.
        unsafe { (*ring).end() };
        awake?;
        assert!(logged);
        let times = times(&rig, Context::Shared)?;
        assert_eq!(times.len(), 7);
        check_break(&times, 3, before);
        Ok(())
    }

    #[test]
    fn a_snapshot_tells_of_breaks() -> Result {
        let told = pairs()?.len();
        let before = now();
        sleep();
        let all = pairs()?;
        awake()?;
        // The oldest ones give way.
        assert_eq!(all.len(), (told + 2).min(BREAKS));
        assert!(all.is_sorted_by_key(|pair| pair.clock));
        let of_epoch = all.iter().rev().take(2);
        assert!(of_epoch.fold(true, |all, pair| all && pair.clock > before + BACK));
        Ok(())
    }

    #[test]
    fn a_clock_that_is_not_trusted_any_more_is_left() -> Result {
        if name() != "tsc" {
            // There is none to leave.
            return Ok(());
        }
        let rig = Rig::new(c"blog_test_leave", SMALL)?;
        let log = |n: u64| (5 * n..5 * n + 5).for_each(|n| assert!(rig.log(n)));
        log(0);
        let before = now();
        choose(false);
        log(1);
        until(|| name() == "mono")?;
        let (between, mono) = (now(), section(0));
        // Two clocks agree within less than this.
        until(|| now() > between + 5_000_000)?;
        log(2);
        choose(true);
        log(3);
        until(|| name() == "tsc" && settled())?;
        log(4);
        assert_eq!(
            (mono.kind, mono.hz),
            (ClockKind::Mixed as u32, 1_000_000_000)
        );
        assert_eq!(section(0).kind, ClockKind::Mixed as u32);
        let times = times(&rig, Context::Task)?;
        assert_eq!(times.len(), 25);
        assert!(times.is_sorted());
        assert!(times.partition_point(|t| *t <= before) == 5);
        assert!(times.partition_point(|t| *t <= between) == 10);
        Ok(())
    }
}
