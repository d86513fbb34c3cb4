// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! `stats`: records, bytes and time by component, ring and site, to standard output; or what
//! [`count`] counts.

use std::{collections::BTreeMap, io::Write};

use super::{
    args::Stats,
    count::{count, short},
    input::Input,
    progress::{Progress, Unit},
    report::{complain, print_all, Failure, Status},
    session::{tell_left_out, tell_none},
};
use crate::{
    accounts::{counts, lost, lost_of, ring_name, HostColumn},
    boot::Boot,
    filter::is_component,
    merge,
    output::{
        json::{boot as boot_json, ring, Object},
        level_name,
    },
    sidetable::Found,
    snapshot::{text, Snapshot},
    sums::{logged, ComponentSum, Span, Sum, Sums},
};

/// Prints sums.
pub fn stats(args: &Stats) -> Result<Status, Failure> {
    if args.counts_records() {
        return count(args);
    }
    let input = Input::open(&args.input)?;
    let streams = input.streams(args.filters.components());
    let sums = {
        let mut progress = Progress::new("counting", Unit::Records, false);
        let all = Some(merge::records(&streams));
        let mut tick = |done| progress.at(done, all);
        Sums::with_tick(&input.files, &streams, &input.boots, &mut tick)
    };
    let sites = sites_of(&input, &sums);
    print_all(|out| {
        if args.json {
            stats_json(&sums, &streams, &input.boots, &sites, out);
            Ok(())
        } else {
            let components = args.filters.components();
            let files = (&*input.files, &*input.boots);
            stats_text(&sums, &streams, files, &sites, components, out)
        }
    })?;
    let left_out = sums.rings.iter().map(|r| r.counts.left_out);
    tell_left_out(left_out.fold(0, u64::saturating_add));
    let mut status = input.status();
    if !args.filters.components().is_empty() && sums.rings.iter().all(|r| r.sum.records == 0) {
        tell_none(merge::records(&input.captures.streams(&[])), "record", "");
        status = status.max(Status::Partial);
    }
    if sums.rings.iter().any(|r| r.counts.damaged != 0) {
        complain("some records are damaged");
        status = status.max(Status::Partial);
    }
    Ok(status)
}

/// A call site with its records.
struct Used<'a> {
    file: usize,
    id: u32,
    found: Option<Found<'a>>,
    sum: Sum,
    /// Records since BLog was loaded: at least, and at most.
    logged: Option<(u64, u64)>,
}

impl Used<'_> {
    /// How many records it has logged, or from how many to how many.
    fn logged(&self) -> String {
        match self.logged {
            None => "-".into(),
            Some((least, most)) if least == most => most.to_string(),
            Some((least, most)) => format!("{least}-{most}"),
        }
    }
}

/// Sites with records, those with the most first. A site that several files have counts once.
///
/// Of a single snapshot with counts, also sites of which all records are gone.
fn sites_of<'a>(input: &'a Input, sums: &Sums) -> Vec<Used<'a>> {
    let logged = match &input.files[..] {
        [file] => logged(file).unwrap_or_default(),
        _ => BTreeMap::new(),
    };
    let mut all: Vec<Used<'a>> = Vec::new();
    let mut index = BTreeMap::new();
    for (file, sites) in sums.sites.iter().enumerate() {
        for (&id, &sum) in sites {
            let found = input.maps[file].find(id);
            let key = match &found {
                Some(f) if !f.image.build_id.is_empty() => {
                    (f.image.build_id.clone(), f.index, usize::MAX)
                }
                _ => (String::new(), id, file),
            };
            let at = *index.entry(key).or_insert(all.len());
            match all.get_mut(at) {
                Some(site) => {
                    site.sum.records += sum.records;
                    site.sum.bytes += sum.bytes;
                }
                None => all.push(Used { file, id, found, sum, logged: logged.get(&id).copied() }),
            }
        }
    }
    let is_gone = |id: &u32| !sums.sites.iter().any(|sites| sites.contains_key(id));
    for (id, n) in logged.into_iter().filter(|(id, _)| is_gone(id)) {
        all.push(Used {
            file: 0,
            id,
            found: input.maps[0].find(id),
            sum: Sum::default(),
            logged: Some(n),
        });
    }
    all.sort_by_key(|s| (std::cmp::Reverse(s.sum.records), s.file, s.id));
    all
}

fn rate(sum: &Sum, span: Option<Span>) -> Option<f64> {
    let seconds = span?.seconds();
    (seconds > 0.0).then(|| sum.records as f64 / seconds)
}

fn seconds(s: Option<f64>) -> String {
    s.map_or("-".into(), |s| format!("{s:.3}"))
}

/// For how many seconds back nothing is missing.
fn complete(of: &ComponentSum, from: Option<i128>) -> String {
    from.map_or("all".into(), |from| format!("{:.3}", of.back(from)))
}

fn stats_text(
    sums: &Sums,
    streams: &[merge::Stream],
    (files, boots): (&[Snapshot], &[Boot]),
    sites: &[Used<'_>],
    components: &[String],
    out: &mut Vec<u8>,
) -> std::io::Result<()> {
    let boot = HostColumn::new(boots);
    boot.head(out);
    writeln!(
        out,
        "{:<16} {:>5} {:>11} {:>8} {:>8} {:>11} {:>11} {:>11} {:>9}",
        "component", "rings", "records", "bytes", "rate/s", "span s", "complete s", "gone", "lost"
    )?;
    for ((of, name), c) in &sums.components {
        boot.of(&boots[*of], out);
        writeln!(
            out,
            "{:<16} {:>5} {:>11} {:>8} {:>8} {:>11} {:>11} {:>11} {:>9}",
            name.escape_default().to_string(),
            c.rings,
            c.sum.records,
            short(c.sum.bytes as f64),
            rate(&c.sum, c.span).map_or("-".into(), short),
            seconds(c.span.map(|s| s.seconds())),
            complete(c, c.complete_from),
            c.gone,
            c.lost
        )?;
    }
    for (file, of) in files.iter().zip(boots) {
        for c in file.components.values() {
            let lost: Vec<String> = lost_of(&c.lost).map(|(k, n)| format!("{k}={n}")).collect();
            let (name, lost) = (text(&c.name), lost.join(" "));
            if c.gone_records == 0 && lost.is_empty() || !is_component(&name, components) {
                continue;
            }
            boot.of(of, out);
            writeln!(
                out,
                "{}: {} records of ended tasks are gone, lost without a ring: {}",
                name.escape_default(),
                c.gone_records,
                if lost.is_empty() { "none" } else { &lost }
            )?;
        }
    }
    out.push(b'\n');
    boot.head(out);
    writeln!(
        out,
        "{:<16} {:<22} {:>11} {:>8} {:>8} {:>11} {:>11} {:>11} {:>8} {:>9}",
        "component",
        "ring",
        "records",
        "bytes",
        "rate/s",
        "span s",
        "complete s",
        "overwritten",
        "missing",
        "lost"
    )?;
    for (stream, r) in streams.iter().zip(&sums.rings) {
        let n = &r.counts;
        boot.of(&boots[stream.file()], out);
        let of = (boots[stream.file()].index, stream.component.clone());
        let of = &sums.components[&of];
        writeln!(
            out,
            "{:<16} {:<22} {:>11} {:>8} {:>8} {:>11} {:>11} {:>11} {:>8} {:>9}",
            stream.component.escape_default().to_string(),
            ring_name(stream, n),
            r.sum.records,
            short(r.sum.bytes as f64),
            rate(&r.sum, r.span).map_or("-".into(), short),
            seconds(r.span.map(|s| s.seconds())),
            complete(of, r.complete_from),
            n.overwritten,
            n.missing.saturating_add(n.damaged).saturating_add(n.lagged),
            stream.lost_sum()
        )?;
    }
    let all = sites.iter().fold(0, |sum, s| sum + s.sum.records);
    // Where no site has it, there is no such column.
    let has_logged = sites.iter().any(|s| s.logged.is_some());
    let logged = |text: String| match has_logged {
        true => format!("{text:>17} "),
        false => String::new(),
    };
    writeln!(
        out,
        "\n{}{:>11} {:>6} {:>8}  {:<5} site",
        logged("since boot".into()),
        "records",
        "%",
        "bytes",
        "level"
    )?;
    for s in sites {
        let percent = s.sum.records as f64 * 100.0 / all.max(1) as f64;
        let (level, text) = describe(s.id, s.found.as_ref());
        writeln!(
            out,
            "{}{:>11} {percent:>6.1} {:>8}  {level:<5} {text}",
            logged(s.logged()),
            s.sum.records,
            short(s.sum.bytes as f64)
        )?;
    }
    Ok(())
}

/// Level, and place and format of a site.
pub(super) fn describe(id: u32, found: Option<&Found<'_>>) -> (&'static str, String) {
    match found {
        Some(Found { site: Some(site), .. }) => {
            let text = format!("{}:{} {:?}", site.file.escape_default(), site.line, site.format);
            (level_name(site.level), text)
        }
        Some(Found { image, index, .. }) => {
            let text = format!("site {index} of {}", image.name.escape_default());
            ("?", text)
        }
        None => ("?", format!("site {id}, in no image")),
    }
}

fn span_json(sum: &Sum, span: Option<Span>, boot: &Boot, o: &mut Object<'_>) {
    let real = |ns| boot.calibration.real_of_boot(ns);
    boot_json(boot, o);
    o.number("records", sum.records);
    o.number("bytes", sum.bytes);
    o.maybe("first_boot_ns", span.map(|s| s.first));
    o.maybe("last_boot_ns", span.map(|s| s.last));
    o.maybe("first_wall_ns", span.map(|s| real(s.first)));
    o.maybe("last_wall_ns", span.map(|s| real(s.last)));
}

pub(super) fn site_json(id: u32, found: Option<&Found<'_>>, o: &mut Object<'_>) {
    let site = found.and_then(|f| f.site);
    o.number("site", id);
    o.text("image", found.map(|f| f.image.name.as_str()));
    o.maybe("index", found.map(|f| f.index));
    o.text("level", site.map(|s| level_name(s.level)));
    o.text("module", site.map(|s| s.module.as_str()));
    for (key, text) in site.iter().flat_map(|s| s.place()) {
        o.text(key, text);
    }
    o.text("file", site.map(|s| s.file.as_str()));
    o.maybe("line", site.map(|s| s.line));
    o.text("format", site.map(|s| s.format.as_str()));
}

fn stats_json(
    sums: &Sums,
    streams: &[merge::Stream],
    boots: &[Boot],
    sites: &[Used<'_>],
    out: &mut Vec<u8>,
) {
    for ((of, name), c) in &sums.components {
        let mut o = Object::new(out);
        o.text("type", "component-sum");
        o.text("component", &**name);
        o.number("rings", c.rings);
        span_json(&c.sum, c.span, &boots[*of], &mut o);
        o.maybe("complete_from_boot_ns", c.complete_from);
        o.number("gone", c.gone);
        o.number("lost", c.lost);
        o.end();
        out.push(b'\n');
    }
    for (stream, r) in streams.iter().zip(&sums.rings) {
        let mut o = Object::new(out);
        o.text("type", "ring-sum");
        ring(stream, &stream.last_writer(&r.counts), &mut o);
        span_json(&r.sum, r.span, &boots[stream.file()], &mut o);
        o.maybe("complete_from_boot_ns", r.complete_from);
        counts(&r.counts, &mut o);
        lost(&stream.lost(), &mut o);
        o.end();
        out.push(b'\n');
    }
    for s in sites {
        let mut o = Object::new(out);
        o.text("type", "site-sum");
        site_json(s.id, s.found.as_ref(), &mut o);
        o.number("records", s.sum.records);
        o.number("bytes", s.sum.bytes);
        o.maybe("logged_at_least", s.logged.map(|n| n.0));
        o.maybe("logged_at_most", s.logged.map(|n| n.1));
        o.end();
        out.push(b'\n');
    }
}
