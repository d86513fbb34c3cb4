// SPDX-License-Identifier: GPL-2.0

//! What BLog may take of the machine's memory, and how it takes it.
//!
//! All that `blog/` keeps is charged here, in bytes and as the kernel's allocator rounds them:
//! pages, rings, and every table around them. A byte is charged before it is allocated and until
//! it has been freed, to the limit for all (`blog.max_kb`) and, where it is a component's, to that
//! one's (`size_kb`).
//!
//! Nothing is allocated that has to be waited for: see [`FLAGS`]. So no lock is ever held over
//! reclaim, and no allocation of BLog's brings the OOM killer. And nothing is taken of a machine
//! that is short of memory: see [`Charge::new`]. Who gets nothing goes on with what it has; the
//! worker comes again.

use core::{
    mem,
    sync::atomic::{
        fence,
        AtomicU32,
        AtomicUsize,
        Ordering::{
            Relaxed,
            SeqCst, //
        }, //
    }, //
};
use kernel::{
    alloc::Flags,
    bindings,
    page::PAGE_SIZE,
    prelude::*, //
};

use crate::sys::glue;

/// How all memory is allocated that stays: without waiting, so under any lock but a spinning one.
///
/// Where there is none at hand, kswapd is woken, and the allocation fails, without a word in the
/// kernel's log. It never reclaims by itself, and never gets to the reserves.
pub(crate) const FLAGS: Flags = GFP_NOWAIT;

/// One of so many parts of the machine's memory has to stay available to others.
const SPARE: usize = 16;

/// Bytes of all that there is.
static USED: AtomicUsize = AtomicUsize::new(0);
/// The limit for that which is just being set, in KiB.
static LOWERING_KB: AtomicU32 = AtomicU32::new(u32::MAX);

/// Bytes that all of BLog takes.
pub(crate) fn used() -> usize {
    USED.load(Relaxed)
}

/// The same in KiB.
pub(crate) fn used_kb() -> usize {
    used().div_ceil(1024)
}

/// Has nothing allocated beyond this limit from now on, whatever the parameter says: it is about to
/// be set to this. `u32::MAX` ends that.
pub(crate) fn lower_max_kb(kb: u32) {
    LOWERING_KB.store(kb, Relaxed);
    // ORDERING: See `Charge::new`: of the limit here and the count there, one is seen by the other.
    fence(SeqCst);
}

/// Bytes of the limit for all.
fn limit() -> usize {
    (glue::max_kb().min(LOWERING_KB.load(Relaxed)) as usize).saturating_mul(1024)
}

/// Bytes of the machine's memory that are available, and what of that has to stay so.
fn available() -> (usize, usize) {
    // SAFETY: No requirements.
    let pages = usize::try_from(unsafe { bindings::si_mem_available() }).unwrap_or(0);
    (
        pages.saturating_mul(PAGE_SIZE),
        glue::ram_kb().saturating_mul(1024) / SPARE,
    )
}

/// Whether the machine can spare this many bytes.
fn is_spare(bytes: usize) -> bool {
    let (all, least) = available();
    all.saturating_sub(bytes) >= least
}

/// Whether the machine is short of memory, and not only uses all that it has for something.
pub(crate) fn is_short() -> bool {
    let (all, least) = available();
    all < 2 * least
}

/// `ENOSPC` unless there can be this many bytes more.
pub(crate) fn check(bytes: usize) -> Result {
    match USED.load(Relaxed).saturating_add(bytes) <= limit() {
        true => Ok(()),
        false => Err(ENOSPC),
    }
}

/// Bytes of the limit for all that are taken, until it is dropped.
pub(crate) struct Charge(usize);

impl Charge {
    /// Takes bytes: `ENOSPC` beyond the limit, `ENOMEM` where the machine can't spare them.
    fn new(bytes: usize) -> Result<Self> {
        if !is_spare(bytes) {
            return Err(ENOMEM);
        }
        let limit_before = limit();
        let mut used = USED.load(Relaxed);
        let total = loop {
            let total = used.saturating_add(bytes);
            if total > limit_before {
                return Err(ENOSPC);
            }
            match USED.compare_exchange_weak(used, total, Relaxed, Relaxed) {
                Ok(_) => break total,
                Err(now) => used = now,
            }
        };
        let charge = Self(bytes);
        // ORDERING: Pairs with the fence in `lower_max_kb`: who lowers the limit sees these bytes
        // counted, or this sees the new limit.
        fence(SeqCst);
        match total <= limit() {
            true => Ok(charge),
            false => Err(ENOSPC),
        }
    }

    /// Takes over what other charges stood for, which were kept by [`Self::keep`].
    pub(crate) fn of(bytes: usize) -> Self {
        Self(bytes)
    }

    /// How many.
    pub(super) fn bytes(&self) -> usize {
        self.0
    }

    /// Leaves it to the caller to give these bytes back.
    pub(crate) fn keep(self) -> usize {
        let bytes = self.0;
        mem::forget(self);
        bytes
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        USED.fetch_sub(self.0, Relaxed);
    }
}

/// What one component may take, or another part of BLog.
pub(crate) struct Budget {
    limit: AtomicUsize,
    taken: AtomicUsize,
}

impl Budget {
    /// A budget of this many bytes.
    pub(crate) const fn new(limit: usize) -> Self {
        Self {
            limit: AtomicUsize::new(limit),
            taken: AtomicUsize::new(0),
        }
    }

    /// The limit in bytes.
    pub(crate) fn limit(&self) -> usize {
        self.limit.load(Relaxed)
    }

    /// Sets the limit; what is taken stays, be it more.
    pub(super) fn set_limit(&self, bytes: usize) {
        self.limit.store(bytes, Relaxed);
    }

    /// Bytes taken.
    pub(crate) fn taken(&self) -> usize {
        self.taken.load(Relaxed)
    }

    /// Bytes that are left.
    pub(crate) fn left(&self) -> usize {
        self.limit().saturating_sub(self.taken())
    }

    /// Charges what `alloc` allocates, which must be `bytes` bytes of the kernel's allocator.
    ///
    /// `ENOSPC` beyond a limit, `ENOMEM` where there is no memory to spare. One budget is used by
    /// one at a time.
    pub(crate) fn pay<T>(
        &self,
        bytes: usize,
        alloc: impl FnOnce() -> Result<T>,
    ) -> Result<(T, Charge)> {
        if bytes > self.left() {
            return Err(ENOSPC);
        }
        let charge = Charge::new(bytes)?;
        let made = alloc()?;
        self.taken.fetch_add(bytes, Relaxed);
        Ok((made, charge))
    }

    /// Counts bytes again that [`Self::give`] counted no more.
    pub(super) fn take(&self, bytes: usize) {
        self.taken.fetch_add(bytes, Relaxed);
    }

    /// Counts bytes no more that were paid here. Their [`Charge`] stays.
    pub(super) fn give(&self, bytes: usize) {
        self.taken.fetch_sub(bytes, Relaxed);
    }
}
