// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Events in batches, which other threads decode.
//!
//! One thread merges the rings into one order. It gives batches of events to the others, and takes
//! their results back in the same order: printed lines, or the entries themselves. The result is
//! the same with any number of threads.

use std::{mem, sync::Arc, thread};

use crate::{
    boot::Boot,
    decode::{Buffers, Decoder, Entry, Filter, LiveFilter, Missing, Undecoded},
    merge::{Event, EventKind, Stream},
    queue::Queue,
    sidetable::SiteMap,
};

/// Events of a batch.
const EVENTS: usize = 2048;

#[derive(Default)]
struct Batch<M> {
    events: Vec<Event>,
    made: M,
    undecoded: Undecoded,
    shown: u64,
    missing: Missing,
}

/// What all threads read.
#[derive(Clone)]
struct Shared<'a> {
    streams: Arc<[&'a Stream]>,
    boots: &'a [Boot],
    maps: &'a [SiteMap],
    filter: &'a Filter,
}

impl<'a> Shared<'a> {
    /// What a thread does with a batch.
    fn work<W: Work<'a> + 'a>(
        self,
        mut work: W,
    ) -> impl FnMut(Batch<W::Made>) -> Batch<W::Made> + 'a {
        let (mut live, mut kept) = (LiveFilter::new(self.filter), None);
        live.with_message = work.needs_messages();
        move |mut batch| {
            for event in &mut batch.events {
                let stream = self.streams[event.ring];
                let (map, boot) = (&self.maps[event.file], &self.boots[stream.file()]);
                let entry = kept.get_or_insert_with(|| {
                    Entry::new(stream, boot, event.clone(), Buffers::default())
                });
                // The one before is dropped with the batch, by the thread that has made it.
                mem::swap(&mut entry.event, event);
                (entry.stream, entry.boot) = (stream, boot);
                if live.entry(entry, map) {
                    work.entry(entry, &mut batch.made);
                }
            }
            batch.undecoded = mem::take(&mut live.undecoded);
            batch.shown = mem::take(&mut live.shown);
            batch.missing = mem::take(&mut live.missing);
            batch
        }
    }
}

/// What other threads do with entries.
pub trait Work<'a>: Send {
    /// What they make of those of a batch.
    type Made: Default + Send;

    /// Whether the entries need their messages: it doesn't print them by itself.
    fn needs_messages(&self) -> bool {
        true
    }

    /// Adds what is made of an entry, which may be replaced by any other.
    fn entry(&mut self, entry: &mut Entry<'a>, made: &mut Self::Made);
}

/// Entries of a batch as bytes, and who and what each one is of.
pub struct Coded<'a> {
    /// The bytes of all.
    pub bytes: Vec<u8>,
    /// Of each: CLOCK_BOOTTIME in ns, where its bytes end, and which of `likes` is like it.
    pub entries: Vec<(i128, usize, u32)>,
    /// Entries without a text, with all sites and writers that there are: some may be there twice.
    pub likes: Vec<Entry<'a>>,
    /// How many records are missing.
    pub lost: u64,
    /// Where the last ones are, by some bits.
    last: [u32; LAST],
}

/// As many are found again.
const LAST: usize = 256;

impl Default for Coded<'_> {
    fn default() -> Self {
        let (bytes, entries, likes) = Default::default();
        Self { bytes, entries, likes, lost: 0, last: [0; LAST] }
    }
}

impl<'a> Coded<'a> {
    /// Adds an entry, of which `code` appends the bytes.
    pub fn add(&mut self, entry: &Entry<'a>, code: &mut impl FnMut(&Entry<'_>, &mut Vec<u8>)) {
        code(entry, &mut self.bytes);
        let bits = entry.stream.id.wrapping_mul(31).wrapping_add(entry.id());
        let last = &mut self.last[bits as usize % LAST];
        if !self.likes.get(*last as usize).is_some_and(|known| known.is_like(entry)) {
            *last = self.likes.len() as u32;
            let (event, buffers) = (entry.event.clone(), Buffers::default());
            let like = Entry::new(entry.stream, entry.boot, event, buffers);
            self.likes.push(Entry { found: entry.found, raw: entry.raw, ..like });
        }
        if let EventKind::Loss { count, .. } = entry.event.kind {
            self.lost = self.lost.saturating_add(count);
        }
        let boot = entry.boot.calibration.boot(entry.clock());
        self.entries.push((boot, self.bytes.len(), *last));
    }

    /// Takes all out.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
        self.likes.clear();
        self.lost = 0;
    }
}

/// Work of which bytes are made.
pub struct Coding<C>(pub C);

impl<'a, C: FnMut(&Entry<'_>, &mut Vec<u8>) + Send> Work<'a> for Coding<C> {
    type Made = Coded<'a>;

    fn needs_messages(&self) -> bool {
        false
    }

    fn entry(&mut self, entry: &mut Entry<'a>, made: &mut Coded<'a>) {
        made.add(entry, &mut self.0);
    }
}

/// Keeps the entries.
struct Keep;

/// Entries of a batch, and others of which the memory is used again.
#[derive(Default)]
struct Kept<'a> {
    entries: Vec<Entry<'a>>,
    len: usize,
}

impl<'a> Work<'a> for Keep {
    type Made = Kept<'a>;

    fn entry(&mut self, entry: &mut Entry<'a>, made: &mut Kept<'a>) {
        if made.len == made.entries.len() {
            let (stream, boot, event) = (entry.stream, entry.boot, entry.event.clone());
            made.entries.push(Entry::new(stream, boot, event, Buffers::default()));
        }
        mem::swap(&mut made.entries[made.len], entry);
        made.len += 1;
    }
}

impl<'a> Decoder<'a> {
    /// Has other threads do `work` with the entries that the filter lets pass, but for lines of
    /// other logs. `take` gets what they have made, in order, and leaves it empty; it says stop by an
    /// error.
    pub fn run_by<W: Work<'a> + 'a, E>(
        &mut self,
        threads: usize,
        work: impl Fn() -> W,
        mut take: impl FnMut(&mut W::Made) -> Result<(), E>,
    ) -> Result<(), E> {
        if threads <= 1 {
            // Another one would only wait for this one.
            return self.run_alone(work(), take);
        }
        let streams = self.merge.streams.clone();
        let (boots, maps, filter) = (self.boots, self.maps, self.live.filter);
        let shared = Shared { streams, boots, maps, filter };
        let (merge, sum) = (&mut self.merge, &mut self.live);
        let (mut tick, mut given) = (self.tick.take(), 0);
        thread::scope(|scope| {
            let mut queue = Queue::new(scope, threads, || shared.clone().work(work()));
            let mut finish = |batch: &mut Batch<W::Made>| {
                sum.undecoded.append(&mem::take(&mut batch.undecoded));
                sum.shown += mem::take(&mut batch.shown);
                sum.missing.append(&mem::take(&mut batch.missing));
                take(&mut batch.made)
            };
            loop {
                let mut batch = queue.full().unwrap_or_default();
                finish(&mut batch)?;
                batch.events.clear();
                while batch.events.len() < EVENTS {
                    let Some(event) = merge.next() else { break };
                    batch.events.push(event.clone());
                }
                if batch.events.is_empty() {
                    break;
                }
                given += batch.events.len() as u64;
                if let Some(tick) = &mut tick {
                    tick(given);
                }
                queue.push(batch);
            }
            while let Some(mut batch) = queue.pop() {
                finish(&mut batch)?;
            }
            Ok(())
        })
    }

    fn run_alone<W: Work<'a>, E>(
        &mut self,
        mut work: W,
        mut take: impl FnMut(&mut W::Made) -> Result<(), E>,
    ) -> Result<(), E> {
        let (mut made, mut result, mut batch) = (W::Made::default(), Ok(()), 0);
        self.live.with_message = work.needs_messages();
        while self.advance() {
            // By as many events as with other threads.
            let now = (self.done - 1) / EVENTS as u64;
            if now != batch {
                batch = now;
                result = take(&mut made);
                if result.is_err() {
                    break;
                }
            }
            let Some(entry) = &mut self.entry else { break };
            work.entry(entry, &mut made);
        }
        self.tick = None;
        result.and_then(|()| take(&mut made))
    }

    /// Calls `show` for each entry that the filter lets pass, as [`Decoder::run`] does; other
    /// threads decode.
    pub(crate) fn run_decoded<E>(
        &mut self,
        threads: usize,
        mut show: impl FnMut(&Entry<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.run_by(
            threads,
            || Keep,
            |made| {
                let len = mem::take(&mut made.len);
                made.entries[..len].iter().try_for_each(&mut show)
            },
        )
    }
}
