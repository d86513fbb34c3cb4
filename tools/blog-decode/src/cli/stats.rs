// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! `stats`: records, bytes and time by component, ring and site, to standard output; or what
//! [`count`] counts.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    args::Stats,
    count::{count, short},
    input::Input,
    progress::{Progress, Unit},
    report::{complain, print_all, Failure, Status},
    session::{tell_left_out, tell_none},
};
use crate::{
    accounts::{add_lost, counts, lost, lost_of, lost_sum, of_ring, ring_name},
    boot::Boot,
    filter::is_component,
    merge::{self, Stream},
    output::{
        json::{boot as boot_json, ring, Object},
        level_name,
    },
    sidetable::Found,
    snapshot::{text, Losses},
    sums::{logged, ComponentSum, RingSum, Sum, Sums, TimeRange},
    table::Table,
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
        print(args, &input, &streams, &sums, &sites, out);
        Ok(())
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

fn rate(sum: &Sum, span: Option<TimeRange>) -> Option<f64> {
    let seconds = span?.seconds();
    (seconds > 0.0).then(|| sum.records as f64 / seconds)
}

/// For how many seconds back nothing is missing.
fn complete(of: &ComponentSum, from: Option<i128>) -> String {
    from.map_or("all".into(), |from| short(of.back(from)))
}

/// What a component or a ring holds, and its component.
struct SumRow<'a> {
    sum: Sum,
    span: Option<TimeRange>,
    complete_from: Option<i128>,
    boot: &'a Boot,
    component: &'a ComponentSum,
}

/// Adds columns about that.
fn with_sums<'a, R: 'a>(
    table: Table<'a, R>,
    get: impl Fn(&R) -> SumRow<'a> + Copy + 'a,
) -> Table<'a, R> {
    table
        .column("records", 8, move |row| get(row).sum.records.to_string())
        .column("bytes", 5, move |row| short(get(row).sum.bytes as f64))
        .column("rate/s", 6, move |row| {
            let row = get(row);
            rate(&row.sum, row.span).map_or("-".into(), short)
        })
        .column("span s", 6, move |row| get(row).span.map_or("-".into(), |s| short(s.seconds())))
        .column("complete s", 10, move |row| complete(get(row).component, get(row).complete_from))
        .json(move |row, o| span_json(&get(row), o))
}

fn print(
    args: &Stats,
    input: &Input,
    streams: &[Stream],
    sums: &Sums,
    sites: &[Used<'_>],
    out: &mut Vec<u8>,
) {
    let boots = &input.boots;
    let table = Table::new("component")
        .host(boots, |((of, _), _): &(&(usize, Arc<str>), &ComponentSum)| &boots[*of])
        .column("component", -13, |((_, name), _)| name.escape_default().to_string())
        .json(|((_, name), _), o| o.text("component", &**name))
        .number("rings", 5, |(_, c)| c.rings);
    let table = with_sums(table, |((of, _), c)| SumRow {
        sum: c.sum,
        span: c.span,
        complete_from: c.complete_from,
        boot: &boots[*of],
        component: c,
    });
    let table = table
        .column("gone", 9, |(_, c)| c.counts.gone().to_string())
        .column("lost", 6, |(_, c)| lost_sum(&c.lost).to_string())
        .json(|((of, name), c), o| {
            counts(&c.counts, o);
            let (mut all, mut gone) = (c.lost, 0);
            for (records, lost) in ringless(input, *of, name) {
                add_lost(&mut all, lost);
                gone += records;
            }
            o.number("gone", gone);
            lost(&all, o);
        });
    table.print(&sums.components, args.json, out);
    if !args.json {
        print_ended(input, args.filters.components(), out);
        out.push(b'\n');
    }

    let table = Table::new("ring")
        .host(boots, |(stream, _): &(&Stream, &RingSum)| &boots[stream.file()])
        .column("component", -9, |(stream, _)| stream.component.escape_default().to_string())
        .column("ring", -16, |(stream, r)| ring_name(stream, &r.counts))
        .json(|(stream, r), o| ring(stream, &stream.last_writer(&r.counts), o));
    let table = with_sums(table, |(stream, r)| {
        let boot = &boots[stream.file()];
        SumRow {
            sum: r.sum,
            span: r.span,
            complete_from: r.complete_from,
            boot,
            component: &sums.components[&(boot.index, stream.component.clone())],
        }
    });
    let table = table
        .column("gone", 7, |(_, r)| r.counts.gone().to_string())
        .column("lost", 4, |(stream, _)| stream.lost_sum().to_string())
        .json(|(stream, r), o| of_ring(stream, &r.counts, o));
    table.print(streams.iter().zip(&sums.rings), args.json, out);

    let all = sites.iter().fold(0, |sum, s| sum + s.sum.records);
    let percent = |s: &Used<'_>| s.sum.records as f64 * 100.0 / all.max(1) as f64;
    let mut table = Table::new("site");
    // Where no site has it, there is no such column.
    if sites.iter().any(|s| s.logged.is_some()) {
        table = table.column("since boot", 11, |s: &&Used<'_>| s.logged());
    }
    let table = table
        .json(|s, o| site_json(s.id, s.found.as_ref(), o))
        .number("records", 8, |s| s.sum.records)
        .column("%", 5, |s| format!("{:.1}", percent(s)))
        .column("bytes", 5, |s| short(s.sum.bytes as f64))
        .column("level", -5, |s| describe(s.id, s.found.as_ref()).0.into())
        .column("site", 0, |s| describe(s.id, s.found.as_ref()).1)
        .json(|s, o| {
            o.number("bytes", s.sum.bytes);
            o.maybe("logged_at_least", s.logged.map(|n| n.0));
            o.maybe("logged_at_most", s.logged.map(|n| n.1));
        });
    if !args.json {
        out.push(b'\n');
    }
    table.print(sites, args.json, out);
}

/// Records of a component that no ring has any more, and lost ones that none had, in each file.
fn ringless<'a>(
    input: &'a Input,
    boot: usize,
    name: &'a str,
) -> impl Iterator<Item = (u64, &'a Losses)> {
    let files = input.files.iter().zip(&input.boots).filter(move |(_, of)| of.index == boot);
    let all = files.flat_map(|(file, _)| file.components.values());
    all.filter(move |c| text(&c.name) == name).map(|c| (c.gone_records, &c.lost))
}

/// Lines about what is gone that no ring has.
fn print_ended(input: &Input, components: &[String], out: &mut Vec<u8>) {
    let table = Table::new("").host(&input.boots, |(boot, _): &(&Boot, String)| boot).column(
        "",
        0,
        |(_, line)| line.clone(),
    );
    for (file, of) in input.files.iter().zip(&input.boots) {
        for c in file.components.values() {
            let lost: Vec<String> = lost_of(&c.lost).map(|(k, n)| format!("{k}={n}")).collect();
            let (name, lost) = (text(&c.name), lost.join(" "));
            if c.gone_records == 0 && lost.is_empty() || !is_component(&name, components) {
                continue;
            }
            let line = format!(
                "{}: {} records of ended tasks are gone, lost without a ring: {}",
                name.escape_default(),
                c.gone_records,
                if lost.is_empty() { "none" } else { &lost }
            );
            table.row(&(of, line), false, out);
        }
    }
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

fn span_json(row: &SumRow<'_>, o: &mut Object<'_>) {
    let SumRow { sum, span, boot, .. } = row;
    let real = |ns| boot.calibration.real_of_boot(ns);
    boot_json(boot, o);
    o.number("records", sum.records);
    o.number("bytes", sum.bytes);
    o.maybe("first_boot_ns", span.map(|s| s.first));
    o.maybe("last_boot_ns", span.map(|s| s.last));
    o.maybe("first_wall_ns", span.map(|s| real(s.first)));
    o.maybe("last_wall_ns", span.map(|s| real(s.last)));
    o.maybe("complete_from_boot_ns", row.complete_from);
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
