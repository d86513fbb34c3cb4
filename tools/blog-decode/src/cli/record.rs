// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! `record`: a directory with the log of a system, which decodes anywhere.
//!
//! ```text
//! DIR/blog.000001.stream   captures, or with --every: blog.000001.snapshot
//! DIR/blog.000002.part     the file being written; it becomes .stream when it is full
//! ```
//!
//! Whatever happens, the content of a file decodes: each has the side tables of its images, and the
//! table of an image is on disk before the first bytes that name the image. A separate thread
//! searches tables, as a stream doesn't wait; what comes meanwhile is held.
//!
//! Numbers continue those of existing files. [`Split`] cuts a stream into files, each of which
//! decodes alone. When all files together exceed the limit, the oldest go. A .part file was left by
//! a program or a machine that died: it gets the name that it would have got. A file that has such a
//! name, but isn't known for a recording, is reported and stays.

use std::{
    collections::{HashMap, HashSet},
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    thread,
    time::{Duration, Instant},
};

use rustix::fs::{flock, FlockOperation};

use super::{
    args::Record,
    local_system::explain_missing,
    poll::{streams, wait, PollResult, PollSource, Signals, CHUNK},
    report::{complain, Failure, Status},
};
use crate::{
    accounts::damage_text,
    blogfmt::{bytes::hex, source::Source},
    captures::beside,
    error::Error,
    open::PART,
    sidetable::{build_id, find_file},
    snapshot::{split::Split, text, Snapshot, FILE_HEADER},
    wire::file::{Image, Kind, FILE_MAGIC, SECTION_MAX},
};

/// Name of files.
const PREFIX: &str = "blog.";
/// What is said when there is no room.
const REMOVED: &str = "the disk is full: the oldest file is removed";
/// How long a stream is read on when it is to end, at most.
const LAST: Duration = Duration::from_secs(2);
/// As much is held while tables are looked for; beyond that, records come before their tables.
const HELD_MAX: usize = 64 << 20;
/// And for so long after the last was asked for: where they are may be slow.
const SEARCH: Duration = Duration::from_secs(10);
/// How often it looks whether they were found.
const LOOK: Duration = Duration::from_millis(20);

/// Records until it is interrupted, or the stream ends.
pub fn record(args: &Record) -> Result<Status, Failure> {
    args.tables.check()?;
    let signals = Signals::new()?;
    let end = args.duration.map(|d| Instant::now() + d);
    let mut dir = Dir::open(args)?;
    let result = match args.every {
        Some(every) => snapshots(args, every, end, &signals, &mut dir),
        None => stream(args, end, &signals, &mut dir),
    };
    // First why it ended.
    let failed = result.inspect_err(|why| complain(why)).is_err();
    dir.give_up();
    complain(&format!(
        "{} files, {} bytes written to {}{}",
        dir.written,
        dir.bytes,
        args.output.display(),
        match dir.removed {
            0 => String::new(),
            n => format!("; the oldest {n} removed"),
        }
    ));
    Ok(match dir.written {
        0 => Status::Failed,
        _ if failed => Status::Failed,
        _ => dir.status,
    })
}

fn left(end: Option<Instant>) -> Option<Duration> {
    end.map(|end| end.saturating_duration_since(Instant::now()))
}

/// A snapshot now and then.
fn snapshots(
    args: &Record,
    every: Duration,
    end: Option<Instant>,
    signals: &Signals,
    dir: &mut Dir<'_>,
) -> Result<(), String> {
    let path = match args.stream.as_slice() {
        [] => args.blog.join("snapshot"),
        [path] => path.clone(),
        _ => return Err("snapshots are taken of one file".into()),
    };
    let mut buffer = vec![0; CHUNK];
    loop {
        let start = Instant::now();
        let mut file = File::open(&path).map_err(|e| explain_missing(&path, &e))?;
        let mut out = Out::new(path.display().to_string(), "snapshot", dir)?;
        let result = loop {
            match file.read(&mut buffer) {
                Ok(0) => break Ok(()),
                Ok(n) => {
                    if let Err(e) = out.write(&buffer[..n], dir) {
                        break Err(e);
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => break Err(format!("{}: {e}", path.display())),
            }
        };
        out.finish(dir, true)?;
        result?;
        let rest = every.saturating_sub(start.elapsed());
        let rest = left(end).map_or(rest, |l| l.min(rest));
        let until = Instant::now() + rest;
        while !signals.asked() && Instant::now() < until {
            wait(&[], signals, left(Some(until)))?;
        }
        if signals.asked() || left(end).is_some_and(|l| l.is_zero()) {
            return Ok(());
        }
    }
}

/// The stream, in files of a certain size.
fn stream(
    args: &Record,
    end: Option<Instant>,
    signals: &Signals,
    dir: &mut Dir<'_>,
) -> Result<(), String> {
    let path = match args.stream.as_slice() {
        [] => streams(&args.blog, &[])?.remove(0),
        [path] => path.clone(),
        _ => return Err("one stream is recorded at a time".into()),
    };
    let mut inputs = [PollSource::open(&path)?];
    let mut out = Out::new(inputs[0].name.clone(), "stream", dir)?;
    let mut buffer = Vec::new();
    let mut result = Ok(());
    while result.is_ok() && !signals.asked() && !left(end).is_some_and(|l| l.is_zero()) {
        let looks = (!out.held.is_empty()).then_some(LOOK);
        let limit = left(end).into_iter().chain(looks).min();
        let ready = wait(&inputs, signals, limit)?;
        result = match ready.is_empty() {
            true => out.write(&[], dir),
            false => match step(&mut inputs[0], &mut out, dir, &mut buffer) {
                Ok(PollResult::End) => break,
                Ok(_) => Ok(()),
                Err(e) => Err(e),
            },
        };
    }
    // Also what was logged just before it was asked to end; a pipe would wait for more.
    let until = Instant::now() + LAST;
    while result.is_ok() && inputs[0].is_here && !inputs[0].has_ended() && Instant::now() < until {
        match step(&mut inputs[0], &mut out, dir, &mut buffer) {
            Ok(PollResult::Bytes(_)) => {}
            Ok(_) => break,
            Err(e) => result = Err(e),
        }
    }
    // What is there is whole, whatever has gone wrong.
    out.finish(dir, inputs[0].has_ended())?;
    result
}

/// Reads what there is.
fn step<'b>(
    input: &mut PollSource,
    out: &mut Out,
    dir: &mut Dir<'_>,
    buffer: &'b mut Vec<u8>,
) -> Result<PollResult<'b>, String> {
    let came = match input.read(buffer) {
        Ok(came) => came,
        Err(e) => return Err(format!("{}: {e}", input.name)),
    };
    if let PollResult::Bytes(bytes) = &came {
        out.write(bytes, dir)?;
    }
    Ok(came)
}

/// What is recorded, on its way to the disk.
struct Out {
    /// Where it is from.
    from: String,
    kind: &'static str,
    split: Split,
    part: Part,
    /// What waits for tables, and the build IDs of those that were asked for.
    held: Vec<u8>,
    asked: HashSet<Vec<u8>>,
    /// Size of the file when it had all that is at the beginning of each.
    start: u64,
}

impl Out {
    fn new(from: String, kind: &'static str, dir: &mut Dir<'_>) -> Result<Self, String> {
        Ok(Self {
            from,
            kind,
            split: Split::default(),
            part: dir.create(kind)?,
            held: Vec::new(),
            asked: HashSet::new(),
            start: 0,
        })
    }

    /// Takes bytes in, and writes what needs no table any more.
    fn write(&mut self, bytes: &[u8], dir: &mut Dir<'_>) -> Result<(), String> {
        let fed = self.split.feed(bytes, &mut self.held);
        fed.map_err(|e| format!("{}: {e}", self.from))?;
        dir.ask_for_tables(&self.split, &mut self.asked);
        self.take_tables(None, dir)?;
        if dir.is_searching() && self.held.len() < HELD_MAX || self.held.is_empty() {
            return Ok(());
        }
        self.put(dir)?;
        // What is in a ring at the beginning counts as much as what comes later.
        let limit = dir.args.file_size.min(dir.args.size / 2).max(1);
        if self.kind == "stream" && self.part.size - self.start >= limit {
            self.held = self.split.next_file();
            self.start = self.held.len() as u64;
            let next = dir.create(self.kind)?;
            std::mem::replace(&mut self.part, next).finish(dir)?;
        }
        Ok(())
    }

    /// Hears which tables were found, and puts these before what is held; waits for the first one so
    /// long. What is recorded may itself have a table, of a probe.
    fn take_tables(&mut self, limit: Option<Duration>, dir: &mut Dir<'_>) -> Result<(), String> {
        for (name, id, table) in dir.answers(limit) {
            if self.split.tables.contains(&id) {
                continue;
            }
            match table {
                Some(table) => self.split.add(Kind::SideTable, &table, &mut self.held)?,
                // It was reported, or will be.
                None if !dir.known.insert(id.clone()) => {}
                None => {
                    let what = format!(
                        "{name}: no side table of build ID {}; without it, its records will not \
                         decode elsewhere",
                        hex(&id)
                    );
                    dir.missing.push((id, what));
                }
            }
        }
        dir.tell_missing(&self.split);
        Ok(())
    }

    fn put(&mut self, dir: &mut Dir<'_>) -> Result<(), String> {
        let held = std::mem::take(&mut self.held);
        let written = self.part.write(&held, dir);
        if written.is_err() {
            // Nothing fits after half of a section.
            self.split = Split::default();
        }
        written
    }

    /// Writes the buffered sections, and closes the file. `has_ended`: its source has ended.
    fn finish(mut self, dir: &mut Dir<'_>, has_ended: bool) -> Result<(), String> {
        while dir.is_searching() {
            self.take_tables(Some(LOOK), dir)?;
        }
        self.take_tables(None, dir)?;
        let rest = self.split.end();
        let rest = rest.map_err(|e| format!("{}: {e}", self.from));
        let written = rest.and_then(|(rest, damage)| {
            if has_ended && damage.any() {
                complain(&format!("{}: {}", self.from, damage_text(&damage)));
                dir.status = Status::Partial;
            }
            self.held.extend(rest);
            // Only the beginning that each has is no file.
            let is_more = self.part.size > 0 || self.held.len() as u64 > self.start;
            match is_more && !self.held.is_empty() {
                true => self.put(dir),
                false => Ok(()),
            }
        });
        match self.part.size {
            0 => self.part.forget(),
            _ => self.part.finish(dir)?,
        }
        written
    }
}

/// The directory that is written to.
struct Dir<'a> {
    args: &'a Record,
    next: u64,
    /// Files of this format that are there, the oldest first, with their sizes.
    files: Vec<(PathBuf, u64)>,
    /// It, which is locked.
    lock: File,
    /// The thread that looks for tables, which ones, and how long to wait for it.
    ask: Sender<(String, Vec<u8>)>,
    found: Receiver<Found>,
    searched: Vec<(String, Vec<u8>)>,
    until: Instant,
    /// Build IDs of images without a table, of those that have records, and what to report.
    known: HashSet<Vec<u8>>,
    used: HashSet<Vec<u8>>,
    missing: Vec<(Vec<u8>, String)>,
    written: u64,
    bytes: u64,
    removed: u64,
    status: Status,
}

/// An image and its build ID, and its table if there is one.
type Found = (String, Vec<u8>, Option<Vec<u8>>);

/// The number of a file that has a name of ours, and whether it is complete.
fn number(name: &str) -> Option<(u64, bool)> {
    let (number, kind) = name.strip_prefix(PREFIX)?.split_once('.')?;
    let is_whole = matches!(kind, "stream" | "snapshot");
    let n = number.parse().ok()?;
    ((is_whole || kind == PART) && number == format!("{n:06}")).then_some((n, is_whole))
}

/// What a file is that has a name of ours, by its content.
enum Content {
    /// A recording, whose header may be damaged; and its kind.
    Recording(&'static str, bool),
    /// The beginning of one, in which there is no record yet.
    Nothing,
    Other,
}

impl Content {
    fn of(path: &Path) -> Result<Self, Error> {
        if !fs::symlink_metadata(path)?.is_file() {
            return Ok(Self::Other);
        }
        let source = Source::open(path)?;
        let size = source.size();
        let mut magic = FILE_MAGIC;
        let n = source.read_some(0, &mut magic)?;
        if size < FILE_HEADER as u64 && FILE_MAGIC.starts_with(&magic[..n]) {
            return Ok(Self::Nothing);
        }
        // As all other commands know one.
        let mut file = Snapshot::empty(String::new(), source);
        match file.check_header() {
            Ok(start) if start == size => Ok(Self::Nothing),
            Ok(_) => {
                let is_stream = file.stream || file.damage.bad_header;
                let kind = if is_stream { "stream" } else { "snapshot" };
                Ok(Self::Recording(kind, file.damage.bad_header))
            }
            Err(e @ Error::Io(_)) => Err(e),
            Err(_) => Ok(Self::Other),
        }
    }
}

/// The recording that a file of a name of ours is, under the name that it is to have; `None`: it is
/// none, and stays, or there was nothing in it.
fn adopt(path: PathBuf, is_whole: bool) -> Option<PathBuf> {
    let done = Content::of(&path).and_then(|content| match content {
        Content::Recording(..) if is_whole => Ok(Some(path.clone())),
        Content::Recording(kind, is_damaged) => {
            let target = path.with_extension(kind);
            File::open(&path)?.sync_all()?;
            rename(&path, &target)?;
            if is_damaged {
                complain(&format!("{}: its header is damaged", target.display()));
            }
            Ok(Some(target))
        }
        Content::Nothing if !is_whole => Ok(fs::remove_file(&path).map(|()| None)?),
        Content::Nothing | Content::Other => Err(Error::NotOurs("no recording".into())),
    });
    done.unwrap_or_else(|e| {
        complain(&format!("{}: {e}; it stays as it is", path.display()));
        None
    })
}

/// Gives a file a name that no other has. Nobody else writes to a directory that is locked.
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    match fs::symlink_metadata(to) {
        Ok(_) => Err(io::Error::other(format!("{} exists already", to.display()))),
        Err(_) => fs::rename(from, to),
    }
}

/// Nobody but the owner may see what the kernel logs.
fn make_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn make_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).open(path)
}

impl<'a> Dir<'a> {
    fn open(args: &'a Record) -> Result<Self, String> {
        let told = |e: io::Error| format!("{}: {e}", args.output.display());
        make_dir(&args.output).map_err(told)?;
        let lock = File::open(&args.output).map_err(told)?;
        if flock(&lock, FlockOperation::NonBlockingLockExclusive)
            == Err(rustix::io::Errno::WOULDBLOCK)
        {
            let name = args.output.display();
            return Err(format!("{name}: another program is recording to it"));
        }
        let (mut all, mut next) = (Vec::new(), 1);
        for entry in fs::read_dir(&args.output).map_err(told)? {
            let entry = entry.map_err(told)?;
            let Some((n, whole)) = entry.file_name().to_str().and_then(number) else {
                continue;
            };
            next = next.max(n.saturating_add(1));
            let size = entry.metadata().map_err(told)?.len();
            all.extend(adopt(entry.path(), whole).map(|path| (n, path, size)));
        }
        all.sort();
        let (ask, asked) = mpsc::channel::<(String, Vec<u8>)>();
        let (answer, found) = mpsc::channel();
        let paths = args.tables.clone();
        let beside = beside(args.stream.iter().map(PathBuf::as_path));
        thread::spawn(move || {
            let mut known = HashMap::<Vec<u8>, Vec<u8>>::new();
            for (name, id) in asked {
                if let Some(bytes) = known.get(&id) {
                    let _ = answer.send((name, id, Some(bytes.clone())));
                    continue;
                }
                let table = find_file(&id, &name, &paths.sidetable, &beside, &paths.modules);
                let bytes = table.and_then(|table| table.encode().ok());
                let bytes = bytes.filter(|bytes| bytes.len() as u64 <= SECTION_MAX);
                known.extend(bytes.iter().map(|bytes| (id.clone(), bytes.clone())));
                if answer.send((name, id, bytes)).is_err() {
                    break;
                }
            }
        });
        let mut this = Self {
            args,
            next,
            files: all.into_iter().map(|(_, path, size)| (path, size)).collect(),
            lock,
            ask,
            found,
            searched: Vec::new(),
            until: Instant::now(),
            known: HashSet::new(),
            used: HashSet::new(),
            missing: Vec::new(),
            written: 0,
            bytes: 0,
            removed: 0,
            status: Status::Whole,
        };
        this.make_room(0);
        Ok(this)
    }

    fn create(&mut self, kind: &'static str) -> Result<Part, String> {
        let stem = format!("{PREFIX}{:06}", self.next);
        self.next += 1;
        let path = self.args.output.join(format!("{stem}.{PART}"));
        let file = make_file(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        self.sync()?;
        Ok(Part { file, target: self.args.output.join(format!("{stem}.{kind}")), path, size: 0 })
    }

    /// Makes names lasting.
    fn sync(&self) -> Result<(), String> {
        let synced = self.lock.sync_all();
        synced.map_err(|e| format!("{}: {e}", self.args.output.display()))
    }

    /// Removes the oldest files until `more` bytes have room. `false`: there is none to remove.
    fn make_room(&mut self, more: u64) -> bool {
        let sum: u64 = self.files.iter().map(|(_, size)| size).sum();
        let mut over = sum.saturating_add(more).saturating_sub(self.args.size);
        while over > 0 {
            match self.remove_oldest() {
                Some(size) => over = over.saturating_sub(size),
                None => return false,
            }
        }
        true
    }

    fn remove_oldest(&mut self) -> Option<u64> {
        if self.files.is_empty() {
            return None;
        }
        let (path, size) = self.files.remove(0);
        if let Err(e) = fs::remove_file(&path) {
            complain(&format!("{}: {e}", path.display()));
            self.status = Status::Partial;
        }
        self.removed += 1;
        Some(size)
    }

    /// Has the side tables of new images looked for.
    fn ask_for_tables(&mut self, split: &Split, asked: &mut HashSet<Vec<u8>>) {
        for image in &split.images {
            let id = build_id(image).to_vec();
            let has_one = id.is_empty() || image.count == 0 || split.tables.contains(&id);
            if has_one || !asked.insert(id.clone()) {
                continue;
            }
            let name = text(&image.name);
            if self.ask.send((name.clone(), id.clone())).is_ok() {
                self.searched.push((name, id));
                self.until = Instant::now() + SEARCH;
            }
        }
    }

    fn is_searching(&self) -> bool {
        !self.searched.is_empty() && Instant::now() < self.until
    }

    /// Reports which tables were not found in time.
    fn give_up(&mut self) {
        let searched = std::mem::take(&mut self.searched);
        for (name, id) in searched.into_iter().filter(|(_, id)| self.used.contains(id)) {
            complain(&format!(
                "{name}: the search for the side table of build ID {} was given up after {} s; its \
                 records will not decode elsewhere",
                hex(&id),
                SEARCH.as_secs()
            ));
            self.status = Status::Partial;
        }
    }

    /// What was found so far; waits for the first one so long.
    fn answers(&mut self, limit: Option<Duration>) -> Vec<Found> {
        let first = limit.map(|limit| self.found.recv_timeout(limit));
        if matches!(first, Some(Err(RecvTimeoutError::Disconnected))) {
            self.until = Instant::now();
        }
        let first = first.and_then(Result::ok);
        let all: Vec<Found> = first.into_iter().chain(self.found.try_iter()).collect();
        self.searched.retain(|(_, searched)| !all.iter().any(|(_, id, _)| id == searched));
        all
    }

    /// Reports tables that are missing, once there are records that need them.
    fn tell_missing(&mut self, split: &Split) {
        if self.missing.is_empty() && self.searched.is_empty() {
            return;
        }
        let is_used = |image: &&Image| {
            let own = |site: &u32| site.wrapping_sub(image.first) < image.count;
            split.sites.iter().any(own)
        };
        let used = split.images.iter().filter(is_used);
        self.used.extend(used.map(|image| build_id(image).to_vec()));
        let missing = std::mem::take(&mut self.missing).into_iter();
        let (needed, rest): (Vec<_>, _) = missing.partition(|(id, _)| self.used.contains(id));
        self.missing = rest;
        for (_, what) in needed {
            complain(&what);
            self.status = Status::Partial;
        }
    }
}

/// ENOSPC, EDQUOT.
fn is_full(e: &io::Error) -> bool {
    matches!(e.raw_os_error(), Some(28 | 122))
}

/// A file that is being written.
struct Part {
    file: File,
    path: PathBuf,
    target: PathBuf,
    size: u64,
}

impl Part {
    /// Writes; when the disk is full, the oldest files go.
    fn write(&mut self, bytes: &[u8], dir: &mut Dir<'_>) -> Result<(), String> {
        let mut rest = bytes;
        while !rest.is_empty() {
            match self.file.write(rest) {
                Ok(n) => {
                    rest = &rest[n..];
                    self.size += n as u64;
                    dir.bytes += n as u64;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => {
                    if is_full(&e) && dir.remove_oldest().is_some() {
                        complain(REMOVED);
                        continue;
                    }
                    return Err(format!("{}: {e}", self.path.display()));
                }
            }
        }
        if !dir.make_room(self.size) && self.size > dir.args.size {
            return Err(format!("a single file is larger than --size {}", dir.args.size));
        }
        Ok(())
    }

    /// Gives it its name.
    fn finish(self, dir: &mut Dir<'_>) -> Result<(), String> {
        let synced = self.file.sync_all();
        let named = synced.and_then(|()| rename(&self.path, &self.target));
        named.map_err(|e| format!("{}: {e}", self.path.display()))?;
        dir.sync()?;
        dir.written += 1;
        dir.files.push((self.target, self.size));
        Ok(())
    }

    /// There is nothing in it.
    fn forget(self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether a program records to this file, and may yet write the rest of it.
pub fn is_written(path: &Path) -> bool {
    let is_part = path.extension().is_some_and(|e| e == PART);
    let dir = path.parent().filter(|_| is_part);
    let dir = dir.map(|dir| if dir.as_os_str().is_empty() { Path::new(".") } else { dir });
    let lock = dir.and_then(|dir| File::open(dir).ok());
    lock.is_some_and(|lock| {
        flock(&lock, FlockOperation::NonBlockingLockShared) == Err(rustix::io::Errno::WOULDBLOCK)
    })
}
