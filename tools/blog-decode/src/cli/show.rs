// SPDX-License-Identifier: GPL-2.0

//! `show` and `diff`: records to standard output.

use std::{
    collections::VecDeque,
    io::{
        self,
        IsTerminal,
        StdoutLock,
        Write, //
    },
};

use super::{
    args::{
        self,
        Color,
        Diff,
        Output,
        Show, //
    },
    complain,
    input::{
        tell_undecoded,
        Input, //
    },
    FAILED,
    PARTIAL, //
};
use crate::{
    decode::{
        Content,
        Decoder,
        Entry,
        Filter, //
    },
    merge,
    output::{
        csv,
        json,
        text::{
            Style,
            Text, //
        }, //
    },
    stats::Stats, //
};

/// Prints records.
pub fn show(args: &Show) -> Result<u8, String> {
    let mut filter = args.filters.build()?;
    let around = args.around.unwrap_or(0);
    let context = (args.before.unwrap_or(around), args.after.unwrap_or(around));
    filter.with_context = context != (0, 0);
    let input = match Input::open(&args.input) {
        Ok(input) => input,
        Err(status) => return Ok(status),
    };
    let streams = input.streams(&filter.components);
    print(&input, &streams, &filter, &args.output, context, args.stats)
}

/// Prints what is new.
pub fn diff(args: &Diff) -> Result<u8, String> {
    let filter = args.filters.build()?;
    let files = args::Input {
        snapshots: vec![args.old.clone(), args.new.clone()],
        vmcore: Vec::new(),
        tables: args.tables.clone(),
    };
    let input = match Input::open(&files) {
        Ok(input) => input,
        Err(status) => return Ok(status),
    };
    let [old, new] = input.files.as_slice() else {
        return Ok(FAILED);
    };
    if old.boot_id() != new.boot_id() || old.boot_id().is_none() {
        return Err("the snapshots are of different boots: everything is new".into());
    }
    let wanted = |name: &str| filter.wants_component(name);
    let streams = merge::newer(&input.files, wanted);
    print(&input, &streams, &filter, &args.output, (0, 0), false)
}

fn print(
    input: &Input,
    streams: &[merge::Stream],
    filter: &Filter,
    output: &Output,
    context: (usize, usize),
    with_stats: bool,
) -> Result<u8, String> {
    let Input {
        files,
        maps,
        calibrations,
        ..
    } = input;
    let mut decoder = Decoder::new(files, streams, calibrations, maps, filter);
    match write_all(output, context, &mut decoder) {
        Ok(()) => {}
        // Whoever reads has enough.
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => return Ok(input.status),
        Err(e) => return Err(format!("standard output: {e}")),
    }
    let mut status = input.status();
    let (undecoded, shown) = (decoder.undecoded.clone(), decoder.shown);
    let stats = Stats {
        files,
        streams,
        counts: decoder.counts().copied().collect(),
        shown,
        undecoded: &undecoded,
    };
    if stats.counts.iter().any(|c| c.damaged != 0) {
        complain("some records are damaged; they are marked in the output");
        status = status.max(PARTIAL);
    }
    if undecoded.any() {
        tell_undecoded(&undecoded);
        status = status.max(PARTIAL);
    }
    if with_stats {
        if let Err(e) = write_stats(output.json, &stats) {
            complain(&format!("--stats: {e}"));
        }
    }
    Ok(status)
}

/// A form of output with its state.
enum Printer<'a> {
    Text(Box<Text>),
    Json { raw: bool },
    Csv,
    Template(&'a crate::output::template::Template),
}

impl Printer<'_> {
    fn entry(&mut self, entry: &Entry<'_>, out: &mut Vec<u8>) {
        match self {
            Self::Text(text) => text.entry(entry, out),
            Self::Json { raw } => json::entry(entry, *raw, out),
            Self::Csv => csv::entry(entry, out),
            Self::Template(template) => template.entry(entry, out),
        }
    }
}

/// Whether to use colours.
pub(super) fn use_color(when: Color, stdout: &StdoutLock<'_>) -> bool {
    match when {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            let no_color = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
            stdout.is_terminal()
                && !no_color
                && std::env::var_os("TERM").is_none_or(|t| t != "dumb")
        }
    }
}

fn write_all(args: &Output, context: (usize, usize), decoder: &mut Decoder<'_>) -> io::Result<()> {
    const BUFFER: usize = 64 << 10;
    let mut stdout = io::stdout().lock();
    let mut out = Vec::with_capacity(2 * BUFFER);
    let mut printer = if args.json {
        Printer::Json { raw: args.raw }
    } else if args.csv {
        csv::header(&mut out);
        Printer::Csv
    } else if let Some(template) = &args.format {
        Printer::Template(template)
    } else {
        Printer::Text(Box::new(Text::new(Style {
            time: args.time.into(),
            location: args.location,
            raw: args.raw,
            color: use_color(args.color, &stdout),
        })))
    };
    let separator: &[u8] = match printer {
        Printer::Text(_) | Printer::Template(_) => b"--\n",
        Printer::Json { .. } | Printer::Csv => b"",
    };
    let mut window = Window::new(context, separator);
    decoder.run(|entry| {
        window.entry(entry, &mut printer, &mut out);
        if out.len() >= BUFFER {
            stdout.write_all(&out)?;
            out.clear();
        }
        Ok::<_, io::Error>(())
    })?;
    window.end(&mut out);
    stdout.write_all(&out)?;
    stdout.flush()
}

/// Records around those that match, as with grep.
struct Window<'a> {
    before: usize,
    after: usize,
    separator: &'a [u8],
    /// Lines that were not printed yet, at most `before`; with `true` those of losses, which are
    /// printed in any case.
    waiting: VecDeque<(bool, Vec<u8>)>,
    /// Buffers for further ones.
    spare: Vec<Vec<u8>>,
    /// Records after a match that are still to be printed.
    left: usize,
    /// Whether something was printed, and something after it was not.
    has_printed: bool,
    has_gap: bool,
}

impl<'a> Window<'a> {
    fn new((before, after): (usize, usize), separator: &'a [u8]) -> Self {
        Self {
            before,
            after,
            separator,
            waiting: VecDeque::new(),
            spare: Vec::new(),
            left: 0,
            has_printed: false,
            has_gap: false,
        }
    }

    fn entry(&mut self, entry: &Entry<'_>, printer: &mut Printer<'_>, out: &mut Vec<u8>) {
        if self.before == 0 && self.after == 0 {
            return printer.entry(entry, out);
        }
        let is_loss = matches!(entry.content, Content::Loss { .. });
        if entry.is_match {
            self.separate(out);
            for (_, line) in self.waiting.drain(..) {
                out.extend_from_slice(&line);
                self.spare.push(line);
            }
            self.left = self.after;
            return printer.entry(entry, out);
        }
        if self.left > 0 || is_loss && self.waiting.is_empty() {
            self.separate(out);
            self.left = self.left.saturating_sub(usize::from(!is_loss));
            return printer.entry(entry, out);
        }
        let mut line = if self.waiting.len() >= self.before {
            match self.waiting.pop_front() {
                Some(oldest) => self.drop_or_print(oldest, out),
                None => {
                    self.has_gap = true;
                    return;
                }
            }
        } else {
            self.spare.pop().unwrap_or_default()
        };
        line.clear();
        printer.entry(entry, &mut line);
        self.waiting.push_back((is_loss, line));
    }

    /// What goes before lines that follow a gap.
    fn separate(&mut self, out: &mut Vec<u8>) {
        if self.has_gap && self.has_printed {
            out.extend_from_slice(self.separator);
        }
        self.has_gap = false;
        self.has_printed = true;
    }

    fn drop_or_print(&mut self, (keep, line): (bool, Vec<u8>), out: &mut Vec<u8>) -> Vec<u8> {
        if keep {
            self.separate(out);
            out.extend_from_slice(&line);
        } else {
            self.has_gap = true;
        }
        line
    }

    /// Prints what has waited to the end.
    fn end(&mut self, out: &mut Vec<u8>) {
        while let Some(waiting) = self.waiting.pop_front() {
            self.drop_or_print(waiting, out);
        }
    }
}

fn write_stats(as_json: bool, stats: &Stats<'_>) -> io::Result<()> {
    let mut out = Vec::new();
    if as_json {
        stats.write_json(&mut out);
        io::stdout().write_all(&out)?;
        io::stdout().flush()
    } else {
        stats.write_text(&mut out)?;
        io::stderr().write_all(&out)
    }
}
