// SPDX-License-Identifier: GPL-2.0

//! Memory for a machine that is short of it: pages that components can spare.
//!
//! Called in reclaim, perhaps by a task that waits for memory while it holds any lock. So nothing
//! here waits: not for a lock, and not for the grace period after which pages are freed
//! ([`Doomed::later`](crate::memory::Doomed::later)). The worker adds no memory before the machine
//! can spare it.
//!
//! A machine reclaims all the time, as it fills its memory with files. That costs no history: only
//! free pages go. If it is short of memory, all go but those that live rings write to.

use kernel::{
    prelude::*,
    shrinker::{
        Control,
        Count,
        Registration,
        Scan,
        Shrinker, //
    },
    sync::global_lock,
    time::{
        delay::fsleep,
        Delta, //
    }, //
};

use crate::{
    memory::{
        budget,
        page, //
    },
    sys::glue, //
};

/// All components.
struct Components;

impl Shrinker for Components {
    type Ptr = ();

    fn count((): (), _: &Control<'_>) -> Count {
        match spare(budget::is_short()) {
            Some(pages) => Count::of(pages),
            None => Count::UNKNOWN,
        }
    }

    fn scan((): (), control: &mut Control<'_>) -> Scan {
        let wanted = control.nr_to_scan();
        match give(wanted, budget::is_short()) {
            0 => Scan::STOP,
            pages => Scan::freed(pages),
        }
    }
}

/// Pages that components can spare; `None`: it can't be told now.
fn spare(short: bool) -> Option<usize> {
    let mut pages = 0;
    super::try_for_each(|state| {
        pages += state.spare_pages(short) as usize;
        true
    })
    .then_some(pages)
}

/// Has components give up about so many pages, each in proportion to what it can spare. Returns how
/// many it were.
pub(crate) fn give(wanted: usize, short: bool) -> usize {
    let spare = spare(short).unwrap_or(0).max(1);
    let mut given = 0;
    super::try_for_each(|state| {
        let part = wanted.saturating_mul(state.spare_pages(short) as usize);
        given += state.give_pages(part.div_ceil(spare) as u32, short) as usize;
        given < wanted
    });
    given
}

global_lock! {
    // SAFETY: `init` is called before anything else here.
    unsafe(uninit) static REGISTRATION: Mutex<Option<Registration<Components>>> = None;
}

/// Makes what the rest, [`stop`] included, needs.
pub(super) fn init() {
    // SAFETY: Called once, first.
    unsafe { REGISTRATION.init() };
}

/// How often it is looked whether pages have become free, and how long until then, in ms.
const LOOKS: u32 = 100;
const LOOK_MS: i64 = 10;

/// Called before a task is killed as there is no memory. From `sys/oom.c`.
#[no_mangle]
extern "C" fn blog_out_of_memory() -> c_ulong {
    out_of_memory() as c_ulong
}

/// Gives up all that can be had, and waits for that and for what was given up before, but no longer
/// than a second. Returns how many pages have become free.
pub(crate) fn out_of_memory() -> usize {
    give(usize::MAX >> 20, true);
    let before = page::waiting();
    if before == 0 {
        return 0;
    }
    glue::queue_reap();
    for _ in 0..LOOKS {
        fsleep(Delta::from_millis(LOOK_MS));
        let freed = before.saturating_sub(page::waiting());
        if freed != 0 {
            return freed;
        }
    }
    0
}

/// Lets the kernel ask.
pub(super) fn start() {
    if let Err(e) = glue::start_oom() {
        pr_warn!("gives no memory back before tasks are killed: {e:?}\n");
    }
    match Registration::new(c"blog", ()) {
        Ok(registration) => *REGISTRATION.lock() = Some(registration),
        Err(e) => pr_warn!("gives no memory back under pressure: {e:?}\n"),
    }
}

/// Ends that; nothing here runs any more on return.
pub(super) fn stop() {
    glue::stop_oom();
    *REGISTRATION.lock() = None;
}
