// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Opens a file with records: snapshots, streams, memory that has survived a reboot, or text with a
//! kernel's last words. Lists the files of a directory; only their content says which have records.

use std::{
    collections::HashSet,
    fs::{self, File},
    io::{self, Read},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use crate::{
    blogfmt::source::Source,
    error::Error,
    kind, qr,
    snapshot::{open_source, Snapshot},
    unpack, vmcore,
    wire::{file::FILE_MAGIC, persist},
    words::Scan,
};

/// As many files stay open, which costs least. Others are opened for each read: a limit of 64 open
/// files leaves room for tables and outputs.
const OPEN_MAX: usize = 32;
/// No kernel sets as much memory aside for a reboot.
const KEPT_MAX: u64 = 16 << 30;
/// The kind of a file is known by so many bytes.
const START: u64 = 64;
/// As much of a text is read at once; the text of a QR code is shorter.
const TEXT: usize = 64 << 10;

/// Name of the directory of side tables beside recordings.
pub const TABLES: &str = "tables";
/// What makes the name of a recording that is not complete.
pub const PART: &str = "part";

/// What a directory and those in it have.
#[derive(Default)]
pub struct Contents {
    /// Regular files that aren't empty, by path.
    pub files: Vec<PathBuf>,
    /// Directories of side tables.
    pub tables: Vec<PathBuf>,
    /// What could not be looked at, and why.
    pub problems: Vec<String>,
}

impl Contents {
    /// Looks into a directory. Wherever links lead, a file or directory is there once; directories
    /// of other file systems aren't entered, which is a problem.
    pub fn read(dir: &Path) -> io::Result<Self> {
        let mut all = Self::default();
        let top = fs::metadata(dir)?;
        let mut known = HashSet::from([(top.dev(), top.ino())]);
        let mut dirs = vec![dir.to_owned()];
        while let Some(inner) = dirs.pop() {
            let mut problem =
                |path: &Path, e| all.problems.push(format!("{}: {e}", path.display()));
            let mut entries = match fs::read_dir(&inner) {
                Ok(entries) => entries.map(|e| e.map(|e| e.path())).collect::<Vec<_>>(),
                Err(e) if inner == dir => return Err(e),
                Err(e) => {
                    problem(&inner, e);
                    continue;
                }
            };
            // By which name a file is there doesn't depend on the file system.
            entries.sort_by_cached_key(|e| e.as_ref().ok().cloned());
            for entry in entries {
                let path = match entry {
                    Ok(path) => path,
                    Err(e) => {
                        problem(&inner, e);
                        continue;
                    }
                };
                let meta = match fs::metadata(&path) {
                    Ok(meta) => meta,
                    // It has gone meanwhile, or is a link that leads nowhere.
                    Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
                    Err(e) => {
                        problem(&path, e);
                        continue;
                    }
                };
                // Files in tracefs, which have no size, have one number.
                let is_numbered = meta.is_dir() || meta.len() > 0;
                if is_numbered && !known.insert((meta.dev(), meta.ino())) {
                    continue;
                }
                if meta.is_dir() && meta.dev() != top.dev() {
                    let why = "is of another file system: name it to have its recordings";
                    problem(&path, io::Error::other(why));
                    continue;
                }
                if meta.is_dir() && path.file_name().is_some_and(|name| name == TABLES) {
                    all.tables.push(path);
                } else if meta.is_dir() {
                    dirs.push(path);
                } else if meta.is_file() && (meta.len() > 0 || has_records(&path)) {
                    all.files.push(path);
                }
            }
        }
        all.files.sort();
        all.tables.sort();
        Ok(all)
    }
}

/// Whether a file's name says that there are records in it, packed or not.
pub fn has_records(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return false;
    };
    let is_one = |word| matches!(word, "stream" | "snapshot" | "blog" | PART);
    // A stream of the kernel has no end.
    matches!(name, "snapshot" | "blog") || name.split('.').skip(1).any(is_one)
}

/// Whether a regular file is a crash dump, packed or not.
pub fn is_dump(path: &Path) -> bool {
    let start = || {
        let mut start = Vec::new();
        unpack::reader(File::open(path)?)?.take(START).read_to_end(&mut start)?;
        Ok::<_, io::Error>(start)
    };
    // A file of the kernel has no size, and a read of it may take a snapshot.
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.len() > 0)
        && start().is_ok_and(|start| kind::describe(&start) == Some(kind::DUMP))
}

/// Opens all that is in a file, at least one snapshot, beside so many others. It calls `tick` now
/// and then with how many bytes of it are done, and how many it has, if that is known.
pub fn open(
    path: &Path,
    others: usize,
    tick: &mut dyn FnMut(u64, Option<u64>),
) -> Result<Vec<Snapshot>, Error> {
    let mut all = open_whole(path, tick)?;
    if others >= OPEN_MAX {
        let closed = all.iter_mut().try_for_each(|file| file.source.close(path));
        closed.map_err(|e| Error::from(e).at(path.display().to_string()))?;
    }
    Ok(all)
}

fn open_whole(path: &Path, tick: &mut dyn FnMut(u64, Option<u64>)) -> Result<Vec<Snapshot>, Error> {
    let name = path.display().to_string();
    let told = |e: Error| e.at(&name);
    let (source, packed) = open_source(path, tick).map_err(|e| told(e.into()))?;
    let mut start = [0; persist::MAGIC.len()];
    let read = source.read_some(0, &mut start);
    if read.map_err(|e| told(e.into()))? < start.len() || start != persist::MAGIC {
        if start != FILE_MAGIC && kind::describe(&start).is_none() {
            let mut found = last_words(&name, &source).map_err(told)?;
            if let Some(first) = found.first_mut() {
                first.damage.packed = packed;
                return Ok(found);
            }
        }
        return Snapshot::read_all(&name, source, packed, tick);
    }
    let size = source.size();
    let bytes = match source {
        Source::Memory(bytes) => bytes,
        _ => (source.read(0, size, KEPT_MAX)).map_err(|e| told(e.into()))?.ok_or_else(|| {
            told(Error::File("the file is larger than the limit of 16 GiB".into()))
        })?,
    };
    let mut made = Vec::new();
    let problems = vmcore::kept(&bytes, &mut made).map_err(told)?;
    drop(bytes);
    let mut snapshot = Snapshot::read(name, Source::Memory(made))?;
    snapshot.damage.packed = packed;
    snapshot.damage.survived = problems.any_grave();
    snapshot.survived = Some(problems.0.iter().map(ToString::to_string).collect());
    Ok(vec![snapshot])
}

/// The last words of a kernel in a text, of each event a snapshot; there may be none.
fn last_words(name: &str, source: &Source) -> Result<Vec<Snapshot>, Error> {
    let (mut scan, mut at, mut buffer) = (Scan::default(), 0, vec![0; TEXT]);
    loop {
        let n = source.read_some(at, &mut buffer)?;
        if n == 0 {
            break;
        }
        let text = &buffer[..n];
        let log = qr::log(text).filter(|_| source.size() == n as u64);
        scan.feed(log.as_deref().unwrap_or(text));
        at += n as u64;
    }
    scan.end();
    let (mut all, mut problems) = (Vec::new(), Vec::new());
    match scan.damaged {
        0 => {}
        1 => problems.push("1 damaged line".to_owned()),
        n => problems.push(format!("{n} damaged lines")),
    }
    for event in &scan.events {
        let (head, missing) = (event.head, event.missing());
        let what = format!("{} {:08x}", head.why.name(), head.tag);
        match Snapshot::read(format!("{name}: {what}"), Source::Memory(event.stream())) {
            Ok(mut file) if missing > 0 => {
                let are = if missing == 1 { "is" } else { "are" };
                let words = format!("{missing} of {} lines {are} missing", head.count);
                file.damage.words.push(words);
                all.push(file);
            }
            Ok(file) => all.push(file),
            Err(e) => problems.push(format!("{what}: {e}")),
        }
    }
    match all.first_mut() {
        Some(first) => first.damage.words.append(&mut problems),
        None if problems.is_empty() => {}
        None => return Err(Error::File(format!("last words: {}", problems.join(", ")))),
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_beside_many_others_is_read_as_long_as_it_is_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, b"one").unwrap();
        let mut source = Source::open(&path).unwrap();
        source.close(&path).unwrap();
        assert!(matches!(source, Source::Closed(_)));
        let read = |source: &Source| source.read(1, 2, 9);
        assert_eq!(read(&source).unwrap().unwrap(), b"ne");
        assert_eq!((source.size(), source.read(1, 3, 9).unwrap()), (3, None));
        fs::rename(&path, dir.path().join("old")).unwrap();
        assert!(read(&source).is_err());
        fs::write(&path, b"two").unwrap();
        assert!(read(&source).unwrap_err().to_string().contains("replaced"));
        fs::rename(dir.path().join("old"), &path).unwrap();
        assert_eq!(read(&source).unwrap().unwrap(), b"ne");
    }
}
