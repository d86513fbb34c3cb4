// SPDX-License-Identifier: GPL-2.0

// KUnit suite: last words. Pieces of rings are the newest records, each once; an event keeps to its
// limits, whatever there is to say.

use kernel::prelude::*;

#[kunit_tests(blog_words)]
mod suite {
    use super::super::{
        format::{
            Why,
            LINES,
            PACKED_ALL,
            PACKED_MAX, //
        },
        newest::{
            Copies,
            Newest,
            PAGES, //
        },
        Room,
        RINGS, //
    };
    use crate::{
        read::piece::Records,
        tasks,
        tests::rig::*, //
    };
    use kernel::{
        bindings::task_struct,
        blog::{
            ring::Mode,
            wire::{
                page::{
                    PageInfo,
                    PAGE_HEADER_SIZE, //
                },
                record::HEADER_SIZE, //
            }, //
        },
        prelude::*,
        str::CString,
        sync::rcu,
        time::{
            Instant,
            Monotonic, //
        }, //
    };

    fn me() -> *mut task_struct {
        tasks::current()
    }

    /// What `f` says of this task's ring of the component in `slot`, where an event finds it.
    fn with_ring<R>(slot: u16, f: impl FnOnce(&mut Newest) -> R) -> Result<Option<R>> {
        let mut room = Room::new()?;
        let _guard = rcu::read_lock();
        // SAFETY: This is the current task.
        unsafe { room.find(Why::Panic, me()) };
        let mut rings = room.rings.iter_mut();
        Ok(rings
            .find(|ring| ring.slot == slot.into() && ring.owner.1 == this())
            .map(f))
    }

    /// The numbers of a piece, in front of `all`. False: they are not what their places say, or not
    /// before those that are there.
    fn put(page: &[u8], len: usize, all: &mut [u64], left: &mut usize) -> bool {
        let Some(info) = PageInfo::read(page) else {
            return false;
        };
        let (mut records, mut count) = (Records::new(page, PAGE_HEADER_SIZE, len), 0);
        let start = left.saturating_sub(info.records() as usize);
        while let Some((at, header)) = records.next(page) {
            if header.site() == 0 {
                continue;
            }
            let number = u64_at(page, at + HEADER_SIZE).unwrap_or(u64::MAX);
            if number != info.first + count {
                return false;
            }
            if let Some(to) = all.get_mut(start + count as usize) {
                *to = number;
            }
            count += 1;
        }
        *left = start;
        records.at() == len && count == info.records().into()
    }

    #[test]
    fn pieces_are_the_newest_records() -> Result {
        for want in [1, 100, 1000, 1 << 20] {
            for count in [1, 2, PER_PAGE, 3 * PER_PAGE + 5, 20 * PER_PAGE] {
                let rig = Rig::new(c"blog_test_words", config(512, 256, Mode::Overwrite))?;
                (0..count).for_each(|n| assert!(rig.log(n)));
                let mut all = KVVec::from_elem(u64::MAX, count as usize, GFP_KERNEL)?;
                let mut copies = Copies::new()?;
                let mut left = count as usize;
                let done = with_ring(rig.state()?.slot(), |ring| {
                    let mut good = true;
                    while ring.known > 0 {
                        let Some((len, start, _)) = ring.piece(&mut copies, want) else {
                            ring.back();
                            continue;
                        };
                        good &= put(&copies.page, len, &mut all, &mut left);
                        ring.took(start);
                    }
                    good
                })?;
                assert_eq!(done, Some(true));
                // All of them, or of very many those of some pages.
                let kept = (PAGES as u64 - 2) * PER_PAGE;
                assert!(count - left as u64 >= count.min(kept));
                let newest = all.iter().enumerate().skip(left);
                assert!(newest.clone().all(|(at, number)| *number == at as u64));
            }
        }
        Ok(())
    }

    #[test]
    fn a_long_way_is_not_gone() -> Result {
        let rig = Rig::new(c"blog_test_words", config(512, 256, Mode::Overwrite))?;
        (0..9 * PER_PAGE).for_each(|n| assert!(rig.log(n)));
        let slot = rig.state()?.slot();
        let ring = with_ring(slot, |ring| ring.ring)?.ok_or(ENOENT)?;
        let mut copies = Copies::new()?;
        for (steps, found) in [(5, false), (50, true)] {
            let (mut left, guard) = (steps, rcu::read_lock());
            let ring = Newest::new(slot.into(), ring, &mut copies, &mut left);
            drop(guard);
            assert_eq!(ring.is_some(), found);
            assert!(left < steps && (found || left == 0));
        }
        Ok(())
    }

    /// A ring that its writer goes on with gives whole pieces, or none.
    #[test]
    fn a_ring_that_goes_round_gives_nothing_wrong() -> Result {
        let rig = Rig::new(c"blog_test_words", config(64, 16, Mode::Overwrite))?;
        let (mut n, mut pieces) = (0, 0);
        let mut log = |count: u64| {
            for _ in 0..count {
                assert!(rig.log(n));
                n += 1;
            }
        };
        log(2 * PER_PAGE);
        let mut copies = Copies::new()?;
        let good = with_ring(rig.state()?.slot(), |ring| {
            let mut good = true;
            while ring.known > 0 {
                log(PER_PAGE / 4);
                match ring.piece(&mut copies, 300) {
                    Some((len, start, _)) => {
                        pieces += 1;
                        good &= put(&copies.page, len, &mut [], &mut 0);
                        ring.took(start);
                    }
                    None => ring.back(),
                }
            }
            good
        })?;
        assert_eq!(good, Some(true));
        assert!(pieces > 0);
        Ok(())
    }

    #[test]
    fn an_event_keeps_to_its_limits() -> Result {
        let mut rigs = KVec::new();
        let mut room = Room::new()?;
        for count in [1, 4, 20] {
            while rigs.len() < count {
                let name = CString::try_from_fmt(fmt!("blog_test_words{}", rigs.len()))?;
                let rig = Rig::new(&name, config(64, 16, Mode::Overwrite))?;
                // Numbers that no packer makes shorter
                (1..3 * PER_PAGE)
                    .for_each(|n| assert!(rig.log(n.wrapping_mul(0x9e37_79b9_7f4a_7c15))));
                rigs.push(rig, GFP_KERNEL)?;
            }
            let guard = rcu::read_lock();
            // SAFETY: This is the current task.
            let facts = unsafe {
                room.find(Why::Oops, me());
                tasks::facts(me()).task()
            };
            let rings = room.rings.len();
            let lists = crate::parts::dumps::lists();
            let began = Instant::<Monotonic>::now();
            let made = lists.map(|lists| room.make(&facts, lists));
            let ms = began.elapsed().as_millis();
            drop(guard);
            assert!(made.is_some());
            let lines = room.lines.count;
            pr_info!("# blog_words: {lines} lines of {rings} rings took {ms} ms\n");
            assert!(rings > 0 && rings <= RINGS);
            // There is more to say than there is room for, so that nearly all of it is used.
            let lens = || room.lines.packed().map(<[u8]>::len);
            assert!(lens().count() <= LINES);
            assert!(lens().all(|len| len > 0 && len <= PACKED_MAX));
            let sum = lens().sum::<usize>();
            assert!(sum > PACKED_ALL * 3 / 4 && sum <= PACKED_ALL);
        }
        Rig::drop_all(rigs)
    }

    #[test]
    fn a_task_that_hangs_is_another_one() -> Result {
        let rig = Rig::new(c"blog_test_words", config(64, 16, Mode::Overwrite))?;
        assert!(rig.log(1));
        let thread = Thread::start(&rig, 0..10)?;
        assert_eq!(thread.wait()?, 0);
        let mut room = Room::new()?;
        let guard = rcu::read_lock();
        // SAFETY: The thread is there until it is stopped.
        unsafe { room.find(Why::Hang, thread.task()) };
        drop(guard);
        let owners = || room.rings.iter().map(|ring| ring.owner.1);
        assert_eq!(owners().filter(|pid| *pid != -1).count(), 1);
        assert!(owners().any(|pid| pid == thread.pid()));
        Ok(())
    }
}
