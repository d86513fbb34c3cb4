// SPDX-License-Identifier: GPL-2.0-only OR MIT

//! A ring of a file, and the places of its pages. There may be a million rings, so this takes few
//! bytes, and is shared with what goes through it.

use super::run::Run;
use crate::wire::{
    file::RingSection,
    record::{Lost, LOST_CAUSES},
};

/// Counts by [`Lost`](crate::wire::record::Lost).
pub type Losses = [u64; LOST_CAUSES];

/// The section of a ring. Its fields are those of [`Ring`].
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct RingInfo {
    pub component: u32,
    pub ring: u32,
    pub context: u8,
    pub retired: u8,
    pub task_state: u8,
    pub cpu: u32,
    pub pid: i32,
    pub tgid: i32,
    pub comm: [u8; 16],
    pub exit_clock: u64,
    pub records: u64,
    pub pages: u32,
    /// Losses, and those reported. Most rings lose nothing.
    losses: Option<Box<[Losses; 2]>>,
}

impl RingInfo {
    /// Records lost, in all.
    pub fn lost(&self) -> Losses {
        self.losses.as_ref().map_or([0; LOST_CAUSES], |l| l[0])
    }

    /// Of these, those that lost records in the ring report.
    pub fn told(&self) -> Losses {
        self.losses.as_ref().map_or([0; LOST_CAUSES], |l| l[1])
    }

    /// Counts records that the reader of the stream has missed: they are lost, and pages tell it.
    pub fn add_missed(&mut self, n: u64) {
        if n > 0 {
            let [lost, told] = &mut **self.losses.get_or_insert_default();
            for all in [lost, told] {
                let missed = &mut all[Lost::ReaderLag as usize];
                *missed = missed.saturating_add(n);
            }
        }
    }

    /// Counts so many of them instead of those that were counted so far.
    pub fn set_missed(&mut self, n: u64) {
        if let Some(losses) = &mut self.losses {
            let told = losses[1][Lost::ReaderLag as usize];
            for all in losses.iter_mut() {
                let missed = &mut all[Lost::ReaderLag as usize];
                *missed = missed.saturating_sub(told);
            }
        }
        self.add_missed(n);
    }

    /// Takes over what the reader has missed before this section of the same ring, which doesn't
    /// say so.
    pub fn go_on(&mut self, old: &Self) {
        let missed = |ring: &Self| ring.told()[Lost::ReaderLag as usize];
        self.add_missed(missed(old).saturating_sub(missed(self)));
    }

    /// Leaves out the losses that an earlier state of the ring has.
    pub fn leave_out(&mut self, old: &Self) {
        let less = |new: Losses, old: Losses| -> Losses {
            std::array::from_fn(|i| new[i].saturating_sub(old[i]))
        };
        let (lost, told) = (less(self.lost(), old.lost()), less(self.told(), old.told()));
        self.losses = boxed(lost, told);
    }
}

fn boxed(lost: Losses, told: Losses) -> Option<Box<[Losses; 2]>> {
    let any = lost.iter().chain(&told).any(|&n| n != 0);
    any.then(|| Box::new([lost, told]))
}

impl From<&RingSection> for RingInfo {
    fn from(r: &RingSection) -> Self {
        Self {
            component: r.component,
            ring: r.ring,
            context: r.context,
            retired: r.retired,
            task_state: r.task_state,
            cpu: r.cpu,
            pid: r.pid,
            tgid: r.tgid,
            comm: r.comm,
            exit_clock: r.exit_clock,
            records: r.records,
            pages: r.pages,
            losses: boxed(r.lost, r.told),
        }
    }
}

/// A ring and where its pages are.
#[derive(Clone, Debug)]
pub struct RingPages {
    /// Its section, the last one if there are several; `None` if that is lost.
    pub ring: Option<RingInfo>,
    /// Component and ring id. In the capture of a stream, a ring that went to another task is there
    /// once for each.
    pub id: (u32, u32),
    /// How often the ring has counted anew before, as far as other files tell.
    pub epoch: u32,
    /// It was taken from its owner.
    pub is_released: bool,
    /// Of the capture of a stream: records that the stream had before this file, at least; and
    /// whether it may have had more.
    pub before: Option<(u64, bool)>,
    /// Pages in the order of the file.
    pub runs: Vec<Run>,
}

impl RingPages {
    /// One of which nothing but the id is known.
    pub fn new(id: (u32, u32)) -> Self {
        Self { ring: None, id, epoch: 0, is_released: false, before: None, runs: Vec::new() }
    }

    /// How many pages there are.
    pub fn pages(&self) -> u64 {
        self.runs.iter().map(|run| u64::from(run.count)).sum()
    }

    /// Adds a page; the answer is the number of the piece that it follows. `stream`: links lead to
    /// it from wherever that is.
    pub(super) fn push(&mut self, run: Run, stream: bool) -> Option<u64> {
        if let Some(last) = self.runs.last_mut() {
            let number = last.number();
            if (stream || last.is_before(&run)) && last.append(&run) {
                return Some(number);
            }
        } else {
            // Most rings have no other.
            self.runs.reserve_exact(1);
        }
        self.runs.push(run);
        None
    }
}
