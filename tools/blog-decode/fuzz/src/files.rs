// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Snapshot files: of any content, whole ones that are damaged, and packed ones.

use std::{
    collections::HashSet,
    io::{BufReader, Read},
    ops::Range,
    sync::OnceLock,
};

use blog_decode_core::{
    boot,
    decode::{Decoder, Filter},
    expr::Expr,
    merge::{self, EventKind},
    output::template::Template,
    sidetable::{SiteMap, Tables},
};
use blog_file::unpack::{reader, Lost};

use crate::{
    decode::{decode, read, seal, u32_at},
    seeds,
};

/// Any content, with checksums that are right: a mutation reaches what is read after them.
pub fn snapshot(bytes: &[u8]) {
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
        let _ = merge::newer(&[two], 0, |_| true);
    }
    // With itself, and cut: as files of one boot.
    let half = bytes[..bytes.len() / 2].to_vec();
    if let (Some(whole), Some(half)) = (read(bytes), read(half)) {
        let files = [half, whole];
        let _ = merge::newer(&files, 1, |_| true);
        decode(&files, &filter, &template);
    }
}

/// A packed file is the same however it is read, and one that isn't packed is itself. What is lost of
/// it is said once.
pub fn unpack(bytes: &[u8]) {
    const MAX: u64 = 1 << 20;
    let read = |piece: usize| {
        let (mut out, mut lost) = (Vec::new(), 0);
        let packed = BufReader::with_capacity(piece, bytes);
        let mut unpacked = reader(packed).unwrap();
        let mut buffer = vec![0; piece];
        while (out.len() as u64) < MAX {
            match unpacked.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => out.extend_from_slice(&buffer[..n]),
                Err(e) => {
                    assert!(Lost::from_error(&e).is_some());
                    lost += 1;
                }
            }
        }
        out.truncate(MAX as usize);
        (out, lost)
    };
    let whole = read(64 << 10);
    assert!(whole.1 <= 1);
    assert!(whole.0 == read(7).0);
    if matches!(bytes, [b'B', ..]) {
        assert_eq!(whole.0, &bytes[..bytes.len().min(MAX as usize)]);
    }
}

/// What a record is, wherever it is shown: ring, place in it, clock, call site, payload.
type Known = (u32, u64, u64, u32, Vec<u8>);

/// What a file gives: its records, how many it says are lost, and whether it is damaged.
fn records(bytes: Vec<u8>) -> Option<(Vec<Known>, u64, bool)> {
    let files = [read(bytes)?];
    let maps = [SiteMap::new(&files[0].images, &Tables::default())];
    let boots = boot::from_files(&files);
    let streams = merge::unite(&files, |_| true);
    let filter = Filter::default();
    let mut decoder = Decoder::new(&files, &streams, &boots, &maps, &filter);
    let mut all = Vec::new();
    for entry in &mut decoder {
        if let EventKind::Record { ordinal, site, .. } = entry.event.kind {
            all.push((entry.stream.id, ordinal, entry.clock(), site, entry.payload().to_vec()));
        }
    }
    let lost = decoder.counts().map(|c| c.missing + c.damaged).sum();
    Some((all, lost, files[0].damage.any()))
}

/// A file, and for each of its sections the records that are in nothing else.
struct Whole {
    bytes: Vec<u8>,
    records: HashSet<Known>,
    lost: u64,
    sections: Vec<(Range<usize>, Vec<Known>)>,
}

fn whole() -> &'static Whole {
    static WHOLE: OnceLock<Whole> = OnceLock::new();
    WHOLE.get_or_init(|| {
        let bytes = seeds::snapshot();
        let (all, lost, damaged) = records(bytes.clone()).unwrap();
        assert!(!damaged);
        let all: HashSet<_> = all.into_iter().collect();
        let (mut at, mut sections) = (32, Vec::new());
        while at < bytes.len() {
            let len = 32 + u32_at(&bytes, at + 8).unwrap() as usize;
            let range = at..(at + len).next_multiple_of(8);
            let mut without = bytes.clone();
            without[range.clone()].fill(0);
            let (rest, ..) = records(without).unwrap();
            let rest: HashSet<_> = rest.into_iter().collect();
            let only: Vec<_> = all.difference(&rest).cloned().collect();
            at = range.end;
            sections.push((range, only));
        }
        let sum: usize = sections.iter().map(|(_, records)| records.len()).sum();
        assert_eq!(sum, all.len());
        Whole { bytes, records: all, lost, sections }
    })
}

/// A whole file is damaged, by steps of 4 bytes, and its checksums aren't put right: what is
/// missing is reported, what isn't damaged is there, and there is nothing that never was.
pub fn damage(steps: &[u8]) {
    let whole = whole();
    let (mut bytes, mut touched) = (whole.bytes.clone(), Vec::new());
    let (mut flips, mut end) = (0, bytes.len());
    for step in steps.chunks_exact(4).take(16) {
        let at = usize::from(step[1]) << 8 | usize::from(step[2]);
        let at = at % bytes.len();
        let range = at..(at + usize::from(step[3])).min(bytes.len());
        match step[0] % 5 {
            0 => bytes[range.clone()].fill(0),
            1 => bytes[range.clone()].fill(0xff),
            // A checksum notices as many for certain.
            2 if flips < 3 => {
                flips += 1;
                bytes[at] ^= 1 << (step[3] & 7);
                touched.push(at..at + 1);
            }
            3 => {
                for (n, byte) in bytes[range.clone()].iter_mut().enumerate() {
                    *byte = (n as u8 ^ step[0]).wrapping_mul(0x9d) ^ step[2];
                }
            }
            4 => end = end.min(at),
            _ => continue,
        }
        touched.push(range);
    }
    bytes.truncate(end);
    let hit = |section: &Range<usize>| {
        let by = |range: &Range<usize>| range.start < section.end && section.start < range.end;
        section.end > end || touched.iter().any(by)
    };
    let untouched = || whole.sections.iter().filter(|(range, _)| !hit(range));
    let Some((shown, lost, damaged)) = records(bytes) else {
        assert!(untouched().all(|(_, records)| records.is_empty()));
        return;
    };
    let there: HashSet<_> = shown.iter().collect();
    assert_eq!(there.len(), shown.len());
    assert!(shown.iter().all(|record| whole.records.contains(record)));
    for (_, records) in untouched() {
        assert!(records.iter().all(|record| there.contains(record)));
    }
    assert!(shown.len() == whole.records.len() || damaged || lost > whole.lost);
}
