// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Snapshots, streams and recordings with their side tables: a program opens these first.

use std::{
    collections::{HashMap, HashSet},
    convert::Infallible,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    boot::{self, Boot},
    decode::{Decoder, Entry, Filter, Undecoded},
    error::Error,
    filter::is_component,
    identity,
    merge::{self, Merge, Stream},
    open,
    record::Task,
    sidetable::{Site, SiteMap, Tables},
    snapshot::Snapshot,
};

/// The directories in which files are: there, side tables may be beside them.
pub fn beside<'a>(files: impl Iterator<Item = &'a Path>) -> Vec<PathBuf> {
    let dirs = files.filter(|path| path.is_file()).filter_map(Path::parent);
    let mut all: Vec<PathBuf> = dirs
        .map(|dir| match dir.as_os_str().is_empty() {
            true => ".".into(),
            false => dir.to_owned(),
        })
        .collect();
    all.sort();
    all.dedup();
    all
}

/// Files of one machine or several, and what decodes them.
pub struct Captures {
    /// The files.
    pub files: Vec<Snapshot>,
    /// The side tables, and what was wrong with some.
    pub tables: Tables,
    /// Call sites of each file.
    pub maps: Vec<SiteMap>,
    /// The boot of each file.
    pub boots: Vec<Boot>,
    /// What to report about files of the same machine.
    pub notes: Vec<String>,
}

impl Captures {
    /// Opens files. Side tables are looked for in `sidetables`, which are tables, images or
    /// directories of them, beside the files, and then in those of `modules`, as `/lib/modules`.
    ///
    /// # Errors
    ///
    /// The first file that is none of BLog's, or can't be read. What is wrong within a file is in
    /// [`Snapshot::damage`], and with a table in [`Tables::problems`].
    pub fn open<P: AsRef<Path>>(
        paths: impl IntoIterator<Item = P>,
        sidetables: &[PathBuf],
        modules: Option<&Path>,
    ) -> Result<Self, Error> {
        let mut files = Vec::new();
        for path in paths {
            files.append(&mut open::open(path.as_ref(), files.len(), &mut |_, _| {})?);
        }
        Ok(Self::new(files, sidetables, modules))
    }

    /// The same of files that are open.
    pub fn new(mut files: Vec<Snapshot>, sidetables: &[PathBuf], modules: Option<&Path>) -> Self {
        for file in files.iter_mut().filter(|file| file.host.is_empty()) {
            // What says it is lost.
            let name = Path::new(&file.name).file_stem().unwrap_or_default();
            file.host = name.to_string_lossy().into_owned();
        }
        let mut notes = identity::tell_apart(&mut files);
        let images = files.iter().flat_map(|f| &f.images);
        let beside = beside(files.iter().map(|file| Path::new(&file.name)));
        let own = files.iter().flat_map(|f| &f.tables);
        let tables = Tables::load(images, own, sidetables, &beside, modules);
        let map = |f: &Snapshot| SiteMap::new(&f.images, &tables);
        let boots = boot::of(&files);
        notes.extend(boot::doubts(&files, &boots));
        Self { boots, maps: files.iter().map(map).collect(), tables, files, notes }
    }

    /// Calls `each` with the records that a filter lets pass, and with losses, in the order of time.
    /// The answer is what had no text, and why.
    pub fn for_each(&self, filter: &Filter, mut each: impl FnMut(&Entry<'_>)) -> Undecoded {
        let streams = self.streams(&filter.components);
        let mut decoder = Decoder::new(&self.files, &streams, &self.boots, &self.maps, filter);
        let result = decoder.run(|entry| {
            each(entry);
            Ok::<_, Infallible>(())
        });
        match result {
            Ok(()) => decoder.undecoded().clone(),
            Err(never) => match never {},
        }
    }

    /// The rings of these components; of all if there are none.
    pub fn streams(&self, components: &[String]) -> Vec<Stream> {
        let wanted = |name: &str| is_component(name, components);
        merge::unite(&self.files, wanted)
    }

    /// All call sites, if those of all images are known.
    pub fn sites(&self) -> Option<Vec<&Site>> {
        let (sites, are_all) = self.known_sites();
        are_all.then_some(sites)
    }

    /// The call sites that are known, each once for all files that have its image; and whether they
    /// are all.
    pub fn known_sites(&self) -> (Vec<&Site>, bool) {
        let (mut seen, mut all, mut are_all) = (HashSet::new(), Vec::new(), true);
        for image in self.maps.iter().flat_map(|map| &map.images) {
            match &image.sites {
                Some(table) if seen.insert(Arc::as_ptr(table)) => all.extend(&table.sites),
                Some(_) => {}
                None => are_all = false,
            }
        }
        (all, are_all)
    }

    /// The tasks that files list, and those that rings are called by.
    pub fn tasks(&self) -> Vec<Task> {
        let of_file = |file: &Snapshot| {
            let listed = file.tasks.iter().map(|t| (t.pid, t.tgid, t.comm));
            let rings = file.rings.iter().filter_map(|r| r.ring.as_ref());
            let rings = rings.map(|r| (r.pid, r.tgid, r.comm));
            listed.chain(rings).collect::<Vec<_>>()
        };
        let all = self.files.iter().flat_map(of_file);
        all.map(|(pid, tgid, comm)| Task { pid, tgid, comm }).collect()
    }

    /// The tasks of all records of these components. A task is there as often as it has names.
    pub fn writers(&self, components: &[String]) -> Vec<Task> {
        let streams = self.streams(components);
        let mut merge = Merge::new(&self.files, &streams, &self.boots);
        let mut all = HashMap::new();
        while let Some(event) = merge.next() {
            if let Some(task) = event.writer.task {
                all.insert((task.pid, task.tgid, task.comm), task);
            }
        }
        all.into_values().collect()
    }
}
