// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! `stats` by fields: how many records have the same values, to standard output.

use std::io::Write;

use super::{
    args::Stats,
    report::{complain, print_each, Failure, Status},
    session::Session,
};
use crate::{
    boot::Boot,
    calendar::push_local,
    field::{classes, is_integer, Class, Field, Selector},
    group::{Group, Groups, Number, Row},
    key::{self, Cell, Tag},
    output::{
        json::{fits, Object},
        text::escape_name,
    },
    sidetable::Site,
    table::Table,
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
    let counts = Groups::new(Group { by: by.clone(), sum: args.sum.clone(), interval });
    let (all, end) = session.run_apart("counting", || counts.clone(), Groups::entry)?;
    let counts = all.into_iter().fold(counts, Groups::with);
    let sites = input.sites();
    let seconds = match (interval, counts.range) {
        (Some(ns), _) => ns as f64 / 1e9,
        (None, Some((first, last))) => (last - first) as f64 / 1e9,
        (None, None) => 0.0,
    };
    let is_real = input.boots.first().is_some_and(|b: &Boot| b.is_one_of_several);
    let table = table(args, Fields::new(&by, sites.as_deref()), counts.records, seconds, is_real);
    let (number, mut rows) = (args.number.unwrap_or(usize::MAX), counts.rows());
    // The interval of the last row, and how many rows it has.
    let mut at = None;
    let (mut hidden, mut hidden_records, mut has_overflow) = (0u64, 0, false);
    print_each(|out| {
        if at.is_none() && !args.json {
            table.head(out);
        }
        while out.len() < MANY {
            let Some(row) = rows.next() else {
                if hidden_records > 0 && !args.json {
                    writeln!(
                        out,
                        "{hidden_records:>11} more records, in {hidden} rows that -n hides"
                    )?;
                }
                return Ok(false);
            };
            let (from, n) = at.unwrap_or((row.from, 0));
            let n = if from == row.from { n + 1 } else { 1 };
            at = Some((row.from, n));
            if n > number {
                hidden += 1;
                hidden_records += row.sum.records;
                continue;
            }
            has_overflow |= row.sum.number == Number::TooLarge;
            table.row(&row, args.json, out);
        }
        Ok(true)
    })?;
    if has_overflow {
        complain("some sums have more than 127 bits: they are left out");
    }
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

/// What is printed of so many records. Rates are over `seconds`; times are dates if `is_real`.
fn table<'a>(
    args: &'a Stats,
    fields: Fields<'a>,
    all: u64,
    seconds: f64,
    is_real: bool,
) -> Table<'a, Row> {
    let mut table = Table::new("count");
    if let Some(per) = args.per {
        let is_fine = per.subsec_nanos() % 1_000_000 != 0;
        let width = if is_real { 35 } else { 18 };
        table = table.column("from", width, move |row: &Row| time(row.from, is_real, is_fine));
    }
    let mut table = table
        .json(move |row, o| {
            let key = if is_real { "from_wall_ns" } else { "from_boot_ns" };
            o.maybe(key, args.per.map(|_| row.from));
        })
        .number("records", 11, |row| row.sum.records)
        .column("%", 6, move |row| {
            format!("{:.1}", row.sum.records as f64 * 100.0 / all.max(1) as f64)
        })
        .column("rate/s", 8, move |row| match seconds > 0.0 {
            true => short(row.sum.records as f64 / seconds),
            false => "-".into(),
        });
    if let Some(sum) = &args.sum {
        table = table.column(format!("sum {sum}"), 14, |row| match row.sum.number {
            Number::Absent => "-".into(),
            Number::Is(n) => n.to_string(),
            Number::TooLarge => "?".into(),
        });
    }
    let names: Vec<_> = fields.all.iter().map(Selector::to_string).collect();
    table
        .column(names.join(" "), 0, |row| {
            let mut text = key::text(&row.values);
            escape_name(&mut text, 0);
            String::from_utf8_lossy(&text).into_owned()
        })
        .json(move |row, o| {
            let sum = match row.sum.number {
                Number::Is(n) if args.sum.is_some() => Some(n),
                _ => None,
            };
            o.maybe("sum", sum);
            fields.json("by", &row.values, o);
        })
}

/// When an interval begins: with as many digits as distinguish it from the next one.
fn time(ns: i128, is_real: bool, is_fine: bool) -> String {
    if is_real {
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
