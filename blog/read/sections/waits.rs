// SPDX-License-Identifier: GPL-2.0

//! What tasks are doing, and what they wait for.

use super::*;
use crate::{
    tasks::chain::{
        self,
        WaitChain, //
    },
    write::tables, //
};
use core::iter;

impl Sections {
    /// Writes what the next tasks are doing that have a ring of a component with one of these
    /// `slots`, and who holds the locks that these wait for; then, what they wait for. `from` is
    /// that of [`tables::next`]. False: there are none.
    pub(in super::super) fn tasks(
        &mut self,
        from: &mut u32,
        slots: impl Fn(u32) -> bool,
    ) -> Result<bool> {
        let mut waits = KVec::new();
        self.begin();
        let most = self.len + (TASKS - 1 - format::WAIT_LINKS) * size_of::<format::Task>();
        while self.len <= most {
            let choice = self.selection.choice();
            let mut chain = WaitChain::default();
            let mut writers = iter::from_fn(|| {
                // SAFETY: The task is valid in this call.
                let look = |task| chain = unsafe { chain::chain(task, |_| ()) };
                tables::next(from, &slots, look)
            });
            let Some(writer) = writers.find(|w| choice.has_task(w.task.pid, w.task.tgid)) else {
                break;
            };
            self.push(writer.task.as_bytes())?;
            for (wait, holder) in chain.iter().flatten() {
                waits.push(*wait, GFP_KERNEL)?;
                if let Some(holder) = holder {
                    self.push(holder.as_bytes())?;
                }
            }
        }
        if self.len == self.whole + HEADER {
            return Ok(false);
        }
        self.end(Kind::Tasks)?;
        if !waits.is_empty() {
            self.begin();
            for wait in &waits {
                self.push(wait.as_bytes())?;
            }
            self.end(Kind::Waits)?;
        }
        Ok(true)
    }
}
