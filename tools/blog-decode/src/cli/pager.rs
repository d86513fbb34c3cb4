// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! A pager on the terminal, for records.

use std::{
    env,
    ffi::OsStr,
    fs::{File, OpenOptions},
    io::{self, IsTerminal, Read, Write},
    os::fd::{AsFd, OwnedFd},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    thread::{self, JoinHandle},
    time::Duration,
};

use rustix::{
    io::ioctl_fionread,
    pipe::{pipe_with, PipeFlags},
    stdio::{dup2_stderr, dup2_stdout},
};

use super::{
    args::{Color, Show},
    complain,
    print::{is_able, use_color},
};

/// A pager, which gets all that is printed, and which is waited for.
pub struct Pager {
    pump: Option<JoinHandle<io::Result<ExitStatus>>>,
    name: String,
    /// Standard error before.
    stderr: Option<OwnedFd>,
}

/// Ends with what fits the screen and at ^C, and shows colours.
const LESS: &str = "FRXK";
/// How often it looks whether a pager has begun to read.
const LOOK: Duration = Duration::from_millis(1);
/// What a shell answers of a program that it can't run.
const NOT_RUN: [i32; 2] = [126, 127];

impl Pager {
    /// Starts the one that `PAGER` names, or less, if it is wanted and there is one.
    pub fn start(show: &mut Show) -> Option<Self> {
        // What comes through a pipe takes its time, and a bar shows how far it is.
        let is_piped = show.input.snapshots.iter().any(|path| path.as_os_str() == "-");
        let is_wanted = is_able() && !is_piped && !show.no_pager && !show.count;
        if !is_wanted || !io::stdout().is_terminal() {
            return None;
        }
        let (less, pager) = (env::var_os("LESS"), env::var("PAGER").ok());
        let name = match &pager {
            Some(pager) if pager.trim().is_empty() || pager == "cat" => return None,
            Some(pager) => pager.clone(),
            None => "less".into(),
        };
        if !can_run(&name) {
            if pager.is_some() {
                complain(&format!("there is no pager {name} (PAGER)"));
            }
            return None;
        }
        let mut command = Command::new("sh");
        command.arg("-c").arg(&name);
        if less.is_none() {
            command.env("LESS", LESS);
        }
        // A user who may run only this program as root gets no shell by it.
        command.env("LESSSECURE", "1");
        let screen = io::stdout().as_fd().try_clone_to_owned().ok()?;
        let (from, input) = pipe_with(PipeFlags::CLOEXEC).ok()?;
        let child = command.stdin(Stdio::piped()).spawn().ok()?;
        let less = less.as_deref().unwrap_or(OsStr::new(LESS)).to_string_lossy();
        if matches!(show.output.color, Color::Auto) {
            let has_color = shows_color(&name, &less) && use_color(Color::Auto, &io::stdout());
            show.output.color = match has_color {
                true => Color::Always,
                false => Color::Never,
            };
        }
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

/// Whether the program of a command is there; what a shell has to think about may be.
fn can_run(command: &str) -> bool {
    let word = command.split_whitespace().next().unwrap_or_default();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+".contains(c);
    if word.is_empty() || !word.chars().all(is_plain) {
        return !word.is_empty();
    }
    if word.contains('/') {
        return Path::new(word).is_file();
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path).any(|dir| dir.join(word).is_file());
    found
}

/// Whether a pager lets colours through: less needs an option for it.
fn shows_color(command: &str, less: &str) -> bool {
    let mut words = command.split_whitespace();
    let name = words.next().and_then(|word| word.rsplit('/').next());
    match name {
        Some("less") => {
            let mut options = words.filter(|word| word.starts_with('-'));
            options.any(is_raw) || is_raw(less)
        }
        _ => true,
    }
}

/// Whether options of less are, among others, the one that lets colours through.
fn is_raw(options: &str) -> bool {
    let text = |rest: &str| rest.find('$').unwrap_or(rest.len());
    let mut rest = options;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            'R' | 'r' => return true,
            '-' if rest.starts_with('-') => {
                let long = &rest[1..];
                let end = long.find([' ', '=', '$']).unwrap_or(long.len());
                if long[..end].eq_ignore_ascii_case("raw-control-chars") {
                    return true;
                }
                rest = &long[end..];
            }
            // These have a text: a prompt, a file, what to search for.
            '=' | '+' | '"' | 'D' | 'k' | 'o' | 'O' | 'p' | 'P' | 't' | 'T' => {
                rest = &rest[text(rest)..];
            }
            _ => {}
        }
    }
    false
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
            complain(&format!("the pager {} can't be run (PAGER); try --no-pager", self.name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_go_to_who_shows_them() {
        for (command, less, shows) in [
            ("less", LESS, true),
            ("less", "-j10", false),
            ("less -S", "-j10", false),
            ("less -SR", "-j10", true),
            ("/usr/bin/less --RAW-CONTROL-CHARS", "", true),
            ("less", "-i -R", true),
            ("less", "-Pmore Rest$ -j10", false),
            ("less", "-Pmore$ -j10 -R", true),
            ("less", "--prompt=Rest$ -j10", false),
            ("less", "--use-color --RAW-CONTROL-CHARS", true),
            ("less -perror", "-j10", false),
            ("less", "", false),
            ("more", "", true),
            ("bat", "-j10", true),
        ] {
            assert_eq!(shows_color(command, less), shows, "{command} {less}");
        }
    }

    #[test]
    fn a_pager_that_is_not_there_is_not_started() {
        for (command, can) in [
            ("sh", true),
            ("sh -c 'cat >/dev/null'", true),
            ("/bin/sh", true),
            ("LESS=R less", true),
            ("no-such-pager -x", false),
            ("/no/such/pager", false),
            ("", false),
        ] {
            assert_eq!(can_run(command), can, "{command}");
        }
    }
}
