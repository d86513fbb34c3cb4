// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Files and directories that a command makes, which appear when they are complete.
//!
//! Until then, they have another name in the same directory: `.blog-decode` and some letters. If
//! something fails, they are removed. They never replace an existing file without `--force`. Only
//! the owner may read them, since a log may contain anything.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::Path,
};

use tempfile::Builder;

/// The name that stands for standard output.
const STDOUT: &str = "-";
const PREFIX: &str = ".blog-decode";
/// Why a directory isn't made.
#[cfg(any(feature = "ctf", feature = "parquet"))]
const EXISTS: &str = "exists already";
/// The error of a write to a pipe that nobody reads any more.
pub const CLOSED: &str = "closed pipe";

/// Makes the file `path` of what `write` writes; `-` is standard output. `may_replace`: a file that is
/// there goes.
pub fn file<T>(
    path: &Path,
    may_replace: bool,
    write: impl FnOnce(&mut dyn Write) -> Result<T, String>,
) -> Result<T, String> {
    let told = |e| told(path, &e);
    if path.as_os_str() == STDOUT {
        let mut out = BufWriter::new(io::stdout().lock());
        return commit(write(&mut out)?, &mut out, told);
    }
    // What takes bytes and keeps none under this name: a device, a pipe.
    let takes = |m: fs::Metadata| !m.is_file() && !m.is_dir();
    if fs::metadata(path).is_ok_and(takes) {
        let mut out = BufWriter::new(File::options().write(true).open(path).map_err(told)?);
        return commit(write(&mut out)?, &mut out, told);
    }
    if path.is_dir() {
        return Err(format!("{}: is a directory", path.display()));
    }
    if !may_replace {
        free(path, "exists already: remove it, or use --force").map_err(told)?;
    }
    let part = Builder::new().prefix(PREFIX).tempfile_in(parent(path));
    let mut out = BufWriter::new(part.map_err(told)?);
    let result = write(&mut out)?;
    let part = out.into_inner().map_err(|e| told(e.into_error()))?;
    // Some file systems say only now that they are full.
    part.as_file().sync_all().map_err(told)?;
    let named = match may_replace {
        true => part.persist(path),
        false => part.persist_noclobber(path),
    };
    named.map_err(|e| told(e.error))?;
    Ok(result)
}

/// Writes the rest of what goes to a file that is there.
fn commit<T>(
    result: T,
    out: &mut impl Write,
    told: impl Fn(io::Error) -> String,
) -> Result<T, String> {
    match out.flush() {
        Ok(()) => Ok(result),
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Err(CLOSED.into()),
        Err(e) => Err(told(e)),
    }
}

/// Makes the directory `path` of what `write` puts there.
#[cfg(any(feature = "ctf", feature = "parquet"))]
pub fn directory<T>(
    path: &Path,
    write: impl FnOnce(&Path) -> Result<T, String>,
) -> Result<T, String> {
    use std::os::unix::fs::PermissionsExt;

    let told = |e| told(path, &e);
    if path.as_os_str() == STDOUT {
        return Err("this form is a directory: give its name with -o".into());
    }
    free(path, EXISTS).map_err(told)?;
    let part = Builder::new()
        .prefix(PREFIX)
        .permissions(PermissionsExt::from_mode(0o700))
        .tempdir_in(parent(path))
        .map_err(told)?;
    let result = write(part.path())?;
    free(path, EXISTS).and_then(|()| fs::rename(part.path(), path)).map_err(told)?;
    // It isn't there any more, so there is nothing to remove.
    let _ = part.keep();
    Ok(result)
}

/// An error, without the name that a part had meanwhile.
fn told(path: &Path, e: &io::Error) -> String {
    let e = e.to_string();
    let why = e.split(" at path ").next().unwrap_or_default();
    format!("{}: {why}", path.display())
}

/// Nothing has this name yet, not even a link that leads nowhere.
fn free(path: &Path, why: &'static str) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(_) => Err(io::Error::other(why)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(e),
    }
}

/// The directory that it is in.
fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
