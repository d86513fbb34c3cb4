// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Streams as they come, in pieces of any size.

use blog_decode_core::{
    decode::{Buffers, Entry, Filter, LiveFilter},
    live::Live,
    merge::EventKind,
    output::{
        json::Json,
        text::{Style, Text},
    },
    sidetable::{SiteMap, Tables},
};
use blog_file::snapshot::split::Split;

use crate::{decode::seal, sites::sites};

/// Streams.
pub fn stream(bytes: &[u8]) {
    events(bytes);
}

/// Two of the same stream, one of which is late; the answer is how many events they give.
pub fn events(bytes: &[u8]) -> usize {
    let mut bytes = bytes.to_vec();
    seal(&mut bytes);
    let want = |name: &str| name != "unwanted";
    cut(&bytes);
    let mut live = Live::new(vec!["one".into(), "two".into()], &want);
    // How it is cut depends on what it is.
    let mut random = crc32fast::hash(&bytes) as usize | 1;
    let (mut at, mut events) = ([0; 2], 0);
    let filter = Filter::default();
    let (mut sieve, mut text) = (LiveFilter::new(&filter), Text::new(Style::default()));
    let mut out = Vec::new();
    while at.iter().any(|at| *at < bytes.len()) {
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(7);
        let i = random >> 33 & 1;
        let end = (at[i] + (random >> 40) % 2000).min(bytes.len());
        if live.feed(i, &bytes[at[i]..end]).is_err() {
            // No stream of ours.
            return events;
        }
        at[i] = end;
        match random >> 35 & 7 {
            0 => live.idle(i),
            1 if end == bytes.len() => live.end(i),
            _ => {}
        }
        events += give(&mut live, &mut sieve, &mut text, &mut out);
    }
    live.end(0);
    live.end(1);
    events += give(&mut live, &mut sieve, &mut text, &mut out);
    assert!(live.has_ended(0) && live.is_idle(1));
    // A record has a header of 8 bytes; losses come with records, pages, and rings.
    assert!(events <= 2 * bytes.len());
    events
}

/// Cuts it into two files, which have all of its sections.
fn cut(bytes: &[u8]) {
    let (mut split, mut out) = (Split::default(), Vec::new());
    let (one, two) = bytes.split_at(bytes.len() / 2);
    if split.feed(one, &mut out).is_err() || out.is_empty() {
        return;
    }
    let at = out.len();
    out.extend(split.next_file());
    let start = out.len() - at;
    if split.feed(two, &mut out).is_ok() {
        out.extend(split.end().map(|(rest, _)| rest).unwrap_or_default());
        assert_eq!(out.len() - start, bytes.len());
    }
}

/// Prints all that can be given out; the answer is how many events that were.
fn give(
    live: &mut Live<'_>,
    sieve: &mut LiveFilter<'_>,
    text: &mut Text,
    out: &mut Vec<u8>,
) -> usize {
    let (mut events, mut json) = (0, Json::new(true));
    let mut map = SiteMap::new(&live.files[0].images, &Tables::default());
    for image in &mut map.images {
        image.sites = Some(sites());
    }
    while live.advance() {
        events += 1;
        let (event, stream) = live.event().unwrap();
        if let EventKind::Loss { count, .. } = event.kind {
            assert!(count > 0);
        }
        let boot = &live.boots[stream.file()];
        let mut entry = Entry::new(stream, boot, event.clone(), Buffers::default());
        if sieve.entry(&mut entry, &map) {
            out.clear();
            text.entry(&entry, out);
            out.clear();
            json.entry(&entry, out);
        }
    }
    events
}
