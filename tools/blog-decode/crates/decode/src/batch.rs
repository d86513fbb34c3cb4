// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Events in batches, which other threads decode.
//!
//! One thread merges the rings into one order. It gives batches of events to the others, and takes
//! their results back in the same order: printed lines, or the entries themselves. The result is
//! the same with any number of threads.

use std::{convert::Infallible, mem, thread};

use crate::{
    boot::Boot,
    decode::{Content, Decoder, Entry, Filter, Missing, Raw, Record, Sieve, Undecoded},
    format::template::Slot,
    merge::{Cause, Event, Span, Stream, What},
    queue::Queue,
    record::{Version, Writer},
    sidetable::SiteMap,
};

/// Events of a batch.
const EVENTS: usize = 2048;

/// An event whose bytes are in its batch.
struct Kept {
    file: usize,
    /// Index of its ring.
    ring: usize,
    clock: u64,
    /// Index of who wrote it.
    writer: usize,
    what: KeptWhat,
}

enum KeptWhat {
    Record {
        site: u32,
        ordinal: u64,
        version: Version,
        /// Where its bytes start and end.
        payload: (usize, usize),
    },
    Loss {
        cause: Cause,
        count: u64,
        span: Span,
    },
}

#[derive(Default)]
struct Batch<M> {
    events: Vec<Kept>,
    payloads: Vec<u8>,
    writers: Vec<Writer>,
    made: M,
    undecoded: Undecoded,
    shown: u64,
    missing: Missing,
}

impl<M> Batch<M> {
    fn push(&mut self, ring: usize, event: &Event<'_>) {
        let what = match event.what {
            What::Loss { cause, count, span } => KeptWhat::Loss { cause, count, span },
            What::Record { site, ordinal, version, payload } => {
                let start = self.payloads.len();
                self.payloads.extend_from_slice(payload);
                KeptWhat::Record { site, ordinal, version, payload: (start, self.payloads.len()) }
            }
        };
        if self.writers.last() != Some(event.writer) {
            self.writers.push(*event.writer);
        }
        self.events.push(Kept {
            file: event.file,
            ring,
            clock: event.clock,
            writer: self.writers.len() - 1,
            what,
        });
    }

    /// An event that was pushed.
    fn event<'a>(&'a self, kept: &Kept, streams: &'a [Stream]) -> Event<'a> {
        Event {
            file: kept.file,
            stream: &streams[kept.ring],
            clock: kept.clock,
            writer: &self.writers[kept.writer],
            what: match kept.what {
                KeptWhat::Loss { cause, count, span } => What::Loss { cause, count, span },
                KeptWhat::Record { site, ordinal, version, payload: (start, end) } => {
                    What::Record { site, ordinal, version, payload: &self.payloads[start..end] }
                }
            },
        }
    }

    fn clear(&mut self) {
        self.events.clear();
        self.payloads.clear();
        self.writers.clear();
    }
}

/// What all threads read.
#[derive(Clone, Copy)]
struct Shared<'a> {
    streams: &'a [Stream],
    boots: &'a [Boot],
    maps: &'a [SiteMap],
    filter: &'a Filter,
}

impl<'a> Shared<'a> {
    /// What a thread does with a batch.
    fn work<W: Work + 'a>(self, mut work: W) -> impl FnMut(Batch<W::Made>) -> Batch<W::Made> + 'a {
        let mut sieve = Sieve::new(self.filter);
        move |mut batch| {
            let mut made = mem::take(&mut batch.made);
            for (i, kept) in batch.events.iter().enumerate() {
                let event = batch.event(kept, self.streams);
                let (map, boot) = (&self.maps[event.file], &self.boots[event.stream.file]);
                let Ok(()) = sieve.event(&event, map, boot, &mut |entry| {
                    work.entry(i, entry, &mut made);
                    Ok::<_, Infallible>(())
                });
            }
            batch.made = made;
            batch.undecoded = mem::take(&mut sieve.undecoded);
            batch.shown = mem::take(&mut sieve.shown);
            batch.missing = mem::take(&mut sieve.missing);
            batch
        }
    }
}

/// What other threads do with entries.
pub trait Work: Send {
    /// What they make of those of a batch.
    type Made: Default + Send;

    /// Adds what is made of an entry; `event` is its number in the batch.
    fn entry(&mut self, event: usize, entry: &Entry<'_>, made: &mut Self::Made);
}

/// Keeps what it takes to have the entry again.
struct Decode;

/// Entries of a batch.
#[derive(Default)]
struct Decoded {
    entries: Vec<DecodedEntry>,
    messages: Vec<u8>,
    slots: Vec<Slot>,
}

struct DecodedEntry {
    event: usize,
    is_match: bool,
    is_plain: bool,
    raw: Option<Raw>,
    /// Where its message and its slots end.
    ends: (usize, usize),
}

impl Work for Decode {
    type Made = Decoded;

    fn entry(&mut self, event: usize, entry: &Entry<'_>, made: &mut Decoded) {
        let (mut is_plain, mut raw) = (false, None);
        if let Content::Record(r) = &entry.content {
            (is_plain, raw) = (r.is_plain, r.raw);
            made.messages.extend_from_slice(r.message);
            made.slots.extend_from_slice(r.slots);
        }
        made.entries.push(DecodedEntry {
            event,
            is_match: entry.is_match,
            is_plain,
            raw,
            ends: (made.messages.len(), made.slots.len()),
        });
    }
}

impl Batch<Decoded> {
    /// Calls `show` with each entry, and forgets it.
    fn show<E>(
        &mut self,
        shared: Shared<'_>,
        show: &mut impl FnMut(&Entry<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut made = mem::take(&mut self.made);
        let mut starts = (0, 0);
        for of in &made.entries {
            let event = self.event(&self.events[of.event], shared.streams);
            let (stream, clock, writer) = (event.stream, event.clock, event.writer);
            let content = match event.what {
                What::Loss { cause, count, span } => Content::Loss { cause, count, span },
                What::Record { site: id, ordinal, payload, .. } => Content::Record(Record {
                    id,
                    ordinal,
                    found: shared.maps[event.file].find(id),
                    payload,
                    slots: &made.slots[starts.1..of.ends.1],
                    message: &made.messages[starts.0..of.ends.0],
                    raw: of.raw,
                    is_plain: of.is_plain,
                }),
            };
            starts = of.ends;
            show(&Entry {
                stream,
                boot: &shared.boots[stream.file],
                clock,
                writer,
                content,
                is_match: of.is_match,
            })?;
        }
        made.entries.clear();
        made.messages.clear();
        made.slots.clear();
        self.made = made;
        Ok(())
    }
}

impl<'a> Decoder<'a> {
    /// Has other threads do `work` with the entries that the filter lets pass, but for lines of
    /// other logs. `take` gets what they have made, in order, and leaves it empty; it says stop by an
    /// error.
    pub fn run_by<W: Work + 'a, E>(
        &mut self,
        threads: usize,
        work: impl Fn() -> W,
        mut take: impl FnMut(&mut W::Made) -> Result<(), E>,
    ) -> Result<(), E> {
        self.batches(threads, work, |_, batch| take(&mut batch.made))
    }

    /// Calls `show` for each entry that the filter lets pass, as [`Decoder::run`] does; other threads
    /// decode.
    pub(crate) fn run_decoded<E>(
        &mut self,
        threads: usize,
        mut show: impl FnMut(&Entry<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.batches(threads, || Decode, |shared, batch| batch.show(shared, &mut show))
    }

    fn batches<W: Work + 'a, E>(
        &mut self,
        threads: usize,
        work: impl Fn() -> W,
        mut take: impl FnMut(Shared<'a>, &mut Batch<W::Made>) -> Result<(), E>,
    ) -> Result<(), E> {
        let shared = Shared {
            streams: self.merge.streams(),
            boots: self.boots,
            maps: self.maps,
            filter: self.sieve.filter,
        };
        let (merge, sum) = (&mut self.merge, &mut self.sieve);
        let (mut tick, mut given) = (self.tick.take(), 0);
        thread::scope(|scope| {
            // One would only wait for this one.
            let threads = threads * usize::from(threads > 1);
            let mut queue = Queue::new(scope, threads, || shared.work(work()));
            let mut finish = |batch: &mut Batch<W::Made>| {
                sum.undecoded.append(&mem::take(&mut batch.undecoded));
                sum.shown += mem::take(&mut batch.shown);
                sum.missing.append(&mem::take(&mut batch.missing));
                take(shared, batch)
            };
            loop {
                let mut batch = queue.full().unwrap_or_default();
                finish(&mut batch)?;
                batch.clear();
                while batch.events.len() < EVENTS {
                    let ring = merge.step();
                    let Some((ring, event)) = ring.and_then(|i| Some((i, merge.event(i)?))) else {
                        break;
                    };
                    batch.push(ring, &event);
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
}
