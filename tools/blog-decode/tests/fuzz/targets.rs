// SPDX-License-Identifier: GPL-2.0

//! What is fuzzed: each target takes any bytes, and must neither panic nor take long.
//!
//! Checksums are put right first: what a mutation is about lies behind them.

use std::{
    path::PathBuf,
    sync::Arc, //
};

use blog_decode::{
    blogfmt::{
        descriptor::Site,
        format::Table,
        image,
        source::Source, //
    },
    decode::{
        Decoder,
        Filter, //
    },
    expr::Expr,
    foreign::Log,
    format::parse,
    merge,
    output::{
        csv,
        ctf::Ctf,
        html::Html,
        json,
        perfetto::Perfetto,
        template::Template,
        text::{
            Style,
            Text, //
        }, //
    },
    sidetable::{
        SiteMap,
        Sites,
        Tables, //
    },
    snapshot::Snapshot,
    stats::Stats,
    sums::Sums,
    vmcore::extract, //
};

use super::{
    common::vmcore::{
        Ram,
        ROOT, //
    },
    streams,
    words, //
};

/// A target: name, and what it does.
pub type Target = (&'static str, fn(&[u8]));

pub const ALL: [Target; 11] = [
    ("snapshot", snapshot),
    ("live", streams::live),
    ("vmcore", vmcore),
    ("sidetable", sidetable),
    ("elf", elf),
    ("expr", expr),
    ("template", template),
    ("format", format),
    ("filter", words::filter),
    ("control", words::control),
    ("foreign", words::foreign),
];

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let raw = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(raw.try_into().unwrap()))
}

/// Puts the checksums of a snapshot right, section by section.
pub fn seal(bytes: &mut [u8]) {
    if let Some((head, crc)) = bytes.get_mut(..32).and_then(|h| h.split_at_mut_checked(28)) {
        crc.copy_from_slice(&crc32fast::hash(head).to_le_bytes());
    }
    let mut at = 32;
    while at + 32 <= bytes.len() {
        if bytes[at..at + 4] != *b"BLSE" {
            at += 8;
            continue;
        }
        let len = u32_at(bytes, at + 8).unwrap_or(0) as usize;
        if let Some(payload) = bytes.get(at + 32..(at + 32).saturating_add(len)) {
            let crc = crc32fast::hash(payload);
            bytes[at + 24..at + 28].copy_from_slice(&crc.to_le_bytes());
        }
        let crc = crc32fast::hash(&bytes[at..at + 28]);
        bytes[at + 28..at + 32].copy_from_slice(&crc.to_le_bytes());
        at += 32 + len.min(bytes.len()).next_multiple_of(8);
    }
}

/// Sites of all kinds of argument, of which records have these ids: 1, 2, ...
pub fn sites() -> Arc<Sites> {
    let site = |format: &str, args: &[(&str, u64)]| Site {
        line: 7,
        level: 3,
        file: "drivers/x.rs".into(),
        module: "x".into(),
        format: format.into(),
        names: args.iter().map(|(name, _)| (*name).to_owned()).collect(),
        codes: args.iter().map(|(_, code)| *code).collect(),
    };
    let table = Table {
        build_id: b"id".to_vec(),
        name: "test".into(),
        sites: vec![
            site("{n:>8} {s:?}", &[("n", 0x03), ("s", 0x22)]),
            site("{:#x} {e:?} {:p}", &[("a", 0x04), ("p", 0x25), ("e", 0x26)]),
            site("{b:02x?} {c} {o}", &[("b", 0x24), ("c", 0x21), ("o", 0x20)]),
            site("{i} {m} {x:?}", &[("i", 0x43), ("m", 0x45), ("x", 0x3003)]),
            site("nothing", &[]),
        ],
        ..Table::default()
    };
    Arc::new(Sites::new(table, PathBuf::new()))
}

/// Everything that the program can do with files.
fn decode(files: &[Snapshot], filter: &Filter, template: &Template) {
    decode_with(files, filter, template, Vec::new());
}

/// The same, with lines of other logs between the records.
pub fn decode_with(files: &[Snapshot], filter: &Filter, template: &Template, logs: Vec<Log>) {
    let sites = sites();
    let maps: Vec<_> = files
        .iter()
        .map(|f| {
            let mut map = SiteMap::new(&f.images, &Tables::default());
            for image in &mut map.images {
                image.sites = Some(sites.clone());
            }
            map
        })
        .collect();
    let calibrations = merge::calibrations(files);
    let streams = merge::unite(files, |_| true);
    let sums = Sums::new(files, &streams, &calibrations);
    let decoder = Decoder::new(files, &streams, &calibrations, &maps, filter);
    let mut decoder = decoder.with_logs(logs);
    let mut text = Text::new(Style {
        raw: true,
        color: true,
        location: true,
        ..Style::default()
    });
    let (mut ctf, mut html) = (Ctf::new(Vec::new()), Html::default());
    let mut perfetto = Perfetto::default();
    let mut out = Vec::new();
    decoder
        .run(|entry| {
            out.clear();
            text.entry(entry, &mut out);
            out.clear();
            json::entry(entry, true, &mut out);
            serde_json::from_slice::<serde_json::Value>(&out).unwrap();
            csv::entry(entry, &mut out);
            template.entry(entry, &mut out);
            perfetto.entry(entry, &mut out);
            ctf.entry(entry)?;
            html.entry(entry)
        })
        .unwrap();
    ctf.end("host", "release").unwrap();
    html.end("host", "release", &mut std::io::sink()).unwrap();
    let counts: Vec<_> = decoder.counts().copied().collect();
    // Both ways of counting agree.
    if !filter.is_by_record() {
        let decoded = |c: &merge::Counts| c.decoded;
        let mine: Vec<_> = counts.iter().map(decoded).collect();
        let theirs: Vec<_> = sums.rings.iter().map(|r| r.counts.decoded).collect();
        assert_eq!(mine, theirs);
    }
    let (undecoded, shown) = (decoder.undecoded().clone(), decoder.shown());
    let stats = Stats {
        files,
        streams: &streams,
        counts,
        shown,
        undecoded: &undecoded,
    };
    stats.write_json(&mut out);
    stats.write_text(&mut out).unwrap();
}

fn read(bytes: Vec<u8>) -> Option<Snapshot> {
    Snapshot::read("fuzz".into(), Source::Memory(bytes)).ok()
}

fn snapshot(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    seal(&mut bytes);
    let template = Template::parse("{time} {args} {message:>9}").unwrap();
    let filter = Filter {
        expr: Some(Expr::parse("arg.n > 3 || level <= warn || message =~ 'x'").unwrap()),
        with_context: true,
        ..Filter::default()
    };
    if let (Some(one), Some(two)) = (read(bytes.clone()), read(bytes.clone())) {
        decode(&[one], &Filter::default(), &template);
        let _ = merge::newer(&[two], |_| true);
    }
    // With itself, and cut: as files of one boot.
    let half = bytes[..bytes.len() / 2].to_vec();
    if let (Some(whole), Some(half)) = (read(bytes), read(half)) {
        let files = [half, whole];
        let _ = merge::newer(&files, |_| true);
        decode(&files, &filter, &template);
    }
}

/// The memory of a kernel that has stopped.
fn vmcore(bytes: &[u8]) {
    let ram = Ram::from_bytes(bytes);
    let mut snapshot = Vec::new();
    let Ok(extracted) = extract(&ram, ROOT, &mut snapshot) else {
        return;
    };
    // There is no more in it than in memory, but for what stands before pages, and for damage that
    // makes a little look like much.
    assert!(snapshot.len() <= 16 * bytes.len() + (8 << 20));
    for problem in &extracted.problems.0 {
        assert!(!problem.to_string().is_empty());
    }
    let snapshot = read(snapshot).unwrap();
    assert!(!snapshot.damage.any());
    let template = Template::parse("{time} {args} {message:>9}").unwrap();
    decode(&[snapshot], &Filter::default(), &template);
}

fn sidetable(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    if bytes.len() >= 80 {
        let len = bytes.len() as u64;
        bytes[16..24].copy_from_slice(&len.to_le_bytes());
        let crc = crc32fast::hash(&bytes[80..]);
        bytes[68..72].copy_from_slice(&crc.to_le_bytes());
        let crc = crc32fast::hash(&bytes[..76]);
        bytes[76..80].copy_from_slice(&crc.to_le_bytes());
    }
    let Ok(table) = Table::decode(&bytes) else {
        return;
    };
    let encoded = table.encode().unwrap();
    assert_eq!(Table::decode(&encoded).as_ref(), Ok(&table));
    print_all(table);
}

/// Prints a record of each site.
fn print_all(table: Table) {
    let payload: Vec<u8> = (0..1020u32).map(|n| (n % 7) as u8).collect();
    let (mut slots, mut out) = (Vec::new(), Vec::new());
    for site in Sites::new(table, PathBuf::new()).sites.iter().take(64) {
        let Ok(template) = &site.template else {
            continue;
        };
        if template.cut(&payload, &mut slots) {
            out.clear();
            template.print(&payload, &slots, &mut out);
            std::str::from_utf8(&out).unwrap();
        }
    }
}

fn elf(bytes: &[u8]) {
    if let Ok(Some(table)) = image::read(Source::Memory(bytes.to_vec()), "fuzz") {
        print_all(table);
    }
}

/// A snapshot of all kinds of things.
pub fn small() -> [Snapshot; 1] {
    [read(super::seeds::snapshot()).unwrap()]
}

fn expr(bytes: &[u8]) {
    if let Ok(expr) = Expr::parse(&String::from_utf8_lossy(bytes)) {
        let filter = Filter {
            expr: Some(expr),
            ..Filter::default()
        };
        decode(&small(), &filter, &Template::parse("{message}").unwrap());
    }
}

fn template(bytes: &[u8]) {
    if let Ok(template) = Template::parse(&String::from_utf8_lossy(bytes)) {
        decode(&small(), &Filter::default(), &template);
    }
}

fn format(bytes: &[u8]) {
    let source = String::from_utf8_lossy(bytes);
    let _ = parse::parse(&source);
    let mut table = Table {
        build_id: b"id".to_vec(),
        name: "test".into(),
        ..Table::default()
    };
    let codes = [0x03, 0x14, 0x22, 0x26, 0x24, 0x06];
    table.sites.push(Site {
        line: 1,
        level: 3,
        file: "x.rs".into(),
        module: "x".into(),
        format: source.into_owned(),
        names: ["a", "b", "s", "e", "x", "w"].map(str::to_owned).to_vec(),
        codes: codes.to_vec(),
    });
    print_all(table);
}
