// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Finds the side tables of a snapshot's images, and makes call sites out of them.
//!
//! A table is used only if its build ID is the image's. One of another build is refused, with both
//! IDs named. Tables come from files and directories that the user names (`.blogfmt`, or the ELF
//! images themselves, also packed), then from `/lib/modules/*/blog`, then by the build ID itself:
//! from a directory `.build-id` as debuggers have it, and from debuginfod.

use std::{
    collections::{HashMap, HashSet},
    ffi::OsStr,
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, OnceLock},
};

use crate::{
    blogfmt::{
        bytes::hex,
        elf::{self, Elf},
        format::{self, Head, Table},
        image,
        source::Source,
    },
    error::Error,
    format::{template::Template, types::Types},
    snapshot::text,
    unpack,
    wire::file::Image,
};

/// As deep does the search go into a directory.
const MAX_DEPTH: usize = 12;
/// An image that is larger when it is unpacked is none.
const UNPACKED_MAX: u64 = 1 << 30;
/// Where debuggers have what belongs to a build ID.
const BUILD_ID: &str = ".build-id";
const DEBUG: &str = "/usr/lib/debug";
/// Where debuginfod is asked, and the program that does.
const DEBUGINFOD: &str = "DEBUGINFOD_URLS";
const FIND: &str = "debuginfod-find";
/// What is asked for: a module's table alone, which is small, and then whole files.
const KINDS: [(&str, &[&str]); 3] =
    [("section", &[image::TABLE_SECTION]), ("executable", &[]), ("debuginfo", &[])];
/// Limits of a download, unless the user has set others: seconds, and how often it is tried again.
const LIMITS: [(&str, &str); 2] = [("DEBUGINFOD_MAXTIME", "600"), ("DEBUGINFOD_RETRY_LIMIT", "0")];
/// The shell starts the program, and no file of it gets larger than 2 GiB, in blocks of 512 bytes: a
/// server may send any number of bytes. Without a signal it notices, and removes the file.
const BOUNDED: &str = "ulimit -S -f 4194304 2>/dev/null; trap '' XFSZ; exec \"$0\" \"$@\"";

/// A call site, ready to decode.
#[derive(Debug)]
pub struct Site {
    /// Level, 1 to 5.
    pub level: u8,
    /// Line of the call.
    pub line: u32,
    /// Source file.
    pub file: String,
    /// Module path.
    pub module: String,
    /// The function that has its code, empty where it isn't known. If the call's function was
    /// inlined, this is the one that has it.
    pub function: String,
    /// What its subsystem calls this kind of message, or empty.
    pub class: String,
    /// Format string.
    pub format: String,
    /// Names of the arguments' types.
    pub types: Vec<String>,
    /// How to print a record, or why that is impossible.
    pub template: Result<Template, Error>,
    /// What is the same in JSON for all its records, once one was printed.
    pub json: OnceLock<Prepared>,
}

impl Site {
    /// What is known of where it is, beside module, file and line, by name.
    pub fn place(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [("function", &self.function), ("class", &self.class)];
        let known = all.into_iter().filter(|(_, text)| !text.is_empty());
        known.map(|(name, text)| (name, text.as_str()))
    }
}

/// What is the same in the output for all records of a call site.
#[derive(Debug, Default)]
pub struct Prepared {
    /// Up to the message.
    pub site: Vec<u8>,
    /// Up to the value of each argument.
    pub arguments: Vec<Vec<u8>>,
}

/// The sites of an image.
#[derive(Debug)]
pub struct Sites {
    /// Where they come from.
    pub origin: PathBuf,
    /// Kernel release.
    pub release: String,
    /// Sites by index.
    pub sites: Vec<Site>,
}

impl Sites {
    /// Compiles a table.
    pub fn new(table: Table, origin: PathBuf) -> Self {
        let mut resolver = Types::new(&table.types);
        let mut sites = Vec::with_capacity(table.sites.len());
        for s in table.sites {
            let types = s.codes.iter().map(|&c| resolver.name(c)).collect();
            let template = s
                .codes
                .iter()
                .map(|&c| resolver.resolve(c))
                .collect::<Result<Vec<_>, _>>()
                .and_then(|types| match s.is_c {
                    true => Template::new_c(&s.format, s.names, &s.codes, types),
                    false => Template::new(&s.format, s.names, types),
                });
            sites.push(Site {
                level: s.level,
                line: s.line,
                file: s.file,
                module: s.module,
                function: function(&s.place.function),
                class: s.place.class,
                format: s.format,
                types,
                template,
                json: OnceLock::new(),
            });
        }
        Self { origin, release: table.release, sites }
    }
}

/// The name of a function by its symbol: that of Rust is a path, and the compiler gives a part of a
/// function in C a suffix.
fn function(symbol: &str) -> String {
    match rustc_demangle::try_demangle(symbol) {
        Ok(path) => format!("{path:#}"),
        Err(_) => symbol.split('.').next().unwrap_or_default().to_owned(),
    }
}

/// The build ID of an image.
pub fn build_id(image: &Image) -> &[u8] {
    let len = (image.build_id_len as usize).min(image.build_id.len());
    &image.build_id[..len]
}

/// Side tables by build ID, and what was wrong with others.
#[derive(Default)]
pub struct Tables {
    found: HashMap<Vec<u8>, Arc<Sites>>,
    /// What the user should know, in the order in which it was found.
    pub problems: Vec<Problem>,
    /// Where it was looked for those that aren't there.
    pub searched: Vec<String>,
}

/// A table that is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Which, and why.
    pub text: String,
    /// Whether the result is the worse for it. Not so for an image that has no records.
    pub grave: bool,
}

/// Images that a table is wanted for: build ID to (name, number of sites if that is known).
struct Wanted {
    by_id: HashMap<Vec<u8>, (String, Option<u32>)>,
}

impl Wanted {
    fn new<'a>(images: impl Iterator<Item = &'a Image>) -> Self {
        let by_id = images
            .filter(|i| i.count > 0 && i.build_id_len > 0)
            .map(|i| (build_id(i).to_vec(), (text(&i.name), Some(i.count))))
            .collect();
        Self { by_id }
    }

    /// Whether a file isn't packed, or has the name of an image.
    fn unpacks(&self, path: &Path) -> bool {
        !is_packed_name(path) || self.names(path)
    }

    /// Whether a file has the name of an image.
    fn names(&self, path: &Path) -> bool {
        let name = stem(path);
        self.by_id.values().any(|(wanted, _)| *wanted == name)
    }

    /// What to say of an explicitly given table that no image has the build ID of.
    fn refusal(&self, name: &str, id: &[u8]) -> (String, bool) {
        let ids: Vec<String> =
            self.by_id.iter().filter(|(_, (n, _))| n == name).map(|(id, _)| hex(id)).collect();
        let id = hex(id);
        if ids.is_empty() {
            let text = format!("{name} (build ID {id}) has no sites in the snapshot: not used");
            (text, false)
        } else {
            let text = format!(
                "of another build: the table's {name} has build ID {id}, the snapshot's has {}: \
                 refused",
                ids.join(", ")
            );
            (text, true)
        }
    }
}

impl Tables {
    /// Loads the tables of these images: first those that their files have, their `own` ones; then
    /// from `paths`, from the directories `beside`, from `modules` itself and `modules/*/blog`, and
    /// then from wherever they are by build ID or by name.
    pub fn load<'a>(
        images: impl Iterator<Item = &'a Image>,
        own: impl Iterator<Item = &'a Vec<u8>>,
        paths: &[PathBuf],
        beside: &[PathBuf],
        modules: Option<&Path>,
    ) -> Self {
        let wanted = Wanted::new(images);
        let mut this = Self::default();
        for bytes in own {
            let path = Path::new("side table in the file");
            // Each file of a recording has it.
            if Head::parse(bytes).is_ok_and(|head| this.found.contains_key(&head.build_id)) {
                continue;
            }
            let table = Table::decode(bytes).map_err(Error::File);
            if let Err(e) = table.and_then(|table| this.add(path, table, &wanted)) {
                this.problem(path, &e.to_string(), true);
            }
        }
        this.look_for(&wanted, paths, beside, modules);
        this
    }

    /// Loads what is wanted from all places but the files' own tables.
    fn look_for(
        &mut self,
        wanted: &Wanted,
        paths: &[PathBuf],
        beside: &[PathBuf],
        modules: Option<&Path>,
    ) {
        for path in paths {
            self.searched.push(path.display().to_string());
            if path.is_dir() {
                self.search(path, wanted);
                self.by_id(path, wanted);
            } else if let Err((e, grave)) = self.load_named(path, wanted) {
                self.problem(path, &e, grave);
            }
        }
        for dir in beside {
            self.beside(dir, wanted);
        }
        if let Some(modules) = modules {
            let name = modules.display();
            // A copy of one release's directory
            if !files_in(modules, |path| wanted.names(path)).is_empty() {
                self.beside(modules, wanted);
            }
            self.searched.push(format!("{name}/*/blog"));
            let mut releases: Vec<PathBuf> = match fs::read_dir(modules) {
                Ok(dir) => dir.flatten().map(|e| e.path().join("blog")).collect(),
                Err(_) => Vec::new(),
            };
            releases.sort();
            for dir in releases {
                if self.has_all(wanted) {
                    break;
                }
                if dir.is_dir() {
                    self.search(&dir, wanted);
                }
            }
            self.searched.push(format!("{DEBUG}/{BUILD_ID}"));
            self.by_id(Path::new(DEBUG), wanted);
            self.searched.push(format!("modules in {name}"));
            for dir in [modules, &Path::new(DEBUG).join("lib/modules")] {
                self.by_name(dir, wanted);
            }
            if asks() {
                self.searched.push("debuginfod".into());
                self.ask(wanted);
            }
        }
    }

    /// Build IDs without a table.
    fn missing(&self, wanted: &Wanted) -> Vec<Vec<u8>> {
        let missing = wanted.by_id.keys();
        missing.filter(|id| !self.found.contains_key(*id)).cloned().collect()
    }

    /// Loads what has the name of its build ID, in a directory like `/usr/lib/debug`.
    fn by_id(&mut self, dir: &Path, wanted: &Wanted) {
        for id in self.missing(wanted) {
            by_id(dir, &id).find(|path| self.try_file(path, wanted));
        }
    }

    /// Asks debuginfod for images without a table.
    fn ask(&mut self, wanted: &Wanted) {
        for id in self.missing(wanted) {
            for kind in KINDS {
                let path = match ask(kind, &id) {
                    Ok(Some(path)) => path,
                    Ok(None) => continue,
                    // The same servers would make the next image wait, too.
                    Err(e) => return self.problem(Path::new(FIND), &e, false),
                };
                match self.try_one(&path, wanted) {
                    Ok(true) => break,
                    Ok(false) => {}
                    Err(e) => self.problem(&path, &format!("from debuginfod: {e}"), false),
                }
            }
        }
    }

    /// Looks at the tables and images in a directory, but not in those in it: what stands beside a
    /// snapshot may be anything.
    fn beside(&mut self, dir: &Path, wanted: &Wanted) {
        if self.has_all(wanted) {
            return;
        }
        self.searched.push(dir.display().to_string());
        for path in files_in(dir, |path| wanted.names(path)) {
            self.try_file(&path, wanted);
        }
    }

    /// Looks for images by their names, in a directory and those in it.
    fn by_name(&mut self, dir: &Path, wanted: &Wanted) {
        let mut files = Files::new(under_releases(dir));
        while !self.has_all(wanted) {
            let Some(path) = files.next() else { break };
            if wanted.names(&path) {
                self.try_file(&path, wanted);
            }
        }
    }

    /// Loads a file if it is wanted; the answer is whether that was it.
    fn try_file(&mut self, path: &Path, wanted: &Wanted) -> bool {
        self.try_one(path, wanted).unwrap_or_else(|e| {
            // A file of this name may be anything. If its table was wanted, records lack theirs.
            if !matches!(e, Error::NotOurs(_)) {
                self.problem(path, &e.to_string(), false);
            }
            false
        })
    }

    fn try_one(&mut self, path: &Path, wanted: &Wanted) -> Result<bool, Error> {
        // One of many: only what is wanted and wrong matters.
        let table =
            read_table(path, |id| wanted.by_id.contains_key(id) && !self.found.contains_key(id))?;
        match table {
            Some(table) => self.add(path, table, wanted).map(|()| true),
            None => Ok(false),
        }
    }

    fn problem(&mut self, path: &Path, what: &str, grave: bool) {
        self.problems.push(Problem { text: format!("{}: {what}", path.display()), grave });
    }

    fn has_all(&self, wanted: &Wanted) -> bool {
        wanted.by_id.keys().all(|id| self.found.contains_key(id))
    }

    /// The sites of the image with this build ID.
    pub fn get(&self, build_id: &[u8]) -> Option<&Arc<Sites>> {
        self.found.get(build_id)
    }

    /// Loads a file that the user has named: what is wrong with it is an error.
    fn load_named(&mut self, path: &Path, wanted: &Wanted) -> Result<(), (String, bool)> {
        let table = match read_table(path, |_| true).map_err(|e| (e.into(), true))? {
            Some(table) => table,
            None => return Err(("has no call sites: not used".into(), false)),
        };
        if !wanted.by_id.contains_key(&table.build_id) {
            return Err(wanted.refusal(&table.name, &table.build_id));
        }
        self.add(path, table, wanted).map_err(|e| (e.into(), true))
    }

    fn add(&mut self, path: &Path, table: Table, wanted: &Wanted) -> Result<(), Error> {
        let Some((name, count)) = wanted.by_id.get(&table.build_id) else {
            return Ok(());
        };
        if let Some(count) = count.filter(|count| table.sites.len() != *count as usize) {
            return Err(Error::File(format!(
                "{} sites, but the snapshot says {count} for {name}, build ID {}: refused",
                table.sites.len(),
                table.build_id_hex()
            )));
        }
        let id = table.build_id.clone();
        self.found.entry(id).or_insert_with(|| Arc::new(Sites::new(table, path.to_owned())));
        Ok(())
    }

    /// Loads what is wanted from a directory and those in it.
    fn search(&mut self, dir: &Path, wanted: &Wanted) {
        let mut files = Files::new(vec![dir.to_owned()]);
        while !self.has_all(wanted) {
            let Some(path) = files.next() else { break };
            if wanted.unpacks(&path) {
                self.try_file(&path, wanted);
            }
        }
        for (dir, e) in files.problems {
            self.problem(&dir, &e.to_string(), false);
        }
    }
}

/// The side tables in a directory, and the images with names that are `wanted`.
fn files_in(dir: &Path, wanted: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .map(|e| e.path())
        .filter(|path| may_be_table(path) && (is_table_name(path) || wanted(path)))
        .collect();
    files.sort();
    files
}

/// The table of this build, from where [`Tables::load`] would have it.
pub fn find_file(
    build_id: &[u8],
    name: &str,
    paths: &[PathBuf],
    beside: &[PathBuf],
    modules: &Path,
) -> Option<Table> {
    let by_id = HashMap::from([(build_id.to_vec(), (name.to_owned(), None))]);
    let mut tables = Tables::default();
    tables.look_for(&Wanted { by_id }, paths, beside, Some(modules));
    read_table(&tables.get(build_id)?.origin, |id| id == build_id).ok()?
}

/// What is installed for each release in a directory like `/lib/modules`: not the directories that links
/// lead to, as `build` and `source`, which are whole trees of sources.
fn under_releases(modules: &Path) -> Vec<PathBuf> {
    let list = |dir: &Path| fs::read_dir(dir).into_iter().flatten().flatten();
    let is_link = |e: &fs::DirEntry| e.file_type().is_ok_and(|kind| kind.is_symlink());
    let releases = list(modules).map(|e| e.path());
    let mut all: Vec<PathBuf> = releases
        .flat_map(|release| list(&release).map(|e| (is_link(&e), e.path())))
        .filter(|(is_link, path)| match path.is_dir() {
            true => !is_link,
            false => may_be_table(path),
        })
        .map(|(_, path)| path)
        .collect();
    all.sort();
    all
}

/// Files that have the name of a build ID, in a directory like `/usr/lib/debug`.
fn by_id(dir: &Path, id: &[u8]) -> impl Iterator<Item = PathBuf> {
    let name = hex(id);
    let (first, rest) = name.split_at(name.len().min(2));
    let dir = dir.join(BUILD_ID).join(first);
    ["", ".debug", ".blogfmt"]
        .map(|end| dir.join(format!("{rest}{end}")))
        .into_iter()
        .filter(|path| path.is_file())
}

/// Whether debuginfod is asked.
fn asks() -> bool {
    std::env::var_os(DEBUGINFOD).is_some_and(|urls| !urls.is_empty())
}

/// Asks debuginfod, by elfutils' program. `None`: no server has it.
fn ask((kind, more): (&str, &[&str]), id: &[u8]) -> Result<Option<PathBuf>, String> {
    let mut find = Command::new("sh");
    find.args(["-c", BOUNDED, FIND, kind, &hex(id)]).args(more);
    find.env("LC_ALL", "C").stdin(Stdio::null());
    for (name, limit) in LIMITS {
        if std::env::var_os(name).is_none() {
            find.env(name, limit);
        }
    }
    let output = find.output().map_err(|e| e.to_string())?;
    if output.status.success() {
        let path = output.stdout.trim_ascii_end();
        return Ok(Some(OsStr::from_bytes(path).into()));
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().last().unwrap_or_default();
    match last.strip_prefix("Server query failed: ") {
        _ if output.status.code() == Some(127) => {
            Err("not installed: it comes with elfutils; or unset DEBUGINFOD_URLS".into())
        }
        Some("Timer expired") => {
            Err("no answer in time: DEBUGINFOD_TIMEOUT and DEBUGINFOD_MAXTIME are its limits"
                .into())
        }
        Some(why) if why != "No such file or directory" => Err(why.into()),
        _ => Ok(None),
    }
}

/// Files that may be tables, in directories and those in them; and those that are named.
struct Files {
    todo: Vec<(PathBuf, usize)>,
    seen: HashSet<PathBuf>,
    /// Directories that can't be read.
    problems: Vec<(PathBuf, io::Error)>,
}

impl Files {
    fn new(mut paths: Vec<PathBuf>) -> Self {
        paths.reverse();
        Self {
            todo: paths.into_iter().map(|path| (path, 0)).collect(),
            seen: HashSet::new(),
            problems: Vec::new(),
        }
    }

    fn next(&mut self) -> Option<PathBuf> {
        while let Some((path, depth)) = self.todo.pop() {
            if !path.is_dir() {
                return Some(path);
            }
            // Links can lead in circles.
            let real = fs::canonicalize(&path);
            if depth > MAX_DEPTH || !real.is_ok_and(|real| self.seen.insert(real)) {
                continue;
            }
            let mut entries: Vec<PathBuf> = match fs::read_dir(&path) {
                Ok(entries) => entries.flatten().map(|e| e.path()).collect(),
                Err(e) => {
                    self.problems.push((path, e));
                    continue;
                }
            };
            // Its files come first, each in the order of names.
            entries.retain(|path| path.is_dir() || may_be_table(path));
            entries.sort_by_cached_key(|path| (!path.is_dir(), path.clone()));
            let files = entries.partition_point(|path| path.is_dir());
            entries[files..].reverse();
            self.todo.extend(entries.into_iter().map(|path| (path, depth + 1)));
        }
        None
    }
}

fn is_packed_name(path: &Path) -> bool {
    let extension = path.extension().and_then(|e| e.to_str());
    extension.is_some_and(|e| unpack::EXTENSIONS.contains(&e))
}

/// The name of a file as if it weren't packed.
fn unpacked_name(path: &Path) -> PathBuf {
    let name = match is_packed_name(path) {
        true => path.file_stem(),
        false => path.file_name(),
    };
    name.unwrap_or_default().into()
}

/// The name of the image in a file, as in lsmod: `NAME.ko`, with `.debug` if it is the debug
/// information alone; of a kernel `vmlinux-RELEASE` and the like.
fn stem(path: &Path) -> String {
    let name = unpacked_name(path);
    let name = name.to_string_lossy();
    let name = name.strip_suffix(".debug").unwrap_or(&name);
    if is_kernel_name(name) {
        return VMLINUX.into();
    }
    let name = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    name.replace('-', "_")
}

const VMLINUX: &str = "vmlinux";

fn is_kernel_name(name: &str) -> bool {
    let rest = name.strip_prefix(VMLINUX);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.']))
        && !name.ends_with(format::EXTENSION)
}

fn is_table_name(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == format::EXTENSION)
}

fn may_be_table(path: &Path) -> bool {
    let name = unpacked_name(path);
    let is_image = |e: &std::ffi::OsStr| e == "ko" || e == "debug";
    is_table_name(&name)
        || name.extension().is_some_and(is_image)
        || name.to_str().is_some_and(is_kernel_name)
}

/// Opens a file; one that is packed is unpacked in memory.
fn open(path: &Path) -> std::io::Result<Source> {
    let source = Source::open(path)?;
    match unpack::is_packed(path)? {
        true => Ok(Source::Memory(unpack::read(path, UNPACKED_MAX)?)),
        false => Ok(source),
    }
}

/// Reads a table out of a side table file or an ELF image. `None`: `want` says no to its build
/// ID, or it has no call sites.
pub fn read_table(path: &Path, want: impl Fn(&[u8]) -> bool) -> Result<Option<Table>, Error> {
    let source = open(path)?;
    let mut start = [0; format::HEADER_SIZE];
    let n = source.read_some(0, &mut start)?;
    let start = &start[..n];
    if format::is_table(start) {
        if !want(&Head::parse(start).map_err(Error::File)?.build_id) {
            return Ok(None);
        }
        let bytes = source.read(0, source.size(), format::FILE_MAX)?.ok_or_else(|| {
            Error::File(format!("larger than {} bytes, the limit", format::FILE_MAX))
        })?;
        return Table::decode(&bytes).map(Some).map_err(Error::File);
    }
    if elf::is_elf(start) {
        let again = match &source {
            Source::Memory(bytes) => Source::Memory(bytes.clone()),
            _ => Source::open(path)?,
        };
        let id = Elf::open(again).and_then(|elf| elf.build_id()).map_err(Error::File)?;
        // Without a build ID it is no image's, as the vmlinux.o of a kernel's build.
        if !want(id.as_deref().unwrap_or_default()) {
            return Ok(None);
        }
        return image::read(source, &stem(path)).map_err(Error::File);
    }
    Err(match start {
        [] => Error::File("the file is empty".into()),
        _ => Error::NotOurs("neither a BLog side table nor an ELF image".into()),
    })
}

/// Site ids of one snapshot.
pub struct SiteMap {
    /// (first id, count, index into `images`), by first id.
    ranges: Vec<(u32, u32, usize)>,
    /// Images of the snapshot.
    pub images: Vec<ImageSites>,
}

/// An image of a snapshot, with its sites if they are known.
pub struct ImageSites {
    /// `vmlinux` or the module's name.
    pub name: String,
    /// Build ID in hex.
    pub build_id: String,
    /// Sites by index.
    pub sites: Option<Arc<Sites>>,
}

/// What a site id leads to.
#[derive(Clone, Copy)]
pub struct Found<'a> {
    /// Index of the image in the snapshot.
    pub image_index: usize,
    /// The image.
    pub image: &'a ImageSites,
    /// Index of the site in the image.
    pub index: u32,
    /// The site, if its image's table is there.
    pub site: Option<&'a Site>,
}

impl SiteMap {
    /// Makes the map of a snapshot's images.
    pub fn new(images: &[Image], tables: &Tables) -> Self {
        let mut ranges: Vec<_> = images
            .iter()
            .enumerate()
            // One that has none is gone, and its ids may be another's now.
            .filter(|(_, image)| image.count != 0)
            .map(|(i, image)| (image.first, image.count, i))
            .collect();
        ranges.sort_unstable();
        let images = images
            .iter()
            .map(|image| ImageSites {
                name: text(&image.name),
                build_id: hex(build_id(image)),
                sites: tables.get(build_id(image)).cloned(),
            })
            .collect();
        Self { ranges, images }
    }

    /// The sites of a table that belongs to no snapshot.
    pub fn image(table: Table, path: &Path) -> ImageSites {
        ImageSites {
            name: table.name.clone(),
            build_id: table.build_id_hex(),
            sites: Some(Arc::new(Sites::new(table, path.to_owned()))),
        }
    }

    /// The image and site that an id stands for. `None`: in no image's range.
    pub fn find(&self, id: u32) -> Option<Found<'_>> {
        let i = self.ranges.partition_point(|&(first, ..)| first <= id);
        let &(first, count, image) = self.ranges.get(i.checked_sub(1)?)?;
        let index = id - first;
        if index >= count {
            return None;
        }
        let image_index = image;
        let image = self.images.get(image_index)?;
        let site = image.sites.as_ref().and_then(|s| s.sites.get(index as usize));
        Some(Found { image_index, image, index, site })
    }
}
