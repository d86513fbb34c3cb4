// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! What every command needs to tell: messages, the exit status, and output that comes at once.

use std::{
    io::{self, Write},
    process::ExitCode,
    sync::OnceLock,
};

use super::progress;
use crate::{error::Error, output::text::is_unsafe};

/// How a command has ended: the exit status of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// Everything was decoded.
    #[default]
    Whole = 0,
    /// Something is damaged, missing or could not be decoded; the rest was printed.
    Partial = 1,
    /// Nothing could be decoded, or wrong usage.
    Failed = 2,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(status as u8)
    }
}

/// Why a command has no result.
#[derive(Debug)]
pub struct Failure(Option<String>);

impl Failure {
    /// It was already printed.
    pub const PRINTED: Self = Self(None);

    /// Prints it, if that was not done yet.
    pub fn tell(self) -> Status {
        if let Some(why) = self.0 {
            complain(&why);
        }
        Status::Failed
    }
}

impl From<String> for Failure {
    fn from(why: String) -> Self {
        Self(Some(why))
    }
}

impl From<Error> for Failure {
    fn from(why: Error) -> Self {
        Self(Some(why.into()))
    }
}

impl From<&str> for Failure {
    fn from(why: &str) -> Self {
        Self(Some(why.into()))
    }
}

/// The program, before its messages.
static PROGRAM: OnceLock<&str> = OnceLock::new();

/// Has messages begin with the name of another program than blog-decode.
pub fn set_program(name: &'static str) {
    let _ = PROGRAM.set(name);
}

/// Prints a message on standard error.
pub fn complain(what: &str) {
    // Names in it can come from a hostile file.
    let safe = |c: char| if is_unsafe(c) { '?' } else { c };
    complain_lines(&without_number(what).chars().map(safe).collect::<String>());
}

/// The same of lines that are safe.
pub fn complain_lines(what: &str) {
    progress::clear();
    // In one write: what else goes to that file must not come in between.
    let line = format!("{}: {what}\n", PROGRAM.get().unwrap_or(&"blog-decode"));
    let _ = io::stderr().write_all(line.as_bytes());
}

/// The text of a system error without the number that Rust appends.
fn without_number(what: &str) -> String {
    let mut parts = what.split(" (os error ");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(')') {
            Some((number, rest)) if number.bytes().all(|b| b.is_ascii_digit()) => {
                text.push_str(rest);
            }
            _ => text.extend([" (os error ", part]),
        }
    }
    text
}

/// Prints what `fill` makes to standard output.
pub fn print_all(fill: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> Result<Status, Failure> {
    let mut fill = Some(fill);
    print_each(|out| match fill.take() {
        Some(fill) => fill(out).map(|()| false),
        None => Ok(false),
    })
}

/// Prints piece by piece what `more` makes, until it says that this was all.
pub fn print_each(more: impl FnMut(&mut Vec<u8>) -> io::Result<bool>) -> Result<Status, Failure> {
    let (mut more, mut out) = (more, Vec::new());
    let mut stdout = io::stdout().lock();
    loop {
        out.clear();
        let goes_on = more(&mut out).map_err(|e| e.to_string())?;
        match stdout.write_all(&out).and_then(|()| stdout.flush()) {
            Ok(()) if goes_on => {}
            result => return Ok(written(result)?),
        }
    }
}

/// The result of writing to standard output.
pub fn written(result: io::Result<()>) -> Result<Status, String> {
    match result {
        // The reader has enough.
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(format!("standard output: {e}")),
        _ => Ok(Status::Whole),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_no_numbers() {
        for (what, told) in [
            ("x: No such file (os error 2)", "x: No such file"),
            ("a (os error 13), b (os error 2): c", "a, b: c"),
            ("(os error", "(os error"),
            ("x (os error y)", "x (os error y)"),
        ] {
            assert_eq!(without_number(what), told);
        }
    }
}
