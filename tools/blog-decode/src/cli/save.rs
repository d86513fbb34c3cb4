// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! `save`: one file that any machine can decode.
//!
//! It has snapshots and streams as they are, and further sections: the side tables of their images,
//! the kernel log, settings and versions. All of it is packed by gzip. A table stands before the
//! section that names its image, so of a file that is cut off, the rest decodes.

use std::{
    collections::{BTreeSet, HashMap},
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, ErrorKind, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use rustix::fs::OFlags;

use super::{
    args::{Save, Show, TablePaths},
    atomic_output,
    extract::{self, with_dumps},
    input::Input,
    local_system::MODULE,
    poll::{Signals, CHUNK},
    report::{complain, print_all, Failure, Status},
    session::grouped,
};
use crate::{
    accounts::damage_text,
    blogfmt::{bytes::hex, format::Table},
    captures::beside,
    error::Error,
    output::text::escape_from,
    record::{Item, Version, Walk},
    sidetable::{build_id, find_file, SiteMap, Tables},
    snapshot::{
        split::{header, is_sound, pieces, seal, section as made, Split},
        text, Snapshot, SECTION_HEADER,
    },
    unpack::{self, Packer},
    vmcore,
    wire::{
        file::{Image, Kind, Page, SectionHeader, System, FLAG_STREAM, SECTION_MAX},
        page::PageInfo,
        types::{TypeCode, PRIVATE},
    },
};

/// The kernel's log, of this system.
const KERNEL_LOG: &str = "/dev/kmsg";
/// As much of it is in a section, and a line.
const LOG_PART: usize = 1 << 20;
/// Where the kernel says what it is.
const VERSION_FILE: &str = "/proc/version";
/// Files of BLog with settings, and of each component.
const SETTINGS: [&str; 2] = ["control", "stats"];
const OF_COMPONENT: [&str; 10] = [
    "enable",
    "level",
    "mode",
    "private",
    "size_kb",
    "ring_kb",
    "warn_share",
    "probes",
    "trigger",
    "stats",
];
/// Of a settings file, no more is read.
const SETTING_MAX: u64 = 1 << 20;

/// Saves.
pub fn save(args: &Save) -> Result<Status, Failure> {
    args.input.tables.check()?;
    let (dumps, others) = with_dumps(&args.input.snapshots, &args.input.sources.vmcore);
    let dumps = vmcore::dumps(&dumps);
    let is_live = args.input.is_live();
    let (mut files, mut tables, mut status) =
        (Vec::new(), args.input.tables.clone(), Status::Whole);
    if is_live || !others.is_empty() || !args.input.host.is_empty() {
        (files, tables, status) = Input::read(&args.input.with_files(others))?;
    }
    // Nothing is written so far.
    let signals = Signals::new()?;
    let settings = match is_live {
        true => local_settings(&args.input.sources.blog, args.redact),
        false => String::new(),
    };
    let made = atomic_output::file(&args.output, args.force, |out| {
        let mut saver = Saver::new(args, tables, &signals, Packer::new(out), status);
        saver.settings = format!("blog-decode: {}\n{settings}", env!("CARGO_PKG_VERSION"));
        saver.is_live = is_live;
        for file in &mut files {
            saver.snapshot(file)?;
        }
        for dump in &dumps {
            saver.dump(dump)?;
        }
        let (status, told) = (saver.status, saver.reveals.told(args.redact));
        let done = saver.out.finish();
        done.map_err(|e| e.to_string())?;
        Ok((status, told))
    });
    let (status, told) = match made {
        // The reader has enough.
        Err(e) if e == atomic_output::CLOSED => return Ok(Status::Partial),
        made => made?,
    };
    for what in told {
        complain(&format!("{}: {what}", args.output.display()));
    }
    Ok(status)
}

/// Prints what saved files have besides records.
pub fn about(args: &Show) -> Result<Status, Failure> {
    let (files, _, status) = Input::read(&args.input)?;
    let mut out = String::new();
    for file in &files {
        for line in String::from_utf8_lossy(&file.text(Kind::Settings)?).lines() {
            out.push_str(&format!("{line}\n"));
        }
        for table in file.tables.iter().filter_map(|bytes| Table::decode(bytes).ok()) {
            let (id, sites) = (table.build_id_hex(), table.sites.len());
            out.push_str(&format!("side table: {}, build ID {id}, {sites} sites\n", table.name));
        }
        match log_lines(&file.text(Kind::KernelLog)?) {
            0 => {}
            n => out.push_str(&format!("kernel log: {} lines\n", grouped(n))),
        }
    }
    let printed = print_all(|to| {
        for line in out.lines() {
            let start = to.len();
            to.extend_from_slice(line.as_bytes());
            escape_from(to, start);
            to.push(b'\n');
        }
        Ok(())
    })?;
    Ok(status.max(printed))
}

/// What a reader of the file can see.
#[derive(Default)]
struct Reveals {
    records: u64,
    hosts: BTreeSet<String>,
    tables: usize,
    log_lines: u64,
    has_settings: bool,
    /// Call sites with private arguments, and records.
    private: usize,
}

impl Reveals {
    fn told(&self, redacted: bool) -> [String; 2] {
        let hosts: Vec<_> = self.hosts.iter().map(String::as_str).collect();
        let of = if hosts.is_empty() { String::new() } else { format!(" of {}", hosts.join(", ")) };
        let plural = |n: u64, one: &str| match n {
            1 => format!("1 {one}"),
            n => format!("{} {one}s", grouped(n)),
        };
        let what = format!(
            "{}{of}, {}",
            plural(self.records, "record"),
            plural(self.tables as u64, "side table")
        );
        let mut all = vec!["what drivers have logged, names of tasks, kernel addresses".to_owned()];
        all.extend((!of.is_empty()).then(|| "the name of the machine".into()));
        all.extend(
            (self.log_lines > 0).then(|| plural(self.log_lines, "line") + " of the kernel log"),
        );
        all.extend(self.has_settings.then(|| "settings".into()));
        if self.private > 0 && !redacted {
            let sites = plural(self.private as u64, "call site");
            all.push(format!("private arguments of {sites}, as they were logged"));
        }
        let how = match redacted {
            true => "",
            false => "; --redact leaves out the kernel log, the name of the machine and private arguments",
        };
        [what, format!("its readers see {}{how}", all.join(", "))]
    }
}

/// A file on its way.
struct Saver<'a, W: Write> {
    args: &'a Save,
    paths: TablePaths,
    signals: &'a Signals,
    out: Packer<W>,
    settings: String,
    is_live: bool,
    /// Of the source that is being saved.
    split: Split,
    version: Version,
    host: Option<String>,
    beside: Vec<PathBuf>,
    name: String,
    /// How many images of the source were looked at.
    images: usize,
    /// By build IDs whose tables the file has: which call sites have private arguments.
    private: HashMap<Vec<u8>, Vec<u32>>,
    /// With `--redact`: these tables, the call sites of the source, and whether there are more now.
    tables: Vec<Vec<u8>>,
    map: SiteMap,
    is_old: bool,
    reveals: Reveals,
    status: Status,
}

impl<'a, W: Write> Saver<'a, W> {
    fn new(
        args: &'a Save,
        paths: TablePaths,
        signals: &'a Signals,
        out: Packer<W>,
        status: Status,
    ) -> Self {
        Self {
            args,
            paths,
            signals,
            out,
            settings: String::new(),
            is_live: false,
            split: Split::default(),
            version: Version::default(),
            host: None,
            beside: Vec::new(),
            name: String::new(),
            images: 0,
            private: HashMap::new(),
            tables: Vec::new(),
            map: SiteMap::new(&[], &Tables::default()),
            is_old: false,
            reveals: Reveals::default(),
            status,
        }
    }

    /// Adds a file.
    fn snapshot(&mut self, file: &mut Snapshot) -> Result<(), String> {
        self.start(&file.name);
        if file.damage.any() {
            complain(&format!("{}: {}", file.name, damage_text(&file.damage)));
            self.status = Status::Partial;
        }
        self.host = file.given.then(|| file.host.clone());
        let mut at = file.check_header()?;
        let header = match file.damage.bad_header {
            // A snapshot has an end.
            true => {
                header(file.version, if file.damage.cut_off { FLAG_STREAM } else { 0 }).to_vec()
            }
            false => {
                let mut header = vec![0; at as usize];
                file.read_some(0, &mut header)?;
                header
            }
        };
        self.head(&header, file.version)?;
        let mut buffer = vec![0; CHUNK];
        while at < file.size() {
            let left = (file.size() - at).min(CHUNK as u64) as usize;
            let n = file.read_some(at, &mut buffer[..left])?;
            if n == 0 {
                break;
            }
            self.feed(&buffer[..n])?;
            at += n as u64;
        }
        self.end()
    }

    /// Adds a crash dump, which needs no memory for what it has.
    fn dump(&mut self, dump: &[PathBuf]) -> Result<(), String> {
        let name = extract::name(dump);
        self.start(&name);
        let (_, is_whole) = extract::read(dump, self)?;
        if !is_whole {
            self.status = Status::Partial;
        }
        self.end()
    }

    fn start(&mut self, name: &str) {
        self.name = name.to_owned();
        self.beside = beside([Path::new(name)].into_iter());
        self.split = Split::default();
        self.host = None;
        self.images = 0;
    }

    /// Begins with the header of a file, and what the file has besides records.
    fn head(&mut self, header: &[u8], version: Version) -> Result<(), String> {
        self.version = version;
        let mut held = Vec::new();
        self.split.feed(header, &mut held)?;
        self.put(&held)?;
        let settings = std::mem::take(&mut self.settings);
        if settings.is_empty() {
            return Ok(());
        }
        self.add(Kind::Settings, settings.as_bytes())?;
        if self.args.redact {
            return Ok(());
        }
        for path in &self.args.dmesg {
            let told = |e: io::Error| format!("{}: {e}", path.display());
            let input = File::open(path).and_then(unpack::reader).map_err(told)?;
            self.log(BufReader::new(input)).map_err(|e| format!("{}: {e}", path.display()))?;
        }
        if self.is_live && self.args.dmesg.is_empty() {
            let mut options = OpenOptions::new();
            options.read(true).custom_flags(OFlags::NONBLOCK.bits() as i32);
            let log = options.open(KERNEL_LOG).map(|log| BufReader::with_capacity(CHUNK, log));
            match log.map_err(Error::from).and_then(|log| self.log(log)) {
                Ok(()) => {}
                Err(e @ Error::Io(_)) => {
                    complain(&format!("{KERNEL_LOG}: {e}; the file has no kernel log"));
                }
                Err(e) => return Err(e.into()),
            }
        }
        Ok(())
    }

    /// Adds a kernel log, in sections that end with whole lines.
    fn log(&mut self, mut input: impl BufRead) -> Result<(), Error> {
        let mut part = Vec::new();
        loop {
            match input.by_ref().take(LOG_PART as u64).read_until(b'\n', &mut part) {
                Ok(0) => break,
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                // Lines were overwritten meanwhile.
                Err(e) if e.kind() == ErrorKind::BrokenPipe => {}
                Err(e) => return Err(e.into()),
            }
            if part.len() >= LOG_PART {
                self.add(Kind::KernelLog, &part)?;
                part.clear();
            }
        }
        match part.is_empty() {
            true => Ok(()),
            false => self.add(Kind::KernelLog, &part),
        }
    }

    /// Adds a section, where the file is now.
    fn add(&mut self, kind: Kind, payload: &[u8]) -> Result<(), Error> {
        let mut section = Vec::new();
        self.split.add(kind, payload, &mut section)?;
        self.reveals.has_settings |= kind == Kind::Settings;
        if kind == Kind::KernelLog {
            self.reveals.log_lines += log_lines(payload);
        }
        self.put(&section).map_err(Error::File)
    }

    /// Takes in bytes of the source.
    fn feed(&mut self, bytes: &[u8]) -> Result<(), String> {
        if self.signals.asked() {
            return Err("interrupted: nothing was written".into());
        }
        let mut held = Vec::new();
        self.split.feed(bytes, &mut held)?;
        let new = self.split.images.get(self.images..).unwrap_or_default().to_vec();
        self.images += new.len();
        for image in &new {
            self.find_table(image, &mut held)?;
        }
        let mut out = Vec::with_capacity(held.len());
        for (header, piece) in pieces(&held) {
            let at = out.len();
            out.extend_from_slice(piece);
            match header {
                Some(header) => self.section(&header, &mut out, at)?,
                None if self.args.redact => out[at..].fill(0),
                None => {}
            }
        }
        self.put(&out)
    }

    /// Puts the table of an image before what is held.
    fn find_table(&mut self, image: &Image, held: &mut Vec<u8>) -> Result<(), String> {
        let (id, name) = (build_id(image), text(&image.name));
        let is_known = self.private.contains_key(id) || self.split.tables.contains(id);
        if image.count == 0 || id.is_empty() || is_known {
            return Ok(());
        }
        let paths = &self.paths;
        let found = find_file(id, &name, &paths.sidetable, &self.beside, &paths.modules);
        let table = found.filter(|table| table.sites.len() == image.count as usize);
        let bytes = table.and_then(|table| table.encode().ok());
        if let Some(bytes) = bytes.filter(|bytes| bytes.len() as u64 <= SECTION_MAX) {
            self.split.add(Kind::SideTable, &bytes, held)?;
        }
        Ok(())
    }

    /// Notes what a section reveals, which begins at `at` in `out`, and takes out what must not be
    /// there.
    fn section(
        &mut self,
        header: &SectionHeader,
        out: &mut Vec<u8>,
        at: usize,
    ) -> Result<(), String> {
        let redact = self.args.redact;
        let start = at + SECTION_HEADER;
        let payload = &mut out[start..start + header.len as usize];
        if !is_sound(header, payload) {
            if redact {
                payload.fill(0);
            }
            return Ok(());
        }
        match Kind::from_u16(header.kind) {
            Some(Kind::System) => {
                let Some(mut system) = System::read(payload) else { return Ok(()) };
                match &self.host {
                    _ if redact => system.host.fill(0),
                    Some(name) => {
                        system.host.fill(0);
                        system.host.iter_mut().zip(name.bytes()).for_each(|(to, b)| *to = b);
                    }
                    None => {}
                }
                let name = text(&system.host);
                self.reveals.hosts.extend((!name.is_empty()).then_some(name));
                payload.iter_mut().zip(system.bytes()).for_each(|(to, byte)| *to = byte);
            }
            Some(Kind::Table | Kind::SideTable) => {
                let table = Table::decode(payload);
                if let Ok(table) = table.as_ref().map(private_sites) {
                    self.private.entry(table.0).or_insert(table.1);
                    self.reveals.tables = self.private.len();
                    if redact {
                        self.tables.push(payload.to_vec());
                        self.is_old = true;
                    }
                }
            }
            Some(Kind::Images) => self.is_old = true,
            Some(Kind::KernelLog) if redact => {
                out.truncate(at);
                out.extend(made(Kind::KernelLog, &[], header.index));
                return Ok(());
            }
            Some(Kind::KernelLog) => self.reveals.log_lines += log_lines(payload),
            Some(Kind::Settings) => self.reveals.has_settings = true,
            Some(Kind::Page) => {
                let page = payload.get_mut(Page::SIZE..).unwrap_or_default();
                let Some(info) = PageInfo::read(page) else { return Ok(()) };
                self.reveals.records += u64::from(info.records());
                if redact {
                    self.hide_private(&info, page)?;
                }
            }
            // What it has is unknown.
            None if redact => payload.fill(0),
            _ => {}
        }
        seal(&mut out[at..], header.index);
        Ok(())
    }

    /// Takes the values of private arguments out of the records of a page.
    fn hide_private(&mut self, info: &PageInfo, page: &mut [u8]) -> Result<(), String> {
        if std::mem::take(&mut self.is_old) {
            let tables = Tables::load(self.split.images.iter(), self.tables.iter(), &[], &[], None);
            self.map = SiteMap::new(&self.split.images, &tables);
        }
        let mut walk = Walk::new(info, page.len(), self.version);
        let mut slots = Vec::new();
        while let Some(item) = walk.next(page) {
            let Item::Record { site, at, len, .. } = item else { continue };
            let payload = &mut page[at..at + len];
            let found = self.map.find(site);
            if let Some(image) = found.as_ref().filter(|f| f.image.sites.is_none()) {
                let (name, id) = (&image.image.name, &image.image.build_id);
                return Err(format!(
                    "--redact needs the side table of {name}, build ID {id}, to find its private \
                     arguments: name it, or a directory, with --sidetable"
                ));
            }
            let template = found.and_then(|f| f.site).and_then(|site| site.template.as_ref().ok());
            match template {
                Some(template) if !template.has_private() => {}
                Some(template) if template.locate_arguments(payload, self.version, &mut slots) => {
                    template.hide_private(payload, &slots);
                }
                // Nobody can tell what it has.
                _ => payload.fill(0),
            }
        }
        // Damage
        let rest = page.len() - walk.left().min(page.len());
        let end = (info.end() as usize).clamp(rest, page.len());
        page[rest..end].fill(0);
        Ok(())
    }

    /// Ends a source, and says what is missing.
    fn end(&mut self) -> Result<(), String> {
        // What isn't whole at the end is left out.
        self.split.end()?;
        for image in &self.split.images {
            let id = build_id(image);
            let index = |site: &u32| site.wrapping_sub(image.first);
            let own = self.split.sites.iter().map(index).filter(|n| *n < image.count);
            match self.private.get(id) {
                Some(private) => {
                    self.reveals.private += own.filter(|n| private.contains(n)).count();
                }
                None if own.count() > 0 => {
                    complain(&format!(
                        "{}: no side table of {}, build ID {}: its records will not decode elsewhere",
                        self.name,
                        text(&image.name),
                        hex(id)
                    ));
                    self.status = self.status.max(Status::Partial);
                }
                None => {}
            }
        }
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.out.write_all(bytes).map_err(|e| match e.kind() {
            ErrorKind::BrokenPipe => atomic_output::CLOSED.into(),
            // Without the name that the file has meanwhile
            _ => format!(
                "not saved: {}",
                e.to_string().split(" at path ").next().unwrap_or_default()
            ),
        })
    }
}

/// What is extracted from a dump.
impl<W: Write> Write for Saver<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let done = match self.split.has_begun() {
            true => self.feed(bytes),
            // Its header comes first, as a whole.
            false => self.head(bytes, Version::default()),
        };
        done.map(|()| bytes.len()).map_err(io::Error::other)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The build ID of a table, and which of its call sites have private arguments.
fn private_sites(table: &Table) -> (Vec<u8>, Vec<u32>) {
    let is_private = |code: &u64| TypeCode(*code).kind() == PRIVATE;
    let sites = (0..).zip(&table.sites);
    let private = sites.filter(|(_, site)| site.codes.iter().any(is_private));
    (table.build_id.clone(), private.map(|(n, _)| n).collect())
}

/// How many lines of the kernel log it has: further fields of one begin with a blank.
fn log_lines(log: &[u8]) -> u64 {
    let lines = log.split(|byte| *byte == b'\n');
    lines.filter(|line| !line.is_empty() && !line.starts_with(b" ")).count() as u64
}

/// Settings of this system's BLog, and versions: a line each, `NAME: TEXT`.
fn local_settings(blog: &Path, redact: bool) -> String {
    let mut all = String::new();
    let mut add = |path: &Path, name: &str| {
        let mut text = Vec::new();
        // What isn't there, or isn't for this user, is left out.
        let read = File::open(path).and_then(|file| file.take(SETTING_MAX).read_to_end(&mut text));
        for line in String::from_utf8_lossy(&text).lines().filter(|_| read.is_ok()) {
            all.push_str(&format!("{name}: {line}\n"));
        }
    };
    if !redact {
        // The name of the machine that has built it is in that.
        add(Path::new(VERSION_FILE), "kernel");
    }
    let names = |dir: &Path| {
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        let mut names: Vec<_> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    };
    let parameters = Path::new(MODULE).join("parameters");
    for name in names(&parameters) {
        add(&parameters.join(&name), &format!("parameters/{name}"));
    }
    for file in SETTINGS {
        add(&blog.join(file), file);
    }
    for component in names(blog).iter().filter(|name| blog.join(name).is_dir()) {
        for file in OF_COMPONENT {
            let name = format!("{component}/{file}");
            add(&blog.join(&name), &name);
        }
    }
    all
}
