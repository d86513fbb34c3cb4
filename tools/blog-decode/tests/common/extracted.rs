// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! What comes out of a machine that has stopped, and chance for damaging it.

use std::collections::BTreeSet;

use blog_decode_core::{
    boot,
    decode::{Decoder, Filter},
    merge::{self, EventKind},
    sidetable::{SiteMap, Tables},
};
use blog_file::snapshot::Snapshot;
use blog_table::source::Source;
use blog_vmcore::{extract, memory::Memory, Extracted};

/// A record: component, ring, ordinal, clock, site.
pub type Record = (String, u32, u64, u64, u32);

/// What came out of a dump.
pub struct Got {
    pub extracted: Extracted,
    pub snapshot: Snapshot,
    pub records: BTreeSet<Record>,
    /// Whether the decoder tells of records that are missing or damaged.
    pub told: bool,
}

impl Got {
    /// Whether something is said to be missing.
    pub fn is_incomplete(&self) -> bool {
        self.told || !self.extracted.problems.0.is_empty()
    }

    /// Records by component, ring and ordinal.
    pub fn ordinals(&self) -> BTreeSet<(String, u32, u64)> {
        let all = self.records.iter();
        all.map(|r| (r.0.clone(), r.1, r.2)).collect()
    }
}

/// Extracts and decodes.
pub fn run(memory: &impl Memory, root: u64) -> Result<Got, String> {
    let mut bytes = Vec::new();
    let extracted = extract(memory, root, &mut bytes).map_err(|e| format!("{e:?}"))?;
    let snapshot = Snapshot::read("test".into(), Source::Memory(bytes)).expect("it is one");
    assert!(!snapshot.damage.any(), "what is written is whole");
    let files = [snapshot];
    let streams = merge::unite(&files, |_| true);
    let boots = boot::from_files(&files);
    let maps = [SiteMap::new(&files[0].images, &Tables::default())];
    let filter = Filter::default();
    let mut decoder = Decoder::new(&files, &streams, &boots, &maps, &filter);
    let mut records = BTreeSet::new();
    for entry in &mut decoder {
        if let EventKind::Record { ordinal, site, .. } = entry.event.kind {
            let name = entry.stream.component.to_string();
            records.insert((name, entry.stream.id, ordinal, entry.clock(), site));
        }
    }
    let told = decoder.counts().any(|c| c.missing + c.damaged > 0);
    let [snapshot] = files;
    Ok(Got { extracted, snapshot, records, told })
}

/// Numbers that are the same in each run.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}
