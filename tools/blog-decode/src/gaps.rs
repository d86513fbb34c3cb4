// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Long silences of threads: the longest gaps between records of one thread.
//!
//! A [`Gaps`] gets all entries in the order of time, and keeps the last one of each thread. Rings
//! of several components count as one thread; interrupts don't count. If records of a thread may be
//! missing, nobody knows whether it was silent: there is no gap. A thread that has the id of one
//! that has ended is another. While the machine sleeps, no thread is silent: only the time awake
//! counts.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
};

use crate::{
    decode::{Content, Entry},
    merge::Thread,
    record::Task,
};

/// A thread, and between which records it was silent. They sort by length, and the earlier is the
/// larger of two that are as long.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gap {
    /// How long, in ns of time awake.
    pub length: i128,
    /// What distinguishes the earlier from the later.
    order: Reverse<u64>,
    /// Thread and process id.
    pub pid: (i32, i32),
    /// The boot, and when it ended, on the axis of all entries.
    boot: usize,
    end: i128,
    /// Its name, NUL padded.
    pub comm: [u8; crate::wire::file::COMM_LEN],
    /// The numbers of the records before and after, among all entries.
    pub records: [u64; 2],
}

/// The last record of a thread.
struct Last {
    /// When, by the time awake; `None`: others were lost since.
    time: Option<i128>,
    /// The thread, by the ring.
    thread: Thread,
    /// Its number among all entries.
    number: u64,
}

/// Finds gaps.
pub struct Gaps {
    most: usize,
    least: i128,
    /// By boot and thread id.
    threads: HashMap<(usize, i32), Last>,
    largest: BinaryHeap<Reverse<Gap>>,
    seen: u64,
}

impl Gaps {
    /// Will find the `most` largest ones that are `least` ns long.
    pub fn new(most: usize, least: i128) -> Self {
        Self { most, least, threads: HashMap::new(), largest: BinaryHeap::new(), seen: 0 }
    }

    /// Is shown an entry.
    pub fn entry(&mut self, entry: &Entry<'_>) {
        let boot = entry.boot.index;
        match &entry.content {
            Content::Record(_) => {
                if let Some(task) = entry.writer.task {
                    self.record(entry, boot, &task);
                }
            }
            Content::Loss { span, .. } => self.lost(entry, boot, span.0),
            Content::Line { .. } => {}
        }
        self.seen += 1;
    }

    fn record(&mut self, entry: &Entry<'_>, boot: usize, task: &Task) {
        let now = entry.boot.calibration.mono(entry.clock);
        let thread = Thread::of(entry.stream);
        let last = self.threads.get(&(boot, task.pid));
        let since = last.filter(|last| !last.thread.is_over(&thread, entry.clock));
        let since = since.and_then(|last| Some((last.number, last.time?)));
        let (before, length) = since.map_or((0, 0), |(number, then)| (number, now - then));
        let this = Last { time: Some(now), thread, number: self.seen };
        self.threads.insert((boot, task.pid), this);
        let is_large = self.largest.len() < self.most
            || self.largest.peek().is_some_and(|g| g.0.length < length);
        if length >= self.least.max(1) && is_large && self.most > 0 {
            self.largest.push(Reverse(Gap {
                length,
                order: Reverse(self.seen),
                pid: (task.pid, task.tgid),
                boot,
                end: now,
                comm: task.comm,
                records: [before, self.seen],
            }));
            if self.largest.len() > self.most {
                self.largest.pop();
            }
        }
    }

    /// Forgets when those were heard of last whose records may be lost here.
    fn lost(&mut self, entry: &Entry<'_>, boot: usize, from: u64) {
        let (stream, from) = (entry.stream, entry.boot.axis(from));
        match entry.writer.task {
            Some(task) => {
                // Another ring of the thread may have had a record meanwhile.
                let is_it = |gap: &Gap| (gap.boot, gap.pid.0) == (boot, task.pid) && gap.end > from;
                self.largest.retain(|Reverse(gap)| !is_it(gap));
                if let Some(last) = self.threads.get_mut(&(boot, task.pid)) {
                    last.time = None;
                }
            }
            // Any task may write to a shared ring.
            None => {
                for ((of, _), last) in &mut self.threads {
                    if *of == boot && last.thread.has(stream) {
                        last.time = None;
                    }
                }
            }
        }
    }

    /// The gaps, the largest first.
    pub fn largest(self) -> Vec<Gap> {
        let sorted = self.largest.into_sorted_vec();
        sorted.into_iter().map(|Reverse(gap)| gap).collect()
    }
}
