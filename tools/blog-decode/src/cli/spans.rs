// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! `spans`: how long it took from one record to another, to standard output.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    io::{
        self,
        Write, //
    }, //
};

use super::{
    args,
    complain,
    input::{
        tell_undecoded,
        Input, //
    },
    print::style,
    print_all,
    progress::{
        Progress,
        Unit, //
    },
    PARTIAL, //
};
use crate::{
    boot,
    decode::Decoder,
    merge,
    output::{
        json::{
            Json,
            Object, //
        },
        text::{
            escape_name,
            Text, //
        }, //
    },
    quantile::Quantiles,
    spans::{
        Slowest,
        Spans,
        Unpaired, //
    }, //
};

/// Shares of 1000 that are shown, and their names.
const SHARES: [(u64, &str, &str); 4] = [
    (500, "p50", "p50_ns"),
    (900, "p90", "p90_ns"),
    (990, "p99", "p99_ns"),
    (999, "p99.9", "p999_ns"),
];
/// The longest bar of the histogram.
const BAR: u64 = 50;
/// So many groups are told apart.
const MAX_GROUPS: usize = 10_000;

/// Prints how long spans were.
pub fn spans(args: &args::Spans) -> Result<u8, String> {
    let mut filter = args.filters.build()?;
    let input = match Input::open(&args.input) {
        Ok(input) => input,
        Err(status) => return Ok(status),
    };
    input.settle(&args.filters, &mut filter, false)?;
    let fields = args.pair.key.iter().chain(&args.by);
    input.tell_unknown("--key, --by", fields.filter_map(|f| f.argument()));
    let streams = input.streams(&filter.components);
    let json = args.look.json;
    let style = style(&args.look, boot::width(&input.boots));
    let color = style.color;
    let (mut text, mut objects) = (Text::new(style), Json::default());
    let mut spans = Spans::new(args.pair.pair(&args.start, &args.end, &args.by));
    let mut groups: BTreeMap<Vec<u8>, Quantiles> = BTreeMap::new();
    let (mut all, mut slowest) = (Quantiles::default(), Slowest::new(args.number));
    let how = (&input.boots, &input.maps);
    let decoder = Decoder::new(&input.files, &streams, how.0, how.1, &filter);
    let mut progress = Progress::new("decoding", Unit::Records, false);
    let records = Some(merge::records(&streams));
    let mut decoder = decoder.with_tick(move |done| progress.at(done, records));
    let result = decoder.run(|entry| {
        let mut print = |out: &mut Vec<u8>| match json {
            true => objects.entry(entry, out),
            false => text.entry(entry, out),
        };
        if let Some(span) = spans.entry(entry, |_, out| print(out)) {
            all.add(span.length);
            if groups.contains_key(&span.group) || groups.len() < MAX_GROUPS {
                let group = groups.entry(span.group.clone()).or_default();
                group.add(span.length);
            }
            slowest.add(span, print);
        }
        Ok::<_, Infallible>(())
    });
    match result {
        Ok(()) => {}
        Err(never) => match never {},
    }
    let mut status = input.status();
    if decoder.counts().any(|c| c.damaged != 0) {
        complain("some records are damaged");
        status = status.max(PARTIAL);
    }
    if decoder.undecoded().any() {
        tell_undecoded(decoder.undecoded(), &input.tables.searched);
        status = status.max(PARTIAL);
    }
    if all.count() == 0 {
        complain("there are no spans: no record that matches END follows one that matches START");
        status = status.max(PARTIAL);
    }
    let answer = Answer {
        all: &all,
        groups: if args.by.is_empty() {
            None
        } else {
            Some(&groups)
        },
        slowest: &slowest,
        unpaired: spans.unpaired(),
    };
    print_all(|out| match json {
        true => {
            answer.as_json(out);
            Ok(())
        }
        false => answer.as_text(color, out),
    })?;
    Ok(status)
}

struct Answer<'a> {
    all: &'a Quantiles,
    groups: Option<&'a BTreeMap<Vec<u8>, Quantiles>>,
    slowest: &'a Slowest,
    unpaired: Unpaired,
}

impl Answer<'_> {
    fn as_text(&self, color: bool, out: &mut Vec<u8>) -> io::Result<()> {
        let (bold, reset) = if color {
            ("\x1b[1m", "\x1b[0m")
        } else {
            ("", "")
        };
        if self.all.count() > 0 {
            write!(out, "{:>11}", "spans")?;
            let names = SHARES.iter().map(|(_, name, _)| *name);
            for name in ["min"].into_iter().chain(names).chain(["max", "mean"]) {
                write!(out, " {name:>8}")?;
            }
            out.push(b'\n');
            row(self.all, None, out)?;
            for (name, group) in self.groups.into_iter().flatten() {
                row(group, Some(name), out)?;
            }
            out.push(b'\n');
            let octaves = self.all.octaves();
            let most = octaves.iter().map(|(_, n)| *n).max().unwrap_or(1).max(1);
            for (from, n) in octaves {
                let bar = "#".repeat((n * BAR).div_ceil(most) as usize);
                writeln!(out, "{:>8} .. {:>11} {bar}", duration(from), n)?;
            }
        }
        for (span, end) in self.slowest.iter() {
            write!(out, "\n{bold}{}", duration(span.length))?;
            if !span.key.is_empty() {
                out.extend_from_slice(b" for ");
                let start = out.len();
                out.extend_from_slice(&span.key);
                escape_name(out, start);
            }
            writeln!(out, "{reset}")?;
            out.extend_from_slice(&span.text);
            out.extend_from_slice(end);
        }
        let Unpaired {
            starts,
            starts_before_loss,
            ends,
            ends_after_loss,
            dropped,
            keyless,
        } = self.unpaired;
        writeln!(
            out,
            "\nunpaired: {starts} starts, {starts_before_loss} of them before a loss; \
             {ends} ends, {ends_after_loss} of them after a loss"
        )?;
        if dropped > 0 {
            writeln!(
                out,
                "{dropped} starts were left out: too many had no end yet"
            )?;
        }
        if keyless > 0 {
            writeln!(out, "{keyless} records have no such key")?;
        }
        Ok(())
    }

    fn as_json(&self, out: &mut Vec<u8>) {
        let mut sum = |by: Option<&[u8]>, q: &Quantiles| {
            let mut o = Object::new(out);
            o.text("type", "span-sum");
            let by = by.map(String::from_utf8_lossy);
            o.text("by", by.as_deref());
            o.number("spans", q.count());
            o.number("min_ns", q.min());
            for (share, _, key) in SHARES {
                o.number(key, q.of_1000(share));
            }
            o.number("max_ns", q.max());
            o.number("mean_ns", q.mean());
            o.end();
            out.push(b'\n');
        };
        sum(None, self.all);
        for (name, group) in self.groups.into_iter().flatten() {
            sum(Some(name), group);
        }
        for (from, n) in self.all.octaves() {
            let mut o = Object::new(out);
            o.text("type", "span-octave");
            o.number("from_ns", from);
            o.number("spans", n);
            o.end();
            out.push(b'\n');
        }
        for (span, end) in self.slowest.iter() {
            let mut o = Object::new(out);
            o.text("type", "span");
            o.number("ns", span.length);
            o.text("key", &*String::from_utf8_lossy(&span.key));
            o.key("start").extend_from_slice(span.text.trim_ascii_end());
            o.key("end").extend_from_slice(end.trim_ascii_end());
            o.end();
            out.push(b'\n');
        }
        let u = &self.unpaired;
        let mut o = Object::new(out);
        o.text("type", "unpaired");
        o.number("starts", u.starts);
        o.number("starts_before_loss", u.starts_before_loss);
        o.number("ends", u.ends);
        o.number("ends_after_loss", u.ends_after_loss);
        o.number("dropped", u.dropped);
        o.number("keyless", u.keyless);
        o.end();
        out.push(b'\n');
    }
}

fn row(q: &Quantiles, name: Option<&[u8]>, out: &mut Vec<u8>) -> io::Result<()> {
    write!(out, "{:>11}", q.count())?;
    let shares = SHARES.iter().map(|(share, ..)| q.of_1000(*share));
    for ns in [q.min()]
        .into_iter()
        .chain(shares)
        .chain([q.max(), q.mean()])
    {
        write!(out, " {:>8}", duration(ns))?;
    }
    if let Some(name) = name {
        out.push(b' ');
        let start = out.len();
        out.extend_from_slice(name);
        escape_name(out, start);
    }
    out.push(b'\n');
    Ok(())
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
