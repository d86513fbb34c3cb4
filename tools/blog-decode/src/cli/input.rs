// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Opens the files that the command line names, and reports what is wrong with them.

use std::{
    collections::{BTreeSet, HashSet},
    ops::Deref,
    path::{Path, PathBuf},
    slice,
};

use super::{
    args::{self, TablePaths},
    extract,
    local_system::explain_missing,
    progress::{Progress, Unit},
    record::is_written,
    report::{complain, Failure, Status},
};
use crate::{
    accounts::damage_text,
    blogfmt::bytes::hex,
    calendar::push_local,
    captures::Captures,
    clock::LogClock,
    decode::Undecoded,
    error::Error,
    field::Selector,
    filter::{is_component, unknown_arguments, Filter, Instant},
    foreign::{Log, LogKind},
    merge::Stream,
    open::{self, has_records, Contents},
    sidetable::Site,
    snapshot::{text, Snapshot},
};

/// Of which boot a file is that has survived its end.
fn earlier(file: &Snapshot) -> String {
    let id = file.boot_id().map_or_else(|| "unknown".into(), |id| hex(&id));
    let release = file.system.map_or_else(String::new, |s| text(&s.release));
    let mut until = Vec::new();
    if let Some(last) = file.pairs.last() {
        push_local(&mut until, last.real.into(), false);
    }
    format!(
        "{}: of an earlier boot: {id}, Linux {}, until about {}",
        file.name,
        release.escape_default(),
        String::from_utf8_lossy(&until),
    )
}

/// The snapshot of this system, for a command without files.
pub fn live(blog: &Path) -> Result<PathBuf, String> {
    let path = blog.join("snapshot");
    match std::fs::metadata(&path) {
        Ok(_) => Ok(path),
        Err(e) => {
            Err(format!("no SNAPSHOT is named, and {}; see --help", explain_missing(&path, &e)))
        }
    }
}

/// Whether a file of a directory that can't be opened is none that was meant: what else is there, or
/// one whose writer has just begun.
fn isnt_meant(path: &Path, e: &Error) -> bool {
    let is_new = || path.metadata().is_ok_and(|meta| meta.len() == 0) && is_written(path);
    (e.is_not_ours() && !has_records(path)) || is_new()
}

/// What is opened, and how it went.
pub struct Input {
    /// The files with their side tables.
    pub captures: Captures,
    /// Exit status so far.
    pub status: Status,
}

impl Deref for Input {
    type Target = Captures;

    fn deref(&self) -> &Captures {
        &self.captures
    }
}

impl Input {
    /// Opens all of them; an error if none can be read.
    pub fn open(args: &args::InputArgs) -> Result<Self, Failure> {
        let (files, tables, status) = Self::read(args)?;
        Ok(Self::new(files, &tables, status))
    }

    /// The files, where tables are looked for, and the exit status so far.
    pub fn read(args: &args::InputArgs) -> Result<(Vec<Snapshot>, TablePaths, Status), Failure> {
        args.tables.check()?;
        let (mut files, mut status) = (Vec::new(), Status::Whole);
        let named = args.host.iter().map(|(host, path)| (path, Some(host)));
        let given = |path: &PathBuf| args.host.iter().any(|(_, named)| named == path);
        let (dumps, others) = extract::with_dumps(&args.snapshots, &args.sources.vmcore);
        let others = others.iter().filter(|path| !given(path));
        let mut tables = args.tables.clone();
        let live = match args.is_live() {
            true => Some(live(&args.sources.blog)?),
            false => None,
        };
        let others = others.chain(&live);
        let mut paths = Vec::new();
        // Directories, and whether anything was found there.
        let mut dirs = Vec::new();
        for (path, host) in others.map(|path| (path, None)).chain(named) {
            if !path.is_dir() {
                paths.push((path.clone(), host, None));
                continue;
            }
            match Contents::read(path) {
                Ok(inner) => {
                    let from = |file| (file, host, Some(dirs.len()));
                    paths.extend(inner.files.into_iter().map(from));
                    dirs.push((path, !inner.problems.is_empty()));
                    tables.sidetable.extend(inner.tables);
                    for problem in inner.problems {
                        complain(&problem);
                        status = Status::Partial;
                    }
                }
                Err(e) => {
                    complain(&format!("{}: {e}", path.display()));
                    status = Status::Partial;
                }
            }
        }
        for (path, host, dir) in &paths {
            let mut progress = Progress::new("reading", Unit::Bytes, false);
            let opened = open::open(path, files.len(), &mut |done, all| progress.at(done, all));
            drop(progress);
            if opened.as_ref().is_err_and(|e| dir.is_some() && isnt_meant(path, e)) {
                continue;
            }
            if let Some((_, found)) = dir.and_then(|dir| dirs.get_mut(dir)) {
                *found = true;
            }
            match opened {
                Ok(several) => {
                    for mut file in several {
                        if let Some(host) = host {
                            file.host.clone_from(host);
                            file.given = true;
                        }
                        if file.damage.torn > 0 && is_written(path) {
                            file.damage.torn = 0;
                        }
                        files.push(file);
                    }
                }
                Err(e) => {
                    complain(&e.to_string());
                    status = Status::Partial;
                }
            }
        }
        for (dir, _) in dirs.iter().filter(|(_, found)| !found) {
            complain(&format!("{}: has no recordings", dir.display()));
            status = Status::Partial;
        }
        status = status.max(extract::add(&dumps, &mut files));
        if files.is_empty() {
            return Err(Failure::PRINTED);
        }
        Ok((files, tables, status))
    }

    /// Finds the side tables of snapshots.
    pub fn new(files: Vec<Snapshot>, paths: &TablePaths, mut status: Status) -> Self {
        let captures = Captures::new(files, &paths.sidetable, Some(&paths.modules));
        for file in &captures.files {
            if let Some(problems) = &file.survived {
                complain(&earlier(file));
                for problem in problems {
                    complain(&format!("{}: {problem}", file.name));
                }
            }
            if file.damage.any() {
                complain(&format!("{}: {}", file.name, damage_text(&file.damage)));
                status = Status::Partial;
            }
            if file.clock.is_none() || file.pairs.is_empty() {
                complain(&format!("{}: without clock calibration; times are ticks", file.name));
            }
        }
        captures.notes.iter().for_each(|note| complain(note));
        for problem in &captures.tables.problems {
            complain(&problem.text);
            if problem.grave {
                status = Status::Partial;
            }
        }
        Self { captures, status }
    }

    /// Completes a filter by what the files say. `has_logs`: other logs may name other tasks.
    pub fn settle(
        &self,
        args: &args::Filters,
        filter: &mut Filter,
        has_logs: bool,
    ) -> Result<(), String> {
        let last = self.boots.iter().max_by_key(|b| b.taken());
        let taken = last.and_then(|b| b.calibration.taken());
        args.set_times(filter, taken.map_or(0, |p| p.real).into())?;
        filter.is_possible(&self.boots)?;
        let times = [filter.since, filter.until];
        if times.iter().any(|at| matches!(at, Some(Instant::Real(_)))) {
            self.tell_set();
        }
        if let Some(boot) = args.boot() {
            let found = boot.find(&self.boots).map_err(|e| format!("--boot: {e}"))?;
            filter.boots = Some(found);
        }
        let mut unknown = Vec::new();
        if !has_logs && !filter.unknown_tasks(&self.tasks()).is_empty() {
            // Records may have names of their own.
            unknown = filter.unknown_tasks(&self.writers(&filter.components));
        }
        let has = |id| self.maps.iter().any(|map| map.find(id).is_some());
        let of_sites = |sites: &[&Site]| filter.unknown_sites(sites, has);
        unknown.extend(self.unknown(of_sites));
        unknown.iter().for_each(|unknown| complain(unknown));
        Ok(())
    }

    /// Reports where the wall clock was set: before, other clocks of the machine showed other times.
    fn tell_set(&self) {
        let each = self.files.iter().zip(&self.boots).enumerate();
        for (_, (file, boot)) in each.filter(|(n, (_, boot))| *n == boot.index) {
            let Some((until, off)) = boot.calibration.set() else {
                continue;
            };
            complain(&format!(
                "{}: until about {} s after boot, its wall clock was {} s {} what it was set to \
                 then: --since and --until go by the later one",
                file.name,
                until / 1_000_000_000,
                off.abs() / 1_000_000_000,
                if off > 0 { "ahead of" } else { "behind" },
            ));
        }
    }

    /// Reports arguments that no call site has.
    pub fn tell_unknown<'a>(&self, option: &str, fields: impl IntoIterator<Item = &'a Selector>) {
        for unknown in self.unknown(|sites| unknown_arguments(fields, sites)) {
            complain(&format!("{option}: {unknown}"));
        }
    }

    /// What is unknown among the call sites. A record whose table is missing has no arguments either.
    fn unknown(&self, of: impl FnOnce(&[&Site]) -> Vec<String>) -> Vec<String> {
        let (sites, are_all) = self.known_sites();
        if sites.is_empty() && !are_all {
            return Vec::new();
        }
        let rest = if are_all { "" } else { " (not all tables are there)" };
        of(&sites).into_iter().map(|what| what + rest).collect()
    }

    /// The rings of the components that are wanted.
    pub fn streams(&self, components: &[String]) -> Vec<Stream> {
        let streams = self.captures.streams(components);
        for name in components {
            let is_it = |s: &Stream| is_component(&s.component, slice::from_ref(name));
            if !streams.iter().any(is_it) {
                let all = self.captures.streams(&[]);
                let known: BTreeSet<_> = all.iter().map(|s| s.component.to_string()).collect();
                let known: Vec<_> = known.into_iter().collect();
                complain(&format!(
                    "--component {name}: no ring is of this component; components are: {}",
                    known.join(", ")
                ));
            }
        }
        streams
    }

    /// Opens other logs, each once. They are of the first file's machine and boot, or of that of the
    /// first file from the machine that is named; if it might be another, that is reported.
    pub fn logs(&mut self, args: &args::Logs) -> Result<Vec<Log>, String> {
        let mut logs = Vec::new();
        let dmesg = args.dmesg.iter().map(|path| (LogKind::Dmesg, path));
        let ftrace = args.ftrace.iter().map(|path| (LogKind::Ftrace, path));
        let mut guessed = false;
        let mut known = HashSet::new();
        for (kind, arg) in dmesg.chain(ftrace).filter(|log| known.insert(*log)) {
            let (file, path) = self.log_of(arg)?;
            let clock = match kind {
                LogKind::Dmesg => LogClock::Local,
                LogKind::Ftrace => args.ftrace_clock.into(),
            };
            let boot = &self.boots[file];
            let log = Log::open(kind, &path, clock, file, boot);
            let log = log.map_err(|e| format!("{}: {e}", path.display()))?;
            if let Some(note) = log.note() {
                complain(&note);
            }
            if !guessed && boot.calibration.is_known() && !boot.calibration.measures(clock) {
                guessed = true;
                complain(&format!(
                    "{} doesn't have the kernel log's clock: its lines, and ftrace's, go by \
                     CLOCK_MONOTONIC, which is near it: they may be off, after a sleep by a second",
                    self.files[file].name
                ));
            }
            if log.has_earlier() {
                let index = boot.index;
                let same = self.captures.boots.iter_mut();
                same.filter(|b| b.index == index).for_each(|b| b.is_one_of_host = true);
            }
            logs.push(log);
        }
        Ok(logs)
    }

    /// Which file's machine a log is from, and where it is.
    fn log_of(&self, arg: &Path) -> Result<(usize, PathBuf), String> {
        let named = arg.to_str().and_then(|a| a.split_once('='));
        let named = named.filter(|_| !arg.exists());
        let path = named.map_or(arg, |(_, path)| Path::new(path));
        let is_of = |f: &Snapshot| named.is_none_or(|(host, _)| f.host == host);
        let mut of = (0..self.files.len()).filter(|&i| is_of(&self.files[i]));
        let Some(first) = of.next() else {
            let host = named.map_or("", |(host, _)| host);
            return Err(format!("{}: no snapshot is from {host}", arg.display()));
        };
        let boot = &self.boots[first];
        if of.any(|i| self.boots[i].index != boot.index) {
            complain(&format!(
                "{}: assuming this log is of {}, as {} is{}",
                path.display(),
                boot.name,
                self.files[first].name,
                match named {
                    Some(_) => "",
                    None => "; name another machine by HOST=FILE",
                }
            ));
        }
        Ok((first, path.to_owned()))
    }

    /// The exit status, if there is nothing else to complain of.
    pub fn status(&self) -> Status {
        let is_bad = |f: &Snapshot| f.rings.is_empty() && f.damage.any();
        if self.files.iter().all(is_bad) {
            Status::Failed
        } else {
            self.status
        }
    }
}

/// Reports which records have no text.
pub fn tell_undecoded(u: &Undecoded, searched: &[String]) {
    for ((name, id), n) in &u.no_table {
        let why = match id.as_str() {
            "" => "it has no build ID".into(),
            id => format!(
                "no side table with build ID {id} in {}; name one, or a directory, with --sidetable",
                searched.join(", ")
            ),
        };
        complain(&format!("{n} records of {name} not decoded: {why}"));
    }
    for (n, why) in [
        (u.no_image, "their sites are in no image of the snapshot"),
        (u.bad_site, "their format string or types are not understood"),
        (u.short, "they are shorter than their arguments"),
        (u.withheld, "the reader of the file had no permission to see their addresses"),
    ] {
        if n != 0 {
            complain(&format!("{n} records not decoded: {why}"));
        }
    }
}
