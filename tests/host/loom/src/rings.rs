// SPDX-License-Identifier: GPL-2.0

//! Models of rings and their pages, beside readers and beside each other.

use crate::blog::ring::{Owner, RingState, NO_PAGE};
use crate::blog::wire::{
    page::PAGE_HEADER_SIZE,
    record::{Lost, CONTROL_SIZE, LOST_CAUSES},
};
use crate::rig::{cause, page_info, Read, Rig};
use crate::{model, model_with, thread};
use std::sync::Arc;

/// Bytes of a record without its header.
const PAYLOAD: usize = 8;
/// A page that takes such a record whatever control records are due, and not many of them.
const PAGE: u32 =
    PAGE_HEADER_SIZE as u32 + LOST_CAUSES as u32 * CONTROL_SIZE + (PAYLOAD as u32 + 8);

/// The first page.
const FIRST: u32 = 0;

/// A component that threads share. It stays in its box: loom knows atomics by address.
struct Shared(Box<Rig>);

impl std::ops::Deref for Shared {
    type Target = Rig;

    fn deref(&self) -> &Rig {
        &self.0
    }
}

/// A component with a ring for each of some tasks, by their pids from 1.
fn rig(pages: usize, rings: usize) -> Arc<Shared> {
    let rig = Rig::with_page_size(pages, rings, PAGE);
    for pid in 1..=rings as i32 {
        // The stack gives the ring that was put last first.
        assert_eq!(rig.adopt(pid).unwrap().id(), (rings as i32 - pid) as u32);
    }
    Arc::new(Shared(rig))
}

/// Id of a task's ring.
fn ring_of(rig: &Rig, pid: u32) -> u32 {
    rig.rings() - pid
}

/// Logs record `n` of a task; its payload tells both.
fn log(rig: &Rig, pid: u32, n: u32) -> bool {
    log_at(rig, pid, n, u64::from(n))
}

fn log_at(rig: &Rig, pid: u32, n: u32, ts: u64) -> bool {
    let payload: Vec<u8> = [pid, n].iter().flat_map(|n| n.to_ne_bytes()).collect();
    let ring = rig.ring(ring_of(rig, pid)).unwrap();
    rig.log(ring, ts, pid, &payload)
}

/// Whose record it is, and which.
fn parse(site: u32, payload: &[u8]) -> (u32, u32) {
    let words: Vec<_> =
        payload.chunks_exact(4).map(|n| u32::from_ne_bytes(n.try_into().unwrap())).collect();
    assert_eq!((words.len(), words[0]), (PAYLOAD / 4, site), "torn record");
    (words[0], words[1])
}

/// Walks a page's copy: whose it is, and its records' numbers, which must be in order.
fn walk(copy: &[u8]) -> (u32, Vec<u32>) {
    let info = page_info(copy);
    let mut read = Read::default();
    read.page(copy);
    let mut numbers = Vec::new();
    let mut pid = 0;
    for (i, (ts, site, payload)) in read.records.iter().enumerate() {
        let (of, n) = parse(*site, payload);
        assert!(i == 0 || of == pid, "records of two rings");
        assert!(info.base <= *ts);
        assert_eq!(u64::from(n), info.first + i as u64, "first is another life's");
        pid = of;
        numbers.push(n);
    }
    (pid, numbers)
}

#[test]
fn reader_sees_whole_records_only() {
    model(|| {
        let rig = rig(1, 1);
        assert!(log(&rig, 1, 0));
        let writer = rig.clone();
        let writer = thread::spawn(move || {
            assert!(log(&writer, 1, 1));
            assert!(log(&writer, 1, 2));
        });
        let mut last = 0;
        for _ in 0..2 {
            let (_, numbers) = walk(&rig.copy(FIRST, 1).expect("nobody takes the page"));
            assert!(numbers.len() >= 1.max(last), "an older end than before");
            last = numbers.len();
        }
        writer.join().unwrap();
        assert_eq!(walk(&rig.copy(FIRST, 1).unwrap()).1, [0, 1, 2]);
    });
}

#[test]
fn reader_sees_whole_control_records_only() {
    model(|| {
        let rig = rig(1, 1);
        assert!(log(&rig, 1, 0));
        let writer = rig.clone();
        let writer = thread::spawn(move || {
            writer.ring(0).unwrap().count_lost(Lost::Nested, 7);
            assert!(log_at(&writer, 1, 1, 1 << 36));
        });
        let copy = rig.copy(FIRST, 1).expect("nobody takes the page");
        let mut read = Read::default();
        // Asserts that each control record is one.
        read.page(&copy);
        assert!([0, 7].contains(&read.account.told[cause(Lost::Nested)]));
        assert_eq!(read.records[0].0, 0);
        assert!(read.records.get(1).is_none_or(|r| r.0 == 1 << 36));
        writer.join().unwrap();
    });
}

#[test]
fn reader_sees_no_page_before_its_header() {
    model(|| {
        let rig = rig(1, 1);
        let writer = rig.clone();
        let writer = thread::spawn(move || {
            assert!(log_at(&writer, 1, 0, 5 << 36));
        });
        if let Some(copy) = rig.copy(FIRST, 1) {
            let info = page_info(&copy);
            assert_eq!((info.ring, info.seq, info.base), (0, 1, 5 << 36));
            assert!(walk(&copy).1.len() <= 1);
        }
        if let Some((seq, end, records)) = rig.ring(0).unwrap().position() {
            let at = (end - PAGE_HEADER_SIZE as u32) / 16;
            assert_eq!((seq, records), (1, u64::from(at)));
        }
        writer.join().unwrap();
    });
}

/// A reader that sees the link to the next page goes on there, and never comes back.
#[test]
fn copy_with_a_link_has_all_records() {
    model(|| {
        let rig = Rig::with_page_size(2, 1, PAGE);
        rig.adopt(1).unwrap();
        let rig = Arc::new(Shared(rig));
        assert!(log(&rig, 1, 0));
        let first = rig.ring(0).unwrap().oldest_page().unwrap();
        // There is room for one more record.
        let mut n = 1;
        while rig.copy(first, 1).unwrap().len() + 2 * (PAYLOAD + 8) <= PAGE as usize {
            assert!(log(&rig, 1, n));
            n += 1;
        }
        let writer = rig.clone();
        let writer = thread::spawn(move || {
            assert!(log(&writer, 1, n));
            assert!(log(&writer, 1, n + 1));
        });
        let copy = rig.copy(first, 1).expect("nobody takes the page");
        if page_info(&copy).next != NO_PAGE {
            assert_eq!(walk(&copy), (1, (0..=n).collect()));
        }
        writer.join().unwrap();
        let copy = rig.copy(first, 1).unwrap();
        assert!(page_info(&copy).next != NO_PAGE);
        assert_eq!(walk(&copy), (1, (0..=n).collect()));
    });
}

/// A page goes from one ring to another, at the same position, while it is copied.
#[test]
fn copy_is_of_one_life_of_the_page() {
    model(|| {
        let rig = rig(1, 2);
        assert!(log(&rig, 1, 0) && log(&rig, 1, 1));
        let writer = rig.clone();
        let writer = thread::spawn(move || {
            writer.retire(writer.ring(ring_of(&writer, 1)).unwrap(), 9);
            assert!(log(&writer, 2, 0));
        });
        if let Some(copy) = rig.copy(FIRST, 1) {
            let (pid, numbers) = walk(&copy);
            if pid == 0 {
                assert_eq!(page_info(&copy).ring, ring_of(&rig, 2), "started, empty");
            } else {
                assert_eq!(page_info(&copy).ring, ring_of(&rig, pid));
                assert_eq!(numbers, [0, 1][..if pid == 1 { 2 } else { 1 }]);
            }
        }
        writer.join().unwrap();
        assert_eq!(walk(&rig.copy(FIRST, 1).unwrap()), (2, vec![0]));
    });
}

/// A ring of one page, and the number of its records: there is no room for one more.
fn full_page() -> (Arc<Shared>, u32) {
    let mut rig = Rig::with_page_size(1, 1, PAGE);
    rig.max_pages = 1;
    rig.adopt(1).unwrap();
    let rig = Arc::new(Shared(rig));
    let mut n = 0;
    loop {
        assert!(log(&rig, 1, n));
        n += 1;
        if rig.copy(FIRST, 1).unwrap().len() + PAYLOAD + 8 > PAGE as usize {
            return (rig, n);
        }
    }
}

/// As above: here the page goes from a ring to itself.
#[test]
fn copy_is_of_one_position() {
    model(|| {
        let (rig, n) = full_page();
        let writer = rig.clone();
        let writer = thread::spawn(move || assert!(log(&writer, 1, n)));
        if let Some(copy) = rig.copy(FIRST, 1) {
            assert_eq!(walk(&copy), (1, (0..n).collect()));
        }
        writer.join().unwrap();
        assert_eq!(walk(&rig.copy(FIRST, 2).unwrap()), (1, vec![n]));
    });
}

/// A ring of one page overwrites it: its counts never step back or jump.
#[test]
fn counts_are_right_while_the_page_turns() {
    model(|| {
        let (rig, n) = full_page();
        let writer = rig.clone();
        let writer = thread::spawn(move || assert!(log(&writer, 1, n)));
        let ring = rig.ring(0).unwrap();
        let first = u64::from(n);
        let records = ring.records();
        assert!((first..=first + 1).contains(&records), "{records}");
        if let Some((seq, end, records)) = ring.position() {
            let at = u64::from(end - PAGE_HEADER_SIZE as u32) / 16;
            assert_eq!(records, at + (seq - 1) * u64::from(n));
        }
        writer.join().unwrap();
        assert_eq!(ring.records(), u64::from(n) + 1);
    });
}

/// A reader never finds more losses than there are.
#[test]
fn no_loss_is_told_before_it_is_counted() {
    model(|| {
        let rig = rig(1, 1);
        assert!(log(&rig, 1, 0));
        let writer = rig.clone();
        let writer = thread::spawn(move || {
            writer.ring(0).unwrap().count_lost(Lost::Nested, 1);
            assert!(log(&writer, 1, 1));
        });
        if let Some(info) = rig.ring(0).unwrap().info() {
            let i = cause(Lost::Nested);
            assert!(info.reported[i] <= info.lost[i]);
        }
        writer.join().unwrap();
    });
}

/// A task ends; another one wants its page at that moment; a reader asks who it was.
#[test]
fn retire_beside_steal_and_info() {
    model(|| {
        let rig = rig(1, 2);
        let (old, new) = (ring_of(&rig, 1), ring_of(&rig, 2));
        let (ends, steals) = (rig.clone(), rig.clone());
        let ends = thread::spawn(move || {
            // It has lost the race for the page if this fails.
            log(&ends, 1, 0);
            ends.retire(ends.ring(old).unwrap(), 9);
        });
        let steals = thread::spawn(move || log(&steals, 2, 0));
        ends.join().unwrap();
        let stolen = steals.join().unwrap();
        assert_eq!(rig.count_pages(), 1, "a page was lost, or is there twice");
        assert_eq!(rig.ring(new).unwrap().pages(), u32::from(stolen));
    });
}

/// What `info` tells is of one time: here of a task that ends.
#[test]
fn info_is_of_one_state() {
    model(|| {
        let rig = rig(1, 1);
        assert!(log(&rig, 1, 0));
        let task = rig.clone();
        let task = thread::spawn(move || task.retire(task.ring(0).unwrap(), 9));
        if let Some(info) = rig.ring(0).unwrap().info() {
            let comm = &info.owner.comm[..4];
            let seen = (info.state, comm, info.exit_clock, info.records);
            let live = (RingState::Live, &b"test"[..], 0, 1);
            let retired = (RingState::Retired, &b"test"[..], 9, 1);
            assert!(seen == live || seen == retired, "{seen:?}");
        }
        task.join().unwrap();
    });
}

/// As above: here of a task that takes a ring which had another owner.
#[test]
fn info_is_of_one_owner() {
    model(|| {
        let rig = rig(1, 1);
        assert!(log(&rig, 1, 0));
        rig.retire(rig.ring(0).unwrap(), 9);
        rig.pool.drain_retired();
        let task = rig.clone();
        let task = thread::spawn(move || assert!(task.adopt(2).is_some()));
        if let Some(info) = rig.ring(0).unwrap().info() {
            let Owner { pid, tgid, comm, .. } = info.owner;
            assert_eq!((info.state, pid, tgid, &comm[..4]), (RingState::Live, 2, 2, &b"test"[..]));
            assert_eq!((info.exit_clock, info.first_seq, info.records), (0, 2, 0));
        }
        task.join().unwrap();
    });
}

/// Two rings want the pages of one that has retired. With two preemptions it takes minutes: that
/// is done in the deep tier.
#[test]
fn two_thieves_get_two_pages() {
    model_with(1, || {
        let rig = rig(2, 3);
        let old = rig.ring(ring_of(&rig, 1)).unwrap();
        for n in 0.. {
            assert!(log(&rig, 1, n));
            if old.pages() == 2 {
                break;
            }
        }
        rig.retire(old, 9);
        let other = rig.clone();
        let other = thread::spawn(move || log(&other, 2, 0));
        let here = log(&rig, 3, 0);
        let there = other.join().unwrap();
        let pages = |pid| rig.ring(ring_of(&rig, pid)).unwrap().pages();
        assert_eq!((pages(2), pages(3)), (u32::from(there), u32::from(here)));
        assert_eq!(rig.count_pages(), 2, "a page was lost, or is there twice");
        for (pid, logged) in [(2, there), (3, here)] {
            assert_eq!(rig.read(ring_of(&rig, pid)).records.len(), usize::from(logged));
        }
        rig.pool.drain_retired();
        assert_eq!(rig.pool.retired(), 0);
    });
}

/// A task ends while another one starts, and there is only one ring.
#[test]
fn a_new_task_gets_the_ring_of_one_that_ends_as_new() {
    model(|| {
        let rig = rig(1, 1);
        assert!(log(&rig, 1, 0));
        let other = rig.clone();
        let other = thread::spawn(move || other.retire(other.ring(0).unwrap(), 9));
        if let Some(ring) = rig.adopt(2) {
            assert_eq!((ring.pages(), ring.records()), (0, 0));
            assert!(rig.log(ring, 0, 2, &[2, 0, 0, 0, 0, 0, 0, 0]));
            let read = rig.read(0);
            assert_eq!((read.records.len(), read.account.first), (1, Some(0)));
            assert_eq!(rig.pool.gone().0, 1);
        }
        other.join().unwrap();
        assert_eq!(rig.count_pages(), 1);
    });
}
