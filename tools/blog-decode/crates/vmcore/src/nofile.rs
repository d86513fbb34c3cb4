// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Stands in for `file.rs` if the program is built without libkdumpfile, and reports that.

use std::path::PathBuf;

use crate::{
    crashed::Crashed,
    error::Error,
    memory::{Fault, Memory},
};

/// An open vmcore: never made.
pub struct Vmcore {
    /// No memory.
    pub memory: Nothing,
    /// Address of the root.
    pub root: u64,
    /// The task that crashed, if nobody noted it.
    pub crashed: Option<Crashed>,
    /// What is wrong with the file as such, if anything.
    pub problem: Option<String>,
}

/// No memory.
pub struct Nothing;

impl Memory for Nothing {
    fn read(&self, _: u64, _: &mut [u8]) -> Result<(), Fault> {
        Err(Fault::Missing)
    }
}

/// Each file by itself.
pub fn dumps(paths: &[PathBuf]) -> Vec<Vec<PathBuf>> {
    paths.iter().map(|path| vec![path.clone()]).collect()
}

/// Says that it can't be done.
pub fn open(_: &[PathBuf]) -> Result<Vmcore, Error> {
    Err(Error::File(
        "this blog-decode was built without libkdumpfile, and can't read crash dumps: \
         build it with its default features"
            .into(),
    ))
}
