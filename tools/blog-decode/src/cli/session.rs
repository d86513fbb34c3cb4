// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The common part of all commands over records: opens files, settles the filters, goes through the
//! records, and reports what is missing.

use std::{
    collections::{BTreeMap, HashMap},
    io, iter, slice, thread,
};

use super::{
    args,
    input::{tell_undecoded, Input},
    print::Printer,
    progress::{Progress, Unit},
    report::{complain, Failure, Status},
};
use crate::{
    accounts::lost_of,
    batch::Work,
    boot::Boot,
    calendar::push_local,
    decode::{Decoder, Entry, Missing, Outcome},
    filter::{Filter, Instant},
    merge::{self, Cause, Stream},
    output::text::Line,
    queue::Queue,
    snapshot::Snapshot,
    wire::record::Lost,
};

/// Files that are open, and which of their records are wanted.
pub struct Session {
    /// The files.
    pub input: Input,
    /// Which records.
    pub filter: Filter,
    /// The rings that may have some.
    pub streams: Vec<Stream>,
    /// Threads that decode.
    pub threads: usize,
    /// The answer has no lines for losses, so that standard error must have one.
    pub tells_losses: bool,
}

/// How a run has ended.
#[derive(Clone, Copy)]
pub struct End {
    /// The exit status.
    pub status: Status,
    /// No record was wanted. Standard error has a line about it.
    pub is_empty: bool,
}

impl Session {
    /// Opens files. `has_logs`: other logs are put between their records.
    pub fn open(
        input: &args::InputArgs,
        filters: &args::Filters,
        has_logs: bool,
        jobs: args::Jobs,
    ) -> Result<Self, Failure> {
        // Errors of the filters are reported first.
        let filter = filters.build()?;
        let mut this = Self::new(Input::open(input)?, filter, filters, has_logs)?;
        if let Some(jobs) = jobs.jobs {
            this.threads = jobs.get().min(JOBS_LIMIT);
        }
        Ok(this)
    }

    /// The same of files that are open.
    pub fn new(
        input: Input,
        mut filter: Filter,
        filters: &args::Filters,
        has_logs: bool,
    ) -> Result<Self, Failure> {
        input.settle(filters, &mut filter, has_logs)?;
        let streams = input.streams(&filter.components);
        Ok(Self {
            input,
            tells_losses: true,
            filter,
            threads: threads(merge::records(&streams)),
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
            .with_threads(self.threads)
            .with_tick(move |done| progress.at(done, all))
    }

    /// Has other threads do `work` with all entries; `take` gets what they have made.
    pub fn run_by<'a, W: Work<'a> + 'a>(
        &'a self,
        doing: &'static str,
        work: impl Fn() -> W,
        take: impl FnMut(&mut W::Made) -> io::Result<()>,
    ) -> Result<End, Failure> {
        let mut decoder = self.decoder(doing, false);
        let done = decoder.run_by(self.threads, work, take);
        done.map_err(|e| e.to_string())?;
        Ok(self.end(&decoder.outcome()))
    }

    /// The lines of some entries, by their numbers among all of them, as `printer` prints them. They
    /// are decoded a second time: that costs less than to print all of which some may be wanted.
    pub fn lines(
        &self,
        numbers: impl Iterator<Item = u64>,
        printer: &mut Printer<'_>,
    ) -> HashMap<u64, Line> {
        let mut lines: HashMap<_, _> = numbers.map(|n| (n, Line::default())).collect();
        let Some(last) = lines.keys().max().copied() else {
            return lines;
        };
        let mut number = 0;
        // It stops at the last one.
        let _ = self.decoder("decoding", false).run(|entry| {
            if let Some(line) = lines.get_mut(&number) {
                printer.keep(entry, line);
            }
            number += 1;
            if number <= last {
                Ok(())
            } else {
                Err(())
            }
        });
        lines
    }

    /// Goes through all entries by several threads, each of which has some of the rings: for answers to
    /// which the order of rings is of no matter. `start` makes what a thread shows its entries to. The answer is all of these, and how it ended. An error is one of `each`.
    pub fn run_apart<T: Send>(
        &self,
        doing: &'static str,
        start: impl Fn() -> T + Sync,
        each: impl Fn(&mut T, &Entry<'_>) -> io::Result<()> + Sync,
    ) -> Result<(Vec<T>, End), Failure> {
        let parts = parts(&self.streams, self.threads);
        let (count, input, filter) = (parts.len(), &*self.input, &self.filter);
        let (files, boots, maps) = (&input.files, &input.boots, &input.maps);
        let work = |part: &[Stream]| {
            let mut decoder = Decoder::new(files, part, boots, maps, filter);
            // It stands for the others.
            if part.as_ptr() == self.streams.as_ptr() {
                let mut progress = Progress::new(doing, Unit::Records, false);
                let all = Some(merge::records(&self.streams));
                let each = count as u64;
                decoder = decoder.with_tick(move |done| progress.at(done * each, all));
            }
            let mut to = start();
            let done = decoder.run(|entry| each(&mut to, entry));
            done.map(|()| (to, decoder.outcome()))
        };
        let work = &work;
        let results = thread::scope(|scope| {
            let mut queue = Queue::new(scope, count * usize::from(count > 1), || work);
            let mut results = Vec::new();
            for part in parts {
                results.extend(queue.full());
                queue.push(part);
            }
            results.extend(iter::from_fn(|| queue.pop()));
            results
        });
        let (mut all, mut outcome) = (Vec::new(), Outcome::default());
        for result in results {
            let (made, more) = result.map_err(|e| e.to_string())?;
            all.push(made);
            outcome.append(more);
        }
        Ok((all, self.end(&outcome)))
    }

    /// Says what is missing.
    pub fn end(&self, outcome: &Outcome) -> End {
        let tables = &self.input.tables;
        let mut status = self.input.status().max(tell(outcome, &tables.searched));
        let is_empty = self.filter.chooses() && outcome.found == 0;
        if is_empty {
            // Those of other components, and those that are not new, are records, too.
            let records = match outcome.records {
                n if n != 0 && self.filter.components.is_empty() => n,
                _ => merge::records(&self.input.captures.streams(&[])),
            };
            tell_none(records, "record", &self.hint().unwrap_or_default());
            // Whether one matches is known of none.
            let is_blind = outcome.records != 0 && outcome.undecoded.sum() == outcome.records;
            status = status.max(if is_blind { Status::Failed } else { Status::Partial });
        }
        if is_empty || self.filter.is_by_time() {
            self.tell_placeless();
        }
        if self.tells_losses && self.filter.is_by_record() && !outcome.missing.is_empty() {
            complain(&format!(
                "records that may match are missing: {}",
                outcome.missing.by_cause()
            ));
        }
        End { status, is_empty }
    }

    /// Says what is missing without a line of its own, as nobody knows when it was logged, or because
    /// the user has cleared it, if it may be of the time that is asked for.
    fn tell_placeless(&self) {
        let (boots, filter) = (&self.input.boots, &self.filter);
        let wants = |boot: &Boot, until| {
            let is_boot = filter.boots.as_ref().is_none_or(|all| all.contains(&boot.index));
            is_boot && filter.wants_span((0, until), boot)
        };
        let (mut cleared, mut missing) = (BTreeMap::new(), BTreeMap::new());
        for stream in &self.streams {
            let boot = &boots[stream.file()];
            let Some(clock) = stream.cleared().filter(|clock| wants(boot, *clock)) else {
                continue;
            };
            let last = cleared.entry((boot.index, &*stream.component)).or_insert(clock);
            *last = clock.max(*last);
        }
        for ((boot, component), clock) in cleared {
            let us = boots[boot].calibration.boot(clock) / 1000;
            let (s, us) = (us / 1_000_000, us % 1_000_000);
            complain(&format!("{component}: older records were cleared {s}.{us:06} s after boot"));
        }
        let files = self.input.files.iter().zip(boots);
        let files = files.filter(|(_, boot)| wants(boot, u64::MAX));
        // What else streams lack was in them before.
        for (file, boot) in files.clone().filter(|(file, _)| !file.stream) {
            for component in file.components.values() {
                let name = file.component_name(component.id);
                if !filter.wants_component(&name) {
                    continue;
                }
                let mut of = Missing::default();
                of.add_named("of ended tasks", component.gone_records);
                lost_of(&component.lost).for_each(|(cause, n)| of.add_named(cause, n));
                // Of several files, the last one has the most.
                let known: &mut Missing = missing.entry((boot.index, name)).or_default();
                known.max(of);
            }
        }
        for (key, n) in unread(files, |name| filter.wants_component(name)) {
            missing.entry(key).or_default().add(Cause::Told(Lost::ReaderLag as u8), n);
        }
        for ((_, component), missing) in missing.iter().filter(|(_, m)| !m.is_empty()) {
            complain(&format!(
                "{component}: records of unknown times are missing: {}",
                missing.by_cause()
            ));
        }
    }

    /// Why there may be no record, if the user has meant another time.
    fn hint(&self) -> Option<String> {
        let since = self.filter.since?;
        let boots = &self.input.boots;
        let is_late = |b: &Boot| b.calibration.is_known() && since.on(b) > b.end;
        let boot = boots.first().filter(|_| boots.iter().all(is_late))?;
        let mut end = Vec::new();
        match boot.is_one_of_several || matches!(since, Instant::Real(_)) {
            true => {
                let real = boot.calibration.taken()?.real;
                end.extend_from_slice(b"at ");
                push_local(&mut end, real.into(), false);
            }
            false => end.extend(format!("{} s after boot", boot.end / 1_000_000_000).into_bytes()),
        }
        let end = String::from_utf8_lossy(&end);
        let back = match since {
            Instant::Boot(_) => "; with a - in front it counts back from there",
            _ => "",
        };
        Some(format!(": the log ends {end}, before --since{back}"))
    }
}

/// Records of rings that were taken from their tasks before the readers of streams had them, by boot
/// and component. Each file of a recording counts what all up to it lack, from where the first one
/// began; others begin elsewhere.
pub fn unread<'a>(
    files: impl Iterator<Item = (&'a Snapshot, &'a Boot)>,
    wants: impl Fn(&str) -> bool,
) -> BTreeMap<(usize, String), u64> {
    let mut ranges = BTreeMap::<_, Vec<(u64, u64)>>::new();
    for (file, boot) in files.filter(|(file, _)| file.stream) {
        for component in file.components.values() {
            let name = file.component_name(component.id);
            if wants(&name) {
                let (from, n) = (component.gone_records, component.lost[Lost::ReaderLag as usize]);
                let of = ranges.entry((boot.index, name, component.id)).or_default();
                of.push((from, from.saturating_add(n)));
            }
        }
    }
    let mut all = BTreeMap::new();
    for ((boot, name, _), mut ranges) in ranges {
        ranges.sort_unstable();
        let (sum, mut end): (&mut u64, _) = (all.entry((boot, name)).or_default(), 0);
        for (from, to) in ranges {
            *sum = sum.saturating_add(to.saturating_sub(from.max(end)));
            end = end.max(to);
        }
    }
    all
}

/// Says that none of so many is wanted.
pub fn tell_none(all: u64, what: &str, why: &str) {
    let verb = if all == 1 { " matches" } else { "s match" };
    complain(&format!("0 of {} {what}{verb}{why}", grouped(all)));
}

/// A number whose digits are in groups: `1,279`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join(",")
}

/// With fewer records, other threads aren't worth it; with more threads, those that decode would
/// wait for the one that merges.
const FEW: u64 = 50_000;
const JOBS_MAX: usize = 4;
/// More than this are never started, whatever the user says.
const JOBS_LIMIT: usize = 64;

/// How many threads go through so many records, if the user says nothing.
fn threads(records: u64) -> usize {
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

/// Says how many records weren't chosen for the reader that made a file.
pub fn tell_left_out(count: u64) {
    if count != 0 {
        complain(&format!(
            "{count} records are not in the file: others were chosen for its reader, in the kernel"
        ));
    }
}

/// Says what could not be decoded. Tables were looked for there.
pub fn tell(outcome: &Outcome, searched: &[String]) -> Status {
    let mut status = Status::Whole;
    match outcome.damaged {
        0 => {}
        1 => complain("1 record is damaged"),
        n => complain(&format!("{n} records are damaged")),
    }
    tell_left_out(outcome.left_out);
    for problem in &outcome.log_problems {
        complain(problem);
    }
    tell_undecoded(&outcome.undecoded, searched);
    if outcome.any() {
        status = Status::Partial;
    }
    status
}
