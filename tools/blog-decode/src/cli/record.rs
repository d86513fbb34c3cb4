// SPDX-License-Identifier: GPL-2.0

//! `record`: a directory with what a system logs, to be decoded anywhere.
//!
//! ```text
//! DIR/blog.000001.stream   captures, or with --every: blog.000001.snapshot
//! DIR/blog.000002.part     what is being written; it becomes .stream when it is full
//! DIR/tables/ID.blogfmt    side tables of the images, by build ID
//! ```
//!
//! Numbers go on from those that are there. Each capture begins with an opening of the stream, so
//! that each decodes alone; it is opened before the one before is closed, so that nothing is
//! missing between them, and what is in both counts once. When all files together are larger than
//! the limit, the oldest go. A name without `.part` is a file that is complete and on disk.

use std::{
    fs::{
        self,
        File,
        OpenOptions, //
    },
    io::{
        self,
        Read,
        Write, //
    },
    path::{
        Path,
        PathBuf, //
    },
    time::{
        Duration,
        Instant, //
    },
};

use super::{
    args::Record,
    complain,
    input::check_paths,
    poll::{
        streams,
        wait,
        Came,
        Input,
        Signals,
        CHUNK, //
    },
    FAILED,
    OK,
    PARTIAL, //
};
use crate::{
    blogfmt::bytes::hex,
    live::Live,
    sidetable::{
        build_id,
        find_file, //
    },
    wire::file::Image, //
};

/// Name of files.
const PREFIX: &str = "blog.";
/// Name of the directory of side tables.
pub const TABLES: &str = "tables";
/// What makes the name of a file that is not complete.
const PART: &str = "part";
/// How long a capture is read on, at most: a full one until the next one has got to where it is, and
/// the last one until it has all that was logged.
const OVERLAP: Duration = Duration::from_secs(2);

/// Records until it is interrupted, or the stream ends.
pub fn record(args: &Record) -> Result<u8, String> {
    if let Err(status) = check_paths(&args.tables.sidetable) {
        return Ok(status);
    }
    let signals = Signals::new()?;
    let end = args.duration.map(|d| Instant::now() + d);
    let mut dir = Dir::open(args)?;
    let result = match args.every {
        Some(every) => snapshots(args, every, end, &signals, &mut dir),
        None => captures(args, end, &signals, &mut dir),
    };
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
    result?;
    Ok(match dir.written {
        0 => FAILED,
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
        let mut file = File::open(&path).map_err(|e| not_there(&path, &e))?;
        let mut out = dir.create("snapshot")?;
        loop {
            match file.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => out.write(&buffer[..n], dir)?,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(format!("{}: {e}", path.display())),
            }
        }
        out.finish(dir)?;
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

fn not_there(path: &Path, e: &io::Error) -> String {
    format!(
        "{}: {e} (is blog loaded, debugfs mounted, and are you root?)",
        path.display()
    )
}

/// A stream that is written to a file.
struct Capture {
    input: Vec<Input>,
    out: Part,
    /// Its size when it had all that the rings held when it was opened.
    backlog: Option<u64>,
}

impl Capture {
    fn open(args: &Record, dir: &mut Dir<'_>) -> Result<Self, String> {
        let path = match args.stream.as_slice() {
            [] => streams(&args.blog, &[])?.remove(0),
            [path] => path.clone(),
            _ => return Err("one stream is recorded at a time".into()),
        };
        Ok(Self {
            input: vec![Input::open(&path)?],
            out: dir.create("stream")?,
            backlog: None,
        })
    }

    /// Waits, and writes what has come. `None`: nothing came in that time; `Some(false)`: the end.
    fn step(
        &mut self,
        limit: Option<Duration>,
        signals: &Signals,
        dir: &mut Dir<'_>,
        buffer: &mut Vec<u8>,
    ) -> Result<Option<bool>, String> {
        if wait(&self.input, signals, limit)?.is_empty() {
            return Ok(None);
        }
        self.read(dir, buffer)
    }

    /// Writes what there is, as `step` does.
    fn read(&mut self, dir: &mut Dir<'_>, buffer: &mut Vec<u8>) -> Result<Option<bool>, String> {
        let input = &mut self.input[0];
        match input.read(buffer) {
            Ok(Came::Nothing) => Ok(None),
            Ok(Came::Bytes(bytes)) => {
                // A read goes no further than to the end of a pass through the rings.
                let passed = bytes.len() < CHUNK;
                self.out.write(bytes, dir)?;
                if passed && self.backlog.is_none() {
                    self.backlog = Some(self.out.size);
                }
                Ok(Some(true))
            }
            Ok(Came::End) => Ok(Some(false)),
            Err(e) => Err(format!("{}: {e}", input.name)),
        }
    }
}

/// The stream, in files of a certain size.
fn captures(
    args: &Record,
    end: Option<Instant>,
    signals: &Signals,
    dir: &mut Dir<'_>,
) -> Result<(), String> {
    let mut buffer = Vec::new();
    let mut now = Capture::open(args, dir)?;
    // A pipe can't be opened again where it began.
    let again = now.input[0].is_here;
    let mut result = Ok(());
    while !signals.asked() {
        let limit = left(end);
        match now.step(limit, signals, dir, &mut buffer) {
            Ok(Some(true)) => {}
            Ok(None) if limit.is_none_or(|l| !l.is_zero()) => continue,
            Ok(_) => break,
            Err(e) => {
                result = Err(e);
                break;
            }
        }
        let backlog = now.backlog.filter(|_| again);
        if backlog.is_none_or(|n| now.out.size - n < args.file_size) {
            continue;
        }
        // The next one has all that is in the rings, and then both have the same. When nothing
        // more comes of the old one, or after a while, it ends.
        let next = Capture::open(args, dir)?;
        let until = Instant::now() + OVERLAP;
        while let Ok(Some(true)) = now.step(Some(Duration::ZERO), signals, dir, &mut buffer) {
            if Instant::now() > until {
                break;
            }
        }
        std::mem::replace(&mut now, next).out.finish(dir)?;
    }
    // Also what was logged just before it was asked to end; a pipe would wait for more.
    let until = Instant::now() + OVERLAP;
    while result.is_ok() && again && Instant::now() < until {
        match now.read(dir, &mut buffer) {
            Ok(Some(true)) => {}
            Ok(_) => break,
            Err(e) => result = Err(e),
        }
    }
    // What is there is whole, whatever has gone wrong.
    match now.out.size {
        0 => now.out.forget(),
        _ => now.out.finish(dir)?,
    }
    result
}

/// The directory that is written to.
struct Dir<'a> {
    args: &'a Record,
    next: u64,
    /// Files of this format that are there, the oldest first, with their sizes.
    files: Vec<(PathBuf, u64)>,
    /// Images of which the table is there, or was looked for.
    known: Vec<Vec<u8>>,
    written: u64,
    bytes: u64,
    removed: u64,
    status: u8,
}

/// The number of a file of ours, and whether it is complete.
fn number(name: &str) -> Option<(u64, bool)> {
    let (number, kind) = name.strip_prefix(PREFIX)?.split_once('.')?;
    Some((number.parse().ok()?, matches!(kind, "stream" | "snapshot")))
}

impl<'a> Dir<'a> {
    fn open(args: &'a Record) -> Result<Self, String> {
        let told = |e: io::Error| format!("{}: {e}", args.output.display());
        fs::create_dir_all(args.output.join(TABLES)).map_err(told)?;
        let (mut all, mut next) = (Vec::new(), 1);
        for entry in fs::read_dir(&args.output).map_err(told)? {
            let entry = entry.map_err(told)?;
            if let Some((n, whole)) = entry.file_name().to_str().and_then(number) {
                next = next.max(n + 1);
                let size = entry.metadata().map_err(told)?.len();
                if whole {
                    all.push((n, entry.path(), size));
                }
            }
        }
        all.sort();
        Ok(Self {
            args,
            next,
            files: all
                .into_iter()
                .map(|(_, path, size)| (path, size))
                .collect(),
            known: Vec::new(),
            written: 0,
            bytes: 0,
            removed: 0,
            status: OK,
        })
    }

    fn create(&mut self, kind: &'static str) -> Result<Part, String> {
        let stem = format!("{PREFIX}{:06}", self.next);
        self.next += 1;
        let path = self.args.output.join(format!("{stem}.{PART}"));
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        Ok(Part {
            file: file.map_err(|e| format!("{}: {e}", path.display()))?,
            target: self.args.output.join(format!("{stem}.{kind}")),
            path,
            size: 0,
        })
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
            self.status = PARTIAL;
        }
        self.removed += 1;
        Some(size)
    }

    /// Puts the side tables of a capture's images beside it.
    fn add_tables(&mut self, path: &Path) {
        let Ok(images) = images(path) else { return };
        for image in images {
            let id = build_id(&image).to_vec();
            if id.is_empty() || image.count == 0 || self.known.contains(&id) {
                continue;
            }
            self.known.push(id.clone());
            let name = crate::snapshot::text(&image.name);
            let target = self
                .args
                .output
                .join(TABLES)
                .join(format!("{}.blogfmt", hex(&id)));
            if target.exists() {
                continue;
            }
            let paths = &self.args.tables;
            let table = find_file(&id, &paths.sidetable, &paths.modules);
            let done = match table.and_then(|table| table.encode().ok()) {
                Some(bytes) => atomically(&target, &bytes).map_err(|e| e.to_string()),
                None => Err(format!("no side table of build ID {}", hex(&id))),
            };
            if let Err(e) = done {
                complain(&format!("{name}: {e}; its records need it to be decoded"));
                self.status = PARTIAL;
            }
        }
    }
}

/// The images that a file tells of.
fn images(path: &Path) -> io::Result<Vec<Image>> {
    let want = |_: &str| false;
    let mut live = Live::new(vec![path.display().to_string()], &want);
    let (mut file, mut buffer) = (File::open(path)?, vec![0; CHUNK]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(std::mem::take(&mut live.files[0].images)),
            n => live.feed(0, &buffer[..n]).map_err(io::Error::other)?,
        }
        while live.advance() {}
    }
}

/// Writes a file that is there as a whole, or not at all.
fn atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let part = path.with_extension(PART);
    let written = File::create(&part).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&part, path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written
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
                    // ENOSPC, EDQUOT
                    let is_full = matches!(e.raw_os_error(), Some(28 | 122));
                    if is_full && dir.remove_oldest().is_some() {
                        complain("the disk is full: the oldest file is removed");
                        continue;
                    }
                    return Err(format!("{}: {e}", self.path.display()));
                }
            }
        }
        if !dir.make_room(self.size) && self.size > dir.args.size {
            return Err(format!(
                "a single file is larger than --size {}",
                dir.args.size
            ));
        }
        Ok(())
    }

    /// Gives it its name.
    fn finish(self, dir: &mut Dir<'_>) -> Result<(), String> {
        let synced = self.file.sync_all();
        let named = synced.and_then(|()| fs::rename(&self.path, &self.target));
        named.map_err(|e| format!("{}: {e}", self.path.display()))?;
        dir.written += 1;
        dir.add_tables(&self.target);
        dir.files.push((self.target, self.size));
        Ok(())
    }

    /// There is nothing in it.
    fn forget(self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Files of a directory that `record` has written, the oldest first, and its side tables.
pub fn contents(dir: &Path) -> io::Result<(Vec<PathBuf>, PathBuf)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let kind = path.extension().and_then(|e| e.to_str());
        // What was being written when the machine went down is a capture all the same.
        if path.is_file() && matches!(kind, Some("stream" | "snapshot" | PART)) {
            files.push(path);
        }
    }
    files.sort();
    Ok((files, dir.join(TABLES)))
}
