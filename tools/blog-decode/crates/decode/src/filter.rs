// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The filters of the command line; a record must pass all of them.
//!
//! Filters that need no message come first. Losses have no level, site or message: they pass if the
//! lost records may have been among the selected ones.

use regex::bytes::Regex;

use crate::{
    blogfmt::bytes::until_nul,
    boot::Boot,
    decode::Entry,
    error::Error,
    expr::Expr,
    field::{has_argument, Selector},
    foreign::Line,
    merge::{Event, EventKind, Stream},
    record::{Task, Writer},
    sidetable::{Found, Site},
    wire::record::Context,
};

/// Which records are wanted. The default is all.
#[derive(Default)]
pub struct Filter {
    /// Names of components; empty is all.
    pub components: Vec<String>,
    /// The least important level that is shown.
    pub level: Option<u8>,
    /// Call sites; empty is all.
    pub sites: Vec<SitePattern>,
    /// Thread or process ids; empty is all.
    pub pids: Vec<i32>,
    /// Names of tasks, `*` matches anything; empty is all.
    pub comms: Vec<String>,
    /// CPUs of interrupts, first and last; empty is all.
    pub cpus: Vec<(u32, u32)>,
    /// Contexts; empty is all.
    pub contexts: Vec<Context>,
    /// Earliest time.
    pub since: Option<Instant>,
    /// Latest time.
    pub until: Option<Instant>,
    /// What must be true of the record.
    pub expr: Option<Expr>,
    /// What the message must match.
    pub grep: Option<Regex>,
    /// Whether it must not match instead.
    pub invert: bool,
    /// Boots, by their index, in its order; `None` is all.
    pub boots: Option<Vec<usize>>,
    /// Whether records that `expr` or `grep` refuse are wanted too, as context of others.
    pub with_context: bool,
    /// Whether there is an entry where records were left out of the file, too.
    pub with_left_out: bool,
}

/// A time that a user has named, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instant {
    /// Since boot.
    Boot(i128),
    /// Since 1970.
    Real(i128),
    /// Before the last snapshot was taken.
    BeforeEnd(i128),
}

impl Instant {
    /// Its place on the axis of a boot's entries.
    pub fn on(self, boot: &Boot) -> i128 {
        let real_at_boot = boot.calibration.real_of_boot(0);
        match (self, boot.is_one_of_several) {
            (Self::Boot(ns), true) => boot.axis_of_real(ns + real_at_boot),
            (Self::Boot(ns), false) => ns,
            (Self::Real(ns), _) => boot.axis_of_real(ns),
            (Self::BeforeEnd(ns), _) => boot.end - ns,
        }
    }
}

/// A call site that a user has named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SitePattern {
    /// By its id.
    Id(u32),
    /// By the end of its file's path, and first and last line.
    File(String, (u32, u32)),
}

impl SitePattern {
    /// Reads `12`, `rnull.rs`, `block/rnull.rs:71` or `rnull.rs:70-80`.
    pub fn parse(s: &str) -> Result<Self, Error> {
        if let Ok(id) = s.parse() {
            return Ok(Self::Id(id));
        }
        let (file, lines) = match s.rsplit_once(':') {
            Some((file, lines)) => (file, parse_range(lines)?),
            None => (s, (0, u32::MAX)),
        };
        match file.trim_start_matches("./") {
            "" => Err(Error::Syntax("not a site id, FILE, FILE:LINE or FILE:FIRST-LAST".into())),
            file => Ok(Self::File(file.to_owned(), lines)),
        }
    }

    fn matches(&self, id: u32, found: Option<&Found<'_>>) -> bool {
        match self {
            Self::Id(n) => *n == id,
            Self::File(..) => found.and_then(|f| f.site).is_some_and(|s| self.matches_site(s)),
        }
    }

    fn matches_site(&self, site: &Site) -> bool {
        let Self::File(end, (first, last)) = self else {
            return false;
        };
        let before = site.file.strip_suffix(end.as_str());
        // A whole name, not the end of one.
        before.is_some_and(|b| b.is_empty() || b.ends_with('/') || end.starts_with('/'))
            && (*first..=*last).contains(&site.line)
    }
}

/// Says which of these arguments no call site has.
pub fn unknown_arguments<'a>(
    fields: impl IntoIterator<Item = &'a Selector>,
    sites: &[&Site],
) -> Vec<String> {
    let unknown = |field: &Selector| match field {
        Selector::Argument(path) if !sites.iter().any(|site| has_argument(path, site)) => {
            Some(format!("no call site has an argument {:?}", path.join(".")))
        }
        _ => None,
    };
    fields.into_iter().filter_map(unknown).collect()
}

/// Reads a regular expression; what is wrong with it fits a line.
pub fn parse_regex(s: &str) -> Result<Regex, Error> {
    Ok(Regex::new(s)?)
}

/// Reads `3` or `3-5`.
pub fn parse_range(s: &str) -> Result<(u32, u32), Error> {
    let (first, last) = s.split_once('-').unwrap_or((s, s));
    match (first.parse(), last.parse()) {
        (Ok(first), Ok(last)) if first <= last => Ok((first, last)),
        _ => Err(Error::Syntax(format!("{s:?} is neither a number nor FIRST-LAST"))),
    }
}

/// Whether a component has one of these names; without any, it is wanted, too.
pub fn is_component(name: &str, patterns: &[String]) -> bool {
    patterns.is_empty() || patterns.iter().any(|p| matches_glob(name.as_bytes(), p))
}

/// Whether a name matches a pattern in which `*` stands for anything.
pub fn matches_glob(name: &[u8], pattern: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = name.strip_prefix(parts.next().unwrap_or_default().as_bytes()) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts.filter(|p| !p.is_empty()) {
        match rest.windows(part.len()).position(|w| w == part.as_bytes()) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last.as_bytes())
}

impl Filter {
    /// Whether a component is wanted.
    pub fn wants_component(&self, name: &str) -> bool {
        is_component(name, &self.components)
    }

    /// Whether anything but the component matters.
    pub fn is_by_record(&self) -> bool {
        let Self {
            components: _,
            level,
            sites,
            pids,
            comms,
            cpus,
            contexts,
            since,
            until,
            expr,
            grep,
            invert: _,
            boots,
            with_context: _,
            with_left_out: _,
        } = self;
        level.is_some()
            || !sites.is_empty()
            || !pids.is_empty()
            || !comms.is_empty()
            || !cpus.is_empty()
            || !contexts.is_empty()
            || since.is_some()
            || until.is_some()
            || expr.is_some()
            || grep.is_some()
            || boots.is_some()
    }

    /// Whether it may leave out records.
    pub fn chooses(&self) -> bool {
        !self.components.is_empty() || self.is_by_record()
    }

    /// By what is known of every event.
    pub(crate) fn wants_event(&self, event: &Event, stream: &Stream, boot: &Boot) -> bool {
        let is_in_time = match event.kind {
            EventKind::Loss { span, .. } => self.wants_span(span, boot),
            _ => self.wants_time(event.clock, boot),
        };
        is_in_time && self.wants_boot(boot) && self.wants_writer(event, stream)
    }

    /// Whether it chooses by time.
    pub fn is_by_time(&self) -> bool {
        self.since.is_some() || self.until.is_some()
    }

    /// Whether something that was logged between two clocks may be wanted. That was not before the
    /// boot, and not after the file was made.
    pub fn wants_span(&self, (from, until): (u64, u64), boot: &Boot) -> bool {
        let last = || {
            let taken = boot.calibration.taken().map_or(until, |pair| pair.clock);
            boot.axis(until.min(taken.max(from)))
        };
        let first = || boot.axis(from).max(Instant::Boot(0).on(boot));
        self.since.is_none_or(|t| last() >= t.on(boot))
            && self.until.is_none_or(|t| first() <= t.on(boot))
    }

    fn wants_boot(&self, boot: &Boot) -> bool {
        self.boots.as_ref().is_none_or(|all| all.binary_search(&boot.index).is_ok())
    }

    fn wants_writer(&self, event: &Event, stream: &Stream) -> bool {
        if self.pids.is_empty()
            && self.comms.is_empty()
            && self.cpus.is_empty()
            && self.contexts.is_empty()
        {
            return true;
        }
        let Writer { context, cpu, task } = event.writer;
        if matches!(event.kind, EventKind::Loss { .. }) && stream.shared().is_some() {
            // They may have been anyone's.
            return true;
        }
        (self.pids.is_empty() || task.is_some_and(|t| self.wants_pid(&t)))
            && (self.comms.is_empty() || task.is_some_and(|t| self.wants_comm(&t)))
            && (self.cpus.is_empty() || cpu.is_some_and(|n| self.wants_cpu(n)))
            && (self.contexts.is_empty() || context.is_some_and(|c| self.contexts.contains(&c)))
    }

    /// Refuses times between which none of the boots can have a record.
    pub fn is_possible(&self, boots: &[Boot]) -> Result<(), String> {
        let (Some(since), Some(until)) = (self.since, self.until) else {
            return Ok(());
        };
        match boots.iter().any(|boot| since.on(boot) <= until.on(boot)) {
            false => Err("--since is after --until".into()),
            true => Ok(()),
        }
    }

    fn wants_time(&self, clock: u64, boot: &Boot) -> bool {
        self.since.is_none_or(|t| boot.axis(clock) >= t.on(boot))
            && self.until.is_none_or(|t| boot.axis(clock) <= t.on(boot))
    }

    /// Whether a line of another log is wanted, by what is known of it: what it doesn't have, as most
    /// of them have no task, it is not filtered by.
    pub(crate) fn wants_line(&self, line: &Line, boot: &Boot) -> bool {
        let Writer { cpu, task, .. } = line.writer;
        self.wants_boot(boot)
            && self.wants_time(line.time, boot)
            && line.level.is_none_or(|level| self.level.is_none_or(|max| level <= max))
            && task.is_none_or(|t| self.wants_pid(&t) && self.wants_comm(&t))
            && cpu.is_none_or(|n| self.wants_cpu(n))
    }

    /// Which names and ids that are asked for no task has.
    pub fn unknown_tasks(&self, tasks: &[Task]) -> Vec<String> {
        let mut all = Vec::new();
        for comm in &self.comms {
            if !tasks.iter().any(|t| matches_glob(until_nul(&t.comm), comm)) {
                all.push(format!("--comm {comm}: no task has this name"));
            }
        }
        for pid in &self.pids {
            if !tasks.iter().any(|t| t.pid == *pid || t.tgid == *pid) {
                all.push(format!("--pid {pid}: no task has this id"));
            }
        }
        all
    }

    /// Which call sites, and arguments of call sites, are asked for that there aren't. `has` says which
    /// ids there are.
    pub fn unknown_sites(&self, sites: &[&Site], has: impl Fn(u32) -> bool) -> Vec<String> {
        let mut all = Vec::new();
        for pattern in &self.sites {
            match pattern {
                SitePattern::Id(id) if !has(*id) => {
                    all.push(format!("--site {id}: no call site has this id"));
                }
                SitePattern::File(end, (first, last))
                    if !sites.iter().any(|site| pattern.matches_site(site)) =>
                {
                    let lines = match (first, last) {
                        (0, &u32::MAX) => String::new(),
                        (a, b) if a == b => format!(":{a}"),
                        (a, b) => format!(":{a}-{b}"),
                    };
                    all.push(format!("--site {end}{lines}: no call site is there"));
                }
                _ => {}
            }
        }
        let fields = self.expr.iter().flat_map(Expr::fields);
        let unknown = unknown_arguments(fields, sites).into_iter();
        let unfit = self.expr.iter().flat_map(|e| e.unfit(sites));
        all.extend(unknown.chain(unfit).map(|e| format!("--where: {e}")));
        all
    }

    fn wants_pid(&self, t: &Task) -> bool {
        self.pids.is_empty() || self.pids.contains(&t.pid) || self.pids.contains(&t.tgid)
    }

    fn wants_comm(&self, t: &Task) -> bool {
        let name = until_nul(&t.comm);
        self.comms.is_empty() || self.comms.iter().any(|c| matches_glob(name, c))
    }

    fn wants_cpu(&self, n: u32) -> bool {
        self.cpus.is_empty() || self.cpus.iter().any(|(a, b)| (*a..=*b).contains(&n))
    }

    /// Whether it takes a record's side table to know whether it is wanted.
    pub(crate) fn needs_table(&self) -> bool {
        let is_place = |site: &SitePattern| matches!(site, SitePattern::File(..));
        let of_expr = || self.expr.iter().flat_map(Expr::fields).any(Selector::needs_table);
        self.grep.is_some() || self.sites.iter().any(is_place) || of_expr()
    }

    /// By its call site. A record of which the site isn't known passes the level.
    pub fn wants_site(&self, id: u32, found: Option<&Found<'_>>) -> bool {
        let level = found.and_then(|f| f.site).map(|s| s.level);
        if let (Some(level), Some(max)) = (level, self.level) {
            if level > max {
                return false;
            }
        }
        self.sites.is_empty() || self.sites.iter().any(|s| s.matches(id, found))
    }

    /// By `expr`, without or with the message.
    pub(crate) fn wants_values(&self, entry: &Entry<'_>, has_message: bool) -> bool {
        match &self.expr {
            Some(e) if e.needs_message() == has_message => e.is_true(entry),
            _ => true,
        }
    }

    /// By the message.
    pub(crate) fn wants_message(&self, message: &[u8]) -> bool {
        let grep = self.grep.as_ref();
        grep.is_none_or(|g| g.is_match(message) != self.invert)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_patterns() {
        for (name, pattern, matches) in [
            ("fio", "fio", true),
            ("fio", "fi", false),
            ("fio", "f*", true),
            ("fio", "*", true),
            ("fio", "*o", true),
            ("fio", "f*i*o", true),
            ("fio", "fio*o", false),
            ("kworker/0:1", "kworker/*:1", true),
            ("kworker/0:2", "kworker/*:1", false),
            ("aXbXc", "a*X*X*c", true),
            ("aXc", "a*X*X*c", false),
            ("ab", "ab*ab", false),
            ("", "*", true),
            ("", "", true),
        ] {
            assert_eq!(matches_glob(name.as_bytes(), pattern), matches, "{name} {pattern}");
        }
    }

    #[test]
    fn sites_are_read_in_all_forms() {
        let file = |s: &str, lines| Ok(SitePattern::File(s.to_owned(), lines));
        assert_eq!(SitePattern::parse("12"), Ok(SitePattern::Id(12)));
        assert_eq!(SitePattern::parse("a.rs"), file("a.rs", (0, u32::MAX)));
        assert_eq!(SitePattern::parse("x/a.rs:7"), file("x/a.rs", (7, 7)));
        assert_eq!(SitePattern::parse("./a.rs:7-9"), file("a.rs", (7, 9)));
        for bad in ["", ":7", "a.rs:x", "a.rs:9-7", "a.rs:"] {
            assert!(SitePattern::parse(bad).is_err(), "{bad}");
        }
    }
}
