// SPDX-License-Identifier: GPL-2.0

//! The limit for all components together, when it is set.

use kernel::{
    error::from_result,
    prelude::*, //
};

use crate::{
    memory::{
        block::Chain,
        budget, //
    },
    sys::quiesce, //
};

/// How often components are asked for pages: some can't give their part.
const TRIES: u32 = 8;

/// `blog.max_kb` has been set: components give up what is too much, each in proportion to what it
/// has. Waits until that is free. From `sys/params.c`, one at a time, perhaps before BLog has
/// started: then nothing is used.
///
/// `EBUSY` if they can't give up so much: then they keep what they have.
#[no_mangle]
pub(crate) extern "C" fn blog_max_kb_changed() -> c_int {
    from_result(|| {
        let (limit, mut gone) = (budget::limit(), Chain::new());
        if budget::used() <= limit {
            return Ok(0);
        }
        let spare = super::components().fold(0, |sum, state| state.spare().saturating_add(sum));
        if budget::used().saturating_sub(spare) > limit {
            return Err(EBUSY);
        }
        for _ in 0..TRIES {
            let stays = budget::used() - gone.len();
            if stays <= limit {
                break;
            }
            super::components().for_each(|state| state.shrink(limit, stays, &mut gone));
        }
        quiesce::quiesce();
        drop(gone);
        match budget::used() <= limit {
            true => Ok(0),
            false => Err(EBUSY),
        }
    })
}
