// SPDX-License-Identifier: GPL-2.0

// KUnit suite: what rings keep and lose, and how a snapshot shows it. Each case has a component of
// its own and logs to it from its own task; the strict parser of core_rig.rs checks every snapshot
// (checksums, order, time, counts) on the way.

#[kunit_tests(blog_ring)]
mod suite {
    use super::rig::*;
    use crate::{
        clock,
        memory::Memory,
        read::{
            sections::Form,
            walk::Walk, //
        },
        registry::state::State,
        tasks,
        tests::pages::balance,
        write::tables::task_hook, //
    };
    use core::{
        ptr,
        sync::atomic::Ordering::Relaxed, //
    };
    use kernel::{
        blog::{
            ring::{
                Mode,
                Owner,
                ROOM, //
            },
            wire::{
                file::Kind,
                page::PAGE_HEADER_SIZE,
                record::{
                    Context,
                    Level,
                    Lost,
                    TS_BITS, //
                }, //
            }, //
        },
        prelude::*, //
    };

    /// Records of `Rig::log` in a ring's own page.
    const PER_ROOM: u64 = ((ROOM as usize - PAGE_HEADER_SIZE) / 16) as u64;

    unsafe extern "C" {
        fn blog_test_rename(new: &[u8; 16], old: &mut [u8; 16]);
    }

    /// Gives this task another name, as prctl() does; returns the one that it had.
    fn rename(name: [u8; 16]) -> [u8; 16] {
        let task = tasks::current();
        let mut old = [0; 16];
        // SAFETY: It is this task, whose name nobody else changes.
        unsafe {
            blog_test_rename(&name, &mut old);
            task_hook(task, false);
        }
        old
    }

    #[test]
    fn who_is_called_otherwise_says_so() -> Result {
        let rig = Rig::new(c"blog_test_named", config(64, 64, Mode::Overwrite))?;
        assert!(rig.log(0) && rig.log(1));
        let new = *b"blog_test_other\0";
        let (began, old) = (clock::now(), rename(new));
        // Up to the second page after that.
        let mut n = 1;
        while Read::new(Some(rig.state()?), 4096)?.only_ring()?.pages < 4 {
            // Fewer than a page holds.
            for _ in 0..32 {
                n += 1;
                assert!(rig.log(n));
            }
        }
        rename(old);
        assert!(rig.log(n + 1) && rig.log(n + 2));
        // A record after the time's upper bits have changed takes the slow path, too.
        let turns = ((clock::now() >> TS_BITS) - (began >> TS_BITS)) as usize;
        for form in [Form::Snapshot, Form::Stream] {
            let (mut file, mut read) = (KVVec::new(), Read::empty(form == Form::Stream));
            copy(
                &mut Walk::new(form, Some(rig.state()?), true)?,
                4096,
                &mut file,
            )?;
            read.go_on(&file)?;
            let ring = read.only_ring()?;
            assert_eq!((ring.comm, ring.numbers.len() as u64), (old, n + 3));
            // At once, at the start of each page, and when it has its old name again.
            let [(at, first), others @ .., (end, last)] = &*ring.names else {
                return Err(EINVAL);
            };
            assert_eq!((*at, *first, *end as u64, *last), (2, new, n + 1, old));
            assert!((3..=3 + turns).contains(&others.len()));
            assert!(others.iter().all(|(_, name)| *name == new));
        }
        Ok(())
    }

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

    /// Logs to the ring for NMIs on a CPU, which doesn't come meanwhile. False: it was lost.
    fn log_as_nmi(rig: &Rig, n: u64) -> Result<bool> {
        let state = rig.state()?;
        let ring = state.update(|locked| -> Result<_> {
            let memory = locked.memory().ok_or(EINVAL)?;
            let place = memory.percpu_ring(0, Context::Nmi).ok_or(EINVAL)?;
            let known = place.load(Relaxed);
            if known != kernel::blog::no_ring() {
                return Ok(known.cast_const());
            }
            let owner = Owner::new(Context::Nmi, 0);
            // That is the ring for NMIs, which don't come.
            let ring = memory.ring_for(&owner, 0, true, |ring| {
                place.store(ptr::from_ref(ring).cast_mut(), Relaxed);
                Ok(())
            });
            Ok(ptr::from_ref(ring.ok_or(EINVAL)?))
        })?;
        // SAFETY: The ring is one of this component, and no NMI logs here.
        Ok(unsafe { log_to(rig.raw(), ring, n) })
    }

    #[test]
    fn who_gets_no_memory_logs_to_a_shared_ring_and_then_counts() -> Result {
        // Four pages, all of which this task takes and keeps.
        let rig = Rig::new(c"blog_test_dry", config(16, 64, Mode::Discard))?;
        let mut kept = 0;
        while rig.log(kept) {
            kept += 1;
        }
        // Each ring has room of its own.
        for n in 0..PER_ROOM + 3 {
            assert_eq!(log_as_nmi(&rig, n)?, n < PER_ROOM);
        }
        let read = Read::new(Some(rig.state()?), 4096)?;
        let find = |context: Context| read.rings.iter().find(|r| r.context == context as u8);
        let task = find(Context::Task).ok_or(EINVAL)?;
        let shared = find(Context::Shared).ok_or(EINVAL)?;
        assert!(shared.records > 0);
        assert_eq!(task.records + shared.records, kept);
        assert!(task.counts_from(0) && shared.counts_from(task.records));
        let nmi = find(Context::Nmi).ok_or(EINVAL)?;
        assert_eq!(nmi.lost(Lost::NoPage), 3);
        assert_eq!((nmi.records, nmi.pages), (PER_ROOM, 1));
        Ok(())
    }

    #[test]
    fn the_threshold_follows_level_and_enable() -> Result {
        let rig = Rig::new(c"blog_test_level", config(64, 64, Mode::Overwrite))?;
        let state = rig.state()?;
        let threshold = || rig.raw().threshold();
        assert_eq!(threshold(), Level::Info as u8 + 1);
        state.set(Key::Level, 5)?;
        assert_eq!(threshold(), 6);
        state.set(Key::Level, 0)?;
        assert_eq!(threshold(), 1);
        state.set(Key::Enable, 0)?;
        assert_eq!(threshold(), 0);
        state.set(Key::Level, 1)?;
        assert_eq!(threshold(), 0);
        state.set(Key::Enable, 1)?;
        assert_eq!(threshold(), 2);
        Ok(())
    }

    #[test]
    fn clear_forgets_what_was_logged_before() -> Result {
        let rig = Rig::new(c"blog_test_clear", config(256, 16, Mode::Overwrite))?;
        let state = rig.state()?;
        let mut total = 0;
        // In the middle of the first page, later pages, and after the ring went round.
        for count in [10, PER_PAGE, PER_PAGE * 2 + 3, PER_PAGE * 9, 1, 0] {
            for n in 0..count {
                assert!(rig.log(n));
            }
            state.clear();
            let read = Read::new(Some(state.clone()), 4096)?;
            let ring = read.only_ring()?;
            assert_eq!((ring.pages, ring.numbers.len()), (1, 0));

            for n in 0..25 {
                assert!(rig.log(1000 + n));
            }
            let read = Read::new(Some(state.clone()), 4096)?;
            let ring = read.only_ring()?;
            // Counts go on.
            total += count + 25;
            assert_eq!(ring.records, total);
            assert_eq!(ring.account.next, total);
            assert_eq!(ring.numbers.len(), 25);
            assert!(ring.counts_from(1000));
        }
        Ok(())
    }

    #[test]
    fn clear_makes_a_full_ring_log_again() -> Result {
        let rig = Rig::new(c"blog_test_again", config(64, 16, Mode::Discard))?;
        let state = rig.state()?;
        let mut total = 0;
        for round in 0..3 {
            let mut lost = 0;
            for n in 0..PER_PAGE * 5 {
                lost += u64::from(!rig.log(n));
            }
            assert!(lost >= PER_PAGE - PER_ROOM);
            state.clear();
            assert!(rig.log(77 + round));
            let read = Read::new(Some(state.clone()), 4096)?;
            let ring = read.only_ring()?;
            assert_eq!(&*ring.numbers, &[77 + round]);
            // What was lost before counts where it is reported: in front of the first record.
            assert_eq!(ring.account.told[Lost::Full as usize], lost);
            total += lost;
            assert_eq!(ring.told[Lost::Full as usize], total);
        }
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
    fn budgets_are_checked_and_kept() -> Result {
        let rig = Rig::new(c"blog_test_size", config(64, 64, Mode::Overwrite))?;
        let state = rig.state()?;
        let fits = |kb: usize| {
            let bytes = state.update(|locked| locked.memory().map(|memory| memory.bytes()));
            bytes.is_some_and(|bytes| bytes <= kb * 1024)
        };
        assert!(fits(64));
        for bad in [0, 1, 15, (1 << 20) + 1, u32::MAX] {
            assert_eq!(state.set(Key::SizeKb, bad), Err(EINVAL));
        }
        for bad in [0, 7, (1 << 20) + 1, u32::MAX] {
            assert_eq!(state.set(Key::RingKb, bad), Err(EINVAL));
        }
        state.set(Key::SizeKb, 256)?;
        assert!(!fits(64) && fits(256));
        // Beyond the limit for all components.
        if crate::sys::params::max_kb() < 1 << 20 {
            assert_eq!(state.set(Key::SizeKb, 1 << 20), Err(ENOSPC));
        }
        assert_eq!(state.get(Key::SizeKb), 256);
        // Far, while a task has a ring.
        assert!(rig.log(0));
        state.set(Key::SizeKb, 2048)?;
        assert!(!fits(1024) && fits(2048));
        state.set(Key::SizeKb, 256)?;
        assert!(fits(256));
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

    /// Tasks that have a ring.
    fn live(state: &State) -> u32 {
        let mut from = 0;
        let slots = |slot| slot == u32::from(state.slot());
        let next = || crate::write::tables::next(&mut from, slots, |_| ());
        core::iter::from_fn(next).count() as u32
    }

    #[test]
    fn a_snapshot_that_is_being_read_survives_what_happens_to_the_component() -> Result {
        let rig = Rig::new(c"blog_test_open", config(64, 64, Mode::Overwrite))?;
        let state = rig.state()?;
        for n in 0..PER_PAGE * 3 {
            assert!(rig.log(n));
        }
        let mut walk = Walk::new(Form::Snapshot, Some(state.clone()), true)?;
        // Up to after the ring's section, which lists three pages.
        let mut file = KVVec::new();
        while take(&mut walk, &mut file)? != Some(Kind::Ring as u8) {}
        // All is freed, and the same ring writes other pages, at the same places.
        state.set(Key::Enable, 0)?;
        state.clear();
        state.set(Key::Enable, 1)?;
        for n in 0..PER_PAGE * 3 {
            assert!(rig.log(1_000_000 + n));
        }
        drop(rig);
        while take(&mut walk, &mut file)?.is_some() {}
        let read = Read::parse(&file)?;
        let ring = read.only_ring()?;
        assert_eq!(ring.records, PER_PAGE * 3);
        assert_eq!(ring.numbers.len(), 0);
        Ok(())
    }

    #[test]
    fn a_snapshot_follows_a_ring_that_went_round_meanwhile() -> Result {
        let rig = Rig::new(c"blog_test_round", config(64, 16, Mode::Overwrite))?;
        let mut walk = Walk::new(Form::Snapshot, Some(rig.state()?), true)?;
        let mut file = KVVec::new();
        assert!(rig.log(0));
        while take(&mut walk, &mut file)? != Some(Kind::Ring as u8) {}
        // None of the pages that were listed is there any more.
        for n in 1..PER_ROOM + PER_PAGE * 20 {
            assert!(rig.log(n));
        }
        while take(&mut walk, &mut file)?.is_some() {}
        let read = Read::parse(&file)?;
        let ring = read.only_ring()?;
        assert_eq!(ring.records, 1);
        assert_eq!(ring.numbers.len() as u64, PER_PAGE * 4);
        assert!(ring.counts_from(PER_ROOM + PER_PAGE * 16));
        Ok(())
    }

    #[test]
    fn a_snapshot_counts_rings_that_change_hands_while_it_is_read() -> Result {
        // Few pages, many tasks.
        let rig = Rig::new(c"blog_test_handed", config(64, 16, Mode::Overwrite))?;
        let state = rig.state()?;
        let mut written = 0;
        let mut tasks = |count: u64| -> Result {
            for _ in 0..count {
                let thread = Thread::start(&rig, 0..200)?;
                written += 200 - thread.wait()?;
            }
            until(|| live(&state) == 0)
        };
        let gone = || state.read(|locked| state.loose(locked).records);
        let mut until_gone = |records: u64| -> Result {
            for _ in 0..100 {
                if gone() >= records {
                    break;
                }
                tasks(10)?;
            }
            Ok(())
        };
        until_gone(20 * 200)?;
        let mut walk = Walk::new(Form::Snapshot, Some(state.clone()), true)?;
        let mut file = KVVec::new();
        while take(&mut walk, &mut file)? != Some(Kind::Ring as u8) {}
        // Others get their rings, that one included.
        until_gone(40 * 200)?;
        while take(&mut walk, &mut file)?.is_some() {}
        let read = Read::parse(&file)?;
        let gone = read.components.first().ok_or(EINVAL)?.gone;
        let sum = |rings: &mut dyn Iterator<Item = &ReadRing>| -> u64 {
            rings.map(|ring| ring.records).sum()
        };
        let there = sum(&mut read.rings.iter());
        assert!(gone >= 40 * 200 && there >= 200);
        // Rings that have come since it began are in the next one.
        let next = Read::new(Some(state), 4096)?;
        let listed = |new: &ReadRing| read.rings.iter().any(|ring| ring.ring == new.ring);
        let later = sum(&mut next.rings.iter().filter(|ring| !listed(ring)));
        assert_eq!(there + later + gone, written);
        Ok(())
    }

    /// Moves a section of a snapshot to `file`, and returns its kind; `None` at the end.
    fn take(walk: &mut Walk, file: &mut KVVec<u8>) -> Result<Option<u8>> {
        let bytes = walk.peek()?;
        let (n, kind) = (bytes.len(), bytes.get(4).copied());
        file.extend_from_slice(bytes, GFP_KERNEL)?;
        walk.consume(n);
        Ok(kind)
    }
}
