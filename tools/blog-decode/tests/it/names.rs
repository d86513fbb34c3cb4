// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! A public type has a name of its own in all crates of the decoder: a name in a message of the
//! compiler means one type.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// Where sources are, below the folder of the program's crate.
const SOURCES: [&str; 5] = ["src", "crates", "map/src", "kdumpfile/src", "../blog-ctl/src"];

/// Those that are there twice still. No name is ever added.
const TWICE: &str = "Cli Command Error Event Fault Found Json Kind Line Link Memory \
                     Part Printer Problem Reader Sites Spans \
                     Task Template Text Type Vmcore";

/// The names of public types in a source.
fn names(source: &str) -> BTreeSet<&str> {
    let name = |line: &'_ str| -> Option<usize> {
        let rest = line.trim_start().strip_prefix("pub ")?;
        let (kind, name) = rest.split_once(' ')?;
        let is_type = ["struct", "enum", "union", "trait", "type"].contains(&kind);
        is_type.then(|| line.len() - name.len())
    };
    let end = |name: &str| name.find(|c: char| !c.is_alphanumeric()).unwrap_or(name.len());
    let of = |line| name(line).map(|at| &line[at..at + end(&line[at..])]);
    // Those that macros make have no name there.
    source.lines().filter_map(of).filter(|name| !name.is_empty()).collect()
}

fn walk(dir: &Path, all: &mut BTreeMap<String, Vec<String>>) {
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let path = entry.path();
        // A link leads to sources of the kernel's build.
        if entry.file_type().unwrap().is_symlink() {
            continue;
        }
        if path.is_dir() {
            walk(&path, all);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            for name in names(&fs::read_to_string(&path).unwrap()) {
                all.entry(name.into()).or_default().push(path.display().to_string());
            }
        }
    }
}

#[test]
fn a_public_type_has_a_name_of_its_own() {
    let mut all = BTreeMap::new();
    for dir in SOURCES {
        walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join(dir), &mut all);
    }
    assert!(all.len() > 150, "only {} names are found", all.len());
    all.retain(|_, places| places.len() > 1);
    let twice: BTreeSet<&str> = TWICE.split_whitespace().collect();
    let new: Vec<_> = all.iter().filter(|(name, _)| !twice.contains(&***name)).collect();
    assert!(new.is_empty(), "{new:#?}");
    let gone: Vec<_> = twice.iter().filter(|name| !all.contains_key(**name)).collect();
    assert!(gone.is_empty(), "no longer there twice, so not to be listed: {gone:?}");
}

#[test]
fn names_of_types_are_found() {
    let source = "pub struct A;\n    pub enum B<'a> {\npub type C = A;\nstruct D;\npub fn e() {}\n";
    assert_eq!(names(source), BTreeSet::from(["A", "B", "C"]));
}
