// SPDX-License-Identifier: GPL-2.0

// KUnit suite for the memory of a component and the worker that looks after it. Included by
// blog/main.rs. What the pool does by itself, host tests show (tests/host/src/pool_tests.rs).

/// Memory, in the kernel.
#[kunit_tests(blog_memory)]
mod memory_suite {
    use super::rig::{
        until,
        Read,
        Rig,
        Thread, //
    };
    use crate::{
        memory::{
            used_kb,
            SIZES, //
        },
        pool::Store,
        worker, //
    };
    use kernel::{
        blog::{
            ring::Mode,
            Config, //
        },
        prelude::*, //
    };

    const fn config(size_kb: u32, ring_kb: u32) -> Config {
        Config::new()
            .size_kb(size_kb)
            .ring_kb(ring_kb)
            .mode(Mode::Overwrite)
    }

    /// Pages of the component.
    fn pages(rig: &Rig) -> Result<u32> {
        let state = rig.state()?;
        let pages = state.with(|inner| inner.memory().map(|(_, owned)| owned.pages()));
        pages.ok_or(EINVAL)
    }

    /// Sum of what its rings hold, in bytes.
    fn held(rig: &Rig) -> Result<u32> {
        let state = rig.state()?;
        let held = state.with(|inner| {
            let (memory, owned) = inner.memory()?;
            let held = |id| memory.store.ring(id).map_or(0, |ring| ring.held());
            Some((0..owned.rings()).map(held).sum())
        });
        held.ok_or(EINVAL)
    }

    #[test]
    fn tasks_that_log_little_share_pages_and_more_than_there_are_rings_lose_nothing() -> Result {
        const TASKS: u64 = 100;
        const EACH: u64 = 10;
        // Tasks that find no ring free, at most: what they log fits into shared rings.
        const SHARING: u32 = 8;
        // 16 pages, 128 chunks; at first, rings for as many tasks as pages, or a few more.
        let rig = Rig::new(c"blog_test_many", config(64, 64))?;
        let state = rig.state()?;
        let rings_free = || {
            state.with(|inner| {
                inner
                    .memory()
                    .map_or(0, |(memory, _)| memory.pool.rings_free())
            })
        };
        let before = held(&rig)?;
        let mut threads = KVec::new();
        let mut sharing = 0;
        for task in 0..TASKS {
            // The worker adds rings, at the machine's pace; a few tasks don't wait for it.
            if rings_free() == 0 {
                sharing += 1;
                if sharing > SHARING {
                    until(|| rings_free() > 0)?;
                }
            }
            let thread = Thread::start(&rig, task * EACH..(task + 1) * EACH)?;
            assert_eq!(thread.wait(), Ok(0));
            threads.push(thread, GFP_KERNEL)?;
        }
        assert!(held(&rig)? <= 64 * 1024);
        let read = Read::new(Some(state.clone()), 4096)?;
        let mut seen = 0;
        for ring in &read.rings {
            assert_eq!(ring.records, ring.numbers.len() as u64);
            assert!(ring.lost.iter().all(|n| *n == 0));
            seen += ring.records;
        }
        assert_eq!(seen, TASKS * EACH);
        // Each ring has a chunk. How many the worker has added in time, the machine decides.
        let rings = read.rings.iter().filter(|ring| ring.pid != -1).count() as u32;
        assert!(rings >= 16);
        assert!(held(&rig)? >= before + rings * SIZES.chunk);
        // The worker has seen that rings were short.
        until(|| rings_free() > 0)
    }

    #[test]
    fn a_budget_goes_down_and_up_under_a_ring_that_holds_all_of_it() -> Result {
        let rig = Rig::new(c"blog_test_shrink", config(256, 256))?;
        let state = rig.state()?;
        let mut n = 0;
        let mut more = |count| {
            for _ in 0..count {
                if !rig.log(n) {
                    return false;
                }
                n += 1;
            }
            true
        };
        assert!(more(20_000));
        for kb in [128, 16, 64, 256, 32] {
            let used = used_kb();
            let before = pages(&rig)? as usize * 4;
            state.set_size_kb(kb)?;
            assert_eq!(pages(&rig)? as usize * 4, kb as usize);
            assert_eq!(used_kb() + before, used + kb as usize);
            assert!(held(&rig)? <= kb * 1024);
            assert!(more(20_000));
            assert!(held(&rig)? <= kb * 1024);
        }
        let read = Read::new(Some(state), 4096)?;
        let ring = read.only_ring()?;
        assert_eq!(ring.numbers.last().copied(), Some(20_000 * 6 - 1));
        assert!(ring.counts_from(ring.first.unwrap_or(u64::MAX)));
        Ok(())
    }

    #[test]
    fn budgets_hold_at_every_instant_while_tasks_log_and_readers_read() -> Result {
        const THREADS: u64 = 4;
        // More than they get to.
        const EACH: u64 = 1 << 40;
        let rig = Rig::new(c"blog_test_load", config(256, 128))?;
        let state = rig.state()?;
        let others = used_kb() - 256;
        let mut threads = KVec::new();
        for thread in 0..THREADS {
            let numbers = thread * EACH..(thread + 1) * EACH;
            threads.push(Thread::start(&rig, numbers)?, GFP_KERNEL)?;
        }
        for round in 0..4 {
            for kb in [64, 512, 96, 256] {
                let before = pages(&rig)? as usize * 4;
                state.set_size_kb(kb)?;
                let most = before.max(kb as usize);
                assert!(used_kb() <= others + most);
                assert!(pages(&rig)? <= kb / 4);
                state.set_ring_kb(kb / 2)?;
                let read = Read::new(Some(state.clone()), 4096)?;
                for ring in read.rings.iter().filter(|ring| ring.pid != -1) {
                    // Records of a task come in order; what is missing was overwritten.
                    assert!(ring.numbers.windows(2).all(|pair| pair[0] < pair[1]));
                }
                let limit = (others + kb as usize * 3 / 4) as u32;
                if round == 3 && worker::blog_max_kb_setting(limit) == 0 {
                    assert!(used_kb() <= limit as usize);
                }
                worker::blog_max_kb_set();
            }
        }
        // They have logged all the time.
        let records = || -> Result<u64> {
            let read = Read::new(Some(state.clone()), 4096)?;
            Ok(read.rings.iter().map(|ring| ring.records).sum())
        };
        let before = records()?;
        until(|| records().is_ok_and(|now| now > before + THREADS))?;
        drop(threads);
        Ok(())
    }

    #[test]
    fn the_limit_for_all_goes_down_and_the_worker_makes_up_for_it_later() -> Result {
        let rig = Rig::new(c"blog_test_max", config(1024, 1024))?;
        for n in 0..100_000 {
            assert!(rig.log(n));
        }
        let used = used_kb();
        let limit = used as u32 / 2;
        assert_eq!(worker::blog_max_kb_setting(limit), 0);
        let lowered = used_kb();
        let fewer = pages(&rig)?;
        // As if it had been set: it goes on with what there is.
        for n in 100_000..200_000 {
            assert!(rig.log(n));
        }
        assert!(used_kb() <= limit as usize);
        worker::blog_max_kb_set();
        assert!(lowered <= limit as usize);
        assert!(fewer < 256);
        until(|| pages(&rig) == Ok(256))?;
        Ok(())
    }

    #[test]
    fn a_limit_that_cannot_be_reached_is_refused() -> Result {
        let rig = Rig::new(c"blog_test_least", config(64, 64))?;
        assert!(rig.log(1));
        assert_eq!(worker::blog_max_kb_setting(0), EBUSY.to_errno());
        worker::blog_max_kb_set();
        assert!(rig.log(2));
        until(|| pages(&rig) == Ok(16))?;
        let read = Read::new(Some(rig.state()?), 4096)?;
        assert_eq!(read.only_ring()?.numbers.last(), Some(&2));
        Ok(())
    }

    #[test]
    fn a_large_budget_is_filled_as_it_is_used() -> Result {
        // 32 MiB, of which half is there from the start.
        let rig = Rig::new(c"blog_test_grow", config(32 << 10, 32 << 10))?;
        assert_eq!(pages(&rig)?, 4096);
        let mut n = 0;
        until(|| {
            for _ in 0..10_000 {
                rig.log(n);
                n += 1;
            }
            pages(&rig) == Ok(8192)
        })?;
        let state = rig.state()?;
        assert_eq!(
            state.with(|inner| inner.memory().map(|(_, owned)| owned.grown())),
            Some(4096)
        );
        Ok(())
    }
}
