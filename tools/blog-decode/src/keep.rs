// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! How far back a ring reaches, and how much room its component needs to reach back a given time.
//!
//! A ring needs its bytes of that time; if it doesn't reach back so far, in proportion. If pages are
//! scarce, the kernel gives each ring of a living task an equal share. So in the room that is
//! advised the busiest ring has what it needs, and each other one has either as much or all that it
//! ever had. Rings of ended tasks lose their pages first, and only have what they need.

use crate::{
    merge::{Counts, Stream},
    wire::{
        page::PAGE_HEADER_SIZE,
        record::{Context, TASK_SIZE},
    },
};

/// Size of a page, of the chunk that a ring starts with, and of the smallest component and ring.
const PAGE: u64 = 4096;
const CHUNK: u64 = 256;
const LEAST_KB: u64 = 16;
const LEAST_RING_KB: u64 = 8;
/// A page for the rings themselves has so many.
const RINGS: u64 = 15;
/// One part in so many of the pages is for tasks that have none yet.
const SPARE: u64 = 8;

/// The records of a ring since its last loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stretch {
    /// Clock of the first one.
    pub first: Option<u64>,
    /// Records are missing before the first one.
    pub is_cut: bool,
    /// And after the last one.
    pub is_lost: bool,
    /// Their bytes in the time that is to be kept.
    bytes: u64,
    /// Bytes of the longest one.
    longest: u64,
}

impl Stretch {
    /// Records are missing here.
    pub fn loss(&mut self) {
        (self.is_cut, self.is_lost) = (true, true);
    }

    /// The next record; its bytes may count.
    pub fn record(&mut self, clock: u64, bytes: Option<u64>) {
        if self.is_lost || self.first.is_none() {
            (self.first, self.is_lost, self.bytes) = (Some(clock), false, 0);
        }
        self.bytes += bytes.unwrap_or(0);
        self.longest = self.longest.max(bytes.unwrap_or(0));
    }
}

/// What a ring holds.
pub(crate) struct Held {
    pub(crate) counts: Counts,
    pub(crate) records: u64,
    pub(crate) bytes: u64,
    pub(crate) stretch: Stretch,
    /// When that begins, in ns since boot.
    pub(crate) from: Option<i128>,
}

/// When a component has its first record, if it has any, and its end, in ns since boot.
#[derive(Clone, Copy)]
pub(crate) struct Times {
    pub(crate) first: Option<i128>,
    pub(crate) end: i128,
}

/// The settings with which a component would reach back as far as is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advice {
    /// All memory of the component.
    pub size_kb: u64,
    /// That of its busiest ring.
    pub ring_kb: u64,
}

/// A ring's share in the advice, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Need {
    /// For the time that is wanted.
    wanted: u64,
    /// For all that it ever had; of an ended task, for what is wanted.
    ever: u64,
}

/// Room for records of so many bytes.
fn room(bytes: u64, longest: u64) -> u64 {
    let header = PAGE_HEADER_SIZE as u64;
    if bytes == 0 {
        return 0;
    }
    if bytes <= CHUNK - header {
        return CHUNK;
    }
    // The end of a page may be too short for a record; and one page is always being filled.
    let page = PAGE.saturating_sub(header + longest).max(longest).max(1);
    (bytes.div_ceil(page) + 1).saturating_mul(PAGE)
}

fn scaled(n: u64, by: i128, of: i128) -> u64 {
    let product = i128::from(n).saturating_mul(by);
    u64::try_from(product / of + i128::from(product % of != 0)).unwrap_or(u64::MAX)
}

/// What a ring needs for `ns`. `None`: it has records, but from no time to tell a rate from.
fn need(ns: i128, of: Times, stream: &Stream, ring: &Held) -> Option<Need> {
    let (stretch, n) = (&ring.stretch, &ring.counts);
    if n.decoded == 0 {
        // Of what is all gone, nobody knows a rate.
        return Some(Need { wanted: 0, ever: 0 });
    }
    // A record in a shared ring may come with one that names its writer.
    let each = match stream.context() {
        Some(Context::Shared) => ring.records * u64::from(TASK_SIZE),
        _ => 0,
    };
    let held = ring.bytes + each;
    let bytes = scaled(held, stretch.bytes.into(), ring.bytes.into());
    let ever = scaled(held, n.sum().into(), n.decoded.into());
    let from = match stretch.is_cut {
        true => ring.from?,
        // Nothing is missing in it from as long as there is anything of the component.
        false => of.first?,
    };
    let window = of.end - from;
    let mut wanted = match window {
        _ if bytes == 0 => 0,
        _ if window >= ns => bytes,
        ..=0 => return None,
        _ => scaled(bytes, ns, window),
    };
    let is_over = stream.ring().is_some_and(|r| r.retired != 0);
    if is_over {
        wanted = wanted.min(ever);
    }
    let longest = stretch.longest;
    let wanted = room(wanted, longest);
    Some(Need {
        wanted,
        ever: match is_over {
            true => wanted,
            false => room(ever, longest).max(wanted),
        },
    })
}

/// The settings with which all `rings` of a component would reach back `ns` from its end, if they
/// go on as they do. `None`: nobody knows.
pub(crate) fn advise<'a>(
    ns: i128,
    of: Times,
    rings: impl Iterator<Item = (&'a Stream, Held)>,
) -> Option<Advice> {
    let needs: Option<Vec<Need>> = rings
        .map(|(stream, ring)| {
            // What the reader has left out takes room, too.
            let is_whole = ring.counts.left_out == 0;
            need(ns, of, stream, &ring).filter(|_| is_whole)
        })
        .collect();
    Some(sum(&needs?))
}

fn sum(needs: &[Need]) -> Advice {
    let most = needs.iter().map(|n| n.wanted).max().unwrap_or(0);
    let held = needs.iter().map(|n| n.ever.min(most).max(n.wanted));
    let pages = held.fold(0, u64::saturating_add).div_ceil(PAGE) + 1;
    let pages = pages.saturating_add(pages.div_ceil(SPARE - 1));
    let rings = (needs.len() as u64).div_ceil(RINGS);
    Advice {
        size_kb: pages.saturating_add(rings).saturating_mul(PAGE / 1024).max(LEAST_KB),
        ring_kb: most.div_ceil(PAGE).saturating_mul(PAGE / 1024).max(LEAST_RING_KB),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_that_of_chunks_and_pages() {
        assert_eq!(room(0, 0), 0);
        assert_eq!(room(208, 20), 256);
        assert_eq!(room(209, 20), 2 * 4096);
        assert_eq!(room(4028, 20), 2 * 4096);
        assert_eq!(room(4029, 20), 3 * 4096);
        assert_eq!(room(u64::MAX, 1031), u64::MAX);
    }

    #[test]
    fn each_ring_has_as_much_as_the_busiest_or_all_that_it_had() {
        let page = |n: u64| n * PAGE;
        let need = |wanted, ever| Need { wanted, ever };
        let busy = need(page(100), page(1000));
        let slow = need(page(2), page(700));
        let new = need(CHUNK, CHUNK);
        let of = |needs: &[Need]| sum(needs);
        assert_eq!(of(&[]), Advice { size_kb: 16, ring_kb: 8 });
        // 100 pages, one that the others may share, one in eight spare, one for the ring.
        let pages = |n: u64, rings: u64| (n + n.div_ceil(7) + rings) * 4;
        assert_eq!(of(&[busy]), Advice { size_kb: pages(101, 1), ring_kb: 400 });
        assert_eq!(of(&[busy, slow]).size_kb, pages(201, 1));
        assert_eq!(of(&[busy, slow, new]).size_kb, pages(202, 1));
        assert_eq!(of(&[new; 160]).size_kb, pages(11, 11));
    }

    #[test]
    fn a_loss_starts_anew_with_the_next_record() {
        let mut s = Stretch::default();
        s.record(5, Some(20));
        s.record(6, None);
        assert_eq!((s.first, s.bytes, s.is_cut, s.is_lost), (Some(5), 20, false, false));
        s.loss();
        // Nothing came after it.
        assert_eq!((s.first, s.bytes, s.is_cut, s.is_lost), (Some(5), 20, true, true));
        s.record(9, Some(30));
        s.record(10, Some(12));
        assert_eq!((s.first, s.bytes, s.is_cut, s.is_lost), (Some(9), 42, true, false));
    }
}
