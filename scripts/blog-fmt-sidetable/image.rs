// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! From an ELF image to its side table.
//!
//! In a .ko, `.rela.debug.blog` says for each site descriptor which entry of `.blog_sites` it
//! belongs to. In vmlinux the linker has resolved that to an address, counted from
//! `__start_blog_sites`. Either way the index of the entry is the index of the site in the table.
//!
//! It compiles the formats of C calls. The program of the kernel build stores the result into the
//! image for the calls' writer ([`Word`]).
//!
//! Needs only `std`; the crate `blog-table` links to this file.

use std::collections::{
    BTreeMap,
    HashMap, //
};

use super::{
    bytes::until_nul,
    descriptor::{
        CSite,
        Descriptor,
        Place,
        Site,
        Type,
        Walk,
        C_VERSION, //
    },
    elf::{
        Elf,
        Symbol,
        ET_REL,
        SHF_ALLOC,
        SHT_NOBITS, //
    },
    format::Table,
    printf::{
        self,
        Step,
        What, //
    },
    source::Source, //
};
use crate::wire::{
    pack::Codes,
    record::SITE_ADDRESS,
    types::{
        TypeCode,
        POINTER,
        PRIVATE, //
    }, //
};

/// The section with the descriptors: not loaded. modpost, objcopy and strip take it for debug
/// information by the start of its name; linkers and assemblers compress sections whose names start
/// with `.debug_`, so it is none of these.
pub const FMT_SECTION: &str = ".debug.blog";
/// The section of a .ko with its side table: not loaded. It is no debug information, so that the
/// table stays with the module when DKMS, `INSTALL_MOD_STRIP` or a package's build strip it.
pub const TABLE_SECTION: &str = ".blog.table";
/// The loaded section with the site entries, in a .ko.
pub const SITES_SECTION: &str = ".blog_sites";
/// Size of a site entry.
const ENTRY: u64 = 8;
/// Size of the shortest site descriptor.
const MIN_DESCRIPTOR: u64 = 32;
/// As many sites as the 18 bits of a site id allow, of which 0 is none.
const MAX_SITES: u64 = (1 << 18) - 1;

/// What the image has to say of a C call, and where in its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Where the site's entry is.
    pub entry_at: u64,
    /// The flags of that entry.
    pub flags: u16,
    /// Where the words of codes are.
    pub codes_at: u64,
    /// The codes.
    pub codes: Vec<u8>,
}

/// Where the flags are in an entry.
pub const FLAGS_AT: u64 = 6;

/// What an image leads to.
pub struct Compiled {
    /// The side table.
    pub table: Table,
    /// What is to be stored into the image.
    pub words: Vec<Word>,
    /// Captured calls that are not recorded, and why.
    pub left_out: Vec<String>,
}

/// Reads the side table out of vmlinux or a .ko, or out of a file with their debug information.
/// `None`: the image has no call sites. That it has some, but its table was stripped off, is an
/// error.
///
/// `stem` names the image where it doesn't say its name itself.
pub fn read(source: Source, stem: &str) -> Result<Option<Table>, String> {
    let elf = Elf::open(source)?;
    if let Some(table) = own_table(&elf)? {
        return Ok(Some(table));
    }
    Ok(compile_elf(&elf, stem, false, false)?.map(|compiled| compiled.table))
}

/// Reads the side table, and what is to be stored into the image: nothing if all that it has is the
/// table itself.
///
/// `is_object`: a module will be linked from it, so it may lack a build ID.
pub fn compile(source: Source, stem: &str, is_object: bool) -> Result<Option<Compiled>, String> {
    let elf = Elf::open(source)?;
    if elf.find(FMT_SECTION)?.is_none() {
        if let Some(table) = own_table(&elf)? {
            return Ok(Some(Compiled {
                table,
                words: Vec::new(),
                left_out: Vec::new(),
            }));
        }
    }
    compile_elf(&elf, stem, true, is_object)
}

/// What the table of an image is called, and the image's build ID.
pub fn identity(source: Source, stem: &str) -> Result<(String, Option<Vec<u8>>), String> {
    let elf = Elf::open(source)?;
    Ok((name_of(&elf, stem)?.0, elf.build_id()?))
}

/// The table that a module contains. If it comes from the module's object, it lacks what only the
/// module has.
fn own_table(elf: &Elf) -> Result<Option<Table>, String> {
    let Some(bytes) = elf.data_if_any(TABLE_SECTION)? else {
        return Ok(None);
    };
    let mut table = Table::decode(&bytes).map_err(|e| format!("section {TABLE_SECTION}: {e}"))?;
    match elf.build_id()? {
        Some(id) if table.build_id.is_empty() => {
            table.build_id = id;
            (table.name, table.release) = name_of(elf, &table.name)?;
            Ok(Some(table))
        }
        Some(id) if id != table.build_id => {
            Err(format!("section {TABLE_SECTION} is of another build"))
        }
        _ => Ok(Some(table)),
    }
}

/// That an image without descriptors has no call sites either.
fn check_none(elf: &Elf) -> Result<(), String> {
    let entries = elf.find(SITES_SECTION)?;
    let is_empty = entries.is_none_or(|i| elf.sections[i].size == 0);
    let is_between = |bounds: [Option<Symbol>; 2]| match bounds {
        [Some(start), Some(stop)] => start.value < stop.value,
        _ => false,
    };
    match !is_empty || elf.kind != ET_REL && is_between(elf.symbols(BOUNDS)?) {
        true => Err("has call sites, but no side table: it was stripped off".into()),
        false => Ok(()),
    }
}

fn compile_elf(
    elf: &Elf,
    stem: &str,
    with_words: bool,
    is_object: bool,
) -> Result<Option<Compiled>, String> {
    let Some(fmt_index) = elf.find(FMT_SECTION)? else {
        return check_none(elf).map(|()| None);
    };
    let fmt = elf.data(&elf.sections[fmt_index])?;
    if fmt.is_empty() {
        return check_none(elf).map(|()| None);
    }
    let build_id = match elf.build_id()? {
        Some(id) => id,
        None if is_object => Vec::new(),
        None => {
            return Err(
                "no build ID (link with --build-id): a table without one could never be found"
                    .into(),
            );
        }
    };

    let places = if elf.kind == ET_REL {
        Places::relocated(elf, fmt_index)?
    } else {
        Places::linked(elf)?
    };
    let count = places.count();
    if count > MAX_SITES {
        return Err(format!("{count} sites; ids have 18 bits"));
    }
    if count > fmt.len() as u64 / MIN_DESCRIPTOR {
        return Err(format!("{count} sites, but fewer descriptors"));
    }

    let mut sites: Vec<Option<Site>> = vec![None; count as usize];
    let mut types: BTreeMap<u64, Type> = BTreeMap::new();
    let mut words = Vec::new();
    let mut site_places: HashMap<u64, Place> = HashMap::new();
    let functions = Functions::of(elf)?;
    let (mut refused, mut left_out) = (Vec::new(), Vec::new());
    for descriptor in Walk::new(&fmt) {
        let (site, reference_at, reference) =
            match descriptor.map_err(|e| format!("{FMT_SECTION}: {e}"))? {
                Descriptor::Type(t) => {
                    // Generic code and several codegen units can repeat one.
                    if types.get(&t.code).is_some_and(|old| *old != t) {
                        return Err(format!(
                            "two types share the code {:#x}: {}",
                            t.code, t.name
                        ));
                    }
                    types.insert(t.code, t);
                    continue;
                }
                Descriptor::Place {
                    place,
                    references_at,
                    references,
                } => {
                    let [entry, code] = [0, 1].map(|i| (references_at[i] as u64, references[i]));
                    let Some(index) = places.index(entry.0, entry.1) else {
                        return Err(format!("{FMT_SECTION}: the place of no site"));
                    };
                    let function = places.target(code.0, code.1);
                    let function = function.and_then(|at| functions.name(at));
                    let function = function.unwrap_or_default();
                    site_places.insert(index, Place { function, ..place });
                    continue;
                }
                Descriptor::Site {
                    site,
                    reference_at,
                    reference,
                } => (site, reference_at, reference),
                Descriptor::C {
                    site,
                    references_at,
                    references,
                } => {
                    let at = format!("{}:{}", site.file, site.line);
                    if with_words && site.version != C_VERSION {
                        return Err(format!("{at}: is built with another <linux/blog_call.h>"));
                    }
                    let size = if site.has_many { 16 } else { 8 };
                    let (site, compiled) = match compile_site(&site) {
                        Ok((site, compiled)) => (site, Some(compiled)),
                        Err(e) if site.is_captured => {
                            left_out.push(format!("{at}: {e}"));
                            (uncompiled(site), None)
                        }
                        Err(e) => {
                            refused.push(format!("{at}: {e}"));
                            continue;
                        }
                    };
                    let place = |(i, size): (usize, usize)| {
                        places.in_file(elf, references_at[i] as u64, references[i], size as u64)
                    };
                    if with_words {
                        let [entry_at, codes_at] = [(0, 8), (1, size)].map(place);
                        let (Some(entry_at), Some(codes_at)) = (entry_at, codes_at) else {
                            return Err(format!("{at}: refers to no entry or no codes"));
                        };
                        // What isn't recorded keeps the codes that stand for no record.
                        let codes = compiled.as_ref().map_or(u128::MAX, |c| c.codes.0);
                        words.push(Word {
                            entry_at,
                            flags: compiled.as_ref().map_or(0, flags),
                            codes_at,
                            codes: codes.to_le_bytes()[..size].to_vec(),
                        });
                    }
                    (site, references_at[0], references[0])
                }
            };
        let at = || format!("{}:{}", site.file, site.line);
        let index = places
            .index(reference_at as u64, reference)
            .ok_or_else(|| format!("{}: refers to no entry of {SITES_SECTION}", at()))?;
        let slot = sites
            .get_mut(index as usize)
            .ok_or_else(|| format!("{}: entry {index} of {count}", at()))?;
        if let Some(old) = slot {
            return Err(format!(
                "{}:{} and {} share site {index}",
                old.file,
                old.line,
                at()
            ));
        }
        *slot = Some(site);
    }
    if !refused.is_empty() {
        return Err(format!(
            "formats that can't be logged:\n{}",
            refused.join("\n")
        ));
    }
    let sites = sites
        .into_iter()
        .enumerate()
        .map(|(i, s)| {
            let mut site = s.ok_or_else(|| format!("site {i} of {count} has no descriptor"))?;
            site.place = site_places.remove(&(i as u64)).unwrap_or_default();
            Ok(site)
        })
        .collect::<Result<_, String>>()?;

    let (name, release) = name_of(elf, stem)?;
    let table = Table {
        build_id,
        release,
        arch: arch(elf.machine),
        name,
        types: types.into_values().collect(),
        sites,
    };
    Ok(Some(Compiled {
        table,
        words,
        left_out,
    }))
}

/// A captured call that is not recorded.
fn uncompiled(site: CSite) -> Site {
    Site {
        line: site.line,
        level: site.level,
        format: format!("{} (not recorded)", site.format.replace('%', "%%")),
        file: site.file,
        module: site.module,
        is_c: true,
        ..Site::default()
    }
}

/// Longest name of a function that is stored: those of Rust are long.
const FUNCTION_MAX: usize = 1024;

/// No name of an argument is longer: macros make long texts of some.
const NAME_MAX: usize = 60;

/// The flags of a site: whether an address is among what is stored. It may be where a symbol is to
/// be, too: of what is none, the kernel gives the address as text.
fn flags(compiled: &printf::Compiled) -> u16 {
    let is_symbol = |step: &Step| match step {
        Step::Value { conversion, .. } => match &conversion.what {
            What::Pointer(ext) => ext.starts_with(['S', 's', 'B']),
            _ => false,
        },
        Step::Text(_) => false,
    };
    let mut types = compiled.types.iter().map(|&ty| TypeCode(ty));
    let shown = |ty: TypeCode| match ty.kind() {
        PRIVATE => ty.inner(),
        _ => ty,
    };
    let has_address =
        types.any(|ty| shown(ty).kind() == POINTER) || compiled.steps.iter().any(is_symbol);
    u16::from(has_address) * SITE_ADDRESS
}

/// What marks an argument of a C call as private: `blog_private()`, as the driver wrote it, and as
/// the preprocessor may have expanded it.
const PRIVATE_MARKS: [(&str, &str); 2] = [
    ("blog_private(", ")"),
    ("__builtin_choose_expr(sizeof(\"blog_private\"), ", ", 0)"),
];

/// Takes what marks an argument as private off its source text; whether that was there.
fn is_private(text: &mut String) -> Result<bool, String> {
    if !text.contains("blog_private") {
        return Ok(false);
    }
    let marked = PRIVATE_MARKS.iter().find_map(|(start, end)| {
        let rest = text.strip_prefix(start)?;
        // A long text has no end.
        rest.strip_suffix(end).or(rest.strip_suffix('…'))
    });
    let is_balanced = |inner: &&str| {
        let depth = inner.chars().try_fold(0usize, |depth, c| match c {
            '(' => Some(depth + 1),
            ')' => depth.checked_sub(1),
            _ => Some(depth),
        });
        depth.is_some() && !inner.contains("blog_private")
    };
    match marked.filter(is_balanced).map(str::to_owned) {
        Some(inner) => *text = inner,
        None => return Err(format!("{text}: blog_private() is not all of the argument")),
    }
    Ok(true)
}

/// A C site as any other one, and how it is compiled.
fn compile_site(site: &CSite) -> Result<(Site, printf::Compiled), String> {
    let mut format = printf::literal(&site.format).map_err(|e| format!("{}: {e}", site.format))?;
    if site.is_captured && format.ends_with('\n') {
        // It ends the line where it is printed.
        format.pop();
    }
    let told = |e: String| format!("{}: {e}", site.format);
    let count = printf::compile(&format).map_err(told)?.count;
    let mut arguments = printf::arguments(&site.arguments);
    // A macro may have put some before those that the call names.
    let before = count.saturating_sub(arguments.len());
    let private: Vec<bool> = arguments
        .iter_mut()
        .map(is_private)
        .collect::<Result<_, _>>()?;
    let is_hidden = |i: usize| private.get(i.wrapping_sub(before)) == Some(&true);
    let compiled = printf::compile_with(&format, &|i, _| is_hidden(i)).map_err(told)?;
    let has_one = site.version > 1 && !site.has_many;
    if has_one && Codes::has_two(compiled.codes.0 as u64) == Some(true) {
        return Err(told("the call passes fewer arguments".into()));
    }
    let hidden = compiled
        .types
        .iter()
        .filter(|&&ty| TypeCode(ty).kind() == PRIVATE);
    if hidden.count() != private.iter().filter(|hidden| **hidden).count() {
        return Err(told("a width or precision can't be private".into()));
    }
    let name = |&i: &usize| match arguments.get(i.wrapping_sub(before)) {
        Some(name) if name.len() <= NAME_MAX => name.clone(),
        _ => format!("arg{i}"),
    };
    let site = Site {
        line: site.line,
        level: site.level,
        names: compiled.sources.iter().map(name).collect(),
        codes: compiled.types.clone(),
        format,
        file: site.file.clone(),
        module: site.module.clone(),
        is_c: true,
        place: Place::default(),
    };
    Ok((site, compiled))
}

/// Where the references of descriptors lead to.
struct Places {
    /// By the offset of a reference, in a .ko: the section, and the place in it. `None`: references
    /// are addresses.
    relocated: Option<HashMap<u64, (usize, u64)>>,
    /// The section with the entries, in a .ko.
    sites: usize,
    /// First and last place of an entry.
    range: (u64, u64),
}

impl Places {
    fn relocated(elf: &Elf, fmt_index: usize) -> Result<Self, String> {
        let Some(sites) = elf.find(SITES_SECTION)? else {
            return Err(format!("{FMT_SECTION} without {SITES_SECTION}"));
        };
        let size = elf.sections[sites].size;
        if size % ENTRY != 0 {
            return Err(format!("{SITES_SECTION} is {size} bytes long"));
        }
        let absolute = absolute_relocation(elf.machine)?;
        let mut places = HashMap::new();
        for r in elf.relocations(fmt_index)? {
            let section = usize::from(r.symbol.section);
            if r.kind == absolute {
                let target = r.symbol.value.wrapping_add_signed(r.addend);
                places.insert(r.offset, (section, target));
            } else if section == sites {
                return Err(format!("{FMT_SECTION}: relocation type {}", r.kind));
            }
        }
        Ok(Self {
            relocated: Some(places),
            sites,
            range: (0, size),
        })
    }

    fn linked(elf: &Elf) -> Result<Self, String> {
        Ok(Self {
            relocated: None,
            sites: 0,
            range: linked_range(elf)?,
        })
    }

    fn count(&self) -> u64 {
        (self.range.1 - self.range.0) / ENTRY
    }

    /// The section, 0 in vmlinux, and the place in it that a reference leads to.
    fn target(&self, reference_at: u64, reference: u64) -> Option<(usize, u64)> {
        match &self.relocated {
            Some(places) => places.get(&reference_at).copied(),
            None => Some((0, reference)),
        }
    }

    /// The index of the entry that a site's reference leads to.
    fn index(&self, reference_at: u64, reference: u64) -> Option<u64> {
        let (section, place) = self.target(reference_at, reference)?;
        (section == self.sites).then_some(())?;
        let off = place.checked_sub(self.range.0)?;
        (place < self.range.1 && off % ENTRY == 0).then_some(off / ENTRY)
    }

    /// Where in the file so many bytes are that a reference leads to.
    fn in_file(&self, elf: &Elf, reference_at: u64, reference: u64, size: u64) -> Option<u64> {
        let (section, off) = match &self.relocated {
            Some(places) => {
                let (section, off) = *places.get(&reference_at)?;
                (elf.sections.get(section)?, off)
            }
            None => elf.section_at(reference)?,
        };
        let has_bytes = section.flags & SHF_ALLOC != 0 && section.kind != SHT_NOBITS;
        (has_bytes && off.checked_add(size)? <= section.size)
            .then(|| section.offset.checked_add(off))?
    }
}

/// The functions of an image.
struct Functions {
    /// Section, 0 in vmlinux, place, size, and where the name is; sorted.
    all: Vec<((usize, u64), u64, u32)>,
    names: Vec<u8>,
}

impl Functions {
    fn of(elf: &Elf) -> Result<Self, String> {
        let (functions, names) = elf.functions()?;
        let section = |symbol: Symbol| match elf.kind {
            ET_REL => usize::from(symbol.section),
            _ => 0,
        };
        let place =
            |(symbol, size, name): (Symbol, _, _)| ((section(symbol), symbol.value), size, name);
        let mut all: Vec<_> = functions.into_iter().map(place).collect();
        all.sort();
        Ok(Self { all, names })
    }

    /// The function with the code there; of several, any.
    fn name(&self, at: (usize, u64)) -> Option<String> {
        let next = self.all.partition_point(|(start, ..)| *start <= at);
        let ((section, start), size, name) = *self.all.get(next.checked_sub(1)?)?;
        (section == at.0 && at.1 - start < size).then_some(())?;
        let name = until_nul(self.names.get(name as usize..)?);
        let name = name.get(..FUNCTION_MAX).unwrap_or(name);
        Some(String::from_utf8_lossy(name).into_owned())
    }
}

/// The symbols before and after the site entries of vmlinux.
const BOUNDS: [&str; 2] = ["__start_blog_sites", "__stop_blog_sites"];

fn linked_range(elf: &Elf) -> Result<(u64, u64), String> {
    let [first, last] = BOUNDS;
    let [Some(start), Some(stop)] = elf.symbols(BOUNDS)? else {
        return Err(format!("no symbols {first} and {last} (is it stripped?)"));
    };
    if stop.value < start.value || (stop.value - start.value) % ENTRY != 0 {
        return Err(format!("{first} and {last} are no range of entries"));
    }
    Ok((start.value, stop.value))
}

/// The type of "64-bit absolute address" relocations.
pub(crate) fn absolute_relocation(machine: u16) -> Result<u32, String> {
    match machine {
        62 => Ok(1),    // R_X86_64_64
        183 => Ok(257), // R_AARCH64_ABS64
        243 => Ok(2),   // R_RISCV_64
        258 => Ok(2),   // R_LARCH_64
        m => Err(format!("relocations of ELF machine {m} are unknown")),
    }
}

fn arch(machine: u16) -> String {
    match machine {
        62 => "x86_64".into(),
        183 => "aarch64".into(),
        243 => "riscv64".into(),
        258 => "loongarch64".into(),
        m => format!("elf-{m}"),
    }
}

/// Name and release of an image.
fn name_of(elf: &Elf, stem: &str) -> Result<(String, String), String> {
    match elf.kind {
        ET_REL => module_name(elf, stem),
        _ => Ok(("vmlinux".to_owned(), linked_release(elf)?)),
    }
}

/// Name and release as a module says them.
fn module_name(elf: &Elf, stem: &str) -> Result<(String, String), String> {
    let info = elf.data_if_any(".modinfo")?.unwrap_or_default();
    let value = |key: &str| {
        info.split(|&b| b == 0)
            .filter_map(|field| std::str::from_utf8(field).ok())
            .find_map(|field| field.strip_prefix(key)?.strip_prefix('='))
    };
    let name = match value("name") {
        Some(name) => name.to_owned(),
        None => stem.trim_end_matches(".ko").replace('-', "_"),
    };
    let release = value("vermagic").and_then(|v| v.split(' ').next());
    Ok((name, release.unwrap_or_default().to_owned()))
}

/// The release out of `linux_banner`: "Linux version RELEASE (…".
fn linked_release(elf: &Elf) -> Result<String, String> {
    let [banner] = elf.symbols(["linux_banner"])?;
    let bytes = banner.and_then(|s| elf.at_address(s.value, 256));
    let text = String::from_utf8_lossy(until_nul(bytes.as_deref().unwrap_or_default()));
    Ok(text
        .strip_prefix("Linux version ")
        .and_then(|rest| rest.split(' ').next())
        .unwrap_or_default()
        .to_owned())
}

/// Whether a name can be part of a file name and nothing else.
pub fn is_plain_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 64
        && !name.starts_with('.')
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b))
}
