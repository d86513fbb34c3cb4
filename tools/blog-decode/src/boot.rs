// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Which boot of which machine a file is of, and how times of several boots compare.
//!
//! Files with the same boot id are of one boot; a file without one is of a boot of its own. Each
//! boot counts its own time, from 0. So as soon as there are several, their order and their distances
//! are those of real time, by the calibration of each.

use std::collections::{
    hash_map::Entry,
    HashMap, //
};

use crate::{
    blogfmt::bytes::hex,
    clock::Calibration,
    snapshot::Snapshot, //
};

/// A boot of a machine.
#[derive(Clone, Debug)]
pub struct Boot {
    /// Number of the first file that is of it: what tells boots apart.
    pub index: usize,
    /// Its id in hex, if the file has it.
    pub id: Option<String>,
    /// Name of the machine.
    pub host: String,
    /// What it is called among others: the machine, and which of its boots if there are several.
    pub name: String,
    /// Converts the clock of its rings, by the latest file that is of it.
    pub calibration: Calibration,
    /// Whether there are others.
    pub is_one_of_several: bool,
    /// Whether there are others of the same machine.
    pub is_one_of_host: bool,
    /// When the last file was taken: a time as [`Boot::axis`] has it.
    pub end: i128,
}

/// As much of a boot's id tells it from the others of its machine.
const SHORT: usize = 8;

impl Boot {
    /// A clock's place on the one axis that all entries share: ns since boot, or since 1970 if
    /// there are several boots.
    pub fn axis(&self, clock: u64) -> i128 {
        match self.is_one_of_several {
            true => self.calibration.real(clock),
            false => self.calibration.boot(clock),
        }
    }

    /// The only one.
    #[cfg(test)]
    pub(crate) fn alone(host: &str, calibration: Calibration) -> Self {
        Self {
            index: 0,
            id: Some("b007".into()),
            host: host.into(),
            name: host.into(),
            calibration,
            is_one_of_several: false,
            is_one_of_host: false,
            end: 0,
        }
    }

    /// The same boot for a log whose clock is CLOCK_BOOTTIME.
    pub fn of_log(&self) -> Self {
        Self {
            calibration: self.calibration.of_boot(),
            ..self.clone()
        }
    }
}

/// The number of the first file of the same boot, for each file.
pub fn same(files: &[Snapshot]) -> Vec<usize> {
    let mut first = HashMap::new();
    let boot = |(i, file): (usize, &Snapshot)| match file.boot_id() {
        Some(id) => *first.entry(id).or_insert(i),
        None => i,
    };
    files.iter().enumerate().map(boot).collect()
}

/// The boot of each file.
pub fn of(files: &[Snapshot]) -> Vec<Boot> {
    let same = same(files);
    let is_one_of_several = same.iter().any(|&index| index != 0);
    let (mut latest, mut hosts) = (HashMap::new(), HashMap::<&str, usize>::new());
    for (file, &index) in files.iter().zip(&same) {
        let own = Calibration::new(file.clock.as_ref(), &file.pairs);
        let taken = |c: &Calibration| c.taken().map(|p| p.boot);
        match latest.entry(index) {
            Entry::Vacant(new) => {
                new.insert(own);
                *hosts.entry(&files[index].host).or_default() += 1;
            }
            Entry::Occupied(mut known) if taken(known.get()) <= taken(&own) => {
                known.insert(own);
            }
            Entry::Occupied(_) => {}
        }
    }
    let ends = latest.values().filter_map(|c| {
        let pair = c.taken()?;
        Some(if is_one_of_several {
            pair.real
        } else {
            pair.boot
        })
    });
    let end = ends.max().unwrap_or(0).into();
    let boot = |&index: &usize| {
        let host = files[index].host.clone();
        let is_one_of_host = hosts.get(host.as_str()).is_some_and(|n| *n > 1);
        let id = files[index].boot_id().map(|id| hex(&id));
        let name = match (is_one_of_host, &id) {
            (false, _) => host.clone(),
            (true, Some(id)) => format!("{host}/{}", &id[..SHORT.min(id.len())]),
            (true, None) => format!("{host}/{index}"),
        };
        Boot {
            index,
            id,
            host,
            name,
            calibration: latest[&index].clone(),
            is_one_of_several,
            is_one_of_host,
            end,
        }
    };
    same.iter().map(boot).collect()
}

/// How wide the names of boots are, if there are several.
pub fn width(boots: &[Boot]) -> Option<usize> {
    let widths = boots.iter().filter(|b| b.is_one_of_several);
    widths.map(|b| b.name.chars().count()).max()
}
