// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! The sums of `--json --stats`, which show for each ring that nothing is missing without a trace.
//!
//! For a whole ring `decoded + overwritten + missing + damaged + lagged + left_out` is `taken` (plus what was
//! written while the snapshot was copied), and `taken + lost` is all that its writer ever tried to write.
//!
//! As JSON, an object of `type` `"ring"` has `host`, `boot_id`, and `component` to `ring` as a record has, and
//! `retired`, `decoded`, `overwritten`, `missing`, `damaged`, `lagged`, `left_out`, `taken` (null if the ring's section
//! is lost) and `lost`, an object by cause with those that are not 0. An object of `type`
//! `"ringless"` has `host`, `boot_id`, `component`, `gone` (records of rings that were given to other tasks) and
//! `lost`. An object of `type` `"summary"` has the sums, `shown`, `undecoded` and `damage`.

use blog_decode_core::{
    boot::Boot,
    decode::Undecoded,
    merge::{Counts, Stream},
    output::json::{boot as boot_json, line, ring, Object},
};
use blog_file::{
    record::cause_name,
    snapshot::{text, Damage, Snapshot},
};
use blog_wire::record::LOST_CAUSES;

/// What a run has seen.
pub struct Accounts<'a> {
    /// The files.
    pub files: &'a [Snapshot],
    /// The boot of each.
    pub boots: &'a [Boot],
    /// The rings.
    pub streams: &'a [Stream],
    /// What came out of each.
    pub counts: Vec<Counts>,
    /// Records that passed the filter.
    pub shown: u64,
    /// Records that could not be decoded.
    pub undecoded: &'a Undecoded,
}

/// Losses by cause, without those that are 0.
pub fn lost_of(lost: &[u64; LOST_CAUSES]) -> impl Iterator<Item = (&'static str, u64)> + '_ {
    lost.iter().enumerate().filter(|(_, &n)| n != 0).map(|(i, &n)| (cause_name(i as u8), n))
}

/// Id of a ring, and whose it is.
pub fn ring_name(stream: &Stream, counts: &Counts) -> String {
    format!("{} {}", stream.id, context(stream, counts))
}

fn context(stream: &Stream, counts: &Counts) -> String {
    let writer = stream.last_writer(counts);
    match (writer.task, stream.context()) {
        (Some(t), _) => format!("{}[{}]", text(&t.comm).escape_default(), t.pid),
        (None, Some(c)) => match stream.shared().or(stream.cpu()) {
            Some(cpu) => format!("{}/{cpu}", c.name()),
            None => c.name().to_owned(),
        },
        (None, None) => "?".to_owned(),
    }
}

/// The damage of all files.
pub fn damage_text(d: &Damage) -> String {
    let mut parts = Vec::new();
    let mut count = |n: u64, one: &str, many: &str| {
        if n != 0 {
            parts.push(format!("{n} {}", if n == 1 { one } else { many }));
        }
    };
    count(d.bad_sections, "damaged section", "damaged sections");
    count(d.lost_sections, "lost section", "lost sections");
    count(d.skipped_bytes, "unreadable byte", "unreadable bytes");
    if d.survived {
        parts.push("damage in the memory that survived".into());
    }
    if d.bad_header {
        parts.push("a damaged file header".into());
    }
    if d.cut_off {
        parts.push("no end (cut off)".into());
    }
    if d.torn != 0 {
        parts
            .push(format!("cut off: its last {} bytes are of a section that is not whole", d.torn));
    }
    parts.extend(d.packed.clone());
    parts.extend_from_slice(&d.words);
    parts.join(", ")
}

impl Accounts<'_> {
    /// Objects for programs.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        for (s, c) in self.streams.iter().zip(&self.counts) {
            line(out, "ring", |o| {
                boot_json(&self.boots[s.file()], o);
                ring(s, &s.last_writer(c), o);
                of_ring(s, c, o);
            });
        }
        for (file, boot) in self.files.iter().zip(self.boots) {
            let mut all: Vec<_> = file.components.values().collect();
            all.sort_by_key(|c| c.id);
            for c in all {
                line(out, "ringless", |o| {
                    boot_json(boot, o);
                    o.text("component", text(&c.name).as_str());
                    o.text("snapshot", file.name.as_str());
                    o.number("gone", c.gone_records);
                    lost(&c.lost, o);
                });
            }
        }
        let mut sum = Counts::default();
        self.counts.iter().for_each(|c| sum.add(c));
        let mut all = [0; LOST_CAUSES];
        self.streams.iter().for_each(|s| add_lost(&mut all, &s.lost()));
        let damaged = self.files.iter().filter(|f| f.damage.any());
        let damage: Vec<String> =
            damaged.map(|f| format!("{}: {}", f.name, damage_text(&f.damage))).collect();
        let damage = damage.join("; ");
        line(out, "summary", |o| {
            o.number("rings", self.streams.len() as u64);
            o.number("shown", self.shown);
            counts(&sum, o);
            lost(&all, o);
            o.number("undecoded", self.undecoded.sum());
            o.text("damage", (!damage.is_empty()).then_some(damage.as_str()));
        });
    }
}

/// Adds what came out of a ring, what it has taken, and what it has lost.
pub fn of_ring(stream: &Stream, c: &Counts, o: &mut Object<'_>) {
    o.maybe("retired", stream.ring().map(|r| r.retired));
    counts(c, o);
    o.maybe("taken", stream.ring().map(|r| r.records));
    lost(&stream.lost(), o);
}

/// Adds what came out of a ring.
pub fn counts(c: &Counts, o: &mut Object<'_>) {
    o.number("decoded", c.decoded);
    o.number("overwritten", c.overwritten);
    o.number("missing", c.missing);
    o.number("damaged", c.damaged);
    o.number("lagged", c.lagged);
    o.number("left_out", c.left_out);
}

/// Adds losses to others, by cause.
pub fn add_lost(sum: &mut [u64; LOST_CAUSES], of: &[u64; LOST_CAUSES]) {
    sum.iter_mut().zip(of).for_each(|(sum, n)| *sum = sum.saturating_add(*n));
}

/// How many were lost.
pub fn lost_sum(lost: &[u64; LOST_CAUSES]) -> u64 {
    lost.iter().fold(0, |sum, n| sum.saturating_add(*n))
}

/// Adds what was lost, by cause.
pub fn lost(lost: &[u64; LOST_CAUSES], o: &mut Object<'_>) {
    let mut by_cause = Object::new(o.key("lost"));
    for (name, n) in lost_of(lost) {
        by_cause.number(name, n);
    }
    by_cause.end();
}
