// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! `stats` by fields: how many records have the same values, to standard output.

use std::io::{self, Write};

use super::{
    args::Stats,
    report::{complain, print_each, Failure, Status},
    session::Session,
};
use crate::{
    boot::Boot,
    calendar::push_local,
    counts::{Counts, How, Number, Row},
    field::{classes, is_integer, Class, Field, Selector},
    key::{self, Cell, Tag},
    output::{
        json::{fits, Object},
        text::escape_name,
    },
    sidetable::Site,
};

/// Prints how many records there are of each kind.
pub fn count(args: &Stats) -> Result<Status, Failure> {
    let by = match args.by.as_slice() {
        [] => [Field::File, Field::Line, Field::Format].map(Selector::Field).to_vec(),
        by => by.to_vec(),
    };
    let mut fields = by.iter().enumerate();
    if let Some((_, twice)) = fields.find(|(i, field)| by[..*i].contains(field)) {
        return Err(format!("--by: {twice} is there twice").into());
    }
    if let Some(sum @ Selector::Field(field)) = &args.sum {
        if !field.is_number() {
            return Err(format!("--sum: {sum} is no number").into());
        }
    }
    let session = Session::open(&args.input, &args.filters, false, args.jobs)?;
    let fields = by.iter().chain(&args.sum);
    let input = &session.input;
    input.tell_unknown("--by, --sum", fields);
    if let (Some(sum @ Selector::Argument(path)), Some(sites)) = (&args.sum, input.sites()) {
        let mut classes = sites.iter().flat_map(|site| classes(path, site)).peekable();
        if classes.peek().is_some() && !classes.any(|class| class == Class::Number) {
            complain(&format!("--sum: {sum} is no number at any call site"));
        }
    }
    let interval = args.per.map(|d| d.as_nanos() as i128);
    let counts = Counts::new(How { by: by.clone(), sum: args.sum.clone(), interval });
    let (all, end) = session.run_apart("counting", || counts.clone(), Counts::entry)?;
    let counts = all.into_iter().fold(counts, Counts::with);
    let sites = input.sites();
    let mut answer = Answer {
        args,
        fields: Fields::new(&by, sites.as_deref()),
        all: counts.records,
        seconds: match (interval, counts.range) {
            (Some(ns), _) => ns as f64 / 1e9,
            (None, Some((first, last))) => (last - first) as f64 / 1e9,
            (None, None) => 0.0,
        },
        is_real: input.boots.first().is_some_and(|b: &Boot| b.is_one_of_several),
        number: args.number.unwrap_or(usize::MAX),
        at: None,
        hidden: 0,
        hidden_records: 0,
        has_overflow: false,
    };
    let mut rows = counts.rows();
    print_each(|out| answer.more(&mut rows, out))?;
    Ok(end.status)
}

/// As many bytes are printed at a time.
const MANY: usize = 1 << 16;

/// Fields of which records have the same values.
pub(super) struct Fields<'a> {
    all: &'a [Selector],
    /// Whether all values of a field are integers, of 64 bits at most. What isn't known is not.
    are_numbers: Vec<bool>,
}

impl<'a> Fields<'a> {
    /// `sites`: all that there are, if that is known.
    pub fn new(all: &'a [Selector], sites: Option<&[&Site]>) -> Self {
        let is_number = |field: &Selector| match field {
            Selector::Field(field) => field.is_number(),
            Selector::Argument(path) => sites.is_some_and(|sites| is_integer(path, sites)),
        };
        Self { all, are_numbers: all.iter().map(is_number).collect() }
    }

    /// Adds an object of their values; and, if 64 bits with a sign don't hold a number, another one of
    /// such numbers as text.
    pub fn json(&self, key: &str, values: &[Cell], o: &mut Object<'_>) {
        let all = || self.all.iter().zip(&self.are_numbers).zip(values);
        let mut object = Object::new(o.foreign_key(key));
        for ((field, is_number), (tag, value)) in all() {
            object.cell(&field.to_string(), *is_number, *tag, value);
        }
        object.end();
        let is_wide = |((_, is_number), (tag, value)): &((_, &bool), &Cell)| {
            **is_number && *tag != Tag::None && !fits(value)
        };
        if all().any(|one| is_wide(&one)) {
            let mut object = Object::new(o.foreign_key(&format!("{key}_text")));
            for ((field, _), (tag, value)) in all().filter(is_wide) {
                object.cell(&field.to_string(), false, *tag, value);
            }
            object.end();
        }
    }
}

struct Answer<'a> {
    args: &'a Stats,
    fields: Fields<'a>,
    all: u64,
    /// What rates are over.
    seconds: f64,
    /// Whether times are dates.
    is_real: bool,
    number: usize,
    /// The interval of the last row, and how many rows it has.
    at: Option<(i128, usize)>,
    hidden: u64,
    hidden_records: u64,
    has_overflow: bool,
}

impl Answer<'_> {
    /// Prints the next rows, some at a time; `false`: that was all.
    fn more(&mut self, rows: &mut dyn Iterator<Item = Row>, out: &mut Vec<u8>) -> io::Result<bool> {
        if self.at.is_none() && !self.args.json {
            self.head(out)?;
        }
        while out.len() < MANY {
            let Some(row) = rows.next() else {
                self.tail(out)?;
                return Ok(false);
            };
            let (from, n) = self.at.unwrap_or((row.from, 0));
            let n = if from == row.from { n + 1 } else { 1 };
            self.at = Some((row.from, n));
            if n > self.number {
                self.hidden += 1;
                self.hidden_records += row.sum.records;
                continue;
            }
            self.has_overflow |= row.sum.number == Number::TooLarge;
            match self.args.json {
                true => self.as_json(&row, out),
                false => self.as_text(&row, out)?,
            }
        }
        Ok(true)
    }

    fn tail(&self, out: &mut Vec<u8>) -> io::Result<()> {
        let (records, rows) = (self.hidden_records, self.hidden);
        if records > 0 && !self.args.json {
            writeln!(out, "{records:>11} more records, in {rows} rows that -n hides")?;
        }
        if self.has_overflow {
            complain("some sums have more than 127 bits: they are left out");
        }
        Ok(())
    }

    fn rate(&self, row: &Row) -> Option<f64> {
        (self.seconds > 0.0).then(|| row.sum.records as f64 / self.seconds)
    }

    /// When an interval begins: with as many digits as distinguish it from the next one.
    fn time(&self, ns: i128) -> String {
        let is_fine = self.args.per.is_some_and(|d| d.subsec_nanos() % 1_000_000 != 0);
        if self.is_real {
            let mut out = Vec::new();
            push_local(&mut out, ns, is_fine);
            return String::from_utf8_lossy(&out).into_owned();
        }
        let (sign, abs) = (if ns < 0 { "-" } else { "" }, ns.unsigned_abs());
        let (seconds, ns) = (abs / 1_000_000_000, abs % 1_000_000_000);
        match is_fine {
            true => format!("{sign}{seconds}.{ns:09}"),
            false => format!("{sign}{seconds}.{:03}", ns / 1_000_000),
        }
    }

    fn width(&self) -> usize {
        match self.is_real {
            true => 35,
            false => 18,
        }
    }

    fn head(&self, out: &mut Vec<u8>) -> io::Result<()> {
        if self.args.per.is_some() {
            write!(out, "{:>width$} ", "from", width = self.width())?;
        }
        write!(out, "{:>11} {:>6} {:>8}", "records", "%", "rate/s")?;
        if let Some(sum) = &self.args.sum {
            write!(out, " {:>14}", format!("sum {sum}"))?;
        }
        for field in self.fields.all {
            write!(out, " {field}")?;
        }
        out.push(b'\n');
        Ok(())
    }

    fn as_text(&self, row: &Row, out: &mut Vec<u8>) -> io::Result<()> {
        if self.args.per.is_some() {
            write!(out, "{:>width$} ", self.time(row.from), width = self.width())?;
        }
        let records = row.sum.records;
        let percent = records as f64 * 100.0 / self.all.max(1) as f64;
        let rate = self.rate(row).map_or("-".into(), short);
        write!(out, "{records:>11} {percent:>6.1} {rate:>8}")?;
        if self.args.sum.is_some() {
            let sum = match row.sum.number {
                Number::Absent => "-".into(),
                Number::Is(n) => n.to_string(),
                Number::TooLarge => "?".into(),
            };
            write!(out, " {sum:>14}")?;
        }
        out.push(b' ');
        let start = out.len();
        out.append(&mut key::text(&row.values));
        escape_name(out, start);
        out.push(b'\n');
        Ok(())
    }

    fn as_json(&self, row: &Row, out: &mut Vec<u8>) {
        let mut o = Object::new(out);
        o.text("type", "count");
        let from = self.args.per.map(|_| row.from);
        match self.is_real {
            true => o.maybe("from_wall_ns", from),
            false => o.maybe("from_boot_ns", from),
        }
        o.number("records", row.sum.records);
        let sum = match row.sum.number {
            Number::Is(n) if self.args.sum.is_some() => Some(n),
            _ => None,
        };
        o.maybe("sum", sum);
        self.fields.json("by", &row.values, &mut o);
        o.end();
        out.push(b'\n');
    }
}

/// `12.3k` and the like: at most five characters.
pub fn short(n: f64) -> String {
    let mut n = n;
    for unit in ["", "k", "M", "G", "T"] {
        if n < 999.5 || unit == "T" {
            return match n {
                n if unit.is_empty() && n == n.trunc() => format!("{n}"),
                n if n < 9.995 => format!("{n:.2}{unit}"),
                n if n < 99.95 => format!("{n:.1}{unit}"),
                n => format!("{n:.0}{unit}"),
            };
        }
        n /= 1000.0;
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (n, text) in [
            (0.0, "0"),
            (7.0, "7"),
            (1.5, "1.50"),
            (999.0, "999"),
            (1000.0, "1.00k"),
            (12_345.0, "12.3k"),
            (999_499.0, "999k"),
            (999_600.0, "1.00M"),
            (4e9, "4.00G"),
            (1e20, "100000000T"),
        ] {
            assert_eq!(short(n), text);
        }
    }
}
