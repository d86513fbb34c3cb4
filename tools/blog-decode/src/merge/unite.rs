// SPDX-License-Identifier: GPL-2.0

//! The pages of each ring, united over all files: the same page in two files counts once, and what
//! one file has lost another may have.

use std::{
    cmp::{
        Ordering,
        Reverse, //
    },
    collections::HashMap,
    ops::Range, //
};

use super::Stream;
use crate::{
    boot,
    error::Error,
    snapshot::{
        run::{
            end_of,
            follows,
            seq,
            Run, //
        },
        text,
        PageRef,
        RingPages,
        Snapshot, //
    },
    wire::record::LOST_CAUSES, //
};

/// What tells rings apart: boot, component, which of those of the same name, ring id, owner.
type Key = (usize, String, usize, u32, Option<(u8, u32, i32)>);

fn key(boot: usize, file: &Snapshot, ring: &RingPages) -> Key {
    let component = file.component_name(ring.id.0);
    // A component that was made again is another one: the capture of a stream can have both.
    let newer = file.components.values();
    let newer = newer
        .filter(|c| c.id > ring.id.0 && text(&c.name) == component)
        .count();
    // A ring that was given to another task is another ring.
    let who = ring.ring.as_ref().map(|r| (r.context, r.cpu, r.pid));
    (boot, component, newer, ring.id.1, who)
}

/// Unites the rings of all files. `want` chooses components by name.
pub fn unite(files: &[Snapshot], want: impl Fn(&str) -> bool) -> Vec<Stream> {
    let streams = united(files, 0..files.len(), &want).into_iter();
    streams.map(|(_, stream)| stream).collect()
}

/// Unites the rings of some of the files.
fn united(
    files: &[Snapshot],
    of: Range<usize>,
    want: &impl Fn(&str) -> bool,
) -> Vec<(Key, Stream)> {
    let taken = |i: usize| files[i].pairs.iter().map(|p| p.clock).max();
    let mut streams: Vec<(Key, Stream)> = Vec::new();
    let (boots, mut index) = (boot::same(files), HashMap::new());
    for (i, file) in files.iter().enumerate().filter(|(i, _)| of.contains(i)) {
        for ring in &file.rings {
            let component = file.component_name(ring.id.0);
            if !want(&component) {
                continue;
            }
            let key = key(boots[i], file, ring);
            let at = *index.entry(key.clone()).or_insert_with(|| {
                let stream = Stream {
                    component,
                    id: ring.id.1,
                    ring: None,
                    file: i,
                    runs: Vec::new(),
                    from: 0,
                    since: 0,
                };
                streams.push((key, stream));
                streams.len() - 1
            });
            let (_, stream) = &mut streams[at];
            if let Some(new) = &ring.ring {
                // The latest, not the largest: `clear` makes counts smaller.
                if stream.ring.is_none() || taken(stream.file) <= taken(i) {
                    stream.ring = Some(*new);
                    stream.file = i;
                }
            }
            stream.runs.reserve_exact(ring.runs.len());
            stream.runs.extend(ring.runs.iter().map(|run| (i, *run)));
        }
    }
    for (_, stream) in &mut streams {
        unite_runs(files, &mut stream.runs);
    }
    streams
}

/// The rings of all files but the first `old`, with what those don't have. All are of one boot. An
/// error: it is the other way round.
pub fn newer(
    files: &[Snapshot],
    old: usize,
    want: impl Fn(&str) -> bool,
) -> Result<Vec<Stream>, Error> {
    let old = old.min(files.len());
    let before: HashMap<Key, Stream> = united(files, 0..old, &want).into_iter().collect();
    let (mut is_older, mut is_newer) = (false, false);
    let mut streams = Vec::new();
    for (key, mut stream) in united(files, old..files.len(), &want) {
        let order = match before.get(&key) {
            Some(old) => stream.leave_out(old, files),
            None => Ordering::Greater,
        };
        is_older |= order.is_lt();
        is_newer |= order.is_gt();
        streams.push(stream);
    }
    match is_older && !is_newer {
        true => Err(Error::File(
            "OLD has all that NEW has, and more: they are swapped".into(),
        )),
        false => Ok(streams),
    }
}

impl Stream {
    /// Leaves out what earlier files have; the answer is whether it has more, or less.
    fn leave_out(&mut self, old: &Self, files: &[Snapshot]) -> Ordering {
        let pages = old.runs.iter().map(|(_, run)| &run.last);
        let Some(last) = pages.max_by_key(|p| (seq(p), p.info.first)) else {
            return match self.runs.is_empty() {
                true => Ordering::Equal,
                false => Ordering::Greater,
            };
        };
        let from = end_of(last);
        if self.is_cleared(last, files) {
            return Ordering::Greater;
        }
        self.from = from;
        self.since = last.info.base;
        let ends = self.runs.iter().map(|(_, run)| end_of(&run.last));
        // A stream counts only what it has.
        let ring = self.ring.filter(|_| !files[self.file].stream);
        let end = ends.chain(ring.map(|r| r.records)).max();
        let runs = self.runs.iter();
        let new =
            runs.filter_map(|(i, run)| Some((*i, run.skip(&files[*i], |p| end_of(p) <= from)?)));
        self.runs = new.collect();
        if let (Some(ring), Some(old)) = (&mut self.ring, &old.ring) {
            for i in 0..LOST_CAUSES {
                ring.lost[i] = ring.lost[i].saturating_sub(old.lost[i]);
                ring.told[i] = ring.told[i].saturating_sub(old.told[i]);
            }
        }
        end.map_or(Ordering::Equal, |end| end.cmp(&from))
    }

    /// Whether `clear` has come behind `last`, which an earlier file has: it counts records anew, so
    /// that ordinals and time disagree. Then all that is here is new.
    fn is_cleared(&self, last: &PageRef, files: &[Snapshot]) -> bool {
        let mut runs = self.runs.iter();
        let now = runs.find_map(|(i, run)| run.skip(&files[*i], |p| seq(p) < seq(last)));
        match now.map(|run| run.first).filter(|p| seq(p) == seq(last)) {
            // One may be a piece of the other.
            Some(now) => {
                let first = now.info.first.cmp(&last.info.first);
                let base = now.info.base.cmp(&last.info.base);
                first != base && (first.is_eq() || base.is_ne())
            }
            None => match self.runs.first() {
                Some((_, run)) => {
                    let info = &run.first.info;
                    info.first < end_of(last) && info.base > last.info.base
                }
                None => {
                    let records = self.ring.map(|r| r.records);
                    !files[self.file].stream && records.is_some_and(|n| n < end_of(last))
                }
            },
        }
    }
}

/// Puts a ring's pages in order, and takes out what is there twice.
///
/// Runs of different pages stay as they are. Those that overlap are taken apart, page by page.
fn unite_runs(files: &[Snapshot], runs: &mut Vec<(usize, Run)>) {
    if runs.len() < 2 {
        return;
    }
    // Stable: pieces stay in the order of their file.
    runs.sort_by_key(|(file, run)| (seq(&run.first), *file));
    let mut united: Vec<(usize, Run)> = Vec::with_capacity(runs.len());
    let mut rest = runs.as_slice();
    while let Some(((_, first), others)) = rest.split_first() {
        let mut last = seq(&first.last);
        let overlap = others.iter().take_while(|(_, run)| {
            let is_in = seq(&run.first) <= last;
            last = last.max(seq(&run.last));
            is_in
        });
        let (group, others) = rest.split_at(1 + overlap.count());
        rest = others;
        let goes_on = |w: &[(usize, Run)]| w[0].0 == w[1].0 && follows(&w[0].1.last, &w[1].1.first);
        if group.windows(2).all(goes_on) {
            united.extend_from_slice(group);
            continue;
        }
        for (file, page) in unite_pages(taken_apart(files, group)) {
            let is_more = |(of, run): &mut (usize, Run)| *of == file && run.append_next(&page);
            if !united.last_mut().is_some_and(is_more) {
                united.push((file, page));
            }
        }
    }
    *runs = united;
}

/// A run for each page.
fn taken_apart(files: &[Snapshot], runs: &[(usize, Run)]) -> Vec<(usize, Run)> {
    let mut pages = Vec::new();
    for (file, run) in runs {
        pages.extend(run.pages(&files[*file]).map(|page| (*file, page)));
    }
    pages.sort_by_key(|(file, p)| (seq(&p.first), *file));
    pages
}

/// Takes out what is there twice.
///
/// A ring's page numbers never repeat. A capture of a stream has a page in pieces, which go on
/// where the one before has ended. Of the same page, the file that has the most of its records
/// counts: another was made earlier, or lacks what has been cleared since. What others have before
/// and after that is used too, unless `clear` has come between: it counts records anew, so that
/// ordinals and time disagree.
fn unite_pages(pages: Vec<(usize, Run)>) -> Vec<(usize, Run)> {
    let mut united = Vec::with_capacity(pages.len());
    for page in pages.chunk_by(|(_, a), (_, b)| seq(&a.first) == seq(&b.first)) {
        if let [one] = page {
            united.push(*one);
            continue;
        }
        let records = |pieces: &[(usize, Run)]| -> u64 {
            let each = pieces.iter().map(|(_, p)| p.first.info.records());
            each.map(u64::from).sum()
        };
        let mut best: &[(usize, Run)] = &[];
        for pieces in page.chunk_by(|(a, _), (b, _)| a == b) {
            if best.is_empty() || records(pieces) > records(best) {
                best = pieces;
            }
        }
        let fits = |(file, p): &&(usize, Run)| {
            let a = &p.first.info;
            best.iter().all(|(best_file, b)| {
                let b = &b.first.info;
                file == best_file || a.first.cmp(&b.first) == a.base.cmp(&b.base)
            })
        };
        let mut pieces: Vec<_> = page.iter().filter(fits).copied().collect();
        pieces.sort_by_key(|(_, p)| {
            let info = &p.first.info;
            (info.first, info.base, Reverse(info.records()))
        });
        let mut end = None;
        pieces.retain(|(_, p)| {
            // A piece without records may still tell of losses or of its writer.
            let is_new = end.is_none_or(|end| end_of(&p.first) > end);
            end = end.max(Some(end_of(&p.first)));
            is_new
        });
        united.extend(pieces);
    }
    united
}
