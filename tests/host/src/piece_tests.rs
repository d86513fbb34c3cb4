// SPDX-License-Identifier: GPL-2.0

//! The rest of a page for a reader that has had a part of it, which must decode alone.

use crate::common::snapshot::Page;
use crate::piece::rest_after;
use crate::rig::pages::{walk, Item};
use kernel::blog::wire::{
    page::{PageInfo, PAGE_HEADER_SIZE},
    record::{Context, ControlRecord, Header, TASK_SIZE},
};

/// Position of the page, and ordinal of its first record.
const SEQ: u64 = 7;
const FIRST: u64 = 100;
/// What `rest_after` may put in front.
const ROOM: usize = TASK_SIZE as usize;

fn task(pid: i32) -> ControlRecord {
    ControlRecord::Task {
        context: Context::Task as u8,
        cpu: 3,
        pid,
        tgid: pid + 1,
        comm: *b"a name of 15 by\0",
    }
}

/// Records of a shared ring, over turns of the clock; site 0: a control record.
fn items() -> Vec<Vec<u8>> {
    let log = |clock, site, payload: &[u8]| {
        let header = Header::new(clock, site, payload.len() as u32);
        [&header.0.to_le_bytes()[..], payload].concat()
    };
    let control = |clock, record: ControlRecord| record.bytes(clock)[..record.size()].to_vec();
    let (turn, lost) = (1 << 36, ControlRecord::Lost { cause: 1, count: 5 });
    vec![
        log(turn + 5, 1, b""),
        control(turn + 6, task(10)),
        log(turn + 6, 2, b"two"),
        control(3 * turn + 1, ControlRecord::TimeExtend(3 * turn + 1)),
        log(3 * turn + 1, 3, &[3; 40]),
        control(3 * turn + 2, lost),
        control(3 * turn + 3, task(20)),
        log(3 * turn + 3, 4, b"four"),
        log(3 * turn + 4, 5, b""),
        control(3 * turn + 5, lost),
    ]
}

fn is_control(item: &[u8]) -> bool {
    Header(u64::from_le_bytes(*item.first_chunk().unwrap())).site() == 0
}

/// A page of these items, without room after them.
fn page(items: &[Vec<u8>]) -> Vec<u8> {
    let mut page = Page::new(1, SEQ, 1 << 36, FIRST);
    page.bytes.extend(items.concat());
    page.publish(items.iter().filter(|item| !is_control(item)).count() as u32);
    page.bytes
}

/// A record as it is understood: time, site, payload, and pid of who wrote it.
type Meaning = (u64, u32, Vec<u8>, Option<i32>);

/// The records of a page, and its control records with their times.
fn read(page: &[u8]) -> (Vec<Meaning>, Vec<(u64, ControlRecord)>) {
    let (mut who, mut records, mut controls) = (None, vec![], vec![]);
    walk(page, &mut 0, |item| match item {
        Item::Record { clock, site, payload, .. } => {
            records.push((clock, site, payload.to_vec(), who));
        }
        Item::Control(clock, said) => {
            if let ControlRecord::Task { pid, .. } = said {
                who = Some(pid);
            }
            controls.push((clock, said));
        }
        Item::Wrong(what, at) => panic!("{what}, at record {at}"),
    });
    (records, controls)
}

fn from(seq: u64, end: usize) -> (u64, u32) {
    (seq, end as u32)
}

#[test]
fn the_rest_of_a_page_means_what_it_meant_in_the_page() {
    let items = items();
    let whole = page(&items);
    let (all, controls) = read(&whole);
    for had in 0..items.len() {
        let (before, rest) = items.split_at(had);
        let position = PAGE_HEADER_SIZE + before.concat().len();
        let done = before.iter().filter(|item| !is_control(item)).count();
        let said = &controls[..had - done];
        let first = FIRST + done as u64;
        let mut copy = whole.clone();
        copy.resize(whole.len() + ROOM, 0xff);
        let piece = rest_after(&mut copy, from(SEQ, position)).unwrap();
        copy.truncate(piece.len);
        let info = PageInfo::read(&copy).unwrap();
        assert_eq!(info.end() as usize, piece.len);
        assert_eq!(piece.end as usize, whole.len());
        assert_eq!((piece.first, info.first), (first, first));
        assert_eq!(piece.records, (all.len() - done) as u64);

        let (records, now) = read(&copy);
        assert_eq!(records, all[done..], "from record {had}");
        // In front: the writer of the rest, at the time that the rest counts from.
        let base = if had > 3 { 3 << 36 | 1 } else { 1 << 36 };
        let mut who = said.iter().rev().map(|(_, said)| *said);
        let who = who.find(|said| matches!(said, ControlRecord::Task { .. }));
        let front: Vec<_> = who.into_iter().map(|said| (base, said)).collect();
        assert_eq!(now, [&front[..], &controls[had - done..]].concat());
        let size: usize = front.iter().map(|(_, said)| said.size()).sum();
        assert_eq!(piece.len, PAGE_HEADER_SIZE + size + rest.concat().len());
    }
}

#[test]
fn a_page_behind_the_position_comes_whole_and_one_before_it_not_at_all() {
    let whole = page(&items());
    let mut copy = whole.clone();
    // Nothing is put in front of it, so it needs no room.
    let piece = rest_after(&mut copy, from(SEQ - 1, usize::MAX)).unwrap();
    assert_eq!((piece.len, piece.first, piece.records), (whole.len(), FIRST, 5));
    assert_eq!(copy, whole);
    for from in [from(SEQ + 1, PAGE_HEADER_SIZE), from(SEQ, whole.len())] {
        assert!(rest_after(&mut whole.clone(), from).is_none());
    }
    // Where the page has less than was read of it before, it is another one.
    let from_longer = from(SEQ, whole.len() + ROOM);
    let mut copy = [&whole[..], &[0; 2 * ROOM]].concat();
    assert!(rest_after(&mut copy, from_longer).is_none());
    // A page that has begun and has nothing yet is news, too.
    let piece = rest_after(&mut page(&[]), from(SEQ - 1, 0)).unwrap();
    assert_eq!((piece.len, piece.records), (PAGE_HEADER_SIZE, 0));
}

#[test]
fn nothing_is_left_of_a_page_that_is_not_well_formed() {
    let items = items();
    let whole = page(&items);
    let positions: Vec<_> =
        (0..=items.len()).map(|n| PAGE_HEADER_SIZE + items[..n].concat().len()).collect();
    for position in PAGE_HEADER_SIZE..whole.len() {
        let mut copy = [&whole[..], &[0; ROOM]].concat();
        let piece = rest_after(&mut copy, from(SEQ, position));
        assert_eq!(piece.is_some(), positions.contains(&position), "at {position}");
    }
    // A position in the header, an end after the copy, and no room for what is put in front.
    assert!(rest_after(&mut whole.clone(), from(SEQ, PAGE_HEADER_SIZE - 1)).is_none());
    assert!(rest_after(&mut whole[..whole.len() - 1].to_vec(), from(SEQ - 1, 0)).is_none());
    // What was read of the page may be shorter than the record of the writer in front of the rest.
    let items = [task(10), ControlRecord::TimeExtend(2 << 36)].map(|record| {
        let bytes = record.bytes(1 << 36);
        bytes[..record.size()].to_vec()
    });
    let short = page(&items);
    assert!(rest_after(&mut short.clone(), from(SEQ, positions[0] + items[0].len())).is_some());
}
