// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! What an image may ever record of people and of the kernel's memory: each string, address and
//! private argument of its calls. Numbers and names of variants are not listed.
//!
//! A call site doesn't know its component: a driver may log to one that it makes at run time. So
//! the list is by image, and names the components that the image defines.

use std::{
    collections::BTreeMap,
    fmt::Write, //
};

use crate::{
    bytes::{
        u64_at, //
        until_nul,
    },
    descriptor::{
        Site,
        Type, //
    },
    elf::{
        Elf,
        ET_REL, //
    },
    format::Table,
    image::absolute_relocation,
    wire::{
        record::Level,
        types::{
            self,
            TypeCode, //
        }, //
    },
};

/// Where a component has the address of its name: see `struct blog_component`.
const NAME_AT: u64 = 32;
/// Room for a name.
const NAME_MAX: u64 = 64;
/// Types may be nested so deep.
const MAX_DEPTH: usize = 32;

/// The section with the components' addresses, in a .ko.
const COMPONENTS_SECTION: &str = ".blog_components";

/// The names of the components that an image defines, without those that it makes at run time.
pub fn components(elf: &Elf) -> Result<Vec<String>, String> {
    let mut names = match elf.kind {
        ET_REL => relocated(elf)?,
        _ => linked(elf)?,
    };
    names.sort();
    names.dedup();
    Ok(names)
}

fn name(bytes: &[u8]) -> String {
    String::from_utf8_lossy(until_nul(bytes)).into_owned()
}

fn linked(elf: &Elf) -> Result<Vec<String>, String> {
    const BOUNDS: [&str; 2] = ["__start_blog_components", "__stop_blog_components"];
    let [Some(start), Some(stop)] = elf.symbols(BOUNDS)? else {
        return Ok(Vec::new());
    };
    let size = stop.value.saturating_sub(start.value);
    let places = elf.at_address(start.value, size).unwrap_or_default();
    let word = |at: u64| u64_at(&elf.at_address(at, 8)?, 0);
    let names = places.chunks_exact(8).map(|place| {
        let at = word(u64_at(place, 0)?.checked_add(NAME_AT)?)?;
        elf.at_address(at, NAME_MAX).map(|bytes| name(&bytes))
    });
    let names: Option<_> = names.collect();
    names.ok_or_else(|| "a component has no name".into())
}

fn relocated(elf: &Elf) -> Result<Vec<String>, String> {
    let absolute = absolute_relocation(elf.machine)?;
    let targets = |index: usize| -> Result<BTreeMap<u64, (usize, u64)>, String> {
        let all = elf.relocations(index)?.into_iter();
        let all = all.filter(|r| r.kind == absolute).map(|r| {
            let at = r.symbol.value.wrapping_add_signed(r.addend);
            (r.offset, (usize::from(r.symbol.section), at))
        });
        Ok(all.collect())
    };
    let Some(index) = elf.find(COMPONENTS_SECTION)? else {
        return Ok(Vec::new());
    };
    let mut names = Vec::new();
    for (section, at) in targets(index)?.into_values() {
        let of = targets(section)?;
        let place = at.checked_add(NAME_AT).and_then(|at| of.get(&at));
        let (section, at) = *place.ok_or("a component has no name")?;
        let section = elf
            .sections
            .get(section)
            .ok_or("a component's name is nowhere")?;
        let bytes = elf.data(section)?;
        let bytes = usize::try_from(at).ok().and_then(|at| bytes.get(at..));
        names.push(name(bytes.ok_or("a component's name is nowhere")?));
    }
    Ok(names)
}

/// Adds what is in an argument of this type: what kind of thing, and where.
fn parts(
    code: TypeCode,
    types: &BTreeMap<u64, &Type>,
    (name, depth): (&str, usize),
    out: &mut Vec<(String, String)>,
) {
    let kind = match code.kind() {
        types::STR | types::CSTR => "string",
        types::BYTES | types::HEX | types::BYTE_ARRAY => "bytes",
        types::POINTER => "address",
        types::IPV4 | types::IPV6 | types::MAC => "network address",
        types::OPTION | types::RESULT => return parts(code.inner(), types, (name, depth), out),
        types::PRIVATE => {
            let mut all = Vec::new();
            parts(code.inner(), types, (name, depth), &mut all);
            if all.is_empty() {
                all.push(("value".into(), name.into()));
            }
            out.extend(
                all.into_iter()
                    .map(|(kind, name)| (format!("private {kind}"), name)),
            );
            return;
        }
        types::DERIVED => {
            let of = types.get(&code.0).filter(|_| depth < MAX_DEPTH);
            for field in of
                .iter()
                .flat_map(|ty| &ty.variants)
                .flat_map(|v| &v.fields)
            {
                let name = format!("{name}.{}", field.name);
                parts(TypeCode(field.code), types, (&name, depth + 1), out);
            }
            return;
        }
        _ => return,
    };
    out.push((kind.into(), name.into()));
}

fn lines(site: &Site, types: &BTreeMap<u64, &Type>, out: &mut String) {
    let mut all = Vec::new();
    for (name, code) in site.names.iter().zip(&site.codes) {
        parts(TypeCode(*code), types, (name, 0), &mut all);
    }
    for (kind, name) in all {
        let level = Level::from_u8(site.level).map_or("?", Level::name);
        // Writing to a String doesn't fail.
        let _ = writeln!(
            out,
            "{}:{}\t{level}\t{kind}\t{name}\t{:?}",
            site.file, site.line, site.format
        );
    }
}

/// The list. `components`: `None` if nobody knows.
pub fn inventory(table: &Table, components: Option<&[String]>) -> String {
    let components = match components {
        None => "unknown".into(),
        Some([]) => "none".into(),
        Some(names) => names.join(", "),
    };
    let mut out = format!(
        "image {}, build ID {}, components: {components}\n",
        table.name,
        table.build_id_hex()
    );
    let types = table.types.iter().map(|ty| (ty.code, ty)).collect();
    let mut sites: Vec<&Site> = table.sites.iter().collect();
    sites.sort_by_key(|site| (&site.file, site.line));
    let start = out.len();
    sites.iter().for_each(|site| lines(site, &types, &mut out));
    if out.len() == start {
        out.push_str("no strings, addresses or private arguments\n");
    }
    out
}
