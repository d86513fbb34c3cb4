// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Events in batches, which other threads decode and print.
//!
//! One thread merges the rings, as their order is one. Batches of what comes out go to the others
//! in turn, and what they have printed comes back in the same order: the output is the same with
//! any number of threads. There are so many batches, and no more; they are used again.

use std::{
    convert::Infallible,
    sync::mpsc::{sync_channel, Receiver, SyncSender},
    thread,
};

use crate::{
    boot::Boot,
    decode::{Decoder, Entry, Filter, Sieve, Undecoded},
    merge::{Cause, Event, Merge, Stream, What},
    record::{Version, Writer},
    sidetable::SiteMap,
};

/// Events of a batch.
const EVENTS: usize = 2048;
/// Batches on their way for each thread: one that it prints, and the next one.
const EACH: usize = 2;

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
    },
}

#[derive(Default)]
struct Batch {
    events: Vec<Kept>,
    payloads: Vec<u8>,
    writers: Vec<Writer>,
    /// What was printed, and how its first line depends on what comes before.
    out: Vec<u8>,
    undecoded: Undecoded,
    shown: u64,
}

impl Batch {
    fn push(&mut self, ring: usize, event: &Event<'_>) {
        let what = match event.what {
            What::Loss { cause, count } => KeptWhat::Loss { cause, count },
            What::Record {
                site,
                ordinal,
                version,
                payload,
            } => {
                let start = self.payloads.len();
                self.payloads.extend_from_slice(payload);
                KeptWhat::Record {
                    site,
                    ordinal,
                    version,
                    payload: (start, self.payloads.len()),
                }
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

    fn clear(&mut self) {
        self.events.clear();
        self.payloads.clear();
        self.writers.clear();
        self.out.clear();
    }
}

/// What all threads read.
#[derive(Clone, Copy)]
struct Shared<'a> {
    boots: &'a [Boot],
    maps: &'a [SiteMap],
    filter: &'a Filter,
}

impl Shared<'_> {
    /// Prints batches until there are no more, or nobody wants them.
    fn print(
        self,
        streams: &[Stream],
        todo: &Receiver<Batch>,
        done: &SyncSender<Batch>,
        mut printer: impl Print,
    ) {
        let mut sieve = Sieve::new(self.filter);
        for mut batch in todo {
            let Batch {
                events,
                payloads,
                writers,
                out,
                ..
            } = &mut batch;
            for kept in &*events {
                let stream = &streams[kept.ring];
                let event = Event {
                    file: kept.file,
                    stream,
                    clock: kept.clock,
                    writer: &writers[kept.writer],
                    what: match kept.what {
                        KeptWhat::Loss { cause, count } => What::Loss { cause, count },
                        KeptWhat::Record {
                            site,
                            ordinal,
                            version,
                            payload: (start, end),
                        } => What::Record {
                            site,
                            ordinal,
                            version,
                            payload: &payloads[start..end],
                        },
                    },
                };
                let (map, boot) = (&self.maps[kept.file], &self.boots[stream.file]);
                let result = sieve.event(&event, map, boot, &mut |entry| {
                    printer.entry(entry, out);
                    Ok::<_, Infallible>(())
                });
                match result {
                    Ok(()) => {}
                }
            }
            batch.undecoded = std::mem::take(&mut sieve.undecoded);
            batch.shown = std::mem::take(&mut sieve.shown);
            if done.send(batch).is_err() {
                return;
            }
        }
    }
}

/// What prints the entries of batches.
pub trait Print: Send {
    /// Appends an entry.
    fn entry(&mut self, entry: &Entry<'_>, out: &mut Vec<u8>);
}

impl Decoder<'_> {
    /// Prints the entries that the filter lets pass, but for lines of other logs, by so many threads
    /// besides this one. `printer` makes what prints; `write` gets what was printed, in order, until
    /// it says stop by an error.
    pub fn print<P: Print, E>(
        &mut self,
        threads: usize,
        printer: impl Fn() -> P,
        write: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let shared = Shared {
            boots: self.boots,
            maps: self.maps,
            filter: self.sieve.filter,
        };
        let mut tick = self.tick.take();
        let tick = |done| {
            if let Some(tick) = &mut tick {
                tick(done);
            }
        };
        let sum = &mut self.sieve;
        run(&mut self.merge, shared, threads, printer, write, tick, sum)
    }
}

/// Prints all events by so many threads besides this one. `printer` makes what prints an entry;
/// `write` gets what was printed, in the order of the events, until it says stop by an error. `tick`
/// gets how many events were given out so far. What could not be decoded and what was shown is added
/// to `sum`.
fn run<P: Print, E>(
    merge: &mut Merge<'_>,
    shared: Shared<'_>,
    threads: usize,
    printer: impl Fn() -> P,
    mut write: impl FnMut(&[u8]) -> Result<(), E>,
    mut tick: impl FnMut(u64),
    sum: &mut Sieve<'_>,
) -> Result<(), E> {
    let streams = merge.streams();
    thread::scope(|scope| {
        let start = |_| {
            let (send, todo) = sync_channel(EACH);
            let (done, receive) = sync_channel(EACH);
            let printer = printer();
            let work = move || shared.print(streams, &todo, &done, printer);
            let started = thread::Builder::new().spawn_scoped(scope, work);
            started.ok().map(|_| (send, receive))
        };
        // As many as the system lets us have.
        let workers: Vec<_> = (0..threads).map_while(start).collect();
        if workers.is_empty() {
            let (mut printer, mut out) = (printer(), Vec::new());
            while let Some(event) = merge.next() {
                let map = &shared.maps[event.file];
                let boot = &shared.boots[event.stream.file];
                sum.event(&event, map, boot, &mut |entry| {
                    printer.entry(entry, &mut out);
                    write(&out)?;
                    out.clear();
                    Ok(())
                })?;
            }
            return Ok(());
        }
        let mut finish = |batch: &mut Batch| {
            sum.undecoded.append(&std::mem::take(&mut batch.undecoded));
            sum.shown += batch.shown;
            write(&batch.out)
        };
        let (mut sent, mut received, mut given) = (0, 0, 0);
        let mut is_more = true;
        while is_more || received < sent {
            let mut batch = Batch::default();
            if !is_more || sent - received == EACH * workers.len() {
                // A thread ends before its channel only by a panic, which the scope passes on.
                let Ok(next) = workers[received % workers.len()].1.recv() else {
                    return Ok(());
                };
                batch = next;
                received += 1;
                finish(&mut batch)?;
            }
            if !is_more {
                continue;
            }
            batch.clear();
            while batch.events.len() < EVENTS {
                let ring = merge.step();
                let Some((ring, event)) = ring.and_then(|i| Some((i, merge.event(i)?))) else {
                    is_more = false;
                    break;
                };
                batch.push(ring, &event);
            }
            given += batch.events.len() as u64;
            tick(given);
            if workers[sent % workers.len()].0.send(batch).is_err() {
                return Ok(());
            }
            sent += 1;
        }
        Ok(())
    })
}
