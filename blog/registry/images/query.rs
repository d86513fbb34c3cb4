// SPDX-License-Identifier: GPL-2.0

//! Sites that are switched: the commands of the file `control`.

use kernel::blog::wire::record::{
    Level,
    GATE_ON, //
};

use super::{
    super::{
        name_bytes,
        parse::names::ids,
        settings::Key, //
    },
    *, //
};

/// One command of the `control` file: which sites, and what to do to them. Conditions that aren't
/// given hold for all sites.
///
/// The words are those of dynamic debug, as far as the kernel can look them up: it has no strings.
/// `file`, `line` and `format` are for `blog-decode`, which looks them up in the side tables and
/// writes `site` commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Query<'a> {
    /// `module NAME`: the image's name, `vmlinux` for what is built in.
    pub(crate) module: Option<&'a str>,
    /// `site ID` or `site FIRST-LAST`.
    pub(crate) ids: Option<(u32, u32)>,
    /// `level NAME-OR-NUMBER`.
    pub(crate) level: Option<Level>,
    /// `+p`, `=p`: they log at any level of their component; `-p`: they never do. `None`, `=_`:
    /// they follow their component's level, as at the start.
    pub(crate) gate: Option<u8>,
}

impl Build {
    /// How many sites are switched on, and off, whatever their component's level is.
    pub(crate) fn switched(&self) -> (u32, u32) {
        let (mut on, mut off) = (0, 0);
        let gates = self.sites.iter().map(Site::gate);
        for gate in Iterator::chain(gates, self.gates.iter().copied()) {
            match gate {
                GATE_ON => on += 1,
                GATE_OFF => off += 1,
                _ => (),
            }
        }
        (on, off)
    }

    /// Calls `f` for each loaded site that `query` means; returns their number.
    fn matching(&self, query: &Query<'_>, mut f: impl FnMut(&Site)) -> u32 {
        let name = name_bytes(&self.entry.name);
        if query.module.is_some_and(|m| m.as_bytes() != name) {
            return 0;
        }
        let is_meant = |(id, site): &(u32, &Site)| {
            let has_id = |(low, high): (u32, u32)| (low..=high).contains(id);
            query.ids.is_none_or(has_id)
                && query.level.is_none_or(|level| Some(level) == site.level())
        };
        let sites = (self.entry.first..).zip(self.sites).filter(is_meant);
        sites.inspect(|(_, site)| f(site)).count() as u32
    }

    /// The gate of a site: what it was switched to when this build was loaded before, or that of
    /// one that follows its component's level.
    pub(super) fn gate_before(&self, place: usize, site: &Site) -> u8 {
        self.gates.get(place).copied().unwrap_or(follow(site))
    }

    /// Remembers what its sites are switched to, if any is.
    pub(super) fn keep_gates(&mut self) {
        if self.switched() == (0, 0) {
            return;
        }
        let mut gates = self.sites.iter().map(Site::gate);
        let kept = gates.try_for_each(|gate| self.gates.push(gate, GFP_KERNEL));
        if kept.is_err() {
            self.gates = KVVec::new();
            pr_warn!("no memory to remember which sites were switched\n");
        }
    }
}

impl Images {
    pub(crate) fn count(&self, query: &Query<'_>) -> u32 {
        self.list.iter().map(|i| i.matching(query, |_| ())).sum()
    }

    pub(crate) fn switch(&self, query: &Query<'_>) {
        for image in &self.list {
            image.matching(query, |site| {
                // SAFETY: The sites of a loaded image have their ids.
                unsafe { site.set_gate(query.gate.unwrap_or(follow(site))) };
            });
        }
    }
}

/// A level's name or number, of one that records have.
pub(crate) fn parse_level(text: &str) -> Result<Level> {
    Level::from_u8(Key::Level.parse(text)? as u8).ok_or(EINVAL)
}

fn query(text: &str) -> Result<Query<'_>> {
    let mut query = Query {
        module: None,
        ids: None,
        level: None,
        gate: None,
    };
    let mut words = text.split_ascii_whitespace();
    loop {
        match words.next().ok_or(EINVAL)? {
            "module" if query.module.is_none() => {
                query.module = Some(words.next().ok_or(EINVAL)?);
            }
            "site" if query.ids.is_none() => {
                query.ids = Some(ids(words.next().ok_or(EINVAL)?)?);
            }
            "level" if query.level.is_none() => {
                query.level = Some(parse_level(words.next().ok_or(EINVAL)?)?);
            }
            flags => {
                query.gate = match flags {
                    "+p" | "=p" => Some(GATE_ON),
                    "-p" => Some(GATE_OFF),
                    "=_" => None,
                    _ => return Err(EINVAL),
                };
                break;
            }
        }
    }
    // The flags come last.
    match words.next() {
        None => Ok(query),
        Some(_) => Err(EINVAL),
    }
}

/// The commands in `text`, separated by newlines or semicolons. Empty ones, and those that start
/// with `#`, are left out.
pub(crate) fn queries(text: &str) -> impl Iterator<Item = Result<Query<'_>>> {
    text.split(['\n', ';'])
        .map(str::trim_ascii)
        .filter(|text| !text.is_empty() && !text.starts_with('#'))
        .map(query)
}
