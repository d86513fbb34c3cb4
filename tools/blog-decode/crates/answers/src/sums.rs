// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The counts of the command `stats`: records, bytes and time by ring, component and call site.
//!
//! It goes through one ring after the other and prints no message, so it is several times as fast
//! as [`decode`](blog_decode_core::decode).

use std::{collections::BTreeMap, sync::Arc};

use blog_decode_core::{
    boot::Boot,
    merge::{each_event, Counts, EventKind, Stream},
};
use blog_file::snapshot::Snapshot;
use blog_wire::record::{HEADER_SIZE, LOST_CAUSES};

use crate::accounts::add_lost;

/// It reports how far it is after so many records of a ring.
const TICK: u64 = 4096;

/// Records and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Records.
    pub records: u64,
    /// Their bytes, headers included.
    pub bytes: u64,
}

impl Sum {
    fn add(&mut self, other: Self) {
        self.records += other.records;
        self.bytes += other.bytes;
    }
}

/// From when to when, in ns since boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeRange {
    /// The first record.
    pub first: i128,
    /// The last one.
    pub last: i128,
}

impl TimeRange {
    /// Its length in seconds.
    pub fn seconds(&self) -> f64 {
        (self.last - self.first).max(0) as f64 / 1e9
    }

    fn unite(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        match (a, b) {
            (Some(a), Some(b)) => {
                Some(Self { first: a.first.min(b.first), last: a.last.max(b.last) })
            }
            (a, b) => a.or(b),
        }
    }
}

/// What a ring holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RingSum {
    /// What came out of it, and what did not.
    pub counts: Counts,
    /// Its records.
    pub sum: Sum,
    /// When they were written.
    pub span: Option<TimeRange>,
    /// From then on, in ns since boot, nothing is missing; `None`: nothing ever was.
    pub complete_from: Option<i128>,
}

/// The records of a ring since its last loss.
#[derive(Default)]
struct SinceLoss {
    /// Clock of the first one.
    first: Option<u64>,
    /// Records are missing before the first one.
    is_cut: bool,
    /// And after the last one.
    is_lost: bool,
}

impl SinceLoss {
    fn loss(&mut self) {
        (self.is_cut, self.is_lost) = (true, true);
    }

    fn record(&mut self, clock: u64) {
        if self.is_lost || self.first.is_none() {
            (self.first, self.is_lost) = (Some(clock), false);
        }
    }
}

/// What a component holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ComponentSum {
    /// Rings.
    pub rings: u64,
    /// Records of all rings.
    pub sum: Sum,
    /// When they were written.
    pub span: Option<TimeRange>,
    /// From when on nothing is gone from any ring; `None` if nothing ever was.
    pub complete_from: Option<i128>,
    /// What came out of its rings, and what did not.
    pub counts: Counts,
    /// Records that its rings have lost, by cause.
    pub lost: [u64; LOST_CAUSES],
    /// When the last file of its boot was made; or its last record, if that is later.
    pub end: i128,
}

impl ComponentSum {
    /// Seconds to the end.
    pub fn back(&self, from: i128) -> f64 {
        let (first, last) = (from, self.end);
        TimeRange { first, last }.seconds()
    }
}

/// Site ids below are the index of an array. Kernels number their sites from 1 on, so that there
/// is hardly another one but in damaged records, which are not to take much memory.
const DENSE: usize = 1 << 16;

/// Sums by site id.
#[derive(Default)]
struct BySite {
    /// As long as the highest id that was seen.
    dense: Vec<Sum>,
    others: BTreeMap<u32, Sum>,
}

impl BySite {
    fn add(&mut self, site: u32, one: Sum) {
        let at = site as usize;
        if at >= DENSE {
            self.others.entry(site).or_default().add(one);
            return;
        }
        if at >= self.dense.len() {
            self.dense.resize(at + 1, Sum::default());
        }
        self.dense[at].add(one);
    }

    fn finish(self) -> BTreeMap<u32, Sum> {
        let dense = (0u32..).zip(self.dense);
        let seen = dense.filter(|(_, sum)| sum.records != 0);
        seen.chain(self.others).collect()
    }
}

/// How many records each site of a snapshot has logged since BLog was loaded: at least, and at most;
/// so exactly, unless some of them were overwritten while it was read. `None`: it has no counts.
///
/// Records that were cleared count, too.
pub fn logged(file: &Snapshot) -> Option<BTreeMap<u32, (u64, u64)>> {
    if file.counts.iter().all(BTreeMap::is_empty) {
        return None;
    }
    let mut all = BTreeMap::<u32, (u64, u64)>::new();
    let [early, late] = &file.counts;
    early.iter().for_each(|(site, n)| all.entry(*site).or_default().0 += n);
    late.iter().for_each(|(site, n)| all.entry(*site).or_default().1 += n);
    for ring in &file.rings {
        let stream = Stream::new("".into(), 0, ring.clone(), 0);
        each_event(std::slice::from_ref(file), &stream, |event| {
            if let EventKind::Record { site, .. } = event.kind {
                let (least, most) = all.entry(site).or_default();
                *least = least.saturating_add(1);
                *most = most.saturating_add(1);
            }
        });
    }
    Some(all)
}

/// All sums.
#[derive(Default)]
pub struct Sums {
    /// By ring.
    pub rings: Vec<RingSum>,
    /// By boot ([`Boot::index`]) and component.
    pub components: BTreeMap<(usize, Arc<str>), ComponentSum>,
    /// By file and site id; ids without records are left out.
    pub sites: Vec<BTreeMap<u32, Sum>>,
}

impl Sums {
    /// Counts everything.
    pub fn new(files: &[Snapshot], streams: &[Stream], boots: &[Boot]) -> Self {
        Self::with_tick(files, streams, boots, &mut |_| {})
    }

    /// Counts everything; `tick` gets now and then the number of records that are done.
    pub fn with_tick(
        files: &[Snapshot],
        streams: &[Stream],
        boots: &[Boot],
        tick: &mut dyn FnMut(u64),
    ) -> Self {
        let mut this = Self::default();
        let mut done = 0;
        let mut sites: Vec<BySite> = files.iter().map(|_| BySite::default()).collect();
        for stream in streams {
            let mut ring = RingSum::default();
            let mut clocks: Option<(u64, u64)> = None;
            let c = &boots[stream.file()].calibration;
            let mut since = SinceLoss::default();
            ring.counts = each_event(files, stream, |event| {
                let EventKind::Record { site, payload, .. } = &event.kind else {
                    return since.loss();
                };
                let (file, clock, site) = (event.file, event.clock, *site);
                let bytes = payload.size() + HEADER_SIZE;
                let one = Sum { records: 1, bytes: bytes as u64 };
                since.record(clock);
                ring.sum.add(one);
                if ring.sum.records % TICK == 0 {
                    tick(done + ring.sum.records);
                }
                let (first, last) = clocks.get_or_insert((clock, clock));
                *first = clock.min(*first);
                *last = clock.max(*last);
                sites[file].add(site, one);
            });
            done += ring.sum.records;
            ring.span =
                clocks.map(|(first, last)| TimeRange { first: c.boot(first), last: c.boot(last) });
            // What is missing at the end of a ring may have been logged at any time after, but for a
            // task that has ended.
            let exit = stream.exit();
            // A clear reports no loss. Everything since then is there.
            let cleared = stream.cleared().filter(|_| ring.counts.overwritten != 0);
            let from = match (since.is_cut || cleared.is_some(), since.is_lost) {
                (false, _) => None,
                (true, false) => Some(since.first.max(cleared)),
                (true, true) => Some(exit),
            };
            ring.complete_from = from.map(|at| at.map_or(i128::MAX, |clock| c.boot(clock)));
            this.component(&boots[stream.file()], stream, &ring);
            this.rings.push(ring);
        }
        this.end(streams, boots);
        this.sites = sites.into_iter().map(BySite::finish).collect();
        this
    }

    /// What follows from all rings together.
    fn end(&mut self, streams: &[Stream], boots: &[Boot]) {
        for ((of, _), sum) in &mut self.components {
            let taken = boots[*of].calibration.taken().map(|pair| pair.boot.into());
            let last = sum.span.map(|s| s.last);
            sum.end = taken.max(last).unwrap_or(0);
        }
        for (stream, ring) in streams.iter().zip(&mut self.rings) {
            let key = (boots[stream.file()].index, stream.component.clone());
            let Some(sum) = self.components.get_mut(&key) else {
                continue;
            };
            // Not later than the end.
            ring.complete_from = ring.complete_from.map(|from| from.min(sum.end));
            sum.complete_from = sum.complete_from.max(ring.complete_from);
        }
    }

    fn component(&mut self, boot: &Boot, stream: &Stream, ring: &RingSum) {
        let key = (boot.index, stream.component.clone());
        let c = self.components.entry(key).or_default();
        c.rings += 1;
        c.sum.add(ring.sum);
        c.span = TimeRange::unite(c.span, ring.span);
        c.counts.add(&ring.counts);
        add_lost(&mut c.lost, &stream.lost());
    }
}
