// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The boot and machine of each file, and how times of several boots compare.
//!
//! Files with the same boot id are of one boot, unless `identity.rs` has found that they are of two
//! machines; a file without one is of a boot of its own. Each boot counts its own time, from 0. So
//! if there are several, their order and their distances are those of real time, by the calibration
//! of each. Where the files of a recording have another order ([`order`]), it moves the boots
//! that contradict it; [`doubts`] reports that, and orders that can't be trusted.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use crate::{
    blogfmt::bytes::hex,
    calendar::push_iso8601,
    clock::{Calibration, LogClock},
    error::Error,
    order::{self, Times},
    snapshot::{text, Snapshot},
};

/// A boot of a machine.
#[derive(Clone, Debug)]
pub struct Boot {
    /// Number of its first file, by which boots differ.
    pub index: usize,
    /// Its id in hex, if the file has it.
    pub id: Option<String>,
    /// Name of the machine.
    pub host: String,
    /// Release of its kernel; empty if no file has it.
    pub release: String,
    /// All names that it has in its files, and that the user gives it.
    pub names: Arc<[String]>,
    /// What it is called among others: the machine, and which of its boots if there are several.
    pub name: String,
    /// Converts the clock of its rings, by all files that are of it.
    pub calibration: Arc<Calibration>,
    /// Whether there are others.
    pub is_one_of_several: bool,
    /// Whether there are others of the same machine.
    pub is_one_of_host: bool,
    /// When the last file of all was taken: a time as [`Boot::axis`] has it.
    pub end: i128,
    /// If there are several: how far it is put later than its wall clock says.
    shift: i128,
}

/// As much of a boot's id distinguishes it from the others of its machine.
const SHORT: usize = 8;

impl Boot {
    /// A clock's place on the one axis that all entries share: ns since boot, or since 1970 if
    /// there are several boots.
    pub fn axis(&self, clock: u64) -> i128 {
        match self.is_one_of_several {
            true => self.axis_of_real(self.calibration.real(clock)),
            false => self.calibration.boot(clock),
        }
    }

    /// The place of a time of the wall clock there.
    pub(crate) fn axis_of_real(&self, ns: i128) -> i128 {
        match self.is_one_of_several {
            true => ns + self.shift,
            false => ns - self.calibration.real_of_boot(0),
        }
    }

    /// When its own last file was taken, on that axis.
    pub fn taken(&self) -> Option<i128> {
        let pair = self.calibration.taken()?;
        Some(match self.is_one_of_several {
            true => self.axis_of_real(pair.real.into()),
            false => pair.boot.into(),
        })
    }

    /// The only one.
    #[cfg(test)]
    pub(crate) fn alone(host: &str, calibration: Calibration) -> Self {
        Self {
            index: 0,
            id: Some("b007".into()),
            host: host.into(),
            release: String::new(),
            names: [host.into()].into(),
            name: host.into(),
            calibration: calibration.into(),
            is_one_of_several: false,
            is_one_of_host: false,
            end: 0,
            shift: 0,
        }
    }

    /// The same boot for a log with another clock.
    pub fn of_log(&self, clock: LogClock) -> Self {
        Self { calibration: self.calibration.of_log(clock).into(), ..self.clone() }
    }

    /// A boot of the same machine, of which nothing else is known.
    pub fn unknown(&self) -> Self {
        Self {
            index: usize::MAX,
            id: None,
            calibration: Calibration::new(None, &[]).into(),
            name: format!("{}/unknown", self.host),
            is_one_of_host: true,
            ..self.clone()
        }
    }
}

/// The number of the first file of the same boot, for each file.
pub fn same(files: &[Snapshot]) -> Vec<usize> {
    let mut first = HashMap::new();
    let boot = |(i, file): (usize, &Snapshot)| match file.boot_id() {
        Some(id) => *first.entry((id, file.copy)).or_insert(i),
        None => i,
    };
    files.iter().enumerate().map(boot).collect()
}

/// What a machine is called: as the user has it, or as it was called last.
fn host<'a>(files: &[&'a Snapshot]) -> &'a str {
    let named = files.iter().max_by_key(|f| (f.given, !f.host.is_empty(), taken(f)));
    named.map_or("", |f| &f.host)
}

fn names(files: &[&Snapshot]) -> Arc<[String]> {
    let of_system = |f: &&Snapshot| f.system.map(|s| text(&s.host));
    let given = files.iter().map(|f| f.host.clone());
    let mut all: Vec<String> = files.iter().filter_map(of_system).chain(given).collect();
    all.sort_unstable();
    all.dedup();
    all.into()
}

fn taken(file: &Snapshot) -> Option<u64> {
    file.last_pair().map(|p| p.boot)
}

/// The boot of each file.
pub fn from_files(files: &[Snapshot]) -> Vec<Boot> {
    let same = same(files);
    let is_one_of_several = same.iter().any(|&index| index != 0);
    let mut members = HashMap::<usize, Vec<&Snapshot>>::new();
    for (file, &index) in files.iter().zip(&same) {
        members.entry(index).or_default().push(file);
    }
    // What takes long, or memory, is done once for each boot, whatever the number of its files.
    let of_each = members.iter().map(|(&index, all)| {
        let calibration = Arc::new(calibration(all));
        (index, (host(all), names(all), release(all), calibration))
    });
    let known: HashMap<_, _> = of_each.collect();
    let mut hosts = HashMap::<&str, usize>::new();
    for (host, ..) in known.values() {
        *hosts.entry(host).or_default() += 1;
    }
    let shifts = match is_one_of_several {
        true => shifts(files, &same, |index| times(&known[&index].3)),
        false => HashMap::new(),
    };
    let boot = |&index: &usize| {
        let (host, names, release, calibration) = &known[&index];
        let host = (*host).to_owned();
        let is_one_of_host = hosts.get(host.as_str()).is_some_and(|n| *n > 1);
        // Machines that have it in common get different numbers.
        let copy = match files[index].copy {
            0 => String::new(),
            n => format!("-{}", n + 1),
        };
        let id = files[index].boot_id().map(|id| hex(&id));
        let name = match (is_one_of_host, &id) {
            (false, _) => host.clone(),
            (true, Some(id)) => format!("{host}/{}{copy}", &id[..SHORT.min(id.len())]),
            (true, None) => format!("{host}/{index}"),
        };
        Boot {
            index,
            id: id.map(|id| id + &copy),
            host,
            release: release.clone(),
            names: names.clone(),
            name,
            calibration: calibration.clone(),
            is_one_of_several,
            is_one_of_host,
            end: 0,
            shift: shifts.get(&index).copied().unwrap_or(0),
        }
    };
    let mut all: Vec<_> = same.iter().map(boot).collect();
    let end = all.iter().filter_map(Boot::taken).max().unwrap_or(0);
    all.iter_mut().for_each(|boot| boot.end = end);
    all
}

fn release(files: &[&Snapshot]) -> String {
    let all = files.iter().filter_map(|file| Some(text(&file.system?.release)));
    all.into_iter().find(|release| !release.is_empty()).unwrap_or_default()
}

/// When a boot was, by its wall clock.
fn times(calibration: &Calibration) -> Option<Times> {
    let end = calibration.taken()?.real.into();
    Some(Times { start: calibration.real_of_boot(0).min(end), end })
}

/// How far boots are put later so that they are in the order of a recording's files.
fn shifts(
    files: &[Snapshot],
    same: &[usize],
    times: impl Fn(usize) -> Option<Times>,
) -> HashMap<usize, i128> {
    let mut recordings = BTreeMap::<_, Vec<(u64, usize)>>::new();
    for (file, &index) in files.iter().zip(same) {
        if let Some((dir, number)) = order::recorded(&file.name) {
            recordings.entry(dir).or_default().push((number, index));
        }
    }
    let mut all = HashMap::new();
    for mut files in recordings.into_values() {
        files.sort_unstable();
        let mut known = HashSet::new();
        let boots = files.iter().map(|(_, index)| *index);
        let boots = boots.filter(|index| known.insert(*index));
        let (boots, times): (Vec<_>, Vec<_>) =
            boots.filter_map(|index| Some((index, times(index)?))).unzip();
        let shifts = order::shifts(&times, order::now());
        // Where two recordings disagree on one, which nobody can settle, the first one counts.
        for (index, shift) in boots.into_iter().zip(shifts) {
            all.entry(index).or_insert(shift);
        }
    }
    all
}

/// Says which wall clocks can't be right, and what follows from that for the order of boots: the
/// first boot of each kind, and how many more there are.
pub fn doubts(files: &[Snapshot], boots: &[Boot]) -> Vec<String> {
    let now = order::now();
    let (mut moved, mut wrong, mut at_once) = (Vec::new(), Vec::new(), Vec::new());
    let mut hosts = BTreeMap::<_, Vec<_>>::new();
    let each = boots.iter().enumerate();
    let several = each.filter(|(file, boot)| boot.is_one_of_several && *file == boot.index);
    for (file, boot) in several {
        let Some(times) = times(&boot.calibration) else {
            continue;
        };
        let name = &files[file].name;
        match order::implausible(times.end, now) {
            _ if boot.shift != 0 => moved.push((name, times.end, boot.shift)),
            Some(why) => wrong.push((name, times.end, why)),
            None => {
                let of = hosts.entry(&boot.host).or_default();
                of.push((times.start, times.end, name, files[file].boot_id()));
            }
        }
    }
    for mut of in hosts.into_values() {
        of.sort_unstable();
        let mut last: Option<(i128, &String, _)> = None;
        for (start, end, name, id) in of {
            // Two machines that were started from one saved state are reported otherwise.
            let is_copy = |other| id.is_some() && id == other;
            let before = last.filter(|(end, _, other)| start < *end && !is_copy(*other));
            at_once.extend(before.map(|(_, other, _)| (name, other)));
            last = last.max(Some((end, name, id)));
        }
    }
    let mut notes = Vec::new();
    if let Some((name, end, shift)) = moved.first() {
        notes.push(format!(
            "{name}: by its wall clock, its boot lasted until {}, which contradicts the order of \
             the recording's files: it counts as {} s {}{}",
            date(*end),
            shift.abs() / 1_000_000_000,
            if *shift > 0 { "later" } else { "earlier" },
            more(moved.len())
        ));
    }
    if let Some((name, end, why)) = wrong.first() {
        notes.push(format!(
            "{name}: by its wall clock, its boot lasted until {}, {why}: {UNSURE}{}",
            date(*end),
            more(wrong.len())
        ));
    }
    if let Some((name, other)) = at_once.first() {
        notes.push(format!(
            "{name}, {other}: by their wall clocks, these two boots of one machine ran at once: \
             {UNSURE}; if they are of two machines, --host tells them apart{}",
            more(at_once.len())
        ));
    }
    notes
}

fn date(ns: i128) -> String {
    let mut date = Vec::new();
    push_iso8601(&mut date, ns, 0, false);
    String::from_utf8_lossy(&date).into_owned()
}

/// The words for boots that a note doesn't name.
fn more(count: usize) -> String {
    match count {
        1 => String::new(),
        n => format!(" (and {} more)", n - 1),
    }
}

/// What follows where no better evidence than a wall clock is there.
const UNSURE: &str =
    "the order of boots, and times before the end of the last one, can't be trusted";

/// What all files of a boot say of its clock. The latest one has its kind: a file may end
/// before the clock breaks.
fn calibration(files: &[&Snapshot]) -> Calibration {
    let clocks = files.iter().filter(|f| f.clock.is_some());
    let latest = clocks.max_by_key(|f| taken(f));
    let pairs: Vec<_> = files.iter().flat_map(|f| &f.pairs).copied().collect();
    Calibration::new(latest.and_then(|f| f.clock.as_ref()), &pairs)
}

/// A boot that a user has named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BootPattern {
    /// So many before the last one of each machine.
    Back(usize),
    /// By the start of its id.
    Id(String),
}

impl BootPattern {
    /// Reads `0`, `-1` or the start of an id.
    pub fn parse(s: &str) -> Result<Self, Error> {
        let back = s.strip_prefix('-').unwrap_or(s);
        match back.parse() {
            Ok(n) if s == "0" || back != s => Ok(Self::Back(n)),
            _ if s.len() >= SHORT_MIN && s.bytes().all(|b| b.is_ascii_hexdigit()) => {
                Ok(Self::Id(s.to_ascii_lowercase()))
            }
            _ => Err(Error::Syntax(
                "not 0, -1, -2, or the start of a boot's id (4 digits or more)".into(),
            )),
        }
    }

    /// The indices of the boots that it is, of all machines, in order; the error says which ones
    /// there are.
    pub fn find(&self, boots: &[Boot]) -> Result<Vec<usize>, Error> {
        let mut hosts: BTreeMap<&str, Vec<&Boot>> = BTreeMap::new();
        let first = boots.iter().enumerate();
        for (_, boot) in first.filter(|(file, boot)| *file == boot.index) {
            hosts.entry(&boot.host).or_default().push(boot);
        }
        hosts.values_mut().for_each(|of| of.sort_by_key(|b| b.taken()));
        let is_it = |(back, boot): &(usize, &&Boot)| match self {
            Self::Back(n) => back == n,
            Self::Id(start) => boot.id.as_deref().is_some_and(|id| id.starts_with(start)),
        };
        let all = || hosts.values().flat_map(|of| of.iter().rev().enumerate());
        let mut found: Vec<usize> = all().filter(is_it).map(|(_, boot)| boot.index).collect();
        found.sort_unstable();
        if found.is_empty() {
            let name = |(back, boot): (usize, &&Boot)| {
                let id = boot.id.as_deref().unwrap_or("without an id");
                let sign = if back == 0 { "" } else { "-" };
                format!("boot {sign}{back} of {} ({id})", boot.host)
            };
            let names: Vec<String> = all().map(name).collect();
            return Err(Error::Syntax(format!("no such boot, only {}", names.join(", "))));
        }
        Ok(found)
    }
}

/// As much of an id is needed to name a boot.
const SHORT_MIN: usize = 4;

/// How wide the names of boots are, if there are several.
pub fn width(boots: &[Boot]) -> Option<usize> {
    let widths = boots.iter().filter(|b| b.is_one_of_several);
    widths.map(|b| b.name.chars().count()).max()
}
