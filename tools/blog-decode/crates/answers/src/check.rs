// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Checks that a file adds up: what its rings have taken is decoded, overwritten or missing, each
//! record once and in order, and what they have lost is reported.
//!
//! It goes through each ring as all other commands do, so it also checks what those print.

use std::{
    cmp::Ordering,
    collections::{HashMap, HashSet},
    fmt, slice,
    sync::Arc,
};

use blog_decode_core::merge::{each_event, unite, Cause, Counts, EventKind, Stream};
use blog_file::{
    record::{cause_name, Version},
    snapshot::{
        run::{end_of, seq, Run},
        Losses, RingPages, Snapshot,
    },
};
use blog_wire::record::LOST_CAUSES;

use crate::accounts::{add_lost, damage_text, ring_name};

/// A way in which a file contradicts itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContradictionKind {
    /// Sections can't be read.
    Damage,
    /// A page has fewer records than its header counts.
    Page,
    /// There are pages of a ring, but nothing about the ring.
    NoRing,
    /// There is a ring, but nothing about its component.
    NoComponent,
    /// Records are there twice.
    Twice,
    /// More records than the ring has taken.
    More,
    /// A record is earlier than the one before.
    Time,
    /// Losses that the ring has counted are reported nowhere.
    Loss,
    /// Nothing was logged meanwhile, but records are missing, or newer than the counts.
    Moved,
}

impl ContradictionKind {
    /// For programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Damage => "damage",
            Self::Page => "page",
            Self::NoRing => "no-ring",
            Self::NoComponent => "no-component",
            Self::Twice => "twice",
            Self::More => "more",
            Self::Time => "time",
            Self::Loss => "loss",
            Self::Moved => "moved",
        }
    }

    /// What to do.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Damage | Self::Page | Self::NoRing | Self::NoComponent => {
                "copy the file again, or read on with records missing"
            }
            Self::Moved => "if drivers logged meanwhile, check it without --still",
            _ => "keep the file and report this: the kernel's BLog or blog-decode has a bug",
        }
    }
}

/// A ring.
pub struct RingPlace {
    /// Name of its component.
    pub component: Arc<str>,
    /// Its id within the component.
    pub ring: u32,
    /// Id and owner, for people.
    name: String,
}

impl RingPlace {
    fn of(stream: &Stream, counts: &Counts) -> Self {
        Self {
            component: stream.component.clone(),
            ring: stream.id,
            name: ring_name(stream, counts),
        }
    }
}

/// A contradiction, with its place.
pub struct Contradiction {
    /// Which one.
    pub kind: ContradictionKind,
    /// The ring, if it is of one.
    pub place: Option<RingPlace>,
    /// What was found.
    pub what: String,
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{} ring {}: ", place.component.escape_default(), place.name)?;
        }
        write!(f, "{}: {}", self.what, self.kind.advice())
    }
}

/// The account of a component.
#[derive(Default)]
pub struct Account {
    /// Its name.
    pub component: Arc<str>,
    /// Its rings.
    pub rings: u64,
    /// Records that they have taken, up to the last one that is in the file.
    pub taken: u64,
    /// What came out of them.
    pub counts: Counts,
    /// Records of rings that another task has got since.
    pub gone: u64,
    /// Records that were never taken, by cause.
    pub lost: [u64; LOST_CAUSES],
}

/// What a file adds up to.
#[derive(Default)]
pub struct Checked {
    /// By component, in the order of the file's rings.
    pub accounts: Vec<Account>,
    /// What is wrong.
    pub found: Vec<Contradiction>,
    /// Where in `accounts` a component is.
    places: HashMap<Arc<str>, usize>,
    /// Rings with records that are there twice, by component and id.
    twice: HashSet<(Arc<str>, u32)>,
}

/// Checks a file. `still`: nothing was logged while it was made.
pub fn check(file: &Snapshot, still: bool) -> Checked {
    let mut this = Checked::default();
    if file.damage.any() {
        this.add(ContradictionKind::Damage, None, damage_text(&file.damage));
    }
    let mut components: Vec<_> = file.components.values().collect();
    components.sort_by_key(|c| c.id);
    for c in components {
        let account = this.account(&file.component_name(c.id).into());
        account.gone = account.gone.saturating_add(c.gone_records);
        add_lost(&mut account.lost, &c.lost);
    }
    for ring in &file.rings {
        this.pages(file, ring);
    }
    let one = slice::from_ref(file);
    for stream in unite(one, |_| true) {
        this.ring(one, &stream, still);
    }
    this
}

impl Checked {
    fn add(&mut self, kind: ContradictionKind, place: Option<RingPlace>, what: String) {
        self.found.push(Contradiction { kind, place, what });
    }

    fn account(&mut self, component: &Arc<str>) -> &mut Account {
        let next = self.accounts.len();
        let at = *self.places.entry(component.clone()).or_insert(next);
        if at == next {
            self.accounts.push(Account { component: component.clone(), ..Account::default() });
        }
        &mut self.accounts[at]
    }

    /// What the file has of a ring, before pages are put in order and duplicates are dropped.
    fn pages(&mut self, file: &Snapshot, ring: &Arc<RingPages>) {
        let id = ring.id.0;
        let name = file.component_name(id).into();
        let stream = Stream::new(name, 0, ring.clone(), file.cleared(id));
        let place = || Some(RingPlace::of(&stream, &Counts::default()));
        if !file.components.contains_key(&id) {
            self.add(ContradictionKind::NoComponent, place(), "its component is not there".into());
        }
        if ring.ring.is_none() {
            let what = format!("{} of its pages are there, but not its counts", ring.pages());
            self.add(ContradictionKind::NoRing, place(), what);
        }
        if file.version == Version::One {
            // There, `clear` counts records anew.
            return;
        }
        // Pages of one run don't overlap, so those of a long stream needn't be in memory.
        let mut runs: Vec<_> = ring.runs.iter().collect();
        runs.sort_by_key(|run| (seq(&run.first), run.first.first));
        if runs.windows(2).all(|w| end_of(&w[0].last) <= w[1].first.first) {
            return;
        }
        let pages = ring.runs.iter().flat_map(|run| run.pages(file));
        let mut pages: Vec<_> = pages.map(|Run { first, .. }| first).collect();
        pages.sort_by_key(|page| (seq(page), page.first));
        for pair in pages.windows(2) {
            let [a, b] = pair else { continue };
            let end = end_of(a).min(end_of(b));
            if b.first < end {
                let (from, to) = (b.first.max(a.first), end - 1);
                let what =
                    format!("pages {} and {} overlap in records {from} to {to}", seq(a), seq(b));
                self.add(ContradictionKind::Twice, place(), what);
                self.twice.insert((stream.component.clone(), stream.id));
                return;
            }
        }
    }

    /// What comes out of a ring.
    fn ring(&mut self, one: &[Snapshot], stream: &Stream, still: bool) {
        // Clock and ordinal of the last record; the first that is earlier than the one before.
        let (mut last, mut back) = ((0, 0), None);
        let (mut shown, mut elsewhere): (Losses, u64) = ([0; LOST_CAUSES], 0);
        let n = each_event(one, stream, |event| match event.kind {
            EventKind::Record { ordinal, .. } => {
                if event.clock < last.0 {
                    back = back.or(Some((ordinal, last)));
                }
                last = (event.clock, ordinal);
            }
            EventKind::Loss { cause: Cause::Told(cause), count, .. } => {
                if let Some(n) = shown.get_mut(usize::from(cause)) {
                    *n = n.saturating_add(count);
                }
            }
            EventKind::Loss { cause: Cause::Elsewhere, count, .. } => {
                elsewhere = elsewhere.saturating_add(count);
            }
            _ => {}
        });
        let missing = n.missing.saturating_sub(elsewhere);
        let end = stream.runs().map(|(_, run)| end_of(&run.last)).max().unwrap_or(0);
        let counted = stream.ring().map_or(0, |ring| ring.records);
        let (taken, sum) = (counted.max(end), n.sum());
        let account = self.account(&stream.component);
        account.rings += 1;
        account.taken = account.taken.saturating_add(taken);
        account.counts.add(&n);
        add_lost(&mut account.lost, &stream.lost());

        let place = || Some(RingPlace::of(stream, &n));
        if n.damaged != 0 {
            let what = format!("{} of the records that its pages count are not in them", n.damaged);
            self.add(ContradictionKind::Page, place(), what);
        }
        let is_twice = self.twice.contains(&(stream.component.clone(), stream.id));
        if sum > taken && !is_twice {
            let what = format!(
                "{} decoded + {} gone, but it has taken {taken}",
                n.decoded,
                sum - n.decoded
            );
            self.add(ContradictionKind::More, place(), what);
        }
        // A writer of a shared ring reads the clock before its turn.
        if let (Some((ordinal, (clock, before))), None) = (back, stream.shared()) {
            let what =
                format!("record {ordinal} is earlier than record {before}, whose clock is {clock}");
            self.add(ContradictionKind::Time, place(), what);
        }
        let Some(ring) = stream.ring() else {
            return;
        };
        if still && (missing != 0 || end > counted) {
            let what = format!(
                "{missing} records are missing, {} are later than its counts",
                end.saturating_sub(counted)
            );
            self.add(ContradictionKind::Moved, place(), what);
        }
        if one[0].stream {
            // Counts come before the pages that report them.
            return;
        }
        let is_cleared = one[0].cleared(ring.component) != 0;
        for (cause, (shown, lost)) in (0..).zip(shown.into_iter().zip(ring.lost())) {
            // Reports of losses before a `clear` are cleared. A snapshot has a ring's counts before
            // its pages, which may report more.
            let kind = match shown.cmp(&lost) {
                Ordering::Less if !is_cleared => ContradictionKind::Loss,
                Ordering::Greater if still => ContradictionKind::Moved,
                _ => continue,
            };
            let what = format!(
                "{shown} are reported as lost ({}), but {lost} are counted",
                cause_name(cause)
            );
            self.add(kind, place(), what);
        }
    }
}
