// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! A pager on the terminal, for the log of this system.

use std::{
    env,
    fs::OpenOptions,
    io::{
        self,
        IsTerminal, //
    },
    process::{
        Child,
        Command,
        Stdio, //
    },
};

use rustix::stdio::{
    dup2_stderr,
    dup2_stdout, //
};

use super::{
    args::{
        Color,
        Show, //
    },
    print::use_color, //
};

/// A pager, which gets all that is printed, and which is waited for.
pub struct Pager(Child);

impl Pager {
    /// Starts the one that `PAGER` names, or less, if it is wanted and there is one.
    pub fn start(show: &mut Show) -> Option<Self> {
        let is_wanted = show.input.is_live() && !show.no_pager && !show.count;
        if !is_wanted || !io::stdout().is_terminal() {
            return None;
        }
        let mut command = match env::var_os("PAGER") {
            Some(pager) if pager.is_empty() || pager == "cat" => return None,
            Some(pager) => {
                let mut shell = Command::new("sh");
                shell.arg("-c").arg(pager);
                shell
            }
            None => Command::new("less"),
        };
        if env::var_os("LESS").is_none() {
            // Ends with what fits the screen and at ^C, and shows colours.
            command.env("LESS", "FRXK");
        }
        // Who may only run this program as root gets no shell by it.
        command.env("LESSSECURE", "1");
        let mut child = command.stdin(Stdio::piped()).spawn().ok()?;
        let input = child.stdin.take()?;
        if use_color(show.output.color, &io::stdout()) {
            show.output.color = Color::Always;
        }
        if io::stderr().is_terminal() {
            dup2_stderr(&input).ok()?;
        }
        dup2_stdout(&input).ok()?;
        Some(Self(child))
    }
}

impl Drop for Pager {
    fn drop(&mut self) {
        // It sees the end when nobody has its input open.
        if let Ok(null) = OpenOptions::new().write(true).open("/dev/null") {
            let _ = dup2_stdout(&null).and(dup2_stderr(&null));
            let _ = self.0.wait();
        }
    }
}
