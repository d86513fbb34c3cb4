// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! `gaps`: where threads were silent for long, to standard output.

use std::{
    convert::Infallible,
    io::{
        self,
        Write, //
    },
    time::Duration,
};

use super::{
    args::Gaps,
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
    blogfmt::bytes::until_nul,
    boot,
    decode::Decoder,
    gaps::{
        self,
        Gap, //
    },
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
    snapshot::text,
};

/// Prints gaps.
pub fn gaps(args: &Gaps) -> Result<u8, String> {
    let mut filter = args.filters.build()?;
    let input = match Input::open(&args.input) {
        Ok(input) => input,
        Err(status) => return Ok(status),
    };
    input.settle(&args.filters, &mut filter, false)?;
    let streams = input.streams(&filter.components);
    let json = args.look.json;
    let mut objects = Json::default();
    let style = style(&args.look, boot::width(&input.boots));
    let color = style.color;
    let mut text = Text::new(style);
    let least = args.longer.unwrap_or(Duration::ZERO).as_nanos();
    let least = i128::try_from(least).unwrap_or(i128::MAX);
    let mut gaps = gaps::Gaps::new(args.number, least);
    let how = (&input.boots, &input.maps);
    let decoder = Decoder::new(&input.files, &streams, how.0, how.1, &filter);
    let mut progress = Progress::new("decoding", Unit::Records, false);
    let all = Some(merge::records(&streams));
    let mut decoder = decoder.with_tick(move |done| progress.at(done, all));
    let result = decoder.run(|entry| {
        gaps.entry(entry, |entry, out| match json {
            true => objects.entry(entry, out),
            false => text.entry(entry, out),
        });
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
    let gaps = gaps.largest();
    if gaps.is_empty() {
        complain("there is no such gap");
    }
    print_all(|out| {
        for (n, gap) in gaps.iter().enumerate() {
            match json {
                true => as_json(gap, out),
                false => as_text(gap, n == 0, color, out)?,
            }
        }
        Ok(())
    })?;
    Ok(status)
}

fn as_text(gap: &Gap, is_first: bool, color: bool, out: &mut Vec<u8>) -> io::Result<()> {
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
    out.extend_from_slice(&gap.before);
    out.extend_from_slice(&gap.after);
    Ok(())
}

fn as_json(gap: &Gap, out: &mut Vec<u8>) {
    let mut o = Object::new(out);
    o.text("type", "gap");
    o.number("ns", gap.length);
    o.number("pid", gap.pid.0);
    o.number("tgid", gap.pid.1);
    o.text("comm", text(&gap.comm).as_str());
    o.key("before")
        .extend_from_slice(gap.before.trim_ascii_end());
    o.key("after").extend_from_slice(gap.after.trim_ascii_end());
    o.end();
    out.push(b'\n');
}
