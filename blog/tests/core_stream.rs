// SPDX-License-Identifier: GPL-2.0

// KUnit suite: streams. A reader gets every record once, in order, or the number of those that it
// has missed, whatever happens to the rings meanwhile.

#[kunit_tests(blog_stream)]
mod suite {
    use super::rig::*;
    use crate::{
        read::{
            sections::Form,
            walk::Walk, //
        },
        registry::state::State, //
    };
    use core::mem::MaybeUninit;
    use kernel::{
        bindings,
        blog::{
            ring::Mode,
            wire::record::Lost, //
        },
        iov::IovIterDest,
        page::PAGE_SIZE,
        prelude::*,
        sync::Arc, //
    };

    /// What a stream has told.
    struct Tape {
        stream: Walk,
        file: KVVec<u8>,
        read: Read,
    }

    impl Tape {
        fn new(only: Option<Arc<State>>) -> Result<Self> {
            Ok(Self {
                stream: Walk::new(Form::Stream, only, true)?,
                file: KVVec::new(),
                read: Read::empty(true),
            })
        }

        /// Reads a pass in reads of `step` bytes; returns how many bytes it had.
        fn pass(&mut self, step: usize) -> Result<usize> {
            let before = self.file.len();
            copy(&mut self.stream, step, &mut self.file)?;
            self.read.go_on(&self.file)?;
            Ok(self.file.len() - before)
        }

        fn only_ring(&self) -> Result<&ReadRing> {
            self.read.only_ring()
        }

        /// Records, and records missed, of all rings; the latter with those of rings that are gone.
        fn sums(&self) -> (u64, u64) {
            let (rings, components) = (&self.read.rings, &self.read.components);
            let records = rings.iter().map(|r| r.numbers.len() as u64).sum();
            let missed: u64 = rings.iter().map(|r| r.lag()).sum();
            let lag = Lost::ReaderLag as usize;
            let gone: u64 = components.iter().map(|c| c.lost[lag]).sum();
            (records, missed + gone)
        }
    }

    #[test]
    fn every_record_comes_once_and_in_order() -> Result {
        for step in [1, 100, 1 << 20] {
            let rig = Rig::new(c"blog_test_once", config(256, 64, Mode::Overwrite))?;
            let mut tape = Tape::new(Some(rig.state()?))?;
            assert!(tape.pass(step)? > 0);
            assert_eq!(tape.read.rings.len(), 0);
            // From one record at a time to several pages.
            let mut n = 0;
            for some in [1, 1, 2, 3, 0, PER_PAGE - 7, 1, 1, PER_PAGE * 3, PER_PAGE, 5] {
                for _ in 0..some {
                    assert!(rig.log(n));
                    n += 1;
                }
                let read = tape.pass(step)?;
                // Nothing is not a byte.
                assert!((read == 0) == (some == 0));
                let ring = tape.only_ring()?;
                assert_eq!(ring.numbers.len() as u64, n);
                assert_eq!(ring.account.next, n);
                assert!(ring.counts_from(0));
            }
            assert_eq!(tape.pass(step)?, 0);
            let ring = tape.only_ring()?;
            assert_eq!(ring.sections, 1);
            assert!(ring.account.told.iter().all(|n| *n == 0));
        }
        Ok(())
    }

    #[test]
    fn a_read_that_is_stopped_goes_on() -> Result {
        let rig = Rig::new(c"blog_test_stop", config(256, 64, Mode::Overwrite))?;
        let mut tape = Tape::new(Some(rig.state()?))?;
        let total = PER_PAGE * 5 + 3;
        for n in 0..total {
            assert!(rig.log(n));
        }
        let mut room = KVVec::from_elem(0u8, 16 * PAGE_SIZE, GFP_KERNEL)?;
        let vec = bindings::kvec {
            iov_base: room.as_mut_ptr().cast(),
            iov_len: room.len(),
        };
        let mut read = |stop: bool| -> Result<usize> {
            // As large as a struct iov_iter, or larger
            let mut to = MaybeUninit::<[u64; 8]>::uninit();
            // SAFETY: `vec` leads to `room`, which stays, and which nobody else uses meanwhile.
            let done = unsafe {
                let to = to.as_mut_ptr().cast();
                bindings::iov_iter_kvec(to, bindings::ITER_DEST, &vec, 1, vec.iov_len);
                let to = IovIterDest::from_raw(to);
                tape.stream.read(to, || stop)?
            };
            tape.file.extend_from_slice(&room[..done], GFP_KERNEL)?;
            Ok(done)
        };
        let mut most = 0;
        for _ in 0..100 {
            most = most.max(read(true)?);
        }
        // A section each.
        assert!(most > PAGE_SIZE / 2 && most < PAGE_SIZE + PAGE_SIZE / 2);
        assert_eq!(read(false)?, 0);
        tape.read.go_on(&tape.file)?;
        assert_eq!(tape.only_ring()?.numbers.len() as u64, total);
        assert!(tape.only_ring()?.counts_from(0));
        Ok(())
    }

    #[test]
    fn a_stream_begins_with_what_there_is() -> Result {
        let rig = Rig::new(c"blog_test_hist", config(256, 16, Mode::Overwrite))?;
        let total = PER_PAGE * 9 + 3;
        for n in 0..total {
            assert!(rig.log(n));
        }
        let mut tape = Tape::new(Some(rig.state()?))?;
        tape.pass(4096)?;
        let ring = tape.only_ring()?;
        let first = ring.account.first.ok_or(EINVAL)?;
        // What was overwritten before is not this reader's fault.
        assert_eq!(ring.lag(), 0);
        assert_eq!(first + ring.numbers.len() as u64, total);
        assert!(ring.counts_from(first));
        assert!(ring.numbers.len() as u64 >= PER_PAGE * 3);
        Ok(())
    }

    #[test]
    fn what_a_reader_misses_is_told_in_place() -> Result {
        let rig = Rig::new(c"blog_test_lag", config(256, 16, Mode::Overwrite))?;
        let mut tapes = KVec::new();
        for _ in 0..2 {
            tapes.push(Tape::new(Some(rig.state()?))?, GFP_KERNEL)?;
        }
        let mut n = 0;
        for some in [
            3,
            PER_PAGE,
            PER_PAGE * 4,
            PER_PAGE * 9 + 1,
            1,
            PER_PAGE * 30,
        ] {
            for _ in 0..some {
                assert!(rig.log(n));
                n += 1;
            }
            // One reads always, the other one seldom.
            tapes[0].pass(4096)?;
            if some == 1 {
                tapes[1].pass(4096)?;
            }
        }
        for tape in &mut tapes {
            tape.pass(4096)?;
            let ring = tape.only_ring()?;
            let first = ring.account.first.ok_or(EINVAL)?;
            assert_eq!(ring.account.next, n);
            assert!(ring.lag() > 0);
            assert_eq!(first + ring.numbers.len() as u64 + ring.lag(), n);
            assert!(ring.numbers.windows(2).all(|pair| pair[0] < pair[1]));
            assert_eq!(tape.read.components[0].lost[Lost::ReaderLag as usize], 0);
        }
        Ok(())
    }

    #[test]
    fn losses_of_the_writer_are_told() -> Result {
        let rig = Rig::new(c"blog_test_disc", config(256, 16, Mode::Discard))?;
        let mut tape = Tape::new(Some(rig.state()?))?;
        let (mut kept, mut lost) = (0, 0);
        for n in 0..PER_PAGE * 6 {
            match rig.log(n) {
                true => kept += 1,
                false => lost += 1,
            }
            if n % 100 == 0 {
                tape.pass(4096)?;
            }
        }
        tape.pass(4096)?;
        let ring = tape.only_ring()?;
        assert!(lost > 0);
        assert_eq!(ring.numbers.len() as u64, kept);
        assert_eq!(ring.lost.iter().sum::<u64>(), lost);
        Ok(())
    }

    #[test]
    fn clear_takes_pages_that_were_not_read() -> Result {
        let rig = Rig::new(c"blog_test_sclr", config(256, 64, Mode::Overwrite))?;
        let mut tape = Tape::new(Some(rig.state()?))?;
        for n in 0..10 {
            assert!(rig.log(n));
        }
        tape.pass(4096)?;
        for n in 10..PER_PAGE * 2 {
            assert!(rig.log(n));
        }
        rig.state()?.clear();
        for n in PER_PAGE * 2..PER_PAGE * 2 + 5 {
            assert!(rig.log(n));
        }
        tape.pass(4096)?;
        let ring = tape.only_ring()?;
        // What is in the page that is written to, it reads: it was there first.
        assert!(ring.lag() > 0 && ring.lag() < PER_PAGE * 2 - 10);
        assert_eq!(ring.numbers.len() as u64 + ring.lag(), PER_PAGE * 2 + 5);
        assert_eq!(ring.numbers.last(), Some(&(PER_PAGE * 2 + 4)));
        // A later reader has the records after the clear, as a snapshot does.
        let mut later = Tape::new(Some(rig.state()?))?;
        later.pass(4096)?;
        let ring = later.only_ring()?;
        assert_eq!((ring.numbers.len(), ring.lag()), (5, 0));
        assert!(ring.counts_from(PER_PAGE * 2));
        Ok(())
    }

    #[test]
    fn a_component_whose_memory_was_freed_starts_anew() -> Result {
        let rig = Rig::new(c"blog_test_anew", config(64, 64, Mode::Overwrite))?;
        let state = rig.state()?;
        let mut tape = Tape::new(Some(state.clone()))?;
        for n in 0..10 {
            assert!(rig.log(n));
        }
        tape.pass(4096)?;
        state.set(Key::Enable, 0)?;
        state.clear();
        tape.pass(4096)?;
        state.set(Key::Enable, 1)?;
        for n in 0..7 {
            assert!(rig.log(n));
        }
        tape.pass(4096)?;
        assert_eq!(tape.read.rings.len(), 2);
        assert_eq!(tape.read.components.len(), 2);
        assert!(tape.read.rings[0].component != tape.read.rings[1].component);
        assert_eq!(tape.read.rings[1].numbers.len(), 7);
        assert_eq!(tape.read.rings[1].account.first, Some(0));
        Ok(())
    }

    #[test]
    fn what_is_left_of_a_removed_component_is_read_to_its_end() -> Result {
        let rig = Rig::new(c"blog_test_gone", config(64, 64, Mode::Overwrite))?;
        let mut tape = Tape::new(Some(rig.state()?))?;
        let mut all = Walk::new(Form::Stream, None, true)?;
        all.peek()?;
        for n in 0..PER_PAGE * 3 {
            assert!(rig.log(n));
        }
        // Stop in the middle.
        assert!(tape.stream.peek()?.len() > 7);
        tape.file
            .extend_from_slice(&tape.stream.peek()?[..7], GFP_KERNEL)?;
        tape.stream.consume(7);
        drop(rig);
        while !tape.stream.ended() {
            tape.pass(1000)?;
        }
        assert_eq!(tape.only_ring()?.numbers.len() as u64, PER_PAGE * 3);
        assert!(tape.read.ended);
        // The stream of all goes on without it.
        for _ in 0..2 {
            while let n @ 1.. = all.peek()?.len() {
                all.consume(n);
            }
        }
        assert!(!all.ended());
        Ok(())
    }

    #[test]
    fn rings_that_change_hands_are_accounted_for() -> Result {
        // Few pages, many tasks.
        let rig = Rig::new(c"blog_test_hand", config(64, 16, Mode::Overwrite))?;
        let mut tape = Tape::new(Some(rig.state()?))?;
        tape.pass(4096)?;
        let mut written = 0;
        for round in 0..60u64 {
            let thread = Thread::start(&rig, 0..round * 17 % 400)?;
            written += round * 17 % 400 - thread.wait()?;
            // It reads along, then it sleeps.
            if round < 30 {
                tape.pass(4096)?;
            }
        }
        // Tasks that have ended are freed a moment later.
        let state = rig.state()?;
        until(|| {
            state.update(|locked| {
                locked.rings().all(|(_, info)| {
                    info.state == kernel::blog::ring::RingState::Retired || info.owner.pid < 0
                })
            })
        })?;
        tape.pass(4096)?;
        tape.pass(4096)?;
        let (records, missed) = tape.sums();
        assert!(tape.read.rings.len() > 10);
        assert!(missed > 0);
        assert_eq!(records + missed, written);
        Ok(())
    }

    #[test]
    fn nothing_is_missed_silently_while_threads_log() -> Result {
        const EACH: u64 = 20_000;
        for ring_kb in [16, 1024] {
            let rig = Rig::new(c"blog_test_busy", config(4096, ring_kb, Mode::Overwrite))?;
            let mut tape = Tape::new(Some(rig.state()?))?;
            tape.pass(777)?;
            let mut threads = KVec::new();
            for _ in 0..3 {
                threads.push(Thread::start(&rig, 0..EACH)?, GFP_KERNEL)?;
            }
            let mut lost = 0;
            for thread in &threads {
                for _ in 0..20 {
                    tape.pass(777)?;
                }
                lost += thread.wait()?;
            }
            tape.pass(4096)?;
            assert_eq!(tape.read.rings.len(), 3);
            let mut missed = 0;
            for ring in &tape.read.rings {
                assert!(ring.numbers.windows(2).all(|pair| pair[0] < pair[1]));
                assert_eq!(ring.numbers.last(), Some(&(EACH - 1)));
                missed += ring.lag();
            }
            let (records, _) = tape.sums();
            assert_eq!(records + missed + lost, EACH * 3);
            assert!(ring_kb == 16 || missed == 0);
        }
        Ok(())
    }
}
