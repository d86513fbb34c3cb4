// SPDX-License-Identifier: GPL-2.0

// KUnit suite: a clock that breaks, as the machine sleeps or its counter can't be trusted any more;
// and the pairs of clocks.

use kernel::prelude::*;

#[kunit_tests(blog_counter)]
mod suite {
    use super::super::{
        blog_clock_note,
        blog_clock_sleeps,
        blog_counter_sleeps,
        choose,
        leave, //
    };
    use crate::{
        clock::{
            fast,
            jiffies,
            name,
            now,
            section,
            since,
            still,
            tick,
            versions, //
        },
        tests::rig::*, //
    };
    use kernel::{
        blog::{
            root::blog_root,
            wire::{
                dump::TICKS,
                file::ClockKind,
                record::{
                    Context,
                    TS_BITS, //
                }, //
            },
            Config, //
        },
        prelude::*,
        time::{
            delay::fsleep,
            Delta, //
        }, //
    };

    const SMALL: Config = Config::new().size_kb(64).ring_kb(16);
    /// By so much the clock goes on at a break, but for the time that passes.
    const TURN: u64 = 1 << TS_BITS;
    /// So many ticks are a jump: more than half a minute, of a clock of less than 10 GHz.
    const JUMP: i64 = (5 << TS_BITS) + 12345;

    /// Whether there is a clock that can break. If so, it is as good as new when that goes.
    fn breakable() -> Option<impl Drop> {
        struct Anew;

        impl Drop for Anew {
            fn drop(&mut self) {
                choose();
            }
        }

        (name() == "counter").then_some(Anew)
    }

    /// Times of the only ring of a task of a component, or of its only shared one.
    fn times(rig: &Rig, context: Context) -> Result<KVVec<u64>> {
        let mut rings = Read::new(Some(rig.state()?), 4096)?.rings;
        let at = rings
            .iter()
            .position(|ring| ring.context == context as u8 && !ring.times.is_empty());
        Ok(rings.remove(at.ok_or(ENOENT)?)?.times)
    }

    /// Checks that of these times `n` are up to `before`, and all others after the break that came
    /// then.
    fn check_break(times: &[u64], n: usize, before: u64) {
        assert!(times.is_sorted());
        assert_eq!(times.partition_point(|t| *t <= before), n);
        let late = before + TURN..=now();
        assert!(times.iter().skip(n).all(|t| late.contains(t)));
    }

    /// As if the counter had been elsewhere when the last pair was noted, by so many ticks.
    fn shift_last(by: i64) {
        // SAFETY: The place is there. Somebody else may add a pair just now, which is the last one
        // then.
        unsafe {
            blog_root.update(|root| {
                let last = ((*root).ticks_len as usize).wrapping_sub(1) % TICKS;
                let clock = &raw mut (*root).ticks[last].pair.clock;
                *clock = (*clock).wrapping_add_signed(by);
            })
        }
    }

    #[test]
    fn times_go_on_over_a_break() -> Result {
        let Some(_anew) = breakable() else {
            return Ok(());
        };
        let rig = Rig::new(c"blog_test_break", SMALL)?;
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
        let before = now();
        leave(None);
        assert_eq!((name(), fast()), ("mono", None));
        log(&rig);
        log(&rig);
        log(&quiet);
        check_break(&times(&rig, Context::Task)?, 5, before);
        check_break(&times(&quiet, Context::Task)?, 5, before);
        // For good: the second one changes nothing.
        let late = now();
        leave(None);
        assert!(now() - late < TURN);
        Ok(())
    }

    #[test]
    fn shared_rings_have_times_that_go_on_over_a_break() -> Result {
        let Some(_anew) = breakable() else {
            return Ok(());
        };
        let rig = Rig::new(c"blog_test_break2", SMALL)?;
        assert!(rig.log(0));
        let ring = kernel::blog::ring_of(rig.raw());
        // In the middle of a record, so that others go into a shared ring.
        // SAFETY: It is the ring of this task, which has just logged.
        let writing = unsafe { (*ring).begin(|| (*ring).slot()) };
        assert!(writing.is_some());
        let mut logged = true;
        for n in 1..4 {
            logged &= rig.log(n);
        }
        let before = now();
        leave(None);
        for n in 4..7 {
            logged &= rig.log(n);
        }
        drop(writing);
        assert!(logged);
        check_break(&times(&rig, Context::Shared)?, 3, before);
        Ok(())
    }

    #[test]
    fn a_sleep_breaks_the_clock_and_is_between_two_pairs() -> Result {
        let Some(_anew) = breakable() else {
            return Ok(());
        };
        let rig = Rig::new(c"blog_test_sleep", SMALL)?;
        assert!(rig.log(1));
        let before = now();
        // One after the other, in any order and number, as by /dev/snapshot.
        for _ in 0..3 {
            blog_clock_note();
        }
        assert_eq!(name(), "counter");
        blog_clock_sleeps(false);
        if !blog_counter_sleeps() {
            assert_eq!(name(), "counter");
            return Ok(());
        }
        assert_eq!(name(), "mono");
        blog_clock_sleeps(true);
        assert!(rig.log(2));
        blog_clock_note();
        check_break(&times(&rig, Context::Task)?, 1, before);
        let pairs = since(before)?;
        assert!(pairs.len() >= 6);
        assert!(pairs.is_sorted_by(|a, b| a.clock < b.clock && a.mono <= b.mono));
        let mut breaks = pairs.windows(2).filter(|w| w[1].clock - w[0].clock >= TURN);
        assert!(breaks.next().is_some_and(|w| w[0].mono == w[1].mono));
        assert!(breaks.next().is_none());
        assert_eq!(section(0).kind, ClockKind::Mixed as u32);
        assert_eq!(section(0).hz, 1_000_000_000);
        Ok(())
    }

    #[test]
    fn a_tsc_that_jumps_is_left() -> Result {
        for by in [JUMP, -JUMP] {
            let Some(_anew) = breakable() else {
                return Ok(());
            };
            let rig = Rig::new(c"blog_test_jump", SMALL)?;
            assert!(rig.log(1));
            let before = now();
            // A hundredth of a second is no jump.
            shift_last((section(0).hz / 100) as i64);
            tick();
            let counter = fast().ok_or(EINVAL)?;
            assert_eq!(still(counter), counter);
            // Where the counter is too low, it has jumped back.
            blog_clock_note();
            shift_last(by);
            fsleep(Delta::from_millis(50));
            // Perhaps the worker has been here.
            tick();
            assert_eq!((name(), fast()), ("mono", None));
            let (told, due) = (still(counter), before.wrapping_add_signed(by));
            assert!(told >= before + TURN && told >= due);
            assert!(rig.log(2));
            let times = times(&rig, Context::Task)?;
            assert!(times.is_sorted() && times.len() == 2);
            // The pair that was put back is before others.
            let sorted = since(0)?.is_sorted_by(|a, b| a.clock < b.clock);
            assert!(sorted || by < 0);
        }
        Ok(())
    }

    #[test]
    fn the_worker_finds_a_jump() -> Result {
        let Some(_anew) = breakable() else {
            return Ok(());
        };
        let rig = Rig::new(c"blog_test_worker", SMALL)?;
        assert!(rig.log(1));
        blog_clock_note();
        shift_last(JUMP);
        until(|| name() == "mono")?;
        assert!(rig.log(2));
        assert!(times(&rig, Context::Task)?.is_sorted());
        Ok(())
    }

    #[test]
    fn the_worker_notes_the_clocks() -> Result {
        // SAFETY: The root is there; a pair that is half stored has no clock.
        let root = || unsafe { blog_root.get().read_volatile() };
        let last = || root().ticks().last().copied();
        let before = last().ok_or(ENOENT)?.pair;
        let rig = Rig::new(c"blog_test_ticks", SMALL)?;
        until(|| last().is_some_and(|tick| tick.pair.mono > before.mono))?;
        let last = last().ok_or(ENOENT)?;
        assert!(last.pair.clock > before.clock && last.jiffies <= jiffies());
        drop(rig);
        Ok(())
    }

    #[test]
    fn pairs_cover_the_whole_life() -> Result {
        let first = since(0)?.first().map(|pair| pair.clock);
        for _ in 0..3 * TICKS {
            blog_clock_note();
        }
        let (all, now) = (since(0)?, now());
        assert!(all.len() <= TICKS + 1);
        assert_eq!(all.first().map(|pair| pair.clock), first);
        assert!(all.is_sorted_by(|a, b| a.clock < b.clock && a.mono <= b.mono));
        assert!(all.iter().all(|pair| pair.boot >= pair.mono));
        // The first pairs are of a time when the kernel's local clock may not have begun to run.
        assert!(all.is_sorted_by(|a, b| a.local <= b.local));
        assert!(all
            .last()
            .is_some_and(|pair| pair.local != 0 && pair.clock <= now));
        // A reader that has them gets newer ones only.
        let told = all.last().map_or(0, |pair| pair.clock);
        let (before, new) = (versions(), since(told)?);
        assert!(new.iter().all(|pair| pair.clock > told));
        blog_clock_note();
        assert!(versions().0 != before.0);
        Ok(())
    }
}
