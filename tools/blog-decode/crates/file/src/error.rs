// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Reasons why something can't be read, decoded or parsed.

use std::{fmt, io, sync::Arc};

/// Why there is no result. What can be read in spite of damage is no error: see
/// [`Damage`](crate::snapshot::Damage).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The system can't read or write.
    Io(Arc<io::Error>),
    /// A file isn't what it should be, or nothing in it is whole.
    File(String),
    /// A file is of another kind than those that are looked for.
    NotOurs(String),
    /// A file ends before its end was written: what it has can be read.
    CutOff,
    /// Call sites of an image are unknown: there is no side table with its build ID.
    NoTable {
        /// Name of the image.
        image: String,
        /// Its build ID, in hex.
        build_id: String,
    },
    /// A file is of a version, or a byte order, that this library doesn't read.
    Version(String),
    /// A condition, a template or a command can't be understood.
    Syntax(String),
    /// A call site's format string, or the types of its arguments, can't be understood.
    Site(String),
    /// The same, of a file or a place that has a name.
    In(String, Box<Error>),
}

impl Error {
    /// Says where it is.
    pub fn at(self, place: impl Into<String>) -> Self {
        Self::In(place.into(), Box::new(self))
    }

    /// The error itself, without its place.
    pub fn kind(&self) -> &Self {
        match self {
            Self::In(_, e) => e.kind(),
            // By way of a reader.
            Self::Io(e) => {
                let inner = e.get_ref().and_then(|e| e.downcast_ref::<Self>());
                inner.map_or(self, Self::kind)
            }
            _ => self,
        }
    }

    /// Whether a file is of another kind than those that are looked for.
    pub fn is_not_ours(&self) -> bool {
        matches!(self.kind(), Self::NotOurs(_))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(e) => e.fmt(f),
            Self::File(why)
            | Self::NotOurs(why)
            | Self::Version(why)
            | Self::Syntax(why)
            | Self::Site(why) => f.write_str(why),
            Self::CutOff => f.write_str("no end (cut off)"),
            Self::NoTable { image, build_id } => {
                write!(f, "no side table of {image} (build ID {build_id})")
            }
            Self::In(place, e) => write!(f, "{place}: {e}"),
        }
    }
}

/// They are the same if they say the same.
impl PartialEq for Error {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(e: io::Error) -> Self {
        Self::Io(Arc::new(e))
    }
}

impl From<regex::Error> for Error {
    fn from(e: regex::Error) -> Self {
        let e = e.to_string();
        let last = e.lines().last().unwrap_or_default();
        let why = last.strip_prefix("error: ").unwrap_or(last);
        Self::Syntax(format!("invalid regular expression: {why}"))
    }
}

/// For the program, where all that is left to do is to print it.
impl From<Error> for String {
    fn from(e: Error) -> Self {
        e.to_string()
    }
}
