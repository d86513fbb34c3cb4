// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! What targets share: everything that the program does with a snapshot.

use std::{io::sink, sync::OnceLock, thread};

use blog_answers::{accounts::Accounts, sums::Sums};
use blog_decode_core::{
    batch::Coded,
    boot,
    decode::{Decoder, Filter},
    foreign::Log,
    merge,
    output::{
        csv::{Columns, Csv},
        json::Json,
        template::Template,
        text::{Style, Text},
    },
    sidetable::{SiteMap, Tables},
    spans::Pair,
};
use blog_export::{
    ctf::{self, Ctf},
    html::{self, Html, Places},
    perfetto::{self, Packets, Perfetto},
};
use blog_file::snapshot::Snapshot;
use blog_table::source::Source;

use crate::{seeds, sites::sites};

/// The number that stands there, if anything does.
pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
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

/// Everything that the program can do with files.
pub fn decode(files: &[Snapshot], filter: &Filter, template: &Template) {
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
    let boots = boot::from_files(files);
    let streams = merge::unite(files, |_| true);
    let sums = Sums::new(files, &streams, &boots);
    let decoder = Decoder::new(files, &streams, &boots, &maps, filter);
    let mut decoder = decoder.with_logs(logs);
    let mut text = Text::new(Style { raw: true, color: true, location: true, ..Style::default() });
    // From any record to any other one.
    let pair = || Pair { start: "*".into(), end: "*".into(), keys: Vec::new() };
    let (mut json, mut csv) = (Json::new(true), Csv::new(Columns::default()));
    let mut out = Vec::new();
    thread::scope(|scope| {
        let mut trace = Ctf::new(Vec::new(), streams.len(), files.len());
        let mut report = Html::new(sink(), vec![pair()], html::packer(scope, 0)).unwrap();
        let mut places = Places::default();
        let mut tracks = Perfetto::new(vec![pair()]);
        let mut sink = sink();
        let mut packets = Packets::new(perfetto::packer(scope, 0), &mut sink);
        decoder
            .run(|entry| {
                out.clear();
                text.entry(entry, &mut out);
                out.clear();
                json.entry(entry, &mut out);
                serde_json::from_slice::<serde_json::Value>(&out).unwrap();
                csv.entry(entry, &mut out);
                template.entry(entry, &mut out);
                tracks.entry(entry, &mut packets.waiting);
                packets.pack_full()?;
                let mut coded = Coded::default();
                coded.add(entry, &mut ctf::fields);
                trace.add(&mut coded)?;
                coded.add(entry, &mut |entry, out| places.code(entry, out));
                report.span(entry);
                report.add(&mut coded)
            })
            .unwrap();
        trace.end("host", "release").unwrap();
        report.end("host", "release", b"[]").unwrap();
        tracks.end(packets).unwrap();
    });
    let counts: Vec<_> = decoder.counts().copied().collect();
    // Both ways of counting agree.
    if !filter.is_by_record() {
        let decoded = |c: &merge::Counts| c.decoded;
        let mine: Vec<_> = counts.iter().map(decoded).collect();
        let theirs: Vec<_> = sums.rings.iter().map(|r| r.counts.decoded).collect();
        assert_eq!(mine, theirs);
    }
    let (undecoded, shown) = (decoder.undecoded().clone(), decoder.shown());
    let stats =
        Accounts { files, boots: &boots, streams: &streams, counts, shown, undecoded: &undecoded };
    stats.write_json(&mut out);
}

/// A snapshot, if it is one.
pub fn read(bytes: Vec<u8>) -> Option<Snapshot> {
    Snapshot::read("fuzz".into(), Source::Memory(bytes)).ok()
}

/// A snapshot of all kinds of things.
pub fn small() -> [Snapshot; 1] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    [read(BYTES.get_or_init(seeds::snapshot).clone()).unwrap()]
}
