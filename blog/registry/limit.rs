// SPDX-License-Identifier: GPL-2.0

//! A new limit for all components.

use super::components;
use crate::{
    memory::{
        block::Chain,
        budget,
        Memory, //
    },
    sys::{
        prelude::*,
        quiesce, //
    }, //
};

/// How often components are asked for pages: some can't give their part.
const TRIES: u32 = 8;

/// Components give up what is too much, each in proportion to what it can spare. Waits until that
/// is free.
///
/// `EBUSY` if they can't give up so much: then they keep what they have.
pub(super) fn make_room() -> Result {
    let (limit, mut gone) = (budget::limit(), Chain::new());
    if budget::used() <= limit {
        return Ok(());
    }
    let spare = || {
        let each = components().filter_map(|state| state.read_memory(Memory::spare));
        each.fold(0, u32::saturating_add)
    };
    if budget::used().saturating_sub(spare()) > limit {
        return Err(EBUSY);
    }
    for _ in 0..TRIES {
        let need = (budget::used() - gone.counted()).saturating_sub(limit);
        let all = spare();
        if need == 0 || all == 0 {
            break;
        }
        for state in components() {
            let _control = state.control();
            state.read_memory(|memory| {
                let part = u64::from(memory.spare()) * u64::from(need);
                let part = part.div_ceil(u64::from(all)) as u32;
                memory.shrink_to(memory.pages_in_all().saturating_sub(part), &mut gone);
            });
        }
    }
    quiesce::quiesce();
    drop(gone);
    match budget::used() <= limit {
        true => Ok(()),
        false => Err(EBUSY),
    }
}
