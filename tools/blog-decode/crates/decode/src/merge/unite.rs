// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The pages of each ring, united over all files: a page in two files counts once, and one file may
//! have records that another has lost.

use std::{
    cmp::{Ordering, Reverse},
    collections::{hash_map::Entry, HashMap, HashSet},
    ops::Range,
    sync::Arc,
};

use super::{cursor::lag_at, Stream, LAG};
use crate::{
    boot,
    error::Error,
    record::Walk,
    snapshot::{
        run::{end_of, follows, seq, Run},
        Namesakes, PageRef, RingInfo, RingPages, Snapshot,
    },
};

/// What tells rings apart: the component, by [`Components`], ring id, how often it has counted anew, and
/// the owner's context, CPU and pid.
type Key = (u32, u32, u32, (u8, u32, i32));

/// Components of boots, in the order in which they are met.
#[derive(Default)]
struct Components(HashMap<(usize, Arc<str>, usize), u32>);

impl Components {
    /// The number of a file's component. One that was made again is another one: the capture of a
    /// stream can have both.
    fn of(&mut self, boot: usize, name: &Arc<str>, newer: usize) -> u32 {
        let next = self.0.len() as u32;
        let key = (boot, name.clone(), newer);
        *self.0.entry(key).or_insert(next)
    }
}

/// Unites the rings of all files. `want` chooses components by name.
pub fn unite(files: &[Snapshot], want: impl Fn(&str) -> bool) -> Vec<Stream> {
    united(files, 0..files.len(), &want, &mut Components::default()).0
}

/// Unites the rings of some of the files. The answer has where each is, too.
fn united(
    files: &[Snapshot],
    of: Range<usize>,
    want: &impl Fn(&str) -> bool,
    components: &mut Components,
) -> (Vec<Stream>, HashMap<Key, u32>) {
    let taken: Vec<_> = files.iter().map(Snapshot::taken).collect();
    let taken = |i: usize| taken[i];
    let mut streams = Vec::<Stream>::new();
    let (mut index, mut lagging) = (HashMap::new(), HashSet::new());
    let boots = boot::same(files);
    // Rings with events of the same time come in the order of their files: so that is not the order
    // in which these were named.
    let mut order: Vec<_> = of.collect();
    order.sort_by_cached_key(|&i| {
        let file = &files[i];
        let boot = (file.host.clone(), file.boot_id(), file.copy);
        (boot, taken(i), file.name.clone())
    });
    for (i, file) in order.into_iter().map(|i| (i, &files[i])) {
        let (mut known, namesakes) = (HashMap::new(), Namesakes::from_file(file));
        // A file alone may have a million; many files may each have a few that are new.
        match streams.is_empty() {
            true => streams.reserve_exact(file.rings.len()),
            false => streams.reserve(file.rings.len()),
        }
        for ring in &file.rings {
            let component = known.entry(ring.id.0).or_insert_with(|| {
                let name: Arc<str> = file.component_name(ring.id.0).into();
                let newer = namesakes.newer(&name, ring.id.0);
                let number = components.of(boots[i], &name, newer);
                want(&name).then_some((name, number))
            });
            let Some((name, number)) = component else {
                continue;
            };
            // A ring that was given to another task is another ring.
            let who = ring.ring.as_ref();
            let owner = who.map_or((u8::MAX, 0, 0), |r| (r.context, r.cpu, r.pid));
            match index.entry((*number, ring.id.1, ring.epoch, owner)) {
                Entry::Vacant(new) => {
                    let cleared = file.cleared(ring.id.0);
                    new.insert(streams.len() as u32);
                    streams.push(Stream::new(name.clone(), i, ring.clone(), cleared));
                }
                Entry::Occupied(at) => {
                    let stream = &mut streams[*at.get() as usize];
                    let has_missed = |ring: &RingInfo| ring.told()[usize::from(LAG)] > 0;
                    if [stream.ring(), who].into_iter().flatten().any(has_missed) {
                        lagging.insert(*at.get());
                    }
                    stream.unite(i, ring, taken);
                    stream.cleared = stream.cleared.min(file.cleared(ring.id.0));
                }
            }
        }
    }
    for stream in &mut streams {
        stream.put_in_order(files);
    }
    for at in lagging {
        streams[at as usize].count_missed(files);
    }
    (streams, index)
}

/// The rings of all files but the first `old`, with what those don't have. All are of one boot. An
/// error: it is the other way round.
pub fn newer(
    files: &[Snapshot],
    old: usize,
    want: impl Fn(&str) -> bool,
) -> Result<Vec<Stream>, Error> {
    let old = old.min(files.len());
    let mut components = Components::default();
    let (before, known) = united(files, 0..old, &want, &mut components);
    let (mut streams, index) = united(files, old..files.len(), &want, &mut components);
    let (mut is_older, mut is_newer) = (false, false);
    for (key, at) in index {
        let order = match known.get(&key) {
            Some(old) => streams[at as usize].leave_out(&before[*old as usize], files),
            None => Ordering::Greater,
        };
        is_older |= order.is_lt();
        is_newer |= order.is_gt();
    }
    match is_older && !is_newer {
        true => Err(Error::File("OLD has all that NEW has, and more: they are swapped".into())),
        false => Ok(streams),
    }
}

impl Stream {
    /// Takes in what another file has of the ring.
    fn unite(&mut self, i: usize, ring: &Arc<RingPages>, taken: impl Fn(usize) -> Option<u64>) {
        self.rename(i, ring, &taken);
        self.before.extend(ring.before.map(|n| (i, n)));
        let runs = self.runs_mut();
        runs.extend(ring.runs.iter().map(|run| (i, *run)));
        // The latest, not the largest: `clear` makes counts smaller.
        let is_later = self.ring().is_none() || taken(self.file()) <= taken(i);
        if ring.ring.is_some() && is_later {
            (self.of, self.file) = (ring.clone(), i as u32);
        }
    }

    /// Notes the name that its owner had when a file was taken, if it had another one at others.
    fn rename(&mut self, i: usize, ring: &RingPages, taken: impl Fn(usize) -> Option<u64>) {
        let (Some(known), Some(new)) = (self.ring(), &ring.ring) else {
            return;
        };
        if self.names.is_empty() && known.comm == new.comm {
            return;
        }
        let known = (taken(self.file()).unwrap_or(0), known.comm);
        if self.names.is_empty() {
            self.names.push(known);
        }
        self.names.push((taken(i).unwrap_or(0), new.comm));
    }

    /// Puts its pages, and the names of its owner, in order.
    fn put_in_order(&mut self, files: &[Snapshot]) {
        self.names.sort_by_key(|(until, _)| *until);
        // Each name once, up to when it was last seen.
        self.names.dedup_by(|later, name| {
            let is_same = later.1 == name.1;
            name.0 = if is_same { later.0 } else { name.0 };
            is_same
        });
        if self.run(1).is_some() {
            unite_runs(files, self.runs_mut());
        }
    }

    /// Counts what the readers of all files have missed: each file counts what its own reader has,
    /// and another may have that.
    fn count_missed(&mut self, files: &[Snapshot]) {
        let (mut expected, mut sum, mut bytes) = (self.from, 0u64, Vec::new());
        for (file, page) in self.pages(files) {
            let gap = page.first.saturating_sub(expected);
            expected = end_of(&page);
            if gap == 0 {
                continue;
            }
            let file = &files[file];
            let missed = file.missed_before(&page).unwrap_or_else(|| {
                // Before version 4, records in the page tell it.
                match file.stream && file.read_page(&page, &mut bytes).is_ok() {
                    true => lag_at(Walk::new(&page.info(), bytes.len(), file.version), &bytes),
                    false => 0,
                }
            });
            sum = sum.saturating_add(missed.min(gap));
        }
        if let Some(ring) = &mut Arc::make_mut(&mut self.of).ring {
            ring.set_missed(sum);
        }
    }

    /// Leaves out what earlier files have; the answer is whether it has more, or less.
    fn leave_out(&mut self, old: &Self, files: &[Snapshot]) -> Ordering {
        let pages = old.runs().map(|(_, run)| &run.last);
        let Some(last) = pages.max_by_key(|p| (seq(p), p.first)) else {
            return match self.run(0) {
                None => Ordering::Equal,
                Some(_) => Ordering::Greater,
            };
        };
        let from = end_of(last);
        if self.is_cleared(last, files) {
            return Ordering::Greater;
        }
        self.from = from;
        self.since = last.base;
        let ends = self.runs().map(|(_, run)| end_of(&run.last));
        // A stream counts only what it has.
        let ring = self.ring().filter(|_| !files[self.file()].stream);
        let end = ends.chain(ring.map(|r| r.records)).max();
        let runs = self.runs();
        let new =
            runs.filter_map(|(i, run)| Some((i, run.skip(&files[i], |p| end_of(p) <= from)?)));
        self.united = Some(new.collect());
        if let (Some(ring), Some(old)) = (&mut Arc::make_mut(&mut self.of).ring, old.ring()) {
            ring.leave_out(old);
        }
        self.count_missed(files);
        end.map_or(Ordering::Equal, |end| end.cmp(&from))
    }

    /// Whether `clear` has come after `last`, which an earlier file has: it counts records anew, so
    /// that ordinals and time disagree. Then all that is here is new.
    fn is_cleared(&self, last: &PageRef, files: &[Snapshot]) -> bool {
        let mut runs = self.runs();
        let now = runs.find_map(|(i, run)| run.skip(&files[i], |p| seq(p) < seq(last)));
        match now.map(|run| run.first).filter(|p| seq(p) == seq(last)) {
            Some(now) => !is_one_count(&now, last),
            None => match self.run(0) {
                Some((_, run)) => {
                    let page = &run.first;
                    page.first < end_of(last) && page.base > last.base
                }
                None => {
                    let records = self.ring().map(|r| r.records);
                    !files[self.file()].stream && records.is_some_and(|n| n < end_of(last))
                }
            },
        }
    }
}

/// Whether two parts of one page go by the same count of records, and not by that from before a
/// `clear` and that from after it: the later one by ordinal is the later one by time. Parts have one
/// time where the page tells no other between them.
fn is_one_count(a: &PageRef, b: &PageRef) -> bool {
    let time = a.base.cmp(&b.base);
    time.is_eq() || time == a.first.cmp(&b.first)
}

/// Puts a ring's pages in order, and removes duplicates.
///
/// Runs of different pages stay as they are. Those that overlap are taken apart, page by page.
fn unite_runs(files: &[Snapshot], runs: &mut Vec<(usize, Run)>) {
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
        // A page may be in pieces, and the next file of a recording may have the next one.
        if group.windows(2).all(|w| follows(&w[0].1.last, &w[1].1.first)) {
            united.extend_from_slice(group);
            continue;
        }
        for (file, page) in unite_pages(taken_apart(files, group)) {
            let is_more =
                |(of, run): &mut (usize, Run)| *of == file && run.append_next(&page, &files[file]);
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

/// Removes duplicates.
///
/// A ring's page numbers never repeat. A capture of a stream has a page in pieces, which go on
/// where the one before has ended. Of the same page, the file that has the most of its records
/// counts, and of those the one with the most bytes: another was made earlier, lacks what has been
/// cleared since, or has no addresses. What others have before and after that is used too, unless
/// `clear` has come between: it counts records anew, so that ordinals and time disagree.
fn unite_pages(pages: Vec<(usize, Run)>) -> Vec<(usize, Run)> {
    let mut united = Vec::with_capacity(pages.len());
    for page in pages.chunk_by(|(_, a), (_, b)| seq(&a.first) == seq(&b.first)) {
        if let [one] = page {
            united.push(*one);
            continue;
        }
        let has = |pieces: &[(usize, Run)]| {
            let sum = |of: fn(&PageRef) -> u32| -> u64 {
                pieces.iter().map(|(_, p)| u64::from(of(&p.first))).sum()
            };
            (sum(|page| page.records), sum(|page| page.len))
        };
        let mut best: &[(usize, Run)] = &[];
        for pieces in page.chunk_by(|(a, _), (b, _)| a == b) {
            if best.is_empty() || has(pieces) > has(best) {
                best = pieces;
            }
        }
        let fits = |(file, p): &&(usize, Run)| {
            let fits = |(of, b): &(usize, Run)| file == of || is_one_count(&p.first, &b.first);
            best.iter().all(fits)
        };
        let mut pieces: Vec<_> = page.iter().filter(fits).copied().collect();
        pieces.sort_by_key(|(_, p)| {
            let page = &p.first;
            (page.first, page.base, Reverse((page.records, page.len)))
        });
        let mut end = None;
        pieces.retain(|(_, p)| {
            // A piece without records may still have losses or its writer.
            let is_new = end.is_none_or(|end| end_of(&p.first) > end);
            end = end.max(Some(end_of(&p.first)));
            is_new
        });
        united.extend(pieces);
    }
    united
}
