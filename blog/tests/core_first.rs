// SPDX-License-Identifier: GPL-2.0

// KUnit suite: what rings keep and count, as their component sees them. Each case has a component
// of its own and logs to it from its own task.

#[kunit_tests(blog_first)]
mod suite {
    use super::rig::*;
    use crate::{
        read::{
            sections::Form,
            walk::Walk, //
        },
        registry::state::State,
        sys::glue, //
    };
    use kernel::{
        blog::{
            ring::{
                Info,
                Mode,
                RingState, //
            },
            wire::{
                file::{
                    Kind,
                    SectionHeader,
                    SECTION_MAGIC, //
                },
                record::{
                    Context,
                    Level,
                    Lost, //
                }, //
            }, //
        },
        prelude::*, //
    };

    /// The rings that have records or losses.
    fn rings(state: &State) -> Result<KVec<Info>> {
        let mut all = KVec::with_capacity(64, GFP_KERNEL)?;
        state.read(|locked| {
            for (_, info) in locked.rings() {
                if info.records != 0 || info.lost.iter().any(|n| *n != 0) {
                    all.push_within_capacity(info).map_err(|_| ENOSPC)?;
                }
            }
            Ok(all)
        })
    }

    /// The only one.
    fn only_ring(state: &State) -> Result<Info> {
        match &*rings(state)? {
            [info] => Ok(*info),
            _ => Err(EINVAL),
        }
    }

    fn sum(counts: &[u64]) -> u64 {
        counts.iter().sum()
    }

    #[test]
    fn a_task_has_a_ring_with_what_it_logs() -> Result {
        let one = Rig::new(c"blog_test_one", config(64, 64, Mode::Overwrite))?;
        let two = Rig::new(c"blog_test_two", config(64, 64, Mode::Overwrite))?;
        for n in 0..10 {
            assert!(one.log(n));
        }
        assert!(two.log(0));
        for (rig, records) in [(&one, 10), (&two, 1)] {
            let ring = only_ring(&*rig.state()?)?;
            assert_eq!(
                (ring.owner.context, ring.owner.pid),
                (Context::Task, this())
            );
            assert_eq!((ring.records, sum(&ring.lost)), (records, 0));
        }
        Ok(())
    }

    #[test]
    fn what_a_full_ring_does_not_take_is_counted() -> Result {
        let rig = Rig::new(c"blog_test_full", config(256, 16, Mode::Discard))?;
        let state = rig.state()?;
        let mut lost = 0;
        for n in 0..PER_PAGE * 6 {
            lost += u64::from(!rig.log(n));
        }
        // Its own page, and four more.
        let kept = PER_ROOM + PER_PAGE * 4;
        let ring = only_ring(&state)?;
        assert_eq!((ring.records, lost), (kept, PER_PAGE * 6 - kept));
        assert_eq!(ring.lost[Lost::Full as usize], lost);
        assert_eq!(sum(&ring.reported), 0);
        // Room for one page more: the next record reports them.
        state.set(Key::RingKb, 20)?;
        assert!(rig.log(0));
        let ring = only_ring(&state)?;
        assert_eq!((ring.lost, ring.records), (ring.reported, kept + 1));
        Ok(())
    }

    #[test]
    fn the_threshold_follows_level_and_enable() -> Result {
        let rig = Rig::new(c"blog_test_level", config(64, 64, Mode::Overwrite))?;
        let state = rig.state()?;
        let threshold = || rig.raw().threshold();
        assert_eq!(threshold(), Level::Info as u8 + 1);
        state.set(Key::Level, 0)?;
        assert_eq!(threshold(), 1);
        state.set(Key::Level, 5)?;
        assert_eq!(threshold(), 6);
        state.set(Key::Enable, 0)?;
        assert!(threshold() == 0 && !rig.log(0));
        state.set(Key::Enable, 1)?;
        assert!(threshold() == 6 && rig.log(0));
        state.set(Key::Enable, 0)?;
        assert_eq!(threshold(), 0);
        state.set(Key::Level, 1)?;
        assert_eq!(threshold(), 0);
        state.set(Key::Enable, 1)?;
        assert_eq!(threshold(), 2);
        Ok(())
    }

    #[test]
    fn a_task_leaves_its_ring_when_it_ends() -> Result {
        let rig = Rig::new(c"blog_test_end", config(64, 64, Mode::Overwrite))?;
        let state = rig.state()?;
        let thread = Thread::start(&rig, 0..5)?;
        assert_eq!(thread.wait(), Ok(0));
        let pid = thread.pid();
        assert_eq!(only_ring(&state)?.state, RingState::Live);
        drop(thread);
        until(|| live(&state) == 0)?;
        let ring = only_ring(&state)?;
        assert_eq!((ring.state, ring.owner.pid), (RingState::Retired, pid));
        assert!(ring.exit_clock != 0 && ring.owner.comm.starts_with(b"blog_test\0"));
        assert_eq!(ring.records, 5);
        Ok(())
    }

    #[test]
    fn what_many_tasks_log_is_taken_or_counted_as_lost() -> Result {
        const EACH: u64 = PER_PAGE * 40;
        let rig = Rig::new(c"blog_test_many", config(64, 16, Mode::Overwrite))?;
        let state = rig.state()?;
        let mut lost = 0;
        for _ in 0..5 {
            let mut threads = KVec::new();
            for _ in 0..4 {
                threads.push(Thread::start(&rig, 0..EACH)?, GFP_KERNEL)?;
            }
            for thread in &threads {
                lost += thread.wait()?;
            }
            drop(threads);
            until(|| live(&state) == 0)?;
        }
        let loose = state.read(|locked| state.loose(locked));
        let (mut records, mut counted) = (loose.records, sum(&loose.lost));
        for ring in &rings(&state)? {
            records += ring.records;
            counted += sum(&ring.lost);
        }
        assert_eq!((records + counted, counted), (5 * 4 * EACH, lost));
        Ok(())
    }

    #[test]
    fn the_sections_of_a_snapshot_follow_each_other() -> Result {
        let rig = Rig::new(c"blog_test_read", config(64, 64, Mode::Overwrite))?;
        assert!(rig.log(1));
        let mut walk = Walk::new(Form::Snapshot, Some(rig.state()?), true)?;
        // The header of the file is 32 bytes long.
        let (mut at, mut number, mut last, mut pages) = (32, 0, 0, 0);
        loop {
            let bytes = walk.peek()?;
            let len = bytes.len();
            while at < len {
                let rest = bytes.get(at..).unwrap_or_default();
                let header = SectionHeader::read(rest).ok_or(EINVAL)?;
                let end = SectionHeader::SIZE + header.len as usize;
                let payload = rest.get(SectionHeader::SIZE..end).ok_or(EINVAL)?;
                assert_eq!((header.magic, header.index), (SECTION_MAGIC, number));
                assert_eq!(header.crc, glue::crc32(0, &rest[..28]));
                assert_eq!(header.payload_crc, glue::crc32(0, payload));
                number += 1;
                last = header.kind;
                pages += u32::from(last == Kind::Page as u16);
                at += end.next_multiple_of(8);
            }
            if len == 0 {
                break;
            }
            at -= len;
            walk.consume(len);
        }
        assert_eq!((last, pages), (Kind::End as u16, 1));
        Ok(())
    }
}
