// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! What all commands over records do alike: open files, settle the filters, go through the records,
//! and say what is missing.

use std::io;

use super::{
    args,
    complain,
    input::{
        tell_undecoded,
        Input, //
    },
    progress::{
        Progress,
        Unit, //
    },
    Failed,
    PARTIAL, //
};
use crate::{
    decode::{
        Decoder,
        Entry,
        Outcome, //
    },
    filter::Filter,
    merge::{
        self,
        Stream, //
    },
};

/// Files that are open, and which of their records are wanted.
pub struct Session {
    /// The files.
    pub input: Input,
    /// Which records.
    pub filter: Filter,
    /// The rings that may have some.
    pub streams: Vec<Stream>,
}

impl Session {
    /// Opens files. `has_logs`: other logs are put between their records.
    pub fn open(
        input: &args::Input,
        filters: &args::Filters,
        has_logs: bool,
    ) -> Result<Self, Failed> {
        // What is wrong with the filters is told first.
        let filter = filters.build()?;
        Self::new(Input::open(input)?, filter, filters, has_logs)
    }

    /// The same of files that are open.
    pub fn new(
        input: Input,
        mut filter: Filter,
        filters: &args::Filters,
        has_logs: bool,
    ) -> Result<Self, Failed> {
        input.settle(filters, &mut filter, has_logs)?;
        let streams = input.streams(&filter.components);
        Ok(Self {
            input,
            filter,
            streams,
        })
    }

    /// What decodes the records, and says meanwhile how far it is. `is_shown`: they go to standard
    /// output.
    pub fn decoder(&self, doing: &'static str, is_shown: bool) -> Decoder<'_> {
        let mut progress = Progress::new(doing, Unit::Records, is_shown);
        let all = Some(merge::records(&self.streams));
        let (boots, maps) = (&self.input.boots, &self.input.maps);
        Decoder::new(&self.input.files, &self.streams, boots, maps, &self.filter)
            .with_tick(move |done| progress.at(done, all))
    }

    /// Goes through all entries; the answer is the exit status. An error is one of `each`.
    pub fn run(
        &self,
        doing: &'static str,
        each: impl FnMut(&Entry<'_>) -> io::Result<()>,
    ) -> Result<u8, Failed> {
        let mut decoder = self.decoder(doing, false);
        decoder.run(each).map_err(|e| e.to_string())?;
        Ok(self.end(&decoder.outcome()))
    }

    /// Says what is missing; the answer is the exit status.
    pub fn end(&self, outcome: &Outcome) -> u8 {
        let tables = &self.input.tables;
        self.input.status().max(tell(outcome, &tables.searched))
    }
}

/// Says what could not be decoded. Tables were looked for there.
pub fn tell(outcome: &Outcome, searched: &[String]) -> u8 {
    let mut status = super::OK;
    match outcome.damaged {
        0 => {}
        1 => complain("1 record is damaged"),
        n => complain(&format!("{n} records are damaged")),
    }
    for problem in &outcome.log_problems {
        complain(problem);
    }
    tell_undecoded(&outcome.undecoded, searched);
    if outcome.any() {
        status = PARTIAL;
    }
    status
}
