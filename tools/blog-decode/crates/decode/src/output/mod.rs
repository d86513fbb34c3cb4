// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! Output of entries: [`text`] for people, [`json`] and [`csv`] for programs, [`template`] for the
//! user's own form.

pub mod csv;
pub mod json;
pub mod template;
pub mod text;

use std::{fmt::Arguments, io::Write, sync::Arc};

use crate::{
    blogfmt::bytes::until_nul,
    boot::Boot,
    decode::Entry,
    digits,
    merge::EventKind,
    record::Writer,
    wire::record::{Context, Level},
};

/// Which clock times are shown by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Time {
    /// Seconds since boot, as dmesg.
    #[default]
    Boot,
    /// Date and time, local.
    Wall,
    /// Seconds of CLOCK_MONOTONIC: without the time in suspend.
    Mono,
    /// Ticks of the ring's clock.
    Raw,
    /// Seconds since the line before.
    Delta,
}

/// Appends text.
pub fn put(out: &mut Vec<u8>, text: Arguments<'_>) {
    // Writing to a Vec doesn't fail.
    let _ = out.write_fmt(text);
}

/// Name of a level.
pub fn level_name(level: u8) -> &'static str {
    Level::from_u8(level).map_or("?", Level::name)
}

/// The level of this name, or of the one that the kernel or syslog has for it.
pub fn level_named(name: &str) -> Option<Level> {
    let name = match name {
        "emerg" | "alert" | "crit" | "error" => "err",
        "warning" => "warn",
        "notice" => "info",
        name => name,
    };
    Level::ALL.into_iter().find(|l| l.name() == name)
}

/// Names of arguments, of which none is there twice.
#[derive(Default)]
pub struct Names(Vec<String>);

impl Names {
    /// The name, or another one if it was there before.
    pub fn add(&mut self, name: &str) -> &str {
        let mut name = name.to_owned();
        while self.0.contains(&name) {
            name.push('\'');
        }
        self.0.push(name);
        self.0.last().map_or("", String::as_str)
    }
}

/// What stands in a line for where an entry was written and for its level, of rings that had
/// entries lately.
#[derive(Default)]
pub struct Contexts(Vec<Known>);

#[derive(Clone, Default)]
struct Known {
    boot: usize,
    component: Arc<str>,
    ring: u32,
    shared: Option<u32>,
    writer: Writer,
    level: u8,
    is_known: bool,
    text: Vec<u8>,
}

/// As many are kept.
const CONTEXTS: usize = 4096;

impl Contexts {
    /// The text for an entry; if it isn't known, `make` appends it.
    pub fn get(&mut self, entry: &Entry<'_>, level: u8, make: impl FnOnce(&mut Vec<u8>)) -> &[u8] {
        let stream = entry.stream;
        let index = (stream.id as usize * 8 + usize::from(level % 8)) % CONTEXTS;
        if index >= self.0.len() {
            self.0.resize(index + 1, Known::default());
        }
        let known = &mut self.0[index];
        let is_same = known.ring == stream.id
            && known.level == level
            && known.boot == entry.boot.index
            && known.shared == stream.shared()
            && known.writer == *entry.writer()
            && (Arc::ptr_eq(&known.component, &stream.component)
                || known.component == stream.component);
        if !is_same || !known.is_known {
            known.component.clone_from(&stream.component);
            (known.ring, known.shared) = (stream.id, stream.shared());
            known.boot = entry.boot.index;
            (known.writer, known.level) = (*entry.writer(), level);
            // If nobody knows who it was, it depends on more than that.
            known.is_known = known.writer != Writer::default();
            known.text.clear();
            make(&mut known.text);
        }
        &known.text
    }
}

/// Where an entry was written, as `comm[pid]` or `softirq/3`.
pub fn context(entry: &Entry<'_>, out: &mut Vec<u8>) {
    let Writer { context, cpu, task } = *entry.writer();
    match (context, task, entry.stream.shared()) {
        (Some(Context::Task) | None, Some(task), _) => {
            // The caller, which prints it, makes it UTF-8.
            out.extend_from_slice(until_nul(&task.comm));
            out.push(b'[');
            digits::push_signed(out, task.pid.into());
            out.push(b']');
        }
        (Some(context), ..) => numbered(context.name(), cpu, out),
        (None, None, Some(number)) => match entry.event.kind {
            // All of its writers.
            EventKind::Loss { .. } => numbered(Context::Shared.name(), Some(number), out),
            // The record that said who it is is missing.
            EventKind::Record { .. } => numbered("unknown@shared", Some(number), out),
            EventKind::Line { .. } => {}
        },
        (None, None, None) if entry.is_line() => {}
        (None, None, None) => {
            out.extend_from_slice(b"ring");
            digits::push(out, entry.stream.id.into());
        }
    }
}

fn numbered(name: &str, number: Option<u32>, out: &mut Vec<u8>) {
    out.extend_from_slice(name.as_bytes());
    if let Some(number) = number {
        out.push(b'/');
        digits::push(out, number.into());
    }
}

/// The time of an entry in ns by a clock.
#[inline]
pub fn time_of(time: Time, clock: u64, boot: &Boot) -> i128 {
    let c = &boot.calibration;
    match time {
        Time::Boot => c.boot(clock),
        Time::Delta => boot.axis(clock),
        Time::Wall => c.real(clock),
        Time::Mono => c.mono(clock),
        Time::Raw => clock.into(),
    }
}
