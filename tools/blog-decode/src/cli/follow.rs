// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! `show --follow`: records to standard output as they come.

use std::{
    io, mem,
    path::Path,
    time::{Duration, Instant as Now},
};

use rustix::time::{clock_gettime, ClockId};

use super::{
    args::{Show, TablePaths},
    input::tell_undecoded,
    poll::{streams, wait, PollResult, PollSource, Signals},
    print::{Ends, Out},
    record::is_written,
    report::{complain, Failure, Status},
    session::unread,
};
use crate::{
    accounts::damage_text,
    captures::beside,
    decode::{Buffers, Entry, LiveFilter, Missing},
    filter::{is_component, Instant},
    live::Live,
    merge::{Cause, EventKind},
    sidetable::{SiteMap, Tables},
    snapshot::Snapshot,
    wire::record::Lost,
};

/// When nothing has come for this long, nothing is on its way: the kernel gives out what was logged
/// after this time at most. A line appears a tenth of a second after it was logged, with this.
const IDLE: Duration = Duration::from_millis(50);
/// A reader that is later than this gets a message, but not more often than that.
const LATE: Duration = Duration::from_secs(1);
const LATE_EVERY: Duration = Duration::from_secs(10);

/// Prints records as they come.
pub fn follow(args: &Show) -> Result<Status, Failure> {
    args.around.check(&args.filters)?;
    if args.filters.boot().is_some() {
        return Err("--boot cannot be used with --follow".into());
    }
    let mut filter = args.filters.build()?;
    filter.with_context = args.around.numbers() != (0, 0);
    args.input.tables.check()?;
    let paths = match args.input.snapshots.as_slice() {
        [] => streams(&args.input.sources.blog, &filter.components)?,
        paths => paths.to_vec(),
    };
    let signals = Signals::new()?.with_output();
    let inputs: Result<Vec<_>, _> = paths.iter().map(|path| PollSource::open(path)).collect();
    let inputs = inputs?;
    let components = filter.components.clone();
    let wanted = |name: &str| is_component(name, &components);
    let names = inputs.iter().map(|i| i.name.clone()).collect();
    let mut source = Source {
        live: Live::new(names, &wanted),
        heard: vec![Now::now(); inputs.len()],
        inputs,
        signals,
        buffer: Vec::new(),
        status: Status::Whole,
    };
    if args.new || args.filters.needs_log() {
        // By the clock of the first stream, when it was opened.
        while source.live.opened(0).is_none() && source.wait()? {}
    }
    let now = source.live.opened(0).map_or(0, |p| i128::from(p.real));
    args.filters.set_times(&mut filter, now)?;
    if args.new {
        filter.since = Some(Instant::Real(now));
    }
    for limit in [&mut filter.since, &mut filter.until] {
        // "Before the snapshot was taken" is before now. Later, now is another time.
        if let Some(Instant::BeforeEnd(ns)) = *limit {
            *limit = Some(Instant::Real(now - ns));
        }
    }
    filter.is_possible(&source.live.boots)?;
    // They line up as they come to be known.
    let host = (args.input.snapshots.len() > 1).then_some(0);
    let mut out = Out::new(
        &args.output,
        &filter,
        args.around.numbers(),
        host,
        Ends { last: args.last, reverse: false },
    );
    let mut run = Run {
        live: LiveFilter::new(&filter),
        buffers: Buffers::default(),
        sites: Sites::new(source.inputs.len(), &args.input.tables),
        records: 0,
        lost: Missing::default(),
        start: Now::now(),
        late: Duration::ZERO,
        told_late: None,
    };
    let written = run.all(&mut source, &mut out);
    let shown = out.shown;
    // The reader has enough.
    let is_closed = |e: &io::Error| e.kind() == io::ErrorKind::BrokenPipe;
    match written.and_then(|()| out.end()) {
        Err(e) if !is_closed(&e) => return Err(e.to_string().into()),
        _ => {}
    }
    drop(out);
    run.add_unread(&source.live, &wanted);
    let mut status = run.end(&source, shown);
    if filter.chooses() && run.live.shown == 0 {
        status = status.max(Status::Partial);
    }
    Ok(status)
}

/// Where records come from.
struct Source<'w> {
    inputs: Vec<PollSource>,
    /// When something came from each of them.
    heard: Vec<Now>,
    live: Live<'w>,
    signals: Signals,
    buffer: Vec<u8>,
    status: Status,
}

impl Source<'_> {
    /// Waits for input, and takes it in. `false`: that is all.
    fn wait(&mut self) -> Result<bool, String> {
        if self.signals.asked() || self.inputs.iter().all(PollSource::has_ended) {
            return Ok(false);
        }
        let busy = (0..self.inputs.len()).filter(|&i| !self.live.is_idle(i));
        let waits = busy.map(|i| IDLE.saturating_sub(self.heard[i].elapsed()));
        let ready = wait(&self.inputs, &self.signals, waits.min())?;
        for i in 0..self.inputs.len() {
            if ready.contains(&i) && self.read(i)? {
                self.heard[i] = Now::now();
            } else if self.heard[i].elapsed() >= IDLE && !self.live.is_idle(i) {
                self.live.idle(i);
            }
        }
        Ok(true)
    }

    /// Whether anything came.
    fn read(&mut self, i: usize) -> Result<bool, String> {
        let input = &mut self.inputs[i];
        match input.read(&mut self.buffer) {
            Ok(PollResult::Nothing) => return Ok(false),
            Ok(PollResult::Bytes(bytes)) => {
                let fed = self.live.feed(i, bytes);
                fed.map_err(|e| format!("{}: {e}", input.name))?;
            }
            Ok(PollResult::End) => {
                if let Some(why) = self.live.why_nothing(i) {
                    complain(&format!("{}: {why}", input.name));
                    self.status = Status::Partial;
                }
                self.live.end_of_input(i);
                if is_written(Path::new(&input.name)) {
                    self.live.files[i].damage.torn = 0;
                }
            }
            Err(e) => {
                complain(&format!("{}: {e}", input.name));
                self.status = Status::Partial;
                self.live.end_of_input(i);
            }
        }
        Ok(true)
    }
}

/// Call sites, of images that may come at any time.
struct Sites<'a> {
    maps: Vec<SiteMap>,
    images: Vec<usize>,
    paths: &'a TablePaths,
    /// Where tables were looked for.
    searched: Vec<String>,
    status: Status,
}

impl<'a> Sites<'a> {
    fn new(files: usize, paths: &'a TablePaths) -> Self {
        let empty = || SiteMap::new(&[], &Tables::default());
        Self {
            maps: (0..files).map(|_| empty()).collect(),
            images: vec![0; files],
            paths,
            searched: Vec::new(),
            status: Status::Whole,
        }
    }

    /// Looks for side tables, if there are new images.
    fn update(&mut self, files: &[Snapshot]) {
        for (i, file) in files.iter().enumerate() {
            let known = file.images.len() + file.tables.len();
            if known == self.images[i] {
                continue;
            }
            let is_first = self.images[i] == 0;
            self.images[i] = known;
            let beside = beside([Path::new(&file.name)].into_iter());
            let tables = Tables::load(
                file.images.iter(),
                file.tables.iter(),
                &self.paths.sidetable,
                &beside,
                Some(&self.paths.modules),
            );
            for problem in tables.problems.iter().filter(|_| is_first) {
                complain(&problem.text);
                if problem.grave {
                    self.status = Status::Partial;
                }
            }
            self.maps[i] = SiteMap::new(&file.images, &tables);
            self.searched = tables.searched;
        }
    }
}

/// What was done so far.
struct Run<'a> {
    live: LiveFilter<'a>,
    /// Of the last entry.
    buffers: Buffers,
    sites: Sites<'a>,
    records: u64,
    lost: Missing,
    start: Now,
    /// The most that it was late.
    late: Duration,
    told_late: Option<Now>,
}

impl Run<'_> {
    fn all(&mut self, source: &mut Source<'_>, out: &mut Out<'_>) -> io::Result<()> {
        let opened = boot_time();
        loop {
            let goes_on = source.wait().map_err(io::Error::other)?;
            if !goes_on {
                for i in 0..source.inputs.len() {
                    if !source.live.has_ended(i) {
                        source.live.end(i);
                    }
                }
            }
            self.sites.update(&source.live.files);
            let last = self.print(&mut source.live, out)?;
            if (0..source.inputs.len()).all(|i| source.live.is_idle(i)) {
                out.release()?;
            }
            out.flush()?;
            if let Some((file, boot)) = last {
                if source.inputs[file].is_here && boot > opened {
                    self.lateness(boot);
                }
            }
            if !goes_on {
                return Ok(());
            }
        }
    }

    /// Prints what can be printed now; the answer is the file and time of the last event.
    fn print(
        &mut self,
        live: &mut Live<'_>,
        out: &mut Out<'_>,
    ) -> io::Result<Option<(usize, i128)>> {
        let mut last = None;
        while live.advance() {
            let Some((event, stream)) = live.event() else { continue };
            match event.kind {
                EventKind::Loss {
                    cause: Cause::Overwritten | Cause::Elsewhere | Cause::LeftOut,
                    ..
                } => {}
                EventKind::Loss { cause, count, .. } => self.lost.add(cause, count),
                _ => self.records += 1,
            }
            let file = stream.file();
            last = Some((file, event.clock));
            let (map, boot) = (&self.sites.maps[event.file], &live.boots[file]);
            if live.opened(file).is_some_and(|p| p.clock < event.clock) {
                out.release()?;
            }
            let buffers = mem::take(&mut self.buffers);
            let mut entry = Entry::new(stream, boot, event.clone(), buffers);
            if self.live.entry(&mut entry, map) {
                out.entry(&entry)?;
            }
            self.buffers = (entry.message, entry.slots);
        }
        Ok(last.map(|(file, clock)| (file, live.boots[file].calibration.boot(clock))))
    }

    /// Tells if what was printed is old.
    fn lateness(&mut self, boot: i128) {
        let late = u64::try_from(boot_time() - boot).unwrap_or(0);
        let late = Duration::from_nanos(late);
        self.late = self.late.max(late);
        if late > LATE && self.told_late.is_none_or(|t| t.elapsed() > LATE_EVERY) {
            self.told_late = Some(Now::now());
            complain(&format!("{:.1} s behind", late.as_secs_f64()));
        }
    }

    /// Counts records of rings that were taken from their tasks before they were read: no ring that
    /// is there has lost them.
    fn add_unread(&mut self, live: &Live<'_>, wanted: &dyn Fn(&str) -> bool) {
        for n in unread(live.files.iter().zip(&live.boots), wanted).into_values() {
            self.lost.add(Cause::Told(Lost::ReaderLag as u8), n);
        }
    }

    /// Says what it was, and of how many records; the answer is the exit status.
    fn end(&self, source: &Source<'_>, shown: u64) -> Status {
        let mut status = source.status.max(self.sites.status);
        for file in &source.live.files {
            if file.damage.any() {
                complain(&format!("{}: {}", file.name, damage_text(&file.damage)));
                status = status.max(Status::Partial);
            }
        }
        if self.live.undecoded.any() {
            tell_undecoded(&self.live.undecoded, &self.sites.searched);
            status = status.max(Status::Partial);
        }
        let begun = (0..source.inputs.len()).any(|i| source.live.has_begun(i));
        if !begun {
            status = Status::Failed;
        }
        let mut text = format!(
            "{} of {} records shown in {:.1} s; ",
            shown,
            self.records,
            self.start.elapsed().as_secs_f64()
        );
        if self.lost.is_empty() {
            let is_damaged = source.live.files.iter().any(|file| file.damage.any());
            text.push_str(match is_damaged {
                true => "none lost but what the damage has cost",
                false => "none lost",
            });
        } else {
            text.push_str(&format!("lost: {}", self.lost.by_cause()));
        }
        if !self.late.is_zero() {
            let late = self.late.as_secs_f64();
            text.push_str(&format!("; at most {late:.2} s behind"));
        }
        complain(&text);
        status
    }
}

/// CLOCK_BOOTTIME in ns.
fn boot_time() -> i128 {
    let now = clock_gettime(ClockId::Boottime);
    i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec)
}
