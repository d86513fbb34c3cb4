// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! `spans`: the times from one record to another, to standard output.

use std::{
    collections::HashMap,
    io::{self, Write},
    path::Path,
};

use super::{
    args,
    count::Fields,
    print::{has_color, Printer},
    report::{complain, print_all, Failure, Status},
    session::{End, Session},
};
use crate::{
    batch::Work,
    blogfmt::bytes::until_nul,
    boot,
    decode::Entry,
    field::{Field, Selector},
    key::{self, Tag},
    output::{
        json::{line, Object},
        text::{escape_name, Line},
    },
    quantile::Quantiles,
    spans::{Pair, Seen, Slowest, Span, Spans, Unpaired},
    table::Table,
};

/// What a thread is.
const THREAD: [Selector; 3] =
    [Selector::Field(Field::Pid), Selector::Field(Field::Tgid), Selector::Field(Field::Comm)];
/// The longest bar of the histogram.
const BAR: u64 = 50;

/// Prints how long spans were.
pub fn spans(args: &args::Spans) -> Result<Status, Failure> {
    if args.input.snapshots.is_empty() && Path::new(&args.end).is_file() {
        return Err(format!("END is missing: {} is a file", args.end).into());
    }
    let mut session = Session::open(&args.input, &args.filters, false, args.jobs)?;
    session.filter.with_left_out = true;
    let input = &session.input;
    input.tell_unknown("--key", args.pair.key.iter());
    let mut printer = Printer::beside(&args.look, boot::width(&input.boots));
    let pair = args.pair.pair(&args.start, &args.end);
    let mut spans = Spans::new(pair.clone());
    let (mut all, mut slowest) = (Quantiles::default(), Slowest::new(args.number));
    let mut entries = 0;
    let look = || Look(&pair);
    let End { mut status, is_empty } = session.run_by("decoding", look, |made: &mut Looked| {
        for (number, seen) in made.seen.drain(..) {
            let number = entries + number;
            let Some(span) = spans.add(seen, || number) else {
                continue;
            };
            all.add(span.length);
            slowest.add(span, number);
        }
        entries += std::mem::take(&mut made.entries);
        Ok(())
    })?;
    let ends = slowest.iter().flat_map(|(span, end)| [span.line, *end]);
    let lines = session.lines(ends, &mut printer);
    let unpaired = spans.unpaired();
    if all.count() == 0 && !is_empty {
        complain(NONE);
        status = status.max(Status::Partial);
    }
    for problem in problems(&unpaired) {
        complain(&problem);
        status = status.max(Status::Partial);
    }
    let sites = input.sites();
    let keys = Fields::new(&args.pair.key, sites.as_deref());
    let answer = Answer {
        all: &all,
        keys: Some(keys).filter(|_| !args.pair.key.is_empty()),
        slowest: &slowest,
        lines: &lines,
        unpaired,
    };
    let color = has_color(&args.look);
    print_all(|out| match args.look.json {
        true => {
            answer.as_json(out);
            Ok(())
        }
        false => answer.as_text(color, &mut printer, out),
    })?;
    Ok(status)
}

/// Looks for halves of spans.
struct Look<'a>(&'a Pair);

/// What there was among some entries: with the number of each entry, and how many there were.
#[derive(Default)]
struct Looked {
    seen: Vec<(u64, Seen)>,
    entries: u64,
}

impl Work<'_> for Look<'_> {
    type Made = Looked;

    fn entry(&mut self, entry: &mut Entry<'_>, made: &mut Looked) {
        made.seen.extend(self.0.look(entry).map(|seen| (made.entries, seen)));
        made.entries += 1;
    }
}

struct Answer<'a> {
    all: &'a Quantiles,
    /// Without keys, a span is of one thread.
    keys: Option<Fields<'a>>,
    /// With the numbers of their records, of which these are the lines.
    slowest: &'a Slowest<u64>,
    lines: &'a HashMap<u64, Line>,
    unpaired: Unpaired,
}

impl Answer<'_> {
    fn as_text(&self, color: bool, printer: &mut Printer<'_>, out: &mut Vec<u8>) -> io::Result<()> {
        let (bold, reset) = if color { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
        if self.all.count() > 0 {
            sum_table().print([self.all], false, out);
            out.push(b'\n');
            let octaves = self.all.octaves();
            let most = octaves.iter().map(|(_, n)| *n).max().unwrap_or(1).max(1);
            let table = octave_table(most);
            octaves.iter().for_each(|octave| table.row(octave, false, out));
        }
        for (span, end) in self.slowest.iter() {
            write!(out, "\n{bold}{}", duration(span.length))?;
            out.extend_from_slice(b" for ");
            let start = out.len();
            out.append(&mut self.key(span));
            escape_name(out, start);
            let lost = if span.is_over_loss { ", with records lost between" } else { "" };
            writeln!(out, "{lost}{reset}")?;
            printer.group([span.line, *end].map(|number| &self.lines[&number]), out);
        }
        out.push(b'\n');
        notes(&self.unpaired).iter().try_for_each(|note| writeln!(out, "{note}"))
    }

    /// A record, by its number.
    fn object(&self, number: u64) -> &[u8] {
        self.lines[&number].text.trim_ascii_end()
    }

    /// The values of a span's keys, or who the thread is.
    fn key(&self, span: &Span<u64>) -> Vec<u8> {
        match (&span.task, &self.keys) {
            (Some(task), None) => {
                let mut name = until_nul(&task.comm).to_vec();
                name.extend(format!("[{}]", task.pid).into_bytes());
                name
            }
            _ => key::text(&key::cells(&span.key)),
        }
    }

    /// The same as an object.
    fn key_json(&self, span: &Span<u64>, o: &mut Object<'_>) {
        let mut thread = Vec::new();
        if let Some(task) = &span.task {
            let ids = [task.pid, task.tgid].map(|id| (Tag::Number, id.to_string().into_bytes()));
            thread.extend(ids);
            thread.push((Tag::Text, until_nul(&task.comm).to_vec()));
        }
        match &self.keys {
            Some(fields) => fields.json("key", &key::cells(&span.key), o),
            None => Fields::new(&THREAD, None).json("key", &thread, o),
        }
    }

    fn as_json(&self, out: &mut Vec<u8>) {
        sum_table().print([self.all], true, out);
        octave_table(1).print(self.all.octaves(), true, out);
        for (span, end) in self.slowest.iter() {
            line(out, "span", |o| {
                o.number("length_ns", span.length);
                o.flag("over_loss", span.is_over_loss);
                self.key_json(span, o);
                o.key("start").extend_from_slice(self.object(span.line));
                o.key("end").extend_from_slice(self.object(*end));
            });
        }
        let u = &self.unpaired;
        line(out, "unpaired", |o| {
            o.number("starts", u.starts);
            o.number("starts_before_loss", u.starts_before_loss);
            o.number("ends", u.ends);
            o.number("ends_after_loss", u.ends_after_loss);
            o.number("dropped", u.dropped);
            o.number("keyless", u.keyless);
            o.number("spans_over_loss", u.over_loss);
            o.number("backward", u.backward);
        });
    }
}

/// How long half of the spans, 99 of 100 and all are at most.
fn sum_table<'a>() -> Table<'a, &'a Quantiles> {
    let mut table = Table::new("span-sum").number("spans", 11, |all: &&Quantiles| all.count());
    for (head, key, percent) in
        [("p50", "p50_ns", 50), ("p99", "p99_ns", 99), ("max", "max_ns", 100)]
    {
        table = table
            .column(head, 8, move |all| duration(all.percentile(percent)))
            .json(move |all, o| o.number(key, all.percentile(percent)));
    }
    table
}

/// How many spans are how long; `most` have the longest bar.
fn octave_table<'a>(most: u64) -> Table<'a, (u64, u64)> {
    Table::new("span-octave")
        .column("", 8, |(from, _): &(u64, u64)| duration(*from))
        .column("", 2, |_| "..".into())
        .column("", 11, |(_, n)| n.to_string())
        .column("", 0, move |(_, n)| "#".repeat((n * BAR).div_ceil(most) as usize))
        .json(|(from, n), o| {
            o.number("at_least_ns", *from);
            o.number("spans", *n);
        })
}

/// That there are none.
pub(super) const NONE: &str =
    "there are no spans: no record that matches END follows one that matches START";

/// What makes an answer partial.
pub(super) fn problems(unpaired: &Unpaired) -> Vec<String> {
    let mut all = Vec::new();
    if unpaired.dropped > 0 {
        all.push(
            "too many starts had no end yet: there may be more spans, and fewer ends without a start"
                .into(),
        );
    }
    if unpaired.backward > 0 {
        let n = unpaired.backward;
        all.push(format!("{n} spans left out: end before start (CPU clocks differ)"));
    }
    all
}

/// What has no other half.
pub(super) fn notes(unpaired: &Unpaired) -> Vec<String> {
    let Unpaired {
        starts,
        starts_before_loss,
        ends,
        ends_after_loss,
        dropped,
        keyless,
        over_loss,
        backward: _,
    } = unpaired;
    let mut all = vec![format!(
        "unpaired: {starts} starts, {starts_before_loss} of them before a loss; \
         {ends} ends, {ends_after_loss} of them after a loss"
    )];
    if *over_loss > 0 {
        all.push(format!(
            "{over_loss} spans go over a loss in their ring: another end and start may be lost there"
        ));
    }
    if *dropped > 0 {
        all.push(format!("{dropped} starts were left out: too many had no end yet"));
    }
    if *keyless > 0 {
        all.push(format!("{keyless} records have no such key"));
    }
    all
}

/// `12.3us` and the like: at most seven characters, for less than a day.
fn duration(ns: u64) -> String {
    let (unit, n) = match ns {
        0..1000 => return format!("{ns}ns"),
        1000..999_500 => ("us", ns as f64 / 1e3),
        999_500..999_500_000 => ("ms", ns as f64 / 1e6),
        _ => ("s", ns as f64 / 1e9),
    };
    match n {
        n if n < 9.995 => format!("{n:.2}{unit}"),
        n if n < 99.95 => format!("{n:.1}{unit}"),
        n => format!("{n:.0}{unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short() {
        for (ns, text) in [
            (0, "0ns"),
            (999, "999ns"),
            (1000, "1.00us"),
            (12_345, "12.3us"),
            (999_499, "999us"),
            (999_500, "1.00ms"),
            (1_000_000_000, "1.00s"),
            (86_400_000_000_000, "86400s"),
        ] {
            assert_eq!(duration(ns), text);
        }
    }
}
