// SPDX-License-Identifier: GPL-2.0

//! The worker: it adds memory before log calls run out of it.
//!
//! A log call can't allocate, and can't wake anybody who could: it may run in the scheduler or in
//! an NMI. So the worker comes by itself, often while much is being used, seldom else, and keeps
//! stocks that last until it comes again. It runs in process context, in the system's queue, from
//! when the first component is switched on.
//!
//! # Parking
//!
//! While nothing is taken out of the stocks, there is nothing to do, and an idle machine is not to
//! be woken for it. So after [`PARK_AFTER`] looks in a row for nothing, the worker is *parked*: it
//! does not come any more. The slow path of a log call, through which all goes that takes anything,
//! then *arms* it again: [`wake`]. A log call on the fast path takes nothing, and looks at nothing.
//!
//! A log call still takes no lock and wakes nobody. Who changes [`PHASE`] from parked to armed, one
//! log call in a burst, marks an `irq_work` as pending and has its own CPU interrupt itself, as
//! printk, perf and BPF do from NMIs; the handler, which is no part of the log call, queues the
//! worker.
//!
//! What it looks after: pages and rings of each component ([`crate::memory::Memory::tend`]), task
//! tables ([`tables::tend`]). It also has the part of lowering `blog.max_kb` that all components
//! share.

use core::sync::atomic::{
    fence,
    AtomicU32,
    AtomicU64,
    AtomicU8,
    Ordering::{
        Relaxed,
        SeqCst, //
    }, //
};
use kernel::{
    blog::root,
    error::from_result,
    prelude::*, //
};

use crate::{
    memory::{
        budget::{
            lower_max_kb,
            used_kb, //
        },
        Doomed, //
    },
    registry::{
        self,
        events::events, //
    },
    sys::{
        clock,
        glue, //
    },
    write::tables, //
};

/// Milliseconds between two looks while much is being used.
const BUSY_MS: u32 = 10;
/// Milliseconds between two looks otherwise.
const IDLE_MS: u32 = 100;
/// It parks after so many looks in a row that found nothing to do: a second.
const PARK_AFTER: u32 = 10;

/// How often components are asked for pages when `max_kb` is lowered: they may grow meanwhile, or
/// some can't give their part.
const SHRINK_TRIES: u32 = 8;

/// Not started.
const OFF: u8 = 0;
/// It is queued, is running, or is about to be queued.
const ARMED: u8 = 1;
/// It will not come before somebody calls [`wake`].
const PARKED: u8 = 2;

static PHASE: AtomicU8 = AtomicU8::new(OFF);

/// Looks in a row that found nothing to do. Only the worker's.
static IDLE: AtomicU32 = AtomicU32::new(0);

/// Looks in all.
static LOOKS: AtomicU64 = AtomicU64::new(0);

/// How often it has looked.
pub(crate) fn looks() -> u64 {
    LOOKS.load(Relaxed)
}

/// Whether it is parked.
#[cfg(CONFIG_BLOG_KUNIT_TEST)]
pub(crate) fn is_parked() -> bool {
    PHASE.load(Relaxed) == PARKED
}

/// Has it come, when a component has got memory, or may get more. Process context.
pub(crate) fn start() {
    if PHASE.compare_exchange(OFF, ARMED, Relaxed, Relaxed).is_ok() {
        // The first stock. It isn't queued yet, so nobody else is at it.
        tables::tend();
        PHASE.store(PARKED, Relaxed);
    }
    wake();
}

/// Has it come, if it is parked. Something was, or may have been, taken out of a stock. In any
/// context, for log calls; not before [`start`], nor after a crash.
pub(crate) fn wake() {
    // ORDERING: Pairs with the fence in `park`: either that sees what was taken before this, or
    // this sees that it is parked.
    fence(SeqCst);
    // A CPU that has left runs no handler before it is back, so there it is left to others. A task
    // that is moved from here on runs on a CPU that is there.
    if PHASE.load(Relaxed) != PARKED || root::frozen() || !glue::cpu_online() {
        return;
    }
    // A log call from within the queueing (by a kprobe, say) finds it armed.
    if PHASE
        .compare_exchange(PARKED, ARMED, Relaxed, Relaxed)
        .is_ok()
    {
        glue::queue_worker();
    }
}

/// Ends it; it does not run any more on return. Nobody logs any more.
pub(crate) fn stop() {
    PHASE.store(OFF, Relaxed);
    glue::stop_worker();
}

/// One look at all stocks. True: there was something to do, or will be soon.
fn look() -> bool {
    LOOKS.fetch_add(1, Relaxed);
    let mut busy = tables::tend();
    registry::components().for_each(|state| busy |= state.tend());
    busy
}

/// One look, from `sys/work.c`. Returns in how many milliseconds the next one is due; 0: none is,
/// before [`wake`].
#[no_mangle]
extern "C" fn blog_work() -> u32 {
    clock::check();
    (events().tick)();
    let idle = match look() {
        true => 0,
        false => IDLE.load(Relaxed) + 1,
    };
    IDLE.store(idle % PARK_AFTER, Relaxed);
    match idle {
        0 => BUSY_MS,
        PARK_AFTER => park(),
        _ => IDLE_MS,
    }
}

/// Parks, unless somebody has taken something meanwhile. Returns as [`blog_work`].
fn park() -> u32 {
    // Unless it is being ended.
    if (PHASE.compare_exchange(ARMED, PARKED, Relaxed, Relaxed)).is_err() {
        return 0;
    }
    // ORDERING: Pairs with the fence in `wake`.
    fence(SeqCst);
    // Who was faster than this store has woken nobody.
    if !look() {
        return 0;
    }
    match PHASE.compare_exchange(PARKED, ARMED, Relaxed, Relaxed) {
        Ok(_) => BUSY_MS,
        // Somebody else has armed it, and queues it.
        Err(_) => 0,
    }
}

/// `blog.max_kb` is about to be set to `kb`; makes it true. From `sys/params.c`, one at a time,
/// perhaps before BLog has started.
///
/// `EBUSY` if rings can't give up so much. Until [`blog_max_kb_set`], no more than that is
/// allocated.
#[no_mangle]
pub(crate) extern "C" fn blog_max_kb_setting(kb: u32) -> c_int {
    from_result(|| {
        let kb = glue::max_kb_of(kb);
        lower_max_kb(kb);
        // What has gone already need not go again.
        glue::flush_reap();
        for _ in 0..SHRINK_TRIES {
            let used = used_kb();
            if used <= kb as usize {
                return Ok(0);
            }
            let mut all = Doomed::none();
            registry::components().for_each(|state| {
                all.append(state.shrink(kb as usize, used));
            });
        }
        match used_kb() <= kb as usize {
            true => Ok(0),
            false => Err(EBUSY),
        }
    })
}

/// The parameter has been set, or stays what it was.
#[no_mangle]
pub(crate) extern "C" fn blog_max_kb_set() {
    lower_max_kb(u32::MAX);
    wake();
}
