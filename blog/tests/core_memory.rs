// SPDX-License-Identifier: GPL-2.0

// KUnit suite for the memory of a component. Included by blog/main.rs. Host tests cover the pool
// alone.

/// Memory, in the kernel.
#[kunit_tests(blog_memory)]
mod memory_suite {
    use super::rig::{
        log,
        log_to,
        state_of,
        until,
        Key,
        Read,
        Rig,
        Thread,
        SITE, //
    };
    use crate::{
        life,
        memory::{
            block::{
                Block,
                Chain, //
            },
            budget::{
                self,
                used_kb, //
            },
            pool::{
                Store,
                WARN_RINGS, //
            },
            Memory,
            Owned,
            Stock, //
        },
        sys::quiesce,
        tasks,
        write::slow::blog_reserve, //
    };
    use core::{
        iter,
        ptr, //
    };
    use kernel::{
        blog::{
            ring::{
                Mode,
                Owner,
                Reservation, //
            },
            wire::record::{
                Context,
                Lost,
                LEN_BITS, //
            },
            Component,
            Config,
            Instance, //
        },
        page::PAGE_SIZE,
        prelude::*,
        time::{
            delay::fsleep,
            Delta, //
        }, //
    };

    const fn config(size_kb: u32, ring_kb: u32) -> Config {
        Config::new()
            .size_kb(size_kb)
            .ring_kb(ring_kb)
            .mode(Mode::Overwrite)
    }

    /// Sets the limit for all, as a write of the parameter does; 0: the default.
    fn set_max_kb(kb: u32) -> c_int {
        extern "C" {
            fn blog_set_max_kb(kb: u32) -> c_int;
        }
        // SAFETY: Nobody else sets it.
        unsafe { blog_set_max_kb(kb) }
    }

    /// Waits until what other tests had is free.
    fn settle() -> Result {
        until(|| {
            let used = budget::used();
            fsleep(Delta::from_millis(100));
            life::free_gone();
            used == budget::used()
        })
    }

    /// KiB that the component takes.
    fn taken_kb(rig: &Rig) -> Result<u32> {
        let state = rig.state()?;
        let bytes = state.update(|locked| locked.memory().map(|memory| memory.bytes()));
        Ok((bytes.ok_or(EINVAL)? / 1024) as u32)
    }

    /// Sum of what its rings hold, in bytes.
    fn held(rig: &Rig) -> Result<u32> {
        let state = rig.state()?;
        let held = state.update(|locked| {
            let memory = locked.memory()?;
            let held = |id| memory.pool.store.ring(id).map_or(0, |ring| ring.pages());
            Some((0..memory.pool.store.rings()).map(held).sum())
        });
        held.map(|pages: u32| pages * PAGE_SIZE as u32)
            .ok_or(EINVAL)
    }

    #[test]
    fn tasks_that_log_little_need_no_page_and_each_has_its_ring() -> Result {
        const TASKS: u64 = 100;
        const EACH: u64 = 10;
        // Room for about 150 rings; at first, there are a few.
        let rig = Rig::new(c"blog_test_many", config(128, 64))?;
        let state = rig.state()?;
        let (before, taken) = (held(&rig)?, taken_kb(&rig)?);
        let mut threads = KVec::new();
        for task in 0..TASKS {
            let thread = Thread::start(&rig, task * EACH..(task + 1) * EACH)?;
            assert_eq!(thread.wait(), Ok(0));
            threads.push(thread, GFP_KERNEL)?;
        }
        // All is as large as before.
        assert_eq!((taken, taken_kb(&rig)?), (128, 128));
        let read = Read::new(Some(state.clone()), 4096)?;
        let of_tasks = || read.rings.iter().filter(|ring| ring.pid != -1);
        for ring in of_tasks() {
            assert_eq!((ring.records, ring.numbers.len() as u64), (EACH, EACH));
            assert!(ring.lost.iter().all(|n| *n == 0));
        }
        assert_eq!(of_tasks().count() as u64, TASKS);
        assert_eq!(held(&rig)?, before);
        // None has logged to a shared ring.
        assert!((read.rings.iter()).all(|ring| ring.pid != -1 || ring.records == 0));
        Ok(())
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
            state.set(Key::SizeKb, kb)?;
            assert!(taken_kb(&rig)? <= kb);
            assert!(held(&rig)? <= kb * 1024);
            assert!(more(20_000));
            assert!(held(&rig)? <= kb * 1024);
        }
        let read = Read::new(Some(state), 4096)?;
        let ring = read.only_ring()?;
        assert_eq!(ring.numbers.last().copied(), Some(20_000 * 6 - 1));
        assert!(ring.counts_from(ring.account.first.unwrap_or(u64::MAX)));
        Ok(())
    }

    /// Warnings of [`warn`] have such numbers.
    const WARNING: u64 = 1 << 32;

    /// Logs a warning as a driver's call does.
    fn warn(rig: &Rig, n: u64) -> bool {
        let site = SITE << LEN_BITS;
        // SAFETY: What `blog_reserve` returns is as `put` demands, and 16 bytes are a header and a
        // number.
        unsafe {
            blog_reserve(rig.raw(), None, 16, Reservation::WARNS).put(16, site, |to| {
                to.cast::<u64>().write_unaligned(WARNING + n);
            })
        }
    }

    /// Logs what fills a ring 100 times.
    fn chatter(rig: &Rig) -> bool {
        (0..100 * 128 * 1024 / 16).all(|n| rig.log(n))
    }

    /// The warnings that there are, sorted.
    fn warnings(rig: &Rig) -> Result<KVVec<u64>> {
        let read = Read::new(Some(rig.state()?), 4096)?;
        let mut all = KVVec::new();
        for n in read.rings.iter().flat_map(|ring| ring.numbers.iter()) {
            if let Some(n) = n.checked_sub(WARNING) {
                all.push(n, GFP_KERNEL)?;
            }
        }
        all.sort_unstable();
        Ok(all)
    }

    #[test]
    fn chatter_leaves_warnings_their_share() -> Result {
        // More than a page holds.
        const WARNINGS: u64 = 300;
        let rig = Rig::new(c"blog_test_warn", config(128, 128))?;
        let state = rig.state()?;
        assert!(warn(&rig, 0) && chatter(&rig));
        // Now the ring of this task has all there is, and gives up what is theirs.
        assert!((1..WARNINGS).all(|n| warn(&rig, n)) && chatter(&rig));
        assert!(warnings(&rig)?.iter().copied().eq(0..WARNINGS));
        // They take no more than that.
        assert!((0..20_000).all(|n| warn(&rig, n)));
        let held = |id| {
            let held = |memory: &Memory| memory.pool.store.ring(id).map(|ring| ring.pages());
            state.read_memory(held)?
        };
        let share = taken_kb(&rig)? * 1024 / 8;
        let held: u32 = (0..WARN_RINGS).filter_map(held).sum();
        assert!(held * PAGE_SIZE as u32 <= share);
        // Without a share, they are like others.
        state.clear();
        state.set(Key::WarnShare, 0)?;
        assert!((0..WARNINGS).all(|n| warn(&rig, n)));
        assert_eq!(warnings(&rig)?.len() as u64, WARNINGS);
        assert!(chatter(&rig));
        assert!(warnings(&rig)?.is_empty());
        assert_eq!(state.set(Key::WarnShare, 1025), Err(EINVAL));
        Ok(())
    }

    #[test]
    fn budgets_hold_at_every_instant_while_tasks_log_and_readers_read() -> Result {
        const THREADS: u64 = 4;
        // More than they get to.
        const EACH: u64 = 1 << 40;
        let rig = Rig::new(c"blog_test_load", config(256, 128))?;
        let state = rig.state()?;
        let others = used_kb() - taken_kb(&rig)?;
        let mut threads = KVec::new();
        for thread in 0..THREADS {
            let numbers = thread * EACH..(thread + 1) * EACH;
            threads.push(Thread::start(&rig, numbers)?, GFP_KERNEL)?;
        }
        for round in 0..4 {
            for kb in [64, 512, 96, 256] {
                state.set(Key::SizeKb, kb)?;
                assert!(taken_kb(&rig)? <= kb);
                state.set(Key::RingKb, kb / 2)?;
                let read = Read::new(Some(state.clone()), 4096)?;
                for ring in read.rings.iter().filter(|ring| ring.pid != -1) {
                    // Records of a task come in order; what is missing was overwritten.
                    assert!(ring.numbers.windows(2).all(|pair| pair[0] < pair[1]));
                }
                let limit = others + kb * 3 / 4;
                if round == 3 && set_max_kb(limit) == 0 {
                    assert!(used_kb() <= limit);
                }
                set_max_kb(0);
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
    fn what_instances_have_left_gives_way_to_a_new_component_and_the_first_goes_first() -> Result {
        settle()?;
        let config = config(512, 64);
        let names = [c"blog_test_end1", c"blog_test_end2", c"blog_test_end3"];
        for name in names {
            let instance = Instance::new::<true>(name, config);
            assert!(log(instance.raw(), 1));
        }
        // Those of other tests go before these.
        while life::give_way() && names.iter().all(|name| state_of(name).is_ok()) {}
        settle()?;
        // The first one went. There is room for half of another one.
        assert!(state_of(names[0]).is_err() && state_of(names[1]).is_ok());
        let limit = used_kb() + 256;
        assert_eq!(set_max_kb(limit), 0);
        let rig = Rig::new(c"blog_test_new", config);
        set_max_kb(0);
        assert_eq!(taken_kb(&rig?)?, 512);
        assert!(state_of(names[1]).is_err());
        let last = state_of(names[2])?;
        assert_eq!(
            &*Read::new(Some(last.clone()), 4096)?.only_ring()?.numbers,
            &[1]
        );
        life::take_out(&last);
        Ok(())
    }

    #[test]
    fn the_limit_for_all_goes_down_and_what_went_comes_back_when_it_is_asked_for() -> Result {
        settle()?;
        let rig = Rig::new(c"blog_test_max", config(1024, 1024))?;
        for n in 0..100_000 {
            assert!(rig.log(n));
        }
        let limit = used_kb() - taken_kb(&rig)? / 2;
        assert_eq!(set_max_kb(limit), 0);
        let (used, taken) = (used_kb(), taken_kb(&rig)?);
        // It goes on with what there is.
        let logged = (100_000..200_000).all(|n| rig.log(n));
        let after = used_kb();
        // No more can be had.
        let more = rig.state()?.set(Key::SizeKb, 1024);
        set_max_kb(0);
        assert!(logged && used <= limit && after == used && taken < 1024);
        assert_eq!(more, Err(ENOSPC));
        assert_eq!(taken_kb(&rig)?, taken);
        rig.state()?.set(Key::SizeKb, 1024)?;
        assert_eq!(taken_kb(&rig)?, 1024);
        Ok(())
    }

    #[test]
    fn a_limit_that_cannot_be_reached_is_refused() -> Result {
        let rig = Rig::new(c"blog_test_least", config(64, 64))?;
        assert!(rig.log(1));
        assert_eq!(set_max_kb(1), EBUSY.to_errno());
        set_max_kb(0);
        assert!(rig.log(2));
        let read = Read::new(Some(rig.state()?), 4096)?;
        assert_eq!(read.only_ring()?.numbers.last(), Some(&2));
        Ok(())
    }

    #[test]
    fn a_component_without_memory_counts_what_it_loses_until_it_is_switched_on() -> Result {
        settle()?;
        assert_eq!(set_max_kb(used_kb()), 0);
        let rig = Rig::new(c"blog_test_none", config(64, 64));
        let lost = rig.as_ref().is_ok_and(|rig| !rig.log(1) && !rig.log(2));
        set_max_kb(0);
        assert!(lost);
        let rig = rig?;
        // It gets none in the background.
        assert!(!rig.log(3));
        rig.state()?.set(Key::Enable, 1)?;
        assert!(rig.log(4));
        let read = Read::new(Some(rig.state()?), 4096)?;
        let component = read.components.first().ok_or(ENOENT)?;
        assert_eq!(component.lost[Lost::NoRing as usize], 3);
        assert_eq!(&*read.only_ring()?.numbers, &[4]);
        Ok(())
    }

    #[test]
    fn a_component_starts_with_what_there_is_and_gets_the_rest_when_it_is_sized() -> Result {
        settle()?;
        assert_eq!(set_max_kb(used_kb() + 64), 0);
        let rig = Rig::new(c"blog_test_less", config(1024, 64));
        let logs = rig
            .as_ref()
            .is_ok_and(|rig| (0..10_000).all(|n| rig.log(n)));
        set_max_kb(0);
        assert!(logs);
        let rig = rig?;
        assert_eq!(taken_kb(&rig)?, 64);
        let state = rig.state()?;
        let missing = || state.read(|locked| state.missing_kb(locked));
        assert_eq!(missing(), 1024 - 64);
        state.set(Key::SizeKb, 1024)?;
        assert_eq!((missing(), taken_kb(&rig)?), (0, 1024));
        assert!((0..100_000).all(|n| rig.log(n)));
        Ok(())
    }

    #[test]
    fn a_budget_is_there_from_the_start_to_the_last_page() -> Result {
        for kb in [16, 20, 100, 1024, 32 << 10] {
            let rig = Rig::new(c"blog_test_all", config(kb, kb))?;
            assert_eq!(taken_kb(&rig)?, kb);
        }
        Ok(())
    }

    /// Sets the budget of a memory, and has what goes freed.
    fn resize(memory: &mut Owned, pages: u32) -> Result {
        let (stock, mut gone) = (Stock::new(memory.need(pages))?, Chain::new());
        memory.begin_resize(pages, &mut gone)?;
        quiesce::quiesce();
        memory.end_resize(stock)
    }

    #[test]
    fn what_is_counted_is_what_was_taken() -> Result {
        settle()?;
        for pages in [4, 25, 256] {
            let before = budget::used();
            let taken = |memory: &Owned| {
                let used = (budget::used() - before) as usize;
                assert_eq!(memory.bytes(), used * PAGE_SIZE);
                used as u32
            };
            let mut memory = Owned::new(0, pages, 4)?;
            assert_eq!(taken(&memory), pages);
            for pages in [2 * pages, 2 * pages + 1, 40 * pages, 4000, 3 * pages] {
                resize(&mut memory, pages.max(600))?;
                assert_eq!(taken(&memory), pages.max(600));
            }
            drop(memory);
            assert_eq!(budget::used(), before);
        }
        Ok(())
    }

    #[test]
    fn the_smallest_instance_has_all_in_its_budget_with_4096_cpus_too() -> Result {
        for cpus in [1, 8, 85, 256, 4096] {
            let memory = Owned::new(0, 4, cpus)?;
            assert_eq!(memory.bytes(), 16 << 10);
            assert_eq!(memory.pool.store.data_pages(), 2);
            assert!(memory.pool.sum(|lists| lists.rings.len()) >= 4);
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
        // Pages of tables of tasks, which the component gives.
        const TABLES: usize = TASKS.div_ceil(21) as usize;
        let kb = (8 << 10) / PARTS;
        let rig = Rig::new(c"blog_test_crowd", config(kb, 64))?;
        let state = rig.state()?;
        let mut lent = KVVec::with_capacity(TABLES, GFP_KERNEL)?;
        state.read_memory(|memory| {
            for _ in 0..TABLES {
                memory.lend(0, true, |page| lent.push_within_capacity(page).is_ok());
            }
        });
        assert_eq!(lent.len(), TABLES);
        for task in 0..TASKS {
            let ring = state.update(|locked| {
                let memory = locked.memory()?;
                let ring = memory.pool.take_ring(0, true)?;
                // SAFETY: It is the current task.
                let me = unsafe { tasks::facts(tasks::current()) };
                let owner = Owner {
                    pid: me.pid,
                    tgid: me.tgid,
                    comm: me.comm(),
                    ..Owner::new(Context::Task, u32::MAX)
                };
                // SAFETY: It was just taken out of the free ones.
                unsafe { ring.adopt(&owner) };
                Some(ptr::from_ref(ring))
            });
            for n in 0..EACH {
                // SAFETY: It is a ring of the component, and nobody else's.
                unsafe { log_to(rig.raw(), ring.ok_or(EINVAL)?, u64::from(task) * EACH + n) };
            }
        }
        let tables = (lent.len() * PAGE_SIZE / 1024) as u32;
        assert!(taken_kb(&rig)? + tables <= kb);
        pr_info!(
            "{TASKS} tasks: {} KiB of the component and {tables} of tables for tasks\n",
            taken_kb(&rig)?
        );
        let read = Read::new(Some(state), 1 << 20)?;
        let records: usize = read.rings.iter().map(|ring| ring.numbers.len()).sum();
        assert_eq!(records as u64, u64::from(TASKS) * EACH);
        // No writer that found one of them as a page still runs.
        quiesce::quiesce();
        let mut pages = Chain::new();
        for page in lent.iter().copied() {
            // SAFETY: It was given away, and nobody has it.
            unsafe { pages.push(page) };
        }
        Ok(())
    }

    #[test]
    fn rings_stay_in_a_lower_budget_and_one_that_is_too_low_for_them_is_refused() -> Result {
        let rig = Rig::new(c"blog_test_rings", config(1024, 64))?;
        let state = rig.state()?;
        let mut threads = KVec::new();
        for n in 0..200 {
            let thread = Thread::start(&rig, n..n + 1)?;
            thread.wait()?;
            threads.push(thread, GFP_KERNEL)?;
        }
        drop(threads);
        let rings = || {
            state.update(|locked| {
                locked
                    .memory()
                    .map_or(0, |memory| memory.pool.store.rings())
            })
        };
        let before = rings();
        assert!(before >= 200);
        assert_eq!(state.set(Key::SizeKb, 16), Err(EBUSY));
        assert_eq!(taken_kb(&rig)?, 1024);
        // Until a task that has ended is freed, it has its ring, and what that writes to.
        until(|| state.set(Key::SizeKb, 160).is_ok())?;
        assert_eq!((taken_kb(&rig)?, rings()), (160, before));
        for n in 0..100 {
            let thread = Thread::start(&rig, n..n + 1)?;
            assert_eq!(thread.wait(), Ok(0));
        }
        // All that goes with its memory.
        state.set(Key::Enable, 0)?;
        state.clear();
        state.set(Key::SizeKb, 16)?;
        state.set(Key::Enable, 1)?;
        assert!(rig.log(1));
        assert_eq!(taken_kb(&rig)?, 16);
        Ok(())
    }

    #[test]
    fn a_component_gives_a_quarter_of_its_pages_for_tables_of_tasks_and_no_more() -> Result {
        let memory = Owned::new(0, 256, 4)?;
        let pages = (memory.bytes() / PAGE_SIZE) as u32;
        let before = memory.pool.store.data_pages();
        // A page that is declined comes back.
        memory.lend(0, true, |_| false);
        assert_eq!(memory.pool.store.data_pages(), before);
        let lend = || {
            let mut page = ptr::null_mut();
            memory.lend(0, true, |lent| {
                page = lent;
                true
            });
            (!page.is_null()).then_some(page)
        };
        let mut lent = KVec::new();
        for page in iter::from_fn(lend) {
            lent.push(page, GFP_KERNEL)?;
        }
        assert!(lent.len() <= 64 && lent.len() >= 60);
        assert_eq!(memory.pool.store.data_pages(), before - lent.len() as u32);
        assert_eq!(memory.bytes() / PAGE_SIZE, pages as usize - lent.len());
        drop(memory);
        let mut pages = Chain::new();
        for page in lent.iter().copied() {
            // SAFETY: It was given away, and is still there.
            unsafe { pages.push(page) };
        }
        drop(pages);
        // The smallest one gives none.
        let memory = Owned::new(0, 4, 4)?;
        let mut given = false;
        memory.lend(0, true, |_| {
            given = true;
            false
        });
        assert!(!given);
        Ok(())
    }

    #[test]
    fn the_tables_of_tasks_count_too() -> Result {
        let rig = Rig::new(c"blog_test_tables", config(64, 64))?;
        let tables = crate::write::tables::pages() as usize * PAGE_SIZE;
        assert!(tables > 0);
        assert!(used_kb() >= (tables / 1024) as u32 + taken_kb(&rig)?);
        Ok(())
    }

    #[test]
    fn many_pages_are_next_to_each_other_and_zero() -> Result {
        // Of components before.
        life::free_gone();
        for pages in [1, 2, 100] {
            let used = budget::used();
            let block = Block::new(pages)?;
            assert_eq!((block.pages(), budget::used()), (pages, used + pages));
            // SAFETY: There are so many bytes.
            let bytes =
                unsafe { core::slice::from_raw_parts(block.at(), pages as usize * PAGE_SIZE) };
            assert!(bytes.iter().all(|byte| *byte == 0));
            drop(block);
            assert_eq!(budget::used(), used);
        }
        Ok(())
    }
}
