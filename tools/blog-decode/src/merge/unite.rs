// SPDX-License-Identifier: GPL-2.0

//! The pages of each ring, united over all files: the same page in two files counts once, and what
//! one file has lost another may have.

use std::{
    cmp::Reverse,
    collections::HashMap, //
};

use super::Stream;
use crate::{
    snapshot::{
        text,
        PageRef,
        RingPages,
        Snapshot, //
    },
    wire::record::{
        LOST_CAUSES,
        SEQ_MASK, //
    }, //
};

/// What tells rings apart: boot, component, which of those of the same name, ring id, owner.
type Key = (
    Result<[u8; 16], usize>,
    String,
    usize,
    u32,
    Option<(u8, u32, i32)>,
);

fn key(i: usize, file: &Snapshot, ring: &RingPages) -> Key {
    let component = file.component_name(ring.id.0);
    // A component that was made again is another one: the capture of a stream can have both.
    let newer = file.components.values();
    let newer = newer
        .filter(|c| c.id > ring.id.0 && text(&c.name) == component)
        .count();
    // A ring that was given to another task is another ring.
    let who = ring.ring.as_ref().map(|r| (r.context, r.cpu, r.pid));
    // A boot, or for lack of its id a file.
    (file.boot_id().ok_or(i), component, newer, ring.id.1, who)
}

/// Unites the rings of all files. `want` chooses components by name.
pub fn unite(files: &[Snapshot], want: impl Fn(&str) -> bool) -> Vec<Stream> {
    let taken = |i: usize| files[i].pairs.iter().map(|p| p.clock).max();
    let mut streams: Vec<Stream> = Vec::new();
    let mut index = HashMap::new();
    for (i, file) in files.iter().enumerate() {
        for ring in &file.rings {
            let component = file.component_name(ring.id.0);
            if !want(&component) {
                continue;
            }
            let key = key(i, file, ring);
            let at = *index.entry(key).or_insert_with(|| {
                streams.push(Stream {
                    component,
                    id: ring.id.1,
                    ring: None,
                    file: i,
                    pages: Vec::new(),
                    from: 0,
                    since: 0,
                });
                streams.len() - 1
            });
            let stream = &mut streams[at];
            if let Some(new) = &ring.ring {
                // The latest, not the largest: `clear` makes counts smaller.
                if stream.ring.is_none() || taken(stream.file) <= taken(i) {
                    stream.ring = Some(*new);
                    stream.file = i;
                }
            }
            stream.pages.extend(ring.pages.iter().map(|p| (i, *p)));
        }
    }
    for stream in &mut streams {
        unite_pages(&mut stream.pages);
    }
    streams
}

/// The rings of the second of two files of one boot, with what the first doesn't have.
pub fn newer(files: &[Snapshot], want: impl Fn(&str) -> bool) -> Vec<Stream> {
    let [old, new] = files else {
        return Vec::new();
    };
    let before: HashMap<Key, &RingPages> = old
        .rings
        .iter()
        .map(|ring| (key(0, old, ring), ring))
        .collect();
    let mut streams = Vec::new();
    for ring in &new.rings {
        let component = new.component_name(ring.id.0);
        if !want(&component) {
            continue;
        }
        let mut stream = Stream {
            component,
            id: ring.id.1,
            ring: ring.ring,
            file: 1,
            pages: ring.pages.iter().map(|p| (1, *p)).collect(),
            from: 0,
            since: 0,
        };
        unite_pages(&mut stream.pages);
        if let Some(old) = before.get(&key(1, new, ring)) {
            stream.leave_out(old);
        }
        streams.push(stream);
    }
    streams
}

impl Stream {
    /// Leaves out what an earlier file has.
    fn leave_out(&mut self, old: &RingPages) {
        let seq = |p: &PageRef| p.info.seq & SEQ_MASK;
        let last = old.pages.iter().max_by_key(|p| seq(p));
        let from = last.map_or(0, end_of);
        let now = self
            .pages
            .iter()
            .find(|(_, p)| last.is_some_and(|l| seq(p) == seq(l)));
        // `clear` counts records anew: then all that is here is new.
        let is_cleared = self.ring.is_some_and(|r| r.records < from)
            || last
                .zip(now)
                .is_some_and(|(l, (_, n))| l.info.first != n.info.first);
        if is_cleared {
            return;
        }
        self.from = from;
        self.since = last.map_or(0, |p| p.info.base);
        self.pages.retain(|(_, p)| end_of(p) > from);
        if let (Some(ring), Some(old)) = (&mut self.ring, &old.ring) {
            for i in 0..LOST_CAUSES {
                ring.lost[i] = ring.lost[i].saturating_sub(old.lost[i]);
                ring.told[i] = ring.told[i].saturating_sub(old.told[i]);
            }
        }
    }
}

/// Ordinal after the last record of a page.
pub(super) fn end_of(page: &PageRef) -> u64 {
    page.info.first.saturating_add(page.info.records().into())
}

/// Puts a ring's pages in order, and takes out what is there twice.
///
/// A ring's page numbers never repeat. A capture of a stream has a page in pieces, which go on
/// where the one before has ended. Of the same page, the file that has the most of its records
/// counts: another was made earlier, or lacks what has been cleared since. What others have before
/// and after that is used too, unless `clear` has come between: it counts records anew, so that
/// ordinals and time disagree.
fn unite_pages(pages: &mut Vec<(usize, PageRef)>) {
    // Stable: pieces stay in the order of their file.
    pages.sort_by_key(|(file, p)| (p.info.seq & SEQ_MASK, *file));
    let mut united = Vec::with_capacity(pages.len());
    for page in pages.chunk_by(|(_, a), (_, b)| (a.info.seq ^ b.info.seq) & SEQ_MASK == 0) {
        if let [one] = page {
            united.push(*one);
            continue;
        }
        let records = |pieces: &[(usize, PageRef)]| -> u64 {
            pieces
                .iter()
                .map(|(_, p)| u64::from(p.info.records()))
                .sum()
        };
        let mut best: &[(usize, PageRef)] = &[];
        for pieces in page.chunk_by(|(a, _), (b, _)| a == b) {
            if best.is_empty() || records(pieces) > records(best) {
                best = pieces;
            }
        }
        let fits = |(file, p): &&(usize, PageRef)| {
            best.iter().all(|(best_file, b)| {
                file == best_file
                    || p.info.first.cmp(&b.info.first) == p.info.base.cmp(&b.info.base)
            })
        };
        let mut pieces: Vec<_> = page.iter().filter(fits).copied().collect();
        pieces.sort_by_key(|(_, p)| (p.info.first, p.info.base, Reverse(p.info.records())));
        let mut end = None;
        pieces.retain(|(_, p)| {
            // A piece without records may still tell of losses or of its writer.
            let is_new = end.is_none_or(|end| end_of(p) > end);
            end = end.max(Some(end_of(p)));
            is_new
        });
        united.extend(pieces);
    }
    *pages = united;
}
