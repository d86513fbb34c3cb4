// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Damage in a dump: counted by kind, with one example of each.

use std::fmt::{self, Display};

/// The number of kinds that are counted separately; further ones count as one.
const MAX_KINDS: usize = 1000;

/// A kind of problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where it is: a component, or a structure of the root.
    pub place: String,
    /// What is wrong.
    pub what: &'static str,
    /// How often.
    pub count: u64,
    /// The first one.
    pub example: String,
    /// Whether records may be missing because of it. Otherwise it is only good to know.
    pub grave: bool,
}

impl Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        if self.count > 1 {
            write!(f, "{} times: ", self.count)?;
        }
        write!(f, "{}", self.what)?;
        match (self.example.as_str(), self.count) {
            ("", _) => Ok(()),
            (example, 1) => write!(f, " ({example})"),
            (example, _) => write!(f, " (first: {example})"),
        }
    }
}

/// All of them.
#[derive(Debug, Default)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    pub(super) fn note(
        &mut self,
        grave: bool,
        place: &str,
        what: &'static str,
        example: impl FnOnce() -> String,
    ) {
        // The latest are the most likely ones.
        let mut known = self.0.iter_mut().rev();
        if let Some(known) = known.find(|p| p.what == what && p.place == place) {
            known.count += 1;
            return;
        }
        if self.0.len() < MAX_KINDS {
            self.0.push(Problem {
                place: place.to_owned(),
                what,
                count: 1,
                example: example(),
                grave,
            });
        } else if let Some(last) = self.0.last_mut() {
            last.count += 1;
            last.grave |= grave;
        }
    }

    /// Something is damaged or missing.
    pub(super) fn grave(
        &mut self,
        place: &str,
        what: &'static str,
        example: impl FnOnce() -> String,
    ) {
        self.note(true, place, what, example);
    }

    /// Whether records may be missing.
    pub fn any_grave(&self) -> bool {
        self.0.iter().any(|p| p.grave)
    }
}
