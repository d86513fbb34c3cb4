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
    Kind(String),
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

    /// Whether a file is of another kind than those that are looked for.
    pub fn is_of_another_kind(&self) -> bool {
        match self {
            Self::Kind(_) => true,
            Self::In(_, e) => e.is_of_another_kind(),
            // By way of a reader.
            Self::Io(e) => {
                let inner = e.get_ref().and_then(|e| e.downcast_ref::<Self>());
                inner.is_some_and(Self::is_of_another_kind)
            }
            _ => false,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(e) => e.fmt(f),
            Self::File(why)
            | Self::Kind(why)
            | Self::Version(why)
            | Self::Syntax(why)
            | Self::Site(why) => f.write_str(why),
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
