// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! A pager on the terminal, for all that is printed, and for what --help prints.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs::{File, OpenOptions},
    io::{self, IsTerminal, Read, Write},
    os::fd::{AsFd, OwnedFd},
    process::{Child, Command, ExitStatus, Stdio},
    thread::{self, JoinHandle},
    time::Duration,
};

use clap::error::{ContextKind, ContextValue};
use rustix::{
    io::ioctl_fionread,
    pipe::{pipe_with, PipeFlags},
    stdio::{dup2_stderr, dup2_stdout},
};

use super::{
    print::is_able,
    report::{complain, complain_lines, written, Failure, Status},
};

/// A pager, which gets all that is printed, and which is waited for.
pub struct Pager {
    pump: Option<JoinHandle<io::Result<ExitStatus>>>,
    name: String,
    /// Standard error before.
    stderr: Option<OwnedFd>,
}

/// less shows colours, and ends with what fits the screen and at ^C.
const LESS: &str = "FRXK";
/// If the user has set other options, it gets the one for colours before these.
const COLORS: &str = "-R ";
/// How often it looks whether a pager has begun to read.
const LOOK: Duration = Duration::from_millis(1);
/// What a shell answers of a program that it can't run.
const NOT_RUN: [i32; 2] = [126, 127];

impl Pager {
    /// Starts the one that `BLOG_PAGER` or `PAGER` names, or less, if there is one, and what is printed
    /// goes to a terminal.
    pub fn start() -> Option<Self> {
        if !is_able() || !io::stdout().is_terminal() {
            return None;
        }
        let name = match env::var("BLOG_PAGER").or_else(|_| env::var("PAGER")) {
            Ok(pager) if pager.trim().is_empty() || pager == "cat" => return None,
            Ok(pager) => pager,
            Err(_) if has_less() => "less".into(),
            Err(_) => return None,
        };
        let mut command = Command::new("sh");
        command.arg("-c").arg(&name).env("LESS", less_options(env::var_os("LESS")));
        // A user who may run only this program as root gets no shell by it.
        command.env("LESSSECURE", "1");
        let screen = io::stdout().as_fd().try_clone_to_owned().ok()?;
        let (from, input) = pipe_with(PipeFlags::CLOEXEC).ok()?;
        let child = command.stdin(Stdio::piped()).spawn().ok()?;
        let stderr = rustix::io::dup(io::stderr()).ok();
        if io::stderr().is_terminal() {
            dup2_stderr(&input).ok()?;
        }
        dup2_stdout(&input).ok()?;
        Some(Self {
            pump: Some(thread::spawn(move || pump(child, File::from(from), screen.into()))),
            name,
            stderr,
        })
    }
}

/// Gives a pager what is printed, or prints it if the pager ends before it has read a byte.
fn pump(mut pager: Child, mut from: impl Read, mut screen: File) -> io::Result<ExitStatus> {
    // All that is waited for: an empty pipe has room for it.
    let mut start = [0; 4096];
    let n = from.read(&mut start)?;
    let start = &start[..n];
    let Some(mut to) = pager.stdin.take().filter(|_| n > 0) else {
        return pager.wait();
    };
    let written = to.write_all(start);
    let is_unread = |to| ioctl_fionread(to).is_ok_and(|left| left == n as u64);
    while written.is_ok() && is_unread(&to) {
        if pager.try_wait()?.is_none() {
            thread::sleep(LOOK);
        } else if is_unread(&to) {
            break;
        }
    }
    // The reader may have enough: then the end is that of this pipe, too.
    let _ = match written.is_err() || is_unread(&to) {
        true => screen.write_all(start).and_then(|()| io::copy(&mut from, &mut screen)),
        false => io::copy(&mut from, &mut to),
    };
    drop((from, to));
    pager.wait()
}

fn has_less() -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path).any(|dir| dir.join("less").is_file());
    found
}

/// What less gets as its options.
fn less_options(of_user: Option<OsString>) -> OsString {
    match of_user {
        Some(options) => [OsStr::new(COLORS), &options].into_iter().collect(),
        None => LESS.into(),
    }
}

impl Drop for Pager {
    fn drop(&mut self) {
        // It sees the end when nobody has its input open.
        let Ok(null) = OpenOptions::new().write(true).open("/dev/null") else {
            return;
        };
        let _ = dup2_stdout(&null).and(dup2_stderr(&null));
        let ended = self.pump.take().and_then(|pump| pump.join().ok());
        if let Some(stderr) = &self.stderr {
            let _ = dup2_stderr(stderr);
        }
        let code = ended.and_then(Result::ok).and_then(|status| status.code());
        if code.is_some_and(|code| NOT_RUN.contains(&code)) {
            let name = &self.name;
            complain(&format!("the pager {name} can't be run; try --no-pager, or set BLOG_PAGER"));
        }
    }
}

/// Prints why the arguments are wrong; or what they ask for, as --help does.
pub fn usage(mut error: clap::Error) -> Status {
    if error.use_stderr() {
        // A value that begins with "-" is rarely meant.
        error.insert(ContextKind::Suggested, ContextValue::None);
        let text = error.render().to_string();
        let text = text.trim_end();
        complain_lines(text.strip_prefix("error: ").unwrap_or(text));
        return Status::Failed;
    }
    let pager = Pager::start();
    let printed = error.print();
    drop(pager);
    written(printed).unwrap_or_else(|why| Failure::from(why).tell())
}
