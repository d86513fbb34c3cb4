// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Reads streams as they come, and notices the signals that end this, for `follow` and `record`.
//!
//! A stream is a file of tracefs or debugfs, a pipe, or standard input. A wait ends when there is
//! something to read, when a signal comes, or when the time is over. The second signal ends the
//! program.

use std::{
    fs::{File, OpenOptions},
    io::{self, ErrorKind, Read},
    os::{
        fd::{AsFd, OwnedFd},
        unix::fs::{FileTypeExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
    sync::{
        atomic::{AtomicBool, Ordering},
        Arc,
    },
    time::Duration,
};

use rustix::{
    event::{poll, PollFd, PollFlags, Timespec},
    fs::OFlags,
    pipe::{pipe_with, PipeFlags},
};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::local_system::explain_missing;

/// As much is read at once.
pub const CHUNK: usize = 64 << 10;
/// `TRACEFS_MAGIC` and `DEBUGFS_MAGIC` of the kernel.
const HERE: [u64; 2] = [0x7472_6163, 0x6462_6720];

/// Notices signals that ask for an end.
pub struct Signals {
    asked: Arc<AtomicBool>,
    wake: OwnedFd,
    /// Where it is of interest that nobody reads it any more.
    output: Option<io::Stdout>,
}

impl Signals {
    /// Starts to notice SIGINT, SIGTERM and SIGHUP.
    pub fn new() -> Result<Self, String> {
        let asked = Arc::new(AtomicBool::new(false));
        // Not a socket: small kernels have none.
        let pipe = pipe_with(PipeFlags::NONBLOCK | PipeFlags::CLOEXEC).map_err(io::Error::from);
        let wake = pipe.and_then(|(wake, write)| {
            for signal in [SIGINT, SIGTERM, SIGHUP] {
                // A user who asks twice can't wait: the program hangs on its output, say.
                let hurry = Arc::clone(&asked);
                signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, hurry)?;
                signal_hook::flag::register(signal, Arc::clone(&asked))?;
                signal_hook::low_level::pipe::register(signal, write.try_clone()?)?;
            }
            Ok(wake)
        });
        let wake = wake.map_err(|e| format!("signals: {e}"))?;
        Ok(Self { asked, wake, output: None })
    }

    /// Takes it for a signal, too, when the other end of standard output, a pipe, is closed.
    pub fn with_output(mut self) -> Self {
        self.output = Some(io::stdout());
        self
    }

    /// Whether there was one.
    pub fn asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }
}

/// A stream.
pub struct PollSource {
    /// Its name, for messages.
    pub name: String,
    file: Box<dyn ReadFd>,
    /// Whether it is one of the kernel that runs here.
    pub is_here: bool,
    ended: bool,
}

trait ReadFd: Read + AsFd {}
impl<T: Read + AsFd> ReadFd for T {}

/// What came from an input.
pub enum PollResult<'a> {
    /// Nothing: there is none at the moment.
    Nothing,
    /// Bytes.
    Bytes(&'a [u8]),
    /// The end.
    End,
}

impl PollSource {
    /// Opens a stream.
    pub fn open(path: &Path) -> Result<Self, String> {
        let name = path.display().to_string();
        if path.as_os_str() == "-" {
            return Ok(Self { name, file: Box::new(io::stdin()), is_here: false, ended: false });
        }
        let open = || {
            let kind = std::fs::metadata(path)?.file_type();
            if kind.is_dir() {
                return Err(io::Error::other("is a directory"));
            }
            let mut options = OpenOptions::new();
            options.read(true);
            if !kind.is_fifo() {
                // What comes between poll and read may be taken away again, by "clear".
                options.custom_flags(OFlags::NONBLOCK.bits() as i32);
            }
            options.open(path)
        };
        let file: File = open().map_err(|e| explain_missing(path, &e))?;
        let is_here = rustix::fs::fstatfs(&file).is_ok_and(|s| HERE.contains(&(s.f_type as u64)));
        Ok(Self { name, file: Box::new(file), is_here, ended: false })
    }

    /// Reads what there is.
    pub fn read<'b>(&mut self, buffer: &'b mut Vec<u8>) -> io::Result<PollResult<'b>> {
        buffer.resize(CHUNK, 0);
        match self.file.read(buffer) {
            Ok(0) => {
                self.ended = true;
                Ok(PollResult::End)
            }
            Ok(n) => Ok(PollResult::Bytes(&buffer[..n])),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                Ok(PollResult::Nothing)
            }
            Err(e) => {
                self.ended = true;
                Err(e)
            }
        }
    }

    /// Whether there will be nothing more.
    pub fn has_ended(&self) -> bool {
        self.ended
    }
}

/// Waits until there is something to read from one of `inputs`, or a signal comes, or for this long.
/// The answer is which ones have something.
pub fn wait(
    inputs: &[PollSource],
    signals: &Signals,
    limit: Option<Duration>,
) -> Result<Vec<usize>, String> {
    let open: Vec<usize> = (0..inputs.len()).filter(|&i| !inputs[i].ended).collect();
    let mut fds = vec![PollFd::new(&signals.wake, PollFlags::IN)];
    fds.extend(
        open.iter().map(|&i| PollFd::from_borrowed_fd(inputs[i].file.as_fd(), PollFlags::IN)),
    );
    // Of which poll tells errors in any case.
    let output = signals.output.as_ref();
    fds.extend(output.map(|out| PollFd::new(out, PollFlags::empty())));
    let limit = limit.and_then(|d| Timespec::try_from(d).ok());
    match poll(&mut fds, limit.as_ref()) {
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
        Err(e) => return Err(format!("poll: {e}")),
    }
    let closed = output.and_then(|_| fds.pop()).map(|fd| fd.revents());
    if closed.is_some_and(|events| events.contains(PollFlags::ERR)) {
        signals.asked.store(true, Ordering::Relaxed);
    }
    let ready = fds[1..].iter().map(|fd| !fd.revents().is_empty());
    let found = open.iter().zip(ready).filter(|(_, ready)| *ready);
    Ok(found.map(|(i, _)| *i).collect())
}

/// The stream files of this system: of the components that are named, or else of all together.
pub fn streams(blog: &Path, components: &[String]) -> Result<Vec<PathBuf>, String> {
    let of = |name: &String| blog.join(name).join("stream");
    let named: Vec<PathBuf> = components.iter().map(of).collect();
    let all = match !named.is_empty() && named.iter().all(|p| p.exists()) {
        true => named,
        // A component that isn't there yet may come.
        false => vec![blog.join("stream")],
    };
    match std::fs::metadata(blog) {
        Ok(_) => Ok(all),
        Err(e) => Err(explain_missing(blog, &e)),
    }
}
