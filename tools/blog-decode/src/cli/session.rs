// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! What all commands over records do alike: open files, settle the filters, go through the records,
//! and say what is missing.

use std::{io, panic, slice, thread};

use super::{
    args, complain,
    input::{tell_undecoded, Input},
    progress::{Progress, Unit},
    Failed, PARTIAL,
};
use crate::{
    decode::{Decoder, Entry, Outcome},
    filter::Filter,
    merge::{self, Stream},
};

/// Files that are open, and which of their records are wanted.
pub struct Session {
    /// The files.
    pub input: Input,
    /// Which records.
    pub filter: Filter,
    /// The rings that may have some.
    pub streams: Vec<Stream>,
}

impl Session {
    /// Opens files. `has_logs`: other logs are put between their records.
    pub fn open(
        input: &args::Input,
        filters: &args::Filters,
        has_logs: bool,
    ) -> Result<Self, Failed> {
        // What is wrong with the filters is told first.
        let filter = filters.build()?;
        Self::new(Input::open(input)?, filter, filters, has_logs)
    }

    /// The same of files that are open.
    pub fn new(
        input: Input,
        mut filter: Filter,
        filters: &args::Filters,
        has_logs: bool,
    ) -> Result<Self, Failed> {
        input.settle(filters, &mut filter, has_logs)?;
        let streams = input.streams(&filter.components);
        Ok(Self {
            input,
            filter,
            streams,
        })
    }

    /// What decodes the records, and says meanwhile how far it is. `is_shown`: they go to standard
    /// output.
    pub fn decoder(&self, doing: &'static str, is_shown: bool) -> Decoder<'_> {
        let mut progress = Progress::new(doing, Unit::Records, is_shown);
        let all = Some(merge::records(&self.streams));
        let (boots, maps) = (&self.input.boots, &self.input.maps);
        Decoder::new(&self.input.files, &self.streams, boots, maps, &self.filter)
            .with_tick(move |done| progress.at(done, all))
    }

    /// Goes through all entries; the answer is the exit status. An error is one of `each`.
    pub fn run(
        &self,
        doing: &'static str,
        each: impl FnMut(&Entry<'_>) -> io::Result<()>,
    ) -> Result<u8, Failed> {
        let mut decoder = self.decoder(doing, false);
        decoder.run(each).map_err(|e| e.to_string())?;
        Ok(self.end(&decoder.outcome()))
    }

    /// Goes through all entries by several threads, each of which has some of the rings: for answers to
    /// which the order of rings is of no matter. `start` makes what one of so many threads shows its
    /// entries to. The answer is all of these, and the exit status. An error is one of `each`.
    pub fn run_apart<T: Send>(
        &self,
        doing: &'static str,
        start: impl Fn(usize) -> T + Sync,
        each: impl Fn(&mut T, &Entry<'_>) -> io::Result<()> + Sync,
    ) -> Result<(Vec<T>, u8), Failed> {
        let parts = parts(&self.streams, threads(merge::records(&self.streams)));
        let (count, input, filter) = (parts.len(), &*self.input, &self.filter);
        let (files, boots, maps) = (&input.files, &input.boots, &input.maps);
        let work = |part| {
            let mut decoder = Decoder::new(files, part, boots, maps, filter);
            // It stands for the others.
            if part.as_ptr() == self.streams.as_ptr() {
                let mut progress = Progress::new(doing, Unit::Records, false);
                let all = Some(merge::records(&self.streams));
                let each = count as u64;
                decoder = decoder.with_tick(move |done| progress.at(done * each, all));
            }
            let mut to = start(count);
            let done = decoder.run(|entry| each(&mut to, entry));
            done.map(|()| (to, decoder.outcome()))
        };
        let (work, (own, others)) = (&work, parts.split_at(1));
        let results: Vec<_> = thread::scope(|scope| {
            // As many as the system lets us have; what those would do that it doesn't is done here.
            let mut started = Vec::new();
            for &part in others {
                let thread = thread::Builder::new().spawn_scoped(scope, move || work(part));
                started.push((thread.ok(), part));
            }
            let own = own.iter().map(|part| work(part));
            let others = started.into_iter().map(|(thread, part)| match thread {
                Some(thread) => thread.join().unwrap_or_else(|e| panic::resume_unwind(e)),
                None => work(part),
            });
            own.chain(others).collect()
        });
        let (mut all, mut outcome) = (Vec::new(), Outcome::default());
        for result in results {
            let (made, more) = result.map_err(|e| e.to_string())?;
            all.push(made);
            outcome.append(more);
        }
        Ok((all, self.end(&outcome)))
    }

    /// Says what is missing; the answer is the exit status.
    pub fn end(&self, outcome: &Outcome) -> u8 {
        let tables = &self.input.tables;
        self.input.status().max(tell(outcome, &tables.searched))
    }
}

/// With fewer records, other threads aren't worth it; with more threads, those that decode would
/// wait for the one that merges.
const FEW: u64 = 50_000;
const JOBS_MAX: usize = 4;

/// How many threads go through so many records, if the user says nothing.
pub fn threads(records: u64) -> usize {
    match records < FEW {
        true => 1,
        false => thread::available_parallelism().map_or(1, |n| n.get().min(JOBS_MAX)),
    }
}

/// Rings in so many parts, at most, which have about as many records each.
fn parts(streams: &[Stream], count: usize) -> Vec<&[Stream]> {
    let each = merge::records(streams) / count as u64 + 1;
    let (mut all, mut rest) = (Vec::new(), streams);
    while all.len() + 1 < count {
        let mut sum = 0;
        let is_enough = |stream: &Stream| {
            sum += merge::records(slice::from_ref(stream));
            sum >= each
        };
        let Some(last) = rest.iter().position(is_enough) else {
            break;
        };
        let (part, more) = rest.split_at(last + 1);
        all.push(part);
        rest = more;
    }
    if all.is_empty() || !rest.is_empty() {
        all.push(rest);
    }
    all
}

/// Says what could not be decoded. Tables were looked for there.
pub fn tell(outcome: &Outcome, searched: &[String]) -> u8 {
    let mut status = super::OK;
    match outcome.damaged {
        0 => {}
        1 => complain("1 record is damaged"),
        n => complain(&format!("{n} records are damaged")),
    }
    for problem in &outcome.log_problems {
        complain(problem);
    }
    tell_undecoded(&outcome.undecoded, searched);
    if outcome.any() {
        status = PARTIAL;
    }
    status
}
