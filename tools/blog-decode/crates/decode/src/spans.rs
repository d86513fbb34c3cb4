// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Spans: from a record that starts something to the one that ends it, whichever rings they are in.
//!
//! [`Spans`] gets all entries in the order of time. It keeps starts, by the boot and the values of
//! the fields that both records have in common, until the end comes. A start that comes again has
//! lost its end. So has a start of a thread that has ended, if both records must be of one thread.
//! Memory is bounded: beyond a number of starts, further ones are only counted.

use std::{
    cmp::Reverse,
    collections::{hash_map::Entry as InMap, BTreeMap, BinaryHeap, HashMap, VecDeque},
    mem,
    sync::Arc,
};

use crate::{
    decode::Entry,
    field::Selector,
    filter::matches_glob,
    key,
    merge::{EventKind, Thread},
    record::Task,
};

/// So many starts may wait for their ends.
const MAX_OPEN: usize = 1 << 20;

/// What belongs together.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The message of the record that starts it; `*` stands for anything.
    pub start: String,
    /// The same of the one that ends it.
    pub end: String,
    /// What both have the same values of; empty: the thread.
    pub keys: Vec<Selector>,
}

impl Pair {
    /// What spans of this kind are called.
    pub fn name(&self) -> String {
        format!("{} \u{2192} {}", self.start, self.end)
    }
}

/// From a start to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span<L> {
    /// How long it was, in ns of time awake: a sleep of the machine doesn't count.
    pub length: u64,
    /// The values of its keys ([`key`]); without any, of the thread's id and the process's.
    pub key: Vec<u8>,
    /// The task that has started it.
    pub task: Option<Task>,
    /// Records of its ring were lost between: an end and another start maybe among them.
    pub is_over_loss: bool,
    /// What is kept of the start.
    pub line: L,
}

/// Starts and ends that have no other half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unpaired {
    /// Starts without an end.
    pub starts: u64,
    /// Those of them after which records were lost, the end maybe among them.
    pub starts_before_loss: u64,
    /// Ends without a start.
    pub ends: u64,
    /// Those of them before which records were lost.
    pub ends_after_loss: u64,
    /// Starts that were not kept, as too many were open.
    pub dropped: u64,
    /// Records that match a pattern but lack a key.
    pub keyless: u64,
    /// Spans in whose time records of the ring that they start or end in were lost: an end and
    /// another start maybe among them.
    pub over_loss: u64,
    /// Ends that are earlier than their start, as clocks disagree: how long that took is unknown.
    pub backward: u64,
}

/// What was found of a kind of spans.
pub struct Found {
    /// What they are called.
    pub name: String,
    /// How many there are.
    pub spans: u64,
    /// What has no other half.
    pub unpaired: Unpaired,
}

/// Boot, component and id of a ring.
type RingKey = (usize, Arc<str>, u32);

/// What an entry is to a kind of spans.
pub enum Seen {
    /// Records of a ring were lost, between these times.
    Lost(RingKey, i128, i128),
    /// A record matches a pattern but lacks a key.
    Keyless,
    /// A record starts a span, or ends one, or both.
    Half(Half),
}

/// A start, or an end.
pub struct Half {
    is_start: bool,
    is_end: bool,
    /// When, by the time awake.
    now: i128,
    clock: u64,
    /// The boot, and what belongs together.
    key: (usize, Vec<u8>),
    task: Option<Task>,
    /// The thread, if that is what belongs together.
    thread: Option<Thread>,
    ring: RingKey,
}

impl Pair {
    /// Looks at an entry.
    pub fn look(&self, entry: &Entry<'_>) -> Option<Seen> {
        let clock = entry.clock();
        let (boot, now) = (entry.boot.index, entry.boot.calibration.mono(clock));
        let ring = || (boot, entry.stream.component.clone(), entry.stream.id);
        match &entry.event.kind {
            EventKind::Record { .. } => {}
            EventKind::Loss { span, .. } => {
                let [from, until] = [span.0, span.1].map(|clock| entry.boot.axis(clock));
                return Some(Seen::Lost(ring(), from, until));
            }
            EventKind::Line { .. } => return None,
        }
        let is_start = matches_glob(&entry.message, &self.start);
        let is_end = matches_glob(&entry.message, &self.end);
        if !is_start && !is_end {
            return None;
        }
        let (mut key, task) = (Vec::new(), entry.writer().task);
        let has_key = match (self.keys.as_slice(), task) {
            // By its id: its name may change.
            ([], Some(task)) => {
                key.extend([task.pid.to_be_bytes(), task.tgid.to_be_bytes()].concat());
                true
            }
            ([], None) => false,
            (keys, _) => keys.iter().all(|field| key::push(field, entry, &mut key)),
        };
        if !has_key {
            return Some(Seen::Keyless);
        }
        Some(Seen::Half(Half {
            is_start,
            is_end,
            now,
            clock,
            key: (boot, key),
            task,
            thread: self.keys.is_empty().then(|| Thread::from_stream(entry.stream)),
            ring: ring(),
        }))
    }
}

/// A start without its end so far, and what is kept of it.
struct Open<L> {
    half: Half,
    /// Its number.
    number: u64,
    line: L,
}

/// Finds spans.
pub struct Spans<L> {
    pair: Pair,
    open: HashMap<(usize, Vec<u8>), Open<L>>,
    /// How many were added.
    number: u64,
    /// The number of the last loss of a boot, and until when one was; and the number of a ring's.
    lost: HashMap<usize, (u64, i128)>,
    lost_of: HashMap<RingKey, u64>,
    /// Halves without the other one that no loss explains so far: by boot, until when it may have
    /// been lost, and whether it is a start. A loss comes at its end, but explains what is later than
    /// its beginning.
    unexplained: HashMap<usize, VecDeque<(i128, bool)>>,
    /// Ends of spans that have started in a ring, which has not been heard of since.
    over: HashMap<RingKey, VecDeque<i128>>,
    unpaired: Unpaired,
    /// How many were found.
    spans: u64,
}

impl<L> Spans<L> {
    /// Will find spans of this kind.
    pub fn new(pair: Pair) -> Self {
        Self {
            pair,
            open: HashMap::new(),
            number: 0,
            lost: HashMap::new(),
            lost_of: HashMap::new(),
            unexplained: HashMap::new(),
            over: HashMap::new(),
            unpaired: Unpaired::default(),
            spans: 0,
        }
    }

    /// Is shown an entry. The answer is the span that it ends; `keep` makes what is kept of one that starts one.
    pub fn entry(
        &mut self,
        entry: &Entry<'_>,
        keep: impl FnOnce(&Entry<'_>) -> L,
    ) -> Option<Span<L>> {
        let seen = self.pair.look(entry)?;
        self.add(seen, || keep(entry))
    }

    /// The same of what [`Pair::look`] has seen.
    pub fn add(&mut self, seen: Seen, keep: impl FnOnce() -> L) -> Option<Span<L>> {
        self.number += 1;
        let half = match seen {
            Seen::Lost(ring, from, until) => {
                self.lost(ring, from, until);
                return None;
            }
            Seen::Keyless => {
                self.unpaired.keyless += 1;
                return None;
            }
            Seen::Half(half) => half,
        };
        if let Some(ends) = self.over.get_mut(&half.ring) {
            // What its ring loses from now on is later than these.
            ends.retain(|end| *end > half.now);
            if ends.is_empty() {
                self.over.remove(&half.ring);
            }
        }
        let ended = half.is_end.then(|| self.end(&half)).flatten();
        if half.is_start {
            let (number, line) = (self.number, keep());
            self.start(Open { half, number, line });
        }
        ended
    }

    fn lost(&mut self, ring: RingKey, from: i128, until: i128) {
        let (number, latest) = self.lost.entry(ring.0).or_insert((0, until));
        (*number, *latest) = (self.number, until.max(*latest));
        let halves = self.unexplained.entry(ring.0).or_default();
        while let Some(&(_, is_start)) = halves.back().filter(|(time, _)| *time > from) {
            halves.pop_back();
            match is_start {
                true => self.unpaired.starts_before_loss += 1,
                false => self.unpaired.ends_after_loss += 1,
            }
        }
        if let Some(ends) = self.over.get_mut(&ring) {
            let all = ends.len();
            ends.retain(|end| *end <= from);
            self.unpaired.over_loss += (all - ends.len()) as u64;
        }
        self.lost_of.insert(ring, self.number);
    }

    /// Notes a half without the other one, which may have been lost until then.
    fn unexplained(&mut self, boot: usize, until: i128, is_start: bool) {
        let halves = self.unexplained.entry(boot).or_default();
        if halves.len() >= MAX_OPEN {
            // No loss is expected to go back so far.
            halves.pop_front();
        }
        halves.push_back((until, is_start));
    }

    fn end(&mut self, end: &Half) -> Option<Span<L>> {
        let (boot, mut found) = (end.key.0, self.open.remove_entry(&end.key));
        let is_over = |start: &Half| {
            let threads = start.thread.as_ref().zip(end.thread.as_ref());
            threads.is_some_and(|(start, other)| start.is_over(other, end.clock))
        };
        if let Some((_, open)) = found.take_if(|(_, open)| is_over(&open.half)) {
            self.unfinished(boot, &open, Some(end.now));
        }
        let Some(((_, key), Open { half, number, line })) = found else {
            self.unpaired.ends += 1;
            match self.lost.contains_key(&boot) {
                true => self.unpaired.ends_after_loss += 1,
                false => self.unexplained(boot, end.now, false),
            }
            return None;
        };
        let Ok(length) = u64::try_from(end.now - half.now) else {
            self.unpaired.backward += 1;
            return None;
        };
        let has_lost = |ring| self.lost_of.get(ring).is_some_and(|lost| *lost > number);
        let is_over_loss = has_lost(&half.ring) || has_lost(&end.ring);
        if is_over_loss {
            self.unpaired.over_loss += 1;
        } else if half.ring != end.ring {
            self.over.entry(half.ring.clone()).or_default().push_back(end.now);
        }
        self.spans += 1;
        Some(Span { length, key, task: half.task, is_over_loss, line })
    }

    fn start(&mut self, mut open: Open<L>) {
        let (key, is_full) = (mem::take(&mut open.half.key), self.open.len() >= MAX_OPEN);
        let boot = key.0;
        match self.open.entry(key) {
            InMap::Occupied(mut known) => {
                let until = open.half.now;
                let old = known.insert(open);
                self.unfinished(boot, &old, Some(until));
            }
            InMap::Vacant(_) if is_full => self.unpaired.dropped += 1,
            InMap::Vacant(new) => {
                new.insert(open);
            }
        }
    }

    /// Counts a start that has no end until then, or at all.
    fn unfinished(&mut self, boot: usize, start: &Open<L>, until: Option<i128>) {
        self.unpaired.starts += 1;
        let is_before =
            |(number, latest): &(u64, i128)| *number > start.number || *latest > start.half.now;
        match (self.lost.get(&boot).is_some_and(is_before), until) {
            (true, _) => self.unpaired.starts_before_loss += 1,
            (false, Some(until)) => self.unexplained(boot, until, true),
            (false, None) => {}
        }
    }

    /// What was found, now that there are no more entries.
    pub fn found(self) -> Found {
        Found { name: self.pair.name(), spans: self.spans, unpaired: self.unpaired() }
    }

    /// What has no other half, now that there are no more entries.
    pub fn unpaired(mut self) -> Unpaired {
        for ((boot, _), open) in mem::take(&mut self.open) {
            self.unfinished(boot, &open, None);
        }
        self.unpaired
    }
}

/// Puts spans, sorted by their starts, into as few lanes as they need so that none overlaps
/// another; each is `(start, end)`. The answer is the lane of each, from 0.
pub fn lanes(spans: impl Iterator<Item = (i128, i128)>) -> Vec<u32> {
    // Ends of the lanes, the earliest first.
    let mut ends: BinaryHeap<Reverse<(i128, u32)>> = BinaryHeap::new();
    let lane = |(start, end)| {
        let free = ends.peek().filter(|lane| lane.0 .0 <= start);
        let lane = match free.map(|lane| lane.0 .1) {
            Some(lane) => {
                ends.pop();
                lane
            }
            None => ends.len() as u32,
        };
        ends.push(Reverse((end, lane)));
        lane
    };
    spans.map(lane).collect()
}

/// The spans that took the longest.
pub struct Slowest<L> {
    most: usize,
    /// By length, the earlier one first of two that are as long; with the end.
    spans: BTreeMap<(Reverse<u64>, u64), (Span<L>, L)>,
    seen: u64,
}

impl<L> Slowest<L> {
    /// Keeps so many.
    pub fn new(most: usize) -> Self {
        Self { most, spans: BTreeMap::new(), seen: 0 }
    }

    /// Keeps a span if it is one of them, with what is kept of its end.
    pub fn add(&mut self, span: Span<L>, end: L) {
        self.seen += 1;
        let is_full = self.spans.len() >= self.most;
        let last = self.spans.last_key_value().map(|(key, _)| key.0 .0);
        if self.most == 0 || is_full && last.is_some_and(|last| last >= span.length) {
            return;
        }
        let key = (Reverse(span.length), self.seen);
        self.spans.insert(key, (span, end));
        if self.spans.len() > self.most {
            self.spans.pop_last();
        }
    }

    /// All of them with their ends, the longest one first.
    pub fn iter(&self) -> impl Iterator<Item = &(Span<L>, L)> {
        self.spans.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_of_a_lane_do_not_overlap() {
        let spans = [(0, 9), (1, 2), (2, 5), (3, 4), (4, 9), (9, 9), (9, 10)];
        assert_eq!(lanes(spans.into_iter()), [0, 1, 1, 2, 2, 1, 0]);
    }
    #[test]
    fn ends_before_their_start_and_spans_over_a_loss_are_counted() {
        let half_in = |ring, is_start, now| {
            Seen::Half(Half {
                is_start,
                is_end: !is_start,
                now,
                clock: 0,
                key: (0, b"key".to_vec()),
                task: None,
                thread: None,
                ring: (0, "disk".into(), ring),
            })
        };
        let half = |is_start, now| half_in(1, is_start, now);
        let lost = |ring, from, until| Seen::Lost((0, "disk".into(), ring), from, until);
        let mut spans = Spans::new(Pair { start: "*".into(), end: "*".into(), keys: Vec::new() });
        let mut lengths = Vec::new();
        for seen in [
            lost(1, 0, 5),
            half(true, 5),
            half(false, 4),
            half(true, 6),
            half(false, 6),
            // Of these, one goes over a loss in its ring.
            half(true, 6),
            lost(2, 6, 7),
            half(false, 7),
            half(true, 8),
            lost(1, 8, 10),
            half(false, 10),
        ] {
            lengths.extend(spans.add(seen, || ()).map(|span| span.length));
        }
        assert_eq!(lengths, [0, 1, 2]);
        let unpaired = spans.unpaired();
        assert_eq!(unpaired.over_loss, 1);
        assert_eq!((unpaired.backward, unpaired.starts, unpaired.ends), (1, 0, 0));
        // A loss of ring 1 between 10 and 20, which comes at its end.
        let count = |before: Vec<Seen>| {
            let mut spans =
                Spans::new(Pair { start: "*".into(), end: "*".into(), keys: Vec::new() });
            for seen in before.into_iter().chain([lost(1, 10, 20)]) {
                spans.add(seen, || ());
            }
            let u = spans.unpaired();
            (u.starts_before_loss, u.ends_after_loss, u.over_loss)
        };
        assert_eq!(count(vec![half_in(2, false, 12)]), (0, 1, 0));
        assert_eq!(count(vec![half_in(2, false, 9)]), (0, 0, 0));
        assert_eq!(count(vec![half_in(2, true, 12), half_in(2, true, 15)]), (2, 0, 0));
        assert_eq!(count(vec![half_in(2, true, 4), half_in(2, true, 6)]), (1, 0, 0));
        let over = |end| vec![half_in(1, true, 5), half_in(2, false, end)];
        assert_eq!(count(over(12)), (0, 0, 1));
        assert_eq!(count(over(9)), (0, 0, 0));
        let mut heard = over(12);
        heard.push(half_in(1, true, 13));
        assert_eq!(count(heard), (1, 0, 0));
    }
}
