// SPDX-License-Identifier: GPL-2.0

//! The module's counts of each writer's records, from `blog_torture/truth`.

use std::collections::HashMap;

use crate::payload::WRITER_BITS;

/// What a writer is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writer {
    /// Kind, as the module names it.
    pub kind: String,
    /// CPU of those that belong to one.
    pub cpu: u32,
    /// Thread id, or -1.
    pub pid: i32,
}

impl Writer {
    /// Whether it is a task of its own, whose records are all in that task's ring or in shared
    /// ones.
    pub fn is_task(&self) -> bool {
        matches!(self.kind.as_str(), "worker" | "history" | "crowd" | "storm" | "user")
    }
}

/// What all runs together have logged.
#[derive(Clone, Debug, Default)]
pub struct Truth {
    /// Writers by number.
    pub writers: HashMap<u32, Writer>,
    /// Records by component and writer.
    pub attempted: HashMap<String, HashMap<u32, u32>>,
    /// Records of runs of which only the sum is known, by component.
    pub sums: HashMap<String, u64>,
    /// Most bytes of a payload, by run.
    pub payload: HashMap<u32, u32>,
    /// Whether softirqs run in tasks.
    pub rt: bool,
    /// Whether a run was not over when it was asked.
    pub unfinished: bool,
}

impl Truth {
    /// Adds a file of the module's.
    pub fn add(&mut self, text: &str) -> Result<(), String> {
        let mut component = None;
        let (mut run, mut payload, mut ended) = (0, None, false);
        for (i, line) in text.lines().enumerate() {
            let bad = || format!("line {}: {line:?} is not understood", i + 1);
            let words: Vec<&str> = line.split(' ').collect();
            let number = |s: &str| s.parse::<u32>().map_err(|_| bad());
            match words[..] {
                ["state", state] => ended = state == "done",
                ["run", n] => run = number(n)?,
                ["payload", n] => payload = Some(number(n)?),
                ["rt", n] => self.rt |= n == "1",
                ["component", name] => {
                    self.attempted.entry(name.to_owned()).or_default();
                    component = Some(name.to_owned());
                }
                [writer, kind, cpu, pid, records] => {
                    let writer = number(writer)?;
                    let name = component.as_ref().ok_or_else(bad)?;
                    let all = self.attempted.get_mut(name).ok_or_else(bad)?;
                    if all.insert(writer, number(records)?).is_some() {
                        return Err(format!("line {}: writer {writer} is there twice", i + 1));
                    }
                    let new = Writer {
                        kind: kind.to_owned(),
                        cpu: number(cpu)?,
                        pid: pid.parse().map_err(|_| bad())?,
                    };
                    self.writers.insert(writer, new);
                }
                _ => return Err(bad()),
            }
        }
        self.payload.insert(run, payload.ok_or("no payload line")?);
        self.unfinished |= !ended;
        Ok(())
    }

    /// Adds what the kernel's log says of a run that has no file: lines
    /// `blog_torture: run N total COMPONENT RECORDS`.
    pub fn add_log(&mut self, text: &str) {
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let ["blog_torture:", "run", run, "total", component, records] = words[..] else {
                continue;
            };
            if let (Ok(run), Ok(records)) = (run.parse::<u32>(), records.parse::<u64>()) {
                if !self.payload.contains_key(&run) {
                    *self.sums.entry(component.to_owned()).or_default() += records;
                }
            }
        }
    }

    /// How many records a writer has logged to a component; `None` where that is not known.
    pub fn of(&self, component: &str, writer: u32) -> Option<u32> {
        if !self.payload.contains_key(&(writer >> WRITER_BITS)) {
            return None;
        }
        let all = self.attempted.get(component)?;
        Some(all.get(&writer).copied().unwrap_or(0))
    }

    /// Whether writers of this kind have logged at all.
    pub fn logged_by(&self, kind: &str) -> bool {
        let is_one = |writer| self.writers.get(writer).is_some_and(|w| w.kind == kind);
        let mut all = self.attempted.values().flatten();
        all.any(|(writer, records)| *records > 0 && is_one(writer))
    }

    /// How many records there were for a component; `None` where that is not known.
    pub fn total(&self, component: &str) -> Option<u64> {
        let known: u64 = self.attempted.get(component)?.values().map(|n| u64::from(*n)).sum();
        Some(known + self.sums.get(component).copied().unwrap_or(0))
    }
}
