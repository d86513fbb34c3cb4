// SPDX-License-Identifier: GPL-2.0

//! What a boot has left in memory, out of real rings and pages, whole and damaged in every way,
//! becomes a snapshot.

use std::collections::BTreeMap;

use blog_file::error::Error;
use blog_host_tests::kept::{crc32, file, rig, sealed, BOOT, COMPONENT, RINGS};
use blog_host_tests::persist::{Region, OWNER};
use blog_vmcore::{self as vmcore, problems::Problems};
use kernel::blog::wire::{
    file::{Kind, PageEnd, FILE_MAGIC, SECTION_MAGIC},
    page::{PageInfo, SEQ_MASK},
};
use proptest::prelude::*;

/// What a snapshot has.
#[derive(Debug, Default)]
struct Made {
    kinds: Vec<Kind>,
    /// Pages of rings, by component and ring.
    rings: BTreeMap<(u32, u32), Vec<Vec<u8>>>,
    problems: Problems,
}

impl Made {
    fn has(&self, what: &str) -> bool {
        let mut problems = self.problems.0.iter();
        problems.any(|problem| problem.to_string().contains(what))
    }
}

/// Makes the snapshot, checks its form, and takes it apart.
fn read(bytes: &[u8]) -> Result<Made, Error> {
    let mut written = Vec::new();
    let problems = vmcore::kept(bytes, &mut written)?;
    assert_eq!(&written[..8], &FILE_MAGIC);
    let word = |at: usize| u32::from_le_bytes(written[at..at + 4].try_into().unwrap());
    assert_eq!(word(28), crc32(&written[..28]));
    let mut all = Made { problems, ..Made::default() };
    let mut at = 32;
    while at < written.len() {
        assert_eq!(word(at), SECTION_MAGIC);
        assert_eq!(word(at + 16) as usize, all.kinds.len());
        let payload = &written[at + 32..at + 32 + word(at + 8) as usize];
        assert_eq!(word(at + 24), crc32(payload));
        let first = |n: usize| u32::from_le_bytes(payload[n * 4..n * 4 + 4].try_into().unwrap());
        let kind = Kind::from_u16(word(at + 4) as u16).unwrap();
        match kind {
            Kind::Ring => assert!(all.rings.insert((first(0), first(1)), vec![]).is_none()),
            Kind::Page => {
                let page = &payload[8..payload.len() - PageEnd::SIZE];
                let info = PageInfo::read(page).unwrap();
                assert_eq!(info.end() as usize, page.len());
                let pages = all.rings.get_mut(&(first(0), first(1)));
                pages.unwrap().push(page.to_vec());
            }
            Kind::System => assert_eq!(&payload[payload.len() - 16..], BOOT),
            _ => {}
        }
        all.kinds.push(kind);
        at += 32 + payload.len().next_multiple_of(8);
    }
    assert_eq!(all.kinds.last(), Some(&Kind::End));
    Ok(all)
}

fn why(bytes: &[u8]) -> String {
    read(bytes).unwrap_err().to_string()
}

#[test]
fn all_that_rings_hold_comes_back() {
    let (rig, rings) = rig();
    let made = read(&file(&rig, rings).1).unwrap();
    assert!(made.problems.0.is_empty(), "{:?}", made.problems);
    let mut pages = 0;
    for id in 0..rings as u32 {
        let ring = rig.ring(id).unwrap();
        let at_rest = |mut page: Vec<u8>| {
            let info = PageInfo::read(&page).unwrap();
            let seq = info.seq & SEQ_MASK;
            let bytes = PageInfo { seq, ..info }.bytes();
            page[..bytes.len()].copy_from_slice(&bytes);
            page
        };
        let expected: Vec<_> = rig.pages_of(ring).into_iter().map(at_rest).collect();
        pages += expected.len();
        let found = made.rings.get(&(COMPONENT, id)).cloned();
        assert_eq!(found.unwrap_or_default(), expected, "ring {id}");
    }
    assert!(pages > 20, "{pages} pages only");
    let count = |kind| made.kinds.iter().filter(|k| **k == kind).count();
    assert_eq!((count(Kind::System), count(Kind::Component)), (1, 1));
}

#[test]
fn what_is_no_such_memory_is_refused_as_a_whole() {
    let (rig, rings) = rig();
    let (head, whole) = file(&rig, rings);
    assert!(why(&[]).contains("nothing has survived"));
    assert!(why(&vec![0; whole.len()]).contains("nothing has survived"));
    let mut damaged = whole.clone();
    damaged[40] ^= 1;
    assert!(why(&damaged).contains("its header is damaged"));
    let with = |change: &dyn Fn(&mut Region)| {
        let (mut bytes, mut head) = (whole.clone(), head);
        change(&mut head);
        bytes[..Region::SIZE].copy_from_slice(&sealed(head).bytes());
        read(&bytes)
    };
    let refused = |change: &dyn Fn(&mut Region)| with(change).unwrap_err().to_string();
    assert!(refused(&|head| head.version += 1).contains("memory of version 4"));
    assert!(refused(&|head| head.wire_version = 77).contains("records of"));
    assert!(refused(&|head| head.snapshot_version = 77).contains("descriptions of version 77"));
    assert!(refused(&|head| head.endian = head.endian.swap_bytes()).contains("big-endian"));
    for change in [
        |head: &mut Region| head.page_size = 0,
        |head: &mut Region| head.page_size = 4097,
        |head: &mut Region| head.rings_at = 0,
        |head: &mut Region| head.facts = 8,
        |head: &mut Region| head.rings = u32::MAX,
        |head: &mut Region| head.rings = 0,
        |head: &mut Region| head.rings = 8,
        |head: &mut Region| head.version = 2,
    ] {
        assert!(refused(&change).contains("damaged"));
    }
    // These find nothing, or something else.
    for change in [
        |head: &mut Region| head.frames = u32::MAX,
        |head: &mut Region| head.frames = 0,
        |head: &mut Region| head.facts = !7,
    ] {
        assert!(with(&change).unwrap().problems.any_grave());
    }
}

#[test]
fn of_a_file_that_is_cut_off_the_rest_is_read() {
    let (rig, rings) = rig();
    let (_, whole) = file(&rig, rings);
    let intact = read(&whole).unwrap();
    let mut found = 0;
    for end in (Region::SIZE..whole.len()).step_by(511) {
        let made = read(&whole[..end]).unwrap();
        assert!(made.problems.any_grave(), "{end}");
        for (ring, pages) in made.rings.iter().filter(|(ring, _)| ring.0 == COMPONENT) {
            assert!(pages.iter().all(|page| intact.rings[ring].contains(page)));
            found += pages.len();
        }
    }
    assert!(found > 100, "{found}");
}

#[test]
fn one_copy_of_the_facts_is_enough() {
    let (rig, rings) = rig();
    let (head, whole) = file(&rig, rings);
    let mut torn = whole.clone();
    torn[head.facts_at(0) as usize + 200] ^= 4;
    // The copy before knows of no component. Its rings are there.
    let made = read(&torn).unwrap();
    assert!(made.has("component7: its name is not known"));
    assert_eq!(made.rings, read(&whole).unwrap().rings);
    torn[head.facts_at(1) as usize + 16] ^= 1;
    let made = read(&torn).unwrap();
    assert!(made.has("facts: both copies are damaged"));
    assert_eq!(made.rings, read(&whole).unwrap().rings);
}

/// One flipped bit in a frame costs what is there, and nothing else.
#[test]
fn a_flipped_bit_costs_one_ring_or_one_page() {
    let (rig, rings) = rig();
    let (head, whole) = file(&rig, rings);
    let intact = read(&whole).unwrap();
    let start = head.frames_at() as usize;
    let (mut told, mut cost) = (0, 0);
    for at in (start..whole.len()).step_by(61) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at / 7 % 8);
        let made = read(&bytes).unwrap();
        told += usize::from(made.problems.any_grave());
        let same = |ring, pages| made.rings.get(ring) == Some(pages);
        let lost = intact.rings.iter().filter(|(id, pages)| !same(*id, *pages));
        let lost = lost.count();
        assert!(lost <= 2, "{lost} rings at {at:#x}");
        cost += lost;
    }
    assert!(told > 50 && cost > 100, "{told} {cost}");
}

/// Of several memories of a component, only the latest counts.
#[test]
fn what_was_being_freed_is_left_out() {
    let (rig, rings) = rig();
    let (head, mut bytes) = file(&rig, rings);
    let owners = head.owners_at() as usize;
    // The page of the first rings is of a memory before.
    bytes[owners + OWNER + 4] -= 1;
    let made = read(&bytes).unwrap();
    assert!(made.rings.keys().all(|(_, id)| *id >= RINGS as u32));
    assert!(!made.rings.is_empty());
    assert!(made.has("a page was just leaving its ring"));
}

proptest! {
    /// Any bytes anywhere: each snapshot is well-formed.
    #[test]
    fn damage_of_any_kind_makes_a_snapshot_or_none(
        hits in prop::collection::vec((any::<prop::sample::Index>(), any::<u64>(), 0u8..9), 1..40),
        sealed: bool,
    ) {
        let (rig, rings) = rig();
        let (head, mut bytes) = file(&rig, rings);
        for (at, value, len) in hits {
            let at = at.index(bytes.len() - 8);
            bytes[at..at + len as usize].copy_from_slice(&value.to_le_bytes()[..len as usize]);
        }
        if sealed {
            bytes[..Region::SIZE].copy_from_slice(&head.bytes());
        }
        let _ = read(&bytes);
    }
}
