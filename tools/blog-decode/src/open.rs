// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Opens a file with records: snapshots, streams, or memory that has survived a reboot.

use std::path::Path;

use crate::{
    blogfmt::source::Source,
    error::Error,
    snapshot::{open_source, Snapshot},
    vmcore,
    wire::persist,
};

/// No kernel sets as much memory aside for a reboot.
const KEPT_MAX: u64 = 16 << 30;

/// Opens all that is in a file, at least one snapshot. It calls `tick` now and then with how many
/// bytes of it are done, and how many it has, if that is known.
pub fn open(path: &Path, tick: &mut dyn FnMut(u64, Option<u64>)) -> Result<Vec<Snapshot>, Error> {
    let name = path.display().to_string();
    let told = |e: Error| e.at(&name);
    let (source, packed) = open_source(path, tick).map_err(|e| told(e.into()))?;
    let mut start = [0; persist::MAGIC.len()];
    let read = source.read_some(0, &mut start);
    if read.map_err(|e| told(e.into()))? < start.len() || start != persist::MAGIC {
        return Snapshot::read_all(&name, source, packed, tick);
    }
    let size = source.size();
    let bytes = match source {
        Source::Memory(bytes) => bytes,
        Source::File(..) => (source.read(0, size, KEPT_MAX))
            .map_err(|e| told(e.into()))?
            .ok_or_else(|| told(Error::File("larger than any such memory".into())))?,
    };
    let mut made = Vec::new();
    let problems = vmcore::kept(&bytes, &mut made).map_err(told)?;
    drop(bytes);
    let mut snapshot = Snapshot::read(name, Source::Memory(made))?;
    snapshot.damage.packed = packed;
    snapshot.damage.survived = problems.any_grave();
    snapshot.survived = Some(problems.0.iter().map(ToString::to_string).collect());
    Ok(vec![snapshot])
}
