// SPDX-License-Identifier: GPL-2.0

// KUnit suite: more of what rings keep and lose, as in core_ring.rs: names, shared rings, what is
// cleared, sizes, and snapshots that are read while all that changes.

#[kunit_tests(blog_keep)]
mod suite {
    use super::rig::*;
    use crate::{
        clock,
        read::{
            sections::Form,
            walk::Walk, //
        },
        tasks,
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
                Owner, //
            },
            wire::{
                file::Kind,
                record::{
                    Context,
                    Lost,
                    TS_BITS, //
                }, //
            }, //
        },
        prelude::*, //
    };

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
