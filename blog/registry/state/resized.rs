// SPDX-License-Identifier: GPL-2.0

//! A component whose size is changed while it has memory.

use super::*;
use crate::{
    memory::{
        block::Chain,
        Stock, //
    },
    sys::quiesce, //
};

impl State {
    /// Sets the budget of all rings: adds pages, or takes them from those that hold the most. With
    /// the component's control.
    ///
    /// `ENOSPC` beyond the limit for all components, `ENOMEM` where the machine can't spare so
    /// much; `EBUSY` if what stays is more than the new budget: tables, rings, and what live rings
    /// write to just now.
    pub(super) fn resize(&self, kb: u32) -> Result {
        let pages = kb / PAGE_KB;
        let need = self.read(|locked| Some(locked.memory.as_ref()?.need(pages)));
        let mut stock = need.map(Stock::new).transpose()?;
        let mut gone = Chain::new();
        if self.read(|locked| match &locked.memory {
            Some(memory) => memory.begin_resize(pages, &mut gone),
            None => Ok(false),
        })? {
            quiesce::quiesce();
        }
        self.update(|locked| {
            if let Some((memory, stock)) = locked.memory.as_mut().zip(stock.take()) {
                memory.end_resize(stock)?;
            }
            self.settings[Key::SizeKb as usize].store(kb, Relaxed);
            Ok(())
        })
    }
}
