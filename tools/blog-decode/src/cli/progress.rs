// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Progress: a bar on the terminal, for work of more than a second.
//!
//! It is on standard error, and only if that is a terminal and the bar disturbs nobody: not if
//! standard output is a pipe, as its reader may have the same terminal (`| less`), and not while
//! records go to the terminal. The bar is removed before any other output.

use std::{
    cell::RefCell,
    fmt,
    io::{self, IsTerminal},
    time::{Duration, Instant},
};

use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use rustix::fs::{fstat, FileType};

/// Nothing is shown before.
const AFTER: Duration = Duration::from_secs(1);

thread_local! {
    /// The bar that is shown.
    static SHOWN: RefCell<Option<ProgressBar>> = const { RefCell::new(None) };
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes of a file.
    Bytes,
    /// Records.
    Records,
    /// Pages of rings.
    Pages,
}

impl Unit {
    fn style(self, has_all: bool) -> ProgressStyle {
        let template = match (self, has_all) {
            (Self::Bytes, true) => {
                "{msg} [{wide_bar}] {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left"
            }
            (Self::Bytes, false) => "{msg}: {bytes}, {bytes_per_sec}",
            (Self::Records, true) => {
                "{msg} [{wide_bar}] {human_pos} of {human_len} records, {rate}/s, {eta} left"
            }
            (Self::Records, false) => "{msg}: {human_pos} records, {rate}/s",
            (Self::Pages, true) => {
                "{msg} [{wide_bar}] {human_pos} of {human_len} pages, {rate}/s, {eta} left"
            }
            (Self::Pages, false) => "{msg}: {human_pos} pages, {rate}/s",
        };
        let style = ProgressStyle::with_template(template);
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        let rate = |state: &ProgressState, out: &mut dyn fmt::Write| {
            // Not a number is 0.
            let _ = write!(out, "{}", HumanCount(state.per_sec() as u64));
        };
        style.with_key("rate", rate).progress_chars("=> ")
    }
}

/// A piece of work that may take long. What is shown of it ends with it.
pub struct Progress {
    /// The bar; `None` if it must not be seen.
    bar: Option<ProgressBar>,
    unit: Unit,
    all: Option<u64>,
    started: Instant,
    is_shown: bool,
}

impl Progress {
    /// Starts. `is_printing`: it writes to standard output meanwhile.
    pub fn new(what: &'static str, unit: Unit, is_printing: bool) -> Self {
        let bar = may_show(is_printing).then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
            bar.with_style(unit.style(false)).with_message(what)
        });
        Self { bar, unit, all: None, started: Instant::now(), is_shown: false }
    }

    /// So much of all is done. How much that is, may be unknown, and may change.
    pub fn at(&mut self, done: u64, all: Option<u64>) {
        let Some(bar) = &self.bar else { return };
        if self.all != all {
            if self.all.is_some() != all.is_some() {
                bar.set_style(self.unit.style(all.is_some()));
            }
            self.all = all;
            if let Some(all) = all {
                bar.set_length(all);
            }
        }
        bar.set_position(done);
        if !self.is_shown && self.started.elapsed() >= AFTER {
            self.is_shown = true;
            bar.set_draw_target(ProgressDrawTarget::stderr());
            bar.tick();
            SHOWN.set(Some(bar.clone()));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_shown {
            clear();
        }
    }
}

/// Takes the bar away, if there is one: something is to be said.
pub fn clear() {
    if let Some(bar) = SHOWN.take() {
        bar.finish_and_clear();
    }
}

fn may_show(is_printing: bool) -> bool {
    let stdout = io::stdout();
    let is_pipe = fstat(&stdout).is_ok_and(|stat| {
        matches!(FileType::from_raw_mode(stat.st_mode), FileType::Fifo | FileType::Socket)
    });
    let scrolls = is_printing && stdout.is_terminal();
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    io::stderr().is_terminal() && !is_pipe && !scrolls && !is_dumb
}
