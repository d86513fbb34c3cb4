// SPDX-License-Identifier: GPL-2.0

// KUnit suite for the memory of a component and the worker that looks after it. Included by
// blog/main.rs. What the pool does by itself, host tests show (tests/host/src/pool_tests.rs).

/// Memory, in the kernel.
#[kunit_tests(blog_memory)]
mod memory_suite {
    use super::rig::{
        log_to,
        until,
        Read,
        Rig,
        Thread, //
    };
    use crate::{
        memory::{
            budget::{
                self,
                used_kb, //
            },
            pool::Store,
            Memory,
            Owned,
            SIZES, //
        },
        registry::reclaim,
        sys::{
            glue,
            kept, //
        },
        write::worker, //
    };
    use core::ptr;
    use kernel::{
        blog::{
            ring::{
                Mode,
                Owner,
                Tls, //
            },
            wire::record::{
                Context,
                Lost, //
            },
            Config, //
        },
        page::PAGE_SIZE,
        prelude::*, //
    };

    const fn config(size_kb: u32, ring_kb: u32) -> Config {
        Config::new()
            .size_kb(size_kb)
            .ring_kb(ring_kb)
            .mode(Mode::Overwrite)
    }

    /// KiB that the component takes.
    fn taken_kb(rig: &Rig) -> Result<u32> {
        let state = rig.state()?;
        let bytes = state.with(|inner| inner.memory().map(|(memory, _)| memory.bytes()));
        Ok(bytes.ok_or(EINVAL)?.div_ceil(1024) as u32)
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
            Some((0..owned.rings_end()).map(held).sum())
        });
        held.ok_or(EINVAL)
    }

    #[test]
    fn tasks_that_log_little_share_pages_and_more_than_there_are_rings_lose_nothing() -> Result {
        const TASKS: u64 = 100;
        const EACH: u64 = 10;
        // Tasks that find no ring free, at most: what they log fits into shared rings.
        const SHARING: u32 = 8;
        // About 180 rings with a chunk each; at first, rings for as many tasks as pages, or a few
        // more.
        let rig = Rig::new(c"blog_test_many", config(128, 64))?;
        let state = rig.state()?;
        let rings_free = || {
            state.with(|inner| {
                inner
                    .memory()
                    .map_or(0, |(memory, _)| memory.pool.rings_free(&memory.store))
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
        assert!(taken_kb(&rig)? <= 128);
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
        for kb in [128, 32, 64, 256, 48] {
            state.set_size_kb(kb)?;
            assert!(taken_kb(&rig)? <= kb);
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
        let others = used_kb() as u32 - taken_kb(&rig)?;
        let mut threads = KVec::new();
        for thread in 0..THREADS {
            let numbers = thread * EACH..(thread + 1) * EACH;
            threads.push(Thread::start(&rig, numbers)?, GFP_KERNEL)?;
        }
        for round in 0..4 {
            for kb in [64, 512, 96, 256] {
                state.set_size_kb(kb)?;
                assert!(taken_kb(&rig)? <= kb);
                state.set_ring_kb(kb / 2)?;
                let read = Read::new(Some(state.clone()), 4096)?;
                for ring in read.rings.iter().filter(|ring| ring.pid != -1) {
                    // Records of a task come in order; what is missing was overwritten.
                    assert!(ring.numbers.windows(2).all(|pair| pair[0] < pair[1]));
                }
                let limit = others + kb * 3 / 4;
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
        until(|| pages(&rig).is_ok_and(|pages| pages > 200))?;
        let most = pages(&rig)?;
        let used = used_kb();
        let limit = used as u32 - taken_kb(&rig)? / 2;
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
        assert!(fewer < most);
        until(|| pages(&rig).is_ok_and(|pages| pages >= most - 1))?;
        Ok(())
    }

    #[test]
    fn a_limit_that_cannot_be_reached_is_refused() -> Result {
        let rig = Rig::new(c"blog_test_least", config(64, 64))?;
        assert!(rig.log(1));
        assert_eq!(worker::blog_max_kb_setting(1), EBUSY.to_errno());
        worker::blog_max_kb_set();
        assert!(rig.log(2));
        let read = Read::new(Some(rig.state()?), 4096)?;
        assert_eq!(read.only_ring()?.numbers.last(), Some(&2));
        Ok(())
    }

    #[test]
    fn a_component_without_memory_counts_what_it_loses_until_it_gets_some() -> Result {
        assert_eq!(worker::blog_max_kb_setting(used_kb() as u32), 0);
        let rig = Rig::new(c"blog_test_none", config(64, 64));
        let lost = rig.as_ref().is_ok_and(|rig| !rig.log(1) && !rig.log(2));
        worker::blog_max_kb_set();
        assert!(lost);
        let (rig, mut n) = (rig?, 2);
        until(|| {
            n += 1;
            rig.log(n)
        })?;
        let read = Read::new(Some(rig.state()?), 4096)?;
        let component = read.components.first().ok_or(ENOENT)?;
        assert_eq!(component.lost[Lost::NoRing as usize], n - 1);
        assert_eq!(&*read.only_ring()?.numbers, &[n]);
        Ok(())
    }

    #[test]
    fn a_large_budget_is_filled_as_it_is_used() -> Result {
        // 32 MiB, of which half is there as pages from the start.
        let rig = Rig::new(c"blog_test_grow", config(32 << 10, 32 << 10))?;
        assert_eq!(pages(&rig)?, 4096);
        let mut n = 0;
        until(|| {
            for _ in 0..10_000 {
                rig.log(n);
                n += 1;
            }
            pages(&rig).is_ok_and(|pages| pages > 7500)
        })?;
        let state = rig.state()?;
        let grown = state.with(|inner| inner.memory().map(|(_, owned)| owned.grown()));
        assert!(grown.is_some_and(|pages| pages > 3400));
        assert!(taken_kb(&rig)? <= 32 << 10);
        Ok(())
    }

    /// What the kernel's allocator has given for a memory.
    fn allocated(memory: &Memory, owned: &Owned) -> usize {
        let mut sum = owned.pages() as usize * PAGE_SIZE;
        memory.for_each_allocation(owned, |address| sum += kept::size_of(address));
        sum
    }

    #[test]
    fn what_is_charged_is_what_was_allocated() -> Result {
        for kb in [16, 100, 1024] {
            let used = budget::used();
            let (memory, mut owned) = Memory::new(0, kb << 10)?;
            assert_eq!(memory.bytes(), allocated(&memory, &owned));
            for _ in 0..10 {
                memory.tend(&mut owned);
                assert_eq!(memory.bytes(), allocated(&memory, &owned));
                assert!(memory.bytes() <= kb << 10);
            }
            memory.raise(&mut owned, 2 * kb << 10)?;
            memory.tend(&mut owned);
            assert_eq!(memory.bytes(), allocated(&memory, &owned));
            assert!(memory.bytes() > kb << 9);
            drop(memory.lower(&mut owned, kb << 10)?);
            assert_eq!(memory.bytes(), allocated(&memory, &owned));
            assert!(memory.bytes() <= kb << 10);
            drop(owned);
            drop(memory);
            // Others, as tables of tasks, may come and go, but not so many of them.
            assert!(kb < 1024 || budget::used().abs_diff(used) < kb << 9);
        }
        Ok(())
    }

    #[test]
    fn the_smallest_instance_has_all_in_its_budget_with_256_cpus_too() -> Result {
        for cpus in [1, 8, 256, 4096] {
            let (memory, mut owned) = Memory::with_cpus(0, 16 << 10, cpus)?;
            let first = memory.bytes();
            let tables = memory.table_bytes(&owned);
            for _ in 0..10 {
                memory.tend(&mut owned);
            }
            pr_info!(
                "16 KiB, {cpus} CPUs: {tables} bytes of tables and {first} in all, later {} and {}\n",
                memory.table_bytes(&owned),
                memory.bytes()
            );
            assert!(memory.bytes() <= 16 << 10);
            assert!(owned.pages() >= 2);
            assert!(memory.pool.rings_free(&memory.store) >= 4);
        }
        Ok(())
    }

    #[test]
    fn ten_thousand_tasks_with_ten_records_each_are_readable_in_8_mib_all_in() -> Result {
        // In slow motion it is a fifth of both: one wait of minutes is a task that hangs.
        const PARTS: u32 = if cfg!(CONFIG_KASAN) { 5 } else { 1 };
        const TASKS: u32 = 10_000 / PARTS;
        // As many bytes as ten records of two numbers.
        const EACH: u64 = 12;
        // Of the task tables.
        const TABLES: u32 = TASKS * size_of::<Tls>() as u32;
        let kb = (8 << 10) / PARTS - TABLES.div_ceil(1024);
        let rig = Rig::new(c"blog_test_crowd", config(kb, 64))?;
        let state = rig.state()?;
        for task in 0..TASKS {
            let adopt = || {
                state.with(|inner| {
                    let (memory, _) = inner.memory()?;
                    let ring = memory
                        .store
                        .ring(memory.pool.take_ring(&memory.store, 0)?)?;
                    let owner = Owner::new(Context::Task, u32::MAX);
                    // SAFETY: It was just taken out of the free ones.
                    unsafe { ring.adopt(&owner) };
                    Some(ptr::from_ref(ring))
                })
            };
            let mut ring = None;
            until(|| {
                ring = adopt();
                if ring.is_none() {
                    // Tasks that log ask for rings in this way.
                    worker::wake();
                }
                ring.is_some()
            })?;
            for n in 0..EACH {
                // SAFETY: It is a ring of the component, and nobody else's.
                unsafe { log_to(rig.raw(), ring.ok_or(EINVAL)?, u64::from(task) * EACH + n) };
            }
        }
        assert!(taken_kb(&rig)? <= kb);
        pr_info!(
            "{TASKS} tasks: {} KiB of the component and {} of tables for tasks\n",
            taken_kb(&rig)?,
            TABLES / 1024
        );
        let read = Read::new(Some(state), 1 << 20)?;
        let records: usize = read.rings.iter().map(|ring| ring.numbers.len()).sum();
        assert_eq!(records as u64, u64::from(TASKS) * EACH);
        Ok(())
    }

    #[test]
    fn a_machine_that_is_short_of_memory_gets_pages_back() -> Result {
        let rig = Rig::new(c"blog_test_reclaim", config(1024, 1024))?;
        let mut n = 0;
        until(|| {
            for _ in 0..10_000 {
                rig.log(n);
                n += 1;
            }
            pages(&rig).is_ok_and(|pages| pages > 200)
        })?;
        let (used, before) = (budget::used(), pages(&rig)?);
        // As the machine uses all that it has: free pages go, and nothing that was logged.
        let kept = held(&rig)?;
        reclaim::give(100, false);
        assert!(held(&rig)? >= kept);
        // As it is short of memory.
        let given = reclaim::give(100, true);
        assert!(given > 0);
        assert!(pages(&rig)? < before);
        // They are freed without anybody waiting for it.
        glue::flush_reap();
        assert!(budget::used() < used);
        // What the task writes to has stayed.
        assert!(rig.log(n));
        let read = Read::new(Some(rig.state()?), 4096)?;
        let ring = read
            .rings
            .iter()
            .find(|ring| ring.pid != -1)
            .ok_or(EINVAL)?;
        assert_eq!(ring.numbers.last(), Some(&n));
        // The kernel asks in the same way: all that can be had, again and again.
        for _ in 0..100 {
            reclaim::give(usize::MAX >> 20, true);
        }
        assert!(rig.log(n + 1));
        // Later, it grows again.
        until(|| {
            for _ in 0..1000 {
                rig.log(n + 2);
            }
            pages(&rig).is_ok_and(|pages| pages > 200)
        })
    }

    #[test]
    fn pages_are_free_before_a_task_is_killed_for_want_of_memory() -> Result {
        let rig = Rig::new(c"blog_test_oom", config(1024, 1024))?;
        for n in 0..1000 {
            rig.log(n);
        }
        // Not only given up: it has waited until they are free.
        assert!(reclaim::out_of_memory() > 0);
        assert!(rig.log(1000));
        Ok(())
    }

    #[test]
    fn nobody_waits_for_a_component_in_reclaim() -> Result {
        let rig = Rig::new(c"blog_test_busy", config(64, 64))?;
        let state = rig.state()?;
        // With the component's lock held, as by somebody who allocates.
        state.with(|_| assert_eq!((state.spare_pages(true), state.give_pages(1, true)), (0, 0)));
        Ok(())
    }

    #[test]
    fn a_lower_budget_takes_the_rings_of_tasks_that_have_ended() -> Result {
        let rig = Rig::new(c"blog_test_rings", config(1024, 64))?;
        let state = rig.state()?;
        let mut threads = KVec::new();
        for n in 0..200 {
            let thread = Thread::start(&rig, n..n + 1)?;
            thread.wait()?;
            threads.push(thread, GFP_KERNEL)?;
        }
        let rings = || state.with(|inner| inner.memory().map_or(0, |(_, owned)| owned.rings()));
        let before = rings();
        drop(threads);
        // What stays of the tables of 1 MiB takes about 50 KiB.
        until(|| state.set_size_kb(96).is_ok())?;
        assert!(taken_kb(&rig)? <= 96);
        assert!(rings() < before);
        // And once more: what is gone doesn't come back. Until a task that has ended is freed, it
        // has its ring, whose page that may be.
        until(|| state.set_size_kb(95).is_ok())?;
        let free = || {
            state.with(|inner| {
                let (memory, _) = inner.memory()?;
                Some(memory.pool.rings_free(&memory.store))
            })
        };
        assert!(free().is_some_and(|free| free <= rings()));
        // Positions of a ring that comes again go on.
        assert!(rig.log(7));
        state.set_size_kb(1024)?;
        for n in 0..100 {
            let thread = Thread::start(&rig, n..n + 1)?;
            assert_eq!(thread.wait(), Ok(0));
        }
        Ok(())
    }

    #[test]
    fn the_tables_of_tasks_count_too() -> Result {
        let rig = Rig::new(c"blog_test_tables", config(64, 64))?;
        let task_tables = crate::write::tables::table_bytes();
        assert!(task_tables > 0);
        assert!(budget::used() >= task_tables + (taken_kb(&rig)? as usize - 1) * 1024);
        Ok(())
    }
}
