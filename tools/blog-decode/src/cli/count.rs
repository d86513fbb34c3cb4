// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! `count`, `top`: how many records have the same values, to standard output.

use std::{
    convert::Infallible,
    io::{
        self,
        Write, //
    }, //
};

use super::{
    args::Count,
    complain,
    input::{
        tell_undecoded,
        Input, //
    },
    print_all,
    progress::{
        Progress,
        Unit, //
    },
    stats::short,
    PARTIAL, //
};
use crate::{
    boot::Boot,
    counts::{
        Counts,
        How,
        Row, //
    },
    decode::Decoder,
    field::{
        Field,
        Selector, //
    },
    merge,
    output::{
        json::Object,
        push_local,
        text::escape_name, //
    }, //
};

/// Prints how many records there are of each kind; at most `number` of them, if the user says nothing.
pub fn count(args: &Count, number: usize) -> Result<u8, String> {
    let mut filter = args.filters.build()?;
    let input = match Input::open(&args.input) {
        Ok(input) => input,
        Err(status) => return Ok(status),
    };
    input.settle(&args.filters, &mut filter, false)?;
    let by = match args.by.as_slice() {
        [] => [Field::File, Field::Line, Field::Format]
            .map(Selector::Field)
            .to_vec(),
        by => by.to_vec(),
    };
    let fields = by.iter().chain(&args.sum);
    input.tell_unknown("--by, --sum", fields.filter_map(|f| f.argument()));
    let streams = input.streams(&filter.components);
    let interval = args.per.map(|d| d.as_nanos() as i128);
    let mut counts = Counts::new(How {
        by: by.clone(),
        sum: args.sum.clone(),
        interval,
    });
    let how = (&input.boots, &input.maps);
    let decoder = Decoder::new(&input.files, &streams, how.0, how.1, &filter);
    let mut progress = Progress::new("counting", Unit::Records, false);
    let all = Some(merge::records(&streams));
    let mut decoder = decoder.with_tick(move |done| progress.at(done, all));
    let result = decoder.run(|entry| {
        counts.entry(entry);
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
    let undecoded = decoder.undecoded();
    if undecoded.any() {
        tell_undecoded(undecoded, &input.tables.searched);
        status = status.max(PARTIAL);
    }
    let answer = Answer {
        args,
        by: &by,
        counts: &counts,
        seconds: match (interval, counts.range) {
            (Some(ns), _) => ns as f64 / 1e9,
            (None, Some((first, last))) => (last - first) as f64 / 1e9,
            (None, None) => 0.0,
        },
        is_real: input
            .boots
            .first()
            .is_some_and(|b: &Boot| b.is_one_of_several),
        number: args.number.unwrap_or(number),
    };
    print_all(|out| match args.json {
        true => {
            answer.as_json(out);
            Ok(())
        }
        false => answer.as_text(out),
    })?;
    Ok(status)
}

struct Answer<'a> {
    args: &'a Count,
    by: &'a [Selector],
    counts: &'a Counts,
    /// How long an interval is, or all.
    seconds: f64,
    /// Whether times are since 1970 instead of since boot.
    is_real: bool,
    /// Rows of each interval.
    number: usize,
}

impl Answer<'_> {
    /// The rows that are shown, and what is left of each interval's.
    fn rows(&self, mut show: impl FnMut(&Row) -> io::Result<()>) -> io::Result<(u64, u64)> {
        let (mut at, mut n) = (None, 0);
        let (mut rows, mut records) = (0, self.counts.others);
        for row in self.counts.rows() {
            if at != Some(row.from) {
                (at, n) = (Some(row.from), 0);
            }
            n += 1;
            if n <= self.number {
                show(row)?;
            } else {
                (rows, records) = (rows + 1, records + row.records);
            }
        }
        Ok((rows, records))
    }

    fn rate(&self, row: &Row) -> Option<f64> {
        (self.seconds > 0.0).then(|| row.records as f64 / self.seconds)
    }

    fn as_text(&self, out: &mut Vec<u8>) -> io::Result<()> {
        let time = |ns: i128| match self.is_real {
            true => {
                let mut out = Vec::new();
                push_local(&mut out, ns, false);
                String::from_utf8_lossy(&out).into_owned()
            }
            false => format!("{:.3}", ns as f64 / 1e9),
        };
        let width = if self.is_real { 32 } else { 12 };
        if self.args.per.is_some() {
            write!(out, "{:>width$} ", "from")?;
        }
        write!(out, "{:>11} {:>6} {:>8}", "records", "%", "rate/s")?;
        if let Some(sum) = &self.args.sum {
            write!(out, " {:>14}", format!("sum {sum}"))?;
        }
        for field in self.by {
            write!(out, " {field}")?;
        }
        out.push(b'\n');
        let (rows, records) = self.rows(|row| {
            if self.args.per.is_some() {
                write!(out, "{:>width$} ", time(row.from))?;
            }
            let percent = row.records as f64 * 100.0 / self.counts.records.max(1) as f64;
            let rate = self.rate(row).map_or("-".into(), short);
            write!(out, "{:>11} {percent:>6.1} {rate:>8}", row.records)?;
            if self.args.sum.is_some() {
                write!(out, " {:>14}", row.sum)?;
            }
            for value in &row.values {
                out.push(b' ');
                let start = out.len();
                out.extend_from_slice(value.as_deref().unwrap_or(b"-"));
                escape_name(out, start);
            }
            out.push(b'\n');
            Ok(())
        })?;
        if records > 0 {
            writeln!(
                out,
                "{records:>11} more records, in {rows} rows that -n hides"
            )?;
        }
        Ok(())
    }

    fn as_json(&self, out: &mut Vec<u8>) {
        let names: Vec<String> = self.by.iter().map(ToString::to_string).collect();
        // Writing to a Vec doesn't fail.
        let _ = self.rows(|row| {
            let mut o = Object::new(out);
            o.text("type", "count");
            let from = self.args.per.map(|_| row.from);
            match self.is_real {
                true => o.maybe("from_wall_ns", from),
                false => o.maybe("from_boot_ns", from),
            }
            o.number("records", row.records);
            o.maybe("sum", self.args.sum.as_ref().map(|_| row.sum));
            let mut by = Object::new(o.key("by"));
            for (name, value) in names.iter().zip(&row.values) {
                let value = value.as_deref().map(String::from_utf8_lossy);
                by.foreign_text(name, value.as_deref());
            }
            by.end();
            o.end();
            out.push(b'\n');
            Ok(())
        });
    }
}
