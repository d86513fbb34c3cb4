// SPDX-License-Identifier: GPL-2.0

//! Adds up: for each component, and for each ring of a task, every record that was attempted is
//! decoded, overwritten, or counted as lost.
//!
//! Sequence numbers are taken exactly when a call logs. So in a snapshot that was made when nobody
//! logged any more,
//!
//! ```text
//! attempted = taken by rings that are there + taken by rings that are gone + counted as lost
//! ```
//!
//! holds for each component, with no tolerance. That a file adds up by itself is checked as
//! `blog-decode check` does it; decoded records are checked one by one, and none may be there twice.
//! A ring with a single writer must add up alone.

use std::collections::HashMap;

use blog_answers::check::check;
use blog_decode_core::merge::{unite, Stream};
use blog_file::snapshot::Snapshot;
use blog_wire::record::{Context, Lost, LOST_CAUSES};

use crate::{
    pages::balance,
    report::Report,
    truth::Truth,
    walk::{name, walk, Against, Content, Forms, Gap, Run},
};

/// What the caller knows of the run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Components of which something was cleared, so that sums can't be known.
    pub cleared: Vec<String>,
    /// Whether budgets of rings were changed meanwhile.
    pub flipped: bool,
    /// Components that must be whole: everything decoded.
    pub whole: Vec<String>,
    /// Components whose full rings must have so many pages, less one, in each snapshot.
    pub history: Vec<(String, u64)>,
    /// Kinds of writers of which there must be records.
    pub kinds: Vec<String>,
}

struct Ring<'a> {
    stream: &'a Stream,
    content: Content,
}

impl Ring<'_> {
    fn taken(&self) -> u64 {
        self.stream.ring().map_or(self.content.end, |r| r.records)
    }

    fn lost(&self) -> u64 {
        sum(&self.stream.lost())
    }

    /// Taken, but not there any more.
    fn unseen(&self) -> u64 {
        self.taken().saturating_sub(self.content.decoded)
    }

    fn context(&self) -> Option<Context> {
        self.stream.context()
    }
}

fn sum(counters: &[u64; LOST_CAUSES]) -> u64 {
    counters.iter().sum()
}

/// Sums over all components.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Records that were attempted.
    pub attempted: u64,
    /// Records that were decoded and checked, in all snapshots.
    pub decoded: u64,
    /// Records that were taken and are not there any more.
    pub overwritten: u64,
    /// Records that were counted as lost.
    pub lost: u64,
}

fn wanted(component: &str) -> bool {
    component == "torture" || component.starts_with("torture_") || component.starts_with("torture.")
}

/// Finds the module's calls in each file, by side tables.
pub fn forms(files: &[Snapshot], tables: &[std::path::PathBuf], report: &mut Report) -> Vec<Forms> {
    use blog_decode_core::sidetable::{SiteMap, Tables};
    let found = {
        let images = files.iter().flat_map(|f| &f.images);
        let own = files.iter().flat_map(|f| &f.tables);
        Tables::load(images, own, tables, &[], None)
    };
    for problem in found.problems.iter().filter(|p| p.grave) {
        report.fail("side table", || problem.text.clone());
    }
    let map = |file: &Snapshot| Forms::new(file, &SiteMap::new(&file.images, &found));
    files.iter().map(map).collect()
}

/// Holds a run's snapshots against what was logged. The last file is the one that was made when
/// nobody logged any more; `forms` are the sites of each.
pub fn verify(
    files: &[Snapshot],
    forms: &[Forms],
    truth: &Truth,
    options: &Options,
    report: &mut Report,
) -> Totals {
    if truth.unfinished {
        report.fail("run", || "it was not over when the module was asked".into());
    }
    for (n, file) in (1..).zip(files) {
        // When the last one was made, nobody logged.
        for found in check(file, n == files.len()).found {
            report.fail("contradiction", || format!("{}: {found}", file.name));
        }
    }
    let Some((last, before)) = files.split_last() else {
        report.fail("run", || "there is no snapshot".into());
        return Totals::default();
    };
    history(files, options, report);

    let mut totals = Totals::default();
    let mut quiet = Report::default();
    let against =
        Against { files: std::slice::from_ref(last), forms: &forms[before.len()..], truth };
    let streams = unite(against.files, wanted);
    // What is found here is found again below, if there are other files.
    let to = if before.is_empty() { &mut *report } else { &mut quiet };
    let mut components: HashMap<&str, Vec<Ring<'_>>> = HashMap::new();
    for (i, stream) in streams.iter().enumerate() {
        let content = walk(&against, stream, i, to);
        components.entry(&stream.component).or_default().push(Ring { stream, content });
    }
    let mut names: Vec<&str> = last
        .components
        .values()
        .filter_map(|c| truth.attempted.get_key_value(&last.component_name(c.id)))
        .map(|(name, _)| name.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    for component in truth.attempted.keys() {
        if !names.contains(&component.as_str()) && truth.total(component) != Some(0) {
            report.fail("component is missing", || component.clone());
        }
    }
    for component in names {
        let rings = components.remove(component).unwrap_or_default();
        let part = account(component, &rings, &streams, last, truth, options, report);
        totals.attempted += part.attempted;
        totals.decoded += part.decoded;
        totals.overwritten += part.overwritten;
        totals.lost += part.lost;
    }

    if !before.is_empty() {
        // All files together: more of what was overwritten later is there.
        totals.decoded = all_files(&Against { files, forms, truth }, report);
    }
    for kind in &options.kinds {
        // Where knobs were turned, all that a kind has logged may be overwritten by now.
        let logged = options.flipped && truth.logged_by(kind);
        if !report.kinds.contains_key(kind) && !logged {
            report.fail("kind of writer", || format!("no record of {kind} was decoded"));
        }
    }
    totals
}

/// Records of all files, each once: contents, order, duplicates.
fn all_files(against: &Against<'_>, report: &mut Report) -> u64 {
    let streams = unite(against.files, wanted);
    let mut decoded = 0;
    let mut runs: HashMap<(&str, u32), Vec<Run>> = HashMap::new();
    for (i, stream) in streams.iter().enumerate() {
        let content = walk(against, stream, i, report);
        decoded += content.decoded;
        for (writer, more) in content.runs {
            runs.entry((&stream.component, writer)).or_default().extend(more);
        }
    }
    for ((component, writer), runs) in &mut runs {
        sort(component, *writer, runs, &streams, against.truth, report);
    }
    decoded
}

/// Sorts a writer's runs, and looks for duplicates and for records that never were.
fn sort(
    component: &str,
    writer: u32,
    runs: &mut [Run],
    streams: &[Stream],
    truth: &Truth,
    report: &mut Report,
) {
    runs.sort_unstable_by_key(|run| (run.start, run.end));
    for pair in runs.windows(2) {
        let [a, b] = pair else { continue };
        if b.start < a.end {
            report.fail("duplicate", || {
                format!(
                    "writer {writer} has {} to {} in {}, page {}, and in {}, page {}",
                    b.start,
                    a.end.min(b.end) - 1,
                    name(&streams[a.ring]),
                    a.page,
                    name(&streams[b.ring]),
                    b.page,
                )
            });
        }
    }
    let end = runs.iter().map(|run| run.end).max().unwrap_or(0);
    if let Some(attempted) = truth.of(component, writer) {
        if end > attempted {
            report.fail("more than was logged", || {
                format!("{component}: writer {writer} has {}, of {attempted} records", end - 1)
            });
        }
    }
}

/// Accounts for one component in the last snapshot.
fn account(
    component: &str,
    rings: &[Ring<'_>],
    streams: &[Stream],
    file: &Snapshot,
    truth: &Truth,
    options: &Options,
    report: &mut Report,
) -> Totals {
    let section = file.components.values().find(|c| file.component_name(c.id) == component);
    let cleared = options.cleared.iter().any(|name| name == component);
    let mut runs: HashMap<u32, Vec<Run>> = HashMap::new();
    for ring in rings {
        for (writer, more) in &ring.content.runs {
            runs.entry(*writer).or_default().extend(more);
        }
    }
    for (writer, runs) in &mut runs {
        sort(component, *writer, runs, streams, truth, report);
    }

    let (gone, loose) = section.map_or((0, 0), |c| (c.gone_records, sum(&c.lost)));
    let lost: u64 = rings.iter().map(Ring::lost).sum::<u64>() + loose;
    let taken: u64 = rings.iter().map(Ring::taken).sum::<u64>() + gone;
    let decoded: u64 = rings.iter().map(|r| r.content.decoded).sum();
    let Some(attempted) = truth.total(component) else {
        return Totals::default();
    };
    let bytes: u64 = rings.iter().map(|r| r.content.bytes).sum();
    report.say(format!(
        "{component}: {attempted} attempted = {decoded} decoded + {} overwritten + {lost} lost{}; \
         {} rings, {} KiB{}",
        taken.saturating_sub(decoded),
        causes(rings, section.map(|c| c.lost)),
        rings.len(),
        bytes.div_ceil(1024),
        if cleared { " (cleared meanwhile)" } else { "" },
    ));

    for (ring, c) in rings.iter().zip(section.into_iter().cycle()) {
        within_budget(ring, (c.ring_kb, c.size_kb), options, report);
    }
    if let Some(c) = section.filter(|c| bytes > u64::from(c.size_kb) * 1024) {
        report.fail("over budget", || format!("{component}: {bytes} bytes of {} KiB", c.size_kb));
    }
    if cleared {
        // Whatever is missing may have been cleared. But nothing comes from nowhere.
        if decoded > attempted {
            report.fail("more than was logged", || format!("{component}: {decoded} records"));
        }
    } else {
        if let Err(kind) = balance(attempted, taken, lost) {
            report.fail(kind, || {
                format!("{component}: {attempted} attempted, {taken} taken + {lost} lost")
            });
        }
        // What rings of tasks that are gone, and of those who share one, may hide.
        let slack = gone
            + loose
            + rings
                .iter()
                .filter(|r| r.context() == Some(Context::Shared))
                .map(|r| r.unseen() + r.lost())
                .sum::<u64>();
        alone(component, rings, &runs, slack, truth, report);
        gaps(rings, &runs, slack, truth, report);
    }
    if options.whole.iter().any(|name| name == component) && decoded != attempted {
        report.fail("not whole", || format!("{component}: {decoded} of {attempted} records"));
    }
    Totals { attempted, decoded, overwritten: taken.saturating_sub(decoded), lost }
}

/// Losses by cause, for people.
fn causes(rings: &[Ring<'_>], loose: Option<[u64; LOST_CAUSES]>) -> String {
    let mut all = loose.unwrap_or_default();
    for ring in rings.iter().filter_map(|r| r.stream.ring()) {
        for (to, n) in all.iter_mut().zip(ring.lost()) {
            *to += n;
        }
    }
    let named = Lost::ALL.iter().zip(all).filter(|(_, n)| *n != 0);
    let named: Vec<String> = named.map(|(cause, n)| format!("{} {n}", cause.name())).collect();
    match named.len() {
        0 => String::new(),
        _ => format!(" ({})", named.join(", ")),
    }
}

/// Bytes of a ring's own page, which it has besides.
const ROOM: u64 = 312;

/// A ring holds no more than it may.
fn within_budget(
    ring: &Ring<'_>,
    (ring_kb, size_kb): (u32, u32),
    options: &Options,
    report: &mut Report,
) {
    // A shared ring stands in for many: it may hold its part of a quarter of the component's
    // budget if that is more.
    let most_kb = match ring.context() {
        Some(Context::Shared) => ring_kb.max(size_kb / 4),
        _ => ring_kb,
    };
    let bytes = ring.content.bytes;
    if !options.flipped && bytes > u64::from(most_kb) * 1024 + ROOM {
        report.fail("over budget", || {
            format!("{}: {bytes} bytes of {most_kb} KiB", name(ring.stream))
        });
    }
}

/// Rings that only one writer writes to, but for shared ones: they hold up alone.
fn alone(
    component: &str,
    rings: &[Ring<'_>],
    runs: &HashMap<u32, Vec<Run>>,
    slack: u64,
    truth: &Truth,
    report: &mut Report,
) {
    // Kprobes log to whatever ring they interrupt.
    let has_probes = |ring: &Ring<'_>| {
        ring.content.runs.keys().any(|w| truth.writers.get(w).is_none_or(|w| !w.is_task()))
    };
    let mut by_pid: HashMap<i32, Vec<u32>> = HashMap::new();
    for writer in truth.attempted.get(component).into_iter().flat_map(|all| all.keys()) {
        if let Some(known) = truth.writers.get(writer).filter(|w| w.is_task()) {
            by_pid.entry(known.pid).or_default().push(*writer);
        }
    }
    let nested = truth.attempted.get(component).is_some_and(|all| {
        all.keys().any(|w| {
            truth.writers.get(w).is_some_and(|w| {
                !w.is_task() && !matches!(w.kind.as_str(), "timer" | "tasklet" | "hrtimer" | "nmi")
            })
        })
    });
    for ring in rings.iter().filter(|r| r.context() == Some(Context::Task)) {
        let pid = ring.stream.ring().map_or(-1, |r| r.pid);
        let Some([writer]) = by_pid.get(&pid).map(Vec::as_slice) else {
            continue;
        };
        if has_probes(ring) {
            continue;
        }
        let Some(attempted) = truth.of(component, *writer) else {
            continue;
        };
        let here = ring.content.runs.get(writer).map_or(0, |runs| length(runs));
        let all = runs.get(writer).map_or(0, |runs| length(runs));
        let missing = u64::from(attempted).saturating_sub(all);
        let explained = ring.unseen() + ring.lost();
        let place = || {
            format!(
                "{}: {attempted} attempted, {here} decoded here and {} in others, {} overwritten, \
                 {} lost",
                name(ring.stream),
                all - here,
                ring.unseen(),
                ring.lost()
            )
        };
        if missing > explained + slack {
            report.fail("silent loss", place);
        } else if slack == 0 && !nested && missing < explained {
            report.fail("counted twice", place);
        }
    }
}

fn length(runs: &[Run]) -> u64 {
    runs.iter().map(|run| u64::from(run.end.wrapping_sub(run.start))).sum()
}

/// Numbers of a gap that no other ring has.
fn missing(gap: &Gap, runs: &[Run]) -> u64 {
    // Runs are sorted by their start.
    let from = runs.partition_point(|run| run.end <= gap.from);
    let covered: u64 = runs[from..]
        .iter()
        .take_while(|run| run.start < gap.to)
        .map(|run| u64::from(run.end.min(gap.to) - run.start.max(gap.from)))
        .sum();
    u64::from(gap.to - gap.from).saturating_sub(covered)
}

/// Between two records of a ring, numbers may be missing only if they were counted as lost, or are
/// in another ring.
fn gaps(
    rings: &[Ring<'_>],
    runs: &HashMap<u32, Vec<Run>>,
    slack: u64,
    truth: &Truth,
    report: &mut Report,
) {
    // Who is no task may have written to rings of several CPUs, and be overwritten there.
    let elsewhere: u64 = rings
        .iter()
        .filter(|r| r.context() != Some(Context::Task))
        .map(|r| r.unseen() + r.lost())
        .sum();
    for ring in rings.iter().filter(|r| r.context() != Some(Context::Shared)) {
        let mut sum = 0;
        let allowed = |writer: u32| {
            let is_task = truth.writers.get(&writer).is_some_and(|w| w.is_task());
            ring.lost() + slack + if is_task { 0 } else { elsewhere }
        };
        for gap in &ring.content.gaps {
            let is_probe = truth.writers.get(&gap.writer).is_none_or(|w| {
                !w.is_task() && !matches!(w.kind.as_str(), "timer" | "tasklet" | "hrtimer" | "nmi")
            });
            if is_probe {
                // In any ring of any task.
                continue;
            }
            let Some(runs) = runs.get(&gap.writer) else {
                continue;
            };
            sum += missing(gap, runs);
            if sum > allowed(gap.writer) {
                report.fail("gap", || {
                    format!(
                        "{}, page {}: writer {} has no {} to {}, and {} losses were counted",
                        name(ring.stream),
                        gap.page,
                        gap.writer,
                        gap.from,
                        gap.to - 1,
                        ring.lost()
                    )
                });
                break;
            }
        }
    }
}

/// A full ring of N pages has the newest N - 1 at least, in every snapshot.
fn history(files: &[Snapshot], options: &Options, report: &mut Report) {
    for (component, pages) in &options.history {
        let (mut full, mut least) = (0, u64::MAX);
        for file in files {
            let one = std::slice::from_ref(file);
            for stream in unite(one, |name| name == component) {
                let there: Vec<_> = stream.pages(one).map(|(_, page)| page).collect();
                // A ring that has overwritten nothing has all of its history.
                if there.first().is_none_or(|page| page.first == 0) {
                    continue;
                }
                let mut kept = 1;
                for pair in there.windows(2).rev() {
                    let [a, b] = pair else { break };
                    if a.first + u64::from(a.records) != b.first {
                        break;
                    }
                    kept += 1;
                }
                full += 1;
                least = least.min(kept);
                if kept + 1 < *pages {
                    report.fail("history", || {
                        format!("{}: {} has {kept} of {pages} pages", file.name, name(&stream))
                    });
                }
            }
        }
        if full == 0 {
            report.fail("history", || format!("{component}: no ring was ever full"));
        } else {
            report.say(format!(
                "{component}: {full} looks at full rings of {pages} pages, {least} newest pages at least"
            ));
        }
    }
}
