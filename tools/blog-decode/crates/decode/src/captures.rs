// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Snapshots, streams and recordings with their side tables: a program opens these first.

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use crate::{
    boot::{self, Boot},
    decode::{Decoder, Filter},
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
    /// Files that [`Captures::open`] could not open.
    unopened: Vec<Error>,
    /// All rings, once they were asked for.
    rings: OnceLock<Vec<Stream>>,
}

impl Captures {
    /// Opens files. Side tables are looked for in `sidetables`, which are tables, images or
    /// directories of them, beside the files, and then in those of `modules`, as `/lib/modules`.
    ///
    /// What is wrong is in [`Captures::problems`]: the other files are there.
    pub fn open<P: AsRef<Path>>(
        paths: impl IntoIterator<Item = P>,
        sidetables: &[PathBuf],
        modules: Option<&Path>,
    ) -> Self {
        let (mut files, mut unopened) = (Vec::new(), Vec::new());
        for path in paths {
            match open::open(path.as_ref(), files.len(), &mut |_, _| {}) {
                Ok(mut more) => files.append(&mut more),
                Err(e) => unopened.push(e),
            }
        }
        Self { unopened, ..Self::new(files, sidetables, modules) }
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
        let maps = files.iter().map(|f| SiteMap::new(&f.images, &tables)).collect();
        let boots = boot::from_files(&files);
        notes.extend(boot::doubts(&files, &boots));
        let (unopened, rings) = (Vec::new(), OnceLock::new());
        Self { files, tables, maps, boots, notes, unopened, rings }
    }

    /// What is wrong, each with the name of its file: files that could not be opened, those that
    /// are cut off, and images without a side table. Further damage is in [`Snapshot::damage`].
    pub fn problems(&self) -> Vec<Error> {
        let mut all = self.unopened.clone();
        for (file, map) in self.files.iter().zip(&self.maps) {
            let cut_off = file.damage.cut_off || file.damage.torn != 0;
            all.extend(cut_off.then(|| Error::CutOff.at(&*file.name)));
            for image in map.images.iter().filter(|image| image.sites.is_none()) {
                let (image, build_id) = (image.name.clone(), image.build_id.clone());
                all.push(Error::NoTable { image, build_id }.at(&*file.name));
            }
        }
        all
    }

    /// The records that a filter lets pass, and losses, in the order of time. What had no text, and
    /// why, is [`Decoder::undecoded`].
    pub fn entries<'a>(&'a self, filter: &'a Filter) -> Decoder<'a> {
        let all = self.rings.get_or_init(|| self.streams(&[]));
        let streams = all.iter().filter(|stream| filter.wants_component(&stream.component));
        Decoder::new(&self.files, streams, &self.boots, &self.maps, filter)
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
