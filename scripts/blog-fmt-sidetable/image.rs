// SPDX-License-Identifier: GPL-2.0

//! From an ELF image to its side table.
//!
//! In a .ko, `.rela.debug.blog` says for each site descriptor which entry of `.blog_sites` it
//! belongs to. In vmlinux the linker has resolved that to an address, counted from
//! `__start_blog_sites`. Either way the index of the entry is the index of the site in the table.
//!
//! Needs only `std`; `blog-decode` includes this very file.

use std::collections::{
    BTreeMap,
    HashMap, //
};

use super::{
    bytes::until_nul,
    descriptor::{
        Descriptor,
        Site,
        Type,
        Walk, //
    },
    elf::{
        Elf,
        ET_REL, //
    },
    format::Table,
    source::Source, //
};

/// The section with the descriptors: not loaded. modpost, objcopy and strip take it for debug
/// information by the start of its name; linkers and assemblers compress sections whose names start
/// with `.debug_`, so it is none of these.
pub const FMT_SECTION: &str = ".debug.blog";
/// The loaded section with the site entries, in a .ko.
pub const SITES_SECTION: &str = ".blog_sites";
/// Size of a site entry.
const ENTRY: u64 = 8;
/// Size of the shortest site descriptor.
const MIN_DESCRIPTOR: u64 = 32;
/// As many sites as the 18 bits of a site id allow, of which 0 is none.
const MAX_SITES: u64 = (1 << 18) - 1;

/// Reads the side table out of vmlinux or a .ko. `None`: the image has no descriptors.
///
/// `stem` names the image where it doesn't say its name itself.
pub fn read(source: Source, stem: &str) -> Result<Option<Table>, String> {
    let elf = Elf::open(source)?;
    let Some(fmt_index) = elf.find(FMT_SECTION)? else {
        return Ok(None);
    };
    let fmt = elf.data(&elf.sections[fmt_index])?;
    if fmt.is_empty() {
        return Ok(None);
    }
    let build_id = elf
        .build_id()?
        .ok_or("no build ID (link with --build-id): a table without one could never be found")?;

    let places = if elf.kind == ET_REL {
        Places::Relocated(module_places(&elf, fmt_index)?)
    } else {
        Places::Linked(linked_range(&elf)?)
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
    for descriptor in Walk::new(&fmt) {
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
            }
            Descriptor::Site {
                site,
                reference_at,
                reference,
            } => {
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
        }
    }
    let sites = sites
        .into_iter()
        .enumerate()
        .map(|(i, s)| s.ok_or_else(|| format!("site {i} of {count} has no descriptor")))
        .collect::<Result<_, _>>()?;

    let (name, release) = if elf.kind == ET_REL {
        module_name(&elf, stem)?
    } else {
        ("vmlinux".to_owned(), linked_release(&elf)?)
    };
    Ok(Some(Table {
        build_id,
        release,
        arch: arch(elf.machine),
        name,
        types: types.into_values().collect(),
        sites,
    }))
}

/// How a descriptor's reference leads to an index.
enum Places {
    /// By the relocation at its offset.
    Relocated((HashMap<u64, u64>, u64)),
    /// By the address, within first..end.
    Linked((u64, u64)),
}

impl Places {
    fn count(&self) -> u64 {
        match self {
            Self::Relocated((_, count)) => *count,
            Self::Linked((first, end)) => (end - first) / ENTRY,
        }
    }

    fn index(&self, reference_at: u64, reference: u64) -> Option<u64> {
        match self {
            Self::Relocated((places, _)) => places.get(&reference_at).copied(),
            Self::Linked((first, end)) => {
                let off = reference.checked_sub(*first)?;
                (reference < *end && off % ENTRY == 0).then_some(off / ENTRY)
            }
        }
    }
}

/// For each relocation of `.debug.blog` that leads into `.blog_sites`: its offset and the index.
/// Also the number of entries.
fn module_places(elf: &Elf, fmt_index: usize) -> Result<(HashMap<u64, u64>, u64), String> {
    let Some(sites_index) = elf.find(SITES_SECTION)? else {
        return Err(format!("{FMT_SECTION} without {SITES_SECTION}"));
    };
    let size = elf.sections[sites_index].size;
    if size % ENTRY != 0 {
        return Err(format!("{SITES_SECTION} is {size} bytes long"));
    }
    let absolute = absolute_relocation(elf.machine)?;
    let mut places = HashMap::new();
    for r in elf.relocations(fmt_index)? {
        if usize::from(r.symbol.section) != sites_index {
            continue;
        }
        if r.kind != absolute {
            return Err(format!("{FMT_SECTION}: relocation type {}", r.kind));
        }
        let target = r.symbol.value.wrapping_add_signed(r.addend);
        if target % ENTRY == 0 && target < size {
            places.insert(r.offset, target / ENTRY);
        }
    }
    Ok((places, size / ENTRY))
}

fn linked_range(elf: &Elf) -> Result<(u64, u64), String> {
    const START: &str = "__start_blog_sites";
    const STOP: &str = "__stop_blog_sites";
    let [Some(start), Some(stop)] = elf.symbols([START, STOP])? else {
        return Err(format!("no symbols {START} and {STOP} (is it stripped?)"));
    };
    if stop.value < start.value || (stop.value - start.value) % ENTRY != 0 {
        return Err(format!("{START} and {STOP} are no range of entries"));
    }
    Ok((start.value, stop.value))
}

/// The type of "64-bit absolute address" relocations.
fn absolute_relocation(machine: u16) -> Result<u32, String> {
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

/// Name and release as a module says them.
fn module_name(elf: &Elf, stem: &str) -> Result<(String, String), String> {
    let info = match elf.find(".modinfo")? {
        Some(i) => elf.data(&elf.sections[i])?,
        None => Vec::new(),
    };
    let value = |key: &str| {
        info.split(|&b| b == 0)
            .filter_map(|field| std::str::from_utf8(field).ok())
            .find_map(|field| field.strip_prefix(key)?.strip_prefix('='))
    };
    let name = match value("name") {
        Some(name) => name.to_owned(),
        None => stem.replace('-', "_"),
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
