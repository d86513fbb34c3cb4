// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! `gaps`: where threads were silent for long, to standard output.

use std::{
    io::{self, Write},
    time::Duration,
};

use super::{
    args::Gaps,
    print::{has_color, Printer},
    report::{complain, print_all, Failure, Status},
    session::{End, Session},
};
use crate::{
    blogfmt::bytes::until_nul,
    boot,
    gaps::{self, Gap},
    output::{
        json::Object,
        text::{escape_name, Line},
    },
    snapshot::text,
};

/// Prints gaps.
pub fn gaps(args: &Gaps) -> Result<Status, Failure> {
    let mut session = Session::open(&args.input, &args.filters, false, args.jobs)?;
    session.filter.with_left_out = true;
    let mut printer = Printer::beside(&args.look, boot::width(&session.input.boots));
    let least = args.longer.unwrap_or(Duration::ZERO).as_nanos();
    let least = i128::try_from(least).unwrap_or(i128::MAX);
    let mut gaps = gaps::Gaps::new(args.number, least);
    let End { mut status, is_empty } = session.run("decoding", |entry| {
        gaps.entry(entry);
        Ok(())
    })?;
    let gaps = gaps.largest();
    let lines = session.lines(gaps.iter().flat_map(|gap| gap.records), &mut printer);
    if gaps.is_empty() && !is_empty {
        complain("there is no such gap");
        status = status.max(Status::Partial);
    }
    let color = has_color(&args.look);
    print_all(|out| {
        for (n, gap) in gaps.iter().enumerate() {
            let lines = gap.records.map(|number| &lines[&number]);
            match args.look.json {
                true => as_json(gap, lines, out),
                false => as_text(gap, lines, n == 0, color, &mut printer, out)?,
            }
        }
        Ok(())
    })?;
    Ok(status)
}

fn as_text(
    gap: &Gap,
    lines: [&Line; 2],
    is_first: bool,
    color: bool,
    printer: &mut Printer<'_>,
    out: &mut Vec<u8>,
) -> io::Result<()> {
    if !is_first {
        out.push(b'\n');
    }
    if color {
        out.extend_from_slice(b"\x1b[1m");
    }
    let start = out.len();
    out.extend_from_slice(until_nul(&gap.comm));
    write!(out, "[{}]", gap.pid.0)?;
    if gap.pid.1 != gap.pid.0 {
        write!(out, " of {}", gap.pid.1)?;
    }
    escape_name(out, start);
    let us = gap.length / 1000;
    write!(out, ": {}.{:06} s", us / 1_000_000, us % 1_000_000)?;
    if color {
        out.extend_from_slice(b"\x1b[0m");
    }
    out.push(b'\n');
    printer.group(lines, out);
    Ok(())
}

fn as_json(gap: &Gap, [before, after]: [&Line; 2], out: &mut Vec<u8>) {
    let mut o = Object::new(out);
    o.text("type", "gap");
    o.number("ns", gap.length);
    o.number("pid", gap.pid.0);
    o.number("tgid", gap.pid.1);
    o.text("comm", text(&gap.comm).as_str());
    let line = |line: &Line, out: &mut Vec<u8>| out.extend_from_slice(line.text.trim_ascii_end());
    line(before, o.key("before"));
    line(after, o.key("after"));
    o.end();
    out.push(b'\n');
}
