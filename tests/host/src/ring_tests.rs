// SPDX-License-Identifier: GPL-2.0

//! Properties of the ring, with one writer and with readers beside it.

use crate::rig::{
    cause,
    pages::{walk, Item},
    Rig, PAGE, SLOT,
};
use kernel::blog::ring::{Mode, Owner, PageHeader, Pages, Ring, ROOM};
use kernel::blog::wire::{
    page::PAGE_HEADER_SIZE,
    record::{Context, ControlRecord, Lost, CONTROL_SIZE, LOST_CAUSES},
};
use proptest::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A payload that tells its number, and `more` bytes, each of which depends on it.
fn payload(n: u64, more: usize) -> Vec<u8> {
    let mut out = n.to_ne_bytes().to_vec();
    let hash = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    out.extend((0..more as u64).map(|i| (hash >> (i % 4 * 8) ^ i) as u8));
    out
}

fn number(payload_bytes: &[u8]) -> u64 {
    let n = u64::from_ne_bytes(payload_bytes[..8].try_into().unwrap());
    assert_eq!(payload_bytes, payload(n, payload_bytes.len() - 8), "torn record");
    n
}

#[test]
fn overwrite_keeps_at_least_the_newest_pages_but_one() {
    for pages in 2..6 {
        let mut rig = Rig::new(pages, 1);
        rig.max_pages = pages as u32;
        let ring = rig.adopt(1).unwrap();
        let per_page = ((PAGE - PAGE_HEADER_SIZE) / 16) as u64;
        for n in 0..per_page * 20 {
            assert!(rig.log(ring, n, 1, &payload(n, 0)));
            let read = rig.read(ring.id());
            let kept = read.records.len() as u64;
            assert!(kept >= (n + 1).min(per_page * (pages as u64 - 1)), "{kept} of {n}");
            assert_eq!((read.adds_up(&ring.info().unwrap()), ring.records()), (Ok(()), n + 1));
            assert_eq!(read.account.missing, 0);
        }
    }
}

#[test]
fn discard_keeps_the_oldest_and_counts_the_rest() {
    let mut rig = Rig::new(2, 1);
    rig.mode = Mode::Discard;
    rig.max_pages = 2;
    let ring = rig.adopt(1).unwrap();
    let mut written = 0;
    for n in 0..1000 {
        written += u64::from(rig.log(ring, n, 1, &payload(n, 0)));
    }
    let read = rig.read(ring.id());
    assert_eq!(read.records.len() as u64, written);
    assert_eq!(number(&read.records[0].2), 0);
    assert_eq!(ring.info().unwrap().lost[cause(Lost::Full)], 1000 - written);
}

#[test]
fn a_ring_without_any_page_counts_what_it_loses() {
    let rig = Rig::new(1, 2);
    let (a, b) = (rig.adopt(1).unwrap(), rig.adopt(2).unwrap());
    assert!(rig.log(a, 1, 1, &payload(1, 0)));
    for n in 0..10 {
        assert!(!rig.log(b, n, 1, &payload(n, 0)));
    }
    assert_eq!(b.info().unwrap().lost[cause(Lost::NoPage)], 10);
    rig.retire(a, 5);
    assert!(rig.log(b, 11, 1, &payload(11, 0)), "the retired ring's page is to be had");
    let (read, cause) = (rig.read(b.id()), cause(Lost::NoPage));
    assert_eq!(read.account.told[cause], 10, "the loss stands before the next record");
    assert_eq!(read.records.len(), 1);
    assert_eq!(rig.pool.gone().0, 1);
}

/// A renamed thread, one that has executed a program of the same name, another task with the same
/// ids, and so on.
#[test]
fn writers_of_a_shared_ring_that_differ_in_anything_are_told_apart() {
    let task = Owner {
        pid: 7,
        tgid: 7,
        comm: *b"a name of 15 by\0",
        life: (1_000_000_000, 3),
        ..Owner::new(Context::Task, 0)
    };
    let renamed = |n: usize| {
        let mut comm = task.comm;
        comm[n] = b'x';
        Owner { comm, ..task }
    };
    let (context, cpu) = (Context::Hardirq, 1);
    let others = [
        renamed(0),
        renamed(14),
        Owner { pid: 8, ..task },
        Owner { tgid: 8, ..task },
        Owner { cpu, ..task },
        Owner { context, ..task },
        // The pid was used again.
        Owner { life: (1_000_000_001, 3), ..task },
        // execve().
        Owner { life: (1_000_000_000, 4), ..task },
    ];
    for other in others {
        let rig = Rig::new(1, 1);
        let ring = rig.adopt(-1).unwrap();
        for (n, who) in [task, task, other, other, task].iter().enumerate() {
            assert!(rig.log_shared(ring, who, n as u64, &[0; 8]));
        }
        let read = rig.read(ring.id());
        assert_eq!((read.records.len(), read.tasks), (5, 3), "{other:?}");
    }
}

#[test]
fn each_page_of_a_shared_ring_names_all_its_writers() {
    let rig = Rig::with_page_size(64, 1, 320);
    let ring = rig.adopt(-1).unwrap();
    for n in 0..400u64 {
        // Of one, of three, of five, …
        let pid = n.isqrt() as i32;
        let who = Owner { pid, tgid: pid + 1, ..Owner::new(Context::Task, 0) };
        assert!(rig.log_shared(ring, &who, n, &(pid as u64).to_ne_bytes()));
    }
    let pages = rig.pages_of(ring);
    assert_eq!(pages.len() as u32, ring.pages(), "some are longer than they may be");
    for page in pages {
        let mut writer = None;
        walk(&page, &mut 0, |item| match item {
            Item::Control(_, ControlRecord::Task { pid, tgid, .. }) => writer = Some((pid, tgid)),
            Item::Record { payload, .. } => {
                let pid = payload[0].into();
                assert_eq!(writer, Some((pid, pid + 1)));
            }
            item => panic!("{item:?}"),
        });
    }
    // Nobody takes one for a page of another size.
    for (slot, (_, page)) in rig.slots().iter().zip(rig.parts()) {
        assert!(slot.copy(PAGE as u32, page.seq(), &mut [0; PAGE]).is_none());
    }
}

#[test]
fn the_upper_bits_of_the_time_are_told_once() {
    let rig = Rig::new(1, 1);
    let ring = rig.adopt(1).unwrap();
    for ts in [5, 1 << 36, (1 << 36) + 1, (1 << 36) + 2] {
        assert!(rig.log(ring, ts, 1, &[0; 8]));
    }
    let bytes = rig.pages_of(ring)[0].len();
    assert_eq!(bytes, PAGE_HEADER_SIZE + 4 * 16 + CONTROL_SIZE as usize);
}

#[test]
fn a_ring_whose_task_is_renamed_takes_the_slow_path_and_its_next_owner_has_a_name() {
    let rig = Rig::new(1, 1);
    let ring = rig.adopt(1).unwrap();
    assert!(rig.log(ring, 0, 1, &[0; 8]));
    // SAFETY: Nobody else writes to it.
    let has_room = || unsafe { ring.begin(|| SLOT.into()) }.unwrap().has_room(16, 1);
    assert!(has_room() && !ring.is_renamed());
    ring.rename();
    assert!(!has_room() && ring.is_renamed());
    rig.retire(ring, 2);
    assert_eq!(ring.info().unwrap().exit_clock, 2);
    rig.pool.drain_retired();
    assert!(!rig.adopt(2).unwrap().is_renamed());
}

#[test]
fn the_room_of_a_ring_is_one_of_its_pages() {
    let rig = Rig::with_rooms(4, 8, 2);
    let ring = rig.adopt(1).unwrap();
    let pages = || ring.info().map(|info| (info.pages, info.all_pages())).unwrap();
    let log = |n| (0..n).all(|_| rig.log(ring, 1, 1, &payload(1, 1)));
    assert!(log(1));
    assert_eq!(pages(), (0, 1));
    assert!(log(20));
    assert_eq!(pages(), (1, 2));
    // It is the first one to be overwritten.
    assert!(log(2000));
    let (of_pool, all) = pages();
    assert!(of_pool > 0 && all == of_pool, "{of_pool} {all}");
}

#[test]
fn a_ring_uses_its_room_whatever_it_does_when_that_is_full() {
    for mode in [Mode::Overwrite, Mode::Discard] {
        let mut rig = Rig::with_rooms(0, 1, 1);
        rig.mode = mode;
        let ring = rig.adopt(1).unwrap();
        let logged = (0..100).filter(|n| rig.log(ring, *n, 1, &[0; 8])).count();
        let fit = (ROOM as usize - PAGE_HEADER_SIZE) / 16;
        assert_eq!(logged, if mode == Mode::Discard { fit } else { 100 }, "{mode:?}");
    }
}

#[test]
fn a_nested_record_is_counted_and_told_and_harms_nothing() {
    let rig = Rig::new(4, 1);
    let ring = rig.adopt(1).unwrap();
    for n in 0..600 {
        assert!(rig.log_with(ring, n, 1, &payload(n, 1), || {
            if n % 3 == 0 {
                assert!(!rig.log(ring, n, 2, &payload(n, 0)));
            }
        }));
    }
    let info = ring.info().unwrap();
    assert_eq!(info.lost[cause(Lost::Nested)], 200);
    assert_eq!(info.reported[cause(Lost::Nested)], 200, "the last record came after the last loss");
    let read = rig.read(ring.id());
    assert!(read.records.iter().all(|(_, site, _)| *site == 1));
    assert_eq!(read.account.told[cause(Lost::Nested)], 200);
}

/// Of records whose size isn't known before, too, with one that an interrupt brings in the middle.
#[test]
fn a_record_of_unknown_size_is_there_or_not() {
    let rig = Rig::new(64, 1);
    let ring = rig.adopt(1).unwrap();
    for n in 0..600 {
        let bytes = payload(n, n as usize * 7 % 300);
        assert!(rig.log_open(ring, n << 20, 1, &bytes, || {
            if n % 3 == 0 {
                assert!(!rig.log_open(ring, n << 20, 2, &bytes, || ()));
            }
        }));
    }
    let read = rig.read(ring.id());
    let numbers: Vec<_> = read.records.iter().map(|(_, _, bytes)| number(bytes)).collect();
    assert_eq!(numbers, (600 - numbers.len() as u64..600).collect::<Vec<_>>());
    assert_eq!(ring.info().unwrap().lost[cause(Lost::Nested)], 200);
}

/// A pool in the middle of whose work a record of the ring is lost, as one that an NMI brings.
struct Interrupted<'a, P: Pages>(P, &'a Ring);

// SAFETY: As for the pool.
unsafe impl<P: Pages> Pages for Interrupted<'_, P> {
    fn take(&self, held: u32) -> Option<u32> {
        self.1.count_lost(Lost::Nested, 1);
        self.0.take(held)
    }

    unsafe fn put(&self, index: u32) {
        // SAFETY: By this function's requirement.
        unsafe { self.0.put(index) };
    }

    fn page(&self, index: u32) -> *mut PageHeader {
        self.0.page(index)
    }

    fn size(&self) -> u32 {
        self.0.size()
    }
}

#[test]
fn what_is_lost_while_the_page_turns_is_told_by_the_next_record() {
    let rig = Rig::new(8, 1);
    let ring = rig.adopt(1).unwrap();
    let (record, large) = (&payload(0, 100), PAGE as u32 - 300);
    for turns in 1..=4 {
        if turns % 2 == 0 {
            // It is reported in this turn, and what comes meanwhile isn't forgotten for that.
            ring.count_lost(Lost::Disabled, 1);
        }
        let pages = Interrupted(rig.pool.pages(0, false), ring);
        // SAFETY: This is the ring's context, and all pages are of this pool.
        unsafe {
            let writing = ring.begin(|| ring.slot()).unwrap();
            assert_eq!(writing.turn(&pages, Mode::Overwrite, u32::MAX, large, 1), Ok(()));
        }
        assert!(rig.log(ring, 1, 1, record));
        let info = ring.info().unwrap();
        assert_eq!(info.lost[cause(Lost::Nested)], turns);
        assert_eq!(info.reported, info.lost);
        while ring.position().unwrap().1 + large <= PAGE as u32 {
            assert!(rig.log(ring, 1, 1, record));
        }
    }
}

#[test]
fn what_is_lost_while_room_is_made_takes_none_of_it() {
    let rig = Rig::with_rooms(0, 1, 1);
    let ring = rig.adopt(1).unwrap();
    assert!(rig.log(ring, 0, 1, &[0; 8]));
    ring.count_lost(Lost::Disabled, 1);
    // Its room, with the one loss that is known.
    let pages = Interrupted(rig.pool.pages(0, false), ring);
    let bytes = ROOM - PAGE_HEADER_SIZE as u32 - CONTROL_SIZE;
    // SAFETY: This is the ring's context, and all pages are of this pool.
    let end = unsafe {
        let writing = ring.begin(|| ring.slot()).unwrap();
        assert_eq!(writing.turn(&pages, Mode::Overwrite, u32::MAX, bytes, 1), Ok(()));
        ring.position().unwrap().1
    };
    assert_eq!(end + bytes, ROOM);
    let info = ring.info().unwrap();
    let told = [Lost::Nested, Lost::Disabled].map(|lost| info.reported[cause(lost)]);
    assert_eq!(told, [1, 0]);
}

#[test]
fn losses_are_told_after_a_turn_that_finds_no_page() {
    let mut rig = Rig::with_rooms(1, 1, 1);
    rig.mode = Mode::Discard;
    let ring = rig.adopt(1).unwrap();
    let mut closed = rig.pool.pages(0, false);
    closed.closed = true;
    while ring.position().is_none_or(|(_, end, _)| end + 16 <= ROOM) {
        assert!(rig.log(ring, 0, 1, &[0; 8]));
    }
    ring.count_lost(Lost::Nested, 1);
    // SAFETY: This is the only writer; all pages are of this pool.
    let turned = unsafe {
        let writing = ring.begin(|| ring.slot()).unwrap();
        writing.turn(&closed, Mode::Discard, u32::MAX, 16, 0)
    };
    assert_eq!(turned, Err(Lost::NoPage));
    assert!(rig.log(ring, 0, 1, &[0; 8]));
    assert_eq!(ring.info().unwrap().reported[cause(Lost::Nested)], 1);
}

#[test]
fn each_ring_may_have_a_page_whatever_the_limit_is() {
    let mut rig = Rig::with_rooms(4, 1, 1);
    rig.max_pages = 0;
    let ring = rig.adopt(1).unwrap();
    assert!((0..1000).all(|n| rig.log(ring, n, 1, &[0; 8])));
    assert_eq!(ring.pages(), 1);
}

#[test]
fn a_clock_that_steps_back_is_no_earlier_than_it_was() {
    let rig = Rig::with_rooms(0, 1, 1);
    // SAFETY: This is the only writer.
    let writing = unsafe { rig.adopt(1).unwrap().begin(|| u32::from(SLOT)) }.unwrap();
    assert_eq!([5, 3, 7, 6].map(|now| writing.not_before_last(now)), [5, 5, 7, 7]);
}

#[test]
fn a_record_that_fits_no_page_costs_no_history() {
    let rig = Rig::with_page_size(3, 1, 512);
    let ring = rig.adopt(1).unwrap();
    for n in 0..100 {
        assert!(rig.log(ring, n, 1, &payload(n, 0)));
    }
    let before = rig.read(ring.id()).records.len();
    for n in 100..120 {
        assert!(!rig.log(ring, n, 1, &payload(n, 800)));
    }
    assert_eq!(rig.read(ring.id()).records.len(), before);
    assert!(rig.log(ring, 120, 1, &payload(120, 0)));
    let read = rig.read(ring.id());
    assert_eq!(read.account.told[cause(Lost::TooLong)], 20);
    assert_eq!((read.adds_up(&ring.info().unwrap()), ring.records()), (Ok(()), 101));
    // It must leave room for reports of losses of all causes.
    let most = 512 - PAGE_HEADER_SIZE - LOST_CAUSES * CONTROL_SIZE as usize - 16;
    assert!(rig.log(ring, 121, 1, &payload(121, most)));
    assert!(!rig.log(ring, 122, 1, &payload(122, most + 1)));
}

#[test]
fn a_page_that_a_too_long_record_started_keeps_time() {
    let rig = Rig::with_page_size(2, 1, 256);
    let ring = rig.adopt(1).unwrap();
    assert!(!rig.log(ring, 3 << 36, 1, &payload(0, 800)), "no page yet");
    for ts in [3 << 36, (3 << 36) + 1, 4 << 36] {
        assert!(rig.log(ring, ts, 1, &payload(ts, 0)));
    }
    let times: Vec<_> = rig.read(ring.id()).records.iter().map(|r| r.0).collect();
    assert_eq!(times, [3 << 36, (3 << 36) + 1, 4 << 36]);
}

#[test]
fn a_lower_limit_takes_pages_from_a_ring_at_its_next_turn() {
    let mut rig = Rig::new(8, 1);
    rig.max_pages = 8;
    let id = rig.adopt(1).unwrap().id();
    let per_page = ((PAGE - PAGE_HEADER_SIZE) / 16) as u64;
    let mut n = 0;
    let mut fill = |rig: &Rig, pages: u64| {
        for _ in 0..per_page * pages {
            assert!(rig.log(rig.ring(id).unwrap(), n, 1, &payload(n, 0)));
            n += 1;
        }
        rig.ring(id).unwrap().pages()
    };
    assert_eq!(fill(&rig, 8), 8);
    rig.max_pages = 3;
    assert_eq!(fill(&rig, 1), 3);
    assert_eq!(fill(&rig, 9), 3);
    assert_eq!(rig.pool.free(), 5);
    assert_eq!(rig.count_pages(), 8);
    let read = rig.read(id);
    let info = rig.ring(id).unwrap().info().unwrap();
    assert_eq!((read.adds_up(&info), info.records), (Ok(()), 18 * per_page));
    assert_eq!(read.account.missing, 0);
}

/// `sanitize` runs this one with no suppression: what is below the published end of a page that
/// stays is free of races in the strict sense.
#[test]
fn copies_of_pages_that_stay_race_with_nothing() {
    let mut rig = Rig::new(64, 1);
    rig.mode = Mode::Discard;
    let ring = rig.adopt(1).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0.. {
                if !rig.log(ring, n << 30, 1, &payload(n, (n % 7) as usize)) {
                    break;
                }
            }
            done.store(true, Relaxed);
        });
        while !done.load(Relaxed) {
            let read = rig.read(ring.id());
            assert_eq!(read.account.first.unwrap_or(0), 0);
            assert_eq!((read.account.missing, read.missed), (0, 0));
            for (n, (.., bytes)) in read.records.iter().enumerate() {
                assert_eq!(number(bytes), n as u64);
            }
        }
    });
    assert_eq!(ring.pages(), 64);
}

/// Tasks come and go on one ring: no record goes to a task that another one has written, by the
/// rule at `Info::last_seq`.
#[test]
fn pages_go_to_the_owner_that_info_told_of() {
    let rig = Rig::new(2, 1);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for pid in 1..4000 {
                let ring = rig.adopt(pid).expect("the last task is gone");
                for n in 0..pid as u64 % 5 * 100 {
                    rig.log(ring, n, pid as u32, &payload(n, 0));
                }
                rig.retire(ring, 1);
            }
            done.store(true, Relaxed);
        });
        let mut seen = 0;
        while !done.load(Relaxed) {
            let Some((info, read)) = rig.read_owner(0) else {
                continue;
            };
            seen += read.records.len();
            for (_, site, _) in &read.records {
                assert_eq!(*site, info.owner.pid as u32);
            }
        }
        assert!(seen > 0, "the reader never saw anything");
    });
}

#[test]
fn a_ring_says_where_it_is_and_what_its_oldest_page_is() {
    let mut rig = Rig::new(6, 1);
    rig.max_pages = 4;
    let ring = rig.adopt(1).unwrap();
    let pages = rig.pool.pages(0, false);
    assert_eq!((ring.id(), ring.slot()), (0, crate::rig::SLOT.into()));
    assert_eq!((ring.oldest_page(), ring.position()), (None, None));
    let oldest = |stolen: u64| {
        // SAFETY: Nobody takes pages meanwhile.
        let header = unsafe { &*pages.page(ring.oldest_page().unwrap()) };
        assert_eq!(header.ring(), 0);
        let (seq, end, records) = ring.position().unwrap();
        assert_eq!(header.seq(), (seq - u64::from(ring.pages()) + 1).max(1 + stolen));
        assert_eq!(records, ring.records());
        (seq, end)
    };
    let per_page = ((PAGE - PAGE_HEADER_SIZE) / 16) as u64;
    for n in 0..9 * per_page {
        assert!(rig.log(ring, n, 1, &payload(n, 0)));
        let end = PAGE_HEADER_SIZE as u64 + (n % per_page + 1) * 16;
        assert_eq!(oldest(0), (1 + n / per_page, end as u32));
        assert_eq!(ring.records(), n + 1);
    }
    for left in (1..4).rev() {
        // SAFETY: All pages are of this pool, to which it goes back.
        unsafe { pages.put(ring.steal(&pages).unwrap()) };
        assert_eq!(ring.pages(), left);
        oldest(u64::from(9 - left));
    }
    // SAFETY: As above.
    assert_eq!(unsafe { ring.steal(&pages) }, None, "the current one stays");
}

#[test]
fn a_shared_ring_whose_writer_has_died_takes_records_again() {
    let rig = Rig::new(4, 2);
    let ring = rig.adopt(1).unwrap();
    let who = Owner::new(Context::Softirq, 0);
    assert!(rig.log_shared(ring, &who, 1, &[1; 8]));
    assert_eq!(ring.claimant(), None);
    // SAFETY: All writers claim it.
    let claim = || unsafe { ring.claim() };
    // It never ends what it has begun.
    std::mem::forget(claim().unwrap());
    let dead = ring.claimant().unwrap();
    assert!(claim().is_none() && !rig.log_shared(ring, &who, 2, &[2; 8]));
    // SAFETY: The test plays all writers.
    assert!(unsafe { ring.mend(dead) });
    assert!(rig.log_shared(ring, &who, 3, &[3; 8]));
    // The next writer isn't taken for the dead one.
    let next = claim().unwrap();
    assert!(ring.claimant() != Some(dead));
    // SAFETY: As above.
    assert!(!unsafe { ring.mend(dead) } && claim().is_none());
    drop(next);
    assert_eq!(ring.claimant(), None);
    let sites: Vec<_> = rig.read(ring.id()).records;
    assert_eq!(sites.len(), 2);
}
