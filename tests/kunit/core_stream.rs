// SPDX-License-Identifier: GPL-2.0

// KUnit suite: streams. That a page can be cut at each of its records, and that a reader gets every
// record once, in order, or is told how many it has missed: whatever happens to the rings
// meanwhile.

#[kunit_tests(blog_stream)]
mod suite {
    use super::rig::*;
    use crate::{
        read::{
            piece,
            sections::Source,
            stream::passes::Stream,
            withheld::Withheld, //
        },
        registry::state::State, //
    };
    use kernel::{
        blog::{
            ring::Mode,
            wire::{
                file::{
                    Kind,
                    FLAG_STREAM, //
                },
                page::{
                    PAGE_HEADER_SIZE,
                    PAGE_MAGIC, //
                },
                record::{
                    Control,
                    Header,
                    Lost,
                    CONTROL_SIZE,
                    LOST_CAUSES,
                    PAYLOAD_MAX,
                    TASK_SIZE, //
                }, //
            },
            Config, //
        },
        page::PAGE_SIZE,
        prelude::*,
        sync::Arc, //
    };

    /// Records of `Rig::log` in one page.
    const PER_PAGE: u64 = ((PAGE_SIZE - PAGE_HEADER_SIZE) / 16) as u64;

    const fn config(size_kb: u32, ring_kb: u32, mode: Mode) -> Config {
        Config::new().size_kb(size_kb).ring_kb(ring_kb).mode(mode)
    }

    fn u32_at(bytes: &[u8], at: usize) -> Result<u32> {
        let bytes = bytes.get(at..at + 4).ok_or(EINVAL)?;
        Ok(u32::from_ne_bytes(bytes.try_into().map_err(|_| EINVAL)?))
    }

    fn u64_at(bytes: &[u8], at: usize) -> Result<u64> {
        let bytes = bytes.get(at..at + 8).ok_or(EINVAL)?;
        Ok(u64::from_ne_bytes(bytes.try_into().map_err(|_| EINVAL)?))
    }

    /// What a record says.
    #[derive(Clone, Copy, PartialEq)]
    enum Said {
        /// Clock, ordinal and number.
        Record(u64, u64, u64),
        /// Cause and count.
        Lost(u8, u64),
        /// Thread id.
        Task(u32),
    }

    /// Takes a page apart.
    fn walk(page: &[u8], mut f: impl FnMut(Said) -> Result) -> Result {
        let mut base = u64_at(page, 24)?;
        let (first, commit) = (u64_at(page, 32)?, u64_at(page, 40)?);
        let (mut at, mut ordinal) = (PAGE_HEADER_SIZE, first);
        if commit as u32 as usize != page.len() {
            return Err(EINVAL);
        }
        while at < page.len() {
            let header = Header(u64_at(page, at)?);
            if header.site() != 0 {
                let clock = header.clock(base);
                f(Said::Record(clock, ordinal, u64_at(page, at + 8)?))?;
                ordinal += 1;
            } else {
                let word = u32_at(page, at + 8)?;
                match Control::from_word(word).ok_or(EINVAL)? {
                    Control::TimeExtend => base = u64_at(page, at + 12)?,
                    Control::Lost => f(Said::Lost((word >> 8) as u8, u64_at(page, at + 12)?))?,
                    Control::Task => f(Said::Task(u32_at(page, at + 12)?))?,
                }
            }
            at += header.size();
        }
        // The header counts what is there.
        if at != page.len() || ordinal - first != commit >> 32 {
            return Err(EINVAL);
        }
        Ok(())
    }

    /// A page under construction, with room for what a reader adds.
    struct Page(KVVec<u8>);

    impl Page {
        fn new(seq: u64, base: u64, first: u64) -> Result<Self> {
            let mut page = Self(KVVec::new());
            for n in [PAGE_MAGIC, PAGE_SIZE as u32, 5, u32::MAX] {
                page.push(&n.to_ne_bytes())?;
            }
            for n in [seq, base, first, 0] {
                page.push(&n.to_ne_bytes())?;
            }
            Ok(page)
        }

        fn push(&mut self, bytes: &[u8]) -> Result {
            Ok(self.0.extend_from_slice(bytes, GFP_KERNEL)?)
        }

        fn record(&mut self, clock: u64, n: u64) -> Result {
            let more = n as u32 % 5;
            self.push(&Header::new(clock, 7, 8 + more).0.to_ne_bytes())?;
            self.push(&n.to_ne_bytes())?;
            self.push(&[0xa5; 4][..more as usize])
        }

        fn control(&mut self, clock: u64, word: u32, n: u64) -> Result {
            self.push(&Header::from_parts(clock, 0, CONTROL_SIZE).0.to_ne_bytes())?;
            self.push(&word.to_ne_bytes())?;
            self.push(&n.to_ne_bytes())
        }

        fn task(&mut self, clock: u64, pid: u32) -> Result {
            self.push(&Header::from_parts(clock, 0, TASK_SIZE).0.to_ne_bytes())?;
            self.push(&(Control::Task as u32).to_ne_bytes())?;
            self.push(&pid.to_ne_bytes())?;
            self.push(&[0; 20])
        }

        fn end(&mut self, records: u64) -> Result<usize> {
            let end = self.0.len();
            let commit = records << 32 | end as u64;
            self.0[40..48].copy_from_slice(&commit.to_ne_bytes());
            self.push(&[0; (CONTROL_SIZE + TASK_SIZE) as usize])?;
            Ok(end)
        }
    }

    #[test]
    fn a_page_can_be_cut_at_each_record() -> Result {
        const FIRST: u64 = 1000;
        const HIGH: u64 = 3 << 36;
        let mut page = Page::new(9, 1, FIRST)?;
        // The ends of all records, and how many records and which task there were by then.
        let mut ends = KVec::new();
        ends.push((PAGE_HEADER_SIZE, 0, 0), GFP_KERNEL)?;
        let (mut records, mut task) = (0, 0);
        for n in 0..40 {
            let clock = if n < 20 { n } else { HIGH | n };
            if n == 20 {
                page.control(clock, Control::TimeExtend as u32, clock)?;
                ends.push((page.0.len(), records, task), GFP_KERNEL)?;
            }
            if n % 7 == 3 {
                let word = Control::Lost as u32 | (Lost::NoPage as u32) << 8;
                page.control(clock, word, n)?;
                ends.push((page.0.len(), records, task), GFP_KERNEL)?;
            }
            if n % 5 == 2 {
                task = n as u32;
                page.task(clock, task)?;
                ends.push((page.0.len(), records, task), GFP_KERNEL)?;
            }
            page.record(clock, n)?;
            records += 1;
            ends.push((page.0.len(), records, task), GFP_KERNEL)?;
        }
        let end = page.end(records)?;
        let mut whole = KVec::new();
        walk(&page.0[..end], |said| Ok(whole.push(said, GFP_KERNEL)?))?;

        for (read, before, task) in &ends {
            for missed in [0, 1, 77] {
                let mut copy = KVVec::new();
                copy.extend_from_slice(&page.0, GFP_KERNEL)?;
                let from = piece::From {
                    seq: 9,
                    end: *read as u32,
                    hidden: 10,
                    next: Some(FIRST + before - missed),
                };
                let cut = piece::cut(&mut copy, &from);
                if *read == end {
                    assert!(cut.is_none());
                    continue;
                }
                let cut = cut.ok_or(EINVAL)?;
                assert_eq!(cut.end as usize, end);
                assert_eq!(cut.first, FIRST + before);
                assert_eq!(cut.records, records - before);
                assert_eq!(cut.lag, missed);
                let mut said = KVec::new();
                walk(&copy[..cut.len], |this| Ok(said.push(this, GFP_KERNEL)?))?;
                let mut said = said.iter();
                if missed != 0 {
                    assert!(said.next() == Some(&Said::Lost(Lost::ReaderLag as u8, missed)));
                }
                if *task != 0 {
                    assert!(said.next() == Some(&Said::Task(*task)));
                }
                // The rest is the rest of the whole, but for the hidden records.
                let rest = whole.len() - said.len();
                for (whole, said) in whole[rest..].iter().zip(said) {
                    match (whole, said) {
                        (Said::Record(clock, ordinal, n), Said::Record(c, o, m)) => {
                            assert!(clock == c && *ordinal == o + 10 && n == m);
                        }
                        _ => assert!(whole == said),
                    }
                }
            }
        }
        // Not at a record.
        for read in 0..=end as u32 + 1 {
            let mut copy = KVVec::new();
            copy.extend_from_slice(&page.0, GFP_KERNEL)?;
            let from = piece::From {
                seq: 9,
                end: read,
                hidden: 0,
                next: None,
            };
            let known = ends.iter().any(|(at, _, _)| *at == read as usize);
            assert_eq!(
                piece::cut(&mut copy, &from).is_some(),
                known && read as usize != end
            );
        }
        Ok(())
    }

    #[test]
    fn what_is_withheld_leaves_a_record_without_payload() -> Result {
        const BASE: u64 = 5 << 36;
        let mut page = Page::new(9, BASE, 1000)?;
        for n in 0..40u64 {
            // Sites 1 to 4, with payloads of 5 to 20 bytes.
            let site = n as u32 % 4 + 1;
            page.push(&Header::new(BASE | n, site, 5 * site).0.to_ne_bytes())?;
            for _ in 0..site {
                page.push(&[0xde; 5])?;
            }
            if n == 20 {
                page.task(BASE | n, 77)?;
            }
        }
        let end = page.end(40)?;
        let sizes = |page: &[u8], f: &mut dyn FnMut(Header) -> Result| -> Result {
            let mut at = PAGE_HEADER_SIZE;
            while at < page.len() {
                let header = Header(u64_at(page, at)?);
                f(header)?;
                at += header.size();
            }
            assert_eq!(at, page.len());
            Ok(())
        };
        let mut whole = KVec::new();
        sizes(&page.0[..end], &mut |h| Ok(whole.push(h, GFP_KERNEL)?))?;
        for secret in [&[][..], &[1], &[2, 4], &[1, 2, 3, 4]] {
            let mut withheld = Withheld::new();
            let mut indices = KVec::new();
            for id in secret {
                indices.push(id - 1, GFP_KERNEL)?;
            }
            withheld.add(1, 4, &indices)?;
            let mut copy = KVVec::new();
            copy.extend_from_slice(&page.0, GFP_KERNEL)?;
            let len = withheld.take_out(&mut copy[..end]);
            // The header says how long the page is now, and as many records as before.
            assert_eq!(u64_at(&copy, 40)?, 40 << 32 | len as u64);
            let mut left = KVec::new();
            sizes(&copy[..len], &mut |h| Ok(left.push(h, GFP_KERNEL)?))?;
            assert_eq!(left.len(), whole.len());
            for (left, whole) in left.iter().zip(&whole) {
                assert_eq!((left.site(), left.ts()), (whole.site(), whole.ts()));
                let payload = match secret.contains(&whole.site()) {
                    true => 0,
                    false => whole.payload(),
                };
                assert_eq!(left.payload(), payload);
            }
        }
        // Damage ends it: nothing behind is given out.
        page.0[PAGE_HEADER_SIZE..PAGE_HEADER_SIZE + 8]
            .copy_from_slice(&Header::new(0, 1, PAYLOAD_MAX as u32).0.to_ne_bytes());
        let len = Withheld::new().take_out(&mut page.0[..end]);
        assert_eq!(len, PAGE_HEADER_SIZE);
        Ok(())
    }

    /// What a stream has told of a ring.
    struct Told {
        component: u32,
        id: u32,
        pid: i32,
        retired: bool,
        numbers: KVVec<u64>,
        /// Ordinal of its first record, and of the next one.
        first: u64,
        next: u64,
        in_band: [u64; LOST_CAUSES],
        lost: [u64; LOST_CAUSES],
        sections: u32,
    }

    /// What a stream has told.
    struct Tape {
        stream: Stream,
        file: KVVec<u8>,
        at: usize,
        index: u32,
        rings: KVec<Told>,
        /// Ids and losses of the components.
        components: KVec<(u32, [u64; LOST_CAUSES])>,
        ended: bool,
    }

    impl Tape {
        fn new(only: Option<Arc<State>>) -> Result<Self> {
            Ok(Self {
                stream: Stream::new(only, true)?,
                file: KVVec::new(),
                at: 0,
                index: 0,
                rings: KVec::new(),
                components: KVec::new(),
                ended: false,
            })
        }

        /// Reads a pass in reads of `step` bytes; returns how many bytes it had.
        fn pass(&mut self, step: usize) -> Result<usize> {
            let before = self.file.len();
            loop {
                let bytes = self.stream.peek()?;
                let n = bytes.len().min(step);
                if n == 0 {
                    break;
                }
                self.file.extend_from_slice(&bytes[..n], GFP_KERNEL)?;
                self.stream.consume(n);
            }
            self.parse()?;
            Ok(self.file.len() - before)
        }

        fn parse(&mut self) -> Result {
            if self.at == 0 {
                if u32_at(&self.file, 24)? != FLAG_STREAM {
                    return Err(EINVAL);
                }
                self.at = 32;
            }
            let file = core::mem::replace(&mut self.file, KVVec::new());
            while self.at < file.len() {
                let header = &file[self.at..];
                let len = u64_at(header, 8)? as usize;
                let payload = header.get(32..32 + len).ok_or(EINVAL)?;
                let crc = crate::sys::glue::crc32(0, payload);
                if u32_at(header, 16)? != self.index || u32_at(header, 24)? != crc || self.ended {
                    return Err(EINVAL);
                }
                match Kind::from_u16(u32_at(header, 4)? as u16) {
                    Some(Kind::Component) => self.component(payload)?,
                    Some(Kind::Ring) => self.ring(payload)?,
                    Some(Kind::Page) => self.page(payload)?,
                    Some(Kind::End) => self.ended = true,
                    _ => (),
                }
                self.at += 32 + len.next_multiple_of(8);
                self.index += 1;
            }
            self.file = file;
            Ok(())
        }

        fn component(&mut self, payload: &[u8]) -> Result {
            let id = u32_at(payload, 0)?;
            let mut lost = [0; LOST_CAUSES];
            for (i, n) in lost.iter_mut().enumerate() {
                *n = u64_at(payload, 32 + 8 * i)?;
            }
            self.components.retain(|(known, _)| *known != id);
            Ok(self.components.push((id, lost), GFP_KERNEL)?)
        }

        fn ring(&mut self, payload: &[u8]) -> Result {
            let (component, id) = (u32_at(payload, 0)?, u32_at(payload, 4)?);
            let pid = u32_at(payload, 16)? as i32;
            let retired = payload[9] != 0;
            let known = self
                .rings
                .iter()
                .rposition(|r| r.component == component && r.id == id)
                .filter(|at| {
                    let known = &self.rings[*at];
                    known.pid == pid && (retired || !known.retired)
                });
            let at = match known {
                Some(at) => at,
                None => {
                    let new = Told {
                        component,
                        id,
                        pid,
                        retired,
                        numbers: KVVec::new(),
                        first: 0,
                        next: 0,
                        in_band: [0; LOST_CAUSES],
                        lost: [0; LOST_CAUSES],
                        sections: 0,
                    };
                    self.rings.push(new, GFP_KERNEL)?;
                    self.rings.len() - 1
                }
            };
            let ring = &mut self.rings[at];
            ring.sections += 1;
            ring.retired = retired;
            for (i, n) in ring.lost.iter_mut().enumerate() {
                *n = u64_at(payload, 56 + 8 * i)?;
            }
            Ok(())
        }

        fn page(&mut self, payload: &[u8]) -> Result {
            let (component, id) = (u32_at(payload, 0)?, u32_at(payload, 4)?);
            let ring = self
                .rings
                .iter_mut()
                .rfind(|r| r.component == component && r.id == id)
                .ok_or(EINVAL)?;
            let first = u64_at(payload, 8 + 32)?;
            let mut lag = 0;
            let Told {
                numbers, in_band, ..
            } = ring;
            walk(&payload[8..], |said| {
                match said {
                    Said::Record(_, _, n) => numbers.push(n, GFP_KERNEL)?,
                    Said::Lost(cause, n) => {
                        in_band[usize::from(cause) % LOST_CAUSES] += n;
                        if cause == Lost::ReaderLag as u8 {
                            lag += n;
                        }
                    }
                    Said::Task(_) => (),
                }
                Ok(())
            })?;
            if ring.next == 0 {
                ring.first = first - lag;
            } else if first != ring.next + lag {
                pr_err!("stream: {first} after {} and {lag} missed\n", ring.next);
                return Err(EINVAL);
            }
            ring.next = first + (u64_at(payload, 8 + 40)? >> 32);
            Ok(())
        }

        fn only_ring(&self) -> Result<&Told> {
            match &self.rings[..] {
                [ring] => Ok(ring),
                _ => Err(EINVAL),
            }
        }

        /// Records, and records missed, of all rings; the latter with those of rings that are gone.
        fn sums(&self) -> (u64, u64) {
            let lag = Lost::ReaderLag as usize;
            let records = self.rings.iter().map(|r| r.numbers.len() as u64).sum();
            let missed: u64 = self.rings.iter().map(|r| r.in_band[lag]).sum();
            let gone: u64 = self.components.iter().map(|(_, lost)| lost[lag]).sum();
            (records, missed + gone)
        }
    }

    impl Told {
        fn lag(&self) -> u64 {
            self.in_band[Lost::ReaderLag as usize]
        }

        /// Whether the numbers are `first`, `first + 1`, … without a gap.
        fn counts_from(&self, first: u64) -> bool {
            (first..).zip(&self.numbers).all(|(want, n)| want == *n)
        }
    }

    #[test]
    fn every_record_comes_once_and_in_order() -> Result {
        for step in [1, 100, 1 << 20] {
            let rig = Rig::new(c"blog_test_once", config(256, 64, Mode::Overwrite))?;
            let mut tape = Tape::new(Some(rig.state()?))?;
            assert!(tape.pass(step)? > 0);
            assert_eq!(tape.rings.len(), 0);
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
                assert_eq!(ring.next, n);
                assert!(ring.counts_from(0));
            }
            assert_eq!(tape.pass(step)?, 0);
            let ring = tape.only_ring()?;
            assert_eq!(ring.sections, 1);
            assert!(ring.in_band.iter().all(|n| *n == 0));
        }
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
        // What was overwritten before is not this reader's fault.
        assert_eq!(ring.lag(), 0);
        assert_eq!(ring.first + ring.numbers.len() as u64, total);
        assert!(ring.counts_from(ring.first));
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
            assert_eq!(ring.next, n);
            assert!(ring.lag() > 0);
            assert_eq!(ring.first + ring.numbers.len() as u64 + ring.lag(), n);
            assert_eq!(ring.lost[Lost::ReaderLag as usize], ring.lag());
            assert!(ring
                .numbers
                .iter()
                .zip(ring.numbers.iter().skip(1))
                .all(|(a, b)| a < b));
            assert_eq!(tape.components[0].1[Lost::ReaderLag as usize], 0);
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
    fn clear_passes_over_what_was_not_read() -> Result {
        let rig = Rig::new(c"blog_test_sclr", config(256, 64, Mode::Overwrite))?;
        let mut tape = Tape::new(Some(rig.state()?))?;
        for n in 0..10 {
            assert!(rig.log(n));
        }
        tape.pass(4096)?;
        for n in 10..PER_PAGE * 2 {
            assert!(rig.log(n));
        }
        rig.state()?.clear()?;
        for n in PER_PAGE * 2..PER_PAGE * 2 + 5 {
            assert!(rig.log(n));
        }
        tape.pass(4096)?;
        let ring = tape.only_ring()?;
        assert_eq!(ring.numbers.len(), 15);
        assert_eq!(ring.lag(), PER_PAGE * 2 - 10);
        assert_eq!(ring.numbers.last(), Some(&(PER_PAGE * 2 + 4)));
        // Who comes later counts from the clear, as a snapshot does.
        let mut later = Tape::new(Some(rig.state()?))?;
        later.pass(4096)?;
        let ring = later.only_ring()?;
        assert_eq!((ring.first, ring.next, ring.lag()), (0, 5, 0));
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
        state.set_enabled(false)?;
        state.clear()?;
        tape.pass(4096)?;
        state.set_enabled(true)?;
        for n in 0..7 {
            assert!(rig.log(n));
        }
        tape.pass(4096)?;
        assert_eq!(tape.rings.len(), 2);
        assert_eq!(tape.components.len(), 2);
        assert!(tape.rings[0].component != tape.rings[1].component);
        assert_eq!(tape.rings[1].numbers.len(), 7);
        assert_eq!(tape.rings[1].first, 0);
        Ok(())
    }

    #[test]
    fn what_is_left_of_a_removed_component_is_read_to_its_end() -> Result {
        let rig = Rig::new(c"blog_test_gone", config(64, 64, Mode::Overwrite))?;
        let mut tape = Tape::new(Some(rig.state()?))?;
        let mut all = Stream::new(None, true)?;
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
        assert!(tape.ended);
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
            state.with(|inner| {
                let Some((memory, owned)) = inner.memory() else {
                    return true;
                };
                use crate::memory::pool::Store;
                (0..owned.rings_end())
                    .filter_map(|id| memory.store.ring(id)?.info())
                    .all(|info| {
                        info.state == kernel::blog::ring::State::Retired || info.owner.pid < 0
                    })
            })
        })?;
        tape.pass(4096)?;
        tape.pass(4096)?;
        let (records, missed) = tape.sums();
        assert!(tape.rings.len() > 10);
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
            assert_eq!(tape.rings.len(), 3);
            let mut missed = 0;
            for ring in &tape.rings {
                assert!(ring
                    .numbers
                    .iter()
                    .zip(ring.numbers.iter().skip(1))
                    .all(|(a, b)| a < b));
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
