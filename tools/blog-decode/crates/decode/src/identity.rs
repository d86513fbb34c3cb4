// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Finds out which files with the same boot id are of the same log.
//!
//! Machines that were started from one saved state have everything in common up to then: boot id,
//! rings, positions of pages. Their later records have the same places, so pages of the same place
//! that contradict each other are of two machines. But a machine may also have counted anew: its
//! log was cleared, or a component was made again. Then all its records are later than those of an
//! earlier file.
//!
//! Machines also contradict each other if the same value of their clocks means different times. If
//! only real time differs, somebody may have set it between two files: that is reported.
//!
//! [`tell_apart`] looks at the last page that two files have of the same ring: a machine that has gone
//! another way before has other records there. Where they have none in common, it looks whether the
//! ring can have gone on from the last page of one to the first of the other. So a few pages are read,
//! whatever the length of the files.
//!
//! Of many machines from one saved state, each has its own record where the first two differ. So a
//! file is compared with those machines only that have the same record there ([`Fork`]).

use std::{cmp::Ordering, collections::HashMap, slice, sync::Arc};

use crate::{
    clock::was_set,
    record::{Item, Version, Walk},
    snapshot::{
        run::{end_of, seq, Run},
        Namesakes, PageRef, RingPages, Snapshot,
    },
};

/// Clocks and rings are compared with those of so many of the files before.
const BACK: usize = 8;

/// What two files say of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    /// It is the same, as far as both have it.
    Same,
    /// The later one counts anew.
    Anew,
    /// They contradict each other, perhaps in the record of this ordinal.
    Other(Option<u64>),
}

/// Marks files of different machines by [`Snapshot::copy`], and rings that count anew by
/// [`RingPages::epoch`]. Returns what to report.
pub(crate) fn tell_apart(files: &mut [Snapshot]) -> Vec<String> {
    let mut notes = Vec::new();
    let mut ids = Vec::<([u8; 16], Vec<usize>)>::new();
    let mut index = HashMap::new();
    for (i, file) in files.iter().enumerate() {
        let Some(id) = file.boot_id() else {
            continue;
        };
        let at = *index.entry(id).or_insert(ids.len());
        match ids.get_mut(at) {
            Some((_, of)) => of.push(i),
            None => ids.push((id, vec![i])),
        }
    }
    for (_, mut of) in ids.into_iter().filter(|(_, of)| of.len() > 1) {
        // Whatever order they were given in: which machine is the second one is in its records.
        of.sort_by_cached_key(|&i| {
            let file = &files[i];
            (file.taken(), file.last_pair().map(|p| p.real), file.host.clone(), i)
        });
        of_one_id(files, &of, &mut notes);
    }
    notes
}

/// The log of a machine.
#[derive(Default)]
struct Log {
    files: Vec<usize>,
    /// Whether a name was given.
    given: bool,
}

/// A record by its ring, which is a component and an id, and its ordinal.
type At = ((u32, u32), u64);

/// A record that is another one on each of some machines.
struct Fork {
    at: At,
    /// The logs that have it, by its clock and call site.
    logs: HashMap<(u64, u32), Vec<usize>>,
    /// The logs that don't show which of these they have.
    others: Vec<usize>,
    /// How many logs are in these.
    count: usize,
}

impl Fork {
    fn new(at: At) -> Self {
        Self { at, logs: HashMap::new(), others: Vec::new(), count: 0 }
    }

    /// The logs that a file may be of. The others have another record at a time before which they
    /// were read, so they can't count anew.
    fn candidates(
        &mut self,
        files: &[Snapshot],
        tables: &Tables,
        logs: &[Log],
        i: usize,
    ) -> Vec<usize> {
        for (n, log) in logs.iter().enumerate().skip(self.count) {
            match self.find(files, tables, log.files[0]) {
                Some(record) => self.logs.entry(record).or_default().push(n),
                None => self.others.push(n),
            }
        }
        self.count = logs.len();
        // The first file of the first log is the earliest of all.
        let read = logs.first().and_then(|log| files[log.files[0]].taken());
        match self.find(files, tables, i).filter(|(clock, _)| Some(*clock) < read) {
            Some(record) => {
                let same = self.logs.get(&record).into_iter().flatten();
                let mut all: Vec<_> = same.chain(&self.others).copied().collect();
                all.sort_unstable();
                all
            }
            None => (0..logs.len()).collect(),
        }
    }

    /// What a file has there. With the first version of records, `clear` counts anew.
    fn find(&self, files: &[Snapshot], tables: &Tables, i: usize) -> Option<(u64, u32)> {
        let (file, (ring, ordinal)) = (&files[i], self.at);
        let [(_, _, n)] = entries(&tables[&i], ring) else {
            return None;
        };
        if file.version == Version::One {
            return None;
        }
        let has = |page: &PageRef| page.first <= ordinal && ordinal < end_of(page);
        let runs = &file.rings[*n as usize].runs;
        let run =
            runs.iter().find(|run| run.first.first <= ordinal && ordinal < end_of(&run.last))?;
        let mut steps = run.steps();
        let page = std::iter::from_fn(|| steps.next(run, file, None)).find(has)?;
        let records = records(file, &[page]);
        let record = records.iter().find(|record| record.ordinal == ordinal)?;
        Some((record.clock, record.site))
    }
}

fn of_one_id(files: &mut [Snapshot], of: &[usize], notes: &mut Vec<String>) {
    let mut components = HashMap::new();
    let mut tables = HashMap::new();
    for &i in of {
        tables.insert(i, rings(&files[i], &mut components));
    }
    let mut logs = Vec::<Log>::new();
    let mut fork: Option<Fork> = None;
    for &i in of {
        let mut why = None;
        let mut place = None;
        let candidates = match &mut fork {
            Some(fork) => fork.candidates(files, &tables, &logs, i),
            None => (0..logs.len()).collect(),
        };
        let is_named_otherwise = |log: &Log| {
            let first = &files[log.files[0]];
            (log.given || files[i].given) && first.host != files[i].host
        };
        // That it isn't of the first one was found out without a comparison.
        let left_out = logs.first().filter(|_| candidates.first() != Some(&0));
        if let (Some(fork), Some(log)) = (&fork, left_out.filter(|log| !is_named_otherwise(log))) {
            let (a, ring) = (&files[log.files[0]], fork.at.0);
            why = Some(other_records(a, &files[i], &tables[&i], ring));
        }
        for n in candidates {
            let log = &logs[n];
            if is_named_otherwise(log) {
                continue;
            }
            match compare(files, &tables, log, i) {
                Ok(epochs) => {
                    place = Some((n, epochs));
                    break;
                }
                Err(Other { note, at }) => {
                    why = why.or(Some(note));
                    fork = fork.or_else(|| at.map(Fork::new));
                }
            }
        }
        let n = match place {
            Some((n, epochs)) => {
                for (ring, epoch) in epochs {
                    Arc::make_mut(&mut files[i].rings[ring]).epoch = epoch;
                }
                n
            }
            None => {
                notes.extend(why);
                logs.push(Log::default());
                logs.len() - 1
            }
        };
        files[i].copy = n as u32;
        logs[n].given |= files[i].given;
        logs[n].files.push(i);
    }
    for log in logs.iter().filter(|log| !log.given) {
        for pair in log.files.windows(2) {
            notes.extend(clock_was_set(&files[pair[0]], &files[pair[1]]));
        }
        let (first, last) = (log.files[0], log.files[log.files.len() - 1]);
        let [old, new] = [first, last].map(|i| &files[i]);
        if old.host != new.host && !old.host.is_empty() && !new.host.is_empty() {
            notes.push(format!(
                "{}: of the boot of {}, whose host {} is called {} now; if they are two machines, \
                 --host tells them apart",
                new.name, old.name, old.host, new.host
            ));
        }
    }
}

/// The report on two files of a boot that disagree on real time.
fn clock_was_set(old: &Snapshot, new: &Snapshot) -> Option<String> {
    let off = was_set(old.last_pair()?, new.last_pair()?)?;
    Some(format!(
        "{}: its real time is {} s {} what {} says, of the same boot: the clock was set, or they \
         are of two machines that were started from one saved state, which --host tells apart",
        new.name,
        off.abs() / 1_000_000_000,
        if off > 0 { "ahead of" } else { "behind" },
        old.name
    ))
}

/// Whether two files say different things of one value of the clock. Their pairs are in its order.
fn clocks_differ(a: &Snapshot, b: &Snapshot) -> bool {
    let mut of_b = b.pairs.iter().peekable();
    a.pairs.iter().any(|p| {
        while of_b.next_if(|q| q.clock < p.clock).is_some() {}
        let same = of_b.peek().filter(|q| q.clock == p.clock);
        same.is_some_and(|q| (p.mono, p.boot, p.real) != (q.mono, q.boot, q.real))
    })
}

/// The rings of a file by component and id: (component, id, place in the file).
fn rings(file: &Snapshot, components: &mut HashMap<(String, usize), u32>) -> Vec<(u32, u32, u32)> {
    let (mut known, namesakes) = (HashMap::new(), Namesakes::from_file(file));
    let mut all = Vec::with_capacity(file.rings.len());
    for (n, ring) in (0u32..).zip(&file.rings) {
        let component = *known.entry(ring.id.0).or_insert_with(|| {
            let name = file.component_name(ring.id.0);
            let newer = namesakes.newer(&name, ring.id.0);
            let key = (name, newer);
            let next = components.len() as u32;
            *components.entry(key).or_insert(next)
        });
        all.push((component, ring.id.1, n));
    }
    all.sort_unstable();
    all
}

type Tables = HashMap<usize, Vec<(u32, u32, u32)>>;

/// The entries of a ring in the table of a file.
fn entries(table: &[(u32, u32, u32)], id: (u32, u32)) -> &[(u32, u32, u32)] {
    let from = table.partition_point(|e| (e.0, e.1) < id);
    let to = table.partition_point(|e| (e.0, e.1) <= id);
    &table[from..to]
}

/// Why a file is of another machine, and which record says so, if that is one.
struct Other {
    note: String,
    at: Option<At>,
}

/// The report on two files that have other records at the same place of a ring.
fn other_records(
    a: &Snapshot,
    b: &Snapshot,
    table: &[(u32, u32, u32)],
    ring: (u32, u32),
) -> String {
    let known = entries(table, ring).first();
    let component = known.map(|(_, _, n)| b.component_name(b.rings[*n as usize].id.0));
    format!(
        "{} and {}: same boot id, but different records at the same place (ring {} of {}): cloned \
         machines, it seems; name them with --host",
        a.name,
        b.name,
        ring.1,
        component.unwrap_or_default()
    )
}

/// Compares a file with those of a log: the rings that count anew, or why it is of another machine.
fn compare(
    files: &[Snapshot],
    tables: &Tables,
    log: &Log,
    i: usize,
) -> Result<Vec<(usize, u32)>, Other> {
    let table = &tables[&i];
    let mut epochs = Vec::new();
    let before = || log.files.iter().rev().take(BACK);
    let mut known = before().map(|&file| &files[file]);
    if let Some(a) = known.find(|a| clocks_differ(a, &files[i])) {
        let note = format!(
            "{} and {}: same boot id, but their clocks contradict each other: cloned machines, it \
             seems; name them with --host",
            a.name, files[i].name
        );
        return Err(Other { note, at: None });
    }
    let of = |file: usize, entries: &[(u32, u32, u32)]| -> Vec<Arc<RingPages>> {
        let rings = entries.iter().map(|e| &files[file].rings[e.2 as usize]);
        rings.filter(|ring| !ring.runs.is_empty()).cloned().collect()
    };
    for own in table.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let id = (own[0].0, own[0].1);
        let new = of(i, own);
        let before = before().map(|&file| (file, of(file, entries(&tables[&file], id))));
        let Some((file, old)) = before.into_iter().find(|(_, old)| !old.is_empty()) else {
            continue;
        };
        if new.is_empty() {
            continue;
        }
        let (a, b) = (&files[file], &files[i]);
        let base = match relation((a, &old), (b, &new)) {
            Relation::Same => base(&old, &new),
            Relation::Anew => old.iter().map(|ring| ring.epoch).max().unwrap_or(0) + 1,
            Relation::Other(ordinal) => {
                return Err(Other {
                    note: other_records(a, b, table, id),
                    at: ordinal.map(|ordinal| (id, ordinal)),
                });
            }
        };
        if base > 0 {
            let own = own.iter().map(|e| e.2 as usize);
            epochs.extend(own.map(|n| (n, base + b.rings[n].epoch)));
        }
    }
    Ok(epochs)
}

/// How often an earlier file's ring had counted anew where a later one's begins: one that goes to
/// others in a file counts for itself.
fn base(old: &[Arc<RingPages>], new: &[Arc<RingPages>]) -> u32 {
    let start = |ring: &RingPages| ring.runs.iter().map(|run| seq(&run.first)).min();
    let from = new.iter().filter_map(|ring| start(ring)).min();
    let before = old.iter().filter(|ring| start(ring) <= from);
    let old = before.max_by_key(|ring| start(ring)).or(old.first());
    old.map_or(0, |ring| ring.epoch)
}

/// A file, and what it has of a ring.
type Of<'a> = (&'a Snapshot, &'a [Arc<RingPages>]);

fn runs(of: &[Arc<RingPages>]) -> impl Iterator<Item = &Run> {
    of.iter().flat_map(|ring| &ring.runs)
}

/// How a later file's ring relates to an earlier one's.
fn relation(old: Of<'_>, new: Of<'_>) -> Relation {
    let first = |of: Of<'_>| runs(of.1).map(|r| r.first).min_by_key(|p| (seq(p), p.first));
    let last = |of: Of<'_>| runs(of.1).map(|r| r.last).max_by_key(|p| (seq(p), p.first));
    let (Some(a0), Some(a1), Some(b0), Some(b1)) = (first(old), last(old), first(new), last(new))
    else {
        return Relation::Same;
    };
    let is_later = |p: &PageRef| p.base >= a1.base.max(old.0.taken().unwrap_or(0));
    if seq(&b0) > seq(&a1) {
        return match () {
            () if goes_on(old.0, &a1, &b0) => Relation::Same,
            () if b0.first < end_of(&a1) && is_later(&b0) => Relation::Anew,
            () => Relation::Other(None),
        };
    }
    if seq(&b1) < seq(&a0) {
        return match () {
            () if is_later(&b0) => Relation::Anew,
            () if goes_on(new.0, &b1, &a0) => Relation::Same,
            () => Relation::Other(None),
        };
    }
    let common = seq(&a1).min(seq(&b1));
    let (pa, pb) = (pages(old, common), pages(new, common));
    if let ([a], [b]) = (&pa[..], &pb[..]) {
        let same = |p: &PageRef| (p.first, p.base, p.records, p.len);
        if same(a) == same(b) && checksum(old.0, a) == checksum(new.0, b) {
            return Relation::Same;
        }
    }
    decide(&records(old.0, &pa), &records(new.0, &pb), old.0.taken())
}

/// Whether a ring can have gone on from a page that a file has to one at a later place: neither its
/// ordinals nor its times go back.
fn goes_on(file: &Snapshot, page: &PageRef, later: &PageRef) -> bool {
    let last = || records(file, slice::from_ref(page)).last().map(|r| r.clock);
    end_of(page) <= later.first && last().is_none_or(|clock| clock <= later.base)
}

/// The pages, or pieces of it, at a position of a ring.
fn pages((file, of): Of<'_>, at: u64) -> Vec<PageRef> {
    let mut all = Vec::new();
    for run in runs(of).filter(|run| seq(&run.first) <= at && at <= seq(&run.last)) {
        if seq(&run.last) == at {
            // Of a page in pieces, the last one says enough.
            all.push(run.last);
            continue;
        }
        let mut steps = run.steps();
        while let Some(page) = steps.next(run, file, None).filter(|p| seq(p) <= at) {
            all.extend((seq(&page) == at && page.len > 0).then_some(page));
        }
    }
    all.sort_by_key(|p| (p.first, p.base));
    all
}

/// The checksum of a page's section.
fn checksum(file: &Snapshot, page: &PageRef) -> Option<u32> {
    file.page_checksum(page).ok().flatten()
}

/// A record as far as two copies of it are the same.
struct Known {
    ordinal: u64,
    clock: u64,
    site: u32,
    payload: Vec<u8>,
}

impl Known {
    fn is(&self, other: &Self) -> bool {
        // A reader that may not see addresses gets none.
        let is_withheld = self.payload.is_empty() || other.payload.is_empty();
        (self.clock, self.site) == (other.clock, other.site)
            && (is_withheld || self.payload == other.payload)
    }
}

fn records(file: &Snapshot, pages: &[PageRef]) -> Vec<Known> {
    let (mut all, mut bytes) = (Vec::new(), Vec::new());
    for page in pages {
        if file.read_page(page, &mut bytes).is_err() {
            continue;
        }
        let mut walk = Walk::new(&page.info(), bytes.len(), file.version);
        while let Some(item) = walk.next(&bytes) {
            if let Item::Record { clock, site, ordinal, at, len } = item {
                all.push(Known {
                    ordinal,
                    clock,
                    site,
                    payload: bytes.get(at..at + len).unwrap_or_default().to_vec(),
                });
            }
        }
    }
    all
}

/// Compares what two files have of a page. The first one was taken at a clock.
fn decide(a: &[Known], b: &[Known], taken: Option<u64>) -> Relation {
    let (Some(a0), Some(a1), Some(b0), Some(b1)) = (a.first(), a.last(), b.first(), b.last())
    else {
        return Relation::Same;
    };
    // Both are in the order of their ordinals.
    let (mut i, mut j, mut common, mut equal) = (0, 0, 0, 0);
    let mut differs = None;
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        let order = x.ordinal.cmp(&y.ordinal);
        i += usize::from(order.is_le());
        j += usize::from(order.is_ge());
        common += usize::from(order.is_eq());
        equal += usize::from(order.is_eq() && x.is(y));
        if order.is_eq() && !x.is(y) {
            differs = differs.or(Some(x.ordinal));
        }
    }
    let goes_on =
        |last: &Known, first: &Known| last.ordinal < first.ordinal && last.clock <= first.clock;
    let is_apart = common == 0 && (goes_on(a1, b0) || goes_on(b1, a0));
    // The same records, counted from another one.
    let shifted = |long: &[Known], short: &[Known]| {
        (0..long.len()).any(|n| long[n..].iter().zip(short).all(|(x, y)| x.is(y)))
    };
    if common > 0 && equal == common || is_apart || shifted(a, b) || shifted(b, a) {
        return Relation::Same;
    }
    let latest = a.iter().map(|r| r.clock).max().max(taken);
    let earliest = b.iter().map(|r| r.clock).min();
    match earliest.cmp(&latest) {
        Ordering::Greater | Ordering::Equal => Relation::Anew,
        Ordering::Less => Relation::Other(differs),
    }
}
