// SPDX-License-Identifier: GPL-2.0

// KUnit suite: what rings keep and lose, and how a snapshot shows it. Each case has a component of
// its own and logs to it from its own task; the strict parser of core_rig.rs checks every snapshot
// (checksums, order, time, counts) on the way.

#[kunit_tests(blog_ring)]
mod suite {
    use super::rig::*;
    use crate::{
        memory::Memory,
        registry::state::State,
        tests::pages::balance, //
    };
    use kernel::{
        blog::{
            ring::Mode,
            wire::record::{
                Context,
                Lost, //
            }, //
        },
        prelude::*, //
    };

    #[test]
    fn what_was_logged_is_in_the_snapshot() -> Result {
        let rig = Rig::new(c"blog_test_read", config(64, 64, Mode::Overwrite))?;
        for n in 0..10 {
            assert!(rig.log(n));
        }
        // In steps of one byte, and all at once.
        for step in [1, 7, 4096, 1 << 20] {
            let read = Read::new(Some(rig.state()?), step)?;
            assert_eq!(read.components.len(), 1);
            assert!(read.components[0].attached);
            let ring = read.only_ring()?;
            assert_eq!(ring.context, Context::Task as u8);
            assert_eq!(ring.pid, this());
            assert_eq!(ring.records, 10);
            assert_eq!(ring.account.first, Some(0));
            assert_eq!(ring.numbers.len(), 10);
            assert!(ring.counts_from(0));
            assert!(ring.lost.iter().all(|n| *n == 0));
        }
        Ok(())
    }

    #[test]
    fn the_snapshot_of_all_has_all_components() -> Result {
        let one = Rig::new(c"blog_test_one", config(64, 64, Mode::Overwrite))?;
        let two = Rig::new(c"blog_test_two", config(64, 64, Mode::Overwrite))?;
        assert!(one.log(1) && two.log(2) && two.log(3));
        let read = Read::new(None, 4096)?;
        for name in [c"blog_test_one", c"blog_test_two"] {
            let mut names = read.components.iter().map(|c| &*c.name);
            assert!(names.any(|n| n == name.to_bytes()));
        }
        Ok(())
    }

    #[test]
    fn losses_are_told_by_the_next_record() -> Result {
        let rig = Rig::new(c"blog_test_told", config(256, 16, Mode::Discard))?;
        let state = rig.state()?;
        let (mut kept, mut lost) = (0, 0);
        for n in 0..PER_PAGE * 6 {
            match rig.log(n) {
                true => kept += 1,
                false => lost += 1,
            }
        }
        // Its own page, and four more: the oldest, and nothing is reported yet.
        assert_eq!(kept, PER_ROOM + PER_PAGE * 4);
        let read = Read::new(Some(state.clone()), 4096)?;
        let ring = read.only_ring()?;
        assert_eq!((ring.numbers.len() as u64, ring.records), (kept, kept));
        assert!(ring.counts_from(0));
        assert_eq!(
            (ring.lost(Lost::Full), ring.told[Lost::Full as usize]),
            (lost, 0)
        );
        // Room for one page more.
        state.set(Key::RingKb, 20)?;
        assert!(rig.log(1_000_000));
        let read = Read::new(Some(state), 4096)?;
        let ring = read.only_ring()?;
        assert_eq!(ring.lost(Lost::Full), lost);
        assert_eq!(ring.told, ring.lost);
        assert_eq!(ring.account.told, ring.lost);
        assert_eq!(ring.numbers.last(), Some(&1_000_000));
        Ok(())
    }

    #[test]
    fn clear_of_a_component_that_is_off_frees_its_memory() -> Result {
        let rig = Rig::new(c"blog_test_free", config(64, 64, Mode::Overwrite))?;
        let state = rig.state()?;
        assert!(rig.log(1));
        state.set(Key::Enable, 0)?;
        assert!(state.update(|locked| locked.memory().is_some()));
        state.clear();
        assert!(state.update(|locked| locked.memory().is_none()));
        assert_eq!(Read::new(Some(state.clone()), 4096)?.rings.len(), 0);
        state.set(Key::Enable, 1)?;
        assert!(rig.log(2));
        let read = Read::new(Some(state), 4096)?;
        assert_eq!(&*read.only_ring()?.numbers, &[2]);
        assert_eq!(read.only_ring()?.account.first, Some(0));
        Ok(())
    }

    #[test]
    fn a_task_that_ends_leaves_its_ring() -> Result {
        let rig = Rig::new(c"blog_test_end", config(64, 64, Mode::Overwrite))?;
        let state = rig.state()?;
        let thread = Thread::start(&rig, 0..5)?;
        assert_eq!(thread.wait(), Ok(0));
        let pid = thread.pid();
        let read = Read::new(Some(state.clone()), 4096)?;
        let ring = read.only_ring()?;
        assert_eq!((ring.pid, ring.retired, ring.exit_clock), (pid, 0, 0));
        drop(thread);

        until(|| retired(&state) == 1)?;
        let read = Read::new(Some(state), 4096)?;
        let ring = read.only_ring()?;
        assert_eq!((ring.pid, ring.retired), (pid, 1));
        assert!(ring.exit_clock != 0);
        assert!(ring.comm.starts_with(b"blog_test\0"));
        assert_eq!(ring.records, 5);
        assert!(ring.counts_from(0));
        Ok(())
    }

    #[test]
    fn nothing_is_lost_silently_while_tasks_log_and_snapshots_are_read() -> Result {
        const EACH: u64 = PER_PAGE * 40;
        const ROUNDS: u64 = 5;
        let rig = Rig::new(c"blog_test_busy", config(64, 16, Mode::Overwrite))?;
        let state = rig.state()?;
        let mut lost = 0;
        for round in 0..ROUNDS {
            let mut threads = KVec::new();
            for n in round * 4..round * 4 + 4 {
                threads.push(Thread::start(&rig, n * EACH..(n + 1) * EACH)?, GFP_KERNEL)?;
            }
            for _ in 0..20 {
                // Whatever is in it, it is well-formed.
                assert!(Read::new(Some(state.clone()), 777).is_ok());
            }
            for thread in &threads {
                lost += thread.wait()?;
            }
            drop(threads);
            until(|| live(&state) == 0)?;
        }
        let read = Read::new(Some(state), 4096)?;
        let component = read.components.first().ok_or(EINVAL)?;
        let mut records = component.gone;
        let mut counted = component.lost.iter().sum::<u64>();
        for ring in &read.rings {
            records += ring.records;
            counted += ring.lost.iter().sum::<u64>();
            assert!(ring.adds_up().is_ok());
        }
        assert_eq!(counted, lost);
        assert!(balance(ROUNDS * 4 * EACH, records, lost).is_ok());
        Ok(())
    }

    fn retired(state: &State) -> u32 {
        let ended = |memory: &Memory| {
            let pool = &memory.pool;
            pool.sum(|lists| lists.retired.len() + lists.ended.len())
        };
        state.update(|locked| locked.memory().map_or(0, ended))
    }
}
